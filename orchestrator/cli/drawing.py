"""Building blocks of drawing: escaped text, tables, and the color of a status."""

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
    "on_hold": "yellow",
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
    """Return a table that folds long cells, except in its first column, which people copy."""
    first, *others = columns
    folding = (Column(name, overflow="fold") for name in others)
    return Table(Column(first, no_wrap=True), *folding, box=None, pad_edge=False)


def listing(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table if it fits; else each row in lines of its own, with its first cell whole."""
    table, listed = table_of(*columns), list(rows)
    for row in listed:
        table.add_row(*row)
    unbounded = console.options.update(max_width=_UNBOUNDED)
    if console.measure(table, options=unbounded).maximum <= console.width:
        console.print(table)
        return
    for first, *others in listed:
        console.print(first, soft_wrap=True)
        cells = [
            f"{name} {value}" for name, value in zip(columns[1:], others, strict=True) if value
        ]
        console.print(indented(block(", ".join(cells))))


def line(*parts: str | Text | tuple[str, str]) -> Text:
    """Return one line of these parts; a pair is a text and its style.

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
    """Return rows of text, a line each."""
    return Text("\n").join(rows)


def block(text: str, style: str = "") -> Text:
    """Return text of several lines."""
    return Text(visible_block(text), style)


def indented(text: Text, by: int = 2) -> Padding:
    """Return text of others, each line indented further than ours, also where it is folded."""
    return Padding(text, (0, 0, 0, by), expand=False)


def colored(status: str) -> Text:
    """Return a status in its color."""
    return Text(visible(status), _COLORS.get(status, ""))


def counting_bar() -> Progress:
    """Return a progress bar with description, count and time."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=progress,
    )
