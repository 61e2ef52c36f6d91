"""What all drawing shares: text that is only text, tables, and the color of a status."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from orchestrator.cli.output import progress
from orchestrator.core.shown_text import visible, visible_block

_COLORS = {
    "succeeded": "green",
    "committed": "green",
    "incomplete": "yellow",
    "rolled_back": "yellow",
    "rolled_back_after_success": "yellow",
    "cancelled": "yellow",
    "skipped": "yellow",
    "running": "cyan",
    "failed": "red",
    "rejected": "red",
    "unknown": "red",
    "parked": "red",
    "terminated": "red",
}

_UNBOUNDED = 100_000
"""Columns of a terminal that no table fills."""


def table_of(*columns: str) -> Table:
    """A table that folds what is too long, but never its first column: that is what one copies."""
    first, *others = columns
    folding = (Column(name, overflow="fold") for name in others)
    return Table(Column(first, no_wrap=True), *folding, box=None, pad_edge=False)


def listing(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table where all of it fits side by side; else each row in lines of its own, no name cut."""
    table, listed = table_of(*columns), list(rows)
    for row in listed:
        table.add_row(*row)
    unbounded = console.options.update(max_width=_UNBOUNDED)
    if console.measure(table, options=unbounded).maximum <= console.width:
        console.print(table)
        return
    for first, *others in listed:
        console.print(first, soft_wrap=True)
        told = [f"{name} {value}" for name, value in zip(columns[1:], others, strict=True) if value]
        console.print(indented(block(", ".join(told))))


def line(*parts: str | Text | tuple[str, str]) -> Text:
    """One line of these parts; a pair is a text and its style.

    Example: `line(("Price", "bold"), " ", price)`
    """
    clean = (
        part
        if isinstance(part, Text)
        else Text(visible(part))
        if isinstance(part, str)
        else Text(visible(part[0]), part[1])
        for part in parts
    )
    return Text("").join(clean)


def lines(*rows: Text) -> Text:
    """Each on a line of its own."""
    return Text("\n").join(rows)


def block(text: str, style: str = "") -> Text:
    """Text of several lines."""
    return Text(visible_block(text), style)


def indented(text: Text, by: int = 2) -> Padding:
    """Text whose every line, also where it is folded, begins further right than what is ours."""
    return Padding(text, (0, 0, 0, by), expand=False)


def colored(status: str) -> Text:
    """A status in its color."""
    return Text(visible(status), _COLORS.get(status, ""))


def counting_bar() -> Progress:
    """What it does, how much of how many, and for how long."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=progress,
    )
