"""`POST /ag-ui/missions`: a mission as a run of an agent, for clients that speak AG-UI.

A run begins the mission of its thread's last message, or continues the one that its thread has.
It ends with the mission, or at a card or question as an interrupt; the mission goes on meanwhile,
and the next run shows what the client has not seen. Text never approves anything: a decision comes
in `resume`, names the digest of its card, and is made as the person who is signed in.
"""

import asyncio
import hashlib
import logging
import math
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ag_ui import core
from ag_ui.encoder import EventEncoder
from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import Approve
from orchestrator.core.budget import Money
from orchestrator.core.errors import CardUnknown, MissionNotFound, OrchestratorError, UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.events import AnyEvent, Cursor, read_cursor
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.names import mission_of
from orchestrator.messages.open_waits import Waiting
from orchestrator.web import actions, sight
from orchestrator.web.ag_ui.interrupts import card_interrupt, question_interrupt, read_card_answer
from orchestrator.web.ag_ui.run_view import MissionView, shown_events, text_events, was_seen
from orchestrator.web.open_streams import check_place, opened_stream
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError, invalid, invalid_body, not_signed_in
from orchestrator.web.request_limits import read_body
from orchestrator.web.web_service import Service

PATH: Final = "/ag-ui/missions"
_LONGEST_BODY: Final = 2_000_000
_ONLY_ONE: Final = (
    "This mission is still under way, and text neither changes nor approves anything in it. Decide "
    "on its cards, or cancel it."
)
_log = logging.getLogger(__name__)


class MissionOptions(Record):
    """`forwardedProps.mission`: what a client may say about a mission next to its goal."""

    inputs: JsonObject = Field(default_factory=dict)
    budget: Money | None = None
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    read_only: bool = False


@dataclass(frozen=True)
class _Run:
    """One request, and the mission that it is about."""

    asked: core.RunAgentInput
    person: Person
    mission: MissionHandle
    seen: Cursor
    note: str = ""
    """A line about text that was sent while the mission was under way."""


def ag_ui_routes(service: Service) -> list[Route]:
    """Return the route for runs."""
    return [Route(PATH, _Runs(service).endpoint, methods=["POST"])]


class _Runs:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def endpoint(self, request: Request) -> Response:
        """Check the request, begin or find its mission, and stream the run."""
        person = await self._service.identify(request)
        if person is None:
            raise not_signed_in()
        if not person.may(Right.READ):
            raise sight.forbidden(person, "see missions")
        check_place(self._service, person)
        try:
            body = await read_body(request, most=_LONGEST_BODY)
            asked = core.RunAgentInput.model_validate_json(body)
        except ValidationError as error:
            raise invalid_body(error) from None
        run = await self._begun(asked, person)
        encoder = EventEncoder()

        async def encoded() -> AsyncGenerator[bytes, None]:
            async for event in self._events(run):
                yield encoder.encode(event).encode()

        return opened_stream(encoded(), self._service, request, person, most_s=math.inf)

    async def _begun(self, asked: core.RunAgentInput, person: Person) -> _Run:
        of_user = (one for one in reversed(asked.messages) if isinstance(one, core.UserMessage))
        message = next((one for one in of_user if _text(one).strip()), None)
        state = asked.state if isinstance(asked.state, dict) else {}
        known = await self._known(person, str(state.get("missionId") or ""))
        seen, text = Cursor(), state.get("cursor")
        with suppress(UsageError):  # a cursor that is none: from the beginning
            seen = read_cursor(text) if isinstance(text, str) and text else seen
        if message is None:
            if known is not None:
                return _Run(asked, person, known, seen)
            detail = "messages: the run has no message of a user, and its state names no mission"
            raise invalid(detail)
        own_id = _mission_id(person, asked.thread_id, message)
        if known is not None and (asked.resume or known.mission_id == own_id):
            return _Run(asked, person, known, seen)
        if known is not None and (await known.snapshot()).finished_at is None:
            return _Run(asked, person, known, seen, note=_ONLY_ONE)
        mission = await self._known(person, own_id)
        if mission is None:
            if not person.may(Right.START):
                raise sight.forbidden(person, "start missions")
            props = asked.forwarded_props if isinstance(asked.forwarded_props, dict) else {}
            try:
                options = MissionOptions.model_validate(props.get("mission") or {}, extra="forbid")
                request = MissionRequest(goal=_text(message), mission_id=own_id, **dict(options))
            except ValidationError as error:
                raise invalid_body(error) from None
            mission = await actions.start(self._service, person, request)
        return _Run(asked, person, mission, Cursor())

    async def _known(self, person: Person, mission_id: str) -> MissionHandle | None:
        if not mission_id:
            return None
        try:
            return await sight.seen_mission(self._service, person, mission_id)
        except (MissionNotFound, UsageError):
            return None

    async def _events(self, run: _Run) -> AsyncGenerator[core.BaseEvent, None]:
        asked = run.asked
        yield core.RunStartedEvent(thread_id=asked.thread_id, run_id=asked.run_id)
        try:
            for event in await self._resumed(run):
                yield event
            for event in text_events(f"{asked.run_id}-note", run.note):
                yield event
            async for event in self._shown(run):
                yield event
        except OrchestratorError as error:
            yield core.RunErrorEvent(message=str(error), code=error.code)
        except Exception:
            # The stream has begun: only an event can say that the run failed.
            _log.exception("a run failed")
            yield core.RunErrorEvent(message="the run failed; the log of the service says why")

    async def _shown(self, run: _Run) -> AsyncGenerator[core.BaseEvent, None]:
        view, is_shown = MissionView(run.mission.mission_id), False
        is_read = not run.seen.places
        async for event in _with_quiet(run.mission.events()):
            is_read = is_read or event is not None
            if event is None:
                if not is_read:
                    continue  # a state of nothing would make all that follows new
                if not is_shown:
                    is_shown = True
                    yield view.snapshot()
                waiting = await run.mission.waiting() if view.waits else Waiting()
                interrupts = [
                    *map(card_interrupt, waiting.cards),
                    *map(question_interrupt, waiting.questions),
                ]
                if interrupts:
                    outcome = core.RunFinishedInterruptOutcome(interrupts=interrupts)
                    yield self._finished(run, view, outcome)
                    return
                continue
            if not is_shown and was_seen(run.seen, read_cursor(event.cursor)):
                view.take(event)
                continue
            if not is_shown:
                is_shown = True
                yield view.snapshot()
            for shown in shown_events(view, event):
                yield shown
        if not is_shown:
            yield view.snapshot()
        status, error = str(view.state["status"]), view.state["error"]
        summary = str(view.state["summary"] or error or "")
        for shown in text_events(f"{run.mission.mission_id}-summary", summary):
            yield shown
        if status in (MissionStatus.FAILED, MissionStatus.TERMINATED):
            yield core.RunErrorEvent(message=str(error or status), code=f"Mission_{status}")
        elif status == MissionStatus.CANCELLED:
            yield self._finished(run, view, core.RunFinishedCancelledOutcome(), summary=summary)
        else:
            yield self._finished(run, view, core.RunFinishedSuccessOutcome(), summary=summary)

    def _finished(
        self, run: _Run, view: MissionView, outcome: core.RunFinishedOutcome, **more: str
    ) -> core.BaseEvent:
        state = {"missionId": view.state["missionId"], "status": str(view.state["status"])}
        return core.RunFinishedEvent(
            thread_id=run.asked.thread_id,
            run_id=run.asked.run_id,
            outcome=outcome,
            result={**state, **more},
        )

    async def _resumed(self, run: _Run) -> list[core.BaseEvent]:
        """Send the answers of a run; return what says which of them were refused, and why."""
        refused: list[core.BaseEvent] = []
        for number, entry in enumerate((run.asked.resume or [])[:100]):
            if entry.status != "resolved":
                continue  # given up by the client: it stays open
            try:
                await self._answer(run, entry)
            except ProblemError as error:
                code, why = error.problem.code, error.problem.detail
            except OrchestratorError as error:
                code, why = error.code, str(error)
            else:
                continue
            value = {"interruptId": entry.interrupt_id, "code": code, "detail": why}
            refused.append(core.CustomEvent(name="orchestrator.refused", value=value))
            refused += text_events(f"{run.asked.run_id}-refused-{number}", f"Refused: {why}")
        return refused

    async def _answer(self, run: _Run, entry: core.ResumeEntry) -> None:
        asked_id = entry.interrupt_id
        if mission_of(asked_id) != run.mission.mission_id:
            raise CardUnknown(asked_id, "the mission of this run asks nothing of that id")
        waiting = await run.mission.waiting()
        if asked_id in [one.question_id for one in waiting.questions]:
            values = entry.payload if isinstance(entry.payload, dict | str) else {}
            await actions.answer(self._service, run.person, asked_id, values)
            return
        answer = read_card_answer(entry.payload)
        decision = answer.decision_on(asked_id)
        card = await sight.seen_card(self._service, run.person, asked_id)
        if not isinstance(decision, Approve) and card.digest != answer.digest:
            raise CardUnknown(asked_id, "the card has changed since it was shown: read it again")
        await actions.decide(self._service, run.person, decision)


def _text(message: core.UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, core.TextPart))


def _mission_id(person: Person, thread_id: str, message: core.UserMessage) -> str:
    """Return the id of the mission of a message: the same for a run that is sent again.

    It depends on the person, so that a thread's id leads nobody to the mission of somebody else.
    """
    words = "\n".join((person.issuer, person.subject, thread_id, message.id, _text(message)))
    return f"chat-{hashlib.sha256(words.encode()).hexdigest()[:24]}"


async def _with_quiet(
    events: AsyncGenerator[AnyEvent, None],
) -> AsyncGenerator[AnyEvent | None, None]:
    """Yield events, and None whenever nothing has come for a moment.

    Legs run side by side: after a card opened, others of them may open theirs.
    """
    waiting: asyncio.Task[AnyEvent] | None = None
    try:
        while True:
            if waiting is None:
                waiting = asyncio.ensure_future(anext(events))
            await asyncio.wait({waiting}, timeout=0.5)
            if not waiting.done():
                yield None
                continue
            done, waiting = waiting, None
            try:
                event = done.result()
            except StopAsyncIteration:
                return
            yield event
    finally:
        closing = asyncio.create_task(_close(events, waiting))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)


_closing: Final[set[asyncio.Task[None]]] = set()
"""Readers of runs that are over; kept, so that they are not collected before they are closed."""


async def _close(
    events: AsyncGenerator[AnyEvent, None], waiting: "asyncio.Task[AnyEvent] | None"
) -> None:
    """Close a reader of a mission. A history is replayed to its end: the SDK bears no cut there."""
    if waiting is not None:
        await asyncio.wait({waiting}, timeout=5.0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await events.aclose()
