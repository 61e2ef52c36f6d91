"""What missions have seen is removed when their personal values are, and no sooner."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from temporalio.client import Client

from orchestrator.client import observation_retention
from orchestrator.client.observation_retention import remove_observations
from orchestrator.client.personal_retention import MissionEnd
from orchestrator.testing.memory import MemoryObservations

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
NOBODY = cast(Client, None)
ENDS = {
    "just over": MissionEnd(NOW + 30 * DAY),
    "long over": MissionEnd(NOW),
    "open": MissionEnd(needed="it still runs"),
    "stopped": MissionEnd(NOW, "it was stopped and not rolled back"),
    "unknown": MissionEnd(),
}


async def test_only_what_is_over_for_long_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mission that is open keeps what it needs, however long ago that was."""

    async def end_of(_: Client, mission_id: str) -> MissionEnd:
        return ENDS[mission_id]

    monkeypatch.setattr(observation_retention, "end_of", end_of)
    store = MemoryObservations()
    for mission_id in ENDS:
        store.put(mission_id, "k", b"seen")

    today = await remove_observations(NOBODY, store, 30 * DAY, now=NOW)
    later = await remove_observations(NOBODY, store, 30 * DAY, now=NOW + 31 * DAY)

    assert today == ()
    assert set(later) == {"long over", "unknown"}
    assert set(store.missions()) == {"just over", "open", "stopped"}
