"""The exhaustive mode: one mission for each point at which it can be struck."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.adapters.storage.files import replace_file
from orchestrator.chaos.chaos_run import Reproduce, RunJudge, RunOptions, Seen
from orchestrator.chaos.conductor import Conductor, OnEnd
from orchestrator.chaos.crew import VaultChanges, start_again
from orchestrator.chaos.histories import kill_points, runs_of
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import MissionScript
from orchestrator.chaos.scenarios.points import (
    KILL_POINTS,
    KillPoint,
    Point,
    SeenRequest,
    Shape,
    fault_points,
    rolled_back_shape,
)
from orchestrator.chaos.user_code import UserWorkflow
from orchestrator.chaos.user_workflows import missions_of
from orchestrator.chaos.verdicts.invariants import Account
from orchestrator.chaos.verdicts.report import ChaosReport
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.runtime.devserver import Stack, ourselves
from orchestrator.sandbox import SandboxClient

_AGAIN = "-again"
_EVENTS_OF_A_RUN = 30
"""Fewer events than a mission of two calls has, so that it continues as new."""
OnCount = Callable[[int], None]


class EveryPoint:
    """Strikes missions of one goal at every point, on a started stack.

    A pilot mission of each shape finds the points. Missions with faults at providers run
    concurrently. A mission whose worker dies runs alone on a lane, a task queue with its own
    worker, so that one death concerns one mission.
    """

    def __init__(
        self,
        stack: Stack,
        options: RunOptions,
        goal: str,
        *,
        on_count: OnCount,
        on_end: OnEnd,
        workflow: UserWorkflow | None = None,
    ) -> None:
        """Create a run; `on_count` gets the number of points, `on_end` each settled mission.

        With a `workflow`, its runs take the place of missions.
        """
        self._workflow = workflow
        self._pilots: list[MissionScript] = []
        self._stack = stack
        self._options = options
        self._goal = goal
        self._on_count = on_count
        self._on_end = on_end

    async def run(self, reproduce: Reproduce, *, only: int | None = None) -> ChaosReport:
        """Run one mission per point, or that of point `only`, and return the verdict."""
        case = RunJudge(self._stack, self._options, reproduce)
        self._stack.suggest_after = _EVENTS_OF_A_RUN
        await self._stack.kill("temporal")
        await start_again(self._stack)
        self._client = await self._stack.client()
        async with SandboxClient(self._stack.sandbox_url, timeout_s=60.0) as self._sandbox:
            self._missions = missions_of(
                self._client, self._sandbox, self._workflow, self._stack, self._options.written
            )
            points = await self._find_points()
            if only is not None and only >= len(points):
                raise UsageError(f"there is no point {only}: they are 0 to {len(points) - 1}")
            chosen = range(len(points)) if only is None else [only]
            self._on_count(len(chosen))
            scripts = [points[n].script(f"point-{n}", n) for n in chosen]
            kills = {s.mission_id: kill for s in scripts if (kill := points[s.index].kill)}
            seconds = [_again(s) for s in scripts if s.mission_id in kills]
            await self._sandbox.set_faults([r for s in (*scripts, *seconds) for r in s.rules])
            async with self._missions.approver((*scripts, *seconds)) as approver:
                accounts = await self._play(scripts, kills)
            named = [t.model_copy(update={"goal": points[t.index].name}) for t in accounts]
            return await case.verdict(
                self._sandbox,
                scripts,
                named,
                fired=Counter({ChaosFault.KILL_WORKER: len(list(self._struck("").glob("*")))}),
                planned=Counter({ChaosFault.KILL_WORKER: len(kills)}),
                seen=Seen(
                    tuple(approver.approved),
                    VaultChanges(self._stack).values,
                    frozenset(
                        [
                            mission_id
                            for script in (*self._pilots, *scripts, *seconds)
                            for mission_id in await self._missions.ids(script)
                        ]
                    ),
                ),
            )

    # -- the points ------------------------------------------------------------------------------

    async def _find_points(self) -> list[Point]:
        """Return the points of a mission that succeeds and of one that loses its last booking."""
        points = await self._points_of(Shape(name="succeeds", goal=self._goal), "pilot-1")
        (pilot,) = self._pilots
        made = [
            str(effect["operation"])
            for mission_id in await self._missions.ids(pilot)
            for effect in await self._sandbox.ledger(mission_id)
            if effect["kind"] == "create"
        ]
        if len(made) > 1:
            points += await self._points_of(rolled_back_shape(self._goal, made[-1]), "pilot-2")
        return points

    async def _points_of(self, shape: Shape, mission_id: str) -> list[Point]:
        script = shape.script(mission_id, 0)
        self._pilots.append(script)
        await self._sandbox.set_faults(script.rules)
        async with self._missions.approver([script]):
            accounts = await self._missions.run_pilot(script)
        if not any(account.status == shape.ends_as for account in accounts):
            if self._workflow is not None:
                return []  # it goes on without its last booking
            raise UsageError(
                f"without faults, a mission that {shape.name} {accounts[0].status}: "
                f"{accounts[0].error}"
            )
        requests = [
            SeenRequest(operation=str(r["operation"]), request_id=str(r["request_id"]))
            for ledger_id in await self._missions.ids(script)
            for r in await self._sandbox.requests(ledger_id)
        ]
        parts = {script.mission_id: ""}
        for ledger_id in await self._missions.ids(script):
            rollback_id = names.rollback_workflow_id(ledger_id)
            if await self._missions.status(rollback_id) is not None:
                parts[rollback_id] = names.rollback_workflow_id("")
        kills: list[KillPoint] = []
        for workflow_id, part in parts.items():
            for number, history in enumerate(await runs_of(self._client.temporal, workflow_id)):
                kills += kill_points(history, part, run=number)
        found = fault_points(shape, requests)
        return [*found, *(Point(shape=shape, kill=kill) for kill in kills)]

    # -- the missions -----------------------------------------------------------------------------

    async def _play(
        self, scripts: Sequence[MissionScript], kills: dict[str, KillPoint]
    ) -> list[Account]:
        lanes = await self._start_lanes(kills)
        side_by_side = [s for s in scripts if s.mission_id not in kills]
        alone = iter([s for s in scripts if s.mission_id in kills])

        async def drive(client: MissionClient) -> list[Account]:
            conductor = self._conductor(client, on_end=lambda _: None)
            accounts = []
            for script in alone:
                accounts += await conductor.play(script)
                if not self._struck(script.mission_id).exists():
                    accounts += await conductor.play(_again(script))
                self._on_end(accounts[-1])
            return accounts

        async with asyncio.TaskGroup() as playing:
            shared = self._conductor(self._client, on_end=self._on_end)
            tasks = [
                playing.create_task(shared.play_all(side_by_side, at_once=self._options.at_once)),
                *(playing.create_task(drive(client)) for client in lanes),
            ]
        return [account for task in tasks for account in task.result()]

    async def _start_lanes(self, kills: dict[str, KillPoint]) -> list[MissionClient]:
        """Start the lanes and return a client of each; none without kills."""
        if not kills:
            return []
        # Each lane is a process; while one waits for a dead worker's timeout, others use the cores.
        queues = [f"lane-{n}" for n in range(min(self._options.at_once, 16, len(kills)))]
        points = self._stack.folder / "lanes.json"
        both = kills | {mission_id + _AGAIN: kill for mission_id, kill in kills.items()}
        replace_file(points, KILL_POINTS.dump_json(both))
        program = ourselves("orchestrator.chaos.killable_workers")
        command = list(program if self._workflow is None else self._workflow.worker_command)
        command += [f"--points={points}"]
        command += [f"--task-queue={queue}" for queue in queues]
        alone = {"ORCHESTRATOR_SWEEP_INTERVAL": "PT0S"}
        await self._stack.start_worker("lanes", command=command, variables=alone)
        settings = self._stack.settings
        return [
            MissionClient(self._client.temporal, settings.model_copy(update={"task_queue": queue}))
            for queue in queues
        ]

    def _struck(self, mission_id: str) -> Path:
        """Return the file that exists once a mission's worker died; for "" the folder of all."""
        return self._stack.folder / "lanes.struck" / mission_id

    def _conductor(self, client: MissionClient, *, on_end: OnEnd) -> Conductor:
        settle_within_s = self._options.settle_within_s
        missions = self._missions.on(client)
        return Conductor(missions, settle_within_s=settle_within_s, on_end=on_end)


def _again(script: MissionScript) -> MissionScript:
    """Return the same mission again, for one that did not reach its point."""
    mission_id = script.mission_id + _AGAIN
    theirs = {"request_prefix": f"{mission_id}."}
    rules = tuple(rule.model_copy(update=theirs) for rule in script.rules)
    return script.model_copy(update={"mission_id": mission_id, "rules": rules})
