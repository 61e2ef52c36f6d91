"""Cancel requests and terminations, at the moments that a mission's script names."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from temporalio.service import RPCError, RPCStatusCode

from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Interruption, MissionScript
from orchestrator.chaos.transient_errors import end_tasks, retry_transient
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.sandbox import SandboxClient

_LOOKS_EVERY_S = 0.1


class Interruptions:
    """Interrupts one mission while the body runs."""

    def __init__(
        self,
        client: MissionClient,
        sandbox: SandboxClient,
        script: MissionScript,
        fired: "Counter[ChaosFault]",
    ) -> None:
        """Take the counter of interruptions that hit something."""
        self._client = client
        self._sandbox = sandbox
        self._script = script
        self._fired = fired
        self._closed = asyncio.Event()

    async def __aenter__(self) -> "Interruptions":
        """Begin to wait for the moments."""
        late = [one for one in self._script.interruptions if one.part == "rollback"]
        others = [one for one in self._script.interruptions if one.part != "rollback"]
        self._rollback = [asyncio.create_task(self._end_rollback(one)) for one in late]
        self._others = [asyncio.create_task(self._interrupt(one)) for one in others]
        return self

    async def __aexit__(self, *_: object) -> None:
        """A moment that has not come by now never comes."""
        await end_tasks([*self._rollback, *self._others])

    async def on_rollback(self) -> None:
        """The mission is closed: wait for the interruptions on its rollback, if it has one."""
        self._closed.set()
        await asyncio.gather(*self._rollback)

    async def _interrupt(self, interruption: Interruption) -> None:
        await self._await_moment(interruption)
        if interruption.kind == "cancel":
            await self._once(ChaosFault.CANCEL, self._client.get(self._script.mission_id).cancel)
        elif interruption.part == "mission":
            await self._terminate(self._script.mission_id)
        else:
            for leg_id in await retry_transient(self._running_legs):
                await self._terminate(leg_id)

    async def _await_moment(self, interruption: Interruption) -> None:
        if interruption.moment.request is None:
            await asyncio.sleep(interruption.moment.after_s)
            return
        while not await self._is_held(interruption.moment.request):  # noqa: ASYNC110  # polled
            await asyncio.sleep(_LOOKS_EVERY_S)

    async def _is_held(self, request: int) -> bool:
        """Whether the n-th request is on its way: the rule that holds it has struck."""
        prefix = f"{self._script.mission_id}."
        rules = (await self._sandbox.faults(prefix))["rules"]
        return any(
            rule["kind"] == "latency" and rule["after"] == request - 1 and rule["fired"]
            for rule in rules
        )

    async def _end_rollback(self, interruption: Interruption) -> None:
        """Terminate the rollback, so long after it was first seen."""
        rollback_id = names.rollback_workflow_id(self._script.mission_id)
        is_running = self._client.connection.is_running
        while not await retry_transient(lambda: is_running(rollback_id, missing=False)):
            if self._closed.is_set():
                return
            await asyncio.sleep(_LOOKS_EVERY_S)
        await asyncio.sleep(interruption.moment.after_s)
        await self._terminate(rollback_id)

    async def _running_legs(self) -> list[str]:
        handle = self._client.temporal.get_workflow_handle(self._script.mission_id)
        described = (await handle.describe()).raw_description
        return [
            child.workflow_id
            for child in described.pending_children
            if child.workflow_type_name == names.LEG_WORKFLOW
        ]

    async def _terminate(self, workflow_id: str) -> None:
        handle = self._client.temporal.get_workflow_handle(workflow_id)
        await self._once(ChaosFault.TERMINATE, lambda: handle.terminate("a chaos run"))

    async def _once(self, fault: ChaosFault, strike: Callable[[], Awaitable[None]]) -> None:
        """Strike, and count it when there was still something to hit."""
        try:
            await retry_transient(strike)
        except UsageError:
            return
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return
        self._fired[fault] += 1
