"""What an observer sees in the Temporal UI: pages and search attributes, while things happen."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import JsonValue
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import WorkflowHandle

from orchestrator.core.budget import Money, Spend
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.news import LegNews, LegWait, WaitKind
from orchestrator.planning.models import AskUser, CallTool, Finish, GiveUp
from orchestrator.saga.outcome import CompensationOutcome
from orchestrator.testing import FakeWorld, fake_leg

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
    leg = f"[ticket](namespaces/{{namespace}}/workflows/{mission.mission_id}.ticket)"
    assert f"- **awaiting_confirmation** {leg} (ticket): do ticket" in shown
    assert "- **waiting** taxi (taxi): do taxi" in shown
    await has(
        mission,
        mission.handle,
        Status="running",
        WaitingFor=["answer", "confirmation"],
        Tool=["buy_ticket"],
        Requester="ann@example.com",
    )


async def test_what_was_decided_is_waited_for_no_more(stage: Stage, world: FakeWorld) -> None:
    """The mission's page and attributes forget a card when it was approved."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", TICKET, AskUser(question="When?", fields={}))
    mission = await stage.start()
    await mission.approve(await mission.card("ticket"))
    await mission.question("ticket")
    shown = await shows(mission, mission.handle, "When?", "Ledger")

    assert "confirm approve" not in shown
    assert "**committed**" in shown
    assert "approved by ada@example" in shown
    await has(mission, mission.handle, WaitingFor=["answer"], Tool=None)
    await has(mission, mission.leg_handle("ticket"), WaitingFor=["answer"], CardType=None)


async def test_a_leg_is_found_by_what_it_waits_for(stage: Stage, world: FakeWorld) -> None:
    """Its agent, its tool, its card's type, and who asked for the mission."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", TICKET, Finish(summary="done"))
    mission = await stage.start(requester="ann@example.com")
    card = await mission.card("ticket")
    leg = mission.leg_handle("ticket")
    await has(
        mission,
        leg,
        Status="awaiting_confirmation",
        WaitingFor=["confirmation"],
        Agent="ticket",
        Tool=["buy_ticket"],
        CardType="structured-payment",
        Requester="ann@example.com",
    )
    await mission.approve(card)
    await mission.end()

    found = await attributes(leg)
    assert found["OrchetStatus"] == "succeeded"
    assert not found.keys() & {"OrchetWaitingFor", "OrchetTool", "OrchetCardType"}
    assert "OrchetWaitingFor" not in await attributes(mission.handle)


async def test_a_changed_card_changes_the_command(stage: Stage, world: FakeWorld) -> None:
    """Amended, it has another digest, and the mission's page says so."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", TICKET)
    mission = await stage.start()
    card = await mission.card("ticket")
    amended = await mission.amend(card, seat="14C")

    shown = await shows(mission, mission.handle, amended.digest)

    assert card.digest not in shown


async def test_a_requester_that_is_a_personal_value_is_no_attribute(
    stage: Stage, world: FakeWorld
) -> None:
    """Attributes are not encrypted."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", TICKET)
    mission = await stage.start(requester="pii:traveler_name")
    await mission.card("ticket")

    assert "OrchetRequester" not in await attributes(mission.handle)
    assert "OrchetRequester" not in await attributes(mission.leg_handle("ticket"))


async def test_the_end_of_a_mission_stays_right(stage: Stage, world: FakeWorld) -> None:
    """Result, receipts, and where a later rollback would be."""
    world.plan(fake_leg("ticket"))
    world.decide("ticket", TICKET, Finish(summary="The ticket is bought."))
    mission = await stage.start()
    await mission.approve(await mission.card("ticket"))
    await mission.end()

    shown = await page(mission.handle)

    assert shown.startswith("**succeeded**")
    assert "**Result** The ticket is bought" in shown
    assert "**committed**" in shown
    assert f"workflows/{mission.mission_id}.rollback)" in shown
    assert "Waits for" not in shown


async def test_a_rollback_says_what_an_operator_can_do(stage: Stage, world: FakeWorld) -> None:
    """What is parked, why, the provider's id, each command; and what was cancelled."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_flight", REFUSED)
    mission = await stage.start()
    (parked,) = await mission.parked()
    shown = await shows(mission, mission.rollback_handle, "### Parked")

    assert shown.startswith("**parked**: 1 could not be taken back: an operator decides")
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


# -- forged news ----------------------------------------------------------------------------------


def news(mission: Mission, leg_id: str = "ticket", **wait: Any) -> LegNews:
    leg = names.leg_workflow_id(mission.mission_id, leg_id)
    forged = {"waits_for": WaitKind.CONFIRMATION, "id": f"{leg}.1", "digest": "f" * 64, **wait}
    return LegNews(
        leg_id=leg_id,
        status=LegStatus.AWAITING_CONFIRMATION,
        wait=LegWait.model_validate(forged),
        spend=Spend().plus(Money(amount=Decimal(1), currency="EUR")),
    )


async def test_forged_news_only_changes_what_is_shown(stage: Stage, world: FakeWorld) -> None:
    """A signal names no sender: a false one leads to no call, no spending and no other result."""
    world.plan(fake_leg("ticket"), fake_leg("taxi", after=("ticket",)))
    world.decide("ticket", TICKET, Finish(summary="done"))
    world.decide("taxi", Finish(summary="done"))
    mission = await stage.start(budget=Money(amount=Decimal(900), currency="EUR"))
    card = await mission.card("ticket")
    await shows(mission, mission.handle, card.digest)
    forged = news(mission, title="Pay [me](https://evil.example) <img src=x>")
    await mission.handle.signal(names.LEG_WAITS_SIGNAL, forged)
    shown = await shows(mission, mission.handle, "f" * 64)
    await mission.approve(card)
    result = await mission.end()

    assert "[me](" not in shown
    assert "<img" not in shown.replace("\\<img", "")
    assert result.status == "succeeded"
    assert "EUR" not in result.spend.by_currency
    assert "f" * 64 not in await page(mission.handle)


@pytest.mark.parametrize(
    "change",
    [
        {"leg_id": "taxi"},
        {"leg_id": "nowhere"},
        {"id": "another-mission.ticket.1"},
        {"id": "x; rm -rf /"},
    ],
    ids=["not started", "not planned", "another mission's", "no id at all"],
)
async def test_news_of_what_the_mission_did_not_start_is_ignored(
    stage: Stage, world: FakeWorld, change: dict[str, Any]
) -> None:
    """Neither page nor attributes take it up."""
    world.plan(fake_leg("ticket"), fake_leg("taxi", after=("ticket",)))
    world.decide("ticket", TICKET)
    mission = await stage.start()
    card = await mission.card("ticket")
    before = await shows(mission, mission.handle, card.digest)
    await mission.handle.signal(names.LEG_WAITS_SIGNAL, news(mission, **change))

    async def arrived() -> bool | None:
        history = await mission.handle.fetch_history()
        return sum(_is_news(event) for event in history.events) == 2 or None

    await mission.eventually(arrived)
    assert await page(mission.handle) == before


def _is_news(event: Any) -> bool:
    signal = event.workflow_execution_signaled_event_attributes
    return bool(signal.signal_name == names.LEG_WAITS_SIGNAL)


async def test_news_is_told_only_when_something_changed(stage: Stage, world: FakeWorld) -> None:
    """One card is two signals: it waits, and it waits no more; steps and calls are none."""
    world.plan(fake_leg("ticket"))
    world.decide(
        "ticket",
        CallTool(tool="find_flights"),
        CallTool(tool="book_flight"),
        TICKET,
        CallTool(tool="find_flights"),
        Finish(summary="done"),
    )
    mission = await stage.start(
        policy=MissionPolicy(call_timeout=timedelta(seconds=4), call_attempts=3)
    )
    await mission.approve(await mission.card("ticket"))
    await mission.end()

    history = await mission.handle.fetch_history()
    assert sum(_is_news(event) for event in history.events) == 2


async def test_a_leg_that_gives_up_leaves_nothing_waited_for(
    stage: Stage, world: FakeWorld
) -> None:
    """Failed, the mission waits for nobody, and its page shows the first error."""
    world.plan(fake_leg("visa"))
    world.decide("visa", GiveUp(reason="no visa <b>"))
    mission = await stage.start()
    await mission.end()

    assert "**First error** no visa \\<b\\>" in await page(mission.handle)
    found = await attributes(mission.handle)
    assert found["OrchetStatus"] == "failed"
    assert "OrchetWaitingFor" not in found
