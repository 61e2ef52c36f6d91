"""The TypeScript example of docs/examples/http: types generated, compiled, and run to a result."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from orchestrator.runtime.demo import day_in
from orchestrator.web.api.api_app import api_document
from tests.integration.web.conftest import ANN

if TYPE_CHECKING:
    from tests.integration.conftest import Witness
    from tests.integration.web.conftest import Served

FLIGHT = f"Book a flight from Berlin to Lisbon on {day_in(47)}"
"""A day of its own: other tests of the installation book flights too."""
_ROOT = Path(__file__).parents[3]
_EXAMPLE = _ROOT / "docs" / "examples" / "http"
_FILES = ("package.json", "package-lock.json", "tsconfig.json", "mission.ts")


async def run(folder: Path, *command: str, **variables: str) -> str:
    """What a command printed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed = (await process.communicate())[0].decode()
    assert process.returncode == 0, printed
    return printed


@pytest.mark.clients
@pytest.mark.timeout(600)
async def test_the_example_starts_approves_and_reads(served: Served, sandbox: Witness) -> None:
    """Whoever writes TypeScript needs the document, two packages of npm, and nothing of ours."""
    assert shutil.which("npm") is not None, "it needs Node.js and npm: install them first"
    folder = _ROOT / "build" / "http-example"
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        shutil.copy(_EXAMPLE / name, folder)
    (folder / "openapi.json").write_text(json.dumps(api_document()))
    await run(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    await run(folder, "npm", "run", "types", OPENAPI="openapi.json")
    await run(folder, "npm", "run", "build")
    ann = await served(ANN)
    url = str(ann.base_url).partition("/api")[0]
    order = {"ORDER": f"order-{uuid4().hex[:8]}", "API_TOKEN": "token"}
    printed = await run(folder, "node", "build/mission.js", url, FLIGHT, **order)
    again = await run(folder, "node", "build/mission.js", url, FLIGHT, **order)
    missions = (await ann.get("/missions", params={"limit": 200})).json()["missions"]
    mine = [one for one in missions if one["goal"] == FLIGHT and one["status"] == "succeeded"]

    assert "decision: approved" in printed
    assert "result: succeeded" in printed
    assert "receipt: " in printed
    assert "decision: " not in again
    assert "result: succeeded" in again
    assert len(mine) == 1
    assert len(await sandbox.live(mine[0]["mission_id"])) == 1
