"""Missions, their questions, ledgers and rollbacks, drawn with rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator.cli.drawing import colored, table_of

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.client.mission_client import MissionSummary
    from orchestrator.messages.leg import Question
    from orchestrator.messages.mission import MissionResult
    from orchestrator.messages.rollback import RollbackReport, SweepReport
    from orchestrator.saga.ledger import Obligation


def started(console: Console, mission_id: str) -> None:
    """What to type after a mission was started."""
    console.print(f"started {mission_id}")
    console.print(f"  follow it:  orchestrator mission watch {mission_id}")
    console.print("  decide:     orchestrator confirm list")


def news(result: MissionResult, told: set[str]) -> Iterator[str]:
    """Lines about what changed since they were last asked for."""
    lines = [f"mission {colored(result.status.value)}"]
    lines += [
        f"  {leg.leg_id} {colored(leg.status.value)} {escape(leg.goal)}" for leg in result.legs
    ]
    for line in lines:
        if line not in told:
            told.add(line)
            yield line


def asked(question: Question) -> str:
    """A question, and how to answer it."""
    values = "".join(f" {name}=..." for name in question.fields)
    commands = [f"orchestrator pii set {name}" for name in question.personal]
    commands.append(f"orchestrator mission answer {question.question_id}{values}")
    return "\n  ".join([f"asks: {escape(question.question)}", *commands])


def missions(console: Console, found: Sequence[MissionSummary]) -> None:
    """A line per mission."""
    if not found:
        console.print("no missions yet; start one: orchestrator mission start GOAL")
        return
    table = table_of("mission", "status", "started", "goal")
    for one in found:
        table.add_row(
            one.mission_id,
            colored(one.status),
            f"{one.started_at:%Y-%m-%d %H:%M:%S}",
            escape(one.goal),
        )
    console.print(table)


def mission(console: Console, result: MissionResult) -> None:
    """The result document: legs, receipts, ledger, spend."""
    console.rule(f"{result.mission_id}  {colored(result.status.value)}")
    console.print(escape(result.goal))
    if result.error:
        console.print(f"[red]{escape(result.error)}[/]")
    if result.summary:
        console.print(f"\n{escape(result.summary)}")
    legs = table_of("leg", "agent", "status", "goal", "steps")
    for leg in result.legs:
        legs.add_row(
            leg.leg_id, leg.agent, colored(leg.status.value), escape(leg.goal), str(len(leg.steps))
        )
    console.print("\n[bold]legs[/]")
    console.print(legs)
    if result.ledger.obligations:
        console.print("\n[bold]ledger[/]")
        console.print(_ledger(result.ledger.obligations))
    for receipt in result.receipts:
        reference = ", ".join(f"{n} {v}" for n, v in receipt.reference.items())
        console.print(f"receipt: {escape(receipt.title)} {receipt.price or ''} {escape(reference)}")
    spend = ", ".join(str(money) for money in result.spend.amounts())
    console.print(f"\nspend: {spend or 'nothing'}")


def _ledger(obligations: Sequence[Obligation]) -> Table:
    table = table_of("tool", "state", "price", "confirmed by", "note")
    for o in obligations:
        table.add_row(
            o.tool,
            colored(o.state.value),
            str(o.price or ""),
            o.confirmed_by or "",
            escape(o.note),
        )
    return table


def rollback(console: Console, report: RollbackReport) -> None:
    """A rollback's ledger, and what to do with what is parked."""
    console.rule(f"rollback of {report.mission_id}")
    console.print(_ledger(report.ledger.obligations))
    for obligation in report.parked:
        console.print(
            f"parked: orchestrator rollback resolve {obligation.obligation_id} "
            "retry|cancelled|accept"
        )


def rollbacks(console: Console, found: Sequence[RollbackReport]) -> None:
    """Those that wait for an operator."""
    for report in found:
        rollback(console, report)
    if not found:
        console.print("nothing is parked")


def sweep(console: Console, report: SweepReport) -> None:
    """What a sweep did."""
    console.print(f"{report.looked_at} stopped missions examined")
    for mission_id in report.started:
        console.print(f"rolled back: orchestrator rollback show {mission_id}")
    for mission in report.unreadable:
        console.print(f"not examined: {mission.mission_id}: {escape(mission.why)}")
