"""Tells that no operation of the documents is marked, where a command has nothing to work on."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer

from orchestrator.core.record import JsonObject


def tell_unmarked(documents: Mapping[str, JsonObject], paths: Sequence[Path]) -> bool:
    """Say on standard error that nothing is marked, if so; whether it is."""
    from orchestrator.catalog.overlay import unmarked

    said = unmarked(documents, [*_files(paths)])
    if said is not None:
        typer.echo(said, err=True)
    return said is not None


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    """The files themselves, and those in folders."""
    for path in paths:
        yield from sorted(path.iterdir()) if path.is_dir() else [path]
