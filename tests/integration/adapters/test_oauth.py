"""Tokens by the client credentials grant: asked for when needed, shared, renewed, never shown."""

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.adapters.http.credentials import ClientGrant, ClientKey, Tokens
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import (
    ArgumentsInvalid,
    EgressRefused,
    SecretMissing,
    TransportFailed,
    UsageError,
)
from orchestrator.core.secret_names import SecretRef
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii, MemorySecrets

SECRETS = {"crm__oauth__client_id": "our:id", "crm__oauth__client_secret": "s3cret/long-enough"}
_BASIC = b64encode(b"our%3Aid:s3cret%2Flong-enough").decode()
_FORM = "client_id=our%3Aid&client_secret=s3cret%2Flong-enough"
"""The forms in which the token endpoint is sent the secret."""


def document(token_url: str = "/oauth/token", **scheme: Any) -> dict[str, Any]:
    flow = {"tokenUrl": token_url, "scopes": {"read": "r", "write": "w"}}

    def operation(name: str, scopes: list[str]) -> dict[str, Any]:
        return {
            "operationId": name,
            "x-orchet-tool": True,
            "security": [{"oauth": scopes}],
            "parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}],
            "responses": {"200": {"description": "ok"}, "401": {"description": "no"}},
        }

    return {
        "openapi": "3.1.0",
        "info": {"title": "CRM", "version": "1"},
        "servers": [
            {
                "url": "http://{host}:{port}/v1",
                "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "1"}},
            }
        ],
        "paths": {
            "/read": {"get": operation("crm_read", ["read"])},
            "/write": {"get": operation("crm_write", ["read", "write"])},
            "/bare": {"get": operation("crm_bare", [])},
        },
        "components": {
            "securitySchemes": {
                "oauth": {"type": "oauth2", "flows": {"clientCredentials": flow}, **scheme}
            }
        },
    }


class Authority:
    """A token endpoint and the service behind it, both at the provider's port."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self.granted: list[str] = []
        self.valid: set[str] = set()
        self.expires_in: Any = 3600
        self.refusal: Response | None = None
        self.takes_header = True
        self.token_type: str | None = "Bearer"
        self.grants_nothing = False
        self.delay_s = 0.0

    @property
    def token_requests(self) -> list[Any]:
        return [seen for seen in self._provider.seen if seen.target.endswith("/oauth/token")]

    @property
    def calls(self) -> list[Any]:
        return [seen for seen in self._provider.seen if not seen.target.endswith("/oauth/token")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].endswith("/oauth/token"):
            await asyncio.sleep(self.delay_s)
            answer = self._grant()
        else:
            answer = self._serve()
        await answer(scope, receive, send)

    def _grant(self) -> Response:
        if self.refusal is not None:
            return self.refusal
        if not self.takes_header and "authorization" in self._provider.seen[-1].headers:
            return JSONResponse({"error": "invalid_client"}, 400)
        token = f"token-number-{len(self.granted)}"
        self.granted.append(token)
        if not self.grants_nothing:
            self.valid.add(token)
        body = {"access_token": token, "token_type": self.token_type, "expires_in": self.expires_in}
        return JSONResponse({name: value for name, value in body.items() if value is not None})

    def _serve(self) -> Response:
        token = self._provider.seen[-1].headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.valid:
            return JSONResponse({"ok": token})
        return JSONResponse({"message": f"unknown token {token}"}, 401)


@pytest.fixture
def authority(provider: Any) -> Authority:
    made = Authority(provider)
    provider.answer = made
    return made


Call = Callable[..., Any]


@pytest.fixture
async def call(provider: Any) -> AsyncIterator[Call]:
    clients: dict[int, ToolClient] = {}

    async def send(
        tool: str = "crm_read",
        *,
        secrets: dict[str, str] = SECRETS,
        catalog: Catalog | None = None,
        timeout_s: float = 10,
        **arguments: Any,
    ) -> ToolOutcome:
        client = clients.setdefault(
            id(secrets),
            ToolClient(
                secrets=MemorySecrets(secrets),
                pii=MemoryPii(),
                server_variables={"crm": {"port": str(provider.port)}},
                allowed_private_hosts=["127.0.0.1"],
            ),
        )
        made = catalog or Catalog.from_documents({"crm": document()})
        return await client.call(
            made,
            made.tool(tool),
            arguments,
            call_id="m.l.1",
            idempotency_key=None,
            timeout_s=timeout_s,
        )

    yield send
    for client in clients.values():
        await client.aclose()


async def test_a_token_is_asked_for_and_sent(call: Call, authority: Authority) -> None:
    """The client shows itself in the header, both halves encoded, and names the scopes."""
    outcome = await call("crm_write")

    (asked,) = authority.token_requests
    (called,) = authority.calls
    assert (asked.method, asked.target) == ("POST", "/oauth/token")
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
    }
    scheme, _, encoded = asked.headers["authorization"].partition(" ")
    assert (scheme, b64decode(encoded)) == ("Basic", b"our%3Aid:s3cret%2Flong-enough")
    assert called.headers["authorization"] == "Bearer token-number-0"
    assert outcome.kind == "succeeded"


async def test_a_token_is_kept_for_the_calls_that_may_use_it(
    call: Call, authority: Authority
) -> None:
    """One per client and set of scopes, not one per call."""
    for tool in ("crm_read", "crm_read", "crm_write", "crm_bare", "crm_read"):
        await call(tool)

    scopes = [parse_qs(asked.body.decode()).get("scope") for asked in authority.token_requests]
    assert scopes == [["read"], ["read write"], None]


async def test_two_clients_never_share_a_token(call: Call, authority: Authority) -> None:
    """Another worker's secrets are another client."""
    await call()
    await call(secrets={**SECRETS, "crm__oauth__client_id": "other"})

    assert len(authority.token_requests) == 2


async def test_calls_at_once_wait_for_one_token(call: Call, authority: Authority) -> None:
    """Twenty calls, one request for a token."""
    authority.delay_s = 0.1

    outcomes = await asyncio.gather(*(call() for _ in range(20)))

    assert {outcome.kind for outcome in outcomes} == {"succeeded"}
    assert len(authority.token_requests) == 1


@pytest.mark.parametrize(("expires_in", "asked"), [(3600, 1), (0, 3), ("60", 1), (None, 1)])
async def test_a_token_is_renewed_when_its_time_is_over(
    call: Call, authority: Authority, expires_in: Any, asked: int
) -> None:
    """By what the endpoint says of it, as a number or as a text."""
    authority.expires_in = expires_in

    for _ in range(3):
        await call()

    assert len(authority.token_requests) == asked


@pytest.mark.parametrize(
    ("expires_in", "kept_s"), [(3600, 3570.0), (40, 20.0), (1, 0.5), (None, 270.0), ("x", 270.0)]
)
async def test_a_token_is_given_up_before_it_expires(expires_in: Any, kept_s: float) -> None:
    """Thirty seconds before, or half its life when that is short: it must live until it is used."""
    now, asked = [0.0], []

    async def body() -> AsyncIterator[bytes]:
        yield json.dumps({"access_token": "t", "expires_in": expires_in}).encode()

    def grant(request: httpx.Request) -> httpx.Response:
        asked.append(now[0])
        return httpx.Response(200, content=body(), headers={"content-type": "application/json"})

    key, wanted = ClientKey("i", "s"), ClientGrant(SecretRef("x"), "http://h/t")
    async with httpx.AsyncClient(transport=httpx.MockTransport(grant)) as http:
        tokens = Tokens(http, clock=lambda: now[0])
        await tokens.get("t", wanted, key)
        now[0] = kept_s - 0.01
        before = await tokens.get("t", wanted, key)
        now[0] = kept_s
        after = await tokens.get("t", wanted, key)

    assert (before.is_fresh, after.is_fresh) == (False, True)
    assert asked == [0.0, kept_s]


async def test_a_token_that_was_revoked_is_replaced_once(call: Call, authority: Authority) -> None:
    """A 401 for a kept token is answered with a new one, and the call is made again."""
    await call()
    authority.valid.clear()

    outcome = await call()

    assert outcome.kind == "succeeded"
    assert [c.headers["authorization"][-1] for c in authority.calls] == ["0", "0", "1"]


async def test_a_fresh_token_that_another_worker_revoked_is_replaced(
    call: Call, authority: Authority
) -> None:
    """Its endpoint revokes the token before: a 401 for a new one is tried again after a pause."""
    authority.grants_nothing = True

    async def goes_on() -> None:
        await asyncio.sleep(0.05)
        authority.grants_nothing = False

    outcome, _ = await asyncio.gather(call(), goes_on())

    assert outcome.kind == "succeeded"
    assert len(authority.token_requests) == 2


async def test_fresh_tokens_that_are_refused_are_replaced_a_few_times_only(
    call: Call, authority: Authority
) -> None:
    """The client may not do this: asking again would go on for ever. No token is shown."""
    await call()
    authority.valid.clear()
    authority.grants_nothing = True

    outcome = await call()

    assert (outcome.kind, outcome.status) == ("rejected", 401)
    assert outcome.reason == "HTTP 401 Unauthorized: unknown token [secret crm__oauth]"
    assert len(authority.calls) == 6
    assert len(authority.token_requests) == 5


async def test_calls_that_meet_a_revoked_token_renew_it_once(
    call: Call, authority: Authority
) -> None:
    """Ten calls get a 401 each, and one asks for a new token."""
    await call()
    authority.valid.clear()
    authority.delay_s = 0.1

    outcomes = await asyncio.gather(*(call() for _ in range(10)))

    assert {outcome.kind for outcome in outcomes} == {"succeeded"}
    assert len(authority.token_requests) == 2


async def test_a_key_in_the_body_is_tried_where_the_header_is_refused(
    call: Call, authority: Authority
) -> None:
    """Every server must take the header, and some do not."""
    authority.takes_header = False

    assert (await call()).kind == "succeeded"

    last = parse_qs(authority.token_requests[-1].body.decode())
    assert (last["client_id"], last["client_secret"]) == (["our:id"], ["s3cret/long-enough"])


async def test_a_token_that_is_configured_is_used_as_it_is(
    call: Call, authority: Authority
) -> None:
    """Somebody else obtains it; nothing is asked for."""
    authority.valid.add("given")

    outcome = await call(secrets={"crm__oauth": "given"})

    assert outcome.kind == "succeeded"
    assert authority.token_requests == []


@pytest.mark.parametrize(
    "token_type", ["bearer", "BEARER", "BearerToken", "bearer_token", "", None]
)
async def test_a_bearer_token_is_known_however_it_is_spelt(
    call: Call, authority: Authority, token_type: str | None
) -> None:
    """Providers write its type in several ways, or leave it out."""
    authority.token_type = token_type

    assert (await call()).kind == "succeeded"


async def test_a_client_that_is_not_configured_is_named(call: Call, authority: Authority) -> None:
    """By the secrets that are missing."""
    with pytest.raises(SecretMissing, match="crm__oauth__client_secret"):
        await call(secrets={"crm__oauth__client_id": "i"})

    assert authority.token_requests == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            JSONResponse({"error": "invalid_client", "error_description": "unknown"}, 401),
            "HTTP 401 Unauthorized: invalid_client: unknown",
        ),
        (JSONResponse({"error": "invalid_scope"}, 400), "HTTP 400 Bad Request: invalid_scope"),
        (JSONResponse({"message": "for s3cret/long-enough"}, 403), "for [secret crm__oauth"),
        (JSONResponse({"message": f"unread header: {_BASIC}"}, 400), "header: [secret crm__oauth"),
        (JSONResponse({"message": f"unread form: {_FORM}"}, 400), "=[secret crm__oauth"),
        (JSONResponse({"error": f"x {_BASIC}"}, 400), "[secret crm__oauth"),
        (JSONResponse({}), "it answered without an access_token"),
        (Response("<html>", media_type="text/html"), "it answered without an access_token"),
        (JSONResponse({"access_token": "t", "token_type": "mac"}), "not of the type bearer"),
        (Response(status_code=302, headers={"location": "http://evil.example"}), "HTTP 302"),
    ],
)
async def test_a_refusal_of_the_endpoint_is_told(
    call: Call, authority: Authority, answer: Response, said: str
) -> None:
    """What it answered and which secrets to look at; the tool was not called, nothing is shown."""
    authority.refusal = answer

    with pytest.raises(UsageError) as refused:
        await call()

    assert refused.value.code == "TokenRefused"
    assert said in str(refused.value)
    assert "check the secrets crm__oauth__client_id and crm__oauth__client_secret" in str(
        refused.value
    )
    assert "s3cret" not in str(refused.value)
    assert _BASIC[12:-4] not in str(refused.value)
    assert authority.calls == []


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_an_endpoint_in_trouble_is_tried_again_later(
    call: Call, authority: Authority, status: int
) -> None:
    """The engine retries; the provider cannot have acted."""
    authority.refusal = Response(status_code=status)

    with pytest.raises(TransportFailed, match="its token endpoint gave no answer") as failed:
        await call()

    assert failed.value.may_have_arrived is False
    authority.refusal = None
    assert (await call()).kind == "succeeded"


async def test_a_late_token_is_no_late_call(call: Call, authority: Authority) -> None:
    """The deadline passes while the token is waited for: nothing was sent to the tool."""
    authority.delay_s = 5

    with pytest.raises(TransportFailed, match="over before it was sent") as failed:
        await call(timeout_s=1)

    assert failed.value.may_have_arrived is False


async def test_arguments_are_checked_before_a_token_is_asked_for(
    call: Call, authority: Authority
) -> None:
    """A call that cannot be made costs nothing."""
    with pytest.raises(ArgumentsInvalid):
        await call(n="x")

    assert authority.token_requests == []


async def test_a_token_endpoint_is_no_way_around_the_checks(call: Call) -> None:
    """Its address is looked at like any other."""
    inside = Catalog.from_documents({"crm": document("http://169.254.169.254/token")})

    with pytest.raises(EgressRefused, match=r"169\.254\.169\.254 leads to"):
        await call(catalog=inside)


async def test_neither_key_nor_token_is_logged(
    call: Call, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """At any level."""
    with caplog.at_level(logging.DEBUG):
        await call()

    assert "s3cret" not in caplog.text
    assert "token-number" not in caplog.text
