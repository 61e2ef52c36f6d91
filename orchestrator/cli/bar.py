"""The bar that counts what a long command has done, on standard error."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from orchestrator.cli.output import progress


def counting_bar() -> Progress:
    """What it does, how much of how many, and for how long."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=progress,
    )
