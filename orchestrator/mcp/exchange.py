"""One request of an MCP client: its person, waits with progress, and pages that it is led to.

A card reaches the person as the address of its page in the inbox, where a person is signed in:
by elicitation in URL mode where the client has it, else as a link in the result. Whatever a client
answers to it decides nothing; the mission goes on when the card was decided.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field, ValidationError
from temporalio.client import WorkflowExecutionStatus

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.client.waits import waits_in
from orchestrator.core.errors import MissionNotFound
from orchestrator.core.record import Record
from orchestrator.core.shown_text import visible
from orchestrator.mcp.mission_answers import MissionAnswer, answer_of, page_of, waits_of_people
from orchestrator.messages.open_waits import Waiting
from orchestrator.web import sight
from orchestrator.web.people import Person
from orchestrator.web.web_service import Service

TASKS: Final = "io.modelcontextprotocol/tasks"
"""The extension by which a client takes a task in place of a result."""
LONGEST_WAIT_S: Final = 50.0
_AFTER_LINK_S: Final = 50.0
"""How long a call waits for a decision on a page that its person was led to."""
_RESTS_S: Final = (0.1, 1.0)
_LONGEST_STATE: Final = 20_000


class Resumed(Record):
    """The state that a client sends back with its answers; it proves nothing."""

    mission_id: str = Field(default="", max_length=200)
    asked: tuple[str, ...] = Field(default=(), max_length=200, description="ids asked about")
    digest: str = Field(default="", max_length=64, description="of the card that a form has shown")


@dataclass
class Exchange:
    """A request, with everything that its handler may use."""

    service: Service
    person: Person
    inbox: str
    """The address of the inbox."""
    context: ServerRequestContext[Any, Any]
    responses: types.InputResponses = field(default_factory=dict)
    """Answers to what an earlier result of the same call had asked for."""
    resumed: Resumed = field(default_factory=Resumed)

    @property
    def is_modern(self) -> bool:
        """True if the client sends its answers with the call again, as of 2026-07-28."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def takes_tasks(self) -> bool:
        """True if the client takes a task in place of a result."""
        capabilities = self.context.session.client_capabilities
        listed = capabilities.extensions if capabilities is not None else None
        return self.is_modern and TASKS in (listed or {})

    def elicits(self, mode: Literal["form", "url"]) -> bool:
        """Return True if the client asks its person in this mode."""
        capabilities = self.context.session.client_capabilities
        asks = capabilities.elicitation if capabilities is not None else None
        if asks is None:
            return False
        # An empty declaration means forms, as before 2025-11-25.
        is_url = asks.url is not None
        return is_url if mode == "url" else asks.form is not None or not is_url

    @property
    def key(self) -> str:
        """The idempotency key in the request's `_meta`; empty without one."""
        value = dict(self.context.meta or {}).get("idempotencyKey", "")
        return value if isinstance(value, str) else ""

    # -- missions ---------------------------------------------------------------------------------

    async def answer(self, mission_id: str) -> MissionAnswer:
        """Return a mission as it is now, if the person sees it."""
        view = await sight.seen_view(self.service, self.person, mission_id)
        return answer_of(view, mission_id, self.inbox)

    async def settled(
        self, mission_id: str, wait_s: float
    ) -> MissionAnswer | types.InputRequiredResult:
        """Return a mission when it is over, waits for a person, or the time is over.

        A client that opens pages for its person is sent the page of each card first, and the call
        goes on when the card is decided.
        """
        await sight.seen_mission(self.service, self.person, mission_id)
        asked = set(self.resumed.asked)
        if any(one.action != "accept" for one in self._answers()):
            return await self.answer(mission_id)  # nobody looks at the page now
        wait_s = max(wait_s, _AFTER_LINK_S) if asked else wait_s
        while True:
            waits = await self._until_waiting(mission_id, asked, wait_s)
            cards = [one for one in waits.cards if one.confirmation_id not in asked]
            if not cards or not self.elicits("url") or not wait_s:
                return await self.answer(mission_id)
            if self.is_modern:
                return self._pages(mission_id, waits, asked)
            for card in cards:
                asked.add(card.confirmation_id)
                answered = await self.context.session.elicit_url(
                    _sentence(card.title),
                    page_of(self.inbox, "cards", card.confirmation_id),
                    card.confirmation_id,
                    self.context.request_id,
                )
                if answered.action != "accept":
                    return await self.answer(mission_id)
            wait_s = _AFTER_LINK_S

    def _answers(self) -> list[types.ElicitResult]:
        return [one for one in self.responses.values() if isinstance(one, types.ElicitResult)]

    def _pages(
        self, mission_id: str, waits: Waiting, asked: Collection[str]
    ) -> types.InputRequiredResult:
        requests = page_requests(waits, self.inbox, but=asked)
        state = Resumed(mission_id=mission_id, asked=tuple({*asked, *requests}))
        return types.InputRequiredResult(
            input_requests=requests, request_state=state.model_dump_json()
        )

    async def _until_waiting(
        self, mission_id: str, asked: Collection[str], within_s: float
    ) -> Waiting:
        """Return the waits of a mission, as soon as it has one that nobody was asked about.

        Only the server's description is read meanwhile, and no history is replayed.
        """
        loop, (pause, longest), shown = asyncio.get_running_loop(), _RESTS_S, ""
        deadline = loop.time() + within_s
        number = 0
        while True:
            try:
                found = await self.service.client.connection.mission(mission_id)
            except MissionNotFound:
                return Waiting()  # the server has forgotten it, and the store has its result
            waits = await waits_in(found)
            listed = waits_of_people(waits, self.inbox)
            status = str(found.typed_search_attributes.get(STATUS) or "running")
            now = "; ".join([status, *(f"waits for {one.kind}: {one.url}" for one in listed)])
            if now != shown:
                shown, number = now, number + 1
                await self.context.session.report_progress(number, message=now)
            is_over = found.status is not WorkflowExecutionStatus.RUNNING
            is_new = any(one.id not in asked for one in listed)
            if is_over or is_new or loop.time() >= deadline:
                return waits
            await asyncio.sleep(min(pause, max(0.0, deadline - loop.time())))
            pause = min(1.3 * pause, longest)

    # -- people -----------------------------------------------------------------------------------

    async def confirmed(
        self, asked_id: str, message: str, *, digest: str = ""
    ) -> bool | types.InputRequiredResult | None:
        """Ask the person in a form of the client; None if the client has no forms.

        A form proves no person: what it confirms is decided unsigned.
        """
        if not self.elicits("form"):
            return None
        if self.is_modern:
            given = self.responses.get(asked_id)
            # An answer without the state of its form may be to what an earlier card has shown.
            if isinstance(given, types.ElicitResult) and self.resumed.digest == digest:
                return _is_yes(given)
            form = types.ElicitRequestFormParams(message=message, requested_schema=_YES)
            state = Resumed(asked=(asked_id,), digest=digest)
            return types.InputRequiredResult(
                input_requests={asked_id: types.ElicitRequest(params=form)},
                request_state=state.model_dump_json(),
            )
        asking = self.context.session.elicit_form(message, _YES, self.context.request_id)
        return _is_yes(await asking)


_YES: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "I approve this", "default": False}},
    "required": ["approve"],
}


def _is_yes(given: types.ElicitResult) -> bool:
    return given.action == "accept" and (given.content or {}).get("approve") is True


def _sentence(title: str) -> str:
    return f"Read and decide, in the inbox: {visible(title)}"


def page_requests(
    waits: Waiting, inbox: str, *, but: Collection[str] = (), questions: bool = False
) -> types.InputRequests:
    """Return elicitations in URL mode for open cards, and for questions if wanted, by their ids."""
    kinds = ("card", "question", "hold") if questions else ("card",)
    return {
        one.id: types.ElicitRequest(
            params=types.ElicitRequestURLParams(message=_sentence(one.title), url=one.url)
        )
        for one in waits_of_people(waits, inbox)
        if one.kind in kinds and one.id not in but
    }


def read_state(text: str | None) -> Resumed:
    """Return the state that a client has sent back; an empty one if it is none of ours."""
    if not text or len(text) > _LONGEST_STATE:
        return Resumed()
    try:
        return Resumed.model_validate_json(text)
    except ValidationError:
        return Resumed()
