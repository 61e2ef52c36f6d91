"""`orchestrator mission plan`, and `mission start --plan-first`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.client.mission_handle import MissionHandle
from orchestrator.core.errors import PlanRefused
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.plan_preview import PlannedLeg, PlannedTool, PlanPreview
from orchestrator.planning.models import Doubt
from orchestrator.saga.orders import Order
from tests.commands import Ran

Run = Callable[..., Ran]

BOOK = PlannedTool(
    name="book_table",
    title="Book a table",
    is_side_effect=True,
    card_type="structured-reservation",
    undo="undone by cancel_table",
)
PREVIEW = PlanPreview(
    goal="Book a table and feed the cat",
    digest="d" * 64,
    legs=(
        PlannedLeg(
            leg_id="1-dining",
            goal="Book a table",
            agent="dining",
            stage=1,
            tools=(BOOK,),
            orders=(Order(tools=("book_table",), clause="Book a table"),),
        ),
        PlannedLeg(
            leg_id="2-note", goal="note it", agent="notes", stage=2, depends_on=("1-dining",)
        ),
    ),
    uncovered=("feed the cat",),
    doubts=(Doubt(kind="left_over", about="the cat", why="no tool does it"),),
    asks_first=True,
    catalog_digest="c",
)


class Client:
    """Plans everything alike, or nothing, and keeps what it is asked."""

    def __init__(self) -> None:
        self.refusal = ""
        self.started: list[MissionRequest] = []

    async def plan(self, request: MissionRequest) -> PlanPreview:
        """The preview."""
        if self.refusal:
            raise PlanRefused(self.refusal)
        return PREVIEW

    async def start(self, request: MissionRequest) -> MissionHandle:
        """Kept."""
        self.started.append(request)
        return MissionHandle(None, request.mission_id or "")  # type: ignore[arg-type]


@pytest.fixture
def client(connect_to: Callable[[object], None]) -> Client:
    """Whom the commands speak to."""
    one = Client()
    connect_to(one)
    return one


def test_a_plan_is_a_tree_with_what_is_left_below_it(client: Client, run: Run) -> None:
    """Legs with their orders and cards, what nothing serves, what is left over, the digest."""
    ran = run("mission", "plan", "Book a table and feed the cat")
    told = " ".join(ran.stdout.split())

    assert ran.exit_code == 0
    for words in (
        "1-dining Book a table (agent dining)",
        "order Book a table: once; for 'Book a table'",
        "structured-reservation",
        "undone by cancel_table",
        "2-note note it (agent notes, after 1-dining)",
        "no tool is likely yet",
        "no leg serves: 'feed the cat'",
        "not carried out: 'the cat': no tool does it",
        "it would ask about what is not carried out before it begins",
        "nothing was done",
        "d" * 64,
    ):
        assert words in told.replace("│ ", "").replace("├── ", "").replace("└── ", "")


def test_scripts_get_the_document(client: Client, run: Run) -> None:
    """And nothing else."""
    ran = run("mission", "plan", "Book a table and feed the cat", "--json")

    assert PlanPreview.model_validate(json.loads(ran.stdout)) == PREVIEW


def test_an_impossible_goal_is_one_sentence_and_exit_code_1(client: Client, run: Run) -> None:
    """For scripts a document."""
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


def test_who_made_the_plan_is_told(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model, what was wrong with its answers, and what each leg is for."""
    made = PlanOrigin(planner="model", model="openai:gpt-5", corrected=(("no leg serves 'x'",),))
    leg = PREVIEW.legs[1].model_copy(update={"serves": ("the cat",)})
    shown = PREVIEW.model_copy(update={"made_by": made, "legs": (PREVIEW.legs[0], leg)})
    monkeypatch.setattr(sys.modules[__name__], "PREVIEW", shown)

    out = run("mission", "plan", "Book a table").stdout

    assert "planned by the model openai:gpt-5, corrected once" in out
    assert "answer 1 did not hold: no leg serves 'x'" in out
    assert "serves 'the cat'" in out
