"""The verdicts of chaos runs, on missions and on pairs, drawn with rich."""

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from orchestrator.chaos.verdicts.report import (
    ChaosReport,
    Flaw,
    PairCheck,
    PairsReport,
    Percentiles,
)
from orchestrator.cli.drawing import colored, line
from orchestrator.cli.render_tools import skipped
from orchestrator.core.shown_text import number_of

_BREACHES_SHOWN = 20


def report(console: Console, found: ChaosReport) -> None:
    """Missions by status, what providers hold, faults, and each invariant that broke."""
    console.print(_missions(found))
    console.print(_faults(found))
    for breach in found.breaches[:_BREACHES_SHOWN]:
        console.print(
            line(
                (breach.invariant, "bold red"),
                f" {breach.mission_id} ({breach.goal}): {breach.what}",
            ),
            soft_wrap=True,
        )
    if len(found.breaches) > _BREACHES_SHOWN:
        console.print(f"and {len(found.breaches) - _BREACHES_SHOWN} more")
    if found.reproduce is not None:
        console.print(f"again, the first of them: {found.reproduce}", soft_wrap=True)
    if found.logs:
        console.print(f"logs: {found.logs}", soft_wrap=True)
    verdict = ("every invariant held", "bold green") if found.ok else ("BROKEN", "bold red")
    missions = number_of(found.missions, "mission")
    console.print(line(verdict, f": {missions} in {found.seconds:.1f} s, seed {found.seed}"))


def pairs(console: Console, report: PairsReport) -> None:
    """A line for each pair, under it what is wrong and how to correct it, and the verdict."""
    for (document, tool), group in groupby(report.checks, key=lambda c: (c.document, c.tool)):
        checks = list(group)
        mark = _mark(checks)
        cancel = checks[0].cancel or "nothing"
        console.print(line(mark, f" {document}: {tool} is undone by {cancel}"), soft_wrap=True)
        for flaw, cases in _by_flaw(checks):
            console.print(line("   ", (flaw.why, "red")), soft_wrap=True)
            console.print(f"   when: {', '.join(cases)}", soft_wrap=True)
            console.print(f"   mend: {flaw.mend}", soft_wrap=True)
    verdict = ("every pair held", "bold green") if report.ok else ("NOT ALL HELD", "bold red")
    if not report.ok and all(check.ok or check.only_parks for check in report.checks):
        verdict = ("HELD BUT WHERE ANSWERS ARE LOST", "bold yellow")
    figures = f"{number_of(report.pairs, 'tool')}, {number_of(len(report.checks), 'trial')}"
    console.print(line(verdict, f": {figures} in {report.seconds:.1f} s, seed {report.seed}"))
    if report.skipped:
        skipped(console, report.skipped)


def _mark(checks: Iterable[PairCheck]) -> tuple[str, str]:
    """In one word what became of a tool: undone, parked where its answer is lost, or neither."""
    flawed = [check for check in checks if not check.ok]
    if not flawed:
        return "ok", "green"
    return ("PARKS", "yellow") if all(c.only_parks for c in flawed) else ("NOT UNDONE", "bold red")


def _missions(found: ChaosReport) -> Table:
    table = Table(Column("missions"), Column(justify="right"), box=None, pad_edge=False)
    for status, count in found.statuses.items():
        table.add_row(colored(status), str(count))
    table.add_row("effects at the providers", str(found.effects))
    table.add_row("that still stand", str(found.live))
    table.add_row("orphans", _must_be_zero(found.orphans))
    table.add_row("duplicates", _must_be_zero(found.duplicates))
    table.add_row("prompts during rollback", _must_be_zero(found.prompts_during_rollback))
    table.add_row("phantom receipts", _must_be_zero(found.phantoms))
    table.add_row("overcharges unnoticed", _must_be_zero(found.overcharges_unnoticed))
    table.add_row("parked for an operator", str(found.parked))
    table.add_row("parked without need", _must_be_zero(found.parked_wrongly))
    table.add_row("rollbacks", _seconds(found.rollback_s))
    table.add_row("missions, with their rollback", _seconds(found.mission_s))
    return table


def _faults(found: ChaosReport) -> Table:
    table = Table("fault", Column("planned", justify="right"), Column("fired", justify="right"))
    table.box = None
    for name, count in found.fault_counts.items():
        table.add_row(name, str(count.planned or ""), str(count.fired))
    return table


def _must_be_zero(count: int) -> Text:
    return line((str(count), "green" if count == 0 else "bold red"))


def _seconds(took: Percentiles) -> str:
    return f"{took.count}: p50 {took.p50:.1f} s, p95 {took.p95:.1f} s, max {took.max:.1f} s"


def _by_flaw(checks: Iterable[PairCheck]) -> list[tuple[Flaw, list[str]]]:
    """Each flaw once, with the cases that showed it."""
    found: dict[tuple[str, str], tuple[Flaw, list[str]]] = {}
    for check in checks:
        for flaw in check.flaws:
            found.setdefault((flaw.why, flaw.mend), (flaw, []))[1].append(check.case)
    return list(found.values())
