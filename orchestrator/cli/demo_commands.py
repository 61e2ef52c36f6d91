"""`orchestrator demo`: three missions on real parts."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import render_demo
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
) -> None:
    """Three missions on real parts: success, rollback, killed worker; exit 1 if one is not so.

    Example: orchestrator demo --json | jq .ok
    """
    report = run(_demo(keep))
    present(report, render_demo.demo, as_json=as_json, ok=report.ok)


async def _demo(keep: Path | None) -> "DemoReport":
    from orchestrator.runtime.demo import Demo
    from orchestrator.runtime.devserver import Ports, Stack

    with tempfile.TemporaryDirectory(prefix="orchestrator-demo-") as scratch:
        stack = Stack(keep or Path(scratch), (bundled_specs(),), Ports.free())
        with progress.status("starting Temporal, the sandbox and a worker"):
            await stack.__aenter__()
        try:
            progress.print(f"Temporal UI while this runs: {stack.ui_url}")
            return await Demo(stack, progress.print).run()
        finally:
            await stack.stop()
