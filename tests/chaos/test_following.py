"""A mission that is followed while the server under it dies: its command waits in silence."""

import asyncio
import json
import os

from orchestrator.runtime.devserver import Stack, ourselves
from orchestrator.sandbox import FaultRule, SandboxClient


async def test_a_followed_mission_outlives_its_server(stack: Stack, sandbox: SandboxClient) -> None:
    """Standard output is the one document that a script reads, whatever happened meanwhile."""
    await sandbox.set_faults([FaultRule(kind="latency", delay_s=3)])
    goal = "What is the weather in Oslo tomorrow?"
    following = await asyncio.create_subprocess_exec(
        *(*ourselves(), "mission", "start", goal, "--id", "followed", "--wait", "--json"),
        env={**os.environ, **stack.environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert following.stderr is not None
    async with asyncio.timeout(30):
        while b"running" not in await following.stderr.readline():
            pass
    await stack.kill("temporal")
    await asyncio.sleep(3)
    assert following.returncode is None
    await stack.start_server()
    async with asyncio.timeout(90):
        out, err = await following.communicate()

    assert following.returncode == 0, err.decode()
    assert json.loads(out)["status"] == "succeeded"
