"""A few goals of the benchmark in every test run: what they leave behind is what was wished."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.goals.models import load
from tests.benchmarks.goals.running import installation
from tests.benchmarks.goals.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

KEPT = (
    "fit-consequences-7",
    "fit-legs-2",
    "fit-impossible-3",
    "fit-missing-5",
    "fit-conditions-2",
    "fit-plurals-1",
    "fit-corrections-3",
    "fit-negations-1",
    "fit-currencies-2",
    "fit-languages-3",
    "fit-cancels-6",
    "fit-names-2",
)
"""One of each category but two, those that end soon."""


@pytest.fixture(scope="module")
async def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """The verdicts on them, driven side by side on an installation of their own."""
    goals = [goal for goal in load("fit", datetime.now(UTC).date()) if goal.id in KEPT]
    folder: Path = tmp_path_factory.mktemp("goals") / "state"
    async with installation(folder) as here:
        found = await asyncio.gather(*map(here.try_out, goals))
    return {verdict.goal.id: verdict for verdict in found}


@pytest.mark.parametrize("goal_id", KEPT)
def test_a_goal_leaves_behind_what_was_wished(goal_id: str, verdicts: dict[str, Verdict]) -> None:
    """It is done, or asked about; nothing is wrong, and no part is told as the whole."""
    verdict = verdicts[goal_id]

    assert verdict.outcome in ("right", "asked rightly"), verdict
