"""The demo trip on this product, on Temporal alone, on DBOS and on LangGraph, in one run.

Five HTTP calls, three approvals, two branches side by side, and a rollback when one is refused: on
one machine, before one sandbox, in turn. `make missions` makes the environment of the peers.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console

from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import Settings
from orchestrator.testing.postgres import PostgresServer
from tests.benchmarks.figure import Figure, NothingToMeasure
from tests.benchmarks.missions import guarded_trip, own_trip
from tests.benchmarks.missions.author_lines import author_lines
from tests.benchmarks.missions.competitors import (
    PEERS,
    Bare,
    Competitor,
    Embedded,
    Guarded,
    Ours,
    Program,
    Written,
    own_python,
)
from tests.benchmarks.missions.crashes import Crash, crash_everywhere
from tests.benchmarks.missions.killing_proxy import KillingProxy
from tests.benchmarks.missions.race import Times, race

_PYTHON: Final = "MISSIONS_PYTHON"
_OWN: Final = Path("build/missions-venv/bin/python")
_SPECS: Final = Path(__file__).parents[2] / "specs"
_ROUNDS, _AT_ONCE, _TIMES = 20, 50, 3
_PEERS: Final = ("temporal", "dbos", "langgraph")


@dataclass
class _ProxiedStack(Stack):
    """Tools are called through the killing proxy."""

    tool_port: int = 0

    @property
    def settings(self) -> Settings:
        port = str(self.tool_port or self.ports.sandbox)
        found = super().settings
        return found.model_copy(
            update={
                "server_variables": {
                    name: {"host": "127.0.0.1", "port": port} for name in found.server_variables
                },
                "only_hosts": (f"127.0.0.1:{port}",),
            }
        )


def run(*, part: str = "all") -> list[Figure]:
    """Times, CPU, history, lines of code, and what kills leave.

    Args:
        part: all of it, or only the `times`.

    Raises:
        NothingToMeasure: the peers are not installed.
    """
    python = Path(os.environ.get(_PYTHON, _OWN)).absolute()
    if not python.exists():
        raise NothingToMeasure("DBOS and LangGraph are not installed; run: make missions")
    tell = Console(stderr=True).print
    with TemporaryDirectory() as folder, PostgresServer() as postgres:
        figures = asyncio.run(_raced(Path(folder, "race"), str(python), postgres, tell))
        if part == "all":
            figures += asyncio.run(_killed(Path(folder, "kills"), str(python), postgres, tell))
    return [*figures, *_lines()]


class _Track:
    """All systems on one stack, with their programs started."""

    def __init__(
        self, stack: Stack, python: str, postgres: PostgresServer, calls_port: int
    ) -> None:
        self._stack, self._folder = stack, stack.folder
        self._postmaster = _postmaster(postgres)
        where = {"SANDBOX_URL": f"http://127.0.0.1:{calls_port}", "PEERS_KEYED": "1"}
        self._programs = [
            Program("temporal", own_python(), [stack.address], self._folder, **where),
            Program(
                "guarded",
                own_python(),
                [stack.address],
                self._folder,
                **stack.credentials,
                **stack.environment,
            ),
            *(
                Program(name, python, [postgres.create_database()], self._folder, **where)
                for name in _PEERS[1:]
            ),
        ]

    async def __aenter__(self) -> Sequence[Competitor]:
        for program in self._programs:
            await program.start()
        client = await self._stack.client()
        bare, guarded, *others = self._programs
        return [
            Ours(self._stack, client),
            Written(self._stack, client),
            Bare(self._stack, client.temporal, bare),
            Guarded(self._stack, client, guarded),
            *(Embedded(program, self._postmaster) for program in others),
        ]

    async def __aexit__(self, *_: object) -> None:
        for program in self._programs:
            await program.kill()


def _postmaster(postgres: PostgresServer) -> int:
    """Its process, from the file in its folder."""
    ((folder,),) = postgres.execute("SHOW data_directory")
    return int(Path(folder, "postmaster.pid").read_text().split()[0])


async def _raced(
    folder: Path, python: str, postgres: PostgresServer, tell: Callable[[str], None]
) -> list[Figure]:
    stack = Stack(folder=folder, specs=(_SPECS,), ports=Ports.free())
    async with stack, _Track(stack, python, postgres, stack.ports.sandbox) as systems:
        times = await race(systems, rounds=_ROUNDS, at_once=_AT_ONCE, times=_TIMES, tell=tell)
        recorded = await _recorded(await stack.client())
    return [*_times(times), *recorded]


async def _killed(
    folder: Path, python: str, postgres: PostgresServer, tell: Callable[[str], None]
) -> list[Figure]:
    port = Ports.free().sandbox
    stack = _ProxiedStack(folder=folder, specs=(_SPECS,), ports=Ports.free(), tool_port=port)
    async with (
        stack,
        SandboxClient(stack.sandbox_url, timeout_s=30) as sandbox,
        KillingProxy(stack.sandbox_url, port) as proxy,
        _Track(stack, python, postgres, port) as systems,
    ):
        # The witness knows the calls of a saga by its id: `chaos run --workflow` kills its worker.
        killed = [one for one in systems if not isinstance(one, Guarded)]
        found = await crash_everywhere(killed, sandbox, proxy, tell)
    return _crashes(found)


async def _recorded(client: MissionClient) -> list[Figure]:
    """What history has of one whole trip."""
    figures = []
    for name in ("ours", "written", "guarded"):
        listed = client.temporal.list_workflows("ExecutionStatus = 'Completed'")
        found = await anext(one async for one in listed if f"-{name}-" in one.id)
        events = (await client.temporal.get_workflow_handle(found.id).fetch_history()).events
        tasks = [e for e in events if e.HasField("workflow_task_completed_event_attributes")]
        size = sum(event.ByteSize() for event in events)
        figures += [
            Figure(name=f"{name}, events of a trip", value=len(events), unit="events"),
            Figure(name=f"{name}, workflow tasks of a trip", value=len(tasks), unit="tasks"),
            Figure(name=f"{name}, history of a trip", value=size / 1000, unit="kB"),
        ]
    return figures


def _times(found: dict[str, Times]) -> list[Figure]:
    return [
        Figure(name=name, value=value, unit=unit, row=(system,))
        for system, times in found.items()
        for name, (value, unit) in times.medians().items()
    ]


def _crashes(found: Sequence[Crash]) -> list[Figure]:
    by_system: dict[str, list[Crash]] = defaultdict(list)
    for crash in found:
        by_system[crash.system].append(crash)
    figures = []
    for system, crashes in by_system.items():
        ended = sum(c.status in ("succeeded", "rolled_back") for c in crashes)
        seconds = sorted(c.seconds for c in crashes)
        row = (f"{system}, killed {len(crashes)} times",)
        figures += [
            Figure(name="ended", value=ended, unit="missions", row=row),
            Figure(name="left", value=sum(c.left for c in crashes), unit="effects", row=row),
            Figure(name="twice", value=sum(c.duplicates for c in crashes), unit="effects", row=row),
            Figure(name="median", value=seconds[len(seconds) // 2], unit="s", row=row),
            Figure(name="longest", value=seconds[-1], unit="s", row=row),
        ]
    return figures


def _lines() -> list[Figure]:
    """What an author writes: for the peers with the calls of the providers, which ours reads."""
    calls = author_lines(PEERS / "provider_calls.py")
    peers = {name: author_lines(PEERS / f"on_{name}.py") + calls for name in _PEERS}
    own = {"ours": own_trip, "guarded": guarded_trip}
    written = {name: author_lines(Path(str(one.__file__))) for name, one in own.items()} | peers
    return [
        Figure(name=f"{system}, lines of code", value=lines, unit="lines")
        for system, lines in written.items()
    ]
