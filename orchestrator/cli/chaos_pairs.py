"""`orchestrator chaos run --specs`: the rollback pairs of any documents, tried and reported."""

import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from orchestrator.catalog.catalog import load_documents
from orchestrator.chaos.pair_report import Flaw, PairCheck, PairsReport
from orchestrator.chaos.pairs import check_pairs
from orchestrator.cli.bar import counting_bar
from orchestrator.cli.output import progress
from orchestrator.core.errors import UsageError
from orchestrator.sandbox import DocumentError

_LOUD = ("temporalio", "uvicorn", "httpx")
"""Loggers that have much to say about trouble that was planned."""


async def try_pairs(
    specs: Sequence[Path], overlays: Sequence[Path], *, seed: int, keep: Path | None
) -> PairsReport:
    """Try every pair of these documents.

    Raises:
        UsageError: a document cannot be served, or none has a tool that leaves something behind.
    """
    documents = load_documents(*specs, overlays=overlays)
    progress.print(f"seed {seed}")
    with (
        tempfile.TemporaryDirectory(prefix="orchestrator-pairs-") as scratch,
        counting_bar() as bar,
    ):
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        task = bar.add_task("starting Temporal, the sandbox and a worker", total=None)

        def started(total: int) -> None:
            bar.update(task, description="trials", total=total)

        with _logged_to(folder / "worker.log"):
            try:
                found = await check_pairs(
                    documents,
                    folder,
                    seed=seed,
                    on_start=started,
                    on_check=lambda _: bar.advance(task),
                )
            except DocumentError as error:
                raise UsageError(str(error)) from error
    if not found.checks:
        raise UsageError(
            "no tool of these documents leaves anything behind, so there is nothing to roll back; "
            "mark operations with x-orchet-tool and x-orchet-cancels, or add an --overlay that does"
        )
    return found


def show_pairs(console: Console, report: PairsReport) -> None:
    """A line for each pair, under it what is wrong and how to mend it, and the verdict."""
    for (document, tool), group in groupby(report.checks, key=lambda c: (c.document, c.tool)):
        checks = list(group)
        mark = "[green]ok[/]" if all(check.ok for check in checks) else "[bold red]NOT UNDONE[/]"
        undone_by = checks[0].cancel or "nothing"
        console.print(f"{mark} {document}: {tool} is undone by {undone_by}", soft_wrap=True)
        for flaw, cases in _by_flaw(checks):
            console.print(f"   [red]{escape(flaw.why)}[/]", soft_wrap=True)
            console.print(f"   when: {', '.join(cases)}", soft_wrap=True)
            console.print(f"   mend: {escape(flaw.mend)}", soft_wrap=True)
    verdict = "[bold green]every pair held[/]" if report.ok else "[bold red]NOT ALL HELD[/]"
    console.print(
        f"{verdict}: {report.pairs} tools, {len(report.checks)} trials in {report.seconds:.1f} s, "
        f"seed {report.seed}"
    )


def _by_flaw(checks: Iterable[PairCheck]) -> list[tuple[Flaw, list[str]]]:
    """Each flaw once, with the cases that showed it."""
    found: dict[tuple[str, str], tuple[Flaw, list[str]]] = {}
    for check in checks:
        for flaw in check.flaws:
            found.setdefault((flaw.why, flaw.mend), (flaw, []))[1].append(check.case)
    return list(found.values())


@contextmanager
def _logged_to(file: Path) -> Iterator[None]:
    """Keep what the libraries log about planned trouble off the screen."""
    handler = logging.FileHandler(file)
    loggers = [logging.getLogger(name) for name in _LOUD]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.propagate = True
        handler.close()
