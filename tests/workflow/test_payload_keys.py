"""Payload encryption: nothing planted in any history, keys that change, workers that lack one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import Message
from temporalio import activity
from temporalio.api.common.v1 import Header, Payload, SearchAttributes
from temporalio.api.history.v1 import MarkerRecordedEventAttributes
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_codec import key_id_of
from orchestrator.adapters.temporal.payload_keys import (
    PayloadKeys,
    new_payload_key,
    read_payload_keys,
)
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.client.history_replay import Replays
from orchestrator.core.errors import PayloadLocked, TransportFailed
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionResult, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import ToolCall
from orchestrator.planning.models import AskUser, CallTool, GiveUp
from orchestrator.runtime.worker import workflow_runner
from orchestrator.runtime.worker_state import LockedCalls
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import eventually
from orchestrator.workflows import ALL_WORKFLOWS
from tests.fakes import fake_leg, fake_tool
from tests.world import PLAN_STEP, FakeWorld

OLD, NEW = new_payload_key(), new_payload_key()
ONLY_OLD, ONLY_NEW, BOTH, OLD_FIRST = (
    f"old:{OLD}",
    f"new:{NEW}",
    f"new:{NEW},old:{OLD}",
    f"old:{OLD},new:{NEW}",
)
PLANTED = "Zephyrine Oakhollow"
TOOLS = (
    fake_tool("find_flights"),
    fake_tool("book_flight", cancel_tool="cancel_flight"),
    fake_tool("buy_ticket", cancel_tool="refund_ticket", idempotent=False),
)


def _payloads_in(message: Message) -> Iterator[Payload]:
    """Yield every payload of a recorded message that passes through a codec."""
    if isinstance(message, Payload):
        yield message
    elif isinstance(message, MarkerRecordedEventAttributes):
        # The other details are the SDK's own notes, which it writes unencrypted.
        if "result" in message.details:
            yield from _payloads_in(message.details["result"])
        yield from _payloads_in(message.failure)
    elif not isinstance(message, SearchAttributes | Header):
        for field, value in message.ListFields():
            if field.message_type is not None:
                for part in _parts(value):
                    yield from _payloads_in(part)


def _parts(value: Any) -> Iterator[Message]:
    """Yield the messages of a field: one message, those of a list, or the values of a map."""
    if isinstance(value, Message):
        yield value
        return
    for part in value.values() if hasattr(value, "values") else value:
        if isinstance(part, Message):
            yield part


class SomeLack(PayloadKeys):
    """The keys of many workers, of which each third lacks the new one."""

    def __init__(self) -> None:
        super().__init__(lambda: read_payload_keys(BOTH, "test"))
        self._asked = itertools.cycle((False, True, True))

    def decrypting(self, key_id: str) -> AESGCM:
        if not next(self._asked):
            raise PayloadLocked(key_id, "this one is not known here")
        return super().decrypting(key_id)


class Withheld(PayloadKeys):
    """The keys of workers from which one is taken for a while."""

    def __init__(self) -> None:
        super().__init__(lambda: read_payload_keys(BOTH, "test"))
        self.is_away = False

    def decrypting(self, key_id: str) -> AESGCM:
        if self.is_away:
            raise PayloadLocked(key_id, "it is not known here now")
        return super().decrypting(key_id)


class Keyed:
    """One task queue of one server, with workers and clients of whatever keys."""

    def __init__(self, env: WorkflowEnvironment, world: FakeWorld, task_queue: str) -> None:
        self.env = env
        self.world = world
        self.task_queue = task_queue

    async def client(self, keys: str | PayloadKeys) -> Client:
        return await keyed_client(self.env, keys)

    async def worker(
        self,
        keys: str | PayloadKeys,
        *,
        thinks: bool = True,
        acts: bool = True,
        interceptors: Sequence[Interceptor] = (),
    ) -> Worker:
        return Worker(
            await self.client(keys),
            task_queue=self.task_queue,
            workflows=ALL_WORKFLOWS if thinks else [],
            activities=self.world.activities(),
            no_remote_activities=not acts,
            workflow_runner=workflow_runner(),
            max_cached_workflows=0,
            interceptors=[LockedCalls(), *interceptors],
            graceful_shutdown_timeout=timedelta(seconds=5),
        )

    async def start(self, keys: str) -> WorkflowHandle[object, MissionResult]:
        client = await self.client(keys)
        request = MissionRequest(
            goal=f"a flight for {PLANTED}",
            inputs={"who": PLANTED},
            mission_id=self.task_queue,
            policy=MissionPolicy(call_timeout=timedelta(seconds=4), call_attempts=3),
        )
        return await client.start_workflow(
            names.MISSION_WORKFLOW,
            MissionInput(request=request),
            id=self.task_queue,
            task_queue=self.task_queue,
            memo={"goal": request.goal},
            static_summary=request.goal,
            task_timeout=timedelta(seconds=1),
            result_type=MissionResult,
        )

    async def used_keys(self, *workflow_ids: str) -> set[str]:
        client = await self.client(BOTH)
        used: set[str] = set()
        for workflow_id in workflow_ids or (self.task_queue,):
            history = await client.get_workflow_handle(workflow_id).fetch_history()
            for event in history.events:
                used |= {key_id_of(payload) or "" for payload in _payloads_in(event)}
        return used

    async def is_thinking(self, leg_id: str) -> bool:
        return bool(self.world.attempts(PLAN_STEP, leg_id))

    async def result(self) -> MissionResult | None:
        """The result document of the mission as it stands; None before its first task."""
        client = await self.client(BOTH)
        events = (await client.get_workflow_handle(self.task_queue).fetch_history()).events
        result = await Replays(client).last_state(self.task_queue, events, lambda m: m.result())
        assert result is None or isinstance(result, MissionResult)
        return result

    async def leg_waits(self, leg_id: str) -> str:
        """Why a leg shows that it waits."""
        result = await self.result()
        legs = () if result is None else result.legs
        return next((leg.stalled for leg in legs if leg.leg_id == leg_id), "")

    async def said_by_a_failed_task(self, part: str = "") -> str:
        """The words of the failures of a workflow's tasks, as anybody reads them."""
        handle = self.env.client.get_workflow_handle(f"{self.task_queue}{part}")
        if await described(handle) is None:
            return ""
        failed = [
            event.workflow_task_failed_event_attributes.failure.message
            async for event in handle.fetch_history_events()
        ]
        return "".join(failed)

    async def looked_for_a_key(self, least: int) -> bool:
        return await self.count(names.AWAIT_KEY) >= least

    async def count(self, activity: str) -> int:
        """How often the mission and its rollback began an activity."""
        began = 0
        for part in ("", ".rollback"):
            handle = self.env.client.get_workflow_handle(f"{self.task_queue}{part}")
            if await described(handle) is None:
                continue
            async for event in handle.fetch_history_events():
                scheduled = event.activity_task_scheduled_event_attributes
                began += scheduled.activity_type.name == activity
        return began


async def keyed_client(env: WorkflowEnvironment, keys: str | PayloadKeys) -> Client:
    """A connection of its own: the SDK takes one worker of a task queue for each."""
    return await Client.connect(
        env.client.service_client.config.target_host,
        data_converter=mission_converter(
            PayloadKeys.of_text(keys) if isinstance(keys, str) else keys
        ),
    )


@pytest.fixture
async def keyed(workflow_env: WorkflowEnvironment, request: pytest.FixtureRequest) -> Keyed:
    keys = getattr(request, "param", BOTH)
    world = FakeWorld(await keyed_client(workflow_env, keys), TOOLS)
    world.plan(fake_leg("trip"), fake_leg("visa", after=("trip",)))
    world.decide("trip", *(CallTool(tool=tool.name) for tool in TOOLS))
    found = ToolOutcome(kind="succeeded", status=200, body={"passenger": PLANTED})
    world.answer("find_flights", found)
    return Keyed(workflow_env, world, request.node.originalname.replace("_", "-"))


def made_once(world: FakeWorld) -> bool:
    """Whether each call was made once, and nothing was taken back twice."""
    called = world.subjects(names.INVOKE_TOOL)
    cancelled = world.subjects(names.COMPENSATE)
    return len(called) == len(set(called)) and len(cancelled) == len(set(cancelled))


async def test_nothing_of_a_mission_can_be_read_in_its_histories(keyed: Keyed) -> None:
    """Goal, inputs, memo, summary, answers, words of failures, the ledger of the rollback."""
    keyed.world.decide("visa", GiveUp(reason=f"no visa for {PLANTED}"))
    async with await keyed.worker(BOTH):
        mission = await keyed.start(BOTH)
        with pytest.raises(WorkflowFailureError) as failed:
            await mission.result()
        assert PLANTED in str(failed.value.cause)

    ids = [keyed.task_queue, names.rollback_workflow_id(keyed.task_queue)]
    assert await keyed.used_keys(*ids) == {"new"}
    for workflow_id in ids:
        handle = keyed.env.client.get_workflow_handle(workflow_id)
        history, described = await handle.fetch_history(), await handle.describe()
        recorded = [event.SerializeToString() for event in history.events]
        recorded.append(described.raw_description.SerializeToString())
        for planted in (PLANTED, "no visa", "Traceback", "book_flight"):
            assert not any(planted.encode() in part for part in recorded if not _found(part))
    assert made_once(keyed.world)


def _found(recorded: bytes) -> bool:
    """Whether it sets search attributes, which are in the clear: names of tools are among them."""
    return b"OrchetTool" in recorded


@pytest.mark.parametrize("keyed", [OLD_FIRST], indirect=True, ids=["used later"])
async def test_a_key_is_changed_with_missions_in_flight(keyed: Keyed) -> None:
    """Known first, then used: each deployment reads what the ones before and after it write."""
    keyed.world.decide("visa", AskUser(question="Which visa?", fields={"visa": {}}))
    booking = keyed.world.hold(names.INVOKE_TOOL, "book_flight")
    async with await keyed.worker(ONLY_OLD):
        mission = await keyed.start(ONLY_OLD)
        async with booking:
            pass
    async with await keyed.worker(OLD_FIRST):
        await eventually(lambda: keyed.is_thinking("visa"))
        assert await keyed.used_keys() == {"old"}
    async with await keyed.worker(BOTH):
        await mission.cancel()
        with pytest.raises(WorkflowFailureError):
            await mission.result()
    assert await keyed.used_keys() == {"new", "old"}
    assert await keyed.used_keys(f"{keyed.task_queue}.rollback") == {"new"}
    assert sorted(keyed.world.subjects(names.COMPENSATE)) == ["book_flight", "buy_ticket"]


async def test_a_worker_that_lacks_the_key_loses_nothing(keyed: Keyed) -> None:
    """Alone it does nothing and says why; once another one has the key, the mission goes on."""
    async with await keyed.worker(ONLY_OLD):
        mission = await keyed.start(BOTH)
        said = await eventually(keyed.said_by_a_failed_task)
    assert "'new', and only 'old' is known here" in said
    async with await keyed.worker(BOTH):
        result = await mission.result()
    assert result.status is MissionStatus.SUCCEEDED
    assert made_once(keyed.world)


async def test_a_workflow_is_given_nothing_that_its_worker_cannot_read(keyed: Keyed) -> None:
    """An activity answered under a key that the worker of the workflow lacks: its task fails."""
    async with (
        await keyed.worker(ONLY_OLD, acts=False),
        await keyed.worker(BOTH, thinks=False),
    ):
        mission = await keyed.start(ONLY_OLD)
        said = await eventually(keyed.said_by_a_failed_task)
    assert "'new', and only 'old' is known here" in said
    reader = (await keyed.client(BOTH)).get_workflow_handle(mission.id, result_type=MissionResult)
    async with await keyed.worker(BOTH):
        assert (await reader.result()).status is MissionStatus.SUCCEEDED


async def test_attempts_are_not_spent_on_workers_that_lack_the_key(keyed: Keyed) -> None:
    """Not even the only one that a call without idempotency key has, nor that of a compensation."""
    keyed.world.decide("visa", GiveUp(reason="no visa"))
    async with (
        await keyed.worker(BOTH, acts=False),
        await keyed.worker(SomeLack(), thinks=False),
    ):
        mission = await keyed.start(BOTH)
        with pytest.raises(WorkflowFailureError):
            await mission.result()
        result = await keyed.result()
    assert result is not None
    assert result.status is MissionStatus.ROLLED_BACK
    assert made_once(keyed.world)
    assert sorted(keyed.world.subjects(names.COMPENSATE)) == ["book_flight", "buy_ticket"]
    assert await keyed.count(names.AWAIT_KEY) > 5


@pytest.mark.parametrize("first", ["lost", "unread"])
async def test_a_call_that_nobody_can_read_is_held_until_somebody_can(
    keyed: Keyed, first: str
) -> None:
    """Also one that an earlier attempt may have made: it is asked about again under its own key."""
    keys, world = Withheld(), keyed.world

    async def lost(call: ToolCall) -> ToolOutcome:
        keys.is_away = True
        raise TransportFailed(call.tool, "the answer was lost", may_have_arrived=True)

    booked = ToolOutcome(kind="succeeded", status=201, body={"reference": "r1"})
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="find_flights"), CallTool(tool="book_flight"))
    if first == "lost":
        world.answer("book_flight", lost, booked)
    async with (
        await keyed.worker(BOTH, acts=False),
        await keyed.worker(keys, thinks=False),
    ):
        mission = await keyed.start(BOTH)
        if first == "unread":
            booking = world.hold(names.PREPARE_CALL, "book_flight")
            async with booking:
                keys.is_away = True
        why = await eventually(lambda: keyed.leg_waits("trip"))
        keys.is_away = False
        result = await mission.result()
    assert "'new', and it is not known here now" in why
    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert not world.compensated()
    sent = world.sent("book_flight")
    assert len({call.call_id for call in sent}) == 1
    assert sent[-1].may_have_arrived is (first == "lost")
    assert result.ledger.obligations[0].deadline == sent[-1].deadline


class _OneUnread(Interceptor):
    """A worker that reads the probe of a key, and not the payload that is waited for."""

    is_away = True

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        store = self

        class Reads(ActivityInboundInterceptor):
            async def execute_activity(self, input: ExecuteActivityInput) -> Any:
                if store.is_away and activity.info().activity_type == names.THINK:
                    kind = PayloadLocked.__name__
                    raise ApplicationError("it is away", type=kind, non_retryable=True)
                return await super().execute_activity(input)

        return Reads(next)


async def test_a_payload_that_stays_locked_does_not_fill_the_history(keyed: Keyed) -> None:
    """That a key is there says nothing of it: looks that come to nothing are spread."""
    store = _OneUnread()
    keyed.world.plan(fake_leg("trip"))
    async with await keyed.worker(BOTH, interceptors=[store]):
        mission = await keyed.start(BOTH)
        await eventually(lambda: keyed.looked_for_a_key(2))
        await asyncio.sleep(3.0)
        assert await keyed.count(names.AWAIT_KEY) < 5
        store.is_away = False
        assert (await mission.result()).status is MissionStatus.SUCCEEDED


async def test_a_client_without_the_key_says_so(keyed: Keyed) -> None:
    async with await keyed.worker(BOTH):
        mission = await keyed.start(BOTH)
        await mission.result()
    poor = (await keyed.client(ONLY_OLD)).get_workflow_handle(mission.id)
    with pytest.raises(PayloadLocked, match="'new', and only 'old' is known here"):
        await poor.result()
