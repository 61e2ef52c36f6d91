"""An installation whose processes the tests kill, and start again before they end."""

import os
from collections.abc import AsyncIterator

import pytest

from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs
from tests.forked import ForkedStack


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """Server, sandbox and one worker, on free ports and in a folder of their own.

    For one file, as each of them is run by whichever process is free.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ORCHESTRATOR_")]:
            patch.delenv(name)
        installation = ForkedStack(
            tmp_path_factory.mktemp("chaos"),
            (bundled_specs(),),
            Ports.free(),
            variables={"ORCHESTRATOR_SWEEP_INTERVAL": "PT5S"},  # tests wait for what it starts
        )
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@pytest.fixture(scope="module")
def orchestrator_stack(stack: Stack) -> Stack:
    """What the plugin's fixtures speak to: this one, with processes that can be killed."""
    return stack
