"""What waits for people, and what is parked, as they see it in a terminal."""

from datetime import UTC, datetime, timedelta

from rich.console import Console

from orchestrator.cli import render_missions, render_waiting
from orchestrator.client.known_mission import KnownLeg, KnownMission
from orchestrator.client.overview import MissionSummary, Wait
from orchestrator.messages.leg import Question
from orchestrator.messages.open_waits import UnaskedLeg, Waiting, commands_for
from orchestrator.messages.parked import ParkedRollback, parked_of
from orchestrator.messages.rollback import RollbackReport
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.testing import fake_obligation
from tests.unit.cards import open_card

NOON = datetime(2026, 12, 3, 12, tzinfo=UTC)
CARD = open_card(
    "m.1-dinner.2",
    "dining_reserve_table",
    "structured-order",
    title="Reserve a [table]",
    expires_at=NOON,
    round=2,
    reminded=1,
)
QUESTION = Question(
    question_id="q.1-trip.3",
    mission_id="q",
    leg_id="1-trip",
    question="From where?",
    fields={"origin": {"type": "string"}},
    personal=("traveler_id",),
    expires_at=NOON - timedelta(hours=1),
)
SILENT = UnaskedLeg(
    leg="s.1-taxi",
    mission_id="s",
    task_queue="taxis",
    status="awaiting_confirmation",
    why="no worker polls the task queue 'taxis'",
)


def drawn(draw: object, shown: object) -> str:
    console = Console(width=160, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        draw(console, shown)  # type: ignore[operator]
    return captured.get()


def test_cards_and_questions_stand_together_with_what_to_type() -> None:
    """What expires first comes first; what could not be asked is named, with its queue."""
    waiting = Waiting(cards=(CARD,), questions=(QUESTION,), unasked=(SILENT,))
    text = drawn(render_waiting.waiting, waiting)

    assert text.index("q.1-trip.3") < text.index("m.1-dinner.2") < text.index("s.1-taxi")
    for part in (
        "From where?",
        "orchestrator pii set traveler_id",
        "orchestrator mission answer q.1-trip.3 origin=<value>",
        "Reserve a [table], asked 2x, reminded 1x",
        "2026-12-03 12:00 UTC",
        "orchestrator confirm approve m.1-dinner.2",
        "orchestrator confirm reject m.1-dinner.2 --reason",
        "no worker polls the task queue 'taxis'",
    ):
        assert part in text
    assert [e["kind"] for e in waiting.entries()] == ["question", "card", "unasked"]
    assert all(e["mission_id"] for e in waiting.entries())


def test_no_command_is_cut_or_folded_on_a_narrow_terminal() -> None:
    """What one types is copied from the screen."""
    console = Console(width=40, record=True, force_terminal=False)
    with console.capture() as captured:
        render_waiting.waiting(console, Waiting(cards=(CARD,), questions=(QUESTION,)))
    shown = [line.strip() for line in captured.get().splitlines()]

    for one in (CARD, QUESTION):
        assert {str(command) for command in commands_for(one)} <= {*shown}


def test_nothing_waits_only_where_everybody_was_asked() -> None:
    """A leg that is silent may hold a card."""
    assert "nothing waits" in drawn(render_waiting.waiting, Waiting())
    assert "nothing waits" not in drawn(render_waiting.waiting, Waiting(unasked=(SILENT,)))


def parked_report() -> RollbackReport:
    """One obligation that was retried before, and waits again."""
    obligation = fake_obligation("m.1-dinner.2", written_at=NOON, deadline=NOON)
    obligation = obligation.moved(ObligationState.PARKED, at=NOON, note="too late")
    obligation = obligation.resolved("retry", at=NOON, operator="ann", note="they reopened")
    obligation = obligation.model_copy(update={"response": {"booking_id": "B-77"}})
    obligation = obligation.moved(
        ObligationState.PARKED, at=NOON + timedelta(hours=2), note="closed [again]"
    )
    return RollbackReport(mission_id="m", ledger=Ledger(obligations=(obligation,)))


def test_what_is_parked_says_all_that_its_operator_needs() -> None:
    """Why, since when, the provider's own reference, what was decided before, what to type."""
    report = parked_report()
    rollback = ParkedRollback(**dict(report), waiting=parked_of(report))
    text = drawn(render_missions.parked_list, [rollback])

    for part in (
        "m.1-dinner.2",
        "booking_id B-77",
        "closed [again]",
        "2026-12-03 14:00:00 UTC",
        "2026-12-03 12:00 ann resolved it as retry: they reopened",
        "still being tried",
        "orchestrator rollback resolve m.1-dinner.2 retry",
        "orchestrator rollback resolve m.1-dinner.2 cancelled --note",
        "orchestrator rollback resolve m.1-dinner.2 accept --note",
    ):
        assert part in text
    document = rollback.model_dump(mode="json")
    (resolution,) = document["ledger"]["obligations"][0]["resolutions"]
    assert (resolution["operator"], resolution["parked_because"]) == ("ann", "too late")
    assert "ann resolved it as retry" in drawn(render_missions.rollback, report)


def test_a_rollback_that_cannot_be_asked_is_not_nothing() -> None:
    """It is named with what the server has of it."""
    silent = ParkedRollback(mission_id="m", unread="no worker polls", shown_status="parked")
    text = drawn(render_missions.parked_list, [silent])

    assert "no worker polls" in text
    assert "parked" in text
    assert "nothing is parked" in drawn(render_missions.parked_list, [])


def test_a_list_of_missions_says_what_each_waits_for() -> None:
    """And one whose worker is away says what is known of it."""
    waits = (Wait(kind="confirmation", what="2 cards", command="orchestrator confirm list"),)
    mission = MissionSummary(
        mission_id="m", status="running", goal="go", started_at=NOON, waits_for=waits
    )
    leg = KnownLeg(leg_id="1-dinner", status="awaiting_confirmation", task_queue="q")
    known = KnownMission(**dict(mission), task_queue="q", legs=(leg,), unread="nobody answers")

    assert "2 cards" in drawn(render_missions.missions, [mission])
    text = drawn(render_missions.known, known)
    for part in ("1-dinner awaiting_confirmation", "orchestrator confirm list", "nobody answers"):
        assert part in text
