"""What a leg costs by the way in which its steps are told to a model, over the wire.

A scripted model looks things up step by step, in the words of OpenAI's Responses API; the server
counts which beginning of each request it has read before, as that provider does: from 1,024 tokens,
in steps of 128. Prices are those of genai-prices as it is installed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money, Usage
from orchestrator.core.errors import ObservationMissing
from orchestrator.planning.llm.meta_tools import META_TOOLS
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import AgentProfile, Observation, StepContext
from orchestrator.planning.one_step import calls_of
from orchestrator.planning.planner import only_reads
from orchestrator.planning.route_context import route_context
from orchestrator.routing.router import Router
from orchestrator.settings import bundled_specs
from orchestrator.testing.model_server import ModelAnswer, ModelServer, ReceivedRequest, call
from tests.benchmarks.figure import Figure

MODEL: Final = "openai:gpt-5"
STEPS: Final = (5, 20, 60)
_BODY: Final = 4_000
"""Characters of each answer."""
_FAILS: Final = 5
"""One call in so many is refused, and the router forwards other tools for the step after it."""
_SPENDS: Final = 4
"""One step in so many leaves less of the budget."""
_GOAL: Final = (
    "find flights and a hotel in Lisbon from 3 to 6 December, check the weather and book a table"
)
_META: Final = frozenset(meta.name for meta in META_TOOLS)
_READ: Final = 0.1
_WRITTEN: Final = 1.25
"""What Anthropic takes for a token that comes from its cache, and that goes there, of one of input;
all that is not read is taken to be written."""


@dataclass(frozen=True)
class Way:
    """How steps are told."""

    name: str
    keeps: bool
    """Whether what was said is kept, and new steps go behind."""
    tool_list: Literal["step", "growing"] = "step"


WAYS: Final = (
    Way("rendered anew at each step", keeps=False),
    Way("appended, tools of the step", keeps=True),
    Way("appended, tools only grow", keeps=True, tool_list="growing"),
)


class _Kept:
    """A store in memory."""

    def __init__(self) -> None:
        self._pieces: dict[str, bytes] = {}

    def put(self, mission_id: str, key: str, piece: bytes) -> None:
        """Keep it."""
        self._pieces[key] = piece

    def get(self, mission_id: str, key: str) -> bytes:
        """Read it."""
        if key not in self._pieces:
            raise ObservationMissing(mission_id)
        return self._pieces[key]


def run() -> list[Figure]:
    """Tokens and cost of legs of a few, some and many steps, each way."""
    catalog = Catalog.load(bundled_specs())
    router = Router(catalog)
    return [
        figure
        for steps in STEPS
        for way in WAYS
        for figure in _figures(way, steps, asyncio.run(_leg(way, steps, catalog, router)))
    ]


async def _leg(way: Way, steps: int, catalog: Catalog, router: Router) -> Usage:
    """What the model takes of a leg; each of its calls is answered."""
    agent = AgentProfile(name="travel", model=MODEL, tool_list=way.tool_list)
    context = StepContext(
        mission_id="m",
        leg_id="l",
        step=1,
        mission_goal=_GOAL,
        leg_goal=_GOAL,
        agent=agent,
        now=datetime(2026, 11, 21, 10, 0, tzinfo=UTC),
        catalog_digest="",
        budget_left=_left_after(0),
    )
    usages: list[Usage] = []
    async with ModelServer(lambda asked: _looks_up(asked, catalog)) as server:
        planner = LlmPlanner(models=server.model, pieces=_Kept() if way.keeps else None)
        for step in range(1, steps + 1):
            selection = router.route(context.leg_goal, route_context(context), now=context.now)
            planned = await planner.plan_step(context, selection, catalog)
            usages.append(planned.usage or Usage())
            (made,) = calls_of(planned.decision)
            fails = step % _FAILS == 0
            seen = Observation(
                step=step,
                tool=made.tool,
                arguments=made.arguments,
                outcome="rejected" if fails else "succeeded",
                error="no room for this date" if fails else None,
                body=None if fails else _answer(step),
            )
            shown = (*context.forwarded, *selection.tools) if way.tool_list == "growing" else ()
            context = context.model_copy(
                update={
                    "step": step + 1,
                    "observations": (*context.observations, seen),
                    "conversation": planned.conversation,
                    "forwarded": tuple(dict.fromkeys(shown)),
                    "budget_left": _left_after(step),
                }
            )
    return Usage.total(usages)


def _looks_up(asked: ReceivedRequest, catalog: Catalog) -> ModelAnswer:
    """One of the tools that are shown and only read, another one at each step."""
    shown = [name for name in asked.tools if name not in _META]
    reads = sorted(name for name in shown if only_reads(catalog.tool(name)))
    return call(reads[asked.number % len(reads)])


def _left_after(step: int) -> Money:
    return Money(amount=Decimal(2_000 - 20 * (step // _SPENDS)), currency="EUR")


def _answer(step: int) -> JsonValue:
    text = f"answer {step}: " + "a room, a table, a seat; " * 200
    return text[:_BODY]


def _figures(way: Way, steps: int, usage: Usage) -> Sequence[Figure]:
    row = (f"{steps} steps", way.name)
    fresh = usage.input_tokens - usage.cached_tokens
    anthropic = fresh * _WRITTEN + usage.cached_tokens * _READ
    return (
        Figure(name="tokens in", value=usage.input_tokens, unit="", row=row),
        Figure(
            name="from the cache",
            value=100 * usage.cached_tokens / max(1, usage.input_tokens),
            unit="%",
            row=row,
        ),
        Figure(name="gpt-5", value=float(usage.cost_usd), unit="USD", row=row),
        Figure(name="at Anthropic's ratios, as input", value=anthropic, unit="tokens", row=row),
    )
