"""Cards, questions and pauses that wait for people, and the decisions and answers to them.

Waits are read from the memos of missions. Decisions and answers go to the mission in their id. The
server pushes the cards of one mission: long polls return when its history has grown, which costs
the mission nothing, and the new events show how the memo changed.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from typing import Final

from pydantic import Field, JsonValue
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.raw_history import decoded
from orchestrator.adapters.temporal.search_attributes import REQUESTER, quoted
from orchestrator.client.connection import Connection, until_answered
from orchestrator.confirmation.models import (
    ConfirmationCard,
    Decision,
    DecisionEnvelope,
    DecisionReceipt,
)
from orchestrator.core import errors
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.messages.leg import AnswerInput, LegWaiting, Question
from orchestrator.messages.open_waits import Waiting, commands_for, urgency, waiting_of_all

WAITING_QUERY: Final = (
    "ExecutionStatus = 'Running' "
    f"AND {names.WAITING_FOR_ATTRIBUTE} IN ('confirmation', 'answer', 'hold', 'model', 'store')"
)


class Understood(Record):
    """An answer as it was read."""

    values: JsonObject = Field(default_factory=dict)
    notes: tuple[str, ...] = Field(
        default=(), description="a line for each value that was read differently from its text"
    )
    problems: tuple[str, ...] = Field(default=(), description="a sentence for each unread field")


# -- what waits -----------------------------------------------------------------------------------


async def waits_in(mission: WorkflowExecution) -> Waiting:
    """Return the waits in a mission's memo; none for a mission that is over."""
    return waiting_of_all((await memo_waits(mission)).values())


async def memo_waits(mission: WorkflowExecution) -> dict[str, LegWaiting]:
    """Return the waits in a mission's memo by their keys; none for a mission that is over."""
    if mission.status is not WorkflowExecutionStatus.RUNNING:
        return {}
    keys = [key for key in mission.raw_info.memo.fields if key.startswith(names.WAITS_MEMO)]
    found = {key: await mission.memo_value(key, None, type_hint=LegWaiting) for key in keys}
    return {key: one for key, one in found.items() if isinstance(one, LegWaiting)}


async def all_waiting(connection: Connection, *, requester: str | None = None) -> Waiting:
    """Return the waits of every mission, or of the missions of one requester."""
    wanted = WAITING_QUERY
    if requester is not None:
        wanted += f" AND {names.REQUESTER_ATTRIBUTE} = {quoted(requester)}"
    with connection.explaining():
        parts = [await waits_in(one) async for one in connection.temporal.list_workflows(wanted)]
    return Waiting(
        cards=tuple(sorted((card for one in parts for card in one.cards), key=urgency)),
        questions=tuple(sorted((asked for one in parts for asked in one.questions), key=urgency)),
        pauses=tuple(pause for one in parts for pause in one.pauses),
        stalled=tuple(why for one in parts for why in one.stalled),
    )


def mission_of(asked_id: str) -> str:
    """Return the mission to which the id of a confirmation, a question or a pause belongs."""
    mission_id = names.mission_of(asked_id)
    if not mission_id or mission_id == asked_id:
        raise errors.CardUnknown(asked_id, "this is no id of a confirmation or a question")
    return mission_id


async def workflow_of(connection: Connection, asked_id: str) -> str:
    """Return the workflow that handles decisions and answers for an id: a mission or a saga."""
    return await workflow_with(connection, mission_of(asked_id))


async def workflow_with(connection: Connection, mission_id: str) -> str:
    """Return the workflow of a mission or of a saga."""
    if (noted := connection.workflow_of(mission_id)) is not None:
        return noted
    if names.may_be_saga(mission_id):
        query = f"{names.AGENT_ATTRIBUTE} = '{names.saga_attribute(mission_id)}'"
        with connection.explaining():
            async for found in connection.temporal.list_workflows(query):
                return found.id
    return mission_id


async def _waits_about(connection: Connection, asked_id: str) -> Waiting:
    workflow_id = await workflow_of(connection, asked_id)
    is_mission = workflow_id == mission_of(asked_id)
    read = connection.mission if is_mission else connection.describe
    return await waits_in(await read(workflow_id))


async def open_card(connection: Connection, confirmation_id: str) -> ConfirmationCard:
    """Return one open card, or raise CardUnknown."""
    try:
        cards = (await _waits_about(connection, confirmation_id)).cards
    except errors.MissionNotFound:
        cards = ()
    for card in cards:
        if card.confirmation_id == confirmation_id:
            return card
    others = ", ".join(card.confirmation_id for card in cards)
    why = f"not open; its mission now asks {others}" if others else "no such confirmation is open"
    raise errors.CardUnknown(confirmation_id, why)


async def open_question(connection: Connection, question_id: str) -> Question | None:
    """Return the question with that id; None if it is not open."""
    try:
        questions = (await _waits_about(connection, question_id)).questions
    except errors.MissionNotFound:
        return None
    return next((one for one in questions if one.question_id == question_id), None)


async def requester_of(connection: Connection, mission_id: str) -> str:
    """Return the requester of a mission or of the workflow with a saga; empty if it states none."""
    found = await connection.describe(await workflow_with(connection, mission_id))
    return found.typed_search_attributes.get(REQUESTER) or ""


# -- decisions and answers ------------------------------------------------------------------------


async def send_decision(connection: Connection, decision: Decision) -> DecisionReceipt:
    """Send a decision on an open card. See `MissionClient.decide`."""
    return await connection.update(
        await workflow_of(connection, decision.confirmation_id),
        names.DECIDE_UPDATE,
        DecisionEnvelope(decision=decision),
        DecisionReceipt,
        about=decision.confirmation_id,
    )


async def send_answer(
    connection: Connection,
    question_id: str,
    typed: Mapping[str, JsonValue] | str,
    *,
    answered_by: str = "",
) -> Understood:
    """Read an answer and send it. See `MissionHandle.answer`."""
    from orchestrator.messages.question_field import personal_problems

    question = await open_question(connection, question_id) if typed else None
    by_name = typed if isinstance(typed, Mapping) else {}
    if isinstance(typed, str) and typed.strip() and question is not None:
        wanted = [field for field in question.asks if not field.is_optional] or question.asks
        if len(wanted) != 1:
            asked = ", ".join(field.name for field in question.asks)
            reason = (
                f"it asks for {asked or 'nothing to be typed'}: say for which the text is; "
                f"give: {commands_for(question)[-1]}"
            )
            raise errors.QuestionError(question_id, reason, code="AnswerInvalid")
        by_name = {wanted[0].name: typed}
    understood = Understood(values=dict(by_name), problems=personal_problems(by_name))
    if question is not None:
        understood = read_for(question, by_name)
    if understood.problems:
        raise errors.QuestionError(
            question_id, "; ".join(understood.problems), code="AnswerInvalid"
        )
    await connection.update(
        await workflow_of(connection, question_id),
        names.ANSWER_UPDATE,
        AnswerInput(question_id=question_id, values=understood.values, answered_by=answered_by),
        str,
        about=question_id,
    )
    return understood


def read_for(question: Question, typed: Mapping[str, JsonValue]) -> Understood:
    """Read typed texts by the question's fields and the clock of the person who answers.

    The clock has the mission's time zone: a mission that runs for a week is answered "tomorrow".
    """
    from orchestrator.client.typed_answers import read_answer  # loads the languages of dates
    from orchestrator.messages.question_field import personal_problems, undisclosed

    zone = question.asked_at.tzinfo if question.asked_at is not None else UTC
    refused = undisclosed(typed) if question.server else personal_problems(typed)
    if refused:
        return Understood(values=dict(typed), problems=refused)
    return read_answer(question.fields, typed, now=datetime.now(zone))


_RESTS_S: Final = (0.05, 1.0)
"""Shortest and longest pause between two long polls: each event ends a poll, and few events open a
card. The next poll returns all events since the last at once."""
_LONGER: Final = 0.1
"""Pause as a share of the time waited for a card. Slow missions are polled less often, since many
of them would keep the server busy answering polls."""


async def opened_cards(connection: Connection, mission_id: str) -> AsyncGenerator[ConfirmationCard]:
    """Yield each card of a mission once, as soon as it is open; an amended card is a new card.

    The generator ends when the mission is over. It waits minutes for a server that is unavailable.
    """
    run_id, known = "", 0  # the number of the run's events whose changes of the memo are known
    waits: dict[str, LegWaiting] = {}
    before: tuple[ConfirmationCard, ...] = ()
    is_over, since = False, time.monotonic()  # when the last card came, or following began

    async def has_grown() -> bool:
        """Read changes of the memo; return False if only a description shows the waits."""
        nonlocal known
        await asyncio.sleep(rest_after(time.monotonic() - since))
        history = connection.histories.of(mission_id, run_id)
        with connection.explaining(mission_id):
            await history.grow(known)
        grown = history.events[known:]
        if history.is_whole or not grown:  # the run is over, or nothing came
            return False
        for event in grown:
            changed = event.workflow_properties_modified_event_attributes.upserted_memo.fields
            for key in filter(lambda one: one.startswith(names.WAITS_MEMO), changed):
                waits.pop(key, None)
                written = await decoded(connection.temporal, [changed[key]], LegWaiting)
                if written is not None:
                    waits[key] = written
        known += len(grown)
        return True

    async def open_cards() -> tuple[ConfirmationCard, ...]:
        """Wait until the history has grown: a description costs 3 ms of CPU."""
        nonlocal run_id, known, waits, before, is_over
        is_first = not run_id
        if is_first or not await has_grown():
            mission = await connection.describe(mission_id)
            run_id, known = mission.run_id or "", mission.history_length
            is_over = mission.status is not WorkflowExecutionStatus.RUNNING
            waits = await memo_waits(mission)
        cards = waiting_of_all(waits.values()).cards
        for card in cards:
            connection.note_saga(card.mission_id, mission_id)
        # A worker has just opened or closed one.
        if cards != before and not is_first:
            connection.note_worker(mission_id)
        before = cards
        return cards

    seen: set[tuple[str, str]] = set()
    while not is_over:
        for card in await until_answered(open_cards):
            if (key := (card.confirmation_id, card.digest)) not in seen:
                seen.add(key)
                since = time.monotonic()
                yield card


def rest_after(waited_s: float) -> float:
    """Return the pause in seconds before the next poll, given the wait for the last card."""
    shortest, longest = _RESTS_S
    return min(max(shortest, _LONGER * waited_s), longest)
