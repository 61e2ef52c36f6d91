"""Calls and written workflows at a sandbox of any documents, without a mission around them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.http.transport import CheckedTransport
from orchestrator.adapters.storage.store import Store
from orchestrator.arazzo.engine import CallMove, Move, StepAnswer, next_move
from orchestrator.arazzo.workflow_export import MadeCall
from orchestrator.arazzo.written import WrittenWorkflow
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.sandbox import STANDARD, RunningSandbox, redirected, running_sandbox
from orchestrator.testing.installation import MadeUpSecrets, OnlyThisMachine
from orchestrator.testing.sample_arguments import make_up_person


@dataclass
class ProviderRun:
    """One provider, and the calls that were made at it."""

    sandbox: RunningSandbox
    catalog: Catalog
    client: ToolClient
    calls: list[MadeCall] = field(default_factory=list)

    async def call(self, tool: Tool, arguments: JsonObject) -> ToolOutcome:
        """Make a call as a mission would, and keep it if it succeeded."""
        call_id = f"m.1-leg.{len(self.calls) + 1}"
        filled = {**dict.fromkeys(tool.reference_inputs, call_id), **arguments}
        outcome = await self.client.call(
            self.catalog,
            tool,
            filled,
            call_id=call_id,
            idempotency_key=call_id,
            timeout_s=20,
        )
        if outcome.kind == "succeeded":
            self.calls.append(MadeCall(tool=tool.name, arguments=filled, body=outcome.body))
        return outcome

    async def play(
        self,
        workflow: WrittenWorkflow,
        inputs: JsonObject,
        outputs_of: Mapping[str, JsonObject],
    ) -> Move:
        """Run a workflow to its end, with all of its calls approved and no pause before retries."""
        answers: list[StepAnswer] = []
        while isinstance(move := next_move(workflow, inputs, answers, outputs_of), CallMove):
            outcome = await self.call(self.catalog.tool(move.tool), move.arguments)
            kind: Any = outcome.kind
            answers.append(
                StepAnswer(
                    move.step_id,
                    kind,
                    outcome.status,
                    outcome.headers,
                    outcome.body,
                    error=str(outcome.reason or ""),
                    arguments=move.arguments,
                )
            )
        return move

    def effects(self) -> list[tuple[str, str, str, str]]:
        """Return the effects of the provider's ledger, without made ids."""
        return [
            (one.provider, one.operation, one.kind, one.status)
            for one in self.sandbox.ledger.effects()
        ]


@asynccontextmanager
async def provider(
    documents: dict[str, JsonObject], folder: Path, *, seed: int = 0, is_stocked: bool = False
) -> AsyncIterator[ProviderRun]:
    """Serve the documents, and yield a client with made-up credentials and personal values."""
    served = redirected(documents, "http://127.0.0.1")
    async with running_sandbox(
        served, seed=seed, playbook=STANDARD, is_stocked=is_stocked
    ) as sandbox:
        catalog = Catalog.from_documents(redirected(documents, sandbox.base_url))
        vault = Store(folder).vault
        for name, value in make_up_person(catalog).items():
            vault.put(name, value)
        transport = CheckedTransport(OnlyThisMachine())
        async with httpx.AsyncClient(transport=transport, trust_env=False) as http:
            client = ToolClient(secrets=MadeUpSecrets(), pii=vault, http=http)
            yield ProviderRun(sandbox, catalog, client)
