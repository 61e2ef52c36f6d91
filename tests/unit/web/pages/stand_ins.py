"""A client without a server, and the pages over it: what they read is given as models."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection

from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.mission_handle import MissionNow
from orchestrator.client.mission_pages import MissionPage
from orchestrator.confirmation.models import PAST, ConfirmationCard, Decision, DecisionReceipt
from orchestrator.core import errors
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.open_waits import Waiting
from orchestrator.settings import Settings
from orchestrator.web import pages
from orchestrator.web.people import Person, Role
from orchestrator.web.web_service import Service
from tests.unit.web.pages.samples import NOON

ANA = Person(subject="ana@example.com", roles=(Role.ADMIN,), sees_all=True, proved_by="loopback")
ORIGIN = "https://inbox.example"


async def _no_workflows(_: str) -> AsyncIterator[Any]:
    nothing: tuple[Any, ...] = ()
    for one in nothing:
        yield one


class FakeClient:
    """Answers from models, and records what it is asked to do."""

    def __init__(
        self,
        *,
        waiting: Waiting | None = None,
        results: Iterable[MissionResult] = (),
        **answers: Any,
    ) -> None:
        self.open = waiting or Waiting()
        self.results = {one.mission_id: one for one in results}
        self.answers = answers
        self.decided: list[Decision] = []
        self.away: Exception | None = None
        self.refusal: Exception | None = None
        temporal = SimpleNamespace(list_workflows=_no_workflows)
        self.connection = SimpleNamespace(
            mission=self._described,
            describe=self._described,
            workflow_of=lambda _: None,
            temporal=temporal,
            explaining=nullcontext,
        )

    async def _described(self, mission_id: str) -> Any:
        found = self.results.get(mission_id)
        requester = found.requester if found is not None else ""
        return SimpleNamespace(typed_search_attributes={REQUESTER: requester})

    async def waiting(self, *, requester: str | None = None) -> Waiting:
        if self.away is not None:
            raise self.away
        if requester is None:
            return self.open
        own = [card for card in self.open.cards if card.requester == requester]
        return self.open.model_copy(update={"cards": tuple(own), "questions": ()})

    async def confirmation(self, confirmation_id: str) -> ConfirmationCard:
        if self.away is not None:
            raise self.away
        for card in self.open.cards:
            if card.confirmation_id == confirmation_id:
                return card
        raise errors.CardUnknown(confirmation_id, "no such confirmation is open")

    async def question(self, question_id: str) -> Question | None:
        found = (q for q in self.open.questions if q.question_id == question_id)
        return next(found, None)

    async def decide(self, decision: Decision) -> DecisionReceipt:
        if self.refusal is not None:
            raise self.refusal
        self.decided.append(decision)
        past = PAST[decision.kind]
        return DecisionReceipt(confirmation_id=decision.confirmation_id, accepted=past, at=NOON)

    def get(self, mission_id: str) -> Any:
        async def snapshot() -> MissionResult:
            if mission_id not in self.results:
                raise errors.MissionNotFound(mission_id)
            return self.results[mission_id]

        async def now() -> MissionNow:
            result = await snapshot()
            progress = tuple(self.answers.get("progress", ()))
            return MissionNow(result.requester, self.open, None, progress, result)

        async def confirmations() -> list[ConfirmationCard]:
            return [card for card in self.open.cards if card.mission_id == mission_id]

        return SimpleNamespace(
            mission_id=mission_id, snapshot=snapshot, now=now, confirmations=confirmations
        )

    async def mission_page(self, *_: Any, **__: Any) -> MissionPage:
        return MissionPage(missions=tuple(self.answers.get("missions", ())), next="abc")

    async def parked(self) -> Any:
        return self.answers.get("parked", [])

    async def rollback_report(self, mission_id: str) -> Any:
        if "report" not in self.answers:
            raise errors.UsageError("it has no rollback")
        return self.answers["report"]

    async def rollback_preview(self, mission_id: str) -> Any:
        return self.answers["preview"]

    async def plan(self, request: Any) -> Any:
        return self.answers["plan"]


def service_of(client: FakeClient, person: Person | None = ANA) -> Service:
    """The service that the pages are given."""

    async def identify(_: HTTPConnection) -> Person | None:
        return person

    settings = Settings.model_validate({"state_dir": "/nonexistent/orchestrator"})
    return Service(client=cast("MissionClient", client), settings=settings, identify=identify)


def browser(
    client: FakeClient, person: Person | None = ANA, guards: Sequence[Middleware] = ()
) -> httpx.AsyncClient:
    app = Starlette(routes=pages.routes(service_of(client, person)), middleware=guards)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN)
