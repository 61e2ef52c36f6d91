"""A mission that goes on in a new run: what waits still waits, as it did, and nothing is twice."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle

from orchestrator.confirmation.models import Approve, ConfirmationCard
from orchestrator.confirmation.policy import ConfirmationPolicy, TwoApprovers
from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused
from orchestrator.core.limits import Limits
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelPause, ResumeInput
from orchestrator.messages.leg import LegInput, LegState, LegStatus
from orchestrator.messages.mission import (
    BegunPlan,
    CarriedMission,
    MissionInput,
    MissionRequest,
    MissionResult,
    MissionStatus,
)
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.rollback import RollbackReport
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    CallTools,
    DiscoverTools,
    Finish,
    HandOver,
    StepContext,
    StepDecision,
)
from orchestrator.saga.orders import Order
from tests.fakes import fake_leg
from tests.workflow.charges import buy, charged, eur, overcharge_card
from tests.workflow.replays import replays_at_every_task
from tests.world import PLAN_STEP, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

HOUR = timedelta(hours=1)
TICKET = CallTool(tool="buy_ticket", arguments={"seat": "12A"})
LOOK = CallTool(tool="find_flights")
WHEN = AskUser(question="When?", fields={"day": {"type": "string"}})
TWO = ConfirmationPolicy(two_approvers=(TwoApprovers(tools=("*",)),), reminders=(HOUR, 5 * HOUR))
POLICY = MissionPolicy(confirmation_expiry=24 * HOUR, answer_expiry=24 * HOUR, model_wait=24 * HOUR)


@pytest.fixture(autouse=True)
def renewable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new run is suggested once a signal that says nothing has come, in each run anew."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda _: workflow.instance()._rollback._news > 0,
    )


async def suggest_new_run(mission: Mission) -> None:
    """Let the mission's history count as long from now on."""
    empty = RollbackReport(mission_id=mission.mission_id)
    await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, empty)


async def new_run(mission: Mission) -> None:
    """Wait until it has gone on in another run than the one it was started as."""

    async def look() -> bool | None:
        newest = (await mission.handle.describe()).run_id
        return newest != mission.handle.first_execution_run_id or None

    await mission.eventually(look)


async def replays(stage: Stage, mission: Mission) -> None:
    """Both runs replay at every task; the first one has ended as it should."""
    first, newest = await _runs(stage, mission)
    assert (await first.describe()).status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert await replays_at_every_task(first, newest) > 3


async def _runs(stage: Stage, mission: Mission) -> list[WorkflowHandle[Any, Any]]:
    ids = (mission.handle.first_execution_run_id, (await mission.handle.describe()).run_id)
    return [stage.env.client.get_workflow_handle(mission.mission_id, run_id=one) for one in ids]


class Busy:
    """A leg that is in the middle of a call when a new run is suggested."""

    def __init__(self, world: FakeWorld) -> None:
        self._world = world
        self.leg = fake_leg("busy")
        world.decide("busy", WHEN, CallTool(tool="book_hotel"), CallTool(tool="book_car"))
        self._call = world.hold(names.INVOKE_TOOL, "book_hotel")

    async def goes_on(self, mission: Mission) -> None:
        """Have the mission renewed during its call; the other legs wait for people all the while.

        Time can be skipped before: until then it waits for an answer.
        """
        await mission.answer(await mission.question("busy"), {"day": "Friday"})
        async with self._call:
            await suggest_new_run(mission)
            assert (await mission.handle.describe()).run_id == (
                mission.handle.first_execution_run_id
            )
        await new_run(mission)

    def was_not_disturbed(self, result: MissionResult) -> None:
        """Each of its calls was made once, the last one in the new run."""
        leg = next(leg for leg in result.legs if leg.leg_id == "busy")
        assert leg.status is LegStatus.SUCCEEDED
        assert [step.outcome for step in leg.steps] == ["answered", *["succeeded"] * 2, "done"]
        assert len(self._world.sent("book_hotel")) == len(self._world.sent("book_car")) == 1
        assert len(self._world.attempts(PLAN_STEP, "busy")) == 4


@pytest.fixture
def busy(world: FakeWorld) -> Busy:
    """A leg to be planned beside those that a test is about."""
    return Busy(world)


def approval(card: ConfirmationCard, by: str) -> Approve:
    return Approve(confirmation_id=card.confirmation_id, digest=card.digest, approver=by)


async def asked_card(
    stage: Stage, world: FakeWorld, busy: Busy
) -> tuple[Mission, ConfirmationCard]:
    """A mission whose card was amended, approved by one of two, and reminded of once."""
    world.plan(fake_leg("ticket"), busy.leg)
    world.decide("ticket", TICKET)
    mission = await stage.start(policy=POLICY.model_copy(update={"confirmation": TWO}))
    amended = await mission.amend(await mission.card("ticket"), seat="14C")
    await mission.decide(approval(amended, "ann"))
    await stage.env.sleep(2 * HOUR)
    card = await mission.card("ticket")
    assert (card.approved_by, card.reminded) == (("ann",), 1)
    return mission, card


# -- a card ---------------------------------------------------------------------------------------


async def test_a_card_stays_open_as_it_was_and_is_decided(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Its id, digest, approvals, reminders and expiry; one approval is still needed, no more."""
    mission, before = await asked_card(stage, world, busy)
    await busy.goes_on(mission)
    prepared = len(world.attempts(names.PREPARE_CALL, "buy_ticket"))

    after = await mission.card("ticket")
    same = await mission.refusal(mission.decide(approval(after, "ann")))
    receipt = await mission.decide(approval(after, "bob"))
    result = await mission.end()

    assert after == before
    assert same.type == "ApproverRefused"
    assert receipt.card is None
    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for d in result.legs[0].decisions] == ["ada@example.com", "ann", "bob"]
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "14C"}]
    assert len(world.attempts(names.PREPARE_CALL, "buy_ticket")) == prepared
    assert len(world.attempts(PLAN_STEP, "ticket")) == 2
    assert {r.tool: r.confirmed_by for r in result.receipts}["buy_ticket"] == "ann, bob"
    busy.was_not_disturbed(result)
    await replays(stage, mission)


async def test_a_card_that_repeats_an_effect_is_renewed_in_the_new_run(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """The previous run had begun to renew it."""
    order = Order(tools=("buy_ticket",))
    world.plan(fake_leg("one", orders=[order]), fake_leg("two", orders=[order]), busy.leg)
    world.decide("one", TICKET)
    world.decide("two", TICKET)
    mission = await stage.start(policy=POLICY)
    first, before = await mission.card("one"), await mission.card("two")
    renewing = world.hold(names.PREPARE_CALL, "buy_ticket")
    await mission.approve(first)
    async with renewing:
        await busy.goes_on(mission)

    async def renewed() -> ConfirmationCard | None:
        card = await mission.card("two")
        return card if card.digest != before.digest else None

    card = await mission.eventually(renewed)
    await mission.reject(card, "one is enough")
    result = await mission.end()

    assert "repeats" in card.unordered
    assert len(world.sent("buy_ticket")) == 1
    busy.was_not_disturbed(result)
    await replays(stage, mission)


async def test_a_card_is_reminded_of_and_expires_at_its_old_moments(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Counted from when it was opened, and not from when the new run began."""
    mission, before = await asked_card(stage, world, busy)
    await busy.goes_on(mission)

    await stage.env.sleep(2 * HOUR)
    not_yet = await mission.card("ticket")
    await stage.env.sleep(2 * HOUR)
    reminded = await mission.card("ticket")
    result = await mission.end()
    expired = result.legs[0].decisions[-1]

    assert (not_yet, reminded.reminded) == (before, 2)
    assert before.expires_at is not None
    assert expired.kind == "expired"
    assert timedelta(0) <= expired.at - before.expires_at < timedelta(minutes=1)
    assert result.error == "nobody confirmed it in time: Buy ticket"
    assert world.sent("buy_ticket") == []
    await replays(stage, mission)


async def test_a_card_is_amended_in_the_new_run(stage: Stage, world: FakeWorld, busy: Busy) -> None:
    """From what it was amended to before; nobody has approved what it becomes."""
    mission, before = await asked_card(stage, world, busy)
    await busy.goes_on(mission)

    amended = await mission.amend(before, seat="15D")
    await mission.decide(approval(amended, "ann"))
    await mission.decide(approval(amended, "bob"))
    result = await mission.end()

    assert amended.approved_by == ()
    assert amended.confirmation_id == before.confirmation_id
    assert [c.arguments for c in world.sent("buy_ticket")] == [{"seat": "15D"}]
    assert result.status is MissionStatus.SUCCEEDED
    await replays(stage, mission)


async def test_what_a_card_reserves_stays_reserved(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """60 of 100 are; another leg that wants 60 in the new run is refused."""
    world.plan(fake_leg("north"), busy.leg, fake_leg("south", after=("busy",)))
    world.decide("north", buy("60.00"))
    world.decide("south", buy("60.00"))
    mission = await stage.start(budget=eur("100"), policy=POLICY)
    before = await mission.card("north")
    await busy.goes_on(mission)

    async def refused() -> bool | None:
        return (await mission.leg("south")).status is LegStatus.SUCCEEDED or None

    await mission.eventually(refused)
    await mission.approve(before)
    result = await mission.end()

    assert result.legs[2].steps[0].outcome == "refused"
    assert [call.leg_id for call in world.sent("buy_pass")] == ["north"]
    assert result.spend.by_currency == {"EUR": Decimal("60.00")}
    await replays(stage, mission)


# -- an overcharge --------------------------------------------------------------------------------


async def test_an_overcharge_holds_others_back_until_it_is_decided(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Its card, and that of a leg that was asked before it was charged, are as they were."""
    world.plan(fake_leg("north"), fake_leg("south"), busy.leg)
    world.decide("north", buy("30.00"))
    world.decide("south", buy("20.00"))
    world.answer("buy_pass", charged("37.50"), charged("20.00"))
    mission = await stage.start(budget=eur("80"), policy=POLICY)
    south = await mission.card("south")
    await mission.approve(await mission.card("north"))
    overcharge = await overcharge_card(mission)
    await busy.goes_on(mission)
    prepared = len(world.attempts(names.PREPARE_OVERCHARGE))

    both = await overcharge_card(mission), await mission.card("south")
    await mission.approve(south)
    sent_meanwhile = [call.leg_id for call in world.sent("buy_pass")]
    await mission.approve(overcharge)
    result = await mission.end()

    assert both == (overcharge, south)
    assert sent_meanwhile == ["north"]
    assert [call.leg_id for call in world.sent("buy_pass")] == ["north", "south"]
    assert len(world.attempts(names.PREPARE_OVERCHARGE)) == prepared
    assert result.status is MissionStatus.SUCCEEDED
    assert result.spend.by_currency == {"EUR": Decimal("57.50")}
    await replays(stage, mission)


async def test_an_overcharge_that_nobody_wants_is_cancelled_in_the_new_run(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Once, and its planner is told."""
    world.plan(fake_leg("north"), busy.leg)
    world.decide("north", buy("30.00"))
    world.answer("buy_pass", charged("37.50"))
    mission = await stage.start(budget=eur("80"), policy=POLICY)
    await mission.approve(await mission.card("north"))
    overcharge = await overcharge_card(mission)
    await busy.goes_on(mission)

    await mission.reject(overcharge, "too dear")
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [o.tool for o in world.compensated()] == ["buy_pass"]
    assert len(world.sent("buy_pass")) == 1
    assert world.contexts("north")[-1].observations[0].outcome == "refused"
    await replays(stage, mission)


# -- a question -----------------------------------------------------------------------------------


async def test_a_question_stays_open_as_it_was_and_is_answered(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Its leg knows the answer; nothing is asked again."""
    world.plan(fake_leg("trip"), busy.leg)
    world.decide("trip", WHEN, CallTool(tool="book_flight"))
    mission = await stage.start(policy=POLICY)
    before = await mission.question("trip")
    await stage.env.sleep(2 * HOUR)
    await busy.goes_on(mission)

    after = await mission.question("trip")
    await mission.answer(after, {"day": "Monday"})
    result = await mission.end()

    assert after == before
    assert result.status is MissionStatus.SUCCEEDED
    assert [s.outcome for s in result.legs[0].steps] == ["answered", "succeeded", "done"]
    assert world.contexts("trip")[1].inputs["day"] == "Monday"
    busy.was_not_disturbed(result)
    await replays(stage, mission)


async def test_a_question_expires_at_its_old_moment(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Counted from when it was asked."""
    world.plan(fake_leg("trip"), busy.leg)
    world.decide("trip", WHEN)
    mission = await stage.start(policy=POLICY)
    asked = await mission.question("trip")
    await stage.env.sleep(5 * HOUR)
    await busy.goes_on(mission)

    result = await mission.end()
    step = result.legs[0].steps[-1]

    assert (step.did, step.outcome) == ("ask the user", "expired")
    assert step.at is not None
    assert asked.expires_at is not None
    assert timedelta(0) <= step.at - asked.expires_at < timedelta(minutes=1)
    await replays(stage, mission)


async def test_what_a_call_lacks_is_asked_for_once(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """It is looked up after the answer, and the call is made."""
    world.plan(fake_leg("trip"), busy.leg)
    world.decide("trip", CallTool(tool="book_flight"))
    world.lack("book_flight", "a key of its provider")
    mission = await stage.start(policy=POLICY)
    before = await mission.question("trip")
    await busy.goes_on(mission)
    prepared = len(world.attempts(names.PREPARE_CALL, "book_flight"))

    after = await mission.question("trip")
    looked_up_meanwhile = len(world.attempts(names.PREPARE_CALL, "book_flight")) - prepared
    world.lack("book_flight")
    await mission.answer(after, {})
    result = await mission.end()

    assert (after, looked_up_meanwhile) == (before, 0)
    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("book_flight")) == 1
    await replays(stage, mission)


# -- a pause --------------------------------------------------------------------------------------


async def test_the_pause_of_a_model_goes_on_and_is_ended_by_a_person(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Its model is asked again at once then; the deadline stays as it was."""
    # Its own retry, in 15 s by default, must come later than the person, however slow the machine.
    hour_s = HOUR.total_seconds()
    refused = [ModelRefused("openai:gpt-5", "401, it does not take the key", "set a key", hour_s)]

    def mind(_: StepContext) -> StepDecision:
        if refused:
            raise refused.pop()
        return Finish(summary="done")

    world.plan(fake_leg("trip", agent=AgentProfile(name="trip", model="openai:gpt-5")), busy.leg)
    world.decide("trip", *[mind] * 3)
    mission = await stage.start(policy=POLICY)

    async def paused() -> ModelPause | None:
        return (await mission.waiting("trip")).pause

    before = await mission.eventually(paused)
    await busy.goes_on(mission)
    after = await mission.eventually(paused)
    asked = len(world.attempts(PLAN_STEP, "trip"))
    await mission.handle.execute_update(
        names.RESUME_UPDATE, ResumeInput(pause_id=after.pause_id, by="ada"), result_type=ModelPause
    )
    result = await mission.end()

    assert (after, asked) == (before, 1)
    assert len(world.attempts(PLAN_STEP, "trip")) == 2
    assert result.status is MissionStatus.SUCCEEDED
    busy.was_not_disturbed(result)
    await replays(stage, mission)


# -- a hand-over ----------------------------------------------------------------------------------


async def test_a_part_that_was_handed_over_is_waited_for(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """By the leg that handed it over; it is planned once, and its own question stays open."""
    flyer = AgentProfile(name="flyer", hands_over_to=("*",))
    world.staff(flyer, AgentProfile(name="hotelier", tools=("buy_pass",)))
    world.plan(fake_leg("trip", agent=flyer), busy.leg)
    part = HandOver(agent="hotelier", goal="the hotel near the airport", reason="mine cannot")
    world.decide("trip", part, Finish(summary="There."))
    world.decide("h1-trip", WHEN, CallTool(tool="buy_pass"), Finish(summary="A room."))
    mission = await stage.start(policy=POLICY)
    before = await mission.question("h1-trip")
    await busy.goes_on(mission)

    after = await mission.question("h1-trip")
    await mission.answer(after, {"day": "Monday"})
    await mission.approve(await mission.card("h1-trip"))
    result = await mission.end()

    assert after == before
    assert result.status is MissionStatus.SUCCEEDED
    assert {leg.leg_id for leg in result.legs} == {"trip", "h1-trip", "busy"}
    assert len(world.attempts(names.PLAN_HAND_OVER)) == 1
    assert len(world.sent("buy_pass")) == 1
    told = world.contexts("trip")[1]
    assert [fact.tool for fact in told.facts] == ["buy_pass"]
    assert told.observations[0].outcome == "handed_over"
    busy.was_not_disturbed(result)
    await replays(stage, mission)


# -- several calls at once ------------------------------------------------------------------------


async def test_of_several_calls_those_that_were_made_are_not_made_again(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """The rest follows one by one, none of it prepared again."""
    seats = [CallTool(tool="buy_ticket", arguments={"seat": seat}) for seat in ("12A", "12B")]
    world.plan(fake_leg("trip"), busy.leg)
    world.decide("trip", CallTools(calls=(LOOK, seats[0], LOOK, seats[1])))
    mission = await stage.start(policy=POLICY)
    before = await mission.card("trip")
    await busy.goes_on(mission)
    prepared = len(world.attempts(names.PREPARE_CALL))

    after = await mission.card("trip")
    await mission.approve(after)

    async def second() -> ConfirmationCard | None:
        card = (await mission.waiting("trip")).card
        return card if card is not None and card != after else None

    await mission.approve(await mission.eventually(second))
    result = await mission.end()

    assert after == before
    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("find_flights")) == 2
    assert [c.arguments for c in world.sent("buy_ticket")] == [one.arguments for one in seats]
    of_trip = [c for c in world.attempts(names.PREPARE_CALL)[prepared:] if "book" not in c.subject]
    assert of_trip == []
    assert [s.label for s in result.legs[0].steps] == ["1", "1c", "1b", "1d", "2"]
    busy.was_not_disturbed(result)
    await replays(stage, mission)


# -- what legs share ------------------------------------------------------------------------------


async def test_limits_count_what_the_runs_before_have_used(
    stage: Stage, world: FakeWorld, busy: Busy
) -> None:
    """Those of the whole mission, over all of its runs and legs."""
    world.plan(fake_leg("trip"), busy.leg, fake_leg("south", after=("busy",)))
    world.decide("trip", *[DiscoverTools(query=f"{n}") for n in range(5)], WHEN)
    world.decide("south", *[DiscoverTools(query=f"{n}") for n in range(60)])
    world.usage = Usage(requests=1, input_tokens=10, output_tokens=1)
    limited = POLICY.model_copy(update={"limits": Limits(requests=20)})
    mission = await stage.start(policy=limited)
    await mission.question("trip")
    await busy.goes_on(mission)

    result = await mission.end()

    assert result.error == "the limit of the mission is reached: used 20 of 20 requests to models"
    assert result.usage.requests == 20
    await replays(stage, mission)


async def test_it_may_go_on_again_and_again(stage: Stage, world: FakeWorld) -> None:
    """A card outlives any number of runs."""
    mission = await stage.start_leg("ticket", TICKET, policy=POLICY)
    before = await mission.card("ticket")
    runs = [mission.handle.first_execution_run_id]
    for _ in range(3):
        await suggest_new_run(mission)

        async def another() -> str | None:
            newest = (await mission.handle.describe()).run_id
            return newest if newest not in runs else None

        runs.append(await mission.eventually(another))
    after = await mission.card("ticket")
    await mission.approve(after)
    result = await mission.end()

    assert after == before
    assert result.status is MissionStatus.SUCCEEDED
    assert len(world.sent("buy_ticket")) == 1
    handles = [
        stage.env.client.get_workflow_handle(mission.mission_id, run_id=run_id) for run_id in runs
    ]
    assert await replays_at_every_task(*handles) > 4


# -- what nobody may bring ------------------------------------------------------------------------


async def test_a_state_that_the_server_did_not_continue_is_not_believed(
    stage: Stage, world: FakeWorld
) -> None:
    """Whoever starts a mission may write anything into its input: it begins at its beginning."""
    world.plan(fake_leg("trip"))
    world.decide("trip", TICKET)
    pin = CatalogPin(digest=world.catalog.digest, size=len(world.catalog))
    mission_id = f"{stage.task_queue[-50:].lstrip('-_')}-forged"
    now = await stage.env.get_current_time()
    leg = LegInput(
        mission_id=mission_id,
        mission_goal="go",
        leg=fake_leg("forged"),
        policy=POLICY,
        catalog=pin,
        started_at=now,
        state=LegState(step=7),
    )
    forged = CarriedMission(
        started_at=now - 100 * HOUR,
        catalog=pin,
        plan=BegunPlan(legs=(leg.leg,)),
        goal="go",
        said_at=now,
        legs=(leg,),
        overcharges={"ghost": f"{mission_id}.ghost.1"},
    )
    request = MissionRequest(goal="go", mission_id=mission_id, policy=POLICY)
    handle = await stage.env.client.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=request, carried=forged),
        id=mission_id,
        task_queue=stage.task_queue,
        result_type=MissionResult,
    )
    mission = type(await stage.start())(stage.env.client, handle, stage.task_queue)
    card = await mission.card("trip")
    await mission.approve(card)
    result = await mission.end()

    assert [leg.leg_id for leg in result.legs] == ["trip"]
    assert result.status is MissionStatus.SUCCEEDED
    assert result.started_at is not None
    assert result.started_at >= now - HOUR
    assert world.attempts(PLAN_STEP, "forged") == []
