"""Answers about missions: a record for programs, and the same as Markdown for models and people."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

from pydantic import Field

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import markdown_code, markdown_text
from orchestrator.messages.leg import Question
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.open_waits import Waiting
from orchestrator.messages.receipts import Cancelled, Left, Receipt
from orchestrator.web.views import MissionView

_MOST: Final = 60
_BAD: Final = frozenset(
    {
        MissionStatus.FAILED,
        MissionStatus.PARKED,
        MissionStatus.ROLLED_BACK,
        MissionStatus.TERMINATED,
        MissionStatus.CANCELLED,
    }
)


class OpenWait(Record):
    """A card, a question or a pause of a model that a mission waits for."""

    kind: str = Field(description="card, question, hold or model")
    id: str
    mission_id: str
    title: str
    tool: str = ""
    price: Money | None = None
    expires_at: datetime | None = None
    fields: JsonObject = Field(default_factory=dict, description="schemas of the answer's fields")
    personal: tuple[str, ...] = Field(
        default=(), description="personal fields that the person stores in the vault first"
    )
    url: str = Field(description="the page on which a signed-in person decides or answers")


class EffectLine(Record):
    """An effect of a mission."""

    call_id: str
    tool: str
    title: str = ""
    state: str = Field(description="stands, cancelled, or left: it may stand after a rollback")
    price: Money | None = None
    reference: JsonObject = Field(default_factory=dict, description="ids at the provider")
    note: str = ""


class MissionAnswer(Record):
    """A mission as it is now."""

    mission_id: str
    status: str
    over: bool
    goal: str = ""
    requester: str = ""
    summary: str = ""
    error: str = ""
    legs: tuple[str, ...] = Field(default=(), description="status, agent and goal of each leg")
    effects: tuple[EffectLine, ...] = ()
    not_done: tuple[str, ...] = Field(default=(), description="orders without their effects")
    waits: tuple[OpenWait, ...] = ()
    obstacle: str = Field(default="", description="why it cannot continue now")
    started_at: datetime | None = None
    finished_at: datetime | None = None
    url: str = Field(description="its page in the inbox")

    @property
    def failed(self) -> bool:
        """True if it is over and did not do what it was asked to."""
        return self.over and self.status in _BAD

    def markdown(self) -> str:
        """Return the mission's page."""
        return "\n".join(_lines(self))


def page_of(inbox: str, kind: str, named: str) -> str:
    """Return the address of a page of the inbox.

    Example: `page_of("https://missions.example.com", "cards", "m1.1-flights.2")`.
    """
    return f"{inbox.rstrip('/')}/{kind}/{quote(named, safe='')}"


def answer_of(view: MissionView, mission_id: str, inbox: str) -> MissionAnswer:
    """Return what a client reads of a mission."""
    url = page_of(inbox, "missions", mission_id)
    waits = waits_of_people(view.waits, inbox)
    obstacle = view.obstacle.detail if view.obstacle is not None else ""
    result = view.result
    if result is None:
        known = view.known
        status, goal = (known.status, known.goal) if known is not None else ("unknown", "")
        return MissionAnswer(
            mission_id=mission_id,
            status=status,
            over=known is not None and known.finished_at is not None,
            goal=goal or "",
            waits=waits,
            obstacle=obstacle,
            url=url,
        )
    return MissionAnswer(
        mission_id=mission_id,
        status=result.status.value,
        over=result.finished_at is not None or result.status is MissionStatus.TERMINATED,
        goal=result.goal,
        requester=result.requester,
        summary=result.summary,
        error=result.error or "",
        legs=tuple(f"{leg.status}: {leg.agent}: {leg.goal}" for leg in result.legs[:_MOST]),
        effects=tuple(_effects(result)),
        not_done=tuple(str(one) for one in result.unserved[:_MOST]),
        waits=waits,
        obstacle=obstacle,
        started_at=result.started_at,
        finished_at=result.finished_at,
        url=url,
    )


def _effects(result: MissionResult) -> Iterator[EffectLine]:
    parts: tuple[tuple[str, Sequence[Receipt | Cancelled]], ...] = (
        ("stands", result.receipts),
        ("left", result.left),
        ("cancelled", result.cancelled),
    )
    for state, effects in parts:
        for one in effects:
            yield EffectLine(
                call_id=one.call_id,
                tool=one.tool,
                title=one.title,
                state=state,
                price=one.price if isinstance(one, Receipt) else None,
                reference=one.reference,
                note=one.note if isinstance(one, Left) else "",
            )


def waits_of_people(waits: Waiting, inbox: str) -> tuple[OpenWait, ...]:
    """Return open waits, each with the page that ends it; the first to expire first."""
    asked = [
        _of_card(one, inbox) if isinstance(one, ConfirmationCard) else _of_question(one, inbox)
        for one in waits.in_order()
    ]
    paused = [
        OpenWait(
            kind="model",
            id=one.pause_id,
            mission_id=one.mission_id,
            title=one.sentence,
            expires_at=one.deadline,
            url=page_of(inbox, "missions", one.mission_id),
        )
        for one in waits.pauses
    ]
    return (*asked, *paused)


def _of_card(card: ConfirmationCard, inbox: str) -> OpenWait:
    return OpenWait(
        kind="card",
        id=card.confirmation_id,
        mission_id=card.mission_id,
        title=card.title,
        tool=card.tool,
        price=card.price,
        expires_at=card.expires_at,
        url=page_of(inbox, "cards", card.confirmation_id),
    )


def _of_question(question: Question, inbox: str) -> OpenWait:
    return OpenWait(
        kind="question" if question.hold is None else "hold",
        id=question.question_id,
        mission_id=question.mission_id,
        title=question.question,
        expires_at=question.expires_at,
        fields=dict(question.fields),
        personal=question.personal,
        url=page_of(inbox, "questions", question.question_id),
    )


def _lines(answer: MissionAnswer) -> Iterator[str]:
    """Yield the lines of a page; all text of others is shown literally."""
    yield f"# {markdown_text(answer.goal) or answer.mission_id}"
    yield ""
    yield f"**{answer.status}**: mission {markdown_code(answer.mission_id)}, {answer.url}"
    if answer.requester:
        yield f"Requested by {markdown_text(answer.requester)}"
    if answer.error:
        yield f"First error: {markdown_text(answer.error)}"
    if answer.summary:
        yield f"Result: {markdown_text(answer.summary)}"
    if answer.obstacle:
        yield f"It cannot continue now: {markdown_text(answer.obstacle)}"
    yield from _section("Waits for a person", [wait_line(one) for one in answer.waits])
    yield from _section("Legs", [markdown_text(one) for one in answer.legs])
    yield from _section("Effects", [_effect_line(one) for one in answer.effects])
    yield from _section("Not done", [markdown_text(one) for one in answer.not_done])


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {title}", "")
        yield from (f"- {line}" for line in lines[:_MOST])
        if len(lines) > _MOST:
            yield f"- and {len(lines) - _MOST} more"


def wait_line(wait: OpenWait) -> str:
    """Return a wait on one line of Markdown, with its page."""
    price = f", {wait.price}" if wait.price is not None else ""
    return f"{wait.kind} {markdown_code(wait.id)}: {markdown_text(wait.title)}{price}: {wait.url}"


def _effect_line(effect: EffectLine) -> str:
    price = f", {effect.price}" if effect.price is not None else ""
    note = f": {markdown_text(effect.note)}" if effect.note else ""
    title = markdown_text(effect.title or effect.tool)
    return f"**{effect.state}** {title} with {markdown_code(effect.tool)}{price}{note}"
