"""The examples of docs/examples/guarded, and who approves their cards."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import (
    CreateNexusEndpointRequest,
    DeleteNexusEndpointRequest,
)

from orchestrator.core.errors import CardUnknown, ConfirmationError, ServiceUnavailable
from orchestrator.testing import eventually

if TYPE_CHECKING:
    from temporalio.client import Client

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.confirmation.models import ConfirmationCard
    from orchestrator.runtime.devserver import Stack
    from orchestrator.sandbox import SandboxClient

EXAMPLES: Final = Path(__file__).parents[1] / "docs/examples/guarded"
APPROVER: Final = "bob@example.com"


def example(name: str) -> ModuleType:
    """Return the module of an example; workflow sandboxes import it again by its name."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return import_module(name)


@asynccontextmanager
async def worker_process(stack: Stack, name: str) -> AsyncIterator[None]:
    """The worker of the examples, as a program of its own; its queue is `trips`."""
    command = [sys.executable, str(EXAMPLES / "worker.py")]
    await stack.start_worker(name, command=command, variables={"PYTHONPATH": os.getcwd()})
    try:
        yield
    finally:
        if stack.runs(name):
            await stack.kill(name)


@asynccontextmanager
async def nexus_endpoint(temporal: Client, queue: str) -> AsyncIterator[str]:
    """Yield the name of an endpoint that leads to this task queue."""
    name = f"sessions-{uuid4().hex[:8]}"
    target = EndpointTarget(
        worker=EndpointTarget.Worker(namespace=temporal.namespace, task_queue=queue)
    )
    made = await temporal.operator_service.create_nexus_endpoint(
        CreateNexusEndpointRequest(spec=EndpointSpec(name=name, target=target))
    )
    try:
        yield name
    finally:
        await temporal.operator_service.delete_nexus_endpoint(
            DeleteNexusEndpointRequest(id=made.endpoint.id, version=made.endpoint.version)
        )


async def until_sent(sandbox: SandboxClient, saga: str, operation: str) -> None:
    """Return when a request of that saga has reached the operation."""

    async def is_sent() -> bool:
        return any(one["operation"] == operation for one in await sandbox.requests(saga))

    await eventually(is_sent)


async def card_of(client: MissionClient, saga: str, tool: str) -> ConfirmationCard:
    """Return the card of a tool that waits in a saga of that name, as the list of cards has it."""

    async def look() -> ConfirmationCard | None:
        cards = await client.confirmations()
        return next(
            (c for c in cards if c.tool == tool and c.confirmation_id.startswith(f"{saga}-")), None
        )

    card = await eventually(look)
    assert card is not None
    return card


async def approve_next(client: MissionClient, saga: str, tool: str) -> str:
    """Approve that card, and return the id of its saga."""
    card = await card_of(client, saga, tool)
    await client.approve(card.confirmation_id, card.digest, approver=APPROVER)
    return saga_of(card)


def saga_of(card: ConfirmationCard) -> str:
    """Return the id of the saga that a card belongs to."""
    return card.confirmation_id.partition(".")[0]


@asynccontextmanager
async def all_approved(client: MissionClient, saga: str) -> AsyncIterator[list[ConfirmationCard]]:
    """Approve every card of the sagas of that name meanwhile; the list has them.

    It rests as long as a look took: on a busy machine the workers have to get on with their work.
    What is unavailable for a while is asked again; any other error ends the block.
    """
    asked: list[ConfirmationCard] = []
    seen: set[str] = set()
    clock = asyncio.get_running_loop().time

    async def decide(card: ConfirmationCard) -> None:
        """Approve a card, unless that was done before or the card was renewed meanwhile."""
        if card.confirmation_id in seen:
            return
        try:
            await client.approve(card.confirmation_id, card.digest, approver=APPROVER)
        except CardUnknown:  # an approval without an answer had arrived
            pass
        except ConfirmationError as refused:
            if refused.code == "DigestMismatch":
                return
            raise
        seen.add(card.confirmation_id)
        asked.append(card)

    async def approve() -> None:
        while True:
            began = clock()
            with suppress(ServiceUnavailable):
                for card in await client.confirmations():
                    if card.confirmation_id.startswith(f"{saga}-"):
                        await decide(card)
            await asyncio.sleep(max(0.1, clock() - began))

    async with asyncio.TaskGroup() as group:
        approving = group.create_task(approve())
        try:
            yield asked
        finally:
            approving.cancel()
