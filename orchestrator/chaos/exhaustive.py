"""The exhaustive mode: one run for each point of one kind of mission, all of them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.adapters.storage.files import replace_file
from orchestrator.chaos.approver import Approver
from orchestrator.chaos.chaos_run import Reproduce, RunJudge, RunOptions, Seen
from orchestrator.chaos.conductor import Conductor, OnEnd
from orchestrator.chaos.histories import kill_points
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
from orchestrator.chaos.vault_changes import VaultChanges
from orchestrator.chaos.verdicts.evidence import Account
from orchestrator.chaos.verdicts.report import ChaosReport
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import UsageError
from orchestrator.messages import names
from orchestrator.runtime.devserver import Stack, ourselves
from orchestrator.sandbox import SandboxClient

_LANES = "lanes"
_AGAIN = "-again"
_PILOTS = ("pilot-1", "pilot-2")
_MOST_LANES = 16
"""Each is a process; while one waits for the server to miss a dead worker, others use the cores."""
_ALONE = {"ORCHESTRATOR_SWEEP_INTERVAL": "PT0S"}

OnCount = Callable[[int], None]


class EveryPoint:
    """Hits missions of one goal at every point, on a started stack.

    A pilot mission of each shape shows which points there are. Faults at providers are of one
    mission each, so those missions run side by side. A mission whose worker is to die runs alone on
    a lane: a task queue with a worker of its own, so that one death meets one mission.
    """

    def __init__(
        self, stack: Stack, options: RunOptions, goal: str, *, on_count: OnCount, on_end: OnEnd
    ) -> None:
        """Take whom to tell how many points there are, and of each that is done."""
        self._stack = stack
        self._options = options
        self._goal = goal
        self._on_count = on_count
        self._on_end = on_end

    async def run(self, reproduce: Reproduce, *, only: int | None = None) -> ChaosReport:
        """The verdict on one mission per point, or on the one of point `only`."""
        case = RunJudge(self._stack, self._options, reproduce)
        self._client = await self._stack.client()
        async with SandboxClient(self._stack.sandbox_url, timeout_s=60.0) as self._sandbox:
            points = await self._find_points()
            if only is not None and only >= len(points):
                raise UsageError(f"there is no point {only}: they are 0 to {len(points) - 1}")
            chosen = range(len(points)) if only is None else [only]
            self._on_count(len(chosen))
            scripts = [points[n].script(f"point-{n}", n) for n in chosen]
            kills = {s.mission_id: kill for s in scripts if (kill := points[s.index].kill)}
            seconds = [_again(s) for s in scripts if s.mission_id in kills]
            await self._sandbox.set_faults([r for s in (*scripts, *seconds) for r in s.rules])
            async with Approver(self._client, (*scripts, *seconds)) as approver:
                told = await self._play(scripts, kills)
            named = [t.model_copy(update={"goal": points[t.index].name}) for t in told]
            return await case.verdict(
                self._sandbox,
                scripts,
                named,
                fired=Counter({ChaosFault.KILL_WORKER: len(list(self._struck("").glob("*")))}),
                planned=Counter({ChaosFault.KILL_WORKER: len(kills)}),
                seen=Seen(
                    tuple(approver.approved),
                    VaultChanges(self._stack).values,
                    frozenset({*_PILOTS, *(s.mission_id for s in (*scripts, *seconds))}),
                ),
            )

    # -- which points there are -------------------------------------------------------------------

    async def _find_points(self) -> list[Point]:
        """Those of a mission that succeeds, and of one that loses its last booking."""
        succeeds = Shape(name="succeeds", goal=self._goal)
        shapes = [succeeds]
        points = await self._points_of(succeeds, _PILOTS[0])
        made = [e for e in await self._sandbox.ledger(_PILOTS[0]) if e["kind"] == "create"]
        if len(made) > 1:
            shapes.append(rolled_back_shape(self._goal, str(made[-1]["operation"])))
            points += await self._points_of(shapes[-1], _PILOTS[1])
        return points

    async def _points_of(self, shape: Shape, mission_id: str) -> list[Point]:
        script = shape.script(mission_id, 0)
        await self._sandbox.set_faults(script.rules)
        async with Approver(self._client, [script]):
            told = await self._conductor(self._client, on_end=lambda _: None).play(script)
        if told.status != shape.ends_as:
            raise UsageError(
                f"without faults, a mission that {shape.name} {told.status}: {told.error}"
            )
        requests = [
            SeenRequest(operation=str(r["operation"]), request_id=str(r["request_id"]))
            for r in await self._sandbox.requests(mission_id)
        ]
        kills = [Point(shape=shape, kill=kill) for kill in await self._kills(mission_id)]
        return [*fault_points(shape, requests), *kills]

    async def _kills(self, mission_id: str) -> list[KillPoint]:
        result = await self._client.get(mission_id).snapshot()
        parts = ["", *(f".{leg.leg_id}" for leg in result.legs)]
        if result.ledger.compensated():
            parts.append(names.rollback_workflow_id(""))
        found = []
        for part in parts:
            handle = self._client.temporal.get_workflow_handle(mission_id + part)
            found += kill_points(await handle.fetch_history(), part)
        return found

    # -- hitting them -----------------------------------------------------------------------------

    async def _play(
        self, scripts: Sequence[MissionScript], kills: dict[str, KillPoint]
    ) -> list[Account]:
        lanes = await self._start_lanes(kills)
        side_by_side = [s for s in scripts if s.mission_id not in kills]
        alone = iter([s for s in scripts if s.mission_id in kills])

        async def drive(client: MissionClient) -> list[Account]:
            conductor = self._conductor(client, on_end=lambda _: None)
            told = []
            for script in alone:
                told.append(await conductor.play(script))
                if not self._struck(script.mission_id).exists():
                    told.append(await conductor.play(_again(script)))
                self._on_end(told[-1])
            return told

        async with asyncio.TaskGroup() as playing:
            shared = self._conductor(self._client, on_end=self._on_end)
            tasks = [
                playing.create_task(shared.play_all(side_by_side, at_once=self._options.at_once)),
                *(playing.create_task(drive(client)) for client in lanes),
            ]
        return [told for task in tasks for told in task.result()]

    async def _start_lanes(self, kills: dict[str, KillPoint]) -> list[MissionClient]:
        """A client of each lane; none when nobody is to die."""
        if not kills:
            return []
        queues = [f"lane-{n}" for n in range(min(self._options.at_once, _MOST_LANES, len(kills)))]
        points = self._stack.folder / f"{_LANES}.json"
        both = kills | {mission_id + _AGAIN: kill for mission_id, kill in kills.items()}
        replace_file(points, KILL_POINTS.dump_json(both))
        command = [*ourselves("orchestrator.chaos.killable_workers"), f"--points={points}"]
        command += [f"--task-queue={queue}" for queue in queues]
        await self._stack.start_worker(_LANES, command=command, variables=_ALONE)
        settings = self._stack.settings
        return [
            MissionClient(self._client.temporal, settings.model_copy(update={"task_queue": queue}))
            for queue in queues
        ]

    def _struck(self, mission_id: str) -> Path:
        """The note that a worker died at the point of a mission; the folder of all for ""."""
        return self._stack.folder / f"{_LANES}.struck" / mission_id

    def _conductor(self, client: MissionClient, *, on_end: OnEnd) -> Conductor:
        settle_within_s = self._options.settle_within_s
        return Conductor(client, self._sandbox, settle_within_s=settle_within_s, on_end=on_end)


def _again(script: MissionScript) -> MissionScript:
    """The same mission once more, for one that took another way and never came to its point."""
    mission_id = script.mission_id + _AGAIN
    theirs = {"request_prefix": f"{mission_id}."}
    rules = tuple(rule.model_copy(update=theirs) for rule in script.rules)
    return script.model_copy(update={"mission_id": mission_id, "rules": rules})
