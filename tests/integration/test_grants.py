"""The last door before a provider: a call leaves only with a grant of its own, and only once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Grant
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.sandbox import (
    FaultRule,
    RunningSandbox,
    SandboxClient,
    load_documents,
    running_sandbox,
)
from orchestrator.settings import bundled_specs
from tests.fakes import MemoryPii, MemorySecrets
from tests.unit.activities.environments import of_mission

MISSION = "m-grants"
Invoke = Callable[..., Awaitable[ToolOutcome]]


Worker = Callable[[], tuple[PrepareActivities, ToolActivities]]


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[RunningSandbox]:
    async with running_sandbox(load_documents([bundled_specs() / "weather.yaml"])) as running:
        yield running


@pytest.fixture
async def witness(sandbox: RunningSandbox) -> AsyncIterator[SandboxClient]:
    async with SandboxClient(sandbox.base_url) as client:
        yield client
        await client.clear_faults()


@pytest.fixture
def catalog() -> Catalog:
    return Catalog.load(bundled_specs() / "weather.yaml")


@pytest.fixture
async def worker(
    sandbox: RunningSandbox, catalog: Catalog, tmp_path: Path
) -> AsyncIterator[Worker]:
    """Makes the activities of one more worker on the same state directory."""
    store = Store(tmp_path).catalogs
    store.put(catalog)
    async with ToolClient(
        secrets=MemorySecrets(),
        pii=MemoryPii(),
        server_variables={
            name: {"port": sandbox.base_url.rpartition(":")[2]} for name in catalog.documents
        },
        allowed_private_hosts=["127.0.0.1"],
    ) as tools:
        grants = Store(tmp_path).grants
        yield lambda: (
            PrepareActivities(store, tools),
            ToolActivities(store, tools, grants),
        )


@pytest.fixture
def invoke(worker: Worker) -> Invoke:
    """Runs the activity on a worker of its own: `invoke(call, activity_id="2", attempt=1)`."""

    async def run(call: ToolCall, **info: Any) -> ToolOutcome:
        environment = of_mission(**{"mission_id": MISSION, **info})
        outcome = await environment.run(worker()[1].invoke_tool, call)
        assert isinstance(outcome, ToolOutcome)
        return outcome

    return run


async def approved(worker: Worker, catalog: Catalog, step: int) -> ToolCall:
    """A subscription to the alerts of Oslo, as step `step` of a leg, with its grant."""
    prepared = await of_mission(MISSION).run(
        worker()[0].prepare_call,
        PrepareInput(
            call_id=f"{MISSION}.1-weather.{step}",
            mission_id=MISSION,
            leg_id="1-weather",
            tool="weather_subscribe_alerts",
            arguments={"city": "Oslo"},
            catalog_digest=catalog.digest,
            now=datetime.now(UTC),
        ),
    )
    assert prepared.call is not None
    assert prepared.card is not None
    grant = Grant(
        confirmation_id=prepared.card.confirmation_id,
        digest=prepared.card.digest,
        approver="ann",
        granted_at=datetime.now(UTC),
    )
    call: ToolCall = prepared.call.model_copy(update={"grant": grant})
    return call


def changed(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"arguments": {**call.arguments, "city": "Rome"}})


def without(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"grant": None})


def of_another_step(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"call_id": f"{MISSION}.1-weather.99"})


def of_another_round(call: ToolCall) -> ToolCall:
    assert call.grant is not None
    other = call.grant.model_copy(update={"confirmation_id": f"{call.call_id}-2"})
    return call.model_copy(update={"grant": other})


@pytest.mark.parametrize("tampered", [changed, without, of_another_step, of_another_round])
async def test_a_call_without_its_own_grant_never_leaves(
    worker: Worker,
    catalog: Catalog,
    invoke: Invoke,
    witness: SandboxClient,
    tampered: Callable[[ToolCall], ToolCall],
) -> None:
    """Changed arguments, no grant, another call's, another card's: refused for good."""
    call = tampered(await approved(worker, catalog, 1))
    before = await witness.requests()

    with pytest.raises(ApplicationError) as refused:
        await invoke(call)

    assert refused.value.type == "GrantMissing"
    assert refused.value.non_retryable
    assert await witness.requests() == before


@pytest.mark.parametrize(
    "second",
    [
        {"activity_id": "another"},
        {"workflow_run_id": "another"},
        {"workflow_run_id": "another", "attempt": 2},
        {"attempt": 1},
    ],
    ids=["another execution", "a mission that was reset", "its retry", "the same input"],
)
async def test_a_used_grant_is_refused(
    worker: Worker,
    catalog: Catalog,
    invoke: Invoke,
    witness: SandboxClient,
    second: dict[str, Any],
) -> None:
    """On another worker too; the provider sees the first call and no other."""
    call = await approved(worker, catalog, 2)
    first = await invoke(call)
    before = await witness.requests()

    with pytest.raises(ApplicationError) as refused:
        await invoke(call, **second)

    assert first.kind == "succeeded"
    assert refused.value.type == "GrantUsed"
    assert refused.value.non_retryable
    assert await witness.requests() == before


async def test_a_call_of_another_mission_never_leaves(
    worker: Worker, catalog: Catalog, invoke: Invoke, witness: SandboxClient
) -> None:
    """Whoever sends it: the server says of which workflow an activity is."""
    call = await approved(worker, catalog, 4)
    before = await witness.requests()

    with pytest.raises(ApplicationError) as refused:
        await invoke(call, mission_id="another")

    assert refused.value.type == "CallUnowned"
    assert refused.value.non_retryable
    assert await witness.requests() == before


async def test_a_later_attempt_of_the_same_call_may_use_its_grant(
    worker: Worker,
    catalog: Catalog,
    invoke: Invoke,
    witness: SandboxClient,
) -> None:
    """The answer to the first was lost; the second carries the same key and changes nothing."""
    call = await approved(worker, catalog, 3)
    await witness.set_faults(
        [FaultRule(operation_id="weather_subscribe_alerts", kind="drop_after", times=1)]
    )

    with pytest.raises(ApplicationError) as lost:
        await invoke(call)
    outcome = await invoke(call, attempt=2)
    effects = [e for e in await witness.ledger() if call.call_id in str(e)]

    assert not lost.value.non_retryable
    assert outcome.kind == "succeeded"
    assert len(effects) == 1
