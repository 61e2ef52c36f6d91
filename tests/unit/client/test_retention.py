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
SEEN = MemoryObservations()
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


async def test_personal_values_of_missions_long_over_are_removed(vault: SqlVault) -> None:
    """An open mission keeps its values; an unknown one counts from when they were stored."""
    today = await remove_expired(NOBODY, vault, 30 * DAY, now=NOW)
    later = await remove_expired(NOBODY, vault, 30 * DAY, now=NOW + 31 * DAY)

    assert today.missions == ()
    assert set(later.missions) == {"long over", "unknown"}
    assert set(vault.contents().missions()) == {"just over", "open", "stopped"}


async def test_observations_are_removed_when_personal_values_are() -> None:
    """A mission that is open keeps what it needs, however long ago it began."""
    store = MemoryObservations()
    for mission_id in ENDS:
        store.put(mission_id, "k", b"seen")

    today = await remove_observations(NOBODY, store, 30 * DAY, now=NOW)
    later = await remove_observations(NOBODY, store, 30 * DAY, now=NOW + 31 * DAY)

    assert today == ()
    assert set(later) == {"long over", "unknown"}
    assert set(store.missions()) == {"just over", "open", "stopped"}


@pytest.mark.parametrize("mission_id", ["open", "stopped"])
async def test_values_that_may_be_needed_are_removed_by_force_alone(
    vault: SqlVault, mission_id: str
) -> None:
    """The refusal changes nothing."""
    with pytest.raises(UsageError):
        await purge_mission(NOBODY, vault, mission_id, observations=SEEN)
    kept = mission_id in vault.contents().missions()

    assert kept
    assert await purge_mission(NOBODY, vault, mission_id, observations=SEEN, force=True) == (
        "name",
    )


@pytest.mark.parametrize("mission_id", ["just over", "unknown"])
async def test_values_of_a_mission_that_is_over_can_be_purged(
    vault: SqlVault, mission_id: str
) -> None:
    """A second purge finds nothing; observations are removed too."""
    SEEN.put(mission_id, "k", b"Ada")

    assert await purge_mission(NOBODY, vault, mission_id, observations=SEEN) == ("name",)
    assert await purge_mission(NOBODY, vault, mission_id, observations=SEEN) == ()
    assert mission_id not in SEEN.missions()


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
