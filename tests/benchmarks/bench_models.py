"""What the demo's missions take when a model plans them, beside the planner by rules.

The model is scripted, and asked over a real wire: it decides as the rules would, from its prompt
alone. So tokens and requests are those of a model that errs in nothing; a real one asks more often.
Costs are list prices of genai-prices as it is installed.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.llm.meta_tools import META_TOOLS
from orchestrator.settings import bundled_specs
from orchestrator.testing.model_server import ModelServer, ReceivedRequest
from orchestrator.testing.model_server.rule_model import RuleModel
from tests.benchmarks.figure import Figure

MODEL: Final = "openai:gpt-5"
_META: Final = frozenset(meta.name for meta in META_TOOLS)
_COUNTED: Final = ("requests", "input_tokens", "cached_tokens", "output_tokens")


def run() -> list[Figure]:
    """The three missions by rules, and by a model."""
    return asyncio.run(_run())


async def _run() -> list[Figure]:
    by_rules = await _demo({"ORCHESTRATOR_PLANNER": "chaining"})
    async with ModelServer(RuleModel(Catalog.load(bundled_specs()))) as server:
        by_model = await _demo(server.environment, f"--model={MODEL}")
        asked = list(server.requests)
    return [
        *(f for mission in by_rules for f in _figures(mission, "rules")),
        *(f for mission in by_model for f in _figures(mission, MODEL)),
        Figure(
            name="tools shown to the model, mean", value=fmean(map(_shown, asked)), unit="tools"
        ),
        Figure(name="tools shown to the model, most", value=max(map(_shown, asked)), unit="tools"),
    ]


def _shown(request: ReceivedRequest) -> int:
    return len(request.tools.keys() - _META)


async def _demo(more: Mapping[str, str], *options: str) -> list[dict[str, Any]]:
    ours = {name: value for name, value in os.environ.items() if "ORCHESTRATOR" not in name}
    ran = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orchestrator", "demo", "--json", *options),
        stdout=asyncio.subprocess.PIPE,
        env={**ours, **more},
    )
    output, _ = await ran.communicate()
    return list(json.loads(output)["missions"])


def _figures(mission: Mapping[str, Any], planner: str) -> Iterator[Figure]:
    row = (f"{mission['name']}, {planner}",)
    legs = mission["result"]["legs"]
    yield Figure(name="steps", value=sum(len(leg["steps"]) for leg in legs), unit="", row=row)
    for name in _COUNTED:
        used = sum(leg["usage"][name] for leg in legs)
        yield Figure(name=name.replace("_", " "), value=used, unit="", row=row)
    cost = sum(float(leg["usage"]["cost_usd"]) for leg in legs)
    yield Figure(name="cost, US cents", value=100 * cost, unit="", row=row)
    yield Figure(name="time", value=mission["seconds"], unit="s", row=row)
