"""Text for people: tables, cards and timelines, drawn with rich."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, JsonValue
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Column, Table

from orchestrator.core.record import JsonObject

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.catalog.tool import Tool
    from orchestrator.client.mission_client import MissionSummary
    from orchestrator.confirmation.models import ConfirmationCard
    from orchestrator.messages.leg import Question
    from orchestrator.messages.mission import MissionResult
    from orchestrator.messages.rollback import RollbackReport, SweepReport
    from orchestrator.routing.discovery import Match
    from orchestrator.routing.learning.calibration import Calibration
    from orchestrator.routing.router import Explanation
    from orchestrator.routing.selection import Selection
    from orchestrator.runtime.demo import DemoMission, DemoReport
    from orchestrator.runtime.devserver import Stack
    from orchestrator.saga.ledger import Obligation
    from orchestrator.saga.outcome import ToolOutcome

_COLORS = {
    "succeeded": "green",
    "committed": "green",
    "rolled_back": "yellow",
    "cancelled": "yellow",
    "running": "cyan",
    "failed": "red",
    "rejected": "red",
    "unknown": "red",
    "parked": "red",
    "terminated": "red",
}


def _table(*columns: str) -> Table:
    """A table that folds what is too long, but never its first column: that is what one copies."""
    first, *others = columns
    folding = (Column(name, overflow="fold") for name in others)
    return Table(Column(first, no_wrap=True), *folding, box=None, pad_edge=False)


def colored(status: str) -> str:
    """A status as markup in its color."""
    color = _COLORS.get(status)
    return f"[{color}]{status}[/{color}]" if color else status


def demo(console: Console, report: DemoReport) -> None:
    """The three missions with their timelines, and the verdict."""
    for mission in report.missions:
        _demo_mission(console, mission)
    verdict = "[bold green]all as promised[/]" if report.ok else "[bold red]NOT as promised[/]"
    console.print(f"{verdict} in {report.seconds:.1f} s; the Temporal UI was at {report.ui_url}")


def _demo_mission(console: Console, mission: DemoMission) -> None:
    console.rule(f"[bold]{mission.name}[/]  {mission.mission_id}  {colored(mission.status)}")
    table = _table("s", "leg", "what", "tools seen", "outcome")
    start = mission.timeline[0].at if mission.timeline else None
    for entry in mission.timeline:
        after = 0.0 if start is None else (entry.at - start).total_seconds()
        table.add_row(
            f"{after:5.1f}", entry.leg, escape(entry.what), entry.tools, escape(entry.outcome)
        )
    console.print(table)
    console.print()
    ledgers = _table("the mission's ledger", "the sandbox's ledger")
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
        console.print(f"[bold red]not as promised:[/] {escape(problem)}")
    console.print()


def _obligation(obligation: Obligation) -> str:
    price = f" {obligation.price}" if obligation.price is not None else ""
    return f"{colored(obligation.state.value)} {obligation.tool}{price}"


def _effect(effect: JsonObject) -> str:
    amount = f" {effect.get('amount')} {effect.get('currency')}" if effect.get("amount") else ""
    return f"{effect.get('kind')} {effect.get('operation')} → {effect.get('status')}{amount}"


def addresses(console: Console, stack: Stack) -> None:
    """Where everything is, and what to type next."""
    console.print(f"Temporal UI   {stack.ui_url}")
    console.print(f"Temporal      {stack.address}")
    console.print(f"sandbox       {stack.sandbox_url}")
    console.print(f"state, logs   {stack.folder}")
    console.print("\nIn another terminal:")
    console.print(f"  source {shlex.quote(str(stack.exports))}", soft_wrap=True)
    console.print('  orchestrator mission start "What is the weather in Oslo tomorrow?" --wait')
    console.print("\nCtrl-C stops it all; the state is kept.")


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
    table = _table("mission", "status", "started", "goal")
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
    legs = _table("leg", "agent", "status", "goal", "steps")
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
    table = _table("tool", "state", "price", "confirmed by", "note")
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


def sweep(console: Console, report: SweepReport) -> None:
    """What a sweep did."""
    console.print(f"{report.looked_at} stopped missions examined")
    for mission_id in report.started:
        console.print(f"rolled back: orchestrator rollback show {mission_id}")
    for mission in report.unreadable:
        console.print(f"not examined: {mission.mission_id}: {escape(mission.why)}")


def cards(console: Console, found: Sequence[ConfirmationCard]) -> None:
    """A line per open card."""
    if not found:
        console.print("nothing waits for a decision")
        return
    table = _table("confirmation", "price", "decide before")
    for one in found:
        until = f"{one.expires_at:%Y-%m-%d %H:%M %Z}" if one.expires_at is not None else ""
        notes = "".join(f", [yellow]{note}[/]" for note in _asked(one))
        what = f"{one.confirmation_id}\n  [dim]{escape(one.title)}[/]{notes}"
        table.add_row(what, str(one.price or ""), until)
    console.print(table)
    console.print("\nread one: orchestrator confirm show CID")


def _asked(card: ConfirmationCard) -> Iterator[str]:
    """How often people were asked so far."""
    if card.round > 1:
        yield f"asked {card.round}x"
    if card.reminded:
        yield f"reminded {card.reminded}x"


def card(console: Console, shown: ConfirmationCard) -> None:
    """One card, whole, and how to approve it."""
    body = Table(box=None, show_header=False, pad_edge=False)
    if shown.price is not None:
        body.add_row("[bold]Price[/]", f"[bold]{shown.price}[/]")
    for section in shown.sections():
        if section.title:
            body.add_row(f"[bold]{escape(section.title)}[/]", "")
        for line in section.lines:
            body.add_row(f"[dim]{escape(line.label)}[/]", escape(line.value))
    for label, value in _terms(shown):
        body.add_row(f"[dim]{label}[/]", escape(value))
    heading = escape(shown.heading or shown.card_type)
    title = f"[bold]{escape(shown.title)}[/]"
    console.print(Panel(body, title=title, subtitle=heading, expand=False))
    console.print(
        f"orchestrator confirm approve {shown.confirmation_id} --digest {shown.digest}",
        soft_wrap=True,
    )


def _terms(shown: ConfirmationCard) -> Iterator[tuple[str, str]]:
    """What holds for any card: how it is undone, who decides, and until when."""
    yield "Undo", shown.undo
    if shown.approvers:
        yield "Who may decide", ", ".join(shown.approvers)
    if shown.expires_at is not None:
        yield "Decide before", f"{shown.expires_at:%Y-%m-%d %H:%M %Z}"
    asked = ", ".join(_asked(shown))
    if asked:
        yield "So far", asked
    yield "Digest", shown.digest[:16]


def tools(console: Console, catalog: Catalog) -> None:
    """A line per tool."""
    table = _table("tool", "domain", "effect", "confirmation", "undone by")
    for one in catalog.tools.values():
        undo = one.compensation.cancel.tool if one.compensation else ""
        table.add_row(one.name, one.domain, one.effect.value, one.card_type or "", undo)
    console.print(table)
    console.print(f"\n{len(catalog)} tools, catalog {catalog.digest[:12]}")


def tool(console: Console, shown: Tool) -> None:
    """One tool, whole."""
    console.rule(f"{shown.name}  {shown.effect.value}")
    console.print(escape(shown.summary))
    console.print(escape(shown.description))
    console.print(f"\n{shown.method} {shown.server}{shown.path}", markup=False)
    table = _table("input", "in", "required", "what")
    places = {binding.name: binding.location for binding in shown.bindings}
    for name, schema in shown.properties.items():
        table.add_row(
            name,
            places.get(name, ""),
            "yes" if name in shown.required_inputs else "",
            escape(str(schema.get("description", schema.get("type", "")))),
        )
    console.print(table)
    console.print(f"confirmation: {shown.card_type or 'none'}")
    if shown.pii_fields:
        console.print(f"from the PII vault: {', '.join(shown.pii_fields)}")
    if shown.compensation is not None:
        console.print(f"undone by: {shown.compensation.cancel.tool}")


def answer(console: Console, errors: Console, outcome: ToolOutcome) -> None:
    """The body of an answer; why there is none, and what of it breaks the contract, on errors."""
    if outcome.body is not None:
        if isinstance(outcome.body, str):
            console.print(escape(outcome.body), soft_wrap=True)
        else:
            console.print_json(data=outcome.body)
    if outcome.kind != "succeeded":
        errors.print(f"{colored(outcome.kind)}: {escape(outcome.reason or '')}", soft_wrap=True)
    elif outcome.body is None:
        errors.print(f"HTTP {outcome.status}, without a body that could be read")
    if outcome.contract_breach is not None:
        breach = escape(outcome.contract_breach)
        errors.print(f"the answer breaks its contract: {breach}", soft_wrap=True)


def matches(console: Console, catalog: Catalog, found: Sequence[Match]) -> None:
    """What discovery found."""
    if not found:
        console.print("nothing found; see: orchestrator tools list")
    for match in found:
        summary = catalog.tool(match.name).summary
        console.print(f"{match.score:.2f}  {match.tier:13}  {match.name}  {escape(summary)}")


def selection(console: Console, chosen: Selection, *, fits: bool) -> None:
    """The forwarded tools and the reason; `fits`: some tool can do what is asked."""
    if not fits:
        nearest = "; the nearest:" if chosen.tools else ""
        console.print(f"[yellow]nothing here seems to fit[/]{nearest}")
    for name in chosen.tools:
        mark = "  (prerequisite)" if name in chosen.prerequisites else ""
        console.print(f"{chosen.scores.get(name, 0.0):.3f}  {name}{mark}")
    console.print(
        f"\n{chosen.band}: {len(chosen.tools)} of {chosen.catalog_size} tools; "
        f"{escape(chosen.reason)}"
    )
    frame = chosen.frame
    console.print(
        f"domain {frame.domain}, action {frame.action.value}, confidence {frame.confidence:.2f}, "
        f"side effect {'allowed' if frame.side_effect_allowed else 'not asked for'}"
    )
    if frame.references:
        console.print(escape(f"points back: {', '.join(frame.references)}"))
    if chosen.embedder:
        console.print(escape(f"embedder: {chosen.embedder}"))
    for slot in frame.slots:
        console.print(f"  {slot.kind}: {escape(str(slot.value))}  [dim]{escape(slot.hint)}[/]")


def explanation(console: Console, explained: Explanation, most: int = 8) -> None:
    """Every feature of the best candidates, clause by clause; those that are zero are left out."""
    for text, scores in explained.tables:
        console.rule(escape(text))
        table = _table("tool", "score", "features")
        for row in scores.rows(most):
            features = [
                f"{name} {value:.2f}"
                for name, value in row.items()
                if name not in ("tool", "fused") and value
            ]
            table.add_row(str(row["tool"]), f"{row['fused']:.3f}", "  ".join(features))
        console.print(table)


def evaluation(console: Console, report: BaseModel) -> None:
    """An evaluation, figure by figure; those that the folder cannot tell are left out."""
    table = _table("figure", "value", "what it is")
    fields = type(report).model_fields
    for name, value in report.model_dump(mode="json").items():
        if value is not None and value != {}:
            table.add_row(name, _figure(value), fields[name].description)
    console.print(table)


def _figure(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name}: {_figure(part)}" for name, part in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def calibration(console: Console, report: Calibration, out: Path) -> None:
    """What a calibration changes for its own records, and where the profile went."""
    table = _table("of its own records", "before", "after")
    rows = (
        ("the first tool was called", report.first_right_before, report.first_right_after),
        ("all that was called was forwarded", report.covered_before, report.covered_after),
        ("mean K", report.mean_k_before, report.mean_k_after),
    )
    for name, before, after in rows:
        table.add_row(name, f"{before:.3f}", f"{after:.3f}")
    console.print(table)
    console.print(f"{report.records} records; the profile is in {out}", soft_wrap=True)
