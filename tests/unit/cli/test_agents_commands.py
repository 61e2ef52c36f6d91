"""`orchestrator agents check`: 0 when a worker can run with the file, 1 with what is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import UsageError
from orchestrator.planning.models import AgentProfile
from orchestrator.runtime.extensions import load_profiles
from orchestrator.settings import Settings
from tests.commands import Ran

Run = Callable[..., Ran]
WRONG = "- name: office\n  domains: [mesages]\n- name: fares\n  model: opnai:gpt-5\n"
RIGHT = "- name: office\n  domains: [messages]\n- name: anyone\n"


def test_a_good_file_is_told_with_what_each_agent_may_use(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(RIGHT)
    ran = run("agents", "check", "agents.yaml")
    as_json = run("agents", "check", "agents.yaml", "--json")

    assert ran.exit_code == as_json.exit_code == 0
    assert ran.stdout.splitlines()[1] == "anyone: may use 93 of 93 tools"
    assert as_json.json == {
        "file": "agents.yaml",
        "agents": [{"name": "office", "tools": 11}, {"name": "anyone", "tools": 93}],
        "faults": [],
        "missing": [],
    }


def test_every_fault_is_a_line_with_file_agent_key_and_remedy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(WRONG)
    ran = run("agents", "check", "agents.yaml")
    as_json = run("agents", "check", "agents.yaml", "--json")

    assert ran.exit_code == as_json.exit_code == 1
    assert ran.stdout.splitlines()[2:] == [
        "agents.yaml: agent office: domains: no tool is of the domain 'mesages'; "
        "did you mean messages?",
        "agents.yaml: agent fares: model: no provider of models is called 'opnai'; "
        "did you mean openai?",
    ]
    found = [(fault["agent"], fault["key"]) for fault in as_json.json["faults"]]
    assert found == [("office", "domains"), ("fares", "model")]


def test_the_tools_are_those_of_the_given_documents(run: Run, crm: Path, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(RIGHT)
    ran = run("agents", "check", "agents.yaml", "--specs", str(crm))
    assert ran.exit_code == 1
    assert "no tool is of the domain 'messages'" in ran.stdout


@pytest.mark.parametrize("content", [None, "name: office", "[", ""])
def test_what_is_no_list_of_profiles_is_refused(
    run: Run, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "agents.yaml").write_text(content)
    ran = run("agents", "check", "agents.yaml")
    assert ran.exit_code == 2
    assert ran.stderr.startswith("orchestrator: agents.yaml cannot be read: ")
    assert len(ran.stderr.splitlines()) == 1


def test_a_worker_does_not_begin_with_a_wrong_file(shipped: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text(WRONG)
    settings = Settings(agents=file)

    with pytest.raises(UsageError, match=r"agent office: domains: .*1 more; see: orchestrat"):
        load_profiles(settings, shipped)
    file.write_text(RIGHT)
    assert [agent.name for agent in load_profiles(settings, shipped)] == ["office", "anyone"]
    assert load_profiles(Settings(), shipped) == ()


def test_models_are_the_affair_of_a_planner_of_ones_own(shipped: Catalog, tmp_path: Path) -> None:
    """What `model` means to it is not for us to say."""
    file = tmp_path / "agents.yaml"
    file.write_text("- name: fares\n  model: our-own-brain\n")
    expected = (AgentProfile(name="fares", model="our-own-brain"),)
    assert load_profiles(Settings(agents=file), shipped, own_planner=True) == expected
    assert load_profiles(Settings(agents=file, planner="ours:make"), shipped) == expected


@pytest.mark.parametrize(
    ("keys", "at_fault"),
    [
        ("model: foo:bar", "model"),
        ("model: 'openai:'", "model"),
        ("fallback: [openai:a, foo:b]", "fallback.1"),
        ("model: openai:a\n  fallback: [openai:a]", "fallback"),
        ("planner: chaining\n  model: openai:a", "model"),
        ("planner: nowhere:make", "planner"),
        ("planner: rules", "planner"),
    ],
    ids=["provider", "no model", "fallback", "twice", "never asked", "own", "no planner"],
)
def test_who_decides_is_checked(run: Run, tmp_path: Path, keys: str, at_fault: str) -> None:
    """Before a leg needs it: there it would sink its mission."""
    (tmp_path / "agents.yaml").write_text(f"- name: a\n  {keys}\n")
    ran = run("agents", "check", "agents.yaml", "--json")

    assert ran.exit_code == 1
    assert [(fault["agent"], fault["key"]) for fault in ran.json["faults"]] == [("a", at_fault)]


def test_a_missing_key_is_told_and_no_fault_of_the_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys are where the worker runs; a worker does not begin without."""
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "agents.yaml").write_text("- name: a\n  model: openai:gpt-5\n")
    ran = run("agents", "check", "agents.yaml")

    assert ran.exit_code == 0
    assert "to be set where its worker runs: agent a: model: openai:gpt-5" in ran.stdout
    assert "set OPENAI_API_KEY where the worker runs" in ran.stdout
