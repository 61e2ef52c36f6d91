"""`orchestrator chaos run` as its users meet it: one short run with every fault."""

import asyncio
import json
import os
import sys

import pytest

from orchestrator.cli import main
from tests.forked import ForkedStack

USUAL_SEED = "74"
SEED = os.environ.get("CHAOS_SEED", USUAL_SEED)


@pytest.mark.timeout(600)  # a cancel whose probe meets a fault waits for up to five minutes
def test_a_short_run_with_every_fault_keeps_every_invariant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missions under all that the kit can do: nothing orphaned, done twice or asked for again.

    The command is run in this process, so that its workers are forked when they are struck.
    """
    monkeypatch.setattr("orchestrator.cli.chaos_runs.Stack", ForkedStack)
    command = ["chaos", "run", "--json", "--missions=8", "--workers=2", f"--seed={SEED}"]
    monkeypatch.setattr(sys, "argv", ["orchestrator", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    report = json.loads(capsys.readouterr().out)

    assert (ended.value.code, report["breaches"]) == (0, [])
    assert (report["missions"], report["orphans"], report["duplicates"]) == (8, 0, 0)
    assert report["prompts_during_rollback"] == 0
    fired = [name for name, count in report["fault_counts"].items() if count["fired"]]
    assert fired
    if SEED == USUAL_SEED:  # eight missions of another may draw less trouble
        assert report["rollback_s"]["count"] > 0
        assert "kill-worker" in fired
        assert len(fired) >= 6


@pytest.mark.long
async def test_workers_with_folders_of_their_own_share_a_store_that_is_killed() -> None:
    """On PostgreSQL, one of them on newer documents: no invariant goes by who keeps what where."""
    faults = "kill-worker,two-versions,kill-store,drop-after,5xx,cancel"
    command = ["chaos", "run", "--json", "--store=postgresql", "--missions=6", "--workers=2"]
    ran = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orchestrator", *command, f"--seed={SEED}", f"--faults={faults}"),
        stdout=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "ORCHESTRATOR" not in name},
    )
    output, _ = await ran.communicate()
    report = json.loads(output)

    assert (ran.returncode, report["breaches"]) == (0, [])
    assert (report["missions"], report["orphans"], report["duplicates"]) == (6, 0, 0)
    assert report["fault_counts"]["kill-store"]["fired"]
    assert report["fault_counts"]["two-versions"]["fired"]
