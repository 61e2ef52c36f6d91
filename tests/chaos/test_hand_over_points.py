"""A mission with a hand-over, struck at each of its points: requests, events and activities."""

from pathlib import Path
from typing import Final

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.chaos_run import MODEL, FaultyModel, ModelledRun, RunOptions
from orchestrator.cli.chaos_runs import ChosenRun, on_a_stack
from orchestrator.core.record import JsonObject
from orchestrator.settings import bundled_specs
from orchestrator.testing.model_server import ModelServer
from orchestrator.testing.model_server.replies import ModelAnswer, ReceivedRequest, call
from orchestrator.testing.model_server.rule_model import PLAN_MISSION, RuleModel, context_of

_TABLE: Final = "Reserve a table for four in Lisbon on 2027-06-04 at 20:00"
_ROOM: Final = "Book a hotel room in Lisbon from 2027-06-04 to 2027-06-06 for two guests"
_GOAL: Final = f"{_TABLE}. {_ROOM}"
_AGENTS: Final = """
- name: waiter
  domains: [dining, hotels]
  hands_over_to: [hotelier]
- name: hotelier
  domains: [hotels]
"""


class Waiter(RuleModel):
    """Plans one leg for two bookings, and hands the room over before it books the table."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self.catalog = catalog

    async def __call__(self, request: ReceivedRequest) -> ModelAnswer:
        """Answer as the rules do, but for the plan and the first step."""
        if PLAN_MISSION in request.tools:
            leg: JsonObject = {
                "id": "trip",
                "agent": "waiter",
                "goal": _TABLE,
                "quotes": [_GOAL],
                "orders": [{"tool": "dining_reserve_table"}, {"tool": "hotel_book_room"}],
            }
            return call(PLAN_MISSION, legs=[leg])
        context = context_of(request, self.catalog)
        if "hand_over" in request.tools and context is not None and not context.observations:
            return call("hand_over", agent="hotelier", goal=_ROOM, reason="it has the hotels")
        return await super().__call__(request)


class Staffed(ModelledRun):
    """A run whose workers know both agents."""

    profiles: Path

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the worker processes."""
        return {**super().variables, "ORCHESTRATOR_AGENTS": str(self.profiles)}


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_hand_over_is_struck_at_each_point(tmp_path: Path) -> None:
    """Succeeding and rolled back: nothing is orphaned, done twice or asked during a rollback."""
    profiles = tmp_path / "agents.yaml"
    profiles.write_text(_AGENTS)
    script = FaultyModel(Waiter(Catalog.load(bundled_specs())), 1, frozenset())
    async with ModelServer(script) as server:
        planned = Staffed(server, script, MODEL)
        planned.profiles = profiles
        report = await on_a_stack(
            ChosenRun(RunOptions(1, frozenset()), goals=(_GOAL,), modelled=planned), tmp_path
        )

    assert report.breaches == ()
    assert report.fault_counts["kill-worker"].fired > 50
