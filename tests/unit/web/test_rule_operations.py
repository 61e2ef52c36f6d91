"""Revocations and rehearsals through the API: who may, and what is passed on."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from orchestrator.chaos.rehearsal import Rehearsal, RehearsedEffect
from orchestrator.confirmation.same_again import AgainRecord
from orchestrator.core.errors import MissionNotFound, ServiceUnavailable
from orchestrator.messages.mission import MissionRequest
from orchestrator.settings import Settings
from orchestrator.web import web_app as web_app
from orchestrator.web.api import cards
from orchestrator.web.api import missions as missions_api
from orchestrator.web.people import Person, Role
from orchestrator.web.web_service import Service
from tests.unit.confirmation.test_same_again import rule

BODY = {"goal": "Pay ACME", "requester": "ana@example.com"}


@dataclass
class Client:
    """A client that notes cards."""

    revoked: list[tuple[str, str, str]] = field(default_factory=list)

    async def revoke(self, rule_id: str, *, by: str, reason: str) -> AgainRecord:
        self.revoked.append((rule_id, by, reason))
        return AgainRecord(rule=rule(), revoked_by=by)


def served(client: Client, *roles: Role) -> httpx.AsyncClient:
    person = Person(subject="ana@example.com", roles=roles, proved_by="cookie")

    async def identify(_: object) -> Person:
        return person

    connected: Any = SimpleNamespace(revoke=client.revoke, connection=None)
    service = Service(client=connected, settings=Settings(), identify=identify)
    app = web_app.create_app(service)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://inbox")


@pytest.fixture(autouse=True)
def missions(monkeypatch: pytest.MonkeyPatch) -> None:
    """One mission, of bob; others do not exist for anybody."""

    async def seen(_: Service, __: Person, mission_id: str) -> None:
        if mission_id != "trip":
            raise MissionNotFound(mission_id)

    async def requester(*_: object) -> str:
        return "bob@example.com"

    monkeypatch.setattr(cards, "seen_mission", seen)
    monkeypatch.setattr(cards, "requester_of", requester)


@pytest.mark.parametrize(
    ("roles", "status"),
    [
        ((Role.APPROVER,), 200),
        ((Role.OPERATOR,), 200),
        ((Role.VIEWER,), 403),
        ((Role.REQUESTER,), 403),
        ((), 403),
    ],
)
async def test_who_may_decide_or_operate_revokes(roles: tuple[Role, ...], status: int) -> None:
    """In their own name; a mission that is not seen is not found, never forbidden."""
    client = Client()
    path = "/api/v1/cards/trip.1-pay.1/revocation"
    async with served(client, *roles) as http:
        answer = await http.post(path, json={"reason": "enough"})
        unseen = await http.post(path.replace("trip", "other"), json={})
        other = await http.post(path, json={"reason": "enough", "by": "eve@example.com"})

    assert answer.status_code == status, answer.text
    assert unseen.status_code == (404 if roles else 403)
    assert other.status_code in (403, 422)
    wanted = [("trip.1-pay.1", "ana@example.com", "enough")] if status == 200 else []
    assert client.revoked == wanted


async def test_a_rehearsal_is_a_document_with_its_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[MissionRequest] = []

    async def rehearse(request: MissionRequest, _: Settings) -> Rehearsal:
        if asked:
            raise ServiceUnavailable("another rehearsal runs here")
        asked.append(request)
        made = RehearsedEffect(tool="pay", title="Pay", why_not="nothing cancels pay")
        return Rehearsal(goal=request.goal, status="succeeded", effects=(made,), left=1)

    monkeypatch.setattr(missions_api, "rehearse", rehearse)
    async with served(Client(), Role.REQUESTER) as http:
        first, busy = [await http.post("/api/v1/plans/rehearsals", json=BODY) for _ in range(2)]
        others = await http.post(
            "/api/v1/plans/rehearsals", json={**BODY, "requester": "bob@example.com"}
        )
    async with served(Client(), Role.VIEWER) as http:
        viewer = await http.post("/api/v1/plans/rehearsals", json=BODY)

    assert first.json()["outcome"] == "1 made, 0 cancelled, 1 cannot be cancelled"
    assert asked[0].requester == "ana@example.com"
    assert busy.status_code == 503
    assert busy.headers["Retry-After"]
    assert (others.status_code, viewer.status_code) == (403, 403)
