"""Sessions of loops that run anywhere, over a real server, store and provider."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator import ToolCallFailed
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.session_handle import SessionHandle
from orchestrator.core.errors import NoWorker, ServiceUnavailable, SessionError, UsageError
from orchestrator.sandbox import FaultRule
from orchestrator.temporal import OrchestratorPlugin
from orchestrator.testing import eventually
from tests.guarded_examples import (
    EXAMPLES,
    all_approved,
    card_of,
    nexus_endpoint,
    worker_process,
)
from tests.guarded_workflows import PERSON, Beginner, Caller, Sender, TakenName

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

DAY = (date.today() + timedelta(days=7)).isoformat()
SEARCH: dict[str, Any] = {"city": "Lisbon", "date": DAY}


async def tables(session: SessionHandle) -> list[str]:
    """Return the tables that the provider offers."""
    found: Any = await session.call("dining_search_tables", SEARCH)
    return [one["table_slot_id"] for one in found["tables"]]


def table(slot: str) -> dict[str, Any]:
    return {"table_slot_id": slot, **PERSON}


async def test_a_session_makes_approved_calls_that_stand(
    client: MissionClient, sandbox: Witness
) -> None:
    """Its cards are in the list of all cards; another process reads the outcome by the ids."""
    session = await client.session(requester="ana@example.com")
    slot, *_ = await tables(session)
    async with all_approved(client, "session") as cards:
        call_id = await session.begin("dining_reserve_table", table(slot), reason="asked for")
        elsewhere = client.session_handle(session.session_id)
        booked: Any = await elsewhere.outcome(call_id)
    result = await session.complete()

    assert result.status == "completed"
    assert cards[0].tool == "dining_reserve_table"
    (effect,) = await sandbox.live(result.saga_id)
    assert effect["resource_id"] == booked["reservation_id"]
    assert await elsewhere.outcome(call_id) == booked
    assert result.saga_id not in (await client.sweep()).started


async def test_a_session_that_is_rolled_back_leaves_nothing(
    client: MissionClient, sandbox: Witness
) -> None:
    """What stands is cancelled, and an open card is closed."""
    session = await client.session()
    slot, other, *_ = await tables(session)
    async with all_approved(client, "session"):
        await session.call("dining_reserve_table", table(slot))
    waiting = await session.begin("dining_reserve_table", table(other))
    await card_of(client, "session", "dining_reserve_table")
    result = await session.rollback(reason="the guests are ill")

    assert await sandbox.live(result.saga_id) == []
    assert result.reason == "the guests are ill"
    assert not [c for c in await client.confirmations() if c.confirmation_id.startswith("session")]
    with pytest.raises(ToolCallFailed) as failed:
        await session.outcome(waiting)
    assert failed.value.outcome == "cancelled"
    report = await client.rollback_report(result.saga_id)
    assert [o.state for o in report.ledger.obligations] == ["cancelled"]


async def test_a_call_that_fails_says_why(client: MissionClient, sandbox: Witness) -> None:
    """The session goes on, for the loop decides what follows."""
    session = await client.session()
    with pytest.raises(ToolCallFailed) as failed:
        await session.call("dining_search_tables", {"city": "Lisbon"})
    assert failed.value.outcome == "invalid"
    await sandbox.set_faults(
        [FaultRule(operation_id="dining_reserve_table", kind="status_before", status=409)]
    )
    async with all_approved(client, "session"):
        with pytest.raises(ToolCallFailed) as failed:
            await session.call("dining_reserve_table", table((await tables(session))[0]))

    assert failed.value.outcome == "rejected"
    assert (await session.complete()).status == "completed"


async def test_many_calls_at_once(client: MissionClient, sandbox: Witness) -> None:
    """Each has a card and one effect; the server takes ten updates at once, from both handles."""
    session = await client.session()
    handles = [session, client.session_handle(session.session_id)]
    slots = await tables(session)
    async with all_approved(client, "session") as cards:
        made = await asyncio.gather(
            *(
                handles[number % 2].call(
                    "dining_reserve_table", table(slots[number % len(slots)]), key=f"table-{number}"
                )
                for number in range(24)
            ),
            return_exceptions=True,
        )
    result = await session.complete()

    assert [one for one in made if isinstance(one, BaseException)] == []
    assert len(cards) == 24
    assert len(await sandbox.live(result.saga_id)) == 24
    assert len({one["reservation_id"] for one in made if isinstance(one, dict)}) == 24


async def test_a_call_that_is_begun_again_is_made_once(
    client: MissionClient, sandbox: Witness
) -> None:
    """The same key with the same arguments is the same call; with others it is refused."""
    session = await client.session()
    slot, other, *_ = await tables(session)
    async with all_approved(client, "session"):
        begun = await asyncio.gather(
            *(session.begin("dining_reserve_table", table(slot), key="dinner") for _ in range(3))
        )
        await session.outcome(begun[0])
        again = await session.begin("dining_reserve_table", table(slot), key="dinner")
        with pytest.raises(SessionError) as refused:
            await session.begin("dining_reserve_table", table(other), key="dinner")
    result = await session.complete()

    assert {*begun, again} == {"key-dinner"}
    assert refused.value.code == "KeyTaken"
    assert len(await sandbox.live(result.saga_id)) == 1


async def test_a_session_that_nobody_touches_is_rolled_back(
    client: MissionClient, sandbox: Witness
) -> None:
    """By a timer of the server; an open card is no idle time."""
    session = await client.session(idle_limit=timedelta(seconds=2))
    slot, *_ = await tables(session)
    call_id = await session.begin("dining_reserve_table", table(slot))
    card = await card_of(client, "session", "dining_reserve_table")
    await asyncio.sleep(3)
    await client.approve(card.confirmation_id, card.digest, approver="bob@example.com")
    booked: Any = await session.outcome(call_id)
    result = await session.result()

    assert booked["reservation_id"]
    assert result.status == "rolled_back"
    assert await sandbox.live(result.saga_id) == []
    with pytest.raises(SessionError) as over:
        await session.complete()
    assert over.value.code == "SessionOver"


async def test_a_session_may_be_parked_when_nobody_touches_it(
    client: MissionClient, sandbox: Witness
) -> None:
    """It is in the list of all that waits, until somebody goes on with it."""
    session = await client.session(idle_limit=timedelta(seconds=1), on_idle="park")

    async def is_shown(expected: bool) -> bool:
        stalled = (await client.waiting()).stalled
        return any(session.session_id in why for why in stalled) is expected

    await eventually(lambda: is_shown(True))
    await tables(session)
    await eventually(lambda: is_shown(False))

    assert (await session.complete()).status == "completed"


async def test_a_session_that_is_terminated_is_swept(
    client: MissionClient, sandbox: Witness, sweep_until_found: Any
) -> None:
    """Its handle says where its rollback is shown."""
    session = await client.session()
    slot, *_ = await tables(session)
    async with all_approved(client, "session") as cards:
        await session.call("dining_reserve_table", table(slot))
    saga_id = cards[0].confirmation_id.partition(".")[0]
    await client.temporal.get_workflow_handle(session.session_id).terminate()
    await sweep_until_found(saga_id)

    async def is_cancelled() -> bool:
        return not await sandbox.live(saga_id)

    await eventually(is_cancelled)
    with pytest.raises(SessionError, match=saga_id):
        await session.complete()


async def test_a_session_is_cancelled_from_the_temporal_ui(
    client: MissionClient, sandbox: Witness
) -> None:
    """A cancel request rolls back as well."""
    session = await client.session()
    slot, *_ = await tables(session)
    async with all_approved(client, "session") as cards:
        await session.call("dining_reserve_table", table(slot))
    await client.temporal.get_workflow_handle(session.session_id).cancel()
    with pytest.raises(SessionError):
        await session.result()

    assert await sandbox.live(cards[0].confirmation_id.partition(".")[0]) == []


# -- wrong use ------------------------------------------------------------------------------------


async def test_wrong_use_gets_a_sentence_with_the_remedy(client: MissionClient) -> None:
    """Nothing was done for any of them."""
    session = await client.session(session_id=f"mine-{uuid4().hex[:6]}")
    with pytest.raises(SessionError, match="dining_reserve_table"):
        await session.begin("dining_reserve_tabel", {})
    with pytest.raises(SessionError, match="no call 'key-x'"):
        await session.outcome("key-x")
    with pytest.raises(SessionError, match="other terms"):
        await client.session(session_id=session.session_id, requester="ana@example.com")
    with pytest.raises(SessionError, match="there is no such session"):
        await client.session_handle("nobody-has-it").complete()
    with pytest.raises(SessionError, match="no name of a tool"):
        await session.begin("dining_*", {})
    with pytest.raises(UsageError, match="key"):
        await session.begin("dining_search_tables", SEARCH, key="Not A Key")
    with pytest.raises(UsageError, match="idle limit"):
        await client.session(idle_limit=timedelta(0))
    assert (await client.session(session_id=session.session_id)).session_id == session.session_id
    call_id = await session.begin("dining_reserve_table", table("tbl_any"))
    with pytest.raises(SessionError, match="under way"):
        await session.complete()
    await session.rollback()
    with pytest.raises(SessionError, match="start another"):
        await session.begin("dining_search_tables", SEARCH)
    with pytest.raises(SessionError, match="is over"):
        await client.session(session_id=session.session_id)
    with pytest.raises(ToolCallFailed):
        await session.outcome(call_id)


async def test_a_worker_without_the_session_workflow_is_named(stack: Stack) -> None:
    """Such as one of an earlier release; a queue without a worker is named as well."""
    queue = f"old-{uuid4().hex[:6]}"
    temporal = await Client.connect(stack.address)
    settings = stack.settings.model_copy(update={"task_queue": queue})
    with pytest.raises(NoWorker):
        await MissionClient(temporal, settings).session()
    async with Worker(temporal, task_queue=queue, workflows=[TakenName]):
        with pytest.raises(ServiceUnavailable, match="SessionWorkflow") as stuck:
            await MissionClient(temporal, settings).session()
    assert stuck.value.code == "WorkflowStuck"


# -- workers --------------------------------------------------------------------------------------


@asynccontextmanager
async def served(stack: Stack) -> AsyncIterator[MissionClient]:
    """Yield a client of a queue whose one worker has nothing of ours but the plugin."""
    queue = f"loops-{uuid4().hex[:6]}"
    temporal = await Client.connect(
        stack.address, plugins=[OrchestratorPlugin(settings=stack.settings)]
    )
    settings = stack.settings.model_copy(update={"task_queue": queue})
    async with Worker(temporal, task_queue=queue):
        yield MissionClient(temporal, settings)


async def test_the_plugin_serves_sessions(stack: Stack, sandbox: Witness) -> None:
    """Under the SDK's own data converter."""
    async with served(stack) as client:
        session = await client.session()
        async with all_approved(client, "session"):
            await session.call("dining_reserve_table", table((await tables(session))[0]))
        result = await session.complete()

    assert len(await sandbox.live(result.saga_id)) == 1


# -- Nexus ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "stand"),
    # A rollback over Nexus is also what the killed service below has to end with.
    [("complete", 2), pytest.param("rollback", 0, marks=pytest.mark.long)],
)
async def test_a_workflow_in_any_language_calls_over_nexus(
    stack: Stack, sandbox: Witness, ends: str, stand: int
) -> None:
    """It knows names and JSON; its own worker has nothing of ours."""
    plain = await Client.connect(stack.address)
    days = [DAY, (date.today() + timedelta(days=8)).isoformat()]
    async with (
        served(stack) as client,
        nexus_endpoint(plain, client.connection.task_queue) as endpoint,
        Worker(
            plain,
            task_queue=endpoint,
            workflows=[Caller],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
        all_approved(client, "session"),
    ):
        done = await plain.execute_workflow(
            "Caller", args=[endpoint, days, ends], id=f"caller/{uuid4()}", task_queue=endpoint
        )

    assert [call["outcome"] for call in done["calls"]] == ["succeeded", "succeeded"]
    assert done["status"] == ("completed" if ends == "complete" else "rolled_back")
    assert len(await sandbox.live(done["saga"])) == stand


@pytest.mark.parametrize(
    ("struck", "ends", "stand"),
    [
        pytest.param("dining_search_tables", "complete", 2, marks=pytest.mark.long),
        ("dining_reserve_table", "complete", 2),
        pytest.param("dining_reserve_table", "rollback", 0, marks=pytest.mark.long),
        ("dining_cancel_reservation", "rollback", 0),
    ],
)
async def test_a_service_that_is_killed_loses_nothing(
    stack: Stack, client: MissionClient, sandbox: Witness, struck: str, ends: str, stand: int
) -> None:
    """Its worker dies between a call and its answer, while a foreign workflow waits over Nexus."""
    await sandbox.set_faults([FaultRule(operation_id=struck, kind="latency", delay_s=2, times=1)])
    sent_before = await _sent(sandbox, struck)

    async def is_struck() -> bool:
        return await _sent(sandbox, struck) > sent_before

    plain = await Client.connect(stack.address)
    async with (
        nexus_endpoint(plain, "trips") as endpoint,
        Worker(
            plain,
            task_queue=endpoint,
            workflows=[Caller],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
        all_approved(client, "session"),
    ):
        days = [DAY, (date.today() + timedelta(days=8)).isoformat()]
        async with worker_process(stack, "first"):
            caller = await plain.start_workflow(
                "Caller", args=[endpoint, days, ends], id=f"caller/{uuid4()}", task_queue=endpoint
            )
            await eventually(is_struck)
            await stack.kill("first")
        async with worker_process(stack, "second"):
            done = await caller.result()

    assert [call["outcome"] for call in done["calls"]] == ["succeeded", "succeeded"]
    assert done["status"] == ("completed" if ends == "complete" else "rolled_back")
    assert len(await sandbox.live(done["saga"])) == stand
    made = [one["operation"] for one in await sandbox.ledger(done["saga"])]
    assert made.count("dining_reserve_table") == 2
    assert await sandbox.duplicates(done["saga"]) == []


async def _sent(sandbox: Witness, operation: str) -> int:
    return sum(one["operation"] == operation for one in await sandbox.requests())


@pytest.mark.parametrize("ends", ["complete", "rollback"])
async def test_the_documented_messages_are_those_of_the_wire(
    stack: Stack, sandbox: Witness, ends: str
) -> None:
    """Each row of the table is sent as it stands there, by a workflow without our models."""
    rows = [row for row in _documented() if row[0] in ("open", "begin", "outcome", "call", ends)]
    plain = await Client.connect(stack.address)
    async with (
        served(stack) as client,
        nexus_endpoint(plain, client.connection.task_queue) as endpoint,
        Worker(
            plain,
            task_queue=endpoint,
            workflows=[Sender],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
    ):
        messages = [[operation, _dated(message)] for operation, message, _ in rows]
        answers = await plain.execute_workflow(
            "Sender", args=[endpoint, messages], id=f"sender/{uuid4()}", task_queue=endpoint
        )

    for (operation, _, documented), answer in zip(rows, answers, strict=True):
        fixed = {name: documented[name] for name in documented.keys() & {"outcome", "status"}}
        assert documented.keys() <= answer.keys(), operation
        assert fixed.items() <= answer.items(), operation
        assert {name: type(answer[name]) for name in documented} == {
            name: type(value) for name, value in documented.items()
        }


def _documented() -> list[tuple[str, Any, Any]]:
    """Return the operation, the message and the answer of each row of the documentation."""
    cell = r"`(\{.*?\})`"
    page = (EXAMPLES.parents[1] / "guarded-tools.md").read_text()
    rows = re.findall(rf"^\| `(\w+)` \| {cell} \| {cell} \|$", page, re.MULTILINE)
    assert len(rows) == 6
    return [(name, json.loads(message), json.loads(answer)) for name, message, answer in rows]


def _dated(message: Any) -> Any:
    """Return a message with a day on which tables are free, in place of the documented `D`."""
    return json.loads(json.dumps(message).replace('"D"', json.dumps(DAY)))


async def test_wrong_use_over_nexus_fails_the_operation(stack: Stack) -> None:
    """With the sentence that a client gets."""
    plain = await Client.connect(stack.address)
    async with (
        served(stack) as client,
        nexus_endpoint(plain, client.connection.task_queue) as endpoint,
        Worker(
            plain,
            task_queue=endpoint,
            workflows=[Beginner],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ),
    ):
        session = await client.session()
        await session.complete()
        said = [
            await plain.execute_workflow(
                "Beginner", args=[endpoint, one], id=f"beginner/{uuid4()}", task_queue=endpoint
            )
            for one in (session.session_id, "nobody-has-it")
        ]

    assert "start another" in said[0]
    assert "there is no such session" in said[1]
