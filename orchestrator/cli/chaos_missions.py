"""`orchestrator chaos run`: missions of our own documents, under planned trouble."""

import asyncio
import shlex
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rich.progress import Progress

from orchestrator.adapters.storage.vault_key import new_key
from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.chaos_run import WORKER_VARIABLES, RunOptions, run_scripts
from orchestrator.chaos.exhaustive import EveryPoint
from orchestrator.chaos.goals import GOALS
from orchestrator.chaos.model_faults import ModelledRun, modelled_run
from orchestrator.chaos.scenarios.chaos_faults import format_faults
from orchestrator.chaos.scenarios.plan import write_script
from orchestrator.chaos.verdicts.report import ChaosReport
from orchestrator.cli.bar import counting_bar
from orchestrator.cli.output import progress
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs

_NO_MORE: Mapping[str, str] = MappingProxyType({})
Play = Callable[[Stack, Progress], Awaitable[ChaosReport]]


def seeded(
    options: RunOptions,
    goals: Sequence[str] | None,
    indexes: Sequence[int],
    modelled: ModelledRun | None = None,
) -> Play:
    """Missions to which everything happens that follows from the seed and their index."""
    about = "".join(f" --goal {shlex.quote(text)}" for text in goals or ())
    about += modelled.options if modelled else ""
    about += _installed(options)
    scripts = [
        write_script(options.seed, index, options.faults, tuple(goals or GOALS))
        for index in indexes
    ]

    async def play(stack: Stack, bar: Progress) -> ChaosReport:
        faults = format_faults(options.faults)
        progress.print(f"seed {options.seed}, faults {faults}")
        task = bar.add_task("missions", total=len(scripts))
        return await run_scripts(
            stack,
            options,
            scripts,
            lambda index: (
                f"orchestrator chaos run --seed {options.seed} --only {index} "
                f"--faults {faults}{about}"
            ),
            on_end=lambda _: bar.advance(task),
            modelled=modelled,
        )

    return play


def every_point(
    options: RunOptions,
    goals: Sequence[str] | None,
    only: int | None,
    modelled: ModelledRun | None = None,
) -> Play:
    """Missions of the first goal, hit at one point each."""
    about = "".join(f" --goal {shlex.quote(text)}" for text in goals or ())
    about += modelled.options if modelled else ""
    about += _installed(options)

    async def play(stack: Stack, bar: Progress) -> ChaosReport:
        task = bar.add_task("points", total=None)
        every = EveryPoint(
            stack,
            options,
            (goals or GOALS)[0],
            on_count=lambda count: bar.update(task, total=count),
            on_end=lambda _: bar.advance(task),
        )
        return await every.run(
            lambda index: f"orchestrator chaos run --every-point --only {index}{about}", only=only
        )

    return play


def _installed(options: RunOptions) -> str:
    """On what it ran, as options of the command."""
    store = " --store postgresql" if options.postgres else ""
    is_usual = options.workers == RunOptions.workers
    return store if is_usual else f"{store} --workers {options.workers}"


async def planned_by_a_model(
    options: RunOptions,
    keep: Path | None,
    model: str | None,
    play_of: Callable[[ModelledRun], Play],
) -> ChaosReport:
    """As `on_a_stack`, with a scripted model that the workers ask over a real wire."""
    catalog = await asyncio.to_thread(Catalog.load, bundled_specs())
    async with modelled_run(options.seed, options.faults, catalog, model) as modelled:
        return await on_a_stack(options, keep, play_of(modelled), modelled.variables)


async def on_a_stack(
    options: RunOptions, keep: Path | None, play: Play, variables: Mapping[str, str] = _NO_MORE
) -> ChaosReport:
    """Run missions on an installation of their own, whose logs stay when an invariant broke.

    `variables` are more of the workers' environment.
    """
    this_run = asyncio.current_task()
    assert this_run is not None
    # Asked to stop, it stops its processes first, as after Ctrl-C.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this_run.cancel)
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{options.seed}-", dir=_parent(keep)))
    of_workers = {**WORKER_VARIABLES, **variables}
    if options.postgres is not None:
        await asyncio.to_thread(options.postgres.start)
        of_workers["ORCHESTRATOR_STORE"] = options.postgres.create_database()
        of_workers["ORCHESTRATOR_PII_KEY"] = new_key()
    stack = Stack(folder, (bundled_specs(),), Ports.free(), variables=of_workers)
    try:
        with progress.status("starting Temporal, the sandbox and a worker"):
            await stack.__aenter__()
        progress.print(f"logs {folder}, Temporal UI while this runs: {stack.ui_url}")
        with counting_bar() as bar:
            report = await play(stack, bar)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await stack.stop()
        if options.postgres is not None:
            await asyncio.to_thread(options.postgres.close)
    if report.ok and keep is None:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return report.model_copy(update={"logs": ""})
    return report


def _parent(keep: Path | None) -> Path | None:
    """Each run in a folder of its own: missions of an earlier one must not be met again."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    return keep
