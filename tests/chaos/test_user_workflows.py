"""`orchestrator chaos run --workflow`: a user's own workflow under faults, judged saga by saga."""

import asyncio
import json
import os
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from orchestrator.cli import main
from tests.forked import ForkedStack
from tests.guarded_examples import EXAMPLES

USUAL_SEED = "42"
SEED = os.environ.get("CHAOS_SEED", USUAL_SEED)


@pytest.fixture
def trip(tmp_path: Path) -> tuple[str, ...]:
    """The options of the command that run the example of 40 lines."""
    leaving, returning = ((date.today() + timedelta(days=days)).isoformat() for days in (7, 10))
    arguments = tmp_path / "trip.json"
    arguments.write_text(json.dumps(["Lisbon", leaving, returning]))
    return ("--workflow", "trip_workflow:Trip", "--input", str(arguments))


@pytest.mark.timeout(600)  # a cancel whose probe meets a fault waits for up to five minutes
def test_a_users_workflow_with_every_fault_keeps_every_invariant(
    trip: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run of the 40-line example: nothing orphaned, done twice or asked for again."""
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr("orchestrator.cli.chaos_runs.Stack", ForkedStack)
    command = ["chaos", "run", *trip, "--json", "--missions=5", "--workers=2", f"--seed={SEED}"]
    monkeypatch.setattr(sys, "argv", ["orchestrator", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert printed.out, printed.err
    report = json.loads(printed.out)

    assert (ended.value.code, report["breaches"]) == (0, [])
    assert (report["missions"], report["orphans"], report["duplicates"]) == (5, 0, 0)
    assert report["prompts_during_rollback"] == 0
    assert report["effects"] > 0
    if SEED == USUAL_SEED:  # five runs of another may draw less trouble
        fired = [name for name, count in report["fault_counts"].items() if count["fired"]]
        assert report["rollback_s"]["count"] > 0
        assert len(fired) >= 6


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_users_workflow_struck_at_every_point(trip: tuple[str, ...]) -> None:
    """Each request with each fault, and each event and activity with a killed worker."""
    command = ["chaos", "run", *trip, "--json", "--every-point", f"--seed={SEED}"]
    ran = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orchestrator", *command),
        cwd=EXAMPLES,
        stdout=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "ORCHESTRATOR" not in name},
    )
    output, _ = await ran.communicate()
    report = json.loads(output)

    assert (ran.returncode, report["breaches"]) == (0, [])
    assert report["missions"] > 100
    assert report["fault_counts"]["kill-worker"]["fired"] > 50
    assert (report["orphans"], report["duplicates"]) == (0, 0)
