"""`orchestrator demo`: three missions on real parts."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import render_demo
from orchestrator.cli.options import Model, Planner, planning_variables
from orchestrator.cli.output import AsJson, present, progress, run
from orchestrator.settings import bundled_specs

if TYPE_CHECKING:
    from orchestrator.runtime.demo import DemoReport

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    as_json: AsJson = False,
    keep: Annotated[
        Path | None, typer.Option(help="Keep server, ledger and logs in this folder.")
    ] = None,
    planner: Planner = None,
    model: Model = None,
) -> None:
    """Three missions on real parts: success, rollback, killed worker; exit 1 if one is not so.

    Example: orchestrator demo --json | jq .ok

    Example: OPENAI_API_KEY=... orchestrator demo --model openai:gpt-5
    """
    report = run(_demo(keep, planning_variables(planner, model)))
    present(report, render_demo.demo, as_json=as_json, ok=report.ok)


async def _demo(keep: Path | None, variables: Mapping[str, str]) -> "DemoReport":
    from orchestrator.runtime.demo import Demo
    from orchestrator.runtime.devserver import Ports, Stack

    with tempfile.TemporaryDirectory(prefix="orchestrator-demo-") as scratch:
        folder = keep or Path(scratch)
        stack = Stack(folder, (bundled_specs(),), Ports.free(), variables=variables)
        with progress.status("starting Temporal, the sandbox and a worker"):
            await stack.__aenter__()
        try:
            progress.print(f"Temporal UI while this runs: {stack.ui_url}")
            return await Demo(stack, progress.print).run()
        finally:
            await stack.stop()
