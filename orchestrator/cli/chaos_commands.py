"""`orchestrator chaos`: missions under planned trouble, and the verdict."""

import asyncio
import secrets
import shlex
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from orchestrator.chaos.chaos_faults import ChaosFault, format_faults, parse_faults
from orchestrator.chaos.chaos_run import WORKER_VARIABLES, ChaosRun, RunOptions
from orchestrator.chaos.exhaustive import EveryPoint
from orchestrator.chaos.goals import GOALS
from orchestrator.chaos.plan import MissionScript, write_script
from orchestrator.chaos.report import ChaosReport
from orchestrator.cli import chaos_pairs, render_chaos
from orchestrator.cli.bar import counting_bar
from orchestrator.cli.options import Overlays, Specs
from orchestrator.cli.output import AsJson, present, progress, run
from orchestrator.core.errors import UsageError
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs

app = typer.Typer(add_completion=False, no_args_is_help=True)

Play = Callable[[Stack, Progress], Awaitable[ChaosReport]]


Seed = Annotated[int | None, typer.Option(help="Makes all that happens; random unless given.")]
Missions = Annotated[int, typer.Option(min=1, help="How many.")]
Faults = Annotated[str, typer.Option(help=f"all, none, or some of: {', '.join(ChaosFault)}.")]
EachPoint = Annotated[
    bool,
    typer.Option(
        "--every-point", help="One mission per request and fault, and per event and killed worker."
    ),
]
Goals = Annotated[
    list[str] | None, typer.Option(help="What missions are about, in place of our own goals.")
]
Only = Annotated[int | None, typer.Option(min=0, help="Run this one mission of the run, alone.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Missions that run side by side.")]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes.")]
Keep = Annotated[Path | None, typer.Option(help="Keep server, ledgers and logs in this folder.")]


@app.callback()
def chaos() -> None:
    """Rollback tests: missions on a real server with real workers, under planned trouble."""


@app.command("run")
def run_chaos(
    seed: Seed = None,
    missions: Missions = 50,
    faults: Faults = "all",
    every_point: EachPoint = False,
    goal: Goals = None,
    only: Only = None,
    at_once: AtOnce = 32,
    workers: Workers = 3,
    keep: Keep = None,
    specs: Specs = None,
    overlays: Overlays = None,
    as_json: AsJson = False,
) -> None:
    """Run missions, make trouble, and hold what the providers hold against each mission's ledger.

    Exit 1 when an invariant broke. Logs are kept then, and where --keep says.

    With --specs the documents are yours: each tool that leaves something behind is called, its
    answer spoilt in every way, and undone; exit 1 when one could not be.

    Example: orchestrator chaos run --seed 7 --missions 100 --faults 5xx,drop-after,kill-worker

    Example: orchestrator chaos run --specs crm.yaml --overlay crm-tools.yaml
    """
    chosen = parse_faults(faults)
    seed = secrets.randbelow(10**6) if seed is None else seed
    if specs:
        pairs = run(chaos_pairs.try_pairs(specs, overlays or (), seed=seed, keep=keep))
        return present(pairs, render_chaos.pairs, as_json=as_json, ok=pairs.ok)
    if overlays:
        raise UsageError("--overlay goes with --specs, the documents that it changes")
    options = RunOptions(seed=seed, faults=chosen, at_once=at_once, workers=workers)
    goals = tuple(goal or GOALS)
    about = "".join(f" --goal {shlex.quote(text)}" for text in goal or ())
    if every_point:
        play = _every_point(options, goals[0], about, only)
    else:
        indexes = range(missions) if only is None else [only]
        scripts = [write_script(seed, index, chosen, goals) for index in indexes]
        play = _seeded(options, scripts, about)
    report = run(_on_a_stack(options, keep, play))
    present(report, render_chaos.report, as_json=as_json, ok=report.ok)


def _seeded(options: RunOptions, scripts: Sequence[MissionScript], about: str) -> Play:
    """Missions to which everything happens that follows from the seed."""

    async def play(stack: Stack, bar: Progress) -> ChaosReport:
        progress.print(f"seed {options.seed}, faults {format_faults(options.faults)}")
        task = bar.add_task("missions", total=len(scripts))
        chaos_run = ChaosRun(stack, options, on_end=lambda _: bar.advance(task))
        return await chaos_run.run(
            scripts,
            lambda index: (
                f"orchestrator chaos run --seed {options.seed} --only {index} "
                f"--faults {format_faults(options.faults)}{about}"
            ),
        )

    return play


def _every_point(options: RunOptions, goal: str, about: str, only: int | None) -> Play:
    """Missions of one goal, hit at one point each."""

    async def play(stack: Stack, bar: Progress) -> ChaosReport:
        task = bar.add_task("points", total=None)
        every = EveryPoint(
            stack,
            options,
            goal,
            on_count=lambda count: bar.update(task, total=count),
            on_end=lambda _: bar.advance(task),
        )
        return await every.run(
            lambda index: f"orchestrator chaos run --every-point --only {index}{about}", only=only
        )

    return play


async def _on_a_stack(options: RunOptions, keep: Path | None, play: Play) -> ChaosReport:
    this_run = asyncio.current_task()
    assert this_run is not None
    # Asked to stop, it stops its processes first, as after Ctrl-C.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this_run.cancel)
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{options.seed}-", dir=_parent(keep)))
    stack = Stack(folder, (bundled_specs(),), Ports.free(), variables=WORKER_VARIABLES)
    with progress.status("starting Temporal, the sandbox and a worker"):
        await stack.__aenter__()
    try:
        progress.print(f"logs {folder}, Temporal UI while this runs: {stack.ui_url}")
        with counting_bar() as bar:
            report = await play(stack, bar)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await stack.stop()
    if report.ok and keep is None:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return report.model_copy(update={"logs": ""})
    return report


def _parent(keep: Path | None) -> Path | None:
    """Each run in a folder of its own: missions of an earlier one must not be met again."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    return keep
