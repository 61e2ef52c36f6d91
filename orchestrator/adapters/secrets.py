"""Values of secrets: named everywhere by a SecretRef, and read only when a request is sent."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from orchestrator.core.errors import SecretMissing
from orchestrator.core.secret_names import SecretRef, secret_for_scheme, variable_of

__all__ = [
    "BoundSecrets",
    "EnvironmentSecrets",
    "SecretRef",
    "SecretStore",
    "secret_for_scheme",
    "variable_of",
]


class SecretStore(Protocol):
    """Where the values of secrets are."""

    def get(self, name: str) -> str:
        """The value of a secret.

        Raises:
            SecretMissing: nobody configured it.
        """
        ...


@runtime_checkable
class BoundSecrets(SecretStore, Protocol):
    """A store that knows where its secrets may be sent."""

    def get_for(self, name: str, host: str) -> str:
        """The value of a secret that is to be sent to a host.

        Raises:
            SecretMissing: nobody configured it, or not for this host.
        """
        ...


class EnvironmentSecrets:
    """Secrets from environment variables.

    `payments__token` is read from ORCHESTRATOR_SECRET_PAYMENTS__TOKEN, or from the file that
    ORCHESTRATOR_SECRET_PAYMENTS__TOKEN_FILE names, the way container platforms mount secrets. Where
    ORCHESTRATOR_SECRET_PAYMENTS__TOKEN_HOSTS names hosts, separated by commas, it is sent to no
    others, whatever its document says.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def get(self, name: str) -> str:
        """The value, without white space around it.

        Raises:
            SecretMissing: neither variable is set, or what it leads to is empty or unreadable.
        """
        variable = variable_of(name)
        value = self._environ.get(variable) or self._from_file(f"{variable}_FILE")
        if not value.strip():
            raise SecretMissing(name, f"{variable}, or {variable}_FILE to a file that holds it")
        return value.strip()

    def get_for(self, name: str, host: str) -> str:
        """The same, for a host that it may be sent to.

        Raises:
            SecretMissing: as `get`, or its hosts are named and this is none of them.
        """
        variable = f"{variable_of(name)}_HOSTS"
        hosts = [one.strip().lower() for one in self._environ.get(variable, "").split(",")]
        if any(hosts) and host.lower() not in hosts:
            raise SecretMissing(f"{name} for {host}", f"{variable} to hosts that include it")
        return self.get(name)

    def _from_file(self, variable: str) -> str:
        path = self._environ.get(variable)
        if not path:
            return ""
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""
