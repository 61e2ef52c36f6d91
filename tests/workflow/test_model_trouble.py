"""Trouble of a model costs a step or a pause, never a mission: what is booked stays booked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowUpdateFailedError

from orchestrator.adapters.temporal.search_attributes import STATUS, WAITING_FOR
from orchestrator.core.errors import (
    DecisionInvalid,
    ModelRefused,
    ModelUnavailable,
)
from orchestrator.messages import names
from orchestrator.messages.failure_details import ModelPause, ResumeInput
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import AgentProfile, CallTool, Finish, StepContext, StepDecision
from tests.fakes import fake_leg, states_of
from tests.workflow.replays import replays_at_every_task
from tests.world import PLAN_STEP, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

BOOK = CallTool(tool="book_flight")
REFUSED = ModelRefused("openai:gpt-5", "401, it does not take the key", "set OPENAI_API_KEY")
DOWN = ModelUnavailable("openai:gpt-5", "503, it is overloaded or down")


class Mind:
    """A planner of one step that fails in turn, and then ends the leg; it keeps whom it was."""

    def __init__(self, *failures: Exception | None) -> None:
        self._failures = list(failures)
        self.asked: list[str] = []
        self.contexts: list[StepContext] = []
        self.heals = False

    def __call__(self, context: StepContext) -> StepDecision:
        self.asked.append(context.agent.model or "")
        self.contexts.append(context)
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure
        return Finish(summary="done")


class Broken(Mind):
    """One that fails with the same until it is healed, or for a model that is not `good`."""

    def __init__(self, failure: Exception, good: str = "nobody:nothing") -> None:
        super().__init__()
        self.failure, self.good = failure, good

    def __call__(self, context: StepContext) -> StepDecision:
        if not self.heals and context.agent.model != self.good:
            self._failures = [self.failure]
        return super().__call__(context)


def _agent(*fallback: str, **profile: object) -> AgentProfile:
    fields = {"name": "trip", "model": "openai:gpt-5", "fallback": fallback, **profile}
    return AgentProfile.model_validate(fields)


async def _booked(
    stage: Stage,
    world: FakeWorld,
    mind: Callable[[StepContext], StepDecision],
    *,
    agent: AgentProfile | None = None,
    policy: MissionPolicy | None = None,
) -> Mission:
    """A mission that has booked a flight, and whose next steps `mind` plans."""
    world.plan(fake_leg("trip").model_copy(update={"agent": agent or _agent()}))
    world.decide("trip", BOOK, *[mind] * 30)
    return await stage.start(policy=policy)


async def _pause(mission: Mission, leg: str = "trip") -> ModelPause:
    async def look() -> ModelPause | None:
        return (await mission.waiting(leg)).pause

    return await mission.eventually(look)


async def _resume(mission: Mission, leg: str = "trip", **wanted: object) -> ModelPause:
    pause_id = f"{mission.mission_id}.{leg}.2-model"
    resumed: ModelPause = await mission.told.execute_update(
        names.RESUME_UPDATE,
        ResumeInput.model_validate({"pause_id": pause_id, **wanted}),
        result_type=ModelPause,
    )
    return resumed


async def test_a_key_that_is_refused_pauses_the_leg_until_it_is_taken(
    stage: Stage, world: FakeWorld
) -> None:
    """A 401 with a flight booked: seen by its status and words, asked again, nothing cancelled."""
    mind = Mind(REFUSED, REFUSED)
    mission = await _booked(stage, world, mind)
    pause = await _pause(mission)
    shown = (await mission.handle.describe()).typed_search_attributes
    leg = await mission.leg("trip")
    page = (await mission.handle.describe()).typed_search_attributes
    result = await mission.end()

    assert shown.get(STATUS) == leg.status == LegStatus.AWAITING_MODEL
    assert shown.get(WAITING_FOR) == ["model"]
    assert page.get(WAITING_FOR) in (["model"], None)
    assert leg.pause == pause
    assert pause.retried_at == pause.since + timedelta(seconds=15)
    assert "401, it does not take the key; set OPENAI_API_KEY; retried at " in pause.sentence
    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].pause is None
    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert len(mind.asked) == 3
    assert world.subjects(names.COMPENSATE) == []
    await replays_at_every_task(mission.handle)


async def test_what_passes_is_retried_by_the_engine_first(stage: Stage, world: FakeWorld) -> None:
    """Three failures in a row are no pause."""
    mind = Mind(DOWN, DOWN, ConnectionResetError("cut"))
    result = await (await _booked(stage, world, mind)).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert len(mind.asked) == 4
    assert not any(world.subjects(names.COMPENSATE))


@pytest.mark.parametrize(("asked", "least"), [(20.0, 20), (120.0, 120)])
async def test_as_long_as_a_provider_asks_is_waited(
    stage: Stage, world: FakeWorld, asked: float, least: int
) -> None:
    """By the engine's own retry where it is short, by a pause that is seen where it is long."""
    busy = ModelUnavailable("openai:gpt-5", "429, too many requests", retry_after_s=asked)
    result = await (await _booked(stage, world, Mind(busy))).end()
    first, second = [call.at for call in world.attempts(PLAN_STEP)[1:3]]

    assert result.status is MissionStatus.SUCCEEDED
    assert timedelta(seconds=least) <= second - first < timedelta(seconds=least + 5)


async def test_any_exception_of_a_planner_pauses_in_the_end(stage: Stage, world: FakeWorld) -> None:
    """One that nobody foresaw cancels nothing either."""
    mind = Broken(RuntimeError("the mind is broken"))
    mission = await _booked(stage, world, mind)
    pause = await _pause(mission)
    mind.heals = True
    result = await mission.end()

    assert pause.reason == "the planner failed: the mind is broken"
    assert result.status is MissionStatus.SUCCEEDED


async def test_the_deadline_of_the_policy_ends_the_wait(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the leg fails, says since when and what for, and its mission is rolled back."""
    monkeypatch.setattr(
        "orchestrator.workflows.thinking._MOST_ROUNDS", 10
    )  # of 100: each is recorded
    mind = Broken(REFUSED)
    policy = MissionPolicy(model_wait=timedelta(hours=6))
    mission = await _booked(stage, world, mind, policy=policy)
    result = await mission.end()
    asked = world.attempts(PLAN_STEP)[1:]

    assert result.status is MissionStatus.ROLLED_BACK
    assert result.error is not None
    assert "gave no usable answer since" in result.error
    assert "401, it does not take the key" in result.error
    assert timedelta(hours=5) < asked[-1].at - asked[0].at < timedelta(hours=6, minutes=1)
    assert 10 < len(asked) < 20


async def test_a_person_has_it_asked_again_now(stage: Stage, world: FakeWorld) -> None:
    """Long before its time; another pause's id is refused."""
    late = ModelRefused("openai:gpt-5", "402, no credit", retry_after_s=7200.0)
    mission = await _booked(stage, world, Mind(late))
    pause = await _pause(mission)
    wrong = _resume(mission, pause_id=f"{mission.mission_id}.trip.1-model")
    refusal = await mission.refusal(wrong)
    taken = await _resume(mission, by="ada")
    result = await mission.end()
    first, second = [call.at for call in world.attempts(PLAN_STEP)[1:3]]

    assert refusal.type == "PauseUnknown"
    assert taken == pause
    assert result.status is MissionStatus.SUCCEEDED
    assert second - first < timedelta(minutes=10)
    await replays_at_every_task(mission.handle)


async def test_a_person_changes_the_model_to_one_that_can_be_asked(
    stage: Stage, world: FakeWorld
) -> None:
    """A name that no provider has is refused, and the leg goes on waiting."""
    world.model_problems["opnai:gpt-5"] = "no provider is called 'opnai'; did you mean openai?"
    mind = Broken(REFUSED, good="anthropic:claude")
    mission = await _booked(stage, world, mind)
    await _pause(mission)
    refusal = await mission.refusal(_resume(mission, action="change_model", model="opnai:gpt-5"))
    unnamed = await mission.refusal(_resume(mission, action="change_model"))
    await _resume(mission, action="change_model", model="anthropic:claude", by="ada")
    result = await mission.end()

    assert refusal.type == unnamed.type == "ModelUnusable"
    assert "did you mean openai?" in refusal.message
    assert mind.asked[-1] == "anthropic:claude"
    assert result.status is MissionStatus.SUCCEEDED
    change = result.legs[0].model_changes[-1]
    assert (change.model, change.by) == ("anthropic:claude", "ada")
    await replays_at_every_task(mission.handle)


async def test_after_a_persons_word_the_intervals_begin_anew(
    stage: Stage, world: FakeWorld
) -> None:
    """Who has mended something, and not all of it, does not wait a quarter of an hour."""
    mind = Broken(REFUSED)
    mission = await _booked(stage, world, mind)
    for _ in range(3):
        await _pause(mission)
        await _resume(mission, by="ada")

    async def asked_again() -> ModelPause | None:
        pause = (await mission.waiting("trip")).pause
        return pause if pause is not None and len(mind.asked) >= 4 else None

    await mission.eventually(asked_again)
    times = [call.at for call in world.attempts(PLAN_STEP)[1:]]
    mind.heals = True
    await mission.end()
    after = world.attempts(PLAN_STEP)[1:][len(times)].at

    assert after - times[-1] < timedelta(minutes=1)


async def test_a_pause_says_the_trouble_of_each_model_that_was_asked(
    stage: Stage, world: FakeWorld
) -> None:
    """The one that a person chose, and the one that the agent has, with what helps for each."""
    chosen = ModelRefused("ollama:qwen3", "404, it has no such model", "name one that it has")
    mind = Mind(REFUSED, chosen, *[REFUSED] * 3)
    mission = await _booked(stage, world, mind)
    await _pause(mission)
    await _resume(mission, action="change_model", model="ollama:qwen3", by="ada")

    async def look() -> ModelPause | None:
        pause = (await mission.waiting("trip")).pause
        return pause if pause is not None and pause.attempts > 1 else None

    pause = await mission.eventually(look)
    assert (await mission.end()).status is MissionStatus.SUCCEEDED
    assert pause.sentence.startswith(
        "waits for the model provider: ollama:qwen3: 404, it has no such model; name one that it "
        "has; then openai:gpt-5: 401, it does not take the key; set OPENAI_API_KEY; retried at "
    )


async def test_a_person_gives_up(stage: Stage, world: FakeWorld) -> None:
    """The leg is lost, with who said so; what it booked is cancelled."""
    mission = await _booked(stage, world, Broken(REFUSED))
    await _pause(mission)
    await _resume(mission, action="give_up", by="ada")
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert result.error is not None
    assert result.error.startswith("ada gave up waiting for the model provider: 401")


async def test_a_mission_is_cancelled_while_its_leg_is_paused(
    stage: Stage, world: FakeWorld
) -> None:
    """At once, and rolled back; its leg waits for nothing any more."""
    mission = await _booked(stage, world, Broken(REFUSED))
    await _pause(mission)
    await mission.handle.cancel()
    result = await mission.over()
    leg = await mission.leg("trip")
    shown = (await mission.handle.describe()).typed_search_attributes

    assert result.status is MissionStatus.CANCELLED
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert leg.status is LegStatus.CANCELLED
    assert leg.pause is None
    assert not shown.get(WAITING_FOR)


async def test_several_legs_pause_at_a_time_each_by_itself(stage: Stage, world: FakeWorld) -> None:
    """One is resumed, the other waits on."""
    minds = {leg: Mind(REFUSED) for leg in ("out", "back")}
    world.plan(*(fake_leg(leg) for leg in minds))
    for leg, mind in minds.items():
        world.decide(leg, BOOK, mind)
    mission = await stage.start()
    for leg in minds:
        await _pause(mission, leg)
    await _resume(mission, "out")

    async def out_is_over() -> bool | None:
        return (await mission.leg("out")).status is LegStatus.SUCCEEDED or None

    await mission.eventually(out_is_over)
    assert (await mission.leg("back")).status is LegStatus.AWAITING_MODEL
    await _resume(mission, "back")
    assert (await mission.end()).status is MissionStatus.SUCCEEDED


async def test_the_next_model_of_the_list_is_asked_before_anything_waits(
    stage: Stage, world: FakeWorld
) -> None:
    """Whose provider is down is passed over, and that is recorded."""
    mind = Broken(REFUSED, good="anthropic:claude")
    agent = _agent("openai:gpt-4", "anthropic:claude")
    mission = await _booked(stage, world, mind, agent=agent)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert mind.asked == ["openai:gpt-5", "openai:gpt-4", "anthropic:claude"]
    changes = [(one.model, one.why) for one in result.legs[0].model_changes]
    assert changes[-1] == ("anthropic:claude", REFUSED.reason)


BAD = DecisionInvalid("the answer calls no tool; call exactly one")


async def test_answers_of_no_use_cost_a_step_each(stage: Stage, world: FakeWorld) -> None:
    """The next step is told of it; the mission goes on."""
    mind = Mind(BAD, BAD)
    mission = await _booked(stage, world, mind)
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert [s.outcome for s in result.legs[0].steps] == [
        "succeeded",
        "unusable",
        "unusable",
        "done",
    ]
    last = mind.contexts[-1].observations[-1]
    assert (last.tool, last.outcome, last.error) == ("answer", "unusable", str(BAD))
    await replays_at_every_task(mission.handle)


async def test_after_too_many_of_them_another_model_goes_on_and_then_a_person_is_asked(
    stage: Stage, world: FakeWorld
) -> None:
    """A name that cannot be is refused; the new model starts with a clean slate."""
    world.model_problems["foo:bar"] = "no provider of models is called 'foo'"
    mind = Broken(BAD, good="anthropic:claude")
    agent = _agent("openai:gpt-4", max_bad_answers=2)
    mission = await _booked(stage, world, mind, agent=agent)
    pause = await _pause(mission)
    id_ = pause.pause_id
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await _resume(mission, pause_id=id_, action="change_model", model="foo:bar")
    await _resume(mission, pause_id=id_, action="change_model", model="anthropic:claude", by="ada")
    result = await mission.end()

    assert pause.model == "openai:gpt-4"
    assert pause.reason == f"2 answers of no use, the last: {BAD}"
    assert pause.retried_at is None
    assert "no provider of models is called 'foo'" in str(refused.value.cause)
    assert mind.asked == [*["openai:gpt-5"] * 2, *["openai:gpt-4"] * 2, "anthropic:claude"]
    assert result.status is MissionStatus.SUCCEEDED
    await replays_at_every_task(mission.handle)


@pytest.mark.parametrize(
    ("action", "status"),
    [("retry", MissionStatus.SUCCEEDED), ("give_up", MissionStatus.ROLLED_BACK)],
)
async def test_a_person_says_what_follows_answers_of_no_use(
    stage: Stage, world: FakeWorld, action: str, status: MissionStatus
) -> None:
    """The same model again, or the end of this part."""
    mind = Broken(BAD)
    mission = await _booked(stage, world, mind, agent=_agent(max_bad_answers=1))
    await _pause(mission)
    mind.heals = True
    await _resume(mission, action=action, by="ada")

    assert (await mission.end()).status is status


async def test_a_model_that_a_person_chose_is_asked_again_after_a_round_that_failed(
    stage: Stage, world: FakeWorld
) -> None:
    """One bad moment of it is no reason to go back to the models that it took the place of."""
    chosen = ModelUnavailable("ollama:qwen3", "503, it is overloaded or down")
    mind = Mind(REFUSED, *[chosen] * 4, *[REFUSED] * 2)
    mission = await _booked(stage, world, mind)
    await _pause(mission)
    await _resume(mission, action="change_model", model="ollama:qwen3", by="ada")
    await mission.end()

    assert mind.asked[-1] == "ollama:qwen3"
