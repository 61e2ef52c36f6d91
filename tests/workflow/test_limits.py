"""Limits of agents, legs and missions: a reached limit ends a leg and is named with its usage."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from temporalio.api.enums.v1 import EventType

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Allowance, Limits
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    DiscoverTools,
    Finish,
    MissionPlan,
)
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg, states_of
from tests.workflow.replays import replays_at_every_task
from tests.world import PLAN_STEP, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage


BOOK = CallTool(tool="book_flight")
ASKED = Usage(requests=1, input_tokens=900, output_tokens=100, cost_usd=Decimal("0.25"))


def searches(number: int) -> list[DiscoverTools]:
    """As many steps that find nothing, each another."""
    return [DiscoverTools(query=f"{word}") for word in range(number)]


def policy(limits: Limits | None = None, legs: Limits | None = None) -> MissionPolicy:
    return MissionPolicy(limits=limits or Limits(), leg_limits=legs or Limits())


@pytest.mark.parametrize(
    ("whose", "limits", "told"),
    [
        ("the agent scout", Limits(requests=3), "used 3 of 3 requests to models"),
        ("the agent scout", Limits(steps=3), "used 3 of 3 steps"),
        ("each leg", Limits(input_tokens=2_000), "used 2,700 of 2,000 input tokens"),
        ("each leg", Limits(cost_usd=Decimal("0.60")), "used 0.75 of 0.6 USD for models"),
        ("the mission", Limits(total_tokens=2_500), "used 3,000 of 2,500 tokens"),
        ("the mission", Limits(steps=3), "used 3 of 3 steps"),
    ],
)
async def test_a_limit_ends_the_leg_and_says_which_and_how_much(
    stage: Stage, world: FakeWorld, whose: str, limits: Limits, told: str
) -> None:
    """Whoever it is of; what was done before is taken back, which no limit stops."""
    own = limits if whose == "the agent scout" else Limits()
    world.usage = ASKED
    shared = policy(limits if whose == "the mission" else None, limits if "each" in whose else None)

    result = await stage.run_leg(
        "flight",
        BOOK,
        *searches(9),
        agent=AgentProfile(name="scout", limits=own),
        policy=shared,
    )

    assert result.error == f"the limit of {whose} is reached: {told}"
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert len(result.legs[0].steps) == 3
    assert result.limit is not None
    assert (str(result.limit), result.legs[0].limit) == (result.error, result.limit)
    assert result.usage.requests == 3


async def test_a_leg_may_end_with_its_last_step(stage: Stage, world: FakeWorld) -> None:
    """What is limited is what is begun; all its calls made, it may still say what it found."""
    world.usage = ASKED
    limits = Limits(requests=2, total_tokens=2_000, steps=2, tool_calls=1)

    result = await stage.run_leg(
        "flight", BOOK, Finish(summary="Booked."), policy=policy(limits, limits)
    )

    assert result.status is MissionStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("orders", "status"),
    [
        ([Order(tools=("book_flight",))], MissionStatus.SUCCEEDED),
        ([Order(tools=("book_flight",), count=2)], MissionStatus.ROLLED_BACK),
        ([], MissionStatus.ROLLED_BACK),
    ],
    ids=["served", "half served", "not ordered"],
)
async def test_a_limit_after_the_last_order_was_served_cancels_nothing(
    stage: Stage, world: FakeWorld, orders: list[Order], status: MissionStatus
) -> None:
    """The leg ends as served, and says which limit ended it."""
    result = await stage.run_leg(
        "flight", BOOK, *searches(9), orders=orders, policy=policy(Limits(steps=2))
    )

    assert result.status is status
    assert result.limit is not None
    if status is MissionStatus.SUCCEEDED:
        assert states_of(result.ledger) == {"book_flight": "committed"}
        assert str(result.limit) in result.legs[0].summary


@pytest.mark.parametrize("whose", ["the agent scout", "each leg", "the mission"])
async def test_calls_are_limited(stage: Stage, world: FakeWorld, whose: str) -> None:
    """The call over the limit is not sent."""
    calls = Limits(tool_calls=1)
    own = calls if "scout" in whose else Limits()
    shared = policy(
        calls if whose == "the mission" else None, calls if whose == "each leg" else None
    )

    result = await stage.run_leg(
        "flight",
        BOOK,
        CallTool(tool="find_flights"),
        CallTool(tool="find_flights"),
        agent=AgentProfile(name="scout", limits=own),
        policy=shared,
    )

    assert result.error == f"the limit of {whose} is reached: used 1 of 1 tool calls"
    assert world.sent("find_flights") == []


async def test_the_steps_of_a_profiles_limits_take_the_place_of_the_usual_ones(
    stage: Stage, world: FakeWorld
) -> None:
    """40 by default: an agent that may take more says so."""
    agent = AgentProfile(name="scout", limits=Limits(steps=45))

    result = await stage.run_leg("flight", *searches(44), Finish(summary="Found."), agent=agent)

    assert result.status is MissionStatus.SUCCEEDED
    assert world.contexts("flight")[0].agent.leg_limits.steps == 45


async def test_the_workers_policy_holds_beside_the_missions(stage: Stage, world: FakeWorld) -> None:
    """Of each figure the tighter: nobody starts a mission that may use more."""
    world.govern(policy(Limits(requests=2)))
    world.usage = ASKED

    result = await stage.run_leg("flight", *searches(9), policy=policy(Limits(requests=50)))

    assert result.error == "the limit of the mission is reached: used 2 of 2 requests to models"


async def test_what_planning_takes_counts(stage: Stage, world: FakeWorld) -> None:
    """Splitting the goal has used what the mission may: no leg takes a step."""
    plan = MissionPlan(legs=(fake_leg("flight"),), usage=Usage(requests=4, input_tokens=9_000))
    world.replan(plan)
    world.decide("flight", BOOK)

    result = await (await stage.start(policy=policy(Limits(requests=4)))).end()

    assert result.error == "the limit of the mission is reached: used 4 of 4 requests to models"
    assert result.usage == plan.usage
    assert world.attempts(PLAN_STEP) == []


async def test_a_step_is_told_what_it_may_still_take(stage: Stage, world: FakeWorld) -> None:
    """A planner that asks several times in one step stops when that is used up."""
    world.usage = ASKED

    await stage.run_leg(
        "flight",
        *searches(1),
        Finish(summary="Found."),
        agent=AgentProfile(name="scout", limits=Limits(requests=5)),
        policy=policy(Limits(total_tokens=1_600)),
    )

    first, second = (context.allowance for context in world.contexts("flight"))
    assert first == Allowance(left={"requests": Decimal(5), "total_tokens": Decimal(1_600)})
    assert second == Allowance(left={"requests": Decimal(4), "total_tokens": Decimal(600)})


async def test_without_limits_no_allowance_is_told(stage: Stage, world: FakeWorld) -> None:
    """A leg takes a share only where there is something to share."""
    world.plan(fake_leg("flight"))
    mission = await stage.start()

    await mission.end()

    assert world.contexts("flight")[0].allowance is None


async def test_legs_side_by_side_share_what_their_mission_may_use(
    stage: Stage, world: FakeWorld
) -> None:
    """Together they go beyond it by one request each at most, and end only once it is used up."""
    world.plan(*(fake_leg(name) for name in ("north", "south", "west")))
    for name in ("north", "south", "west"):
        world.decide(name, *searches(60))
    world.usage = ASKED
    mission = await stage.start(policy=policy(Limits(total_tokens=10_000)))

    result = await mission.end()

    assert result.limit is not None
    assert 10_000 <= result.limit.used <= 12_000
    assert result.limit.of == "the mission"
    assert 10 <= result.usage.requests <= 12
    await replays_at_every_task(mission.handle)


async def test_who_waits_for_a_person_holds_nothing_back(stage: Stage, world: FakeWorld) -> None:
    """What was granted to the one is called back; it may answer to that while it waits."""
    world.plan(fake_leg("north"), fake_leg("south"))
    world.decide("north", AskUser(question="When?", fields={"day": {"type": "string"}}))
    world.decide("south", *searches(60))
    world.usage = ASKED
    mission = await stage.start(policy=policy(Limits(requests=20)))
    await mission.question("north")

    result = await mission.end()

    assert result.error == "the limit of the mission is reached: used 20 of 20 requests to models"
    assert result.usage.requests == 20


@pytest.mark.parametrize("whose", ["the agent scout", "each leg", "the mission"])
async def test_time_runs_out_while_a_person_is_waited_for(
    stage: Stage, world: FakeWorld, whose: str
) -> None:
    """The leg ends at its hour, and asks nobody any more."""
    hour = Limits(wall_clock=timedelta(hours=1))
    agent = AgentProfile(name="scout", limits=hour if "scout" in whose else Limits())
    shared = policy(hour if "mission" in whose else None, hour if "each" in whose else None)
    mission = await stage.start_leg(
        "flight",
        BOOK,
        CallTool(tool="buy_ticket", arguments={"seat": "12A"}),
        agent=agent,
        policy=shared,
    )
    await mission.card("flight")

    result = await mission.end()

    assert result.error == f"the limit of {whose} is reached: used 1 h of 1 h wall clock time"
    ended = LegStatus.CANCELLED if "mission" in whose else LegStatus.FAILED
    assert result.legs[0].status is ended
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert (await mission.waiting("flight")).card is None
    await replays_at_every_task(mission.handle)


async def test_a_leg_that_is_done_in_time_waits_for_no_timer(
    stage: Stage, world: FakeWorld
) -> None:
    """It succeeds; a cancel reaches one that is not done as it reaches any."""
    day = Limits(wall_clock=timedelta(days=1))
    world.plan(fake_leg("flight"))
    world.decide("flight", BOOK)
    assert (await (await stage.start(policy=policy(legs=day))).end()).status is (
        MissionStatus.SUCCEEDED
    )

    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start(policy=policy(legs=day))
    async with booking:
        await mission.handle.cancel()
        await mission.is_cancelling()
    cancelled = await mission.end()

    assert cancelled.status is MissionStatus.CANCELLED
    assert states_of(cancelled.ledger) == {"book_flight": "cancelled"}


async def test_a_call_on_its_way_when_time_runs_out_is_waited_for(
    stage: Stage, world: FakeWorld
) -> None:
    """What came of it is in the ledger, and taken back."""
    world.plan(fake_leg("flight"))
    world.decide("flight", BOOK)
    booking = world.hold(names.INVOKE_TOOL, "book_flight")

    async def is_sent() -> bool | None:
        """Or it is over before, on a slow machine: its time begins with its leg."""
        is_over = (await mission.snapshot()).finished_at is not None
        return bool(world.sent("book_flight")) or (False if is_over else None)

    for seconds in (0.5, 5, 40):
        soon = Limits(wall_clock=timedelta(seconds=seconds))
        mission = await stage.start(policy=policy(legs=soon))
        if await mission.eventually(is_sent):
            break

    async def is_late() -> bool | None:
        history = await mission.handle.fetch_history()
        fired = EventType.EVENT_TYPE_TIMER_FIRED
        return any(event.event_type == fired for event in history.events) or None

    await mission.eventually(is_late)
    booking.release()
    result = await mission.end()

    assert "wall clock time" in (result.error or "")
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_leg_that_turns_in_circles_is_told_once_and_then_ends(
    stage: Stage, world: FakeWorld
) -> None:
    """The planner reads it beside the answer; what was done is taken back."""
    world.answer("find_flights", ToolOutcome(kind="succeeded", body=["F1"]))
    mission = await stage.start_leg(
        "flight", BOOK, *[CallTool(tool="find_flights", arguments={"to": "LIS"})] * 9
    )

    result = await mission.end()

    assert result.error == (
        "the leg turns in circles: find_flights with the same arguments came to the same 4 times, "
        "with nothing new in between"
    )
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert len(world.sent("find_flights")) == 4
    told = [bool(o.repeated) for o in world.contexts("flight")[4].observations]
    assert told == [False, False, False, True]
    await replays_at_every_task(mission.handle)


async def test_a_cancel_that_comes_while_a_share_is_asked_for_is_not_lost(
    stage: Stage, world: FakeWorld
) -> None:
    """A leg that the mission stops answering for its own loss ends with it."""
    world.plan(*(fake_leg(name) for name in ("north", "south", "west", "east")))
    for name in ("north", "south", "west", "east"):
        world.decide(name, *searches(9))
    world.usage = ASKED
    for _ in range(4):
        result = await (await stage.start(policy=policy(Limits(requests=4)))).end()
        assert result.finished_at is not None


SCOUT = AgentProfile(name="scout", limits=Limits(tool_calls=2))
FINDER = AgentProfile(name="finder", tools=("find_*",))
FIND = CallTool(tool="find_flights")


async def test_discovery_and_questions_are_no_calls(stage: Stage, world: FakeWorld) -> None:
    """Nor is a call that was refused before it was sent."""
    mission = await stage.start_leg(
        "flight",
        DiscoverTools(query="a"),
        DiscoverTools(query="b"),
        AskUser(question="When?", fields={"day": {"type": "string"}}),
        CallTool(tool="buy_ticket", arguments={"seat": "1"}),
        FIND,
        FIND,
        Finish(summary="Found."),
        agent=SCOUT,
    )
    await mission.answer(await mission.question("flight"), {"day": "2026-12-03"})
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [s.outcome for s in result.legs[0].steps if s.did.startswith("call")] == [
        "invalid",
        "succeeded",
        "succeeded",
    ]


async def test_what_models_took_is_summed(stage: Stage, world: FakeWorld) -> None:
    """Over the steps of a leg, and over the legs of the mission."""
    world.plan(fake_leg("flight"), fake_leg("hotel"))
    world.decide("flight", FIND, Finish(summary="Found."))
    world.decide("hotel", Finish(summary="Found."))
    world.usage = Usage(requests=1, input_tokens=100, output_tokens=7)

    result = await (await stage.start()).end()

    assert [leg.usage.requests for leg in result.legs] == [2, 1]
    assert result.usage == Usage(requests=3, input_tokens=300, output_tokens=21)


async def test_a_leg_learns_what_its_agent_may_not_touch_and_goes_on(
    stage: Stage, world: FakeWorld
) -> None:
    """The planner reads the sentence, and the mission's record keeps it; nothing is prepared."""
    result = await stage.run_leg(
        "flight", CallTool(tool="book_car"), FIND, Finish(summary="Found."), agent=FINDER
    )

    assert result.status is MissionStatus.SUCCEEDED
    (seen,) = world.contexts("flight")[1].observations
    assert (seen.tool, seen.outcome) == ("book_car", "refused")
    assert seen.error is not None
    assert seen.error.startswith("book_car is not for the agent finder")
    first = result.legs[0].steps[0]
    assert (first.did, first.outcome, first.error) == ("call book_car", "refused", seen.error)
    assert world.subjects(names.PREPARE_CALL) == ["find_flights"]


async def test_what_an_agent_may_touch_travels_with_all_it_does(
    stage: Stage, world: FakeWorld
) -> None:
    """With its searches, its calls as they are prepared, and as they are sent."""
    agent = AgentProfile(name="scout", domains=("elsewhere",), tools=("book_*",))

    await stage.run_leg(
        "flight", DiscoverTools(query="a"), CallTool(tool="book_flight"), agent=agent
    )

    did = (names.DISCOVER_TOOLS, names.PREPARE_CALL, names.INVOKE_TOOL)
    messages = [call.message for call in world.calls if call.activity in did]
    assert [getattr(message, "agent", None) for message in messages] == [agent.wall] * 3
