"""`--planner` and `--model`: what they stand for, and what they refuse."""

import pytest

from orchestrator.cli.mission_requests import asked_for
from orchestrator.cli.options import planning_variables
from orchestrator.core.errors import UsageError
from orchestrator.messages.mission import MissionRequest, request_digest


@pytest.mark.parametrize(
    ("planner", "model", "variables"),
    [
        (None, None, {}),
        ("chaining", None, {"ORCHESTRATOR_PLANNER": "chaining"}),
        (None, "a:b", {"ORCHESTRATOR_PLANNER_MODEL": "a:b"}),
        ("llm", "a:b", {"ORCHESTRATOR_PLANNER": "llm", "ORCHESTRATOR_PLANNER_MODEL": "a:b"}),
    ],
)
def test_the_options_stand_for_variables(
    planner: str | None, model: str | None, variables: dict[str, str]
) -> None:
    """So a worker that they are passed on to plans as this command was told."""
    assert planning_variables(planner, model) == variables


def test_a_model_that_is_named_is_asked_where_the_environment_says_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command line is the later word of the same person."""
    monkeypatch.setenv("ORCHESTRATOR_PLANNER", "chaining")

    assert planning_variables(None, "a:b")["ORCHESTRATOR_PLANNER"] == "llm"


def test_rules_with_a_model_are_refused() -> None:
    """One of the two was not meant; nobody guesses which."""
    with pytest.raises(UsageError, match="chaining asks no model"):
        planning_variables("chaining", "a:b")
    with pytest.raises(UsageError, match=r"^the planner chaining asks no model"):
        asked_for("g", planner="chaining", model="a:b")


def test_a_mission_with_another_model_is_another() -> None:
    """Asked for again under its id, it is not answered with what another model did."""
    choices: list[dict[str, str]] = [{}, {"model": "a:b"}, {"model": "a:c"}, {"planner": "llm"}]
    digests = {
        request_digest(MissionRequest.model_validate({"goal": "g", **choice})) for choice in choices
    }

    assert len(digests) == len(choices)
