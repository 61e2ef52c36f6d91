"""What all drawing shares: tables that can be copied from, and the color of a status."""

from rich.table import Column, Table

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


def table_of(*columns: str) -> Table:
    """A table that folds what is too long, but never its first column: that is what one copies."""
    first, *others = columns
    folding = (Column(name, overflow="fold") for name in others)
    return Table(Column(first, no_wrap=True), *folding, box=None, pad_edge=False)


def colored(status: str) -> str:
    """A status as markup in its color."""
    color = _COLORS.get(status)
    return f"[{color}]{status}[/{color}]" if color else status
