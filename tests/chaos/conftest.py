"""An installation whose processes the tests kill, and start again before they end."""

import os
from collections.abc import AsyncIterator

import pytest

from orchestrator.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs


@pytest.fixture(scope="session")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """Server, sandbox and one worker, on free ports and in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ORCHESTRATOR_")]:
            patch.delenv(name)
        installation = Stack(tmp_path_factory.mktemp("chaos"), (bundled_specs(),), Ports.free())
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@pytest.fixture
async def sandbox(stack: Stack) -> AsyncIterator[SandboxClient]:
    """The witness; it forgets planned trouble when the test is over."""
    async with SandboxClient(stack.sandbox_url) as witness:
        yield witness
        await witness.clear_faults()
