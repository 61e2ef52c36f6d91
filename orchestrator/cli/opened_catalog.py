"""The catalog that a command works on, and what is told of its documents on the way."""

import gc
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.status import Status

from orchestrator.cli.output import progress
from orchestrator.core.errors import SkippedWarning
from orchestrator.core.record import JsonObject
from orchestrator.settings import load_settings

if TYPE_CHECKING:
    from orchestrator.catalog.catalog import Catalog


@contextmanager
def reading() -> Iterator[Status]:
    """Shows on a terminal what is being done with documents.

    Meanwhile nothing is collected: a parsed document of 50 MB is millions of objects and no
    garbage, and to look through them again and again takes a quarter of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        with progress.status("reading documents") as status:
            yield status
    finally:
        if was_on:
            gc.enable()


def open_catalog(
    specs: list[Path] | None, overlays: list[Path] | None, *, tells_skipped: bool = True
) -> "Catalog":
    """The catalog of these paths, else of the settings; what is skipped is counted in a line.

    Overlays of the settings are for the documents of the settings: with other documents, or other
    overlays, they are left out.
    """
    from orchestrator.catalog.catalog import Catalog

    settings = load_settings()
    over = settings.overlays if overlays is None and not specs else overlays or ()
    paths = specs or settings.specs
    with warnings.catch_warnings(), reading():
        warnings.simplefilter("ignore", SkippedWarning)
        catalog = Catalog.load(*paths, overlays=over)
    if catalog.skipped and tells_skipped:
        progress.print(f"{len(catalog.skipped)} skipped; see: orchestrator tools list")
    return catalog


def tell_skipped(documents: Mapping[str, JsonObject]) -> None:
    """A line for each operation of parsed documents that cannot be a tool.

    Raises:
        DocumentInvalid: one is no document of a version that we read.
    """
    from orchestrator.catalog.catalog import Catalog

    for operation in Catalog.from_documents(documents).skipped:
        warnings.warn(str(operation), SkippedWarning, stacklevel=2)
