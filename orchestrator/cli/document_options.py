"""The documents that a command works on, and what is said of them on the way."""

import gc
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer
from rich.status import Status

from orchestrator.cli.output import progress
from orchestrator.core.errors import OverlayWarning, SkippedWarning
from orchestrator.core.record import JsonObject
from orchestrator.settings import Settings, load_settings

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
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
    """A line for each operation of parsed documents that cannot be a tool."""
    from orchestrator.catalog.catalog import Catalog

    for operation in Catalog.from_documents(documents).skipped:
        warnings.warn(str(operation), SkippedWarning, stacklevel=2)


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


class Chosen(NamedTuple):
    """Paths of documents, and of the overlays over them."""

    specs: tuple[Path, ...]
    overlays: tuple[Path, ...]


def choose(
    settings: Settings, specs: Sequence[Path] | None, overlays: Sequence[Path] | None
) -> Chosen:
    """What the command line says comes first.

    Overlays of the settings stay with other documents too, where they fit. One that is made for a
    document which is not among them is left out, with an OverlayWarning: it was set for others.
    """
    if overlays:
        return Chosen(tuple(specs or settings.specs), tuple(overlays))
    if not specs or not settings.overlays:
        return Chosen(tuple(specs or settings.specs), settings.overlays)
    from orchestrator.catalog.source import overlays_for

    fitting, others = overlays_for(specs, settings.overlays)
    for path, extended in others:
        warnings.warn(
            f"{path} of ORCHESTRATOR_OVERLAYS is left out: it extends {extended}, which is none of "
            "these documents",
            OverlayWarning,
            stacklevel=2,
        )
    return Chosen(tuple(specs), fitting)
