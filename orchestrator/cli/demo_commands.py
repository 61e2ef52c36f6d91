"""`orchestrator demo`: three missions on real parts."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from orchestrator.cli.drawing import colored, line, table_of
from orchestrator.cli.options import Model, Planner, planning_variables
from orchestrator.cli.output import AsJson, present, progress, run
from orchestrator.core.record import JsonObject
from orchestrator.settings import bundled_specs

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.runtime.demo import DemoMission, DemoReport
    from orchestrator.runtime.devserver import Stack
    from orchestrator.saga.ledger import Obligation

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
    """Three missions on real parts: success, rollback, killed worker.

    Exit 1 if one of them ends otherwise.

    Example: orchestrator demo --json | jq .ok

    Example: OPENAI_API_KEY=... orchestrator demo --model openai:gpt-5
    """
    report = run(_demo(keep, planning_variables(planner, model)))
    present(report, draw_demo, as_json=as_json, ok=report.ok)


async def _demo(keep: Path | None, variables: Mapping[str, str]) -> DemoReport:
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


def draw_demo(console: Console, report: DemoReport) -> None:
    """The three missions with their timelines, and the verdict."""
    for mission in report.missions:
        _demo_mission(console, mission)
    verdict = ("all as promised", "bold green") if report.ok else ("NOT as promised", "bold red")
    took = f" in {report.seconds:.1f} s; the Temporal UI was at {report.ui_url}"
    console.print(line(verdict, took))


def _demo_mission(console: Console, mission: DemoMission) -> None:
    console.rule(line((mission.name, "bold"), f"  {mission.mission_id}  ", colored(mission.status)))
    table = table_of("s", "leg", "what", "tools seen", "outcome")
    start = mission.timeline[0].at if mission.timeline else None
    for entry in mission.timeline:
        after = 0.0 if start is None else (entry.at - start).total_seconds()
        table.add_row(f"{after:5.1f}", entry.leg, entry.what, entry.tools, entry.outcome)
    console.print(table)
    console.print()
    ledgers = table_of("the mission's ledger", "the sandbox's ledger")
    ours = [_obligation(o) for o in mission.ledger]
    theirs = [_effect(e) for e in mission.sandbox_ledger]
    for row in range(max(len(ours), len(theirs))):
        ledgers.add_row(
            ours[row] if row < len(ours) else "", theirs[row] if row < len(theirs) else ""
        )
    console.print(ledgers)
    spend = ", ".join(f"{amount} {currency}" for currency, amount in mission.spend.items())
    console.print(
        f"live at the providers: {mission.sandbox_live_obligations}   "
        f"done twice: {mission.duplicate_effects}   spend: {spend or 'nothing'}   "
        f"took {mission.seconds:.1f} s"
    )
    for problem in mission.problems:
        console.print(line(("not as promised:", "bold red"), f" {problem}"))
    console.print()


def _obligation(obligation: Obligation) -> Text:
    price = f" {obligation.price}" if obligation.price is not None else ""
    return line(colored(obligation.state.value), f" {obligation.tool}{price}")


def _effect(effect: JsonObject) -> str:
    amount = f" {effect.get('amount')} {effect.get('currency')}" if effect.get("amount") else ""
    return f"{effect.get('kind')} {effect.get('operation')} → {effect.get('status')}{amount}"


def draw_addresses(console: Console, stack: Stack, *, example: str) -> None:
    """Where everything is, and what to type next."""
    console.print(f"Temporal UI   {stack.ui_url}")
    console.print(f"Temporal      {stack.address}")
    console.print(f"sandbox       {stack.sandbox_url}")
    if stack.codec_url is not None:
        console.print(f"codec server  {stack.codec_url}")
    console.print(f"state, logs   {stack.folder}")
    console.print()
    console.print("In another terminal:")
    console.print(f"  source {shlex.quote(str(stack.exports))}", soft_wrap=True)
    console.print("  orchestrator tools list")
    console.print(f'  orchestrator mission start "{example}" --wait', soft_wrap=True)
    console.print()
    if stack.codec_url is not None:
        console.print(
            "What is recorded is encrypted. For the Temporal UI to show it, in its browser:"
        )
        console.print(
            f"  open {stack.codec_url} and type the token, {stack.codec_token.told}", soft_wrap=True
        )
        console.print("  turn on Include cross-origin credentials, in the UI's codec settings")
        console.print()
    console.print("Ctrl-C stops it all; the state is kept.")
