"""Documents for `orchestrator dev`, with all their servers replaced by the sandbox.

They are written to files, so that the sandbox, every worker and every command of the same shell
read the same documents, and a worker that is started by hand calls no real host either.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from orchestrator.adapters.storage.files import private_folder, replace_file
from orchestrator.catalog.contract import bare_credentials
from orchestrator.catalog.operations import UnreadFile, operations
from orchestrator.core.errors import DocumentInvalid, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.core.secret_names import secret_for_scheme, variable_of
from orchestrator.json_schema.document import DocumentNode
from orchestrator.sandbox import DocumentError, create_app, redirected
from orchestrator.sandbox.app import DocumentMemory, memories_of
from orchestrator.sandbox.effect_ledger import EffectLedger

HOST = "127.0.0.1"
_SOURCES = "documents-read.json"


class OwnDocuments(NamedTuple):
    """Paths of documents, and of their overlays."""

    specs: tuple[Path, ...]
    overlays: tuple[Path, ...]


def sources_of(specs: Sequence[Path], overlays: Sequence[Path], folder: Path) -> OwnDocuments:
    """Return the sources of these documents, if this module wrote them.

    A shell that has read env.sh names the written documents; `dev` started from it reads the
    user's.
    """
    noted = folder / _SOURCES
    if [path.absolute() for path in specs] != [_written(folder)] or not noted.is_file():
        return OwnDocuments(tuple(specs), tuple(overlays))
    read = json.loads(noted.read_text(encoding="utf-8"))
    return OwnDocuments(tuple(map(Path, read["specs"])), tuple(map(Path, read["overlays"])))


def note_sources(sources: OwnDocuments, folder: Path) -> None:
    """Store the documents' sources for the next start."""
    named = {
        "specs": [str(path.absolute()) for path in sources.specs],
        "overlays": [str(path.absolute()) for path in sources.overlays],
    }
    replace_file(folder / _SOURCES, json.dumps(named).encode())


def last_written(
    sources: OwnDocuments, unread: Sequence[UnreadFile], folder: Path
) -> dict[str, JsonObject]:
    """Return the last written documents of files that have become unreadable, by name.

    Missions that began with such a document are still running at the sandbox.
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
    """The folder of written documents, and the sandbox's reading of each."""

    folder: Path
    memories: tuple[DocumentMemory, ...]


def write_redirected(documents: Mapping[str, JsonObject], folder: Path, *, port: int) -> Redirected:
    """Write documents that call only the sandbox into a folder that contains no others.

    They call its port unless the server variables set another, so that pinned documents follow the
    sandbox to a new port.

    Raises:
        UsageError: the sandbox cannot serve a document, which the error names.
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


def sandbox_credentials(documents: Mapping[str, JsonObject]) -> dict[str, str]:
    """Return environment variables that fill each declared scheme and each bare credential."""
    made: dict[str, str] = {}

    def make(name: str, scheme: str, value: str = "sandbox") -> None:
        made[variable_of(secret_for_scheme(name, scheme).name)] = value

    for name, document in documents.items():
        # Unreadable parts are reported where the document is compiled.
        with suppress(DocumentInvalid):
            for operation in operations(DocumentNode.of(name, document)):
                with suppress(DocumentInvalid):
                    for parameter in bare_credentials(operation) if operation.is_tool else ():
                        make(name, parameter.require("name").text())
    for name, document in documents.items():
        components = document.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, dict) else None
        for scheme, declared in schemes.items() if isinstance(schemes, dict) else ():
            form = str(declared.get("scheme", "")) if isinstance(declared, dict) else ""
            # A user and a password, for basic authentication.
            make(name, scheme, "sandbox:sandbox" if form.lower() == "basic" else "sandbox")
    return made
