"""Activities run as if a workflow of a mission had scheduled them."""

import dataclasses
from typing import Any

from temporalio.testing import ActivityEnvironment

from orchestrator.messages import names


def of_mission(mission_id: str = "m", **info: Any) -> ActivityEnvironment:
    """An environment in which the mission's own workflow runs an activity."""
    said = {"workflow_type": names.MISSION_WORKFLOW, "workflow_id": mission_id, **info}
    return _environment(said)


def of_rollback(mission_id: str = "m", **info: Any) -> ActivityEnvironment:
    """An environment in which the mission's rollback runs an activity."""
    own_id = names.rollback_workflow_id(mission_id)
    said = {"workflow_type": names.ROLLBACK_WORKFLOW, "workflow_id": own_id, **info}
    return _environment(said)


def _environment(said: dict[str, Any]) -> ActivityEnvironment:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, **said)
    return environment
