"""Which catalogs are removed when, by what the server knows of the missions on them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client

from orchestrator.adapters.storage.sql_catalogs import SqlCatalogs
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.client import catalog_retention
from orchestrator.client.catalog_retention import EARLIER_MISSIONS, UNUSED_FOR, remove_catalogs
from orchestrator.core.errors import CatalogNotFound

NOW = datetime.now(UTC)
LATER = NOW + UNUSED_FOR + timedelta(hours=1)


class KnownMissions:
    """A server that knows these missions, each with the start of its run."""

    def __init__(self, **started: datetime) -> None:
        """Take what it knows; a name with `_rollback` is that of a rollback."""
        self.started = started
        self.asked: list[str] = []

    def get_workflow_handle(self, workflow_id: str) -> str:
        return workflow_id

    async def count_workflows(self, query: str) -> Any:
        moment = datetime.fromisoformat(query.rpartition("'")[0].rpartition("'")[2])
        return SimpleNamespace(count=sum(at < moment for at in self.started.values()))

    async def list_workflows(self, _: str) -> AsyncIterator[Any]:
        for mission_id in self.started:
            yield SimpleNamespace(id=mission_id)


@pytest.fixture
def catalogs(shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlCatalogs:
    """A store with one catalog, on which two missions began."""

    async def described(handle: Any) -> Any:
        server.asked.append(handle)
        return server.started.get(handle)

    async def begun_rollback(_: Client, mission_id: str) -> Any:
        return server.started.get(f"{mission_id}_rollback")

    monkeypatch.setattr(catalog_retention, "described", described)
    monkeypatch.setattr(catalog_retention, "begun_rollback", begun_rollback)
    made = Store(tmp_path).catalogs
    made.put(shipped, mission_id="first")
    made.put(shipped, mission_id="second")
    return made


server = KnownMissions()


async def _round(now: datetime, catalogs: SqlCatalogs, **started: datetime) -> tuple[str, ...]:
    server.started, server.asked = started, []
    return await remove_catalogs(cast(Client, server), catalogs, now=now)


async def test_a_catalog_stays_while_the_server_knows_a_mission_on_it(
    catalogs: SqlCatalogs, shipped: Catalog
) -> None:
    """Running, over, or only its rollback; then it goes, and no mission is asked about again."""
    assert await _round(NOW, catalogs) == ()
    assert server.asked == []
    assert await _round(LATER, catalogs, first=NOW, second=NOW) == ()
    assert await _round(LATER, catalogs, second_rollback=NOW) == ()
    assert server.asked == ["first", "second"]
    assert await _round(LATER, catalogs) == (shipped.digest,)
    assert server.asked == ["second"]
    with pytest.raises(CatalogNotFound):
        catalogs.reread(shipped.digest)
    assert await _round(LATER, catalogs) == ()


@pytest.mark.parametrize(
    ("started", "stays"),
    [
        ({"old": NOW - timedelta(days=9)}, True),
        ({"later-run-of-an-old-one": NOW + timedelta(days=1)}, True),
        ({"first": NOW + timedelta(days=1)}, False),
        ({}, False),
    ],
)
async def test_one_that_was_taken_over_stays_for_all_from_before(
    tmp_path: Path, catalogs: SqlCatalogs, started: dict[str, datetime], stays: bool
) -> None:
    """Nobody noted which began on it: those from before, or open and not noted, may need it."""
    store = Store(tmp_path)
    left = b'{"of": "an earlier release"}'
    store.catalogs.keep("e" * 64, left, at=NOW - timedelta(days=30))
    store.catalogs.pin("e" * 64, EARLIER_MISSIONS)

    removed = await _round(LATER, catalogs, **started)

    assert ("e" * 64 not in removed) == stays
