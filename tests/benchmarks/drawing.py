"""Figures as tables: for a terminal, and for the pages of the docs."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tests.benchmarks.figure import Figure


def draw(figures: Mapping[str, Sequence[Figure]]) -> None:
    """Print them: one line each, and a table of their own for each benchmark that has rows."""
    plain = Table("benchmark", "figure", "value", "unit", "note", box=None)
    for name, found in figures.items():
        for figure in found:
            if not figure.row:
                plain.add_row(name, figure.name, f"{figure.value:,.4g}", figure.unit, figure.note)
    console = Console()
    if plain.row_count:
        console.print(plain)
    for found in figures.values():
        if rows := [figure for figure in found if figure.row]:
            console.print(_ruled(rows))


def markdown(figures: Sequence[Figure]) -> str:
    """A table of them, those of one row in one line."""
    if not any(figure.row for figure in figures):
        header = ["figure", "value", "unit", "note"]
        lines = [[f.name, f"{f.value:,.4g}", f.unit, f.note] for f in figures]
    else:
        header, lines = _table(figures)
    ruled = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)


def _ruled(figures: Iterable[Figure]) -> Table:
    header, lines = _table(figures)
    table = Table(*header, box=None)
    for cells in lines:
        table.add_row(*cells)
    return table


def _table(figures: Iterable[Figure]) -> tuple[list[str], list[list[str]]]:
    """Names of columns, and lines; a row that has no such figure has an empty cell."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    columns: dict[str, None] = {}
    for figure in figures:
        rows.setdefault(figure.row, {})[figure.name] = _short(figure)
        columns.setdefault(figure.name)
    width = max((len(row) for row in rows), default=0)
    lines = [
        [*row, *[""] * (width - len(row)), *(cells.get(column, "") for column in columns)]
        for row, cells in rows.items()
    ]
    return [*[""] * width, *columns], lines


def _short(figure: Figure) -> str:
    """Shares without the zero before the point, to three places; other numbers to two.

    What has a unit in a table is counted in it, and whole.
    """
    if figure.unit:
        return f"{figure.value:.0f}"
    value = figure.value
    return f"{value:.3f}".removeprefix("0") if 0 <= value < 1 else f"{value:.2f}"
