"""Catalogs kept by digest."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.errors import CatalogNotFound, UsageError


def _catalog(summary: str = "Find things.") -> Catalog:
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "http://h"}],
        "paths": {
            "/things": {
                "get": {
                    "operationId": "thing_search",
                    "summary": summary,
                    "x-orchet-tool": True,
                    "responses": {"200": {"description": "ok"}},
                }
            }
        },
    }
    return Catalog.from_documents({"things": document})


def test_what_is_put_is_compiled_again_elsewhere(tmp_path: Path) -> None:
    """Another process gets the same tools under the same digest."""
    catalog = _catalog()
    CatalogStore(tmp_path / "new").put(catalog)

    found = CatalogStore(tmp_path / "new").get(catalog.digest)

    assert found.digest == catalog.digest
    assert dict(found.tools) == dict(catalog.tools)


def test_a_catalog_is_compiled_once(tmp_path: Path) -> None:
    """The second time it comes from memory, even when the file is gone."""
    catalog, store = _catalog(), CatalogStore(tmp_path)
    store.put(catalog)
    first = store.get(catalog.digest)
    (tmp_path / f"{catalog.digest}.json").unlink()

    assert store.get(catalog.digest) is first


@pytest.mark.parametrize("digest", ["0" * 64, "../../etc/passwd", ""])
def test_an_unknown_digest_is_not_found(tmp_path: Path, digest: str) -> None:
    """Nor is anything that is no digest, whatever path it spells."""
    with pytest.raises(CatalogNotFound):
        CatalogStore(tmp_path).get(digest)


def test_changed_content_is_not_what_was_asked_for(tmp_path: Path) -> None:
    """A file whose content has another digest is refused: a mission keeps the contract it had."""
    store, catalog, other = CatalogStore(tmp_path), _catalog(), _catalog("Something else.")
    store.put(other)
    (tmp_path / f"{other.digest}.json").rename(tmp_path / f"{catalog.digest}.json")

    with pytest.raises(CatalogNotFound):
        store.get(catalog.digest)


def test_a_torn_file_is_not_found(tmp_path: Path) -> None:
    """And is healed by putting the catalog again."""
    catalog, store = _catalog(), CatalogStore(tmp_path)
    (tmp_path / f"{catalog.digest}.json").write_text('{"things"')
    with pytest.raises(CatalogNotFound):
        store.get(catalog.digest)

    store.put(catalog)

    assert store.get(catalog.digest).digest == catalog.digest


def test_plain_functions_cannot_be_kept(tmp_path: Path) -> None:
    """They have no document to compile again."""
    functions = [{"name": "thing_search", "parameters": {"type": "object", "properties": {}}}]

    with pytest.raises(UsageError):
        CatalogStore(tmp_path).put(Catalog.from_functions(functions))
