"""Pages of the command line as people read them, one golden file each.

`python -m tests.unit.cli.test_pages` writes the files.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from orchestrator.chaos.verdicts.report import Flaw, PairCheck, PairsReport
from orchestrator.cli import render_missions, render_waiting
from orchestrator.cli.chaos_runs import draw_pairs
from orchestrator.cli.output import CleanConsole
from orchestrator.client.mission_list import KnownMission, MissionSummary, Wait
from orchestrator.client.mission_rollback import RollbackPreview
from orchestrator.confirmation.card_content import CONTENT_TYPES, CardLine
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.budget import Money, Usage, limit_of
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.received_files import ReceivedFile, handle_of_bytes
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.leg import LegResult, LegStatus, Question
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.open_waits import Waiting, commands_for
from orchestrator.messages.plan_preview import PlannedLeg, PlannedTool, PlanPreview
from orchestrator.messages.rollback import ParkedRollback, RollbackReport, parked_of
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import Doubt, Fact
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import FollowUp, ToolOutcome
from tests.fakes import fake_obligation
from tests.unit.cards import open_card

FOLDER: Final = Path(__file__).parent / "pages"
NOON: Final = datetime(2026, 12, 3, 12, tzinfo=UTC)
EUR_78: Final = Money(amount=Decimal("78.00"), currency="EUR")

CARD = ConfirmationCard(
    confirmation_id="m.1-dinner.2-2",
    mission_id="m",
    leg_id="1-dinner",
    card_type="structured-reservation",
    heading="Reservation",
    title="Reserve a [table]",
    content=CONTENT_TYPES["structured-reservation"].model_validate(
        {
            "place": [{"label": "City", "value": "Lisbon [bold]old town[/]"}],
            "times": [{"label": "Time", "at": "20:00"}],
        }
    ),
    lines=(CardLine(label="Client reference", value="m.1-dinner.2"),),
    tool="dining_reserve_table",
    cancellation="cancelled by dining_cancel_reservation within 1 day",
    digest="ab" * 32,
    price=EUR_78,
    expires_at=NOON,
    approvers=("*@ops.example.com",),
    round=2,
    reminded=1,
)
WAITING = Waiting(
    cards=(
        open_card(
            "m.1-dinner.2",
            "dining_reserve_table",
            "structured-order",
            title="Reserve a [table]",
            expires_at=NOON,
            round=2,
            reminded=1,
        ),
    ),
    questions=(
        Question(
            question_id="q.1-trip.3",
            mission_id="q",
            leg_id="1-trip",
            question="From where?",
            fields={"origin": {"type": "string"}},
            personal=("traveler_id",),
            expires_at=NOON - timedelta(hours=1),
        ),
    ),
    pauses=(
        ModelPause(
            pause_id="p.1-trip.4-model",
            mission_id="p",
            leg_id="1-trip",
            model="openai:gpt-5",
            reason="401: the key is not valid",
            since=NOON,
            retried_at=NOON,
            deadline=NOON + timedelta(hours=1),
        ),
    ),
    stalled=("its catalog is not in the store of the task queue 'taxis'",),
)


def mission(**fields: Any) -> MissionResult:
    given = {"mission_id": "m", "goal": "g", "status": MissionStatus.SUCCEEDED, **fields}
    return MissionResult.model_validate(given)


def _parked() -> RollbackReport:
    obligation = fake_obligation("m.1-dinner.2", written_at=NOON, deadline=NOON)
    obligation = obligation.moved(ObligationState.PARKED, at=NOON, note="too late")
    obligation = obligation.resolved("retry", at=NOON, operator="ann", note="they reopened")
    obligation = obligation.model_copy(update={"response": {"booking_id": "B-77"}})
    obligation = obligation.moved(
        ObligationState.PARKED, at=NOON + timedelta(hours=2), note="closed [again]"
    )
    return RollbackReport(mission_id="m", ledger=Ledger(obligations=(obligation,)))


def _parked_list() -> list[ParkedRollback]:
    report = _parked()
    silent = ParkedRollback(mission_id="n", unread="its key is not here", shown_status="parked")
    return [ParkedRollback(**dict(report), waiting=parked_of(report)), silent]


def _mission() -> MissionResult:
    """Return a mission with an overcharge, a follow-up, files and the use of a model."""
    charged = Money(amount=Decimal("97.50"), currency="EUR")
    made = fake_obligation(
        "m.1-dinner.2",
        tool="dining_reserve_table",
        title="Reserve a table",
        approved_price=EUR_78,
        confirmed_by="ann",
    ).answered(ToolOutcome(kind="succeeded", price=charged), at=NOON)
    cancel = FollowUp(
        id="m.1-dinner.2:1",
        kind="cancel",
        tool="dining_cancel_reservation",
        title="Cancel a reservation",
        inputs={"reservation_id": "R1"},
        until=NOON,
        fee=Money(amount=Decimal(20), currency="EUR"),
    )
    charged_more = made.compared(limit_of(EUR_78)).model_copy(update={"follow_ups": (cancel,)})
    received = ReceivedFile(handle=handle_of_bytes(b"1"), size_bytes=1, name="label.pdf")
    sent = handle_of_bytes(b"2")
    usage = Usage(requests=1, input_tokens=4_000, cached_tokens=3_072, output_tokens=50, unpriced=1)
    asked: dict[str, Any] = {"tools_forwarded": (), "catalog_size": 9, "band": "crisp"}
    step = StepRecord(step=1, did="call find", outcome="succeeded", usage=usage, **asked)
    leg = LegResult(
        leg_id="1-dinner",
        agent="dining",
        goal="Reserve a table",
        status=LegStatus.SUCCEEDED,
        facts=(
            Fact(source="1.1", tool="label_download", body=received.as_answer()),
            Fact(source="1.2", tool="t", title="Open a ticket", arguments={"document": sent}),
        ),
        steps=(step,),
        usage=usage,
    )
    return mission(
        ledger=Ledger(obligations=(charged_more,)),
        goal="Reserve a table in Lisbon",
        summary="Reserved.",
        requester="bob",
        plan_made_by=PlanOrigin(planner="model", model="openai:gpt-5"),
        legs=(leg,),
        uncovered=("feed the cat",),
        usage=usage,
        finished_at=NOON,
    )


def _rolled_back() -> MissionResult:
    """Return a mission that succeeded, was rolled back, and left something to an operator."""
    left = fake_obligation(
        state=ObligationState.PARKED,
        response={"booking_id": "b1"},
        title="Book a room",
        note="refused: too late",
    )
    return mission(summary="Booked.").on(
        Ledger(obligations=(left,)), MissionStatus.ROLLED_BACK_AFTER_SUCCESS
    )


def _obligations() -> tuple[Obligation, ...]:
    hotel = fake_obligation(
        "m.1-hotels.2", title="Book a hotel room", cancel_tool="hotel_cancel", price=EUR_78
    )
    return hotel, fake_obligation("m.2-note.1", title="Post a note", cancel_tool=None)


PREVIEW = RollbackPreview(
    mission_id="m",
    status=MissionStatus.SUCCEEDED,
    obligations=_obligations(),
    references={"m.1-hotels.2": {"booking_id": "hbk_1"}},
    is_begun=False,
)
BOOK = PlannedTool(
    name="book_table",
    title="Book a table",
    is_side_effect=True,
    card_type="structured-reservation",
    cancellation="cancelled by cancel_table",
)
DINING = PlannedLeg(
    leg_id="1-dining",
    goal="Book a table",
    agent="dining",
    stage=1,
    tools=(BOOK,),
    orders=(Order(tools=("book_table",), clause="Book a table"),),
)
NOTE: Final[dict[str, Any]] = {"leg_id": "2-note", "goal": "note it", "agent": "notes", "stage": 2}
PLAN = PlanPreview(
    goal="Book a table and feed the cat",
    digest="d" * 64,
    legs=(DINING, PlannedLeg(**NOTE, depends_on=("1-dining",), serves=("the cat",))),
    made_by=PlanOrigin(planner="model", model="openai:gpt-5", corrected=(("no leg serves 'x'",),)),
    uncovered=("feed the cat",),
    doubts=(Doubt(kind="left_over", about="the cat", why="no tool does it"),),
    asks_first=True,
    catalog_digest="c",
)
SUMMARY = MissionSummary(
    mission_id="m",
    status="running",
    goal="go",
    started_at=NOON,
    waits_for=(Wait(kind="confirmation", what="2 cards", command="orchestrator confirm list"),),
)
KNOWN = KnownMission(**dict(SUMMARY), task_queue="q", agents=("dinner",), unread="other code")


def _pairs() -> PairsReport:
    lost = Flaw(why="the answer [never] came", remedy="add a probe")
    parks = lost.model_copy(update={"code": "ORC047"})
    check = partial(PairCheck, document="shop", cancel="drop")
    checks = (
        check(tool="book", case="clean", ok=True),
        check(tool="book", case="answer lost", ok=False, flaws=(parks,)),
        check(tool="pay", case="answer lost", ok=False, flaws=(lost,)),
        check(tool="pay", case="too late", ok=False, flaws=(lost,)),
        check(tool="rent", case="clean", ok=True),
    )
    return PairsReport(seed=7, pairs=3, checks=checks, seconds=1.5, ok=False)


PAGES: Final[dict[str, tuple[Callable[[Console, Any], None], Any]]] = {
    "card": (render_waiting.card, CARD),
    "waiting": (render_waiting.waiting, WAITING),
    "plan": (render_missions.plan_preview, PLAN),
    "mission": (render_missions.mission, _mission()),
    "mission-rolled-back": (render_missions.mission, _rolled_back()),
    "mission-unreadable": (render_missions.partial, KNOWN),
    "missions": (render_missions.missions, [SUMMARY]),
    "rollback-preview": (render_missions.rollback_preview, PREVIEW),
    "rollback": (render_missions.rollback, _parked()),
    "parked": (render_missions.parked_list, _parked_list()),
    "cancel-pairs": (draw_pairs, _pairs()),
}


def drawn(draw: Callable[[Console, Any], None], shown: Any, *, width: int = 200) -> str:
    """Return what a person reads."""
    written = StringIO()
    draw(CleanConsole(file=written, width=width), shown)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_as_it_did(name: str) -> None:
    """Every fact, label and command stands where a person looks for it."""
    assert drawn(*PAGES[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_command_is_cut_or_folded_on_a_narrow_terminal() -> None:
    """People copy commands from the screen."""
    rows = {row.strip() for row in drawn(render_waiting.waiting, WAITING, width=40).splitlines()}
    asked: tuple[ConfirmationCard | Question, ...] = (*WAITING.cards, *WAITING.questions)
    for one in asked:
        assert {str(command) for command in commands_for(one)} <= rows


def test_only_an_empty_list_says_that_nothing_waits() -> None:
    """A wait for workers is a wait; so are those of scripts, in the same order."""
    stalled = Waiting(stalled=WAITING.stalled)

    assert "nothing waits" in drawn(render_waiting.waiting, Waiting())
    assert "nothing waits" not in drawn(render_waiting.waiting, stalled)
    assert [e["kind"] for e in WAITING.entries()] == ["question", "card", "model", "store"]


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("97.50", "EUR", "97.50 EUR (19.50 EUR more than the 78.00 EUR approved)"),
        ("78.00", "EUR", "78.00 EUR"),
        ("78.00", "USD", "78.00 USD (in another currency than the 78.00 EUR approved)"),
        (None, "", "78.00 EUR approved (charged price not stated)"),
    ],
)
def test_receipt_and_ledger_show_the_charge(amount: str | None, currency: str, shown: str) -> None:
    charged = None if amount is None else Money(amount=Decimal(amount), currency=currency)
    outcome = ToolOutcome(kind="succeeded", price=charged)
    made = fake_obligation(approved_price=EUR_78).answered(outcome, at=NOON)
    ledger = Ledger(obligations=(made.compared(limit_of(EUR_78)),))
    text = drawn(render_missions.mission, mission(ledger=ledger))

    assert text.count(shown) >= 2
    assert ("more than" in text) is (amount == "97.50")


@pytest.mark.parametrize(
    ("status", "is_past"), [(MissionStatus.INCOMPLETE, False), (MissionStatus.PARKED, True)]
)
def test_the_summary_of_a_rolled_back_mission_is_past(status: MissionStatus, is_past: bool) -> None:
    """'Locker reserved' must not stand above a ledger in which it was cancelled."""
    result = mission(summary="Locker reserved.").on(Ledger(), status)
    text = drawn(render_missions.mission, result)

    assert "Locker reserved." in text
    assert ("before its rollback it said:" in text) is is_past


def test_an_accepted_obligation_is_left_without_a_command() -> None:
    made = fake_obligation(state=ObligationState.ACCEPTED, title="Book a room")
    result = mission().on(Ledger(obligations=(made,)), MissionStatus.ROLLED_BACK_AFTER_SUCCESS)
    text = drawn(render_missions.mission, result)

    assert "left, accepted: Book a room" in text
    assert "orchestrator rollback show" not in text


if __name__ == "__main__":
    for page in PAGES:
        (FOLDER / f"{page}.txt").write_text(drawn(*PAGES[page]), encoding="utf-8")


def test_a_mission_that_may_have_exceeded_its_budget_says_so_first() -> None:
    """Whatever the width; one that kept within it says nothing of it."""
    budget = Money(amount=Decimal(80), currency="EUR")
    charge = Money(amount=Decimal("97.50"), currency="EUR")
    made = fake_obligation().answered(ToolOutcome(kind="succeeded", price=charge), at=NOON)
    ledger = Ledger(obligations=(made,))
    over = drawn(render_missions.mission, mission(budget=budget, ledger=ledger), width=40)
    within = drawn(render_missions.mission, mission(budget=charge, ledger=ledger))

    assert "exceeded its budget of 80.00 EUR" in over.splitlines()[0]
    assert "exceeded" not in within
