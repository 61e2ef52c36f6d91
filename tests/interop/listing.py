"""Which documents a folder holds, and what each is called.

A folder that `python -m tests.interop bring` has filled says so itself, in its `interop.json`. Of
any other one, every file that says it is an OpenAPI document is taken, however deep it lies.
"""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

MANIFEST: Final = "interop.json"
_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
_SAYS_SO: Final = re.compile(r"""^\s*\{?\s*["']?(openapi|swagger)["']?\s*:""", re.MULTILINE)
_BEGINNING: Final = 65_536


@dataclass(frozen=True)
class Listed:
    """A document: its file in the folder, and where that came from."""

    name: str
    file: str
    repository: str = ""
    commit: str = ""
    path: str = ""
    """In the repository."""
    folder: str = ""
    """In the repository: what is brought with it, for it refers there; '' for the file alone."""
    licence: str = ""


def listed(folder: Path) -> list[Listed]:
    """The documents of a folder, in the order of its manifest, else by name."""
    manifest = folder / MANIFEST
    if manifest.exists():
        entries: list[dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))
        return [Listed(**entry) for entry in entries]
    files = sorted(path for path in folder.rglob("*") if _is_document(path))
    return [Listed(str(path.relative_to(folder)), str(path.relative_to(folder))) for path in files]


def write_manifest(folder: Path, entries: list[Listed]) -> None:
    """Say what a folder holds."""
    text = json.dumps([asdict(entry) for entry in entries], indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _is_document(path: Path) -> bool:
    if path.suffix not in _SUFFIXES or path.name == MANIFEST or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return _SAYS_SO.search(file.read(_BEGINNING)) is not None
