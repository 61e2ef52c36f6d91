"""Credentials of an operation's security requirements, and access tokens of OAuth 2.

Tokens come from the client credentials grant (RFC 6749, 4.4) and are cached until they expire.
"""

import asyncio
import re
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import quote_plus, urljoin, urlsplit

import httpx

from orchestrator.adapters.http.answer import Answer, read_answer
from orchestrator.adapters.http.destinations import origin_of
from orchestrator.adapters.http.masking import Mask, hide_secret
from orchestrator.adapters.http.refusal import MAX_REASON, reason_of
from orchestrator.adapters.secrets import SecretStore, value_for
from orchestrator.catalog.contract import bare_credentials, security_alternatives
from orchestrator.catalog.operations import Operation
from orchestrator.core.errors import SecretMissing, TransportFailed, UsageError
from orchestrator.core.secret_names import CLIENT_PARTS, SecretRef, part_of, secret_for_scheme
from orchestrator.core.shown_text import address_shown
from orchestrator.json_schema.document import DocumentNode
from orchestrator.saga.outcome import classify

_MARGIN_S = 30.0
"""A token that expires sooner than this is not sent, because it has to be valid on arrival."""
_LIFE_S = 300.0
"""Lifetime of a token whose endpoint states none."""
_MAX_ANSWER_BYTES = 100_000


class ClientGrant(NamedTuple):
    """A document's client credentials grant."""

    secret: SecretRef
    token_url: str
    scopes: tuple[str, ...] = ()


class ClientKey(NamedTuple):
    """The client's credentials at the token endpoint."""

    client_id: str
    client_secret: str

    @property
    def basic_token(self) -> str:
        """Id and secret as the header carries them: percent-encoded, as a colon separates them."""
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        return b64encode(pair.encode()).decode()

    @property
    def secret_forms(self) -> tuple[str, ...]:
        """Every form in which the secret is sent."""
        return self.client_secret, quote_plus(self.client_secret), self.basic_token


class Token(NamedTuple):
    """An access token; fresh if it was requested for this call."""

    value: str
    is_fresh: bool


@dataclass
class _CachedToken:
    value: str | None = None
    expires_at: float = 0.0
    refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Tokens:
    """Access tokens of all clients; concurrent calls share one token request."""

    def __init__(
        self, http: httpx.AsyncClient, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Send requests by this client; the clock is in seconds."""
        self._http = http
        self._clock = clock
        self._kept: dict[tuple[ClientGrant, ClientKey], _CachedToken] = {}

    async def get(self, tool: str, grant: ClientGrant, key: ClientKey) -> Token:
        """Return a token that lives long enough for a call of this tool, which errors name.

        Raises:
            UsageError: as TokenRefused: the endpoint refuses a token to this client.
            TransportFailed: the endpoint could not be reached or is in trouble; the tool was not
                called.
        """
        kept = self._kept.setdefault((grant, key), _CachedToken())
        async with kept.refreshing:
            if kept.value is not None and self._clock() < kept.expires_at:
                return Token(kept.value, is_fresh=False)
            answer = await self._asked(tool, grant, key)
            body = answer.value if isinstance(answer.value, dict) else {}
            value, kind = body.get("access_token"), str(body.get("token_type", "bearer"))
            if not isinstance(value, str) or not value:
                raise _token_refused(tool, grant, "it answered without an access_token")
            # Providers write `Bearer`, `BearerToken`, `bearer token`, or nothing at all.
            is_bearer = re.sub(r"[^a-z]", "", kind.lower()).startswith("bearer")
            if not is_bearer and kind not in ("", "None"):
                raise _token_refused(tool, grant, "its token is not of the type bearer")
            try:
                life_s = max(float(str(body.get("expires_in", _LIFE_S))), 0.0)
            except ValueError:
                life_s = _LIFE_S
            kept.value = value
            kept.expires_at = self._clock() + max(life_s / 2, life_s - _MARGIN_S)
            return Token(value, is_fresh=True)

    def forget(self, grant: ClientGrant, key: ClientKey, token: Token) -> None:
        """Drop this token; a token that has replaced it stays."""
        kept = self._kept.get((grant, key))
        if kept is not None and kept.value == token.value:
            kept.value = None

    async def _asked(self, tool: str, grant: ClientGrant, key: ClientKey) -> Answer:
        """Return the endpoint's answer, with the key in the header, else in the body.

        Every server must accept the header (RFC 6749, 2.3.1), and some do not.
        """
        answer = await self._sent(tool, grant, key, in_header=True)
        if answer.status == 401 or _error_code(answer) == "invalid_client":
            answer = await self._sent(tool, grant, key, in_header=False)
        kind = classify(answer.status)
        if kind == "succeeded":
            return answer
        name = part_of(grant.secret.name, "client_secret")
        mask = Mask([hide_secret(name, sent) for sent in key.secret_forms])
        code = _error_code(answer)
        reason = mask.cut(reason_of(answer), MAX_REASON) + (f" ({mask.text(code)})" if code else "")
        if kind == "unknown":
            raise _no_token(tool, reason)
        raise _token_refused(tool, grant, reason)

    async def _sent(
        self, tool: str, grant: ClientGrant, key: ClientKey, *, in_header: bool
    ) -> Answer:
        form = {"grant_type": "client_credentials"}
        if grant.scopes:
            form["scope"] = " ".join(grant.scopes)
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
        if in_header:
            headers["Authorization"] = f"Basic {key.basic_token}"
        else:
            form |= {"client_id": key.client_id, "client_secret": key.client_secret}
        request = httpx.Request("POST", grant.token_url, headers=headers, data=form)
        try:
            response = await self._http.send(
                request, stream=True, auth=None, follow_redirects=False
            )
            async with aclosing(response):
                return await read_answer(response, max_bytes=_MAX_ANSWER_BYTES)
        except httpx.HTTPError as error:
            # The form holds a secret, and the error holds the request.
            raise _no_token(tool, type(error).__name__) from None


def _token_refused(tool: str, grant: ClientGrant, reason: str) -> UsageError:
    name = grant.secret.name
    return UsageError(
        f"{tool}: its token endpoint refused the client of {name!r}: {reason}; check the secrets "
        f"{name}__client_id and {name}__client_secret",
        code="TokenRefused",
    )


def _no_token(tool: str, reason: str) -> TransportFailed:
    return TransportFailed(
        tool, f"its token endpoint gave no answer ({reason})", may_have_arrived=False
    )


def _error_code(answer: Answer) -> str:
    code = answer.value.get("error") if isinstance(answer.value, dict) else None
    return code if isinstance(code, str) and answer.status >= 400 else ""


_BEARER_KINDS = frozenset({"bearer", "oauth2", "openIdConnect"})
"""Schemes whose tokens are sent in the same way, however they are obtained."""

_KeyLocation = Literal["header", "query", "cookie"]
_KEY_LOCATIONS: dict[str, _KeyLocation] = {"header": "header", "query": "query", "cookie": "cookie"}


class Credential(NamedTuple):
    """A credential: its secret, and the place and form in which it is written."""

    secret: SecretRef
    location: _KeyLocation
    field: str
    scheme: Literal["plain", "bearer", "basic"] = "plain"
    grant: ClientGrant | None = None
    """The grant for a token, if the secret is not a token itself."""

    def written(self, value: str) -> str:
        """Return the text of the credential's field."""
        if self.scheme == "bearer":
            return value if value.lower().startswith("bearer ") else f"Bearer {value}"
        if self.scheme == "basic":
            return f"Basic {basic_token(value)}"
        return value


Alternative = tuple[Credential, ...]
"""Credentials that are sent together."""


def basic_token(value: str) -> str:
    """Encode `user:password` as basic authentication does."""
    return b64encode(value.encode()).decode()


def read_alternatives(operation: Operation, base_url: str = "") -> tuple[Alternative, ...]:
    """Return the supported security alternatives in order; none: no credential is needed.

    The operation's own requirements precede the document's; a credential among the parameters
    belongs to each. A relative address of a token endpoint starts at `base_url`.

    Raises:
        DocumentInvalid: every requirement names a scheme that is missing or not supported.
    """
    offered = list(security_alternatives(operation))
    spoken = [requirement for requirement, faults in offered if not faults]
    if offered and not spoken:
        raise offered[0][1][0]
    bare = []
    for parameter in bare_credentials(operation):
        name, place = parameter.require("name").text(), parameter.require("in").text()
        says_bearer = "bearer" in (parameter.text_at("description") or "").lower()
        scheme: Literal["plain", "bearer"] = (
            "bearer" if says_bearer and place == "header" else "plain"
        )
        secret = secret_for_scheme(operation.document, name)
        bare.append(Credential(secret, _KEY_LOCATIONS[place], name, scheme))
    listed = [
        (*(_credential(operation, one, named, base_url) for named in one.mapping()), *bare)
        for one in spoken
    ]
    return tuple(listed) if listed or not bare else (tuple(bare),)


def resolve_credentials(
    alternatives: tuple[Alternative, ...], secrets: SecretStore, base_url: str = ""
) -> tuple[tuple[Credential, str | ClientKey], ...]:
    """Return the credentials of the first complete alternative, with their values.

    The value of a credential with a grant is the configured token, else the client's key.
    Credentials are sent to `base_url`, the key to the token endpoint.

    Raises:
        SecretMissing: no alternative is complete; names the missing secret of the first.
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
        return value_for(secrets, name, urlsplit(base_url).hostname)
    except SecretMissing:
        if grant is None:
            raise
        host = urlsplit(grant.token_url).hostname
        return ClientKey(*(value_for(secrets, part_of(name, part), host) for part in CLIENT_PARTS))


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
        grant = None
        flow = scheme.at("flows", "clientCredentials") if kind == "oauth2" else None
        if flow is not None:
            written = flow.require("tokenUrl")
            # A relative address is the provider's own: most sandboxes have their token endpoint
            # next to the service.
            token_url = urljoin(f"{base_url}/", written.text())
            if origin_of(token_url) is None:
                raise written.invalid(f"{address_shown(token_url)!r} is no address of HTTP")
            scopes = requirement.require(scheme_name).elements()
            grant = ClientGrant(secret, token_url, tuple(scope.text() for scope in scopes))
        return Credential(secret, "header", "Authorization", "bearer", grant)
    return Credential(secret, "header", "Authorization", "basic")
