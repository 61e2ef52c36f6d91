"""What people were asked in a leg survives its runs, and stops a planner that does not listen."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.activities.kept_messages import facts_naming
from orchestrator.confirmation.asked_before import AskedCall, Fate
from orchestrator.messages.leg import LegInput, LegState
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.messages.tool_call import PreparedCall
from orchestrator.planning.models import Fact
from orchestrator.saga.ledger import Ledger
from orchestrator.workflows.asked_calls import AskedCalls, CallRefused
from orchestrator.workflows.failures import LegFailed, LegSkipped
from orchestrator.workflows.mission_budget import MissionBudget
from orchestrator.workflows.progress import Progress
from tests.fakes import fake_leg
from tests.unit.cards import open_card

CARD = open_card("m.1-leg.3", "buy", "structured-order", title="Buy")


def continued(*asked: AskedCall) -> AskedCalls:
    """A leg in a new run, as the run before handed it over."""
    leg = LegInput(
        mission_id="m",
        mission_goal="go",
        leg=fake_leg("1-leg"),
        catalog=CatalogPin(digest="c", size=1),
        started_at=datetime(2026, 11, 22, tzinfo=UTC),
        state=LegState(asked=asked),
    )
    handed_over = LegInput.model_validate_json(leg.model_dump_json())
    return AskedCalls(Progress(handed_over, lambda: None, MissionBudget(None), Ledger))


def before(fate: Fate, *, cancels: bool = False) -> AskedCall:
    asked: dict[str, Any] = {"tool": "buy", "title": "Buy", "meanings": ("same",), "by": "ann"}
    return AskedCall(confirmation_id="m.1-leg.1", fate=fate, cancels=cancels, **asked)


def wanted(meaning: str = "same") -> PreparedCall:
    return PreparedCall(card=CARD, meaning=meaning)


@pytest.mark.parametrize("fate", ["rejected", "responded"])
def test_what_a_person_refused_in_an_earlier_run_stays_refused(fate: Fate) -> None:
    """No new run of the leg asks again: it is told once, with their words, and then it ends."""
    asked = continued(before(fate).model_copy(update={"words": "further back"}))

    with pytest.raises(CallRefused, match="refused before by ann: further back") as told:
        asked.check(wanted())
    assert told.value.seen["hint"] == "further back"
    assert told.value.seen["sent_back"] is (fate == "responded")
    with pytest.raises(LegFailed, match="proposed again what ann refused: Buy"):
        asked.check(wanted())


def test_what_was_to_be_kept_is_left_out() -> None:
    """The leg alone: nothing else is cancelled for it."""
    asked = continued(before("rejected", cancels=True))

    with pytest.raises(CallRefused):
        asked.check(wanted())
    with pytest.raises(LegSkipped):
        asked.check(wanted())


def test_another_call_is_asked_about() -> None:
    """Also one without a meaning, of an older release; what worked may be done again."""
    for meaning in ("other", ""):
        continued(before("rejected")).check(wanted(meaning))
    continued(before("done")).check(wanted())
    with pytest.raises(CallRefused, match="with the same arguments"):
        continued(before("refused")).check(wanted())


def test_an_older_worker_prepares_calls_without_end() -> None:
    """What it does is in recorded histories: they replay."""
    many = [before("rejected").model_copy(update={"confirmation_id": str(n)}) for n in range(9)]
    continued(*many).check(wanted(""))
    with pytest.raises(LegFailed, match="came to nothing"):
        continued(*many).check(wanted("new"))


def test_only_facts_that_may_tell_travel_with_a_call() -> None:
    """A leg's facts are in its input already; a history grows by what is repeated."""
    offers = Fact(source="1-a.1", tool="find", body={"offers": [{"offer_id": "o1"}]})
    rooms = Fact(source="2-b.1", tool="find", body=[{"room_id": "r1"}])

    assert facts_naming({"offer_id": "o1", "guest": "pii:guest"}, (offers, rooms)) == (offers,)
    assert facts_naming({"lines": [{"room": "r1"}]}, (offers, rooms)) == (rooms,)
    assert facts_naming({"other": "x"}, (offers, rooms)) == ()
