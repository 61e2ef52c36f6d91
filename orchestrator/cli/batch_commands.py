"""`orchestrator mission batch`: the missions of a file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.connected import ask
from orchestrator.cli.drawing import colored, line, table_of
from orchestrator.cli.output import AsJson, present, progress
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.client.batch import BatchEnd, BatchEntry

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"
_INTERRUPTED = 130


def batch(
    file: Annotated[Path, typer.Argument(help="Requests: .jsonl, .json, .yaml or .csv.")],
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=500, help="At most so many run at a time.")
    ] = 10,
    name: Annotated[
        str | None,
        typer.Option(
            help="Ids begin with it where the file gives none; another name starts all of them "
            "anew. Default: the file's."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start the missions of a file, so many at a time, and wait for all of them.

    Exit 1 if one does not succeed. The same file again goes on: what it has started is found by its
    id and not started twice, whatever has become of this process. Every request is read before the
    first is started.

    Example: orchestrator mission batch desks.jsonl --at-once 20
    """
    from orchestrator.cli.batch_files import read_batch

    entries = read_batch(file)
    called = _name_of(file) if name is None else name
    if not re.fullmatch(_NAME, called):
        raise UsageError(
            f"{called!r} cannot begin ids: letters, digits, '-' and '_', at most 40; give --name"
        )
    try:
        ends = ask(
            lambda client: client.batch.run(called, entries, at_once=at_once, tell=_Teller(entries))
        )
    except KeyboardInterrupt:
        progress.print(
            "stopped; what was started goes on, and the same command goes on with the rest",
            soft_wrap=True,
        )
        raise typer.Exit(_INTERRUPTED) from None
    present(ends, _draw, as_json=as_json, ok=all(end.succeeded for end in ends))


def _name_of(file: Path) -> str:
    """The file's name as ids can begin."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", file.stem).strip("-_")[:40]


class _Teller:
    """Says on standard error what becomes of each, each thing once."""

    def __init__(self, entries: "list[BatchEntry]") -> None:
        """Take all of them, of which those that are over are counted."""
        self._all = len(entries)
        self._told: set[tuple[str, str]] = set()

    def __call__(self, entry: "BatchEntry", news: str) -> None:
        if (entry.place, news) in self._told:
            return
        self._told.add((entry.place, news))
        mission = entry.request.mission_id or ""
        progress.print(line(f"{entry.place}: {mission} {news}"), soft_wrap=True)


def _draw(on: Console, ends: "list[BatchEnd]") -> None:
    table = table_of("mission", "where", "end", "why")
    for end in ends:
        table.add_row(end.mission_id, end.place, colored(end.status), end.error)
    on.print(table)
    good = sum(end.succeeded for end in ends)
    on.print(f"{good} of {len(ends)} succeeded")
