"""The record of a mission that its server no longer knows: what the store has kept of it."""

from datetime import UTC, datetime
from typing import Any

from orchestrator.client.result_retention import KeptResult
from orchestrator.confirmation.mission_records import FORMAT
from orchestrator.core.record import JsonObject


def record_of_kept(kept: KeptResult, *, namespace: str) -> JsonObject:
    """What is left on record of a mission that its server no longer knows.

    `kept_as_of` says since when; what stood in its histories alone is null.
    """
    told: dict[str, Any] = kept.model_dump(mode="json")
    result = told["result"]
    return {
        "format": FORMAT,
        "mission_id": result["mission_id"],
        "exported_at": datetime.now(UTC).isoformat(),
        "kept_as_of": told["kept_as_of"],
        "namespace": namespace,
        "began_at": result["started_at"],
        "ended_at": result["finished_at"],
        "request": None,
        "plan": None,
        "result": result,
        "rollback": None,
        "events": None,
        "histories": None,
    }
