"""`orchestrator chaos run --specs`: the rollback pairs of any documents, tried."""

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.adapters.storage.files import private_file, private_folder
from orchestrator.catalog.catalog import load_documents
from orchestrator.chaos.pairs import check_pairs
from orchestrator.chaos.verdicts.report import PairsReport
from orchestrator.cli.bar import counting_bar
from orchestrator.cli.marked import tell_unmarked
from orchestrator.cli.output import progress
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
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
    if tell_unmarked(documents, specs):
        raise UsageError("there is nothing to roll back before something is marked")
    found = await try_documents(documents, seed=seed, keep=keep)
    if not found.checks:
        raise UsageError(
            "no tool of these documents leaves anything behind, so there is nothing to roll back; "
            "mark operations with x-orchet-tool and x-orchet-cancels, or add an --overlay that does"
        )
    return found


async def try_documents(
    documents: Mapping[str, JsonObject], *, seed: int, keep: Path | None = None
) -> PairsReport:
    """Try every pair of these documents, by name, overlays applied.

    Raises:
        UsageError: a document cannot be served.
    """
    progress.print(f"seed {seed}")
    with (
        tempfile.TemporaryDirectory(prefix="orchestrator-pairs-") as scratch,
        counting_bar() as bar,
    ):
        folder = private_folder(keep or Path(scratch))
        task = bar.add_task("starting Temporal, the sandbox and a worker", total=None)

        def started(total: int) -> None:
            bar.update(task, description="trials", total=total)

        with _logged_to(folder / "worker.log"):
            try:
                return await check_pairs(
                    documents,
                    folder,
                    seed=seed,
                    on_start=started,
                    on_check=lambda _: bar.advance(task),
                )
            except DocumentError as error:
                raise UsageError(str(error)) from error


@contextmanager
def _logged_to(file: Path) -> Iterator[None]:
    """Keep what the libraries log about planned trouble off the screen."""
    handler = logging.FileHandler(private_file(file))
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
