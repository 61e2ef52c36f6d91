"""The MCP server over HTTP: an OAuth resource server, whose decisions are never signed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from mcp import types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from orchestrator.confirmation.models import Approve
from orchestrator.core.errors import SignatureRefused
from orchestrator.mcp.mcp_transports import ProtectedResource, mcp_app
from orchestrator.proxy.server import running_app
from orchestrator.testing import eventually
from orchestrator.web import actions
from orchestrator.web.config import ServeConfig
from orchestrator.web.people import Person, Role
from orchestrator.web.sign_in.door import bearer_tokens
from orchestrator.web.sign_in.identity import token_bearer
from orchestrator.web.web_service import Service
from tests.integration.mcp.conftest import ERAS, structured
from tests.integration.web_sign_in.browsers import free_port
from tests.integration.web_sign_in.conftest import ROLES

if TYPE_CHECKING:
    from orchestrator.adapters.storage.store import Store
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.web_sign_in.browsers import Issuer

GOAL = "Send a message to bo@example.com saying hello"
BOOK = "Book a flight from Berlin to Lisbon on 2027-06-04"
CLAIMS = {"aud": "missions-api", "groups": ["admins"]}


@pytest.fixture(scope="module")
async def at(
    governed: Stack, missions: MissionClient, store: Store, issuer: Issuer, url: str
) -> AsyncIterator[str]:
    """The address of the MCP server; people decide at `url`."""
    port = free_port()
    own = f"http://127.0.0.1:{port}"
    config = ServeConfig.model_validate(
        {
            "url": url,
            "sign_in": {"issuer": issuer.url, "client_id": "missions"},
            "machines": [{"issuer": issuer.url, "audience": "missions-api"}],
            "roles": ROLES,
        }
    )
    service = Service(
        client=missions,
        settings=governed.settings,
        identify=token_bearer(bearer_tokens(config, governed.settings, store)),
        url=own,
        store=store,
    )
    app = mcp_app(service, inbox=url, resource=ProtectedResource(own, [issuer.url]))
    async with running_app(app, port=port):
        yield own


@asynccontextmanager
async def client_of(at: str, token: str, era: str = "legacy", **options: Any) -> Any:
    """A client of the SDK that brings a token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(f"{at}/mcp", http_client=http)
        async with Client(transport, mode=era, **options) as mcp:
            yield mcp


INIT = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}


async def sent(at: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(f"{at}/mcp", json=INIT, headers={**ACCEPTS, **headers})


async def test_without_a_token_a_client_learns_where_to_get_one(at: str, issuer: Issuer) -> None:
    """The answer names the metadata of this resource, and those name its issuer (RFC 9728)."""
    refused = await sent(at)
    async with httpx.AsyncClient(trust_env=False) as http:
        named = refused.headers["www-authenticate"].partition('resource_metadata="')[2][:-1]
        metadata = (await http.get(named)).json()

    assert refused.status_code == 401
    assert named == f"{at}/.well-known/oauth-protected-resource/mcp"
    assert metadata["resource"] == f"{at}/mcp"
    assert metadata["authorization_servers"] == [issuer.url]


async def test_tokens_of_others_are_refused(at: str, issuer: Issuer) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "another audience": {**CLAIMS, "aud": "missions"},
        "another issuer": {**CLAIMS, "iss": "https://another.example"},
        "expired": {**CLAIMS, "exp": 1},
    }
    answers = {}
    for name, claims in wrong.items():
        token = await issuer.id_token(await issuer.user("machine-wrong", **claims))
        answers[name] = await sent(at, Authorization=f"Bearer {token}")
    nonsense = await sent(at, Authorization="Bearer nonsense")
    cookie = await sent(at, Cookie="session=x")

    assert {one.status_code for one in (*answers.values(), nonsense, cookie)} == {401}
    assert 'error="invalid_token", resource_metadata=' in nonsense.headers["www-authenticate"]


async def test_other_hosts_and_pages_are_refused(at: str, issuer: Issuer) -> None:
    token = f"Bearer {await issuer.id_token(await issuer.user('machine-a', **CLAIMS))}"
    right = await sent(at, Authorization=token)
    host = await sent(at, Authorization=token, Host="evil.example")
    origin = await sent(at, Authorization=token, Origin="https://evil.example")
    own = await sent(at, Authorization=token, Origin=at)
    async with httpx.AsyncClient(trust_env=False) as http:
        long = await http.post(
            f"{at}/mcp",
            content=b" " * 300_000,
            headers={**ACCEPTS, "Authorization": token, "Content-Type": "application/json"},
        )

    assert (right.status_code, own.status_code) == (200, 200)
    assert (host.status_code, origin.status_code) == (421, 403)
    assert long.status_code == 413


async def test_a_session_is_of_the_person_who_began_it(at: str, issuer: Issuer) -> None:
    ann = f"Bearer {await issuer.id_token(await issuer.user('machine-ann', **CLAIMS))}"
    bo = f"Bearer {await issuer.id_token(await issuer.user('machine-bo', **CLAIMS))}"
    begun = await sent(at, Authorization=ann)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    async with httpx.AsyncClient(trust_env=False) as http:
        answers = [
            await http.post(
                f"{at}/mcp", json=listing, headers={**ACCEPTS, **session, "Authorization": token}
            )
            for token in (bo, ann)
        ]

    assert [one.status_code for one in answers] == [404, 200]


@pytest.mark.parametrize("era", ERAS)
async def test_under_approval_keys_no_client_decides(
    era: str, at: str, url: str, issuer: Issuer, missions: MissionClient, governed: Stack
) -> None:
    """Not by a form that its person fills, and not by the function behind it; a rejection neither.

    An admin whose token the issuer has signed is no person who has signed in at the inbox.
    """

    async def agrees(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        content: Any = {"approve": True} if asked.mode == "form" else None
        return types.ElicitResult(action="accept" if content else "decline", content=content)

    token = await issuer.id_token(await issuer.user("machine-root", **CLAIMS))
    async with client_of(at, token, era, elicitation_callback=agrees) as mcp:
        begun = structured(await mcp.call_tool("start_mission", {"goal": BOOK, "wait_s": 50}))
        (wait,) = begun["waits"]
        tries = [
            await mcp.call_tool("decide_card", {"confirmation_id": wait["id"], "decision": how})
            for how in ("approve", "reject")
        ]
        again = structured(await mcp.call_tool("get_mission", {"mission_id": begun["mission_id"]}))
        root = Person(
            subject="machine-root", roles=(Role.ADMIN,), sees_all=True, proved_by="access token"
        )
        service = Service(client=missions, settings=governed.settings, identify=_nobody)
        card = await missions.confirmation(wait["id"])
        approval = Approve(confirmation_id=wait["id"], digest=card.digest)
        with pytest.raises(SignatureRefused):
            await actions.decide(service, root, approval)
        await mcp.call_tool("cancel_mission", {"mission_id": begun["mission_id"]})

        async def over() -> Any:
            found = await mcp.call_tool("get_mission", {"mission_id": begun["mission_id"]})
            return found.structured_content if found.structured_content["over"] else None

        ended: Any = await eventually(over)

    assert wait["url"] == f"{url}/cards/{wait['id']}"
    assert all(one.is_error for one in tries)
    assert tries[0].structured_content == {"needs_person": True, "url": wait["url"]}
    assert tries[1].structured_content["code"] == "SignatureRefused"
    assert again["waits"] == [wait]
    assert (ended["status"], ended["effects"]) == ("cancelled", [])


async def _nobody(_: Any) -> None:
    return None


async def test_an_api_token_brings_its_scopes_alone(at: str, store: Store) -> None:
    now = datetime.now(UTC)
    _, token = store.api_tokens.create(
        subject="ci@example.com",
        scopes=("read",),
        sees_all=False,
        created_by="boss@example.com",
        expires_at=now + timedelta(hours=1),
        now=now,
    )
    async with client_of(at, token) as mcp:
        listed = {one.name for one in (await mcp.list_tools()).tools}
        refused = await mcp.call_tool("start_mission", {"goal": GOAL})

    assert listed == {"get_mission", "list_waiting"}
    assert refused.structured_content["code"] == "RightMissing"
