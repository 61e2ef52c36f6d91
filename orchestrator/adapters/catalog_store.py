"""Catalogs kept by their digest, so that a mission keeps the one it began with."""

import json
import re
from functools import lru_cache
from pathlib import Path

from orchestrator.adapters.files import replace_file
from orchestrator.catalog.catalog import Catalog
from orchestrator.errors import CatalogNotFound, SpecError, UsageError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEPT_IN_MEMORY = 8


class CatalogStore:
    """Catalogs in a directory, one file of documents each.

    Workers on several machines share the directory, or each put the catalog that they load.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._compiled = lru_cache(maxsize=_KEPT_IN_MEMORY)(self._compile)

    def put(self, catalog: Catalog) -> None:
        """Keep a catalog; putting it again changes nothing.

        Raises:
            UsageError: some tool comes from no document, so it could not be compiled again.
        """
        if any(tool.document not in catalog.documents for tool in catalog.tools.values()):
            raise UsageError("only a catalog of OpenAPI documents can be kept and called")
        self._directory.mkdir(parents=True, exist_ok=True)
        # Keys keep the authors' order: it is the order in which schemas are shown.
        content = json.dumps(dict(catalog.documents), separators=(",", ":"), ensure_ascii=False)
        replace_file(self._path(catalog.digest), content.encode(), mode=0o644)

    def get(self, digest: str) -> Catalog:
        """The catalog of that digest, compiled; the last few stay in memory.

        Raises:
            CatalogNotFound: none is kept, or what is kept has another digest.
        """
        return self._compiled(digest)

    def _compile(self, digest: str) -> Catalog:
        if not _DIGEST.fullmatch(digest):
            raise CatalogNotFound(digest)
        try:
            catalog = Catalog.from_documents(json.loads(self._path(digest).read_bytes()))
        except (FileNotFoundError, ValueError, SpecError) as error:
            raise CatalogNotFound(digest) from error
        if catalog.digest != digest:
            raise CatalogNotFound(digest)
        return catalog

    def _path(self, digest: str) -> Path:
        return self._directory / f"{digest}.json"
