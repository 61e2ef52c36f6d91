"""Which documents and overlays a service works on: as it is told, else as the settings say."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from orchestrator.core.errors import OverlayWarning
from orchestrator.settings import Settings


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

    Raises:
        DocumentUnreadable: a file of the settings' overlays or of the documents cannot be read.
        DocumentInvalid: an overlay of the settings is none.
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
