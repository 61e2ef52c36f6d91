"""Questions of servers during calls: the same call goes on with the answer, whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from temporalio import workflow

from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.question_field import DECLINED
from orchestrator.messages.rollback import RollbackReport
from orchestrator.planning.models import CallTool, CallTools, Finish
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import InputWanted, ToolOutcome
from tests.fakes import fake_leg
from tests.workflow.replays import replays_at_every_task
from tests.world import FakeWorld

if TYPE_CHECKING:
    from orchestrator.messages.tool_call import ToolCall
    from tests.workflow.conftest import Mission, Stage

HOUR = timedelta(hours=1)
BOOK = CallTool(tool="book_hotel")
DONE = Finish(summary="done")
POLICY = MissionPolicy(answer_expiry=24 * HOUR)
BEDS = InputWanted(
    server="rooms",
    text="How many beds?",
    fields={"beds": {"type": "integer"}, "view": {"type": "string", "default": "sea"}},
    asked={"q": ("beds", "view")},
    state="opaque",
    sent_by="the first run",
)
ASKS = ToolOutcome(kind="unknown", reason="rooms asks", wanted=BEDS)
WELL = ToolOutcome(kind="succeeded", status=201, body={"reference": "r-1"})


def calls_of(world: FakeWorld, tool: str = "book_hotel") -> list[ToolCall]:
    """Return the sent calls of a tool."""
    return world.sent(tool)


async def test_the_same_call_goes_on_with_the_answer(stage: Stage, world: FakeWorld) -> None:
    """With its key, its ledger entry and the server's state; it is another sending."""
    world.answer("book_hotel", ASKS, WELL)
    mission = await stage.start_leg("stay", BOOK, DONE)
    question = await mission.question("stay")
    wrong = await mission.refusal(mission.answer(question, {"beds": "many"}))
    await mission.answer(question, {"beds": 2})
    result = await mission.end()
    first, second = calls_of(world)

    assert wrong.type == "AnswerInvalid"
    assert (question.server, question.question_id) == ("rooms", f"{first.call_id}-input")
    assert result.status is MissionStatus.SUCCEEDED
    assert len(result.receipts) == 1
    assert (first.call_id, first.given, first.postponed) == (second.call_id, None, 0)
    assert second.given is not None and second.postponed == 1
    assert second.given.answers == {
        "q": {"action": "accept", "content": {"beds": 2, "view": "sea"}}
    }
    assert (second.given.state, second.given.sent_by) == ("opaque", "the first run")
    assert second.obligation is not None and first.obligation is not None
    assert second.obligation.obligation_id == first.obligation.obligation_id
    assert await replays_at_every_task(mission.handle) > 3


@pytest.mark.parametrize("expires", [True, False])
async def test_a_question_without_an_answer_is_declined(
    stage: Stage, world: FakeWorld, expires: bool
) -> None:
    """By a person or by its expiry; the call ends as the server answers then."""
    refused = ToolOutcome(kind="rejected", status=422, reason="nothing was booked")
    world.answer("book_hotel", ASKS, refused)
    world.plan(fake_leg("stay"))
    world.decide("stay", BOOK, DONE)
    mission = await stage.start(policy=POLICY)
    question = await mission.question("stay")
    if not expires:
        await mission.answer(question, DECLINED)
    result = await mission.end()
    second = calls_of(world)[1]

    assert second.given is not None
    assert second.given.answers == {"q": {"action": "decline"}}
    assert [one.outcome for one in result.legs[0].steps][:2] == [
        "expired" if expires else "answered",
        "rejected",
    ]
    assert not result.receipts


async def test_a_refusal_that_is_not_the_tools_own_leaves_the_call_unknown(
    stage: Stage, world: FakeWorld
) -> None:
    """The server had begun: a rollback finds out."""
    world.answer("book_hotel", ASKS, ToolOutcome(kind="rejected", status=400, reason="no state"))
    mission = await stage.start_leg("stay", BOOK, DONE)
    await mission.answer(await mission.question("stay"), {"beds": 1})
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert [one.obligation_id for one in world.compensated()]


async def test_a_cancel_withdraws_the_question(stage: Stage, world: FakeWorld) -> None:
    """The server is informed, and its answer is settled before the rollback."""
    world.answer("book_hotel", ASKS, WELL)
    mission = await stage.start_leg("stay", BOOK, DONE)
    await mission.question("stay")
    await mission.handle.cancel()
    result = await mission.end()
    second = calls_of(world)[1]

    assert second.given is not None
    assert second.given.answers == {"q": {"action": "cancel"}}
    assert result.status is MissionStatus.CANCELLED
    assert [one.state for one in world.compensated()] == [ObligationState.COMMITTED]
    assert await replays_at_every_task(mission.handle) > 3


async def test_a_question_of_a_server_waits_in_a_new_run(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays as it was, and its call goes on once."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda _: workflow.instance()._rollback._news > 0,
    )
    world.answer("book_hotel", ASKS, WELL)
    world.plan(fake_leg("stay"))
    world.decide("stay", BOOK, DONE)
    mission = await stage.start(policy=POLICY)
    before = await mission.question("stay")
    await goes_on(mission)
    after = await mission.question("stay")
    await mission.answer(after, {"beds": 2})
    result = await mission.end()
    first, second = calls_of(world)

    assert after == before
    assert result.status is MissionStatus.SUCCEEDED
    assert first.call_id == second.call_id and second.given is not None
    assert result.legs[0].steps[-2].outcome == "succeeded"


async def goes_on(mission: Mission) -> None:
    """Have the mission continue in a new run."""
    empty = RollbackReport(mission_id=mission.mission_id)
    await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, empty)

    async def renewed() -> bool | None:
        newest = (await mission.handle.describe()).run_id
        return newest != mission.handle.first_execution_run_id or None

    await mission.eventually(renewed)


async def test_a_read_that_asks_is_made_again_alone(stage: Stage, world: FakeWorld) -> None:
    """The others of its step are done; it asks when they are."""

    async def first_asks(call: ToolCall) -> ToolOutcome:
        asks = call.call_id.endswith(".1") and call.given is None
        return ASKS if asks else WELL

    world.answer("find_flights", first_asks)
    both = CallTools(calls=(CallTool(tool="find_flights"), CallTool(tool="find_flights")))
    mission = await stage.start_leg("look", both, DONE)
    await mission.answer(await mission.question("look"), {"beds": 1})
    result = await mission.end()
    sent = calls_of(world, "find_flights")

    assert result.status is MissionStatus.SUCCEEDED
    assert sorted(one.call_id.rpartition(".")[2] for one in sent) == ["1", "1", "1", "1b"]
    assert [one.given is not None for one in sent] == [False, False, False, True]


async def test_a_server_that_only_wants_time_asks_nobody(stage: Stage, world: FakeWorld) -> None:
    """The call goes on after a pause, with the server's state."""
    waits = InputWanted(server="rooms", state="later")
    world.answer("book_hotel", ASKS.model_copy(update={"wanted": waits}), WELL)
    result = await (await stage.start_leg("stay", BOOK, DONE)).end()
    second = calls_of(world)[1]

    assert result.status is MissionStatus.SUCCEEDED
    assert second.given is not None and (second.given.answers, second.given.state) == ({}, "later")


async def test_nobody_is_asked_for_what_no_history_may_hold(stage: Stage, world: FakeWorld) -> None:
    """The call is unclear, with the reason."""
    refused = InputWanted(server="rooms", refused="asks for a credential")
    outcome = ToolOutcome(kind="unknown", reason=refused.why_refused, wanted=refused)
    world.answer("book_hotel", outcome)
    result = await (await stage.start_leg("stay", BOOK, DONE)).end()

    assert len(calls_of(world)) == 1
    assert "MCP server rooms asks for a credential" in str(result.error)
