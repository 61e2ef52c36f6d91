"""The code of docs/extending.md runs, and does what the page says."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest

from orchestrator import AgentProfile, Catalog, GiveUp, GoalBrief, PlannerParts, Router, Settings
from orchestrator.catalog.lint import CODES
from orchestrator.catalog.lint.subject import subjects
from orchestrator.catalog.operations import operations
from orchestrator.cli.main import COMMANDS, main
from orchestrator.json_schema.document import DocumentNode
from orchestrator.planning.models import Observation, StepContext
from orchestrator.planning.planner import check_decision, check_plan
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.scoring.embedding import EmbeddedCards
from orchestrator.runtime.extensions import load_embedder, load_planner
from orchestrator.testing import fake_selection
from tests.shipped import shipped_catalog

_TEXT: Final = (Path(__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8")
_SECTIONS: Final = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", _TEXT, re.MULTILINE | re.DOTALL))


def _code(section: str, language: str = "python") -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", _SECTIONS[section], re.MULTILINE | re.DOTALL)
    return "\n".join(blocks)


def _printed(*lines: str) -> str:
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def module_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    def make(section: str, name: str) -> Any:
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(_code(section), vars(module))
        return module

    return make


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return shipped_catalog()


def _context(goal: str, now: datetime, *seen: Observation) -> StepContext:
    return StepContext(
        mission_id="m",
        leg_id="1-forecast",
        step=len(seen) + 1,
        mission_goal=goal,
        leg_goal=goal,
        agent=AgentProfile(name="forecaster"),
        observations=seen,
        now=now,
        catalog_digest="",
    )


async def test_the_planner_plans(
    module_of: Callable[[str, str], Any], catalog: Catalog, now: datetime
) -> None:
    """A leg, a call that the checks let through, and an end that tells the answer."""
    planner = module_of("A planner", "house_rules").Forecasts()
    goal = "Oslo on 2026-12-03"
    brief = GoalBrief(mission_id="m", goal=goal, now=now, catalog_digest="")
    selection = fake_selection("weather_get_forecast", catalog_size=len(catalog))
    check_plan(await planner.split_goal(brief, catalog, ()))
    context = _context(goal, now)
    call = await planner.plan_step(context, selection, catalog)
    seen = Observation(step=1, tool=call.tool, outcome="succeeded", body="snow")
    end = await planner.plan_step(_context(goal, now, seen), selection, catalog)
    check_decision(call, selection, context, catalog)
    assert call.arguments == {"city": "Oslo", "date": "2026-12-03"}
    assert end.summary == "The forecast: snow"


async def test_the_planner_with_rules_leaves_the_rest_to_the_default(
    module_of: Callable[[str, str], Any], catalog: Catalog, now: datetime
) -> None:
    """It is found by its place, and is given the planner that there would be without it."""
    module_of("A planner", "house_rules")
    (named,) = re.findall(r"ORCHESTRATOR_PLANNER=(\S+:\S+)", _code("A planner", "bash"))
    parts = PlannerParts(Settings(), (), Router, RulePlanner(Router))
    planner = load_planner(named, parts)
    brief = GoalBrief(
        mission_id="m", goal="weather in Oslo tomorrow", now=now, catalog_digest=catalog.digest
    )
    selection = fake_selection("weather_get_forecast", catalog_size=len(catalog))
    plan = await planner.split_goal(brief, catalog, ())
    refused = await planner.plan_step(_context("To the casino", now), selection, catalog)

    assert plan == await parts.default.split_goal(brief, catalog, ())
    assert isinstance(refused, GiveUp)


def test_a_program_gives_its_planner_to_the_worker(
    module_of: Callable[[str, str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    async def serve(**arguments: Any) -> None:
        given.update(arguments)

    monkeypatch.setattr("orchestrator.runtime.worker.run_worker", serve)
    module = module_of("A planner", "house_rules")
    module.main()

    assert isinstance(given["planner"], module.Forecasts)


def test_the_embedder_embeds(module_of: Callable[[str, str], Any], catalog: Catalog) -> None:
    """The cards of a catalog, and texts that are near to them."""
    module_of("An embedder", "letters")
    (named,) = re.findall(r"--embedder (\S+)", _code("An embedder", "bash"))
    nearness = EmbeddedCards(catalog, load_embedder(named, Settings())).of(["weather in London"])

    assert nearness.shape == (1, len(catalog))
    assert np.all(nearness <= 1 + 1e-6)


def test_the_card_type_is_one_entry_of_a_table() -> None:
    """In a process of its own: models of content are made of the table when they are imported."""
    lines = (
        "from orchestrator.catalog import card_types",
        "card_types.CARD_TYPES['structured-gift'] = GIFT",
        "from orchestrator.confirmation.card_content import CONTENT_TYPES",
        "print(*CONTENT_TYPES['structured-gift'].model_fields)",
    )

    assert _printed(_code("A card type"), *lines).split() == [
        "kind",
        "items",
        "recipient",
        "times",
        "amounts",
    ]


def test_the_lint_rule_finds_what_it_names(
    module_of: Callable[[str, str], Any], shop: dict[str, Any]
) -> None:
    rule = module_of("A lint rule", "a_rule").short_summary
    shop["paths"]["/orders"]["get"]["summary"] = "Find an order " * 9
    examined = subjects(operations(DocumentNode.of("shop", shop)))
    found = [problem for subject in examined for problem in rule.check(subject)]

    assert rule.code == "ORC016"
    assert [problem.pointer for problem in found] == ["/paths/~1orders/get/summary"]
    assert rule.code not in CODES


def test_the_command_is_one_module_and_one_line(
    module_of: Callable[[str, str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """It stands in the help, and answers in text and in JSON."""
    (tmp_path / "agents.yaml").write_text("- name: traveller\n")
    monkeypatch.setenv("ORCHESTRATOR_AGENTS", str(tmp_path / "agents.yaml"))
    module_of("A command", "orchestrator.cli.profiles_commands")
    monkeypatch.setitem(COMMANDS, "profiles", "The agent profiles of ORCHESTRATOR_AGENTS.")

    def printed(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["orchestrator", *arguments])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    assert "The agent profiles" in printed("--help")
    assert printed("profiles") == "traveller\n"
    assert json.loads(printed("profiles", "--json"))[0]["name"] == "traveller"


def test_the_metric_reaches_the_reader() -> None:
    """In a process of its own: providers can be installed once only."""
    lines = (
        "from opentelemetry.sdk.metrics.export import InMemoryMetricReader",
        "reader = InMemoryMetricReader()",
        "measure(reader)",
        "counted(GiveUp(reason='no'))",
        "print(reader.get_metrics_data().to_json())",
    )
    printed = _printed(_code("A metric"), *lines)

    assert '"name": "house.refused"' in printed
