"""Each operation with each role and none; decisions that are refused and leave no trace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
from starlette.middleware import Middleware

from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.testing import eventually
from orchestrator.web.api.api_app import OPERATIONS
from orchestrator.web.api_operations import Operation
from orchestrator.web.people import Person, Right, Role
from orchestrator.web.sign_in.csrf import LOOPBACK, CsrfProtection
from orchestrator.web.sign_in.hosts import KnownHosts
from orchestrator.web.web_service import Door
from tests.integration.web.conftest import BO, api_of, person, service_for
from tests.integration.web.test_api_missions import FLIGHT, READS

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.web.conftest import Api

OWNER: Final = person("owner@example.com", Role.REQUESTER, Role.APPROVER)
PEOPLE: Final[dict[str, Person | None]] = {
    "nobody": None,
    "no role": person("none@example.com", sees_all=True),
    "viewer": person("viewer@example.com", Role.VIEWER),
    "viewer of all": person("auditor@example.com", Role.VIEWER, sees_all=True),
    "other requester": BO,
    "approver of the card": person("approver@example.com", Role.APPROVER),
    "approver of others": person("elsewhere@example.net", Role.APPROVER),
    "operator": person("operator@example.com", Role.OPERATOR, sees_all=True),
    "admin": person("admin@example.com", Role.ADMIN, sees_all=True),
    "owner": OWNER,
    "owner by a reading token": OWNER.model_copy(update={"scopes": (Right.READ,)}),
}
SEES_CARD: Final = {"viewer of all", "approver of the card", "operator", "admin"} | {
    "owner",
    "owner by a reading token",
}
"""Who sees the mission that waits at a card."""
SEES_OVER: Final = SEES_CARD - {"approver of the card"}
"""Who sees what has no open card: the mission that is over, and the session."""
MAY_CHANGE: Final = {"operator", "admin", "owner"}
PUBLIC: Final = {
    "listMissions",
    "startMission",
    "planMission",
    "rehearsePlan",
    "createToken",
    "endSessions",
    "listCards",
    "decideCards",
    "listQuestions",
    "listParked",
    "followAll",
    "startSession",
    "listTools",
    "showTool",
    "showMe",
}
"""Operations about no thing of somebody."""
CHANGES: Final = {
    "cancelMission",
    "rollBackMission",
    "beginCall",
    "completeSession",
    "rollBackSession",
}
"""Operations that also ask whose the thing is."""


@dataclass(frozen=True)
class Things:
    """What belongs to the owner."""

    waits: str
    """A mission that waits at a card."""
    over: str
    session: str
    card: str
    digest: str


@pytest.fixture(scope="module")
async def things(client: MissionClient) -> AsyncIterator[Things]:
    """The owner's missions and session, for the whole module."""
    policy = MissionPolicy.model_validate(
        {"confirmation": {"approvers": [{"approvers": ["*@example.com"]}]}}
    )
    waits = await client.start(MissionRequest(goal=FLIGHT, requester=OWNER.subject, policy=policy))
    over = await client.start(MissionRequest(goal=READS, requester=OWNER.subject))
    session = await client.session(requester=OWNER.subject)
    (card,) = await eventually(waits.confirmations)
    await over.result()
    yield Things(
        waits.mission_id, over.mission_id, session.session_id, card.confirmation_id, card.digest
    )
    await session.rollback()
    await waits.cancel()


def request_of(one: Operation, things: Things) -> tuple[str, dict[str, Any] | None]:
    """A request that changes nothing even if its sender may send it."""
    is_over = one.name in ("cancelMission", "showRecord", "listFollowUps", "previewRollback")
    parts = {
        "mission_id": things.over if is_over or one.name == "downloadFile" else things.waits,
        "confirmation_id": things.card,
        "question_id": f"{things.waits}.1-flights.7",
        "pause_id": f"{things.waits}.1-flights.7",
        "obligation_id": f"{things.waits}.1-flights.7",
        "follow_up_id": f"{things.waits}.1-flights.7:1",
        "file_id": "file:sha256-" + "0" * 64,
        "session_id": things.session,
        "call_id": "nothing",
        "tool_name": "flight_book_offer",
        "token_id": "nothing",
    }
    bodies: dict[str, dict[str, Any]] = {
        "startMission": {"goal": READS, "policy": {"budget": "no"}},
        "planMission": {"goal": READS, "budget": "no"},
        "rehearsePlan": {"goal": READS, "budget": "no"},
        "decideCard": {"kind": "approve", "digest": "0" * 64},
        "decideCards": {
            "decisions": [
                {
                    "confirmation_id": things.card,
                    "decision": {"kind": "approve", "digest": "0" * 64},
                }
            ]
        },
        "answerQuestion": {"values": {"x": 1}},
        "repairHold": {"decision": "keep"},
        "resumePause": {},
        "startFollowUp": {},
        "rollBackMission": {"reason": "x"},
        "resolveObligation": {"resolution": "accept"},
        "startSession": {"idle_limit": -1},
        "beginCall": {"tool": "no_such_tool"},
        "rollBackSession": {"reason": "x"},
    }
    path = one.path.removeprefix("/api/v1").format(**parts)
    if one.name == "followAll":
        path += "?after=nowhere"  # all histories need not be read to see who may
    return path, bodies.get(one.name, {} if one.body else None)


async def send(
    api: httpx.AsyncClient, one: Operation, path: str, body: dict[str, Any] | None
) -> httpx.Response:
    headers = {"Accept": "application/json"}
    return await api.request(one.method, path, json=body, headers=headers)


def expected(one: Operation, role: str, someone: Person | None) -> set[int]:
    """The statuses of a request by somebody: what the table of rights says."""
    if someone is None:
        return {401}
    if not someone.may(one.right):
        return {403}
    if one.name in ("listTokens", "revokeToken"):
        return {503}  # the service of these tests has no store
    if one.name in PUBLIC:
        return {200, 400 if one.name == "followAll" else 422}
    if one.name == "revokeRule":
        decides = role in (MAY_CHANGE | {"approver of the card"})
        return {409} if decides else {403} if role in SEES_CARD else {404}
    is_about_card = one.name in ("showCard", "decideCard")
    needs = SEES_OVER if "session" in one.path or one.name == "cancelMission" else SEES_CARD
    if one.name in ("showRecord", "listFollowUps", "previewRollback", "downloadFile"):
        needs = SEES_OVER
    if role not in needs:
        return {404}
    if one.name in CHANGES and role not in MAY_CHANGE:
        return {403}
    missing = {
        "showQuestion",
        "answerQuestion",
        "repairHold",
        "resumePause",
        "resolveObligation",
        "showRollback",
        "downloadFile",
        "showCall",
    }
    if one.name in missing:
        return {404}
    if is_about_card and one.name == "decideCard":
        return {409}
    return {200, 400, 409, 422}


ENDS_SESSION: Final = {"completeSession", "rollBackSession"}
"""They would end the session of all these tests: test_api_sessions has them."""
TRIED: Final = [
    pytest.param(one, role, id=f"{one.name}-{role}")
    for one in OPERATIONS
    for role in PEOPLE
    if not (one.name in ENDS_SESSION and role in MAY_CHANGE)
]


@pytest.fixture(scope="module")
async def people(
    client: MissionClient, stack: Stack
) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """The API as each of them reaches it, made once for the hundreds of tests of the table."""
    async with AsyncExitStack() as opened:
        yield {
            role: await opened.enter_async_context(api_of(client, stack, someone))
            for role, someone in PEOPLE.items()
        }


@pytest.mark.parametrize(("one", "role"), TRIED)
async def test_each_operation_with_each_role(
    one: Operation, role: str, api: Api, people: dict[str, httpx.AsyncClient], things: Things
) -> None:
    """401 without sign-in, 403 without the right, 404 for what is somebody else's."""
    path, body = request_of(one, things)
    # One API lets nobody in particular make 30 requests.
    reached = people[role] if PEOPLE[role] is not None else api(None)
    answer = await send(reached, one, path, body)

    assert answer.status_code in expected(one, role, PEOPLE[role]), answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
    if answer.status_code == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
    sees_nothing = role in ("viewer", "other requester", "approver of others")
    if sees_nothing and answer.status_code == 200 and one.method == "GET":
        assert things.waits not in answer.text


@pytest.mark.parametrize(
    "one", [one for one in OPERATIONS if "{mission_id}" in one.path], ids=lambda one: one.name
)
async def test_anothers_mission_looks_like_none(one: Operation, api: Api, things: Things) -> None:
    """Nothing in the answer tells a mission of somebody else from one that never was."""
    everything = person("else@example.net", *(r for r in Role if r is not Role.ADMIN))
    path, body = request_of(one, things)
    mission_id = next(part for part in (things.waits, things.over) if part in path)
    never = "never-" + mission_id[6:]
    theirs = await send(api(everything), one, path, body)
    none = await send(api(everything), one, path.replace(mission_id, never), body)

    assert theirs.status_code == none.status_code == 404
    assert theirs.text.replace(mission_id, never) == none.text


@pytest.mark.parametrize("kind", ["card", "session", "question"])
async def test_anothers_thing_looks_like_none(kind: str, api: Api, things: Things) -> None:
    stranger = api(person("else@example.net", Role.REQUESTER, Role.APPROVER))
    known, never, path = {
        "card": (things.card, f"{things.waits}.1-flights.99", "/cards/{}"),
        "session": (things.session, "session-0123456789", "/sessions/{}"),
        "question": (f"{things.waits}.1-flights.1", "never-1.1-flights.1", "/questions/{}"),
    }[kind]
    theirs, none = [await stranger.get(path.format(one)) for one in (known, never)]

    assert theirs.status_code == none.status_code == 404
    assert theirs.text.replace(known, never) == none.text


# -- decisions ------------------------------------------------------------------------------------


async def length(client: MissionClient, mission_id: str) -> int:
    return int((await client.connection.describe(mission_id)).history_length)


@pytest.mark.parametrize(
    ("who", "changes", "status"),
    [
        ("owner", {"digest": "0" * 64}, 409),
        ("owner", {"digest": "none"}, 422),
        ("approver of others", {}, 404),
        ("other requester", {}, 403),
        ("operator", {}, 403),
        ("nobody", {}, 401),
        ("owner", {"approver": "admin@example.com"}, 422),
    ],
    ids=["stale", "no digest", "another's", "no right", "operator", "nobody", "as another"],
)
async def test_a_refused_decision_leaves_no_trace(
    who: str, changes: dict[str, str], status: int, api: Api, client: MissionClient, things: Things
) -> None:
    before = await length(client, things.waits)
    body = {"kind": "approve", "digest": things.digest, **changes}
    answer = await api(PEOPLE[who]).post(f"/cards/{things.card}/decision", json=body)
    (card,) = await client.get(things.waits).confirmations()

    assert answer.status_code == status, answer.text
    assert await length(client, things.waits) == before
    assert card.confirmation_id == things.card


async def test_a_card_is_decided_once(api: Api, client: MissionClient) -> None:
    """The second decision is refused, whoever sends it, and adds nothing to the history."""
    mission = await client.start(MissionRequest(goal=FLIGHT, requester=OWNER.subject))
    (card,) = await eventually(mission.confirmations)
    there = f"/cards/{card.confirmation_id}/decision"
    body = {"kind": "approve", "digest": card.digest}
    first = await api(OWNER).post(there, json=body)
    await mission.result()
    before = await length(client, mission.mission_id)
    again = await api(OWNER).post(there, json=body)
    other = await api(PEOPLE["admin"]).post(there, json={"kind": "reject", "reason": "late"})

    assert first.status_code == 200
    assert (again.status_code, other.status_code) == (404, 404)
    assert await length(client, mission.mission_id) == before


@pytest.mark.parametrize("way", ["cookie", "loopback"])
async def test_a_page_of_another_site_decides_nothing(
    way: Any, api: Api, client: MissionClient, things: Things
) -> None:
    """A browser adds the cookie by itself: its `Origin` and `Sec-Fetch-Site` say who sends."""
    session = LOOPBACK if way == "loopback" else "a session"
    guard = Middleware(CsrfProtection, secret=b"s" * 32, session_of=lambda _: session)
    owner = api(OWNER.model_copy(update={"proved_by": way}), door=Door(middleware=[guard]))
    before = await length(client, things.waits)
    body = {"kind": "approve", "digest": "0" * 64}
    there = f"/cards/{things.card}/decision"
    foreign = [
        await owner.post(there, json=body, headers=headers)
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:81"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        )
    ]
    as_form = await owner.post(
        there, content=json.dumps(body), headers={"Content-Type": "text/plain"}
    )
    own = await owner.post(there, json=body, headers={"Origin": "http://127.0.0.1"})

    assert {(one.status_code, one.json()["code"]) for one in foreign} == {(403, "ForeignOrigin")}
    assert as_form.status_code == 403
    assert own.status_code == 409
    assert await length(client, things.waits) == before


async def test_a_strangers_name_of_this_machine_is_refused(api: Api) -> None:
    """A name that leads to loopback reaches the one user of `dev` from any page."""
    local = PEOPLE["admin"]
    assert local is not None
    local = local.model_copy(update={"proved_by": "loopback"})
    here = api(local, door=Door(middleware=[Middleware(KnownHosts)]))
    rebound = await here.get("/me", headers={"Host": "rebound.example"})
    own = await here.get("/me", headers={"Host": "localhost"})

    assert (rebound.status_code, own.status_code) == (421, 200)


# -- hostile bodies -------------------------------------------------------------------------------


def deep(levels: int) -> bytes:
    return b'{"goal":' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b"null", 422),
        (b'"text"', 422),
        (deep(100), 400),
        (deep(100_000), 400),
        (b'{"goal": NaN}', 400),
        (b'{"goal": "x", "inputs": {"a": 1e999}}', 400),
        (b'{"goal": "\\ud800"}', 400),
        (b'{"goal": "x\\u0000"}', 400),
        (b'{"goal": "x", "inputs": {"a": "\\u0000"}}', 400),
        (b'{"goal": "\xff"}', 400),
        (b'{"goal": "' + b"a" * 5_000 + b'"}', 400),
        (b'{"goal": "x", "inputs": {"a": ' + b"1" * 5_000 + b"}}", 400),
        (b'{"goal": ["x"]}', 422),
        (b'{"goal": "x", "orders": [' + b"{}," * 2_000 + b"{}]}", 422),
        (b'{"goal": "x", "requester": "a\\u0000b"}', 422),
        (b"[" * 300_000, 413),
        (b" " * 300_000, 413),
    ],
    ids=lambda one: str(one)[:24] if isinstance(one, bytes) else "",
)
async def test_a_hostile_body_is_one_clear_problem(content: bytes, status: int, api: Api) -> None:
    answer = await api(OWNER).post(
        "/missions", content=content, headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["detail"]
    assert len(answer.content) < 8_000
    assert len(problem.get("errors", [])) <= 20


async def test_no_more_of_a_large_body_is_read_than_its_limit(
    client: MissionClient, stack: Stack
) -> None:
    """Neither with a stated length, of which nothing is read, nor without."""
    from orchestrator.web.web_app import create_app

    app = create_app(service_for(client, stack, OWNER))
    for stated in (True, False):
        read = 0
        sent: list[Any] = []

        async def receive() -> Any:
            nonlocal read
            read += 64 * 1024
            return {"type": "http.request", "body": b" " * 64 * 1024, "more_body": True}

        async def send(message: Any, into: list[Any] = sent) -> None:
            into.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/api/v1/missions",
            "raw_path": b"/api/v1/missions",
            "query_string": b"",
            "root_path": "",
            "headers": headers + ([(b"content-length", b"999999999")] if stated else []),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        await app(scope, receive, send)

        assert sent[0]["status"] == 413
        assert read <= (0 if stated else 320 * 1024)
