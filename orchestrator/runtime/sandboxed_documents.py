"""Documents as `orchestrator dev` uses them: with every server of theirs turned into the sandbox.

They are written down, so that the sandbox, every worker and every command of the same shell read
the same ones, and a worker that is started by hand calls no real host either.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from orchestrator.adapters.storage.files import private_folder, replace_file
from orchestrator.catalog.operations import UnreadFile
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.sandbox import DocumentError, create_app, redirected
from orchestrator.sandbox.app import DocumentMemory, memories_of
from orchestrator.sandbox.effect_ledger import EffectLedger

HOST = "127.0.0.1"
_SOURCES = "documents-read.json"


class OwnDocuments(NamedTuple):
    """Paths of documents, and of the overlays over them."""

    specs: tuple[Path, ...]
    overlays: tuple[Path, ...]


def sources_of(specs: Sequence[Path], overlays: Sequence[Path], folder: Path) -> OwnDocuments:
    """What these documents are made from, when they are those that this module wrote.

    A shell that has read env.sh names those; started again from there, `dev` reads the user's own.
    """
    noted = folder / _SOURCES
    if [path.absolute() for path in specs] != [_written(folder)] or not noted.is_file():
        return OwnDocuments(tuple(specs), tuple(overlays))
    read = json.loads(noted.read_text(encoding="utf-8"))
    return OwnDocuments(tuple(map(Path, read["specs"])), tuple(map(Path, read["overlays"])))


def note_sources(sources: OwnDocuments, folder: Path) -> None:
    """Keep what the documents are made from, for the next time."""
    named = {
        "specs": [str(path.absolute()) for path in sources.specs],
        "overlays": [str(path.absolute()) for path in sources.overlays],
    }
    replace_file(folder / _SOURCES, json.dumps(named).encode())


def last_written(
    sources: OwnDocuments, unread: Sequence[UnreadFile], folder: Path
) -> dict[str, JsonObject]:
    """What was written last of files of these sources that cannot be read any more, by name.

    Missions that began with it are in the middle of something at the sandbox.
    """
    if not (noted := folder / _SOURCES).is_file():
        return {}
    read = json.loads(noted.read_text(encoding="utf-8"))
    if read["specs"] != [str(path.absolute()) for path in sources.specs]:
        return {}
    kept = {one.document: _written(folder) / f"{one.document}.json" for one in unread}
    return {name: json.loads(f.read_bytes()) for name, f in kept.items() if f.is_file()}


def _written(folder: Path) -> Path:
    return folder.absolute() / "documents"


class Redirected(NamedTuple):
    """Where documents were written, and what the sandbox makes of each."""

    folder: Path
    memories: tuple[DocumentMemory, ...]


def write_redirected(documents: Mapping[str, JsonObject], folder: Path, *, port: int) -> Redirected:
    """Write documents that call the sandbox alone, into a folder that holds no others.

    Args:
        documents: by name, overlays applied.
        folder: of the installation's state.
        port: of the sandbox, unless the server variables say otherwise: what was pinned before
            follows it to another one.

    Raises:
        UsageError: the sandbox cannot stand in for one; it is named.
    """
    try:
        turned = redirected(
            documents, "http://{host}:{port}", variables={"host": HOST, "port": str(port)}
        )
        with EffectLedger() as ledger:
            memories = memories_of(create_app(turned, ledger=ledger))
    except (DocumentError, LookupError) as error:
        raise UsageError(
            f"the sandbox cannot stand in for the servers of these documents: {error}"
        ) from error
    written = _written(folder)
    private_folder(folder)
    private_folder(written)
    for stale in written.glob("*.json"):
        if stale.stem not in turned:
            stale.unlink()
    for name, document in turned.items():
        replace_file(written / f"{name}.json", json.dumps(document).encode())
    return Redirected(written, memories)
