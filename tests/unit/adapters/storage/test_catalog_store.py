"""Catalogs kept by digest."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog, content_digest, pack
from orchestrator.core.errors import CatalogNotFound, UsageError
from tests.unit.adapters.http.one_operation import catalog_of
from tests.unit.adapters.storage.used_grants import OpenStore

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


def _catalog(summary: str = "Find things.") -> Catalog:
    return catalog_of({"operationId": "thing_search", "summary": summary}, method="get")


def test_what_is_put_is_compiled_again_elsewhere(open_store: OpenStore) -> None:
    """Another process gets the same tools under the same digest."""
    catalog = _catalog()
    open_store().catalogs.put(catalog)
    found = open_store().catalogs.get(catalog.digest)

    assert found.digest == catalog.digest
    assert dict(found.tools) == dict(catalog.tools)


def test_a_catalog_is_compiled_once(store: Store) -> None:
    """The second time it comes from memory, even when it is gone; but not when it is reread."""
    catalog = _catalog()
    store.catalogs.put(catalog)
    first = store.catalogs.get(catalog.digest)
    assert store.catalogs.remove(catalog.digest, unless_used_since=_later())

    assert store.catalogs.get(catalog.digest) is first
    with pytest.raises(CatalogNotFound):
        store.catalogs.reread(catalog.digest)


@pytest.mark.parametrize("digest", ["0" * 64, "../../etc/passwd", ""])
def test_an_unknown_digest_is_not_found(store: Store, digest: str) -> None:
    """Nor is anything that is no digest, whatever path it spells."""
    with pytest.raises(CatalogNotFound):
        store.catalogs.get(digest)


def test_the_tools_are_kept_as_they_were_compiled(store: Store) -> None:
    """A later release that compiles, or dumps, the same document otherwise changes nothing."""
    catalog = _catalog()
    content: dict[str, Any] = json.loads(json.dumps(pack(catalog)))
    content["tools"]["thing_search"]["a_field_of_another_release"] = [1]
    content["tools"]["thing_search"]["load_policy"] = "deferred"
    digest = content_digest(content["documents"], content["tools"])
    store.catalogs.keep(digest, json.dumps(content).encode(), at=NOW)
    found = store.catalogs.get(digest)

    assert found.digest == digest != catalog.digest
    assert dict(found.tools) == dict(catalog.tools)


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_named_and_healed(store: Store, seed: int) -> None:
    """Cut off, or with a byte changed: the error names the store, and putting it again heals it."""
    chance, catalog = random.Random(seed), _catalog()
    whole = json.dumps(pack(catalog)).encode()
    at = chance.randrange(len(whole) - 1)
    damaged = whole[:at] if seed % 2 else whole[:at] + b"\x7f" + whole[at + 1 :]
    store.catalogs.keep(catalog.digest, damaged, at=NOW)
    with pytest.raises(CatalogNotFound) as told:
        store.catalogs.get(catalog.digest)
    store.catalogs.put(catalog, mission_id="m-1")

    assert store.place in str(told.value)
    assert store.catalogs.get(catalog.digest).digest == catalog.digest


@pytest.mark.parametrize(
    "content", ["", "null", "[]", "{}", '{"format": 2}', '{"format": 1}', "[" * 5_000, "\udcff"]
)
def test_something_else_is_damaged(store: Store, content: str) -> None:
    """Whatever stands there, no other error comes out."""
    digest = "0" * 64
    store.catalogs.keep(digest, content.encode("utf-8", "surrogateescape"), at=NOW)

    with pytest.raises(CatalogNotFound):
        store.catalogs.get(digest)


def test_a_catalog_under_another_digest_is_damaged(store: Store) -> None:
    """A mission keeps the contract it had: a whole catalog in the wrong place is refused."""
    catalog, other = _catalog(), _catalog("Something else.")
    store.catalogs.keep(catalog.digest, json.dumps(pack(other)).encode(), at=NOW)

    with pytest.raises(CatalogNotFound, match=other.digest[:12]):
        store.catalogs.get(catalog.digest)


def test_many_writers_and_readers_never_meet_half_a_catalog(open_store: OpenStore) -> None:
    """Whoever reads while others write finds the whole catalog, or none yet."""
    catalog, stores = _catalog(), [open_store() for _ in range(4)]

    def write_and_read(number: int) -> str:
        catalogs = stores[number % 4].catalogs
        catalogs.put(catalog, mission_id=f"m-{number}")
        return catalogs.reread(catalog.digest).digest

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write_and_read, range(32))) == {catalog.digest}


def test_plain_functions_cannot_be_kept(store: Store) -> None:
    """They have no document to compile again."""
    functions = [{"name": "thing_search", "parameters": {"type": "object", "properties": {}}}]

    with pytest.raises(UsageError):
        store.catalogs.put(Catalog.from_functions(functions))


def test_a_catalog_goes_when_nobody_needs_it(store: Store) -> None:
    """Neither while a mission is on it, nor while a worker has just started on it."""
    catalogs, catalog = store.catalogs, _catalog()
    catalogs.put(catalog, mission_id="m-1")
    catalogs.put(catalog, mission_id="m-2")
    catalogs.put(catalog, mission_id="m-1")

    assert catalogs.unused_since(NOW - timedelta(days=400)) == ()
    assert not catalogs.remove(catalog.digest, unless_used_since=_later())
    first = catalogs.oldest_mission_on(catalog.digest)
    assert first is not None
    assert first[0] == "m-1"
    assert catalogs.pinned_by("m-2") == catalog.digest
    catalogs.unpin(catalog.digest, "m-1")
    catalogs.unpin(catalog.digest, "m-2")
    assert catalogs.oldest_mission_on(catalog.digest) is None
    assert not catalogs.remove(catalog.digest, unless_used_since=NOW - timedelta(days=400))
    assert catalogs.unused_since(_later()) == (catalog.digest,)
    assert catalogs.remove(catalog.digest, unless_used_since=_later())
    catalogs.put(catalog, mission_id="m-3")
    assert catalogs.reread(catalog.digest).digest == catalog.digest


def _later() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)
