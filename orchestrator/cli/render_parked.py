"""What is parked, drawn with rich: why, since when, and what to type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator.cli.drawing import block, indented, line

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.messages.parked import ParkedObligation, ParkedRollback
    from orchestrator.saga.ledger import Obligation


def parked_list(console: Console, found: Sequence[ParkedRollback]) -> None:
    """Every obligation that waits for an operator, by mission."""
    for rollback in found:
        console.rule(line(f"rollback of {rollback.mission_id}"))
        if rollback.unread:
            console.print(line(("could not be asked: ", "red"), rollback.unread))
            console.print(f"  status on the server: {rollback.shown_status or 'unknown'}")
        elif not rollback.settled:
            console.print("the rest of it is still being tried")
        for obligation in rollback.waiting:
            parked(console, obligation)
    if not found:
        console.print("nothing is parked")


def parked(console: Console, obligation: ParkedObligation) -> None:
    """One obligation, and the commands that resolve it."""
    console.print(line((f"parked: {obligation.obligation_id}", "red")))
    body = Table(box=None, show_header=False, pad_edge=False)
    for label, value in _facts(obligation):
        body.add_row(line((f"  {label}", "bold")), value)
    console.print(body)
    for command in obligation.commands:
        console.print(f"  {command}", soft_wrap=True)


def _facts(obligation: ParkedObligation) -> Iterator[tuple[str, Text]]:
    what = obligation.title or obligation.tool
    yield "what", line(what if what == obligation.tool else f"{what} ({obligation.tool})")
    if obligation.reference:
        named = (f"{name} {value}" for name, value in obligation.reference.items())
        yield "reference", block(", ".join(named))
    if obligation.price is not None:
        yield "price", line(str(obligation.price))
    yield "why", block(obligation.why or "nobody said")
    if obligation.since is not None:
        yield "since", line(f"{obligation.since:%Y-%m-%d %H:%M:%S %Z}")
    for resolution in obligation.resolutions:
        yield "before", block(str(resolution))


def resolutions(console: Console, obligations: Sequence[Obligation]) -> None:
    """What operators decided, each time."""
    for obligation in obligations:
        for resolution in obligation.resolutions:
            console.print(indented(block(f"{obligation.obligation_id}: {resolution}"), by=4))
