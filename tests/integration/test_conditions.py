"""Conditions of goals on the real stack: looked up first, then decided visibly."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.runtime.demo import day_in
from orchestrator.testing import approve, eventually, run_to_end

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

CITY = "Oslo"
EITHER = (
    "If it rains in Oslo on {day}, remind me on {day} at 08:00 to take an umbrella, "
    "otherwise remind me on {day} at 09:00 to take sunglasses"
)
BRAVE = "Unless Bo is afraid of the dark, remind me on {day} at 08:00 to buy candles"


@pytest.fixture(scope="module")
async def days(stack: Stack) -> dict[str, str]:
    """A day of each weather, of those that the forecast knows."""
    found: dict[str, str] = {}
    async with httpx.AsyncClient(base_url=f"{stack.sandbox_url}/weather") as weather:
        for ahead in range(2, 60):
            day = day_in(ahead)
            answer = await weather.get("/forecast", params={"city": CITY, "date": day})
            found.setdefault(answer.json()["condition"], day)
    return found


async def _done(
    client: MissionClient, sandbox: Witness, goal: str
) -> tuple[MissionResult, list[str]]:
    result = await run_to_end(await client.start(MissionRequest(goal=goal)), approve)
    live = await sandbox.live(result.mission_id)
    return result, [str(sandbox.resource(e["resource_id"])["reminder_text"]) for e in live]


async def test_what_the_forecast_says_decides_which_of_two_is_done(
    client: MissionClient, sandbox: Witness, days: dict[str, str]
) -> None:
    """One reminder on either day; the other one is left out, and the result says why."""
    (wet, took), (dry, took_else) = await asyncio.gather(
        *(_done(client, sandbox, EITHER.format(day=days[sky])) for sky in ("rain", "clear"))
    )

    for result in (wet, dry):
        assert result.status is MissionStatus.SUCCEEDED, result.error
        assert [leg.status for leg in result.legs].count(LegStatus.SKIPPED) == 1
        assert result.legs[0].decided[0].why
    assert ["umbrella" in text for text in took] == [True]
    assert ["sunglasses" in text for text in took_else] == [True]
    assert "Not done: " in wet.summary
    assert "condition: clear" in dry.summary


async def test_what_no_tool_tells_is_asked_before_anything_is_done(
    client: MissionClient, sandbox: Witness
) -> None:
    """And who says that it is so has nothing done."""
    mission = await client.start(MissionRequest(goal=BRAVE.format(day=day_in(45))))
    (question,) = await eventually(mission.questions)
    await mission.answer(question.question_id, {"holds": "yes"}, answered_by="ada@example.com")
    result = await mission.result()

    assert "Bo is afraid of the dark" in question.question
    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert await sandbox.live(result.mission_id) == []
    assert "ada@example.com" in result.summary
