"""A failure with effects is asked about first: repaired, kept, rolled back, or over by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from orchestrator.adapters.temporal.search_attributes import WAITING_FOR
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.models import Reject
from orchestrator.core.limits import Limits
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, Question
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.rollback import RollbackReport
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GiveUp,
    HandOver,
    StepContext,
)
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg, fake_tool, states_of
from tests.workflow.charges import buy, eur
from tests.workflow.conftest import OPERATORS, TOOLS, Mission, Stage
from tests.workflow.replays import replays_at_every_task
from tests.workflow.test_sweep import sweep
from tests.world import DecideStep, FakeWorld

Lost = Callable[..., Awaitable[Mission]]
HOUR = timedelta(hours=1)
ASK = MissionPolicy(on_failure="ask", call_timeout=timedelta(seconds=4), call_attempts=3)
FULL = ToolOutcome(kind="rejected", status=409, reason="no room is left")
FLIGHT, HOTEL, CAR = (CallTool(tool=f"book_{what}") for what in ("flight", "hotel", "car"))
TICKET = CallTool(tool="buy_ticket", arguments={"seat": "12A"})


def windowed(window: timedelta, attempts: int = 3) -> list[Tool]:
    """The tools, with a flight that is cancelled only for a while."""
    flight = fake_tool("book_flight", cancel_tool="cancel_flight", max_attempts=attempts)
    assert flight.compensation is not None
    contract = flight.compensation.model_copy(update={"window": window})
    changed = flight.model_copy(update={"compensation": contract})
    return [*(tool for tool in TOOLS if tool.name != "book_flight"), changed]


def gives_up_unless_done(tool: str) -> Callable[[StepContext], GiveUp | Finish]:
    """Finish after a success of the tool, else give up: as the rules do."""

    def decide(context: StepContext) -> GiveUp | Finish:
        seen = context.observations[-1]
        if seen.tool == tool and seen.outcome == "succeeded":
            return Finish(summary="booked")
        return GiveUp(reason=f"{tool}: {seen.error}")

    return decide


async def hold_of(mission: Mission, number: int = 1) -> Question:
    """The nth hold, once it is open."""

    async def look() -> Question | None:
        asked = (await mission.waiting("")).question
        wanted = names.hold_id(mission.mission_id, number)
        return asked if asked is not None and asked.question_id == wanted else None

    return await mission.eventually(look)


async def decide(mission: Mission, number: int = 1, **values: JsonValue) -> Question:
    """Answer the nth hold."""
    question = await hold_of(mission, number)
    await mission.answer(question, values)
    return question


@pytest.fixture
def lost(stage: Stage, world: FakeWorld) -> Lost:
    """Start a mission that books a flight, and whose hotel is refused."""

    async def start(*decisions: DecideStep, policy: MissionPolicy = ASK, **given: Any) -> Mission:
        world.answer("book_hotel", FULL, ToolOutcome(kind="succeeded", status=201, body={}))
        script = decisions or (FLIGHT, HOTEL, *[gives_up_unless_done("book_hotel")] * 5)
        return await stage.start_leg("trip", *script, policy=policy, **given)

    return start


def open_for(question: Question) -> timedelta:
    """How long it waits at most."""
    assert question.expires_at is not None and question.asked_at is not None
    return question.expires_at - question.asked_at


def sent_once(world: FakeWorld, *tools: str) -> bool:
    """Whether each tool was called once."""
    return all(len(world.sent(tool)) == 1 for tool in tools)


async def test_a_failure_is_asked_about_and_shows_what_stands(lost: Lost, world: FakeWorld) -> None:
    """The question says why it failed, which call, what stands, and until when it waits."""
    mission = await lost()

    question = await hold_of(mission)

    hold = question.hold
    assert hold is not None and hold.failed is not None
    assert "no room is left" in hold.error
    assert (hold.leg_id, hold.failed.tool) == ("trip", "book_hotel")
    assert [(one.tool, one.state) for one in hold.standing] == [
        ("book_flight", ObligationState.COMMITTED)
    ]
    assert open_for(question) == timedelta(hours=24)
    shown = await mission.handle.describe()
    assert shown.typed_search_attributes.get(WAITING_FOR) == ["hold"]
    assert (await mission.snapshot()).status is MissionStatus.ON_HOLD
    assert world.compensated() == []


async def test_a_failed_call_is_made_again(lost: Lost, world: FakeWorld) -> None:
    """A bare repair makes the failed call again; what stands is not done again."""
    mission = await lost()

    await decide(mission, decision="repair")
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert (result.holds[0].decision, result.holds[0].by) == ("repair", "ada")
    assert sent_once(world, "book_flight") and len(world.sent("book_hotel")) == 2
    assert len({call.call_id for call in world.sent("book_hotel")}) == 2
    assert world.compensated() == []
    assert await replays_at_every_task(mission.handle) > 5


async def test_an_amended_call_has_a_card_of_its_own(stage: Stage, world: FakeWorld) -> None:
    """A repair approves nothing: the call runs with its new arguments once its card is approved."""
    world.answer("buy_ticket", FULL, ToolOutcome(kind="succeeded", status=201, body={}))
    script: list[Any] = [FLIGHT, TICKET, *[gives_up_unless_done("buy_ticket")] * 3]
    mission = await stage.start_leg("trip", *script, policy=ASK)
    first = await mission.card("trip")
    await mission.approve(first)

    await decide(mission, decision="repair", arguments={"seat": "14C"})
    card = await mission.card("trip")
    await mission.approve(card)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert card.digest != first.digest and card.arguments["seat"] == "14C"
    assert [call.arguments["seat"] for call in world.sent("buy_ticket")] == ["12A", "14C"]
    assert sent_once(world, "book_flight")


async def test_a_hint_reaches_the_planner(lost: Lost, world: FakeWorld) -> None:
    """The planner reads what the person wants instead, and goes on from where it was."""
    mission = await lost(FLIGHT, HOTEL, GiveUp(reason="no room"), CAR)

    await decide(mission, decision="repair", hint="take a camper van")
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    seen = world.contexts("trip")[-2].observations
    assert seen[-1].hint == "take a camper van" and seen[-1].sent_back
    assert sent_once(world, "book_flight", "book_hotel", "book_car")


async def test_a_read_after_it_does_not_hide_the_failed_call(lost: Lost, world: FakeWorld) -> None:
    """A planner that has looked for something else and found nothing failed at the booking."""
    look = CallTool(tool="find_flights")
    mission = await lost(FLIGHT, HOTEL, look, GiveUp(reason="nothing else fits"))

    question = await decide(mission, decision="repair")
    result = await mission.end()

    assert question.hold is not None and question.hold.failed is not None
    assert question.hold.failed.tool == "book_hotel"
    assert result.status is MissionStatus.SUCCEEDED


async def test_roll_back(lost: Lost, world: FakeWorld) -> None:
    """The answer roll back ends the mission as without a hold."""
    mission = await lost()

    await decide(mission, decision="roll back")
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert "no room is left" in (result.error or "")
    assert [one.tool for one in world.compensated()] == ["book_flight"]


async def test_keep_leaves_all_standing_until_somebody_rolls_it_back(
    lost: Lost, world: FakeWorld
) -> None:
    """The mission ends as incomplete with its receipts; no sweep touches it, a person still may."""
    mission = await lost()

    await decide(mission, decision="keep")
    result = await mission.end()

    assert result.status is MissionStatus.INCOMPLETE
    assert "no room is left" in (result.error or "")
    assert [one.tool for one in result.receipts] == ["book_flight"]
    assert world.grants.ledger(mission.mission_id).live() == ()
    assert world.compensated() == []
    report = await (await mission.start_rollback()).result()
    assert states_of(report.ledger)["book_flight"] == "cancelled"


async def test_it_ends_after_its_own_limit(lost: Lost, world: FakeWorld) -> None:
    """Without an answer all is rolled back after the hold's limit."""
    mission = await lost(policy=ASK.model_copy(update={"hold_limit": 2 * HOUR}))

    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert [one.decision for one in result.holds] == ["expired"]
    assert result.started_at is not None and result.finished_at is not None
    assert 2 * HOUR <= result.finished_at - result.started_at < 3 * HOUR


async def test_the_limit_of_the_worker_counts_where_it_is_shorter(
    lost: Lost, world: FakeWorld
) -> None:
    """The worker's policy bounds how long effects stand undecided."""
    world.govern(OPERATORS.model_copy(update={"hold_limit": HOUR}))
    mission = await lost()

    question = await hold_of(mission)

    assert open_for(question) == HOUR


async def test_it_ends_before_the_first_window_closes(workflow_env: WorkflowEnvironment) -> None:
    """The rollback begins early enough for all attempts of the cancel within its window."""
    world = FakeWorld(workflow_env.client, windowed(3 * HOUR), policy=OPERATORS)
    stage = Stage(workflow_env, world, "window")
    world.answer("book_hotel", FULL)
    async with stage.worker():
        mission = await stage.start_leg("trip", FLIGHT, HOTEL, GiveUp(reason="no"), policy=ASK)
        question = await hold_of(mission)
        result = await mission.end()

    flight = result.ledger.obligations[0]
    until = flight.cancellable_until
    assert until is not None and flight.committed_at == until - 3 * HOUR
    assert question.hold is not None and question.hold.standing[0].until == until
    assert question.expires_at == until - 3 * flight.cancel_timeout
    assert result.status is MissionStatus.ROLLED_BACK
    assert world.attempts(names.COMPENSATE)[0].at < until


async def test_a_window_that_closes_too_soon_is_not_waited_for(
    workflow_env: WorkflowEnvironment,
) -> None:
    """Where the attempts of the cancel need the whole window, nothing is asked."""
    world = FakeWorld(workflow_env.client, windowed(timedelta(minutes=1)), policy=OPERATORS)
    stage = Stage(workflow_env, world, "short")
    async with stage.worker():
        mission = await stage.start_leg("trip", FLIGHT, GiveUp(reason="no"), policy=ASK)
        result = await mission.end()

    assert (result.status, result.holds) == (MissionStatus.ROLLED_BACK, ())


async def test_a_worker_dies_during_the_hold(workflow_env: WorkflowEnvironment) -> None:
    """Another worker goes on with the open hold."""
    world = FakeWorld(workflow_env.client, TOOLS, policy=OPERATORS)
    stage = Stage(workflow_env, world, "killed")
    world.answer("book_hotel", FULL, ToolOutcome(kind="succeeded", status=201, body={}))
    async with stage.worker(max_cached_workflows=0):  # nothing waits for that very worker
        script: list[Any] = [FLIGHT, HOTEL, *[gives_up_unless_done("book_hotel")] * 3]
        mission = await stage.start_leg("trip", *script, policy=ASK)
        question = await hold_of(mission)
    async with stage.worker(max_cached_workflows=0):
        await mission.answer(question, {"decision": "repair"})
        result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert sent_once(world, "book_flight")


async def test_a_cancel_request_ends_the_hold(lost: Lost, world: FakeWorld) -> None:
    """A person who cancels has decided: all is rolled back at once."""
    mission = await lost()
    await hold_of(mission)

    await mission.handle.cancel()
    result = await mission.end()

    assert result.status is MissionStatus.CANCELLED
    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert "no room is left" in (result.error or "")
    assert len(world.compensated()) == 1


async def test_a_cancel_request_of_a_running_mission_asks_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """A cancel request rolls back without a hold."""
    mission = await stage.start_leg("trip", FLIGHT, TICKET, policy=ASK)
    await mission.card("trip")

    await mission.handle.cancel()
    result = await mission.end()

    assert (result.status, result.holds) == (MissionStatus.CANCELLED, ())


async def test_a_person_who_wants_everything_cancelled_is_not_asked(
    stage: Stage, world: FakeWorld
) -> None:
    """A rejection that orders the rollback is the decision."""
    mission = await stage.start_leg("trip", FLIGHT, TICKET, policy=ASK)
    card = await mission.card("trip")

    await mission.decide(
        Reject(confirmation_id=card.confirmation_id, reason="no", approver="ada", then="rollback")
    )
    result = await mission.end()

    assert (result.status, result.holds) == (MissionStatus.ROLLED_BACK, ())


async def test_nothing_stands_and_nobody_is_asked(stage: Stage) -> None:
    """A failure without effects ends the mission as ever."""
    result = await stage.run_leg("trip", GiveUp(reason="no"), policy=ASK)

    assert (result.status, result.holds) == (MissionStatus.FAILED, ())


async def test_a_terminated_hold_is_rolled_back_by_the_sweep(
    lost: Lost, world: FakeWorld, stage: Stage
) -> None:
    """Terminate is beyond us: the sweep finds what stands."""
    mission = await lost()
    await hold_of(mission)
    await mission.handle.terminate("by hand")
    world.strand((mission.mission_id,))

    await sweep(stage)
    report: RollbackReport = await mission.rollback_handle.result()

    assert states_of(report.ledger)["book_flight"] == "cancelled"


async def test_a_repair_that_fails_again_holds_again(lost: Lost, world: FakeWorld) -> None:
    """Each failure is a hold of its own, and each repair makes the call once."""
    mission = await lost()
    world.answer("book_hotel", FULL, FULL, ToolOutcome(kind="succeeded", status=201, body={}))

    await decide(mission, 1, decision="repair")
    await decide(mission, 2, decision="repair", arguments={"stars": 3})
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [one.decision for one in result.holds] == ["repair", "repair"]
    assert [call.arguments for call in world.sent("book_hotel")] == [{}, {}, {"stars": 3}]
    assert sent_once(world, "book_flight")


async def test_a_late_or_wrong_answer_is_refused(lost: Lost) -> None:
    """Answers need a decision of those offered, and fields that fit it."""
    mission = await lost()
    question = await hold_of(mission)

    wrong: list[JsonObject] = [
        {},
        {"decision": "maybe"},
        {"decision": "keep", "hint": "x"},
        {"decision": "repair", "limit": "3"},
    ]
    for values in wrong:
        refusal = await mission.refusal(mission.answer(question, values))
        assert refusal.type == "AnswerInvalid"
    await mission.answer(question, {"decision": "roll back"})
    await mission.end()


async def test_an_unknown_outcome_cannot_be_repaired(stage: Stage, world: FakeWorld) -> None:
    """Only a rollback finds out about it: a person may roll back or keep, but not go on."""
    world.answer("book_hotel", ToolOutcome(kind="unknown", reason="no answer"))
    mission = await stage.start_leg("trip", FLIGHT, HOTEL, policy=ASK)
    question = await hold_of(mission)

    refusal = await mission.refusal(mission.answer(question, {"decision": "repair"}))
    await mission.answer(question, {"decision": "roll back"})
    result = await mission.end()

    assert question.hold is not None and "book_hotel" in question.hold.no_repair
    assert refusal.type == "AnswerInvalid"
    assert result.status is MissionStatus.ROLLED_BACK
    assert [one.tool for one in world.compensated()] == ["book_hotel", "book_flight"]


async def test_legs_that_were_cancelled_go_on(stage: Stage, world: FakeWorld) -> None:
    """A repair continues the other legs: what was settled stands, and what was open is asked."""
    world.plan(fake_leg("trip"), fake_leg("car"), fake_leg("seat"))
    world.answer("book_hotel", FULL, ToolOutcome(kind="succeeded", status=201, body={}))
    world.decide("trip", FLIGHT, HOTEL, *[gives_up_unless_done("book_hotel")] * 3)
    world.decide("car", CAR, Finish(summary="a car"), Finish(summary="a car"))
    world.decide("seat", TICKET, TICKET)
    driving, sleeping = (world.hold(names.INVOKE_TOOL, f"book_{w}") for w in ("car", "hotel"))
    mission = await stage.start(policy=ASK)
    await mission.card("seat")
    async with driving:
        async with sleeping:
            pass
        await mission.eventually(lambda: _failed(mission, "trip"))
    question = await hold_of(mission)
    await mission.answer(question, {"decision": "repair"})
    await mission.approve(await mission.card("seat"))
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert {leg.status for leg in result.legs} == {LegStatus.SUCCEEDED}
    assert question.hold is not None
    assert {one.tool for one in question.hold.standing} == {"book_flight", "book_car"}
    assert sent_once(world, "book_flight", "book_car", "buy_ticket")
    assert await replays_at_every_task(mission.handle) > 5


async def _failed(mission: Mission, leg_id: str) -> bool | None:
    leg = await mission.leg(leg_id)
    return leg.status is LegStatus.FAILED or None


async def test_a_reached_limit_is_raised_as_far_as_the_worker_allows(
    stage: Stage, world: FakeWorld
) -> None:
    """A repair raises the limit that was reached, and not beyond the worker's policy."""
    world.govern(OPERATORS.model_copy(update={"limits": Limits(tool_calls=3)}))
    policy = ASK.model_copy(update={"limits": Limits(tool_calls=1)})
    mission = await stage.start_leg("trip", FLIGHT, HOTEL, HOTEL, CAR, policy=policy)
    question = await hold_of(mission)
    assert question.hold is not None and question.hold.limit is not None
    assert question.hold.limit.figure == "tool_calls"

    for limit in ("1", "4", "many"):
        wrong: JsonObject = {"decision": "repair", "limit": limit}
        assert (await mission.refusal(mission.answer(question, wrong))).type == "AnswerInvalid"
    await mission.answer(question, {"decision": "repair", "limit": "3"})
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.holds[0].limit == "3"
    assert sent_once(world, "book_flight", "book_hotel", "book_car")


async def test_a_deadline_is_raised(stage: Stage, world: FakeWorld) -> None:
    """A mission that is out of time goes on with more of it."""
    policy = ASK.model_copy(update={"deadline": HOUR})
    mission = await stage.start_leg("trip", FLIGHT, TICKET, TICKET, policy=policy)
    await mission.card("trip")
    await stage.env.sleep(HOUR)

    await decide(mission, decision="repair", limit="PT5H")
    await mission.approve(await mission.card("trip"))
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert sent_once(world, "book_flight", "buy_ticket")


async def test_the_budget_holds_across_a_repair(stage: Stage, world: FakeWorld) -> None:
    """What was spent before counts: a call beyond the rest is refused after a repair too."""
    script = (buy("60.00"), GiveUp(reason="no"), buy("60.00"), GiveUp(reason="still no"))
    mission = await stage.start_leg("trip", *script, policy=ASK, budget=eur("100"))
    await mission.approve(await mission.card("trip"))

    await decide(mission, decision="repair", hint="another pass")
    await decide(mission, 2, decision="keep")
    result = await mission.end()

    assert len(world.sent("buy_pass")) == 1
    assert [step.outcome for step in result.legs[0].steps].count("refused") == 1


@pytest.fixture
def renewable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new run is suggested after a signal that says nothing."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda _: workflow.instance()._rollback._news > 0,
    )


@pytest.mark.parametrize("decision", ["repair", "roll back", "keep"])
async def test_an_open_hold_goes_on_in_a_new_run(
    lost: Lost, world: FakeWorld, renewable: None, decision: str
) -> None:
    """The new run has the same question with the same end, and the state that a repair needs."""
    mission = await lost()
    before = await hold_of(mission)
    first = mission.handle.first_execution_run_id
    empty = RollbackReport(mission_id=mission.mission_id)
    await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, empty)

    async def renewed() -> bool | None:
        return (await mission.handle.describe()).run_id != first or None

    await mission.eventually(renewed)
    after = await hold_of(mission)
    await mission.answer(after, {"decision": decision})
    result: MissionResult = await mission.end()

    assert before == after
    assert (
        result.status
        is {
            "repair": MissionStatus.SUCCEEDED,
            "roll back": MissionStatus.ROLLED_BACK,
            "keep": MissionStatus.INCOMPLETE,
        }[decision]
    )
    assert sent_once(world, "book_flight")
    assert len(world.compensated()) == (decision == "roll back")


async def test_a_hand_over_is_awaited_after_a_repair(stage: Stage, world: FakeWorld) -> None:
    """A leg that had handed a part over waits for that part, and hands nothing over twice."""
    asking = AgentProfile(name="asking", hands_over_to=("*",))
    world.staff(asking, AgentProfile(name="porter"))
    world.plan(fake_leg("trip", agent=asking))
    world.answer("book_hotel", FULL, ToolOutcome(kind="succeeded", status=201, body={}))
    world.decide(
        "trip",
        HandOver(agent="porter", goal="a room", reason="mine cannot"),
        Finish(summary="done"),
    )
    world.decide("h1-trip", FLIGHT, HOTEL, *[gives_up_unless_done("book_hotel")] * 3)
    mission = await stage.start(policy=ASK)

    await decide(mission, decision="repair")
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [leg.leg_id for leg in result.legs] == ["trip", "h1-trip"]
    assert sent_once(world, "book_flight")
