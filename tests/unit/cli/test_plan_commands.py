"""`orchestrator mission plan`, and `mission start --plan-first`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.errors import PlanError
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.plan_preview import PlannedLeg, PlanPreview
from tests.commands import Ran

Run = Callable[..., Ran]

PREVIEW = PlanPreview(
    goal="Book a table",
    digest="d" * 64,
    legs=(PlannedLeg(leg_id="1-dining", goal="Book a table", agent="dining", stage=1),),
    catalog_digest="c",
)


class Client:
    """Plans everything alike, or nothing, and keeps what it is asked."""

    def __init__(self) -> None:
        self.refusal = ""
        self.started: list[MissionRequest] = []

    async def plan(self, request: MissionRequest) -> PlanPreview:
        if self.refusal:
            raise PlanError(self.refusal, code="PlanRefused")
        return PREVIEW

    async def start(self, request: MissionRequest) -> MissionHandle:
        self.started.append(request)
        return MissionHandle(None, request.mission_id or "")  # type: ignore[arg-type]


@pytest.fixture
def client(connect_to: Callable[[Any], Any]) -> Any:
    return connect_to(Client())


def test_scripts_get_the_document(client: Client, run: Run) -> None:
    ran = run("mission", "plan", "Book a table", "--json")

    assert PlanPreview.model_validate(json.loads(ran.stdout)) == PREVIEW


def test_an_impossible_goal_is_one_sentence_and_exit_code_1(client: Client, run: Run) -> None:
    client.refusal = "no tool fits 'sing'; name something the tools can do"
    plain, script = run("mission", "plan", "sing"), run("mission", "plan", "sing", "--json")

    assert (plain.exit_code, plain.stdout) == (1, "")
    assert plain.stderr == f"orchestrator: {client.refusal}\n"
    assert script.exit_code == 1
    assert json.loads(script.stdout) == {"goal": "sing", "refusal": client.refusal}


def test_plan_first_only_tightens_the_policy_of_the_settings(
    client: Client, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it says stays said; so does that of a policy of one's own."""
    settings, own = tmp_path / "settings.yaml", tmp_path / "own.yaml"
    settings.write_text("answer_expiry: PT1H")
    own.write_text("answer_expiry: PT2H")
    monkeypatch.setenv("ORCHESTRATOR_MISSION_POLICY", str(settings))
    run("mission", "start", "sing", "--plan-first")
    run("mission", "start", "sing", "--plan-first", "--policy", str(own))
    run("mission", "start", "sing")
    policies = [request.policy for request in client.started]

    assert [(p.plan_first, p.answer_expiry.total_seconds() / 3600) for p in policies[:2]] == [
        (True, 1),
        (True, 2),
    ]
    assert "policy" not in client.started[2].model_fields_set
