"""A store that is copied to another holds there what it held, whatever kills the copy meanwhile."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from orchestrator.adapters.storage import schema, store_copy
from orchestrator.adapters.storage.payload_driver import PayloadKey
from orchestrator.adapters.storage.personal_values import VaultKey, new_key
from orchestrator.adapters.storage.protocols import SentCall, StandingSpend
from orchestrator.adapters.storage.schema import metadata
from orchestrator.adapters.storage.sql_observations import KeptPiece
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.storage.store_copy import copy_store
from orchestrator.adapters.storage.store_database import StoreDatabase, file_url, migrate, url_of
from orchestrator.adapters.temporal.payload_codec import mark_of
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.policy import StandingApproval
from orchestrator.core.budget import Money
from orchestrator.core.errors import StoreNewer, UsageError
from orchestrator.routing.learning.trace import FrameTrace, RouteRecord
from orchestrator.saga.ledger import Ledger
from orchestrator.testing import fake_obligation
from tests.unit.adapters.storage.used_grants import use_grant

KEY = VaultKey("ORCHESTRATOR_PII_KEY", new_key())
NOW = datetime.now(UTC)
RECORD = RouteRecord(frame=FrameTrace(), band="crisp", reason="", k=1, tools=("t",),
                     catalog_size=1, scores={}, mission_id="m-1", leg_id="l")  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "servers": [{"url": "http://h"}],
    "paths": {
        "/things": {
            "get": {
                "operationId": "thing_search",
                "summary": "Find things.",
                "x-orchet-tool": True,
                "responses": {"200": {"description": "ok"}},
            }
        }
    },
}
OWN = {"store_facts", "alembic_version"}


def filled(folder: Path, url: str | None = None, key: VaultKey = KEY) -> None:
    """Something of everything, more than one batch of what there is much of."""
    with Store(folder, url=url, key=key) as store:
        store.catalogs.put(Catalog.from_documents({"things": DOCUMENT}), mission_id="m-1")
        for n in range(250):
            use_grant(store, f"{n:064}", f"leg {n}")
        left = Ledger(obligations=(fake_obligation(answered_ids={"id": "b1"}),))
        price = Money(amount=Decimal(5), currency="EUR")
        spend = StandingSpend((StandingApproval(name="x", tools=("*",), total=price),), price)
        store.grants.send(SentCall("m.1-leg.1", "m", "leg 1", (), left, spend))
        store.grants.settle("m.1-leg.1", left)
        store.grants.note_cancel("call")
        store.observations.put("m-1", "seen", b"Oslo is sunny")
        store.results.put(KeptPiece("m-0", "succeeded", NOW - timedelta(1), NOW, "k1", b"done"))
        store.vault.put("traveler_name", "Zephyrine")
        store.vault.put("traveler_name", "Zephyrine Oakhollow")
        for claim in ("one", "two"):
            store.vault.bring("m-1", {"phone": "+47 1"}, claim=claim)
        store.vectors.put({"text": np.ones(2, dtype=np.float32)})
        for step in range(3):
            store.traces.record(RECORD.model_copy(update={"step": step}))
        store.payloads(marked=mark_of).keep(PayloadKey("default", "m-1", "0" * 64), b"large")


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens databases, and closes them at the end."""
    with ExitStack() as open_ones:
        yield lambda url: open_ones.enter_context(closing(StoreDatabase(url, prepare=migrate)))


@pytest.fixture
def pair(store_url: str | None, tmp_path: Path, opened: Any) -> tuple[StoreDatabase, StoreDatabase]:
    """A store that holds something of everything, and an empty one; by turns on the server."""
    filled(tmp_path / "source")
    source = opened(file_url(tmp_path / "source" / "store.db"))
    target = file_url(tmp_path / "target.db") if store_url is None else url_of(store_url)
    return source, opened(target)


def rows(database: StoreDatabase) -> dict[str, list[Any]]:
    """All that a store holds but what it notes of itself, numbers of rows left out."""
    held = {}
    with database.read() as connection:
        for table in metadata.sorted_tables:
            if table.name not in OWN:
                own = {"number", "value_number"} & set(table.c.keys())
                columns = [column for column in table.c if column.name not in own]
                held[table.name] = sorted(map(tuple, connection.execute(sa.select(*columns))))
    return held


def test_all_is_copied_once(pair: tuple[StoreDatabase, StoreDatabase], tmp_path: Path) -> None:
    """Every table that there is; again, nothing more; and the parts of a store find it all."""
    source, target = pair
    first = copy_store(source, target, key=KEY)
    held = rows(target)
    again = copy_store(source, target, key=KEY)

    assert held == rows(source) == rows(target)
    assert all(held.values())
    assert all(one.copied and not one.present for one in first)
    assert [(one.copied, one.present) for one in again] == [(0, one.copied) for one in first]
    url = target.url.render_as_string(False).replace("+pysqlite", "")
    with Store(tmp_path / "new", url=url, key=KEY) as store:
        assert store.vault.get("traveler_name") == "Zephyrine Oakhollow"
        store.vault.release("m-1", claim="one")
        handle = store.vault.handles_of("m-1", {"phone": "+47 1"})["phone"]
        assert store.vault.find(handle) is not None
        store.vault.release("m-1", claim="two")
        assert store.vault.find(handle) is None
        assert use_grant(store, f"{7:064}", "another leg") == "leg 7"
        assert [kept.mission_id for kept in store.results.newest()] == ["m-0"]


def test_there_and_back(postgres_url: str, tmp_path: Path, opened: Any) -> None:
    """From the server to a file as well."""
    filled(tmp_path, postgres_url)
    source, target = opened(url_of(postgres_url)), opened(file_url(tmp_path / "back.db"))
    copy_store(source, target)
    assert rows(source) == rows(target)


@pytest.mark.parametrize("died_after", [2, 7])
def test_a_copy_that_was_killed_goes_on(
    tmp_path: Path, opened: Any, monkeypatch: pytest.MonkeyPatch, died_after: int
) -> None:
    filled(tmp_path / "source")
    source = opened(file_url(tmp_path / "source" / "store.db"))
    target = opened(file_url(tmp_path / "target.db"))
    copied: list[Any] = []
    copy = store_copy._copy

    def dies(part: Any, *rest: Any) -> None:
        if len(copied) == died_after:
            raise KeyboardInterrupt
        copied.append(part)
        copy(part, *rest)

    monkeypatch.setattr(store_copy, "_copy", dies)
    with pytest.raises(KeyboardInterrupt):
        copy_store(source, target)
    monkeypatch.undo()
    parts = copy_store(source, target)

    assert rows(target) == rows(source)
    assert any(one.present for one in parts)
    assert any(one.copied for one in parts)


_OTHERS: dict[str, tuple[str, str]] = {
    "grants": ("UPDATE grants SET used_by = 'x' WHERE used_by = 'leg 7'", "used grants: 1"),
    "catalogs": ("UPDATE catalogs SET content = 'x'", "catalogs: 1"),
    "results": ("UPDATE results SET status = 'failed'", "results: 1"),
    "observations": ("UPDATE observations SET piece = 'x'", "observations: 1"),
    "values": ("UPDATE personal_values SET scope = 'x' WHERE scope = 'm-1'", "personal values: 1"),
}


@pytest.mark.parametrize("other", _OTHERS)
def test_what_is_something_else_is_told_and_nothing_is_copied(
    tmp_path: Path, opened: Any, other: str
) -> None:
    filled(tmp_path / "source")
    source = opened(file_url(tmp_path / "source" / "store.db"))
    target = opened(file_url(tmp_path / "target.db"))
    copy_store(source, target)
    change, told = _OTHERS[other]
    with target.write() as connection:
        connection.execute(sa.text(change))
        connection.execute(sa.delete(schema.cancelled_calls))
    before = rows(target)

    with pytest.raises(UsageError, match=told):
        copy_store(source, target)
    assert rows(target) == before


def test_two_current_values_of_a_field_are_told(tmp_path: Path, opened: Any) -> None:
    """Which of them counts is the owner's to say; no value stands in the error."""
    for name, value in (("a", "Zephyrine"), ("b", "Isolde")):
        with Store(tmp_path / name, key=KEY) as store:
            store.vault.put("traveler_name", value)
    source, target = (opened(file_url(tmp_path / name / "store.db")) for name in "ab")

    with pytest.raises(UsageError, match="current personal values: 1") as told:
        copy_store(source, target)
    assert "Zephyrine" not in str(told.value)


def test_values_that_another_key_seals_are_not_mixed(tmp_path: Path, opened: Any) -> None:
    """Neither with those of a target, nor with a key that is set and opens nothing."""
    other = VaultKey("ORCHESTRATOR_PII_KEY", new_key())
    for name, key in (("a", KEY), ("b", other)):
        with Store(tmp_path / name, key=key) as store:
            store.vault.put(f"field_{name}", "Zephyrine")
    source, target = (opened(file_url(tmp_path / name / "store.db")) for name in "ab")
    empty = opened(file_url(tmp_path / "c.db"))

    with pytest.raises(UsageError, match="sealed by another key"):
        copy_store(source, target)
    with pytest.raises(UsageError, match="ORCHESTRATOR_PII_KEY is not the key"):
        copy_store(source, empty, key=other)


def test_two_machines_of_files_become_one_store(
    postgres_url: str, tmp_path: Path, opened: Any
) -> None:
    """What both had alike, at other times, is no difference."""
    for name in ("a", "b"):
        filled(tmp_path / name)
        with Store(tmp_path / name, key=KEY) as store:
            use_grant(store, secrets.token_hex(32), name)
    target = opened(url_of(postgres_url))
    with Store(tmp_path / "b", key=KEY) as store:
        store.vault.purge("m-1")
        store.vault.forget("traveler_name")
    copy_store(opened(file_url(tmp_path / "a" / "store.db")), target)
    copy_store(opened(file_url(tmp_path / "b" / "store.db")), target)
    with target.read() as connection:
        by = set(connection.execute(sa.select(schema.grants.c.used_by)).scalars())
    assert {"a", "b", "leg 7"} <= by


def test_one_store_is_not_copied_to_itself(tmp_path: Path, opened: Any) -> None:
    filled(tmp_path)
    here = file_url(tmp_path / "store.db")
    with pytest.raises(UsageError, match="are one store"):
        copy_store(opened(here), opened(here))


def test_what_a_newer_release_keeps_is_not_left_behind(tmp_path: Path, opened: Any) -> None:
    """A store that this release may use, and does not know all of."""
    source, target = opened(file_url(tmp_path / "a.db")), opened(file_url(tmp_path / "b.db"))
    with source.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(StoreNewer):
        copy_store(source, target)


def test_every_table_is_copied_or_is_a_stores_own() -> None:
    """A table of a later release is not forgotten here."""
    copied = {part.table.name for part in store_copy._PARTS}
    assert copied == set(metadata.tables) - {"store_facts"}
