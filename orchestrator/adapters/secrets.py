"""Credentials: named everywhere by a SecretRef, turned to values only when a request is sent."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from orchestrator.core.errors import SecretMissing

VARIABLE_PREFIX = "ORCHESTRATOR_SECRET_"


class SecretRef(NamedTuple):
    """The name of a secret; safe to log, to trace and to keep."""

    name: str


class SecretStore(Protocol):
    """Where the values of secrets are."""

    def get(self, name: str) -> str:
        """The value of a secret.

        Raises:
            SecretMissing: nobody configured it.
        """
        ...


def secret_for_scheme(document: str, scheme: str) -> SecretRef:
    """The secret that a document's security scheme reads: `payments_token`.

    Two documents may both call their scheme `api_key`, and neither provider may see the other's
    key: the document's name is put before a scheme name that does not begin with it already.
    """
    if scheme == document or scheme.startswith(f"{document}_"):
        return SecretRef(scheme)
    return SecretRef(f"{document}_{scheme}")


def variable_of(name: str) -> str:
    """The environment variable that a secret is read from."""
    return VARIABLE_PREFIX + re.sub(r"[^A-Z0-9]", "_", name.upper())


class EnvironmentSecrets:
    """Secrets from environment variables.

    `payments_token` is read from ORCHESTRATOR_SECRET_PAYMENTS_TOKEN, or from the file that
    ORCHESTRATOR_SECRET_PAYMENTS_TOKEN_FILE names, the way container platforms mount secrets.
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

    def _from_file(self, variable: str) -> str:
        path = self._environ.get(variable)
        if not path:
            return ""
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""
