"""What models take in an activity is kept, whatever becomes of the attempt."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from orchestrator.activities import boundary
from orchestrator.activities.boundary import metered
from orchestrator.core.budget import Usage
from orchestrator.messages.failure_details import UsageSoFar
from orchestrator.planning.metering import count, show
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import failure_of

ASKED = Usage(requests=1, input_tokens=900, output_tokens=40, cost_usd=Decimal("0.02"))


async def asks(error: Exception | None = None, times: int = 1) -> Usage:
    """An attempt that is answered so often, and then fails or not."""
    async with metered() as meter:
        for _ in range(times):
            count(ASKED)
        if error is not None:
            raise error
        return meter.usage


def environment(*details: Any) -> tuple[ActivityEnvironment, list[Any]]:
    """One whose earlier attempt left these details, and what this one beats."""
    env, beats = of_mission(heartbeat_details=details), []
    env.on_heartbeat = lambda *told: beats.append(told)
    return env, beats


async def test_each_answer_is_told_to_the_server_at_once() -> None:
    """So that a worker that dies after it has lost nothing: an attempt goes on from its details.

    They come as JSON.
    """
    env, beats = environment()
    again, _ = environment(UsageSoFar(usage_so_far=ASKED).model_dump(mode="json"))

    assert await env.run(asks, None, 2) == ASKED.plus(ASKED)
    assert [beat[-1].usage_so_far.requests for beat in beats if beat] == [1, 2]
    assert await again.run(asks) == ASKED.plus(ASKED)


async def test_a_failure_says_what_was_taken_and_is_the_same_otherwise() -> None:
    """After its own details; how it is tried again stays. A defect of any type says it too."""
    refused = ApplicationError("no key", {"variable": "KEY"}, type="Paused", non_retryable=True)
    env, _ = environment()
    failed = await failure_of(env.run(asks, refused))
    defect = await failure_of(env.run(asks, TypeError("a defect")))

    assert (failed.message, failed.type, failed.non_retryable) == ("no key", "Paused", True)
    first, last = failed.details
    assert first == {"variable": "KEY"}
    found = UsageSoFar.found_in([last.model_dump(mode="json")])
    assert found == UsageSoFar(usage_so_far=ASKED)
    assert (defect.message, defect.type) == ("a defect", "TypeError")
    assert not defect.non_retryable


async def test_where_nothing_was_asked_a_failure_is_left_as_it_is() -> None:
    """No planner by rules has anything to tell."""
    env, beats = environment()
    defect = TypeError("a defect")
    with pytest.raises(TypeError) as failed:
        await env.run(asks, defect, 0)

    assert failed.value is defect
    assert [beat for beat in beats if beat] == []


async def test_no_beat_of_the_activity_drops_what_was_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A beat replaces the details of the last one, so what meters within it has no beat of its own.

    The text of an answer is sent while it arrives, and no longer; a failure never has it.
    """
    monkeypatch.setattr(boundary, "_BEAT_S", 0.01)

    async def thinks() -> None:
        async with metered():
            async with metered():
                show("I will look")
                await asyncio.sleep(0.1)
                show("")
                count(ASKED)
            await asyncio.sleep(0.1)
            show("I will book")
            raise TypeError("a defect")

    env, beats = environment()
    failed = await failure_of(env.run(thinks))
    before, after = (
        [beat for beat in beats if beat[-1].usage_so_far == usage] for usage in (Usage(), ASKED)
    )
    assert len(before) > 2 < len(after)
    assert len(before) + len(after) == len(beats)
    assert {(beat[-1].text, beat[-1].attempt) for beat in before} == {("I will look", 1)}
    assert {beat[-1].text for beat in after} == {""}
    assert failed.details[-1].text == ""


async def test_outside_of_an_activity_nothing_is_counted() -> None:
    """A program that asks a planner by itself has no meter."""
    count(ASKED)
