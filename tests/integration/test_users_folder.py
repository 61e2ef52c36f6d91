"""A user's folder: files named like our packages, and a planner and an embedder of their own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from temporalio.testing import WorkflowEnvironment

import orchestrator
from orchestrator import MissionClient, MissionRequest, Settings
from orchestrator.runtime.devserver import end_process
from orchestrator.testing import eventually

_ROOT: Final = str(Path(orchestrator.__file__).parents[1])
_PROJECT: Final = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "house-rules"
version = "1.0"
[project.entry-points."orchestrator.planners"]
house = "house_rules:from_entry_point"
[project.entry-points."orchestrator.embedders"]
letters = "house_rules:Letters"
[tool.hatch.build]
include = ["house_rules.py"]
"""
_MODULE: Final = """
import os
import numpy as np
from orchestrator import AgentProfile, Finish, LegPlan, MissionPlan

class HouseRules:
    def __init__(self, how):
        self.how = how
    async def split_goal(self, brief, catalog, agents):
        agent = AgentProfile(name="house")
        return MissionPlan(legs=(LegPlan(leg_id="1-house", goal=brief.goal, agent=agent),))
    async def plan_step(self, context, selection, catalog):
        return Finish(summary=f"decided by a planner from {self.how}")

def from_entry_point(parts):
    assert parts.default.plan_step and len(parts.agents) == 0
    return HouseRules("an entry point")

class Letters:
    name = "letters"
    def __init__(self, settings):
        self.file = settings.state_dir / "embedded.txt"
    def embed(self, texts):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.writelines(f"{text}\\n" for text in texts)
        return np.array([[text.count(c) + 1 for c in "aeiou"] for text in texts], np.float32)
"""
_FILES: Final = {
    "activities.py": "from temporalio import activity\n@activity.defn\nasync def greet(): ...\n",
    "workflows.py": "from temporalio import workflow\n@workflow.defn\nclass Greeting: ...\n",
    "local_rules.py": "from house_rules import HouseRules, Letters\n"
    "def make(parts):\n    return HouseRules('a file')\n",
    "serve.py": """
import asyncio, pathlib, sys
from house_rules import HouseRules, Letters
from orchestrator import Settings, run_worker
asyncio.run(
    run_worker(
        planner=HouseRules("an argument"),
        embedder=Letters(Settings()),
        ready=pathlib.Path(sys.argv[1].partition("=")[2]).touch,
    )
)
""",
}

Serve = Callable[..., AbstractAsyncContextManager[MissionClient]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with a planner and an embedder, installed by pip in a folder of its own."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(_PROJECT)
    (source / "house_rules.py").write_text(_MODULE)
    command = [*(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")]
    command += ["--no-build-isolation", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*command, str(source)], check=True)
    return target


@pytest.fixture
def serve(installed: Path, tmp_path: Path, local_env: WorkflowEnvironment) -> Serve:
    """Runs a worker in a folder with the user's files, and gives a client of its queue."""
    for name, text in _FILES.items():
        (tmp_path / name).write_text(text)
    settings = Settings(task_queue=tmp_path.name, state_dir=tmp_path / "state")
    environment = {
        **os.environ,
        # Ours last, as an installed library is.
        "PYTHONPATH": os.pathsep.join([str(installed), _ROOT]),
        "TEMPORAL_ADDRESS": local_env.client.service_client.config.target_host,
        "ORCHESTRATOR_TASK_QUEUE": settings.task_queue,
        "ORCHESTRATOR_STATE_DIR": str(settings.state_dir),
    }

    @asynccontextmanager
    async def running(*command: str, **variables: str) -> AsyncIterator[MissionClient]:
        ready = tmp_path / "ready"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *command, f"--ready-file={ready}"),
            cwd=tmp_path,
            env={**environment, **variables},
        )

        async def polls() -> bool:
            assert process.returncode is None
            return ready.exists()

        try:
            await eventually(polls)
            yield MissionClient(local_env.client, settings)
        finally:
            await end_process(process)

    return running


async def _decided(client: MissionClient) -> str:
    mission = await client.start(MissionRequest(goal="Which fence is green?"))
    return (await asyncio.wait_for(mission.result(), 30)).summary


async def _was_embedded(state_dir: Path) -> bool:
    file = state_dir / "embedded.txt"
    return file.exists() and "Which fence is green?" in file.read_text()


async def test_an_installed_package_plans_and_embeds(serve: Serve, tmp_path: Path) -> None:
    """`python -m orchestrator` beside activities.py and workflows.py, by entry points."""
    named = {"ORCHESTRATOR_PLANNER": "house", "ORCHESTRATOR_EMBEDDER": "letters"}
    async with serve("-m", "orchestrator", "worker", **named) as client:
        summary = await _decided(client)

        assert "decided by a planner from an entry point" in summary
        await eventually(lambda: _was_embedded(tmp_path / "state"))


async def test_a_file_of_the_folder_plans_and_embeds(serve: Serve, tmp_path: Path) -> None:
    """The installed command there, by module:factory."""
    command = str(Path(sys.executable).parent / "orchestrator")
    named = {
        "ORCHESTRATOR_PLANNER": "local_rules:make",
        "ORCHESTRATOR_EMBEDDER": "local_rules:Letters",
    }
    async with serve(command, "worker", **named) as client:
        summary = await _decided(client)

        assert "decided by a planner from a file" in summary
        await eventually(lambda: _was_embedded(tmp_path / "state"))


async def test_a_script_of_the_folder_plans_and_embeds(serve: Serve, tmp_path: Path) -> None:
    """A user's own program, which gives both to run_worker."""
    async with serve("serve.py") as client:
        summary = await _decided(client)

        assert "decided by a planner from an argument" in summary
        await eventually(lambda: _was_embedded(tmp_path / "state"))
