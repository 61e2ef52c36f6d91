"""An offsite that a model splits and carries out, over a wire, on real parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionRequest, MissionResult, MissionStatus
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.llm.splitting import ModelSplitter
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.testing import approve, eventually
from orchestrator.testing.model_server.model_server import ModelServer
from orchestrator.testing.model_server.replies import say
from orchestrator.testing.model_server.rule_model import RuleModel
from tests.integration.installations import served_by
from tests.shipped import shipped_catalog

if TYPE_CHECKING:
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness


def _said(days: int) -> str:
    """A day to come, as people write it."""
    day = datetime.now(UTC).date() + timedelta(days=days)
    return f"{day.day} {day:%B %Y}"


ARRIVAL, DEPARTURE = _said(9), _said(11)
GOAL = (
    f"An offsite in Porto for 12 people on {ARRIVAL}: flights from Berlin, a hotel until "
    f"{DEPARTURE}, a table for dinner at 19:00, the weather, a car until {DEPARTURE}, "
    "and email bo@example.com that the offsite is booked"
)
WHEN = ("in Porto", "for 12 people", f"on {ARRIVAL}")


ORDERED = {
    "flights": "flight_book_offer",
    "hotels": "hotel_book_room",
    "dining": "dining_reserve_table",
    "cars": "car_book_offer [confirm]",
    "messages": "send_email",
}


def _leg(name: str, agent: str, goal: str, *serves: str, after: tuple[str, ...] = ()) -> JsonObject:
    needs: list[JsonValue] = [{"leg": one, "what": "what was booked"} for one in after]
    orders: list[JsonValue] = [{"tool": ORDERED[agent]}] if agent in ORDERED else []
    told: JsonObject = {"id": name, "agent": agent, "goal": goal, "quotes": [*serves]}
    return {**told, "orders": orders, "needs": needs}


LEGS: list[JsonValue] = [
    _leg(
        "1-flights",
        "flights",
        f"Book flights from Berlin to Porto for 12 people on {ARRIVAL}",
        *WHEN,
        "flights from Berlin",
    ),
    _leg(
        "2-hotel",
        "hotels",
        f"Book a hotel in Porto for 12 people from {ARRIVAL} until {DEPARTURE}",
        f"a hotel until {DEPARTURE}",
        *WHEN[:2],
    ),
    _leg(
        "3-dinner",
        "dining",
        f"Book a table for dinner in Porto for 12 people on {ARRIVAL} at 19:00",
        "a table for dinner at 19:00",
        *WHEN,
    ),
    _leg(
        "4-weather",
        "weather",
        f"Look up the weather in Porto on {ARRIVAL}",
        "the weather",
        "in Porto",
    ),
    _leg(
        "5-car",
        "cars",
        f"Book a car in Porto from {ARRIVAL} until {DEPARTURE}",
        f"a car until {DEPARTURE}",
        "in Porto",
    ),
    _leg(
        "6-team",
        "messages",
        "Email bo@example.com that the offsite is booked",
        "An offsite",
        "email bo@example.com that the offsite is booked",
        after=("1-flights", "2-hotel", "3-dinner"),
    ),
]


async def _driven(mission: MissionHandle) -> tuple[MissionResult, list[str]]:
    """Its result when all is approved and gone on with, and what was asked about."""
    asked: list[str] = []

    async def once() -> bool:
        for card in await mission.confirmations():
            await approve(mission, card)
        for question in await mission.questions():
            await mission.answer(question.question_id, {"answer": "go on"}, answered_by="ann")
            asked.append(question.question)
        return (await mission.snapshot()).finished_at is not None

    await eventually(once, timeout_s=60.0)
    return await mission.result(), asked


@pytest.mark.long
async def test_a_model_splits_an_offsite_and_books_it(stack: Stack, sandbox: Witness) -> None:
    """Corrected once; nothing of its plan is asked about, and each order has its effect."""
    catalog = shipped_catalog()
    router = Router(catalog)
    async with ModelServer(RuleModel(catalog, plans={GOAL: {"legs": LEGS}})) as server:
        server.next(say("Gladly."))
        name = "openai-chat:gpt-5"
        splitter = ModelSplitter(server.model)
        planner = PerAgentPlanner(
            RulePlanner(lambda of: router),
            lambda: LlmPlanner(default_model=name, models=server.model),
            default_model=name,
            splitter=lambda: splitter,
        )
        async with served_by(stack, planner, "offsite") as client:
            mission = await client.start(MissionRequest(goal=GOAL))
            result, asked = await _driven(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert [leg.agent for leg in result.legs] == [
        "flights",
        "hotels",
        "dining",
        "weather",
        "cars",
        "messages",
    ]
    assert asked == []
    assert result.uncovered == ()
    assert result.plan_made_by.sentence == f"planned by the model {name}, corrected once"
    made = [effect["operation"] for effect in await sandbox.live(result.mission_id)]
    assert sorted(map(str, made)) == sorted(
        [
            "flight_book_offer",
            "hotel_book_room",
            "dining_reserve_table",
            "car_book_offer",
            "message_send_email",
        ]
    )
