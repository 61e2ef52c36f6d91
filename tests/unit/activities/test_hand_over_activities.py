"""What a worker does to make a leg of a hand-over."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from temporalio.testing import ActivityEnvironment

from activities import hand_over_activities
from activities.hand_over_activities import HandOverActivities
from orchestrator.messages.hand_over import HandOverAsked, HandOverInput, HandOverPlan
from orchestrator.planning.models import AgentProfile, LegPlan
from orchestrator.routing.router import Router
from orchestrator.testing.memory import MemoryCatalogs

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from orchestrator.catalog.catalog import Catalog

FLYER = AgentProfile(name="flyer", domains=("flights",), hands_over_to=("hotelier",))
HOTELIER = AgentProfile(name="hotelier", domains=("hotels",))
ASKED = HandOverAsked(
    hand_over_id="m.1-flight.1", leg_id="1-flight", agent="hotelier", goal="Book a hotel in Oslo"
)


async def test_reading_its_orders_holds_up_nobody_else(
    shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large catalog takes seconds to index: other activities tell meanwhile that they live."""
    threads: list[threading.Thread] = []

    def router(catalog: Catalog) -> Router:
        threads.append(threading.current_thread())
        return Router(catalog)

    async def asks_for_it(*_: object) -> list[HandOverAsked]:
        return [ASKED]

    monkeypatch.setattr(hand_over_activities, "query_or_none", asks_for_it)
    monkeypatch.setattr("temporalio.activity.client", _Client)
    catalogs = MemoryCatalogs()
    catalogs.put(shipped)
    wanted = HandOverInput(
        mission_id="m",
        asked=ASKED,
        asking=LegPlan(leg_id="1-flight", goal="Fly to Oslo and stay there", agent=FLYER),
        new_leg_id="h1-1-flight",
        goal="Fly to Oslo and stay there",
        catalog_digest=shipped.digest,
        now=datetime(2026, 11, 23, tzinfo=UTC),
    )

    activities = HandOverActivities(catalogs, router, (FLYER, HOTELIER))
    plan: HandOverPlan = await ActivityEnvironment().run(activities.plan_hand_over, wanted)

    assert plan.leg is not None, plan.refusal
    assert threads
    assert threading.current_thread() not in threads


class _Client:
    def get_workflow_handle(self, workflow_id: str) -> str:
        return workflow_id
