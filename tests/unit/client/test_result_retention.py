"""Kept results: encrypted where messages are, and written anew under the newest key."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.client import result_retention
from orchestrator.client.result_retention import keep_results, kept_result
from orchestrator.core.errors import PayloadLocked
from orchestrator.messages.mission import MissionResult, MissionStatus

NOW = datetime(2026, 11, 23, tzinfo=UTC)


class FakeClient:
    """A server that knows no mission any more, and keys to read what is kept."""

    def __init__(self, keys: str) -> None:
        self.data_converter = mission_converter(PayloadKeys.of_text(keys) if keys else None)

    async def list_workflows(self, _: str) -> Any:
        none: tuple[Any, ...] = ()
        for one in none:
            yield one


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


async def keep(client: Any, store: Store) -> None:
    """As a round does with a mission that it has read."""
    result = MissionResult(
        mission_id="m-1", goal="planted-goal", status=MissionStatus.SUCCEEDED, started_at=NOW
    )
    store.results.put(await result_retention._written(client, result, NOW))


async def test_it_is_encrypted_where_messages_are(store: Store) -> None:
    """And goes with its time, whoever can read it."""
    old, new = f"2025:{new_payload_key()}", f"2026:{new_payload_key()}"
    await keep(FakeClient(old), store)
    before = store.results.find("m-1")
    both: Any = FakeClient(f"{new},{old}")
    await keep_results(both, "q", store.results, NOW - NOW.replace(year=2025), now=NOW)
    after = store.results.find("m-1")
    newest: Any = FakeClient(new)
    locked: Any = FakeClient(f"other:{new_payload_key()}")

    assert before is not None
    assert after is not None
    assert (before.key_id, after.key_id) == ("2025", "2026")
    assert b"planted-goal" not in before.piece + after.piece
    assert (await kept_result(newest, store.results, "m-1")).result.goal == "planted-goal"
    with pytest.raises(PayloadLocked):
        await kept_result(locked, store.results, "m-1")


async def test_it_is_readable_where_nothing_is_encrypted(store: Store) -> None:
    """The default."""
    client: Any = FakeClient("")
    await keep(client, store)

    assert (await kept_result(client, store.results, "m-1")).result.goal == "planted-goal"


async def test_what_is_old_goes(store: Store) -> None:
    """In the same round."""
    client: Any = FakeClient("")
    await keep(client, store)
    later = NOW.replace(year=2027)
    done = await keep_results(client, "q", store.results, later - NOW.replace(month=12), now=later)

    assert done.removed == 1
    assert store.results.find("m-1") is None
