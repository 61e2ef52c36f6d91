"""Which values are removed when, by what the server says of their missions."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from temporalio.client import Client

from orchestrator.adapters.storage.pii_vault import PiiVault
from orchestrator.adapters.storage.store import Store
from orchestrator.client import personal_retention
from orchestrator.client.personal_retention import MissionEnd, purge_mission, remove_expired
from orchestrator.core.errors import UsageError
from orchestrator.testing.memory import MemoryObservations

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
SEEN = MemoryObservations()
NOBODY = cast(Client, None)
ENDS = {
    "just over": MissionEnd(NOW),
    "long over": MissionEnd(NOW - 40 * DAY),
    "open": MissionEnd(needed="it still runs"),
    "stopped": MissionEnd(NOW - 40 * DAY, "it was stopped and not rolled back"),
    "unknown": MissionEnd(),
}


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PiiVault:
    """A vault with a value of each kind of mission."""

    async def end_of(_: Client, mission_id: str) -> MissionEnd:
        return ENDS[mission_id]

    monkeypatch.setattr(personal_retention, "end_of", end_of)
    made = Store(tmp_path).vault
    for mission_id in ENDS:
        made.bring(mission_id, {"name": mission_id}, claim="r")
    return made


async def test_only_what_is_over_for_long_is_removed(vault: PiiVault) -> None:
    """What the server does not know counts from when it was stored; what is open stays for ever."""
    today = await remove_expired(NOBODY, vault, 30 * DAY, now=NOW)
    later = await remove_expired(NOBODY, vault, 30 * DAY, now=NOW + 31 * DAY)

    assert today.missions == ("long over",)
    assert set(later.missions) == {"just over", "unknown"}
    assert set(vault.contents().missions()) == {"open", "stopped"}


@pytest.mark.parametrize("mission_id", ["open", "stopped"])
async def test_what_may_be_needed_is_removed_by_force_alone(
    vault: PiiVault, mission_id: str
) -> None:
    """The refusal says why, and what follows from doing it all the same."""
    with pytest.raises(UsageError, match=r"its rollback parks.*--force"):
        await purge_mission(NOBODY, vault, mission_id, observations=SEEN)
    kept = mission_id in vault.contents().missions()

    assert kept
    assert await purge_mission(NOBODY, vault, mission_id, observations=SEEN, force=True) == (
        "name",
    )


@pytest.mark.parametrize("mission_id", ["just over", "unknown"])
async def test_what_is_over_can_be_removed_at_once(vault: PiiVault, mission_id: str) -> None:
    """Twice is once; what it has seen goes with it."""
    SEEN.put(mission_id, "k", b"Ada")
    assert await purge_mission(NOBODY, vault, mission_id, observations=SEEN) == ("name",)
    assert await purge_mission(NOBODY, vault, mission_id, observations=SEEN) == ()
    assert mission_id not in SEEN.missions()
