"""Missions, plans and rollbacks, drawn with rich."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from orchestrator.cli.output import block, colored, indented, line, table_of
from orchestrator.core import command_lines
from orchestrator.messages.observed import OBSERVED
from orchestrator.messages.plan_preview import doubt_text, leg_note, order_text, tool_text
from orchestrator.messages.rollback import parked_of

if TYPE_CHECKING:  # their modules need not be loaded to draw them
    from orchestrator.chaos.rehearsal import Rehearsal
    from orchestrator.client.mission_list import KnownMission, MissionSummary
    from orchestrator.client.mission_rollback import RollbackPreview
    from orchestrator.client.saga_list import SagaAccount
    from orchestrator.messages.mission import MissionResult
    from orchestrator.messages.plan_preview import PlanPreview
    from orchestrator.messages.receipts import Receipt
    from orchestrator.messages.rollback import (
        ParkedObligation,
        ParkedRollback,
        RollbackReport,
        SweepReport,
    )
    from orchestrator.saga.obligation import Obligation


def started(console: Console, mission_id: str, queued: str = "") -> None:
    """Print the commands that follow a start."""
    if queued:
        console.print(line(("queued: ", "yellow"), queued))
        console.print("  it is on the server, and starts when a worker takes it up")
    console.print(f"{'queued' if queued else 'started'} {mission_id}")
    console.print(f"  follow it:  orchestrator mission watch {mission_id}")
    console.print("  decide:     orchestrator confirm list")


def undeclared_inputs(console: Console, inputs: Sequence[str]) -> None:
    """Warn of inputs that no tool takes."""
    if inputs:
        names = ", ".join(inputs)
        console.print(
            line(f"warning: no tool takes the input {names}; see: orchestrator tools list")
        )


def statuses(result: MissionResult) -> Iterator[Text]:
    """Yield the status of a mission and of each leg."""
    yield line("mission ", colored(result.status.value), _mode(observed=result.observed))
    if result.over_budget:
        yield line("mission", (f" {result.over_budget}", "red"))
    for leg in result.legs:
        yield line(f"  {leg.leg_id} ", colored(leg.status.value), f" {leg.goal}")


def _mode(*, observed: bool) -> tuple[str, str]:
    return (f"  {OBSERVED}" if observed else ""), "yellow"


def missions(console: Console, found: Sequence[MissionSummary]) -> None:
    """Draw a line for each mission."""
    if not found:
        console.print("no missions found; start one: orchestrator mission start GOAL")
        return
    has_others = any(one.kind != "mission" for one in found)
    kinds = ("kind",) if has_others else ()
    table = table_of("mission", *kinds, "status", "waits for", "started", "goal")
    for one in found:
        table.add_row(
            one.mission_id,
            *([one.kind] if has_others else []),
            line(colored(one.status), _mode(observed=one.observed)),
            ", ".join(w.what for w in one.waits_for),
            f"{one.started_at:%Y-%m-%d %H:%M:%S}",
            block(one.goal),
        )
    console.print(table)


def rehearsal(console: Console, found: Rehearsal) -> None:
    """Draw what a request did on a sandbox, and what cancelled it again."""
    if found.rows:
        table = table_of("tool", "effect", "price", "and then")
        for tool, title, price, then in found.rows:
            table.add_row(tool, block(title), price, block(then))
        console.print(table)
    for asked in found.questions:
        made = ", ".join(f"{name}={value}" for name, value in asked.answer.items())
        answer = f" (rehearsed with {made})" if made else ""
        console.print(line(f"it would ask: {asked.question}{answer}"), soft_wrap=True)
    if found.error:
        console.print(line((found.error, "yellow")), soft_wrap=True)
    cards = "1 card" if found.cards == 1 else f"{found.cards} cards"
    status = f"; {found.status}" if found.status else ""
    console.print(line((found.summary, "bold"), f"; {cards} to decide on{status}"))


def partial(console: Console, found: KnownMission | SagaAccount) -> None:
    """Draw a saga or a session, or the server's facts about an unreadable mission."""
    from orchestrator.client.saga_list import SagaAccount

    state = colored(found.status)
    if isinstance(found, SagaAccount):
        console.rule(line(f"{found.kind} {found.mission_id}  ", state))
        if found.workflow_id:
            console.print(line(f"workflow: {found.workflow_id}"), soft_wrap=True)
    else:
        console.rule(line(f"{found.mission_id}  ", state, _mode(observed=found.observed)))
        console.print(indented(block(found.goal)))
        console.print(f"started {found.started_at:%Y-%m-%d %H:%M:%S %Z}")
        if found.finished_at is not None:
            console.print(f"over since {found.finished_at:%Y-%m-%d %H:%M:%S %Z}")
        if found.agents:
            console.print(line(f"agents at work: {', '.join(found.agents)}"))
    for wait in found.waits_for:
        console.print(f"waits for {wait.what}: {wait.command}", soft_wrap=True)
    if not isinstance(found, SagaAccount):
        unread = ("legs, receipts and ledger could not be read: ", "yellow")
        console.print(line(unread, found.unread))
        return
    if found.ledger.obligations:
        _under(console, "ledger", _ledger(found.ledger.obligations))
    else:
        console.print("it has left nothing at a provider")
    console.print(f"its rollback: {command_lines.show_rollback(found.saga_id)}", soft_wrap=True)


def mission(console: Console, result: MissionResult) -> None:
    """Draw the result document: legs, receipts, ledger, spend."""
    if result.over_budget:
        over = (f" {result.over_budget}", "red")
        console.print(line(result.mission_id, over), soft_wrap=True)
    mode = _mode(observed=result.observed)
    console.rule(line(f"{result.mission_id}  ", colored(result.status.value), mode))
    console.print(indented(block(result.goal)))
    if result.goal_became:
        console.print("said otherwise:")
        console.print(indented(block(result.goal_became)))
    if result.requester:
        console.print(line(f"requested by {result.requester}"))
    if result.plan_made_by.model:
        console.print(line((result.plan_made_by.sentence, "dim")), soft_wrap=True)
    for one in result.plan_answers:
        by = f" by {one.by}" if one.by else ""
        note = f"about its plan: {one.outcome}{by}, {one.at:%Y-%m-%d %H:%M:%S}"
        console.print(line(note), soft_wrap=True)
    for held in result.holds:
        console.print(line((str(held), "yellow")), soft_wrap=True)
    for rule in result.again:
        console.print(line(f"rule: {rule.sentence}"), soft_wrap=True)
    if result.error:
        console.print(line((result.error, "red")))
    if result.summary:
        console.print()
        console.print(indented(block(result.summary)))
    if result.summary_before:
        console.print("before its rollback it said:")
        console.print(indented(block(result.summary_before)))
    for leg in result.legs:
        if leg.table is not None:
            drawn = table_of(*leg.table.columns)
            for row in leg.table.rows:
                drawn.add_row(*(line(cell) for cell in row))
            console.print()
            console.print(Padding(drawn, (0, 0, 0, 2), expand=False))
            if leg.table.more:
                console.print(f"  and {leg.table.more} more")
    for missing in result.unserved:
        console.print(line((f"unserved: {missing}", "red")))
    for read in (one for leg in result.legs for one in leg.conditions):
        console.print(line((f"condition: {read}", "dim")))
    for aside in result.set_aside:
        console.print(line((f"set aside: {aside}", "yellow")))
    for text in result.uncovered:
        console.print(line((f"no leg served: {text!r}", "yellow")))
    if result.unchecked:
        console.print(line((f"unchecked: {result.unchecked}", "yellow")), soft_wrap=True)
    legs = table_of("leg", "agent", "planned by", "status", "goal", "steps")
    for leg in result.legs:
        legs.add_row(
            leg.leg_id,
            leg.agent,
            block(leg.decided_by),
            colored(leg.status.value),
            block(leg.goal),
            str(leg.steps_before + len(leg.steps)),
        )
    _under(console, "legs", legs)
    if result.stalled:
        console.print(line((f"waits: {result.stalled}", "yellow")), soft_wrap=True)
    for leg in result.legs:
        if leg.stalled:
            console.print(line((f"{leg.leg_id} waits: {leg.stalled}", "yellow")), soft_wrap=True)
    for leg in result.legs:
        for change in leg.model_changes:
            who = f", decided by {change.by}" if change.by else ""
            named = change.model or "the worker's default model"
            went_at = f"{change.at:%Y-%m-%d %H:%M:%S}"
            went_on = f"{leg.leg_id} went on with {named} at {went_at}{who}: {change.why}"
            console.print(line(went_on), soft_wrap=True)
    for leg in result.legs:
        for name, value in leg.outputs.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            console.print(line(f"output of {leg.leg_id}: {name} {shown}"), soft_wrap=True)
    if result.ledger.obligations:
        _under(console, "ledger", _ledger(result.ledger.obligations))
        resolutions(console, result.ledger.obligations)
    _left_behind(console, result)
    models(console, result)
    console.print()
    console.print(f"spend: {result.spend}")


def _left_behind(console: Console, result: MissionResult) -> None:
    """Draw files, receipts, what is left or cancelled, and what can be done next."""
    for handle, called in result.files.items():
        console.print(line(f"file, {called}"), soft_wrap=True)
        command = command_lines.write_file(result.mission_id, handle)
        console.print(line(f"  {command}"), soft_wrap=True)
    for receipt in result.receipts:
        what = f"receipt, {OBSERVED}:" if receipt.observed else "receipt:"
        console.print(_joined(what, receipt.title, _price(receipt), receipt.reference))
    for left in result.left:
        console.print(_joined(f"left, {left.state}:", left.title, _price(left), left.reference))
    if any(left.state == "parked" for left in result.left):
        command = command_lines.show_rollback(result.mission_id)
        console.print(f"  decide on it: {command}", soft_wrap=True)
    for gone in result.cancelled:
        by = "by the rollback" if gone.by_rollback else "by a leg"
        decided = f"confirmed by {gone.confirmed_by}" if gone.confirmed_by else None
        at = f"{gone.at:%Y-%m-%d %H:%M:%S}" if gone.at else None
        parts = (gone.title, gone.reference, f"with {gone.tool}", by, decided, at)
        console.print(_joined("cancelled:", *parts))
    if result.follow_ups:
        console.print()
        console.print(line(("what can be done next", "bold")))
    for action in result.follow_ups:
        given = ", ".join(f"{name} {value}" for name, value in action.inputs.items())
        terms = [f"until {action.until:%Y-%m-%d %H:%M %Z}" if action.until else ""]
        terms += [f"fee {action.fee}" if action.fee else ""]
        terms += [f"asks for {', '.join(action.asks_for)}" if action.asks_for else ""]
        note = "; ".join(filter(None, (action.kind, given, *terms)))
        console.print(line(f"  {action.title} ", (f"({note})", "dim")), soft_wrap=True)
        console.print(line(f"    {command_lines.start_follow_up(action.id)}"), soft_wrap=True)


def _price(of: Receipt | Obligation) -> str:
    """Return the price, and the approved price if it differs."""
    if of.price is not None and of.approved_price is not None and of.overcharged is not None:
        if of.price.currency != of.approved_price.currency:
            return f"{of.price} (in another currency than the {of.approved_price} approved)"
        return f"{of.price} ({of.overcharged} more than the {of.approved_price} approved)"
    if of.price is None and of.approved_price is not None:
        return f"{of.approved_price} approved (charged price not stated)"
    return str(of.price or "")


def _joined(*parts: object) -> Text:
    """Return the parts that are not empty in one line, references by name."""
    texts = (
        ", ".join(f"{name} {value}" for name, value in part.items())
        if isinstance(part, dict)
        else str(part or "")
        for part in parts
    )
    return line(" ".join(filter(None, texts)))


def _under(console: Console, heading: str, table: Table) -> None:
    console.print()
    console.print(line((heading, "bold")))
    console.print(table)


def _ledger(obligations: Sequence[Obligation]) -> Table:
    table = table_of("tool", "state", "price", "confirmed by", "note")
    for o in obligations:
        decided = o.rollback is not None and o.rollback.approver is not None
        notes = filter(None, (o.note, f"rolled back: {o.rollback}" if decided else ""))
        row = (o.tool, colored(o.state.value), _price(o), o.confirmed_by or "", "; ".join(notes))
        table.add_row(*row)
    return table


def rollback_preview(console: Console, shown: RollbackPreview) -> None:
    """Draw the obligations that a rollback would cancel, in that order."""
    console.print(line(f"mission {shown.mission_id} ", colored(shown.status.value)))
    if not shown.obligations:
        console.print("nothing of it stands")
        return
    if shown.observed:
        console.print(line((f"{OBSERVED}: nothing of it was cancelled when it ended", "yellow")))
    console.print("a rollback cancels, in this order:")
    table = table_of("what", "reference", "price", "cancelled by")
    for o in shown.obligations:
        reference = shown.references.get(o.obligation_id, {})
        table.add_row(
            o.title or o.tool,
            ", ".join(str(value) for value in reference.values()) or o.obligation_id,
            str(o.price or ""),
            o.cancel_tool or line(("nothing cancels it: an operator decides", "red")),
        )
    console.print(table)


def rollback(console: Console, report: RollbackReport) -> None:
    """Draw the ledger of a rollback, and the commands for parked obligations."""
    console.rule(f"rollback of {report.mission_id}")
    console.print(f"status: {report.standing}")
    if any(one.observed for one in report.ledger.obligations):
        console.print(line((f"its calls were {OBSERVED}", "yellow")))
    if str(report.order):
        console.print(f"why: {report.order}")
    console.print(_ledger(report.ledger.obligations))
    resolutions(console, report.ledger.obligations)
    for obligation in parked_of(report):
        parked(console, obligation)


def sweep(console: Console, report: SweepReport) -> None:
    """Draw the report of a sweep."""
    console.print(f"{report.looked_at} stopped missions examined")
    for mission_id in report.started:
        console.print(f"rolled back: orchestrator rollback show {mission_id}")
    for mission in report.unreadable:
        console.print(f"not examined: {mission.mission_id}: {mission.why}")


_MOST_STEPS: Final = 10
"""Of each leg; earlier steps count in its sum."""


def models(console: Console, result: MissionResult) -> None:
    """Draw tokens and cost of each leg and of its newest steps, if a model was asked."""
    if not result.usage.requests:
        return
    table = table_of("leg", "step", "requests", "tokens in", "of them cached", "out", "cost")
    for leg in result.legs:
        asked = [(one.label, one.usage) for one in leg.steps if one.usage and one.usage.requests]
        rows = [("", label, usage) for label, usage in asked[-_MOST_STEPS:]]
        rows += [(leg.leg_id, "all", leg.usage)] if leg.usage.requests else []
        for leg_id, label, usage in rows:
            tokens = (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
            counts = (f"{count:,}" for count in (usage.requests, *tokens))
            table.add_row(leg_id, label, *counts, usage.cost_text)
    _under(console, "models", table)
    console.print(f"models: {result.usage}")


def parked_list(console: Console, found: Sequence[ParkedRollback]) -> None:
    """Draw every obligation that waits for an operator, by mission."""
    for rollback in found:
        console.rule(line(f"rollback of {rollback.mission_id}"))
        if rollback.unread:
            console.print(line(("could not be read: ", "red"), rollback.unread))
            console.print(f"  status on the server: {rollback.shown_status or 'unknown'}")
        elif rollback.blocked:
            console.print(line(("it cannot begin, and tries again: ", "red"), rollback.blocked))
        elif not rollback.settled:
            console.print("the rest of it is still being tried")
        for obligation in rollback.waiting:
            parked(console, obligation)
    if not found:
        console.print("nothing is parked")


def parked(console: Console, obligation: ParkedObligation) -> None:
    """Draw a parked obligation with the commands that resolve it."""
    console.print(line((f"parked: {obligation.obligation_id}", "red")))
    body = Table(box=None, show_header=False, pad_edge=False)
    what = obligation.title or obligation.tool
    called = what if what == obligation.tool else f"{what} ({obligation.tool})"
    facts = [("what", line(called))]
    if obligation.reference:
        named = (f"{name} {value}" for name, value in obligation.reference.items())
        facts.append(("reference", block(", ".join(named))))
    if obligation.price is not None:
        facts.append(("price", line(str(obligation.price))))
    facts.append(("why", block(obligation.why or "nobody said")))
    if obligation.since is not None:
        facts.append(("since", line(f"{obligation.since:%Y-%m-%d %H:%M:%S %Z}")))
    facts += [("before", block(str(resolution))) for resolution in obligation.resolutions]
    for label, value in facts:
        body.add_row(line((f"  {label}", "bold")), value)
    console.print(body)
    for command in obligation.commands:
        console.print(f"  {command}", soft_wrap=True)


def resolutions(console: Console, obligations: Sequence[Obligation]) -> None:
    """Draw the decisions of operators."""
    for obligation in obligations:
        for resolution in obligation.resolutions:
            console.print(indented(block(f"{obligation.obligation_id}: {resolution}"), by=4))


# -- plans ----------------------------------------------------------------------------------------


def plan_preview(console: Console, shown: PlanPreview) -> None:
    """Draw a plan as a tree, in the order in which its legs may run."""
    console.print(indented(block(shown.goal)))
    tree = Tree(line(("what would be done", "bold")))
    for leg in sorted(shown.legs, key=lambda one: one.stage):
        branch = tree.add(
            line((leg.leg_id, "bold"), f" {leg.goal} ", (f"({leg_note(leg)})", "dim"))
        )
        tools = {tool.name: tool for tool in leg.tools}
        for order in leg.orders:
            branch.add(line(("order ", "green"), order_text(order, tools)))
        for tool in () if leg.orders else leg.tools:
            branch.add(line(tool_text(tool)))
        if not leg.orders and not leg.tools:
            unknown = "no tool is likely yet: it looks for one when it begins"
            branch.add(line((unknown, "yellow")))
        if leg.serves:
            branch.add(line(("serves ", "dim"), "; ".join(map(repr, leg.serves))))
    console.print(tree)
    if shown.made_by.sentence:
        console.print(line((shown.made_by.sentence, "dim")))
    for number, findings in enumerate(shown.made_by.corrected, start=1):
        faults = "; ".join(findings)
        console.print(line((f"  answer {number} did not hold: ", "dim"), faults))
    for text in shown.uncovered:
        console.print(line(("no leg serves: ", "red"), repr(text)))
    for doubt in shown.doubts:
        console.print(line(("not carried out: ", "yellow"), doubt_text(doubt)))
    if shown.needs_approval:
        console.print("its plan has to be approved before it begins")
    elif shown.asks_first:
        console.print("it would ask about what is not carried out before it begins")
    console.print("nothing was done; prices are known when a call is prepared")
    console.print(line(("digest ", "dim"), shown.digest))
