"""Catalogs kept by their digest, so that a mission keeps the one it began with."""

import json
import re
from functools import lru_cache
from pathlib import Path

from orchestrator.adapters.storage.files import private_folder, replace_file
from orchestrator.catalog.archive import pack, unpack
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import CatalogDamaged, CatalogNotFound, UsageError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEPT_IN_MEMORY = 8


class CatalogStore:
    """Catalogs in a directory, one file each, compiled tools included.

    Workers on several machines share the directory, or each put the catalog that they load. A file
    appears whole or not at all, whoever dies while writing it, and two that write the same catalog
    write the same. Nothing is ever deleted here: a mission may be rolled back long after it ended.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._compiled = lru_cache(maxsize=_KEPT_IN_MEMORY)(self._read)
        self._sizes: dict[str, int] = {}
        """In bytes, of the files that were written from here."""

    def put(self, catalog: Catalog) -> None:
        """Keep a catalog; putting it again heals a file that was lost or cut off.

        Raises:
            UsageError: some tool comes from no document, so it could not be called.
        """
        if any(tool.document not in catalog.documents for tool in catalog.tools.values()):
            raise UsageError("only a catalog of OpenAPI documents can be kept and called")
        path = self._path(catalog.digest)
        written = self._sizes.get(catalog.digest)
        if written is not None and written == _size(path):
            return
        private_folder(self._directory)
        # Keys keep the authors' order: it is the order in which schemas are shown.
        text = json.dumps(pack(catalog), separators=(",", ":"), ensure_ascii=False).encode()
        replace_file(path, text)
        self._sizes[catalog.digest] = len(text)

    def get(self, digest: str) -> Catalog:
        """The catalog of that digest; the last few stay in memory.

        Raises:
            CatalogNotFound: none is kept.
            CatalogDamaged: what is kept under that name is not it.
        """
        if not _DIGEST.fullmatch(digest):
            raise CatalogNotFound(digest)
        return self._compiled(digest)

    def _read(self, digest: str) -> Catalog:
        path = self._path(digest)
        try:
            return unpack(json.loads(path.read_bytes()), digest)
        except FileNotFoundError as error:
            raise CatalogNotFound(digest) from error
        except (ValueError, RecursionError) as error:
            self._sizes.pop(digest, None)
            raise CatalogDamaged(digest, str(path), str(error)) from error

    def _path(self, digest: str) -> Path:
        return self._directory / f"{digest}.json"


def _size(path: Path) -> int | None:
    """In bytes; None when there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
