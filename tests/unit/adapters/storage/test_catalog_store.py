"""Catalogs kept by digest."""

import json
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.digest import content_digest
from orchestrator.core.errors import CatalogDamaged, CatalogNotFound, UsageError


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


def test_the_tools_are_kept_as_they_were_compiled(tmp_path: Path) -> None:
    """A later release that compiles, or dumps, the same document otherwise changes nothing."""
    catalog = _catalog()
    CatalogStore(tmp_path).put(catalog)
    file = tmp_path / f"{catalog.digest}.json"
    content = json.loads(file.read_text())
    content["tools"]["thing_search"]["a_field_of_another_release"] = [1]
    del content["tools"]["thing_search"]["load_policy"]
    digest = content_digest(content["documents"], content["tools"])
    (tmp_path / f"{digest}.json").write_text(json.dumps(content))

    found = CatalogStore(tmp_path).get(digest)

    assert found.digest == digest != catalog.digest
    assert dict(found.tools) == dict(catalog.tools)


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
def test_a_damaged_file_is_named_and_healed(tmp_path: Path, chance: random.Random) -> None:
    """Cut off, or with a byte changed: the error names the file, and putting it again heals it."""
    catalog = _catalog()
    CatalogStore(tmp_path).put(catalog)
    file = tmp_path / f"{catalog.digest}.json"
    whole = file.read_bytes()
    at = chance.randrange(len(whole) - 1)
    cut = chance.random() < 0.5
    file.write_bytes(whole[:at] if cut else whole[:at] + b"\x7f" + whole[at + 1 :])
    store = CatalogStore(tmp_path)

    with pytest.raises(CatalogDamaged, match=str(file)) as damaged:
        store.get(catalog.digest)
    store.put(catalog)

    assert isinstance(damaged.value, CatalogNotFound)
    assert store.get(catalog.digest).digest == catalog.digest


@pytest.mark.parametrize(
    "content", ["", "null", "[]", "{}", '{"format": 2}', '{"format": 1}', "[" * 5_000, "\udcff"]
)
def test_a_file_of_something_else_is_damaged(tmp_path: Path, content: str) -> None:
    """Whatever stands there, no other error comes out."""
    digest = "0" * 64
    (tmp_path / f"{digest}.json").write_bytes(content.encode("utf-8", "surrogateescape"))

    with pytest.raises(CatalogDamaged):
        CatalogStore(tmp_path).get(digest)


def test_a_file_under_another_name_is_damaged(tmp_path: Path) -> None:
    """A mission keeps the contract it had: a whole catalog in the wrong place is refused."""
    store, catalog, other = CatalogStore(tmp_path), _catalog(), _catalog("Something else.")
    store.put(other)
    (tmp_path / f"{other.digest}.json").rename(tmp_path / f"{catalog.digest}.json")

    with pytest.raises(CatalogDamaged, match=other.digest[:12]):
        store.get(catalog.digest)


def test_a_file_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    """Every mission puts its catalog; one that vanished or was cut off is written anew."""
    catalog, store = _catalog(), CatalogStore(tmp_path)
    file = tmp_path / f"{catalog.digest}.json"
    store.put(catalog)
    written = file.stat().st_ino
    store.put(catalog)
    assert file.stat().st_ino == written

    file.write_bytes(b"{")
    store.put(catalog)
    assert CatalogStore(tmp_path).get(catalog.digest).digest == catalog.digest

    file.unlink()
    store.put(catalog)
    assert file.exists()


def test_a_writer_that_is_killed_leaves_no_half_file(tmp_path: Path) -> None:
    """SIGKILL between writing and naming: nothing under the digest, and the next writer goes on."""
    catalog = _catalog()
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from orchestrator.adapters.storage import files\n"
        "files.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.replace_file(Path(sys.argv[1]), b'half')\n"
    )
    file = tmp_path / f"{catalog.digest}.json"
    root = Path(__file__).parents[4]

    killed = subprocess.run([sys.executable, "-c", script, str(file)], cwd=root, check=False)

    assert killed.returncode == -signal.SIGKILL
    assert not file.exists()
    store = CatalogStore(tmp_path)
    with pytest.raises(CatalogNotFound):
        store.get(catalog.digest)
    store.put(catalog)
    assert store.get(catalog.digest).digest == catalog.digest


def test_many_writers_and_readers_never_meet_half_a_file(tmp_path: Path) -> None:
    """Whoever reads while others write finds the whole catalog, or none yet."""
    catalog = _catalog()

    def write_and_read(_: int) -> str:
        store = CatalogStore(tmp_path)
        store.put(catalog)
        return store.get(catalog.digest).digest

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write_and_read, range(64))) == {catalog.digest}


def test_plain_functions_cannot_be_kept(tmp_path: Path) -> None:
    """They have no document to compile again."""
    functions = [{"name": "thing_search", "parameters": {"type": "object", "properties": {}}}]

    with pytest.raises(UsageError):
        CatalogStore(tmp_path).put(Catalog.from_functions(functions))
