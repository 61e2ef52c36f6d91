"""`orchestrator report ...`: what was observed, and what a guard would have caught of it."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.options import new_app, read_since
from orchestrator.cli.output import AsJson, ask, line, present

if TYPE_CHECKING:
    from orchestrator.client.observe_report import ObserveReport

app = new_app(no_args_is_help=True)
_SHOWN = 20
"""Findings of a kind that are drawn; JSON has all."""


@app.callback()
def report() -> None:
    """Show what guards would have caught in observed calls."""


@app.command()
def observe(
    since: Annotated[
        str, typer.Option(help="The age of the oldest: 90m, 36h, 7d or 2w, or a time in ISO 8601.")
    ] = "7d",
    as_json: AsJson = False,
) -> None:
    """Show what guards would have caught in observed calls.

    Reads histories only; cards are those of the present documents and policy.

    Example: orchestrator report observe --since 7d
    """
    begin = read_since(since, now=datetime.now(UTC))
    found = ask(lambda client: client.observed(since=begin))
    present(found, draw, as_json=as_json)


def draw(console: Console, report: "ObserveReport") -> None:
    """Draw the counts, and the findings of each kind."""
    from orchestrator.client.observe_report import HEADINGS

    console.print(line((report.mode, "yellow"), f", since {report.since:%Y-%m-%d %H:%M %Z}"))
    console.print(
        f"{report.calls:,} calls of {report.workflows:,} workflows, {report.consequences:,} with "
        f"consequences; charged: {report.charged}"
    )
    standing = f", {report.standing:,} of them under a standing approval" if report.asks else ""
    console.print(f"{len(report.asks):,} would have needed an approval{standing}")
    for kind, heading in HEADINGS.items():
        found = [one for one in report.caught if one.kind == kind]
        console.print(line((f"{heading}: {len(found):,}", "red" if found else "dim")))
        for one in found[:_SHOWN]:
            where = one.call_id or one.mission_id
            console.print(line(f"  {where} ({one.workflow_id}): {one.text}"), soft_wrap=True)
        if len(found) > _SHOWN:
            console.print(f"  and {len(found) - _SHOWN:,} more: --json")
    for why in report.unread:
        console.print(line((f"not read: {why}", "yellow")), soft_wrap=True)
