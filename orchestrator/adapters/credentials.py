"""Credentials as an operation's security requirements ask for them, filled in when it is called."""

from base64 import b64encode
from typing import Literal, NamedTuple

from orchestrator.adapters.secrets import SecretRef, SecretStore, secret_for_scheme
from orchestrator.catalog.node import Node
from orchestrator.catalog.operations import Operation
from orchestrator.errors import SecretMissing

_BEARER_KINDS = frozenset({"bearer", "oauth2", "openIdConnect"})
"""How a token is obtained differs; it is sent the same way."""


_KeyLocation = Literal["header", "query", "cookie"]
_KEY_LOCATIONS: dict[str, _KeyLocation] = {
    "header": "header",
    "query": "query",
    "cookie": "cookie",
}


class Credential(NamedTuple):
    """One credential: which secret it is, and where and how it is written."""

    secret: SecretRef
    location: _KeyLocation
    field: str
    scheme: Literal["plain", "bearer", "basic"] = "plain"

    def written(self, value: str) -> str:
        """The text that goes into its field."""
        if self.scheme == "bearer":
            return f"Bearer {value}"
        if self.scheme == "basic":
            return f"Basic {basic_token(value)}"
        return value


Alternative = tuple[Credential, ...]
"""Credentials that are sent together."""


def basic_token(value: str) -> str:
    """`user:password` as basic authentication writes it."""
    return b64encode(value.encode()).decode()


def read_alternatives(operation: Operation) -> tuple[Alternative, ...]:
    """The operation's security alternatives in its order; none when it asks for nothing.

    Raises:
        DocumentInvalid: a requirement names a scheme that is not there or that we cannot speak.
    """
    requirements = operation.inherited("security")
    if requirements is None:
        return ()
    return tuple(
        tuple(_credential(operation, requirement, scheme) for scheme in requirement.mapping())
        for requirement in requirements.elements()
    )


def resolve_credentials(
    alternatives: tuple[Alternative, ...], secrets: SecretStore
) -> tuple[tuple[Credential, str], ...]:
    """The credentials of the first alternative whose secrets are all there, with their values.

    Raises:
        SecretMissing: no alternative is complete; names what the first one lacks.
    """
    first_miss: SecretMissing | None = None
    for alternative in alternatives:
        try:
            return tuple(
                (credential, secrets.get(credential.secret.name)) for credential in alternative
            )
        except SecretMissing as missing:
            first_miss = first_miss or missing
    if first_miss is not None:
        raise first_miss
    return ()


def _credential(operation: Operation, requirement: Node, scheme_name: str) -> Credential:
    scheme = _find_scheme(operation.root, requirement, scheme_name)
    secret = secret_for_scheme(operation.document, scheme_name)
    kind = scheme.require("type").text()
    if kind == "apiKey":
        location = _KEY_LOCATIONS.get(scheme.require("in").text())
        if location is not None:
            return Credential(secret, location, scheme.require("name").text())
    if kind == "http":
        kind = scheme.require("scheme").text().lower()
    if kind in _BEARER_KINDS:
        return Credential(secret, "header", "Authorization", "bearer")
    if kind == "basic":
        return Credential(secret, "header", "Authorization", "basic")
    raise scheme.invalid(
        "we can send apiKey, http basic, http bearer, oauth2 and openIdConnect only"
    )


def _find_scheme(root: Node, requirement: Node, name: str) -> Node:
    components = root.at("components")
    schemes = components.at("securitySchemes") if components is not None else None
    scheme = schemes.at(name) if schemes is not None else None
    if scheme is None:
        raise requirement.invalid(f"no security scheme is called {name!r}")
    return scheme
