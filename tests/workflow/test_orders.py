"""Orders of a plan: effects beyond them are asked about, missing ones make a mission incomplete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.catalog.declared_prices import PriceContract
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.messages import names
from orchestrator.messages.mission import MissionResult, MissionStatus, after_rollback
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.receipts import Unserved
from orchestrator.messages.rollback import RollbackReport
from orchestrator.planning.models import CallTool, Finish, StepContext, StepDecision
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from tests.fakes import fake_leg, states_of
from tests.workflow.conftest import OPERATORS, TOOLS
from tests.workflow.replays import replays_at_every_task
from tests.world import FakeWorld

if TYPE_CHECKING:
    from temporalio.testing import WorkflowEnvironment

    from tests.workflow.conftest import Mission, Stage


EVERYTHING = ConfirmationPolicy(standing=(StandingApproval(name="all", tools=("*",)),))
"""A standing approval for every call: none of these things may happen by it."""
OPEN = MissionPolicy(confirmation=EVERYTHING)
FLIGHT = Order(tools=("book_flight",), clause="book a flight")
TICKET = Order(tools=("buy_ticket",), clause="buy a ticket")
DRY = Order(tools=("book_flight",), clause="book a flight", when="if it is dry")
DONE = Finish(summary="done")


def book(**arguments: str) -> CallTool:
    return CallTool(tool="book_flight", arguments={**arguments})


def ticket(seat: str = "12A") -> CallTool:
    return CallTool(tool="buy_ticket", arguments={"seat": seat})


@pytest.fixture
def world(workflow_env: WorkflowEnvironment) -> FakeWorld:
    """The usual tools, whose contracts say that they cost nothing."""
    free = {"price": PriceContract(is_free=True)}
    tools = [tool.model_copy(update=free) for tool in TOOLS]
    return FakeWorld(workflow_env.client, tools, policy=OPERATORS)


@pytest.fixture
def ordered(world: FakeWorld) -> FakeWorld:
    """A world in which every leg is held to its orders, and a standing approval covers all."""
    world.checks_orders = True
    world.govern(OPEN)
    return world


async def asked_about(stage: Stage, world: FakeWorld, leg: list[Order], *calls: CallTool) -> str:
    """The first line of the card that the last of these calls waits at; the others were sent."""
    mission = await stage.start_leg("trip", *calls, *[DONE] * 2, orders=leg, policy=OPEN)
    card = await mission.card("trip")
    assert len(world.sent(calls[-1].tool)) == len(calls) - 1
    await mission.reject(card, "no")
    await mission.end()
    assert len(world.sent(calls[-1].tool)) == len(calls) - 1
    return card.unordered


async def test_what_its_leg_does_not_order_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """Though its document lets it ask nobody, and a standing approval is for everything."""
    assert "does not order this" in await asked_about(stage, ordered, [], book())


async def test_one_more_than_ordered_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """The first has its standing approval, the second has none."""
    line = await asked_about(stage, ordered, [TICKET], ticket("1A"), ticket("2B"))

    assert "more than the plan orders" in line


async def test_a_repeated_effect_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """The same tool with the same essential arguments, though two are ordered."""
    two = TICKET.model_copy(update={"count": 2})

    assert "repeats" in await asked_about(stage, ordered, [two], ticket(), ticket())


async def test_an_effect_of_another_leg_is_asked_about(stage: Stage, ordered: FakeWorld) -> None:
    """Each leg orders one: the second would repeat what the first has done."""
    second = fake_leg("back", after=("trip",), orders=[TICKET])
    ordered.plan(fake_leg("trip", orders=[TICKET]), second)
    ordered.decide("trip", ticket(), DONE)
    ordered.decide("back", ticket(), DONE)

    mission = await stage.start(policy=OPEN)
    card = await mission.card("back")
    await mission.reject(card, "it is booked")
    await mission.end()

    assert "repeats" in card.unordered
    assert len(ordered.sent("buy_ticket")) == 1


async def test_an_order_for_each_thing_has_as_many_effects_as_were_read(
    stage: Stage, ordered: FakeWorld
) -> None:
    """One more than the list is long is asked about; before anything was read, the first is."""
    each = TICKET.model_copy(update={"each": "all my seats"})
    ordered.answer("find_flights", ToolOutcome(kind="succeeded", body={"seats": ["1A", "2B"]}))
    find = CallTool(tool="find_flights")

    mission = await stage.start_leg(
        "trip",
        ticket("0X"),
        find,
        ticket("1A"),
        ticket("2B"),
        ticket("3C"),
        DONE,
        orders=[each],
        policy=OPEN,
    )
    unread = await mission.card("trip")
    await mission.reject(unread, "look first")
    await _another(mission, unread.confirmation_id)
    result = await mission.end()

    assert "0 that were read" in unread.unordered
    assert result.status is MissionStatus.SUCCEEDED
    assert [call.arguments["seat"] for call in ordered.sent("buy_ticket")] == ["1A", "2B"]


async def _another(mission: Mission, before: str) -> None:
    """Reject the card that opens after the one of this id."""

    async def look() -> bool | None:
        card = (await mission.waiting("trip")).card
        return True if card is not None and card.confirmation_id != before else None

    await mission.eventually(look)
    card = (await mission.waiting("trip")).card
    assert card is not None
    assert "one for each of the 2" in card.unordered
    await mission.reject(card, "enough")


async def test_a_read_only_mission_changes_nothing(stage: Stage, ordered: FakeWorld) -> None:
    """Its planner is told in a sentence, and nobody is asked."""
    result = await stage.run_leg(
        "trip", book(), *[DONE] * 2, orders=[FLIGHT], policy=OPEN, read_only=True
    )

    assert ordered.sent("book_flight") == []
    assert result.status is MissionStatus.INCOMPLETE
    assert "read-only" in (result.legs[0].steps[0].error or "")
    assert ordered.contexts("trip")[0].read_only


async def test_a_model_plans_orders_are_covered_once_a_person_or_the_request_has_them(
    stage: Stage, ordered: FakeWorld
) -> None:
    """Listed by the request for one of two legs, the other one's is asked about."""
    ordered.plan(fake_leg("trip", orders=[TICKET]), fake_leg("back", orders=[TICKET]))
    ordered.plan_by_model()
    ordered.decide("trip", ticket("1A"))
    ordered.decide("back", ticket("2B"))

    mission = await stage.start(policy=OPEN, orders=[TICKET])
    card = await mission.card("back")
    await mission.approve(card)
    result = await mission.end()

    assert card.unordered == ""
    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for leg in result.legs for d in leg.decisions] == [
        "policy:all",
        "ada@example.com",
    ]


@pytest.mark.parametrize("by", ["a person", "the policy"])
async def test_an_approved_plan_or_an_admitting_policy_covers_them_all(
    stage: Stage, ordered: FakeWorld, by: str
) -> None:
    """`unapproved_plans` is the worker's to admit: a mission's own policy may not widen it."""
    admits = EVERYTHING.model_copy(update={"unapproved_plans": by == "the policy"})
    policy = MissionPolicy(confirmation=admits, plan_first=by == "a person")
    ordered.govern(policy)
    ordered.plan(fake_leg("trip", orders=[TICKET]))
    ordered.plan_by_model()
    ordered.decide("trip", ticket())

    mission = await stage.start(policy=policy)
    if by == "a person":
        await mission.approve(await mission.plan_card())
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [d.approver for d in result.legs[0].decisions] == ["policy:all"]


async def test_a_leg_without_orders_asks_about_each_of_its_effects(
    stage: Stage, ordered: FakeWorld
) -> None:
    """As where a model's goal could not be split: a person has both, and it succeeds."""
    ordered.plan(fake_leg("whole"))
    ordered.plan_by_model()
    ordered.decide("whole", book(), ticket(), DONE)
    mission = await stage.start(policy=OPEN)

    first = await mission.card("whole")
    await mission.approve(first)

    async def next_card() -> bool | None:
        card = (await mission.waiting("whole")).card
        return True if card is not None and card.tool == "buy_ticket" else None

    await mission.eventually(next_card)
    await mission.approve(await mission.card("whole"))
    result = await mission.end()

    assert first.unordered
    assert result.status is MissionStatus.SUCCEEDED


async def test_a_condition_that_does_not_hold_excuses_its_order(
    stage: Stage, ordered: FakeWorld
) -> None:
    """The planner says so with the value that it read, and the result shows it."""
    read = WhenRead(when="if it is dry", holds=False, read="rain 80 %")

    result = await stage.run_leg(
        "trip",
        CallTool(tool="find_flights"),
        Finish(summary="It rains.", conditions=(read,)),
        orders=[DRY],
        policy=OPEN,
    )

    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].conditions == (read,)
    assert result.unserved == ()


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ((), "if it is dry"),
        ((WhenRead(when="if it is dry", holds=False, read=" "),), "which value decides"),
        ((WhenRead(when="if it is dry", holds=True, read="dry"),), "did what was ordered"),
    ],
    ids=["unsaid", "unread", "holds"],
)
async def test_an_order_without_effect_or_excuse_is_incomplete(
    stage: Stage, ordered: FakeWorld, conditions: tuple[WhenRead, ...], told: str
) -> None:
    """It is refused once with the reason, and stands in the result after that."""
    end = Finish(summary="Nothing.", conditions=conditions)

    result = await stage.run_leg(
        "trip",
        CallTool(tool="find_flights"),
        end,
        Finish(summary="Nothing."),
        orders=[DRY],
        policy=OPEN,
    )

    assert told in (result.legs[0].steps[1].error or "")
    assert result.status is MissionStatus.INCOMPLETE
    assert [(one.clause, one.leg_id) for one in result.unserved] == [("book a flight", "trip")]


async def test_an_effect_whose_condition_fails_is_no_success(
    stage: Stage, ordered: FakeWorld
) -> None:
    """It was done, and its own planner says that it was not to be."""
    read = WhenRead(when="if it is dry", holds=False, read="rain 80 %")

    result = await stage.run_leg(
        "trip", book(), Finish(summary="Booked.", conditions=(read,)), orders=[DRY], policy=OPEN
    )

    assert result.status is MissionStatus.INCOMPLETE
    assert "rain 80 %" in result.unserved[0].reason


async def test_text_that_no_leg_serves_is_shown_and_changes_no_status(
    stage: Stage, ordered: FakeWorld
) -> None:
    """On the plan's card, and in the result."""
    ordered.plan(fake_leg("trip", orders=[FLIGHT]))
    ordered.plan_by_model()
    ordered.uncover("and feed the cat")
    ordered.decide("trip", book())

    mission = await stage.start(policy=OPEN.model_copy(update={"plan_first": True}))
    card = await mission.plan_card()
    await mission.approve(card)
    result = await mission.end()

    lines = [line.value for section in card.sections() for line in section.lines]
    assert "and feed the cat" in lines
    assert result.status is MissionStatus.SUCCEEDED
    assert result.uncovered == ("and feed the cat",)


async def test_checked_orders_replay_at_every_task(forgetful: Stage, ordered: FakeWorld) -> None:
    """On a worker that remembers nothing."""
    mission = await forgetful.start_leg(
        "trip", ticket(), ticket("9F"), DONE, DONE, orders=[TICKET, DRY], policy=OPEN
    )
    await mission.approve(await mission.card("trip"))

    result = await mission.end()

    assert result.status is MissionStatus.INCOMPLETE
    assert await replays_at_every_task(mission.handle) > 3


HOTEL = Order(clause="book a hotel", tools=("book_hotel",))
TOO_LATE = CompensationOutcome(state="parked", note="too late to cancel")


async def test_a_planners_word_is_no_booking(stage: Stage, world: FakeWorld) -> None:
    """It says that the flight is booked and has called nothing: the mission does not succeed."""
    world.plan(fake_leg("flight", orders=[FLIGHT]))
    claim = Finish(summary="Your flight is booked, reference ABC123.")
    world.decide("flight", claim, claim)

    mission = await stage.start()
    failure = await mission.failure()
    result = await mission.snapshot()

    assert isinstance(failure, ApplicationError)
    assert failure.type == names.MISSION_INCOMPLETE
    assert MissionResult.model_validate(failure.details[0]) == result
    assert result.status is MissionStatus.INCOMPLETE
    assert result.summary == (
        "The planner says, unproved: Your flight is booked, reference ABC123."
    )
    assert result.legs[0].unproved
    assert result.unserved == (
        Unserved(clause="book a flight", reason="no call that was made does it", leg_id="flight"),
    )
    assert result.error is not None
    assert "book a flight" in result.error


async def test_a_planners_word_is_no_answer(stage: Stage, world: FakeWorld) -> None:
    """It tells of the weather and has looked at nothing: it is told so, and then marked."""
    world.wants_proof = True
    world.plan(fake_leg("weather"), fake_leg("flight", after=("weather",)))
    world.decide("weather", *[Finish(summary="It is sunny.")] * 2)
    world.decide("flight", CallTool(tool="find_flights"), Finish(summary="There are two."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.INCOMPLETE
    assert result.summary == "The planner says, unproved: It is sunny. There are two."
    assert [s.outcome for s in result.legs[0].steps] == ["refused", "done"]
    assert [str(one) for one in result.unserved] == ["'do weather': nothing was looked up"]


async def test_what_was_done_of_an_incomplete_mission_stands(
    stage: Stage, world: FakeWorld
) -> None:
    """It was ordered and approved: nothing rolls it back by itself."""
    mission = await stage.start_leg(
        "trip",
        CallTool(tool="book_flight"),
        Finish(summary="All is booked."),
        orders=[FLIGHT, HOTEL],
    )
    result = await mission.end()

    assert await mission.status() is WorkflowExecutionStatus.FAILED
    assert [u.clause for u in result.unserved] == ["book a hotel"]
    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert await mission.rollback_status() is None


async def test_a_planner_may_correct_itself_once(stage: Stage, world: FakeWorld) -> None:
    """Ending a leg that ordered more is refused with the reason; then the leg does it."""
    told: list[str | None] = []

    def after_the_refusal(context: StepContext) -> StepDecision:
        told.append(context.last_error)
        return CallTool(tool="book_flight")

    mission = await stage.start_leg(
        "flight", Finish(summary="Booked."), after_the_refusal, orders=[FLIGHT]
    )
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [(s.did, s.outcome) for s in result.legs[0].steps] == [
        ("finish", "refused"),
        ("call book_flight", "succeeded"),
        ("finish", "done"),
    ]
    assert told[0] is not None
    assert "book a flight" in told[0]


async def test_what_the_provider_refused_serves_nothing(stage: Stage, world: FakeWorld) -> None:
    """The reason names what became of the call."""
    world.plan(fake_leg("flight", orders=[FLIGHT]))
    world.answer("book_flight", ToolOutcome(kind="rejected", status=409, reason="sold out"))
    world.decide("flight", CallTool(tool="book_flight"), Finish(summary="Booked."))

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.INCOMPLETE
    assert result.unserved[0].reason == "book_flight is void: sold out"


async def test_a_forged_signal_says_nothing(stage: Stage, world: FakeWorld) -> None:
    """The mission reads its rollback, and believes no report that somebody sends."""
    stage.lose_after("book_flight")
    cancelling = world.hold(names.COMPENSATE, "book_flight")

    mission = await stage.start()
    async with cancelling:
        forged = RollbackReport(mission_id=mission.mission_id, settled=True)
        await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, forged)
        await mission.handle.signal(names.ROLLBACK_SETTLED_SIGNAL, forged)

        async def has_read() -> bool | None:
            history = await mission.handle.fetch_history()
            read = "read_rollback"
            return (
                any(
                    e.activity_task_scheduled_event_attributes.activity_type.name == read
                    for e in history.events
                )
                or None
            )

        await mission.eventually(has_read)
        meanwhile = await mission.snapshot()
    result = await mission.end()

    assert meanwhile.status is MissionStatus.ROLLING_BACK
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def _status_shown(mission: Mission) -> str | None:
    return (await mission.handle.describe()).typed_search_attributes.get(STATUS)


async def test_a_mission_that_is_over_is_never_found_as_parked(
    stage: Stage, world: FakeWorld
) -> None:
    """Its rollback is, until it is resolved: a search for what is parked can find nothing."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", TOO_LATE)

    mission = await stage.start()
    result = await mission.over()
    (parked,) = await mission.parked()

    assert result.status is MissionStatus.PARKED
    assert await _status_shown(mission) == names.LEFT_TO_ROLLBACK
    before = after_rollback(result, await mission.report())
    await mission.resolve(parked.obligation_id, "cancelled")
    after = after_rollback(result, await mission.report())
    assert (before.status, after.status) == (MissionStatus.PARKED, MissionStatus.ROLLED_BACK)
    assert [c.title for c in after.cancelled] == ["Book flight"]


async def test_a_success_that_was_rolled_back_says_so(stage: Stage, world: FakeWorld) -> None:
    """As a status of its own, with nothing left that stands or costs."""
    mission = await stage.start_leg("flight", CallTool(tool="book_flight"), orders=[FLIGHT])
    result = await mission.end()
    await (await mission.start_rollback()).result()
    after = after_rollback(result, await mission.report())

    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert after.status is MissionStatus.ROLLED_BACK_AFTER_SUCCESS
    assert after.receipts == ()
