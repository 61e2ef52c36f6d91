"""The tools for missions: each checks its input, and calls a function of `orchestrator.web`."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal

from mcp import types
from pydantic import BaseModel, Field, JsonValue, TypeAdapter, ValidationError

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import (
    MOST_TEXT,
    Amend,
    Approve,
    ConfirmationCard,
    Decision,
    Reject,
    Respond,
    Then,
)
from orchestrator.core.budget import Money
from orchestrator.core.errors import CardUnknown
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import visible, visible_block
from orchestrator.mcp.exchange import LONGEST_WAIT_S, Exchange
from orchestrator.mcp.mission_answers import OpenWait, page_of, wait_line, waits_of_people
from orchestrator.messages.mission import LONGEST_GOAL, MissionRequest
from orchestrator.web import actions, sight
from orchestrator.web.api_operations import id_of_key
from orchestrator.web.people import Right
from orchestrator.web.problem_details import ProblemError, invalid_body
from orchestrator.web.request_limits import body_problem

START: Final = "start_mission"
_LONGEST_ID: Final = 400
_ROLLBACK_S: Final = 50.0
_MOST_LISTED: Final = 100
_WAIT: Final = "seconds to wait until it is over or needs a person"


class MissionTerms(Record):
    """What a mission is to do. Its policy is that of the service: no client widens it."""

    goal: str = Field(min_length=1, max_length=LONGEST_GOAL, description="the goal in words")
    inputs: JsonObject = Field(
        default_factory=dict, description="values by the names of tools' inputs"
    )
    budget: Money | None = Field(default=None, description="limit of its total price")
    read_only: bool = Field(default=False, description="true: it may only look things up")

    def request(self, mission_id: str | None = None) -> MissionRequest:
        """Return the request for a mission."""
        return MissionRequest(
            goal=self.goal,
            inputs=self.inputs,
            budget=self.budget,
            read_only=self.read_only,
            mission_id=mission_id,
        )


class StartMission(MissionTerms):
    """A mission to start."""

    idempotency_key: str = Field(
        default="",
        max_length=200,
        description="chosen by the caller: the same key starts one mission; also taken from "
        "`_meta.idempotencyKey`",
    )
    wait_s: float = Field(default=20.0, ge=0, le=LONGEST_WAIT_S, description=_WAIT)


class MissionRef(Record):
    """A mission by its id."""

    mission_id: str = Field(min_length=1, max_length=_LONGEST_ID)


class GetMission(MissionRef):
    """A mission to read."""

    wait_s: float = Field(default=0.0, ge=0, le=LONGEST_WAIT_S, description=_WAIT)


class ListWaiting(Record):
    """No input."""


class AnswerQuestion(Record):
    """An answer to a question of a mission."""

    question_id: str = Field(min_length=1, max_length=_LONGEST_ID)
    values: JsonObject = Field(
        default_factory=dict, description="by the names of the question's fields"
    )
    text: str = Field(default="", max_length=4_000, description="for a question with one field")


class DecideCard(Record):
    """A decision on a card. An approval is asked of the person, who reads the whole card."""

    confirmation_id: str = Field(min_length=1, max_length=_LONGEST_ID)
    decision: Literal["approve", "reject", "respond", "amend"]
    reason: str = Field(default="", max_length=MOST_TEXT, description="of a rejection")
    then: Then = Field(
        default="replan",
        description="after a rejection: replan looks for another way, skip leaves this part out, "
        "rollback ends the mission and cancels all that it did",
    )
    text: str = Field(default="", max_length=MOST_TEXT, description="of a response: the change")
    changes: JsonObject = Field(default_factory=dict, description="of an amendment, by argument")


class RollBackMission(MissionRef):
    """A mission to roll back."""

    reason: str = Field(default="asked for", max_length=2_000, description="for the record")


class WaitList(Record):
    """What waits for a person."""

    waits: tuple[OpenWait, ...] = ()
    more: int = Field(default=0, description="how many are not listed")


Outcome = Record | types.CallToolResult | types.InputRequiredResult | JsonObject
Handler = Callable[[Exchange, Any], Awaitable[Outcome]]


@dataclass(frozen=True)
class MissionTool:
    """A tool, with the right that its caller needs."""

    name: str
    title: str
    description: str
    takes: type[BaseModel]
    right: Right
    handler: Handler
    hints: types.ToolAnnotations

    def listed(self) -> types.Tool:
        """Return the tool as clients list it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.takes.model_json_schema(),
            annotations=self.hints,
        )

    def read(self, arguments: JsonObject) -> BaseModel:
        """Return the checked input of a call.

        Raises:
            ProblemError: the input cannot be used; an unknown field is refused, since a misspelt
                budget would be no budget.
        """
        try:
            return TypeAdapter(self.takes).validate_python(arguments, extra="forbid")
        except ValidationError as error:
            raise invalid_body(error, arguments) from None


def check_arguments(arguments: JsonValue, *, depth: int, most_bytes: int) -> JsonObject:
    """Return the arguments of a call, if they are an object of a reasonable size.

    Raises:
        ProblemError: they are not.
    """
    if not isinstance(arguments, dict):
        raise refused("the arguments of a tool are a JSON object")
    if why := body_problem(arguments, depth=depth):
        raise refused(f"the arguments cannot be used: {why}")
    try:
        size = len(json.dumps(arguments).encode())
        json.dumps(arguments, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise refused("the arguments are no valid Unicode text") from None
    if size > most_bytes:
        raise refused(f"the arguments have more than {most_bytes:,} bytes")
    return arguments


def refused(detail: str) -> ProblemError:
    """Return the problem of a call that cannot be made as it is."""
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, code="RequestInvalid")


# -- handlers -------------------------------------------------------------------------------------


async def _plan(exchange: Exchange, given: MissionTerms) -> Outcome:
    wanted = actions.as_requested(exchange.person, given.request())
    return await exchange.service.client.plan(wanted)


async def _start(exchange: Exchange, given: StartMission) -> Outcome:
    if exchange.resumed.mission_id:  # it was started before its person was led to a card
        return await exchange.settled(exchange.resumed.mission_id, given.wait_s)
    key = given.idempotency_key or exchange.key
    mission_id = id_of_key(exchange.person, "mission", key) if key else None
    handle = await actions.start(exchange.service, exchange.person, given.request(mission_id))
    return await followed(exchange, handle, given.wait_s)


async def followed(exchange: Exchange, handle: MissionHandle, wait_s: float) -> Outcome:
    """Return a started mission as a task where the client takes one, else when it needs a person.

    The mission is on the server before this returns, so that a lost answer loses nothing.
    """
    if exchange.takes_tasks:
        from orchestrator.mcp.mission_tasks import created_task

        return await created_task(exchange, handle.mission_id)
    return await exchange.settled(handle.mission_id, wait_s)


async def _get(exchange: Exchange, given: GetMission) -> Outcome:
    return await exchange.settled(given.mission_id, given.wait_s)


async def _list_waiting(exchange: Exchange, _: ListWaiting) -> Outcome:
    found = waits_of_people(
        await sight.seen_waiting(exchange.service, exchange.person), exchange.inbox
    )
    more = max(0, len(found) - _MOST_LISTED)
    return WaitList(waits=found[:_MOST_LISTED], more=more)


async def _answer(exchange: Exchange, given: AnswerQuestion) -> Outcome:
    if bool(given.text) and bool(given.values):
        raise refused("give values or a text")
    question = await sight.seen_question(exchange.service, exchange.person, given.question_id)
    if question.server:
        url = page_of(exchange.inbox, "questions", given.question_id)
        raise refused(
            f"an MCP server asks this during a call, so a person answers it, and no client of a "
            f"model: {url}"
        )
    values = given.text or given.values
    return await actions.answer(exchange.service, exchange.person, given.question_id, values)


async def _decide(exchange: Exchange, given: DecideCard) -> Outcome:
    card = await sight.seen_card(exchange.service, exchange.person, given.confirmation_id)
    if given.decision == "approve":
        return await _approve(exchange, card)
    decision = _verdict(given)
    return await actions.decide(exchange.service, exchange.person, decision, read=card.digest)


def _verdict(given: DecideCard) -> Decision:
    named: dict[str, Any] = {"confirmation_id": given.confirmation_id}
    if given.decision == "amend":
        if not given.changes:
            raise refused("amend: give changes, by the names of arguments")
        return Amend(**named, changes=given.changes)
    if given.decision == "respond":
        if not given.text.strip():
            raise refused("respond: give a text, such as: a later flight")
        return Respond(**named, text=given.text)
    return Reject(**named, reason=given.reason or "no reason given", then=given.then)


async def _approve(exchange: Exchange, card: ConfirmationCard) -> Outcome:
    """Have the person approve a card in a form, where an unsigned decision may; else on its page.

    No argument of the call approves anything: those come from a model.
    """
    url = page_of(exchange.inbox, "cards", card.confirmation_id)
    if not exchange.person.may(Right.DECIDE):
        raise sight.forbidden(exchange.person, "decide on cards")
    if card.signed or card.max_sign_in_age is not None:
        return needs_person("a person who is signed in decides on this card, and no client", url)
    shown = exchange.resumed.digest or card.digest
    if shown != card.digest:
        raise CardUnknown(card.confirmation_id, "the card has changed: decide on it again")
    answer = await exchange.confirmed(card.confirmation_id, card_text(card), digest=card.digest)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    if answer is None:
        return needs_person("a person decides on this card, and this client has no forms", url)
    if not answer:
        return needs_person("nothing was approved: the person did not agree", url)
    approval = Approve(confirmation_id=card.confirmation_id, digest=card.digest)
    return await actions.decide(exchange.service, exchange.person, approval, read=card.digest)


def card_text(card: ConfirmationCard) -> str:
    """Return a whole card as text for a form."""
    price = f"Price: {card.price}" if card.price is not None else ""
    lines = [card.title, price, card.unordered, *card.warnings]
    for section in card.sections():
        lines += [section.title, *(f"{line.label}: {line.value}" for line in section.lines)]
    lines += [f"{line.label}: {line.value}" for line in (*card.purpose(), *card.oversight())]
    return "\n".join(visible(line) for line in (*lines, card.cancellation) if line)


def needs_person(why: str, url: str) -> types.CallToolResult:
    """Return the result of a call that a person has to decide on, with the page for it."""
    text = f"{why}. Nothing was decided; the page for it: {url}"
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content={"needs_person": True, "url": url},
        is_error=True,
    )


async def _cancel(exchange: Exchange, given: MissionRef) -> Outcome:
    await actions.cancel(exchange.service, exchange.person, given.mission_id)
    return await exchange.answer(given.mission_id)


async def _roll_back(exchange: Exchange, given: RollBackMission) -> Outcome:
    """Roll a mission back; a person agrees first where approved effects were meant to stand."""
    service, person, mission_id = exchange.service, exchange.person, given.mission_id
    await sight.changeable_mission(service, person, mission_id, "roll it back")
    preview = await sight.seen_preview(service, person, mission_id)
    if preview.is_a_decision:
        url = f"{page_of(exchange.inbox, 'missions', mission_id)}/rollback"
        stands = [visible(f"- {one.title or one.tool}") for one in preview.obligations]
        message = "\n".join([f"Roll back {mission_id}. This is cancelled:", *stands])
        answer = await exchange.confirmed(f"rollback {mission_id}", message)
        if isinstance(answer, types.InputRequiredResult):
            return answer
        if not answer:
            return needs_person("a person decides to cancel what was approved to stand", url)
    try:
        async with asyncio.timeout(_ROLLBACK_S):
            await actions.roll_back(service, person, mission_id, reason=given.reason)
    except TimeoutError:
        pass  # it goes on, and the status says so
    return await exchange.answer(mission_id)


# -- the table ------------------------------------------------------------------------------------


def hints(
    *, reads: bool = False, destroys: bool = False, again: bool = False
) -> types.ToolAnnotations:
    """Return the annotations of a tool."""
    if reads:
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=True)
    return types.ToolAnnotations(
        read_only_hint=False, destructive_hint=destroys, idempotent_hint=again, open_world_hint=True
    )


MISSION_TOOLS: Final = {
    one.name: one
    for one in (
        MissionTool(
            "plan_mission",
            "Plan a mission",
            "Return the plan for a goal: legs, agents and tools. Nothing is started.",
            MissionTerms,
            Right.START,
            _plan,
            hints(reads=True),
        ),
        MissionTool(
            START,
            "Start a mission",
            "Start a durable mission for a goal in words. Each consequence waits for a person's "
            "decision on a card; if the mission fails, all that it did is cancelled. Returns when "
            "it is over or needs a person; it goes on by itself, so look again with get_mission.",
            StartMission,
            Right.START,
            _start,
            hints(),
        ),
        MissionTool(
            "get_mission",
            "Look at a mission",
            "Return a mission as it is now: status, effects, and what it waits for, with links.",
            GetMission,
            Right.READ,
            _get,
            hints(reads=True),
        ),
        MissionTool(
            "list_waiting",
            "List what waits",
            "Return the cards and questions that wait for a person, the first to expire first. "
            "Give the person the links.",
            ListWaiting,
            Right.READ,
            _list_waiting,
            hints(reads=True),
        ),
        MissionTool(
            "answer_question",
            "Answer a question",
            "Answer a question of a mission with what the person said. Ask the person; do not "
            "guess. Personal values are never sent here: the person stores them.",
            AnswerQuestion,
            Right.START,
            _answer,
            hints(),
        ),
        MissionTool(
            "decide_card",
            "Decide on a card",
            "Reject, change or send back a card as the person says. An approval is asked of the "
            "person, in a form or on the card's page: calling this approves nothing.",
            DecideCard,
            Right.DECIDE,
            _decide,
            hints(),
        ),
        MissionTool(
            "cancel_mission",
            "Cancel a mission",
            "Stop a mission that runs; all its effects are cancelled.",
            MissionRef,
            Right.START,
            _cancel,
            hints(destroys=True, again=True),
        ),
        MissionTool(
            "roll_back_mission",
            "Roll back a mission",
            "Cancel all effects of a mission that is over. After a success the person is asked.",
            RollBackMission,
            Right.START,
            _roll_back,
            hints(destroys=True, again=True),
        ),
    )
}


def text_of(outcome: Record) -> str:
    """Return the text of a result: Markdown for a list of waits, JSON for other records."""
    if isinstance(outcome, WaitList):
        lines = [f"- {wait_line(one)}" for one in outcome.waits] or ["nothing waits"]
        return "\n".join([*lines, *([f"- and {outcome.more} more"] if outcome.more else [])])
    return visible_block(outcome.model_dump_json(indent=1, exclude_defaults=True))
