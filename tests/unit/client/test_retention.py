"""Data of missions and catalogs is removed when nothing can need it, by what the server says."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client

from orchestrator.adapters.storage.sql_catalogs import SqlCatalogs
from orchestrator.adapters.storage.sql_vault import SqlVault
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.client import retention
from orchestrator.client.retention import (
    UNUSED_FOR,
    MissionEnd,
    purge_mission,
    remove_catalogs,
    remove_expired,
    remove_observations,
)
from orchestrator.core.errors import CatalogNotFound, UsageError
from tests.fakes import MemoryObservations

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
LATER = NOW + UNUSED_FOR + timedelta(hours=1)
NOBODY = cast(Client, None)
ENDS = {
    "just over": MissionEnd(NOW + 30 * DAY),
    "long over": MissionEnd(NOW),
    "open": MissionEnd(needed="it still runs"),
    "stopped": MissionEnd(NOW, "it was stopped and not rolled back"),
    "unknown": MissionEnd(),
}


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on which missions ended so."""

    async def end_of(_: Client, mission_id: str, workflow_id: str) -> MissionEnd:
        return ENDS[mission_id]

    monkeypatch.setattr(retention, "end_of", end_of)


@pytest.fixture
def vault(tmp_path: Path) -> SqlVault:
    """A vault with a value of each kind of mission."""
    made = Store(tmp_path).vault
    for mission_id in ENDS:
        made.bring(mission_id, {"name": mission_id}, claim="r")
    return made


async def test_what_is_kept_of_missions_long_over_is_removed(vault: SqlVault) -> None:
    """Personal values and observations alike, once nothing can need them.

    An open mission keeps its values; an unknown one counts from when they were stored.
    """
    store = MemoryObservations()
    for mission_id in ENDS:
        store.put(mission_id, "k", b"seen")
    for now, removed in ((NOW, set()), (NOW + 31 * DAY, {"long over", "unknown"})):
        values = await remove_expired(NOBODY, vault, 30 * DAY, now=now)
        seen = await remove_observations(NOBODY, store, 30 * DAY, now=now)
        assert set(values.missions) == set(seen) == removed

    left = {"just over", "open", "stopped"}
    assert set(vault.contents().missions()) == set(store.missions()) == left


@pytest.mark.parametrize("mission_id", ["open", "stopped", "just over", "unknown"])
async def test_values_that_may_be_needed_are_removed_by_force_alone(
    vault: SqlVault, mission_id: str
) -> None:
    """Those of a mission that is over, with what it saw; a second purge finds nothing."""
    store, is_needed = MemoryObservations(), mission_id in ("open", "stopped")
    store.put(mission_id, "k", b"Ada")

    async def purged(*, force: bool = False) -> tuple[str, ...]:
        return await purge_mission(NOBODY, vault, mission_id, observations=store, force=force)

    if is_needed:
        with pytest.raises(UsageError):
            await purged()
        assert mission_id in vault.contents().missions()
    assert await purged(force=is_needed) == ("name",)
    assert await purged(force=is_needed) == ()
    assert mission_id not in store.missions()


class KnownWorkflows:
    """A server that knows these missions and rollbacks."""

    def __init__(self) -> None:
        self.known: tuple[str, ...] = ()
        self.asked: list[str] = []

    def get_workflow_handle(self, workflow_id: str) -> str:
        return workflow_id


async def test_a_catalog_stays_while_the_server_knows_a_mission_on_it(
    shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running, over, or only its rollback; then it goes, and each mission is asked about once."""
    server = KnownWorkflows()

    async def described(handle: Any) -> Any:
        server.asked.append(handle)
        return handle if handle in server.known else None

    async def begun_rollback(_: Client, mission_id: str) -> Any:
        return mission_id if f"{mission_id}.rollback" in server.known else None

    async def round_at(now: datetime, *known: str) -> tuple[str, ...]:
        server.known, server.asked = known, []
        return await remove_catalogs(cast(Client, server), catalogs, now=now)

    monkeypatch.setattr(retention, "described", described)
    monkeypatch.setattr(retention, "begun_rollback", begun_rollback)
    catalogs: SqlCatalogs = Store(tmp_path).catalogs
    catalogs.put(shipped, mission_id="first")
    catalogs.put(shipped, mission_id="second")

    assert await round_at(NOW) == ()
    assert server.asked == []
    assert await round_at(LATER, "first", "second") == ()
    assert await round_at(LATER, "second.rollback") == ()
    assert server.asked == ["first", "second"]
    assert await round_at(LATER) == (shipped.digest,)
    assert server.asked == ["second"]
    with pytest.raises(CatalogNotFound):
        catalogs.reread(shipped.digest)
    assert await round_at(LATER) == ()
