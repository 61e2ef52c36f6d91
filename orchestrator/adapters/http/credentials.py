"""Credentials as an operation's security requirements ask for them, filled in when it is called."""

from base64 import b64encode
from typing import Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from orchestrator.adapters.http.oauth import ClientGrant, ClientKey
from orchestrator.adapters.http.servers import origin_of
from orchestrator.adapters.secrets import BoundSecrets, SecretStore
from orchestrator.catalog.contract import bare_credentials, security_alternatives
from orchestrator.catalog.operations import Operation
from orchestrator.core.errors import SecretMissing
from orchestrator.core.secret_names import CLIENT_PARTS, SecretRef, part_of, secret_for_scheme
from orchestrator.core.shown_text import address_shown
from orchestrator.json_schema.document import DocumentNode

_BEARER_KINDS = frozenset({"bearer", "oauth2", "openIdConnect"})
"""How a token is obtained differs; it is sent the same way."""

_KeyLocation = Literal["header", "query", "cookie"]
_KEY_LOCATIONS: dict[str, _KeyLocation] = {"header": "header", "query": "query", "cookie": "cookie"}


class Credential(NamedTuple):
    """One credential: which secret it is, and where and how it is written."""

    secret: SecretRef
    location: _KeyLocation
    field: str
    scheme: Literal["plain", "bearer", "basic"] = "plain"
    grant: ClientGrant | None = None
    """How a token is obtained when the secret is not one itself."""

    def written(self, value: str) -> str:
        """The text that goes into its field."""
        if self.scheme == "bearer":
            return value if value.lower().startswith("bearer ") else f"Bearer {value}"
        if self.scheme == "basic":
            return f"Basic {basic_token(value)}"
        return value


Alternative = tuple[Credential, ...]
"""Credentials that are sent together."""


def basic_token(value: str) -> str:
    """`user:password` as basic authentication writes it."""
    return b64encode(value.encode()).decode()


def read_alternatives(operation: Operation, base_url: str = "") -> tuple[Alternative, ...]:
    """The security alternatives that we can speak, in their order; none: nothing is asked for.

    A credential that stands among the parameters goes with each of them.

    Args:
        operation: its own requirements, else the document's.
        base_url: what the address of a token endpoint is relative to, unless it is absolute.

    Raises:
        DocumentInvalid: every requirement names a scheme that is not there or that we cannot speak.
    """
    offered = list(security_alternatives(operation))
    spoken = [requirement for requirement, faults in offered if not faults]
    if offered and not spoken:
        raise offered[0][1][0]
    bare = tuple(_of_parameter(operation, p) for p in bare_credentials(operation))
    listed = [
        (*(_credential(operation, one, scheme, base_url) for scheme in one.mapping()), *bare)
        for one in spoken
    ]
    return tuple(listed) if listed or not bare else (bare,)


def _of_parameter(operation: Operation, parameter: DocumentNode) -> Credential:
    """A credential that the document lists as a parameter: its value is sent as it was issued."""
    name = parameter.require("name").text()
    location = _KEY_LOCATIONS[parameter.require("in").text()]
    secret = secret_for_scheme(operation.document, name)
    is_bearer = "bearer" in (parameter.text_at("description") or "").lower()
    scheme: Literal["plain", "bearer"] = "bearer" if is_bearer else "plain"
    return Credential(secret, location, name, scheme if location == "header" else "plain")


def resolve_credentials(
    alternatives: tuple[Alternative, ...], secrets: SecretStore, base_url: str = ""
) -> tuple[tuple[Credential, str | ClientKey], ...]:
    """The credentials of the first alternative whose secrets are all there, with their values.

    The value of one that is obtained by a grant is the token, if somebody configured one, else the
    key of the client that is to ask for it. `base_url` is where they are sent; the key goes to the
    token endpoint.

    Raises:
        SecretMissing: no alternative is complete; names what the first one lacks.
    """
    first_miss: SecretMissing | None = None
    for alternative in alternatives:
        try:
            return tuple((one, _value(one, secrets, base_url)) for one in alternative)
        except SecretMissing as missing:
            first_miss = first_miss or missing
    if first_miss is not None:
        raise first_miss
    return ()


def _value(credential: Credential, secrets: SecretStore, base_url: str) -> str | ClientKey:
    name, grant = credential.secret.name, credential.grant
    try:
        return _read(secrets, name, base_url)
    except SecretMissing:
        if grant is None:
            raise
        parts = (_read(secrets, part_of(name, part), grant.token_url) for part in CLIENT_PARTS)
        return ClientKey(*parts)


def _read(secrets: SecretStore, name: str, url: str) -> str:
    host = urlsplit(url).hostname
    if host and isinstance(secrets, BoundSecrets):
        return secrets.get_for(name, host)
    return secrets.get(name)


def _grant(
    scheme: DocumentNode, secret: SecretRef, scopes: DocumentNode, base_url: str
) -> ClientGrant | None:
    """The client credentials grant of an oauth2 scheme, if it offers one."""
    flow = scheme.at("flows", "clientCredentials")
    if flow is None:
        return None
    written = flow.require("tokenUrl")
    # A relative address is the provider's own: most sandboxes have theirs beside the service.
    token_url = urljoin(f"{base_url}/", written.text())
    if origin_of(token_url) is None:
        raise written.invalid(f"{address_shown(token_url)!r} is no address of HTTP")
    return ClientGrant(secret, token_url, tuple(scope.text() for scope in scopes.elements()))


def _credential(
    operation: Operation, requirement: DocumentNode, scheme_name: str, base_url: str
) -> Credential:
    scheme = operation.root.require("components").require("securitySchemes").require(scheme_name)
    secret = secret_for_scheme(operation.document, scheme_name)
    kind = scheme.require("type").text()
    if kind == "apiKey":
        location = _KEY_LOCATIONS[scheme.require("in").text()]
        return Credential(secret, location, scheme.require("name").text())
    if kind == "http":
        kind = scheme.require("scheme").text().lower()
    if kind in _BEARER_KINDS:
        scopes = requirement.require(scheme_name)
        grant = _grant(scheme, secret, scopes, base_url) if kind == "oauth2" else None
        return Credential(secret, "header", "Authorization", "bearer", grant)
    return Credential(secret, "header", "Authorization", "basic")
