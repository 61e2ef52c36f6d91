"""Observers: pages and search attributes in the Temporal UI, the log and the meter."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import JsonValue
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import WorkflowHandle

from orchestrator.core.budget import Money
from orchestrator.messages import names
from orchestrator.planning.models import AskUser, CallTool, DiscoverTools, Doubt, Finish, GiveUp
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import CompensationOutcome
from tests.fakes import fake_leg
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


REFUSED = CompensationOutcome(state="parked", note="too late to cancel")
TICKET = CallTool(tool="buy_ticket", arguments={"seat": "12A"})


async def page(handle: WorkflowHandle[Any, Any]) -> str:
    """What the UI shows of a workflow, in Markdown."""
    shown = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    return str(shown.current_details)


async def attributes(handle: WorkflowHandle[Any, Any]) -> dict[str, Any]:
    """The search attributes of ours that a workflow has, as they are now."""
    found = (await handle.describe()).typed_search_attributes
    return {pair.key.name: pair.value for pair in found if pair.key.name.startswith("Orchet")}


async def shows(mission: Mission, handle: WorkflowHandle[Any, Any], *wanted: str) -> str:
    """The page, once all of this stands on it."""

    async def look() -> str | None:
        found = await page(handle)
        return found if all(text in found for text in wanted) else None

    return await mission.eventually(look)


async def has(mission: Mission, handle: WorkflowHandle[Any, Any], **wanted: JsonValue) -> None:
    """Wait until it has these attributes; None: it has no such one."""

    async def look() -> bool | None:
        found = await attributes(handle)
        return all(found.get(f"Orchet{name}") == value for name, value in wanted.items()) or None

    await mission.eventually(look)


async def test_a_mission_shows_what_its_legs_wait_for_and_how_to_answer(
    stage: Stage, world: FakeWorld
) -> None:
    """Card and question at once, each with its command, its leg, and what it may cost."""
    world.plan(fake_leg("ticket"), fake_leg("seat"), fake_leg("taxi", after=("ticket",)))
    world.decide("ticket", TICKET)
    world.decide("seat", AskUser(question="Which *seat*?", fields={"seat": {"type": "string"}}))
    mission = await stage.start(
        goal="go to Lisbon",
        budget=Money(amount=Decimal(900), currency="EUR"),
        requester="ann@example.com",
    )
    card = await mission.card("ticket")
    asked = await mission.question("seat")
    shown = await shows(mission, mission.handle, "confirm approve", "mission answer")

    assert shown.startswith("**running**: waits for 1 answer and 1 confirmation")
    assert "**Goal** go to Lisbon" in shown
    assert "**Asked for by** ann@example\\.com" in shown
    assert "spent nothing of 900.00 EUR" in shown
    approve = f"orchestrator confirm approve {card.confirmation_id} --digest {card.digest}"
    assert f"`{approve}`" in shown
    assert f"`orchestrator mission answer {asked.question_id} seat=<value>`" in shown
    assert "Which \\*seat\\*?" in shown
    assert "- **awaiting_confirmation** ticket (ticket): do ticket" in shown
    assert "- **waiting** taxi (taxi): do taxi" in shown
    await has(
        mission,
        mission.handle,
        Status="awaiting_confirmation",
        WaitingFor=["answer", "confirmation"],
        Agent=["seat", "taxi", "ticket"],
        Tool=["buy_ticket"],
        Requester="ann@example.com",
    )


async def test_what_was_decided_is_waited_for_no_more(stage: Stage, world: FakeWorld) -> None:
    """The mission's page and attributes forget a card when it was approved."""
    mission = await stage.start_leg("ticket", TICKET, AskUser(question="When?", fields={}))
    await mission.approve(await mission.card("ticket"))
    await mission.question("ticket")
    shown = await shows(mission, mission.handle, "When?", "Ledger")

    assert "confirm approve" not in shown
    assert "**committed**" in shown
    assert "approved by ada@example" in shown
    await has(mission, mission.handle, WaitingFor=["answer"], Tool=None)


async def test_a_changed_card_changes_the_command(stage: Stage, world: FakeWorld) -> None:
    """Amended, it has another digest, and the mission's page says so."""
    mission = await stage.start_leg("ticket", TICKET)
    card = await mission.card("ticket")
    amended = await mission.amend(card, seat="14C")

    shown = await shows(mission, mission.handle, amended.digest)

    assert card.digest not in shown


async def test_a_requester_that_is_a_personal_value_is_no_attribute(
    stage: Stage, world: FakeWorld
) -> None:
    """Attributes are not encrypted."""
    mission = await stage.start_leg("ticket", TICKET, requester="pii:traveler_name")
    await mission.card("ticket")

    assert "OrchetRequester" not in await attributes(mission.handle)


async def test_the_end_of_a_mission_stays_right(stage: Stage, world: FakeWorld) -> None:
    """Result, receipts, and where a later rollback would be."""
    mission = await stage.start_leg("ticket", TICKET, Finish(summary="The ticket is bought."))
    await mission.approve(await mission.card("ticket"))
    await mission.end()

    shown = await page(mission.handle)

    assert shown.startswith("**succeeded**")
    assert "**Result** The ticket is bought" in shown
    assert "**committed**" in shown
    assert f"workflows/{mission.mission_id}.rollback)" in shown
    assert "Waits for" not in shown
    found = await attributes(mission.handle)
    assert found["OrchetStatus"] == "succeeded"
    assert not found.keys() & {"OrchetWaitingFor", "OrchetTool", "OrchetAgent"}


async def test_a_rollback_says_what_an_operator_can_do(stage: Stage, world: FakeWorld) -> None:
    """What is parked, why, the provider's id, each command; and what was cancelled."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_flight", REFUSED)
    mission = await stage.start()
    (parked,) = await mission.parked()
    shown = await shows(mission, mission.rollback_handle, "### Parked")

    assert shown.startswith("**parked**: 1 could not be cancelled: an operator decides")
    for decision in ("retry", "cancelled", "accept"):
        assert f"`orchestrator rollback resolve {parked.obligation_id} {decision}`" in shown
    assert "### Cancelled" in shown
    assert f"](namespaces/{{namespace}}/workflows/{mission.mission_id})" in shown
    await has(
        mission,
        mission.rollback_handle,
        Status="parked",
        Parked=1,
        WaitingFor=["operator"],
        Tool=["book_flight"],
    )
    over = await mission.over()
    assert over.ledger.obligations
    assert "wait there for an operator" in await page(mission.handle)

    await mission.resolve(parked.obligation_id, "accept")
    await mission.rollback_handle.result()

    found = await attributes(mission.rollback_handle)
    assert found["OrchetParked"] == 0
    assert "OrchetWaitingFor" not in found
    assert "### Accepted" in await page(mission.rollback_handle)


async def test_a_rollback_says_when_it_tries_again(stage: Stage, world: FakeWorld) -> None:
    """While its provider is away, what is still tried and when; the mission waits for it."""
    stage.lose_after("book_flight")
    world.hold(names.COMPENSATE)
    mission = await stage.start()

    await has(mission, mission.handle, Status="rolling_back", WaitingFor=["provider"])
    await has(mission, mission.rollback_handle, WaitingFor=["provider"])


async def test_attributes_are_set_only_where_something_changed(
    stage: Stage, world: FakeWorld
) -> None:
    """Steps and calls set none, and one card two times: it waits, and it waits no more."""
    mission = await stage.start_leg(
        "ticket",
        CallTool(tool="find_flights"),
        CallTool(tool="book_flight"),
        TICKET,
        CallTool(tool="find_flights"),
        Finish(summary="done"),
    )
    await mission.approve(await mission.card("ticket"))
    await mission.end()

    events = (await mission.handle.fetch_history()).events
    upserted = [
        {*event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields}
        for event in events
        if event.HasField("upsert_workflow_search_attributes_event_attributes")
    ]
    memos = [event.HasField("workflow_properties_modified_event_attributes") for event in events]
    assert sum("OrchetWaitingFor" in names for names in upserted) == 2
    assert len(upserted) <= 5
    assert sum(memos) == 2


async def test_a_leg_that_gives_up_leaves_nothing_waited_for(
    stage: Stage, world: FakeWorld
) -> None:
    """Failed, the mission waits for nobody, and its page shows the first error."""
    mission = await stage.start_leg("visa", GiveUp(reason="no visa <b>"))
    await mission.end()

    assert "**First error** no visa \\<b\\>" in await page(mission.handle)
    found = await attributes(mission.handle)
    assert found["OrchetStatus"] == "failed"
    assert "OrchetWaitingFor" not in found


PLANTED = "Ada Lovelace 90417"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What is logged of missions, filled as it comes."""
    caplog.set_level(logging.INFO, "orchestrator.missions")
    told: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            about = record.__dict__["temporal_workflow"]["workflow_id"].partition(".")[2]
            told.append(f"{about or 'mission'}: {record.getMessage()} {record.__dict__['figures']}")

    logging.getLogger("orchestrator.missions").addHandler(handler := Lines())
    yield told
    logging.getLogger("orchestrator.missions").removeHandler(handler)


async def test_a_lost_mission_is_told_step_by_step_and_by_no_word_of_it(
    forgetful: Stage, world: FakeWorld, lines: list[str]
) -> None:
    """Each line once, though every task replays the history; what a planner says stays out."""
    world.compensate("book_flight", CompensationOutcome(state="cancelled"))

    mission = await forgetful.start_leg(
        "flight",
        DiscoverTools(query=f"book for {PLANTED}"),
        CallTool(tool="book_flight", arguments={"name": PLANTED}),
        GiveUp(reason=f"nothing for {PLANTED}"),
        goal=f"a flight for {PLANTED}",
    )
    await mission.end()
    told = "\n".join(lines)

    assert told.count("mission: flight: step 1: discover: ") == 1
    assert told.count("mission: flight: step 2: call book_flight: succeeded") == 1
    assert told.count("mission: the leg flight ended failed after") == 1
    assert told.count("rollback: the rollback begins with 1 obligations") == 1
    assert told.count("'state': 'cancelled'") == 1
    # The server has the last task done again when the end of its rollback arrives meanwhile.
    assert told.count("mission: the mission ended rolled_back after") >= 1
    assert PLANTED not in told


async def test_a_question_about_a_plan_is_told_when_it_opens(
    forgetful: Stage, world: FakeWorld, lines: list[str]
) -> None:
    """By its id: whoever reads the log knows that the mission waits, and for what."""
    world.plan(fake_leg("flight", orders=[Order(clause="book it", tools=("book_flight",))]))
    world.doubt(Doubt(kind="left_over", about=PLANTED, why="no tool does that"))

    mission = await forgetful.start(goal=f"book a flight for {PLANTED}")
    question = await mission.plan_question()
    await mission.handle.cancel()
    await mission.end()
    told = "\n".join(lines)

    assert told.count(f"mission: waits for answer: {question.question_id}") == 1
    assert PLANTED not in told
