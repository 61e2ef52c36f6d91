"""Access tokens by OAuth 2's client credentials grant (RFC 6749, 4.4), kept until they expire."""

import asyncio
import re
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote_plus

import httpx

from orchestrator.adapters.http.answer import Answer, read_answer
from orchestrator.adapters.http.masking import Mask, hide_secret
from orchestrator.adapters.http.refusal import MAX_REASON, reason_of
from orchestrator.core.errors import TokenRefused, TransportFailed
from orchestrator.core.secret_names import SecretRef, part_of
from orchestrator.saga.outcome import classify

_MARGIN_S = 30.0
"""A token that expires sooner is not sent any more: it has to live until it arrives."""
_LIFE_S = 300.0
"""Of a token whose endpoint does not say how long it lives."""
_MAX_ANSWER_BYTES = 100_000


class ClientGrant(NamedTuple):
    """What a document says about how to get a token."""

    secret: SecretRef
    token_url: str
    scopes: tuple[str, ...] = ()


class ClientKey(NamedTuple):
    """What we are to the token endpoint."""

    client_id: str
    client_secret: str

    @property
    def basic_token(self) -> str:
        """Both as the header carries them; encoded first, for a colon stands between them."""
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        return b64encode(pair.encode()).decode()

    @property
    def secret_forms(self) -> tuple[str, ...]:
        """Everything that is sent and gives the secret away."""
        return self.client_secret, quote_plus(self.client_secret), self.basic_token


class Token(NamedTuple):
    """An access token, and whether it was asked for just now."""

    value: str
    is_fresh: bool


@dataclass
class _Kept:
    """The token of one client for one grant."""

    value: str | None = None
    expires_at: float = 0.0
    refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Tokens:
    """Tokens of all clients; each is asked for once, however many calls wait for it."""

    def __init__(
        self, http: httpx.AsyncClient, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take what sends the requests, and a clock in seconds."""
        self._http = http
        self._clock = clock
        self._kept: dict[tuple[ClientGrant, ClientKey], _Kept] = {}

    async def get(self, tool: str, grant: ClientGrant, key: ClientKey) -> Token:
        """A token that lives long enough for a call of this tool, which errors name.

        Raises:
            TokenRefused: the endpoint gives none to this client.
            TransportFailed: the endpoint could not be reached or is in trouble; the tool was not
                called.
        """
        kept = self._kept.setdefault((grant, key), _Kept())
        async with kept.refreshing:
            if kept.value is not None and self._clock() < kept.expires_at:
                return Token(kept.value, is_fresh=False)
            answer = await self._asked(tool, grant, key)
            value, life_s = _granted(tool, grant, answer)
            kept.value = value
            kept.expires_at = self._clock() + max(life_s / 2, life_s - _MARGIN_S)
            return Token(value, is_fresh=True)

    def forget(self, grant: ClientGrant, key: ClientKey, token: Token) -> None:
        """Never give out this token again; one that has taken its place stays."""
        kept = self._kept.get((grant, key))
        if kept is not None and kept.value == token.value:
            kept.value = None

    async def _asked(self, tool: str, grant: ClientGrant, key: ClientKey) -> Answer:
        """The endpoint's answer; the key goes in the header, or in the body where only that works.

        Every server must take the header (RFC 6749, 2.3.1), and some do not.
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
        raise TokenRefused(tool, grant.secret.name, reason)

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


def _no_token(tool: str, reason: str) -> TransportFailed:
    return TransportFailed(
        tool, f"its token endpoint gave no answer ({reason})", may_have_arrived=False
    )


def _granted(tool: str, grant: ClientGrant, answer: Answer) -> tuple[str, float]:
    """The token of an answer and its life in seconds."""
    body = answer.value if isinstance(answer.value, dict) else {}
    value, kind = body.get("access_token"), str(body.get("token_type", "bearer"))
    if not isinstance(value, str) or not value:
        raise TokenRefused(tool, grant.secret.name, "it answered without an access_token")
    # Providers write `Bearer`, `BearerToken`, `bearer token`, or nothing at all.
    if not re.sub(r"[^a-z]", "", kind.lower()).startswith("bearer") and kind not in ("", "None"):
        raise TokenRefused(tool, grant.secret.name, "its token is not of the type bearer")
    try:
        life_s = float(str(body.get("expires_in", _LIFE_S)))
    except ValueError:
        life_s = _LIFE_S
    return value, max(life_s, 0.0)


def _error_code(answer: Answer) -> str:
    """RFC 6749's error code; '' when the answer has none."""
    code = answer.value.get("error") if isinstance(answer.value, dict) else None
    return code if isinstance(code, str) and answer.status >= 400 else ""
