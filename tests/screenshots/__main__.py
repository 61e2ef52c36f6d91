"""Takes the pictures of docs/observing.md: `make screenshots`.

Starts an installation, brings missions into the states that the page tells of, and opens the
Temporal UI on them.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from orchestrator.messages.names import rollback_workflow_id
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs
from tests.screenshots.camera import Camera, camera
from tests.screenshots.chromium import ChromiumMissing, chromium
from tests.screenshots.scenes import Scenes

IMAGES = Path(__file__).parents[2] / "docs" / "images"
MISSIONS = (
    "Workflow ID",
    "OrchetStatus",
    "OrchetWaitingFor",
    "OrchetTool",
    "OrchetRequester",
    "Status",
    "Start",
)


async def take_pictures(folder: Path) -> None:
    """Bring everything about, and picture it."""
    browser = chromium()
    with tempfile.TemporaryDirectory(prefix="orchestrator-pictures-") as scratch:
        stack = Stack(Path(scratch), (bundled_specs(),), Ports.free())
        async with stack, SandboxClient(stack.sandbox_url) as sandbox:
            scenes = Scenes(await stack.client(), sandbox, stack.settings)
            async with camera(browser, stack.ui_url, folder) as taken:
                await _picture(scenes, taken)


async def _picture(scenes: Scenes, taken: Camera) -> None:
    succeeded = await scenes.succeeded()
    await scenes.rolled_back()
    await scenes.left_to_rollback()
    await scenes.failed()
    await scenes.cancelled()
    await scenes.incomplete()
    asks = await scenes.waits_for_answer()
    waits = await scenes.waits_for_confirmation()
    rolls_back = await scenes.rolls_back()
    missions = "WorkflowType = 'MissionWorkflow'"
    await taken.workflows(missions, MISSIONS, name="missions")
    await taken.details(asks, name="mission-waits")
    await taken.details(waits, name="card")
    await taken.details(succeeded, name="mission-succeeded")
    await taken.details(rollback_workflow_id(rolls_back), name="rollback")
    await taken.timeline(succeeded, name="timeline")


def main() -> None:
    """Take all pictures into docs/images, or into another folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES, help="folder to write to")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    try:
        asyncio.run(take_pictures(folder))
    except ChromiumMissing as missing:
        sys.exit(str(missing))
    for path in sorted(folder.glob("*.png")):
        sys.stdout.write(f"{path.stat().st_size / 1000:7.1f} kB  {path}\n")


if __name__ == "__main__":
    main()
