"""Results of many long legs fit into one message, and leave out nothing that stands."""

from __future__ import annotations

from datetime import UTC, datetime

from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.leg_sizes import LARGEST_LEGS, LARGEST_RESULT, as_sent, within_size
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import Fact
from orchestrator.saga.ledger import Ledger
from orchestrator.testing import fake_obligation

STEP = StepRecord(
    step=1,
    tools_forwarded=("book",) * 40,
    catalog_size=40,
    band="crisp",
    did="call book",
    outcome="succeeded",
)


def leg(steps: int, obligations: int = 1) -> LegResult:
    return LegResult(
        leg_id="1-a",
        agent="a",
        goal="g",
        status=LegStatus.SUCCEEDED,
        steps=(STEP,) * steps,
        facts=(Fact(source="1-a.1", tool="book"),),
        ledger=Ledger(obligations=tuple(fake_obligation(f"m.1-a.{n}") for n in range(obligations))),
    )


def test_small_legs_stay() -> None:
    """As they are."""
    assert within_size([leg(3), leg(4)]) == (leg(3), leg(4))


def test_large_legs_have_their_ledgers_and_counts() -> None:
    """Their steps are counted, and what they called with success is known."""
    told = within_size([leg(1_000), leg(1_000), leg(1_000)])

    assert sum(len(one.model_dump_json()) for one in told) < LARGEST_LEGS
    assert [(one.steps, one.steps_before, one.called) for one in told] == [
        ((), 1_000, ("book",))
    ] * 3
    assert all(one.ledger == leg(1).ledger and one.facts_before == 1 for one in told)


def test_a_large_result_has_its_ledger_once() -> None:
    """That of the mission, with every obligation."""
    legs = (leg(1, obligations=1_000),)
    result = MissionResult(
        mission_id="m",
        goal="g",
        status=MissionStatus.SUCCEEDED,
        legs=legs,
        ledger=legs[0].ledger,
        catalog_digest="d",
        catalog_size=1,
        started_at=datetime.now(UTC),
    )
    assert len(result.model_dump_json()) > LARGEST_RESULT / 2
    large = result.model_copy(update={"summary": "x" * LARGEST_RESULT})

    assert as_sent(result.model_copy(update={"legs": (leg(1),)})).legs == (leg(1),)
    assert as_sent(large).ledger == result.ledger
    assert as_sent(large).legs[0].ledger == Ledger()
