"""A language school: what is sent and what is answered stands in `data` and its `attributes`."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.accounting.account import with_account
from orchestrator.planning.models import GoalBrief
from orchestrator.planning.orders import with_orders
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router

_NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


@pytest.fixture(scope="module")
def school() -> Catalog:
    return Catalog.load(Path(__file__).with_name("school.yaml"))


@pytest.mark.parametrize(
    "goal",
    [
        "Book a placement test in Japanese for Omar Said on 8 December at 10:30",
        "Book a placement test for Omar Said",
    ],
)
async def test_values_are_taken_however_deep_their_inputs_stand(school: Catalog, goal: str) -> None:
    """The language, the student, the day and the hour are parts of a part of the body."""
    router = Router(school)
    brief = GoalBrief(mission_id="m", goal=goal, now=_NOW, catalog_digest=school.digest)

    plan = await ChainingPlanner(lambda _: router).split_goal(brief, school, ())
    read = with_account(
        with_orders(plan, goal, school, router, now=_NOW), goal, school, router, now=_NOW
    )

    assert read.doubts == ()
