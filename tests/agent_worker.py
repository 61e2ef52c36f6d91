"""A worker with an agent of the examples and a scripted model: `-m tests.agent_worker butler`."""

import argparse
import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker

from orchestrator.temporal import OrchestratorPlugin
from tests.guarded_examples import example
from tests.scripted_waiter import TwoOrNone


def _concierge() -> tuple[type, Any]:
    from pydantic_ai.durable_exec.temporal import PydanticAIPlugin

    module = example("pydantic_ai_trip")
    module.agent.model.request = TwoOrNone().as_model().request
    return module.Concierge, PydanticAIPlugin()


def _butler() -> tuple[type, Any]:
    from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
    from temporalio.openai_agents.testing import TestModelProvider

    from tests.scripted_openai import Scripted

    limits = ModelActivityParameters(start_to_close_timeout=timedelta(seconds=9))
    provider = TestModelProvider(Scripted(TwoOrNone()))
    plugin = OpenAIAgentsPlugin(model_params=limits, model_provider=provider)
    return example("openai_agents_trip").Butler, plugin


async def _serve(name: str, ready: Path) -> None:
    workflow, theirs = _concierge() if name == "concierge" else _butler()
    client = await Client.connect(
        **ClientConfig.load_client_connect_config(), plugins=[OrchestratorPlugin(), theirs]
    )
    async with Worker(client, task_queue=name, workflows=[workflow]):
        ready.touch()  # noqa: ASYNC240  # before anything waits for it
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["concierge", "butler"])
    parser.add_argument("--ready-file", type=Path, required=True)
    given = parser.parse_args()
    asyncio.run(_serve(given.name, given.ready_file))
