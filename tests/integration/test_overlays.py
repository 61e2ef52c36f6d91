"""Overlays of the settings on a real server: what workers pin, what clients keep to the vault."""

from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment

from orchestrator.client.mission_client import MissionClient
from orchestrator.client.stores import open_vault
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.runtime.worker import build
from orchestrator.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
PHONE = "+47 55512345"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A document that is not ours, with our overlay over it."""
    return Settings(
        specs=(EXAMPLES / "crm.yaml",),
        overlays=(EXAMPLES / "crm-overlay.yaml",),
        state_dir=tmp_path,
        task_queue=f"overlays-{uuid4().hex[:8]}",
    )


async def test_a_worker_pins_the_tools_of_its_overlays(
    workflow_env: WorkflowEnvironment, settings: Settings
) -> None:
    """A mission that starts on it finds the four tools that the overlay makes."""
    (worker,) = build(workflow_env.client, settings)
    activities = worker.config()["activities"]
    by_name = {getattr(a, "__temporal_activity_definition").name: a for a in activities}

    pin: CatalogPin = await ActivityEnvironment().run(by_name[names.PIN_CATALOG])

    assert pin.size == 4


async def test_a_client_keeps_what_an_overlay_calls_personal_out_of_history(
    workflow_env: WorkflowEnvironment, settings: Settings
) -> None:
    """The overlay names contact_phone: the vault keeps its value for this mission alone."""
    (worker,) = build(workflow_env.client, settings)
    client = MissionClient(workflow_env.client, settings)

    async with worker:
        request = MissionRequest(goal="Find the visit", inputs={"contact_phone": PHONE})
        mission = await client.start(request)
        await mission.cancel()
        await mission.result()
        started = workflow_env.client.get_workflow_handle(mission.mission_id)
        history = await started.fetch_history()

    assert PHONE not in history.to_json()
    (kept,) = open_vault(settings).contents().missions()[mission.mission_id]
    assert (kept.field, kept.value) == ("contact_phone", PHONE)
    assert open_vault(settings).fields() == ()
