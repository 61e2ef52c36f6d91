"""Calls of Python functions: which outcome each end of one has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.python_functions import SERVER, Rejected, tool
from orchestrator.core.errors import ArgumentsInvalid, EgressRefused, TransportFailed
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii
from tests.unit.adapters.http.one_operation import called


@tool(irreversible=True)
async def act(how: str, idempotency_key: str) -> dict[str, str]:
    """Act in one of several ways."""
    match how:
        case "refuse":
            raise Rejected("not today")
        case "break":
            raise RuntimeError("the secret is 1234")
        case "wait":
            await asyncio.sleep(60)
    return {"key": idempotency_key}


CATALOG = Catalog.load(functions=[act])


@pytest.fixture
async def tools() -> AsyncIterator[ToolClient]:
    secrets = EnvironmentSecrets()
    async with ToolClient(secrets=secrets, pii=MemoryPii(), functions=CATALOG.functions) as one:
        yield one


async def call(
    tools: ToolClient, how: Any, timeout_s: float = 5, catalog: Catalog = CATALOG
) -> ToolOutcome:
    key = {"idempotency_key": "m.1.2", "timeout_s": timeout_s}
    return await called(tools, catalog, "act", {"how": how}, **key)


async def test_an_answer_is_a_success_and_rejected_a_refusal(tools: ToolClient) -> None:
    """The function receives the key of the call; rejected means that nothing was done."""
    outcome, refused = await call(tools, "well"), await call(tools, "refuse")

    assert (outcome.kind, outcome.body) == ("succeeded", {"key": "m.1.2"})
    assert await tools.obstacles(CATALOG, CATALOG.tool("act")) == ()
    assert refused.kind == "rejected"
    assert "not today" in (refused.reason or "")


async def test_any_other_exception_leaves_it_unknown(
    tools: ToolClient, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the exception and its place, and quotes nothing of it."""
    outcome = await call(tools, "break")

    assert outcome.kind == "unknown"
    assert "RuntimeError" in caplog.text
    assert "1234" not in caplog.text + outcome.model_dump_json()


async def test_a_function_that_takes_too_long_may_have_acted(tools: ToolClient) -> None:
    """It is cancelled at the deadline of the call."""
    with pytest.raises(TransportFailed) as failed:
        await call(tools, "wait", timeout_s=0.2)

    assert failed.value.may_have_arrived


async def test_arguments_are_checked_before_the_function_runs(tools: ToolClient) -> None:
    """By its annotations."""
    with pytest.raises(ArgumentsInvalid):
        await call(tools, 3)


async def test_a_worker_without_the_function_sends_nothing() -> None:
    """Another worker may have it, so it may be tried again."""
    async with ToolClient(secrets=EnvironmentSecrets(), pii=MemoryPii()) as bare:
        with pytest.raises(TransportFailed) as failed:
            await call(bare, "well")

    assert not failed.value.may_have_arrived


async def test_no_other_document_calls_the_functions(tools: ToolClient) -> None:
    """Its contract would be one that their author has not written."""
    forged = dict(CATALOG.documents["python"])
    other = Catalog.from_documents({"other": {**forged, "servers": [{"url": SERVER}]}})
    with pytest.raises(EgressRefused):
        await call(tools, "well", catalog=other)
