"""The demo and a chaos run, planned by a scripted model over a real wire."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.settings import bundled_specs
from orchestrator.testing.model_server import ModelServer
from orchestrator.testing.model_server.rule_model import RuleModel

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


async def _run(*command: str, more: Mapping[str, str] = _NOTHING) -> tuple[int | None, Any]:
    ours = {name: value for name, value in os.environ.items() if "ORCHESTRATOR" not in name}
    ran = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orchestrator", *command, "--json"),
        stdout=asyncio.subprocess.PIPE,
        env={**ours, **more},
    )
    output, _ = await ran.communicate()
    return ran.returncode, json.loads(output)


@pytest.mark.long
@pytest.mark.parametrize(
    "model", ["openai:gpt-5", "openai-chat:gpt-5", "anthropic:claude-sonnet-5-5"]
)
async def test_the_missions_of_the_demo_are_planned_by_a_model(model: str) -> None:
    """Success, rollback and a killed worker, by each of the three APIs; every request fits it."""
    async with ModelServer(RuleModel(Catalog.load(bundled_specs()))) as server:
        options = ("--planner=llm", f"--model={model}")
        code, report = await _run("demo", *options, more=server.environment)

    assert code == 0, report
    results = [mission["result"] for mission in report["missions"]]
    assert [result["status"] for result in results] == ["succeeded", "rolled_back", "succeeded"]
    legs = [leg for result in results for leg in result["legs"]]
    assert sum(leg["usage"]["requests"] for leg in legs) <= len(server.requests)
    assert len(server.requests) > 15


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_chaos_run_is_planned_by_a_model() -> None:
    """Trouble of the model among all other trouble, and every invariant is kept."""
    faults = "--faults=model,kill-worker,drop-after,5xx,breach,refuse-cancel,cancel"
    options = ("--planner=llm", "--missions=8", "--workers=2", "--seed=11", faults)
    code, report = await _run("chaos", "run", *options)

    assert (code, report["breaches"]) == (0, [])
    assert (report["missions"], report["orphans"], report["duplicates"]) == (8, 0, 0)
    assert report["fault_counts"]["model"]["fired"] > 0
