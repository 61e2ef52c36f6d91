"""Values of secrets by name, read only when a request is sent, and kept out of httpx's logs."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol, runtime_checkable

from orchestrator.core.errors import SecretMissing
from orchestrator.core.secret_names import variable_of, variables_of


class SecretStore(Protocol):
    """A source of values of secrets."""

    def get(self, name: str) -> str:
        """Return the value of a secret, or raise SecretMissing: it is not configured."""


@runtime_checkable
class BoundSecrets(SecretStore, Protocol):
    """A store that restricts secrets to hosts."""

    def get_for(self, name: str, host: str) -> str:
        """Return the value of a secret that is sent to a host.

        Raises:
            SecretMissing: it is not configured, or not for this host.
        """


def value_for(secrets: SecretStore, name: str, host: str | None) -> str:
    """Return the value of a secret that is sent to a host, from a store of either kind.

    Raises:
        SecretMissing: it is not configured, or not for this host.
    """
    if host and isinstance(secrets, BoundSecrets):
        return secrets.get_for(name, host)
    return secrets.get(name)


class EnvironmentSecrets:
    """Secrets from environment variables.

    `payments__token` is read from ORCHESTRATOR_SECRET_PAYMENTS__TOKEN, or from the file that
    ORCHESTRATOR_SECRET_PAYMENTS__TOKEN_FILE names, the way container platforms mount secrets. Where
    ORCHESTRATOR_SECRET_PAYMENTS__TOKEN_HOSTS lists hosts, separated by commas, it is sent only to
    these, whatever its document says.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def get(self, name: str) -> str:
        """Return the value, without white space around it.

        Raises:
            SecretMissing: neither variable is set, or the value is empty or unreadable.
        """
        for variable in variables_of(name):
            value = self._environ.get(variable) or self._from_file(f"{variable}_FILE")
            if value.strip():
                return value.strip()
        variable = variable_of(name)
        raise SecretMissing(name, f"{variable}, or {variable}_FILE to a file that holds it")

    def get_for(self, name: str, host: str) -> str:
        """Return the value for a host.

        Raises:
            SecretMissing: as `get`, or its hosts are listed without this one.
        """
        for variable in variables_of(name):
            listed = self._environ.get(f"{variable}_HOSTS", "").split(",")
            hosts = [one.strip().lower() for one in listed]
            if any(hosts) and host.lower() not in hosts:
                wanted = f"{variable}_HOSTS to hosts that include it"
                raise SecretMissing(f"{name} for {host}", wanted)
        return self.get(name)

    def _from_file(self, variable: str) -> str:
        path = self._environ.get(variable)
        if not path:
            return ""
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""


_HTTPCORE = ("connection", "http11", "http2", "proxy", "socks")
_WIRE_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in _HTTPCORE))
_is_silent: ContextVar[bool] = ContextVar("wire_logs_dropped", default=False)


def _is_logged(_: logging.LogRecord) -> bool:
    return not _is_silent.get()


@contextmanager
def wire_logs_dropped() -> Iterator[None]:
    """Keep httpx from logging URLs and headers of requests within this block."""
    for name in _WIRE_LOGGERS:
        logging.getLogger(name).addFilter(_is_logged)
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)
