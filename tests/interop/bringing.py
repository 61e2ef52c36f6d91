"""Brings the named documents by git, each at its commit, with the files that it refers to."""

import io
import json
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.benchmarks.datasets.repository import (
    Origin,
    Repository,
    SourceMissing,
    from_mirrors,
    over_network,
)
from tests.interop.listing import Listed, write_manifest

NAMED: Final = Path(__file__).parent / "documents.json"


def named() -> list[Listed]:
    """The documents that docs/interop.md speaks of; their `file` is still to be given."""
    return [Listed(file="", **entry) for entry in json.loads(NAMED.read_text(encoding="utf-8"))]


def bring(folder: Path, mirrors: Path | None, documents: Iterable[Listed]) -> list[str]:
    """Put documents into a folder, with its manifest; what could not be had, a sentence each."""
    folder.mkdir(parents=True, exist_ok=True)
    brought: list[Listed] = []
    missed: list[str] = []
    for document in documents:
        try:
            brought.append(_bring_one(folder, mirrors, document))
        except SourceMissing as missing:
            missed.append(f"{document.name}: {missing}")
    write_manifest(folder, brought)
    return missed


def _bring_one(folder: Path, mirrors: Path | None, document: Listed) -> Listed:
    origin = Origin(document.repository, document.commit, document.licence)
    source = (
        over_network(origin, folder / ".clones")
        if mirrors is None
        else from_mirrors(origin, mirrors)
    )
    _unpack(source, document.folder or document.path, folder / document.name)
    return replace(document, file=f"{document.name}/{document.path}")


def _unpack(source: Repository, path: str, folder: Path) -> None:
    command = ("git", "-C", str(source.folder), "archive", source.commit, "--", path)
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise SourceMissing(f"{path} at {source.commit[:12]} cannot be read ({said})")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
