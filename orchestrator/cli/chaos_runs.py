"""Runs of `orchestrator chaos run`: missions under faults, and cancel pairs of any documents."""

import asyncio
import json
import logging
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from pydantic import JsonValue
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from orchestrator.adapters.storage.files import private_file, private_folder
from orchestrator.adapters.storage.sql_vault import new_key
from orchestrator.catalog.catalog import Catalog, load_documents, load_sources
from orchestrator.chaos.chaos_run import (
    WORKER_VARIABLES,
    ModelledRun,
    RunOptions,
    modelled_run,
    run_scripts,
)
from orchestrator.chaos.conductor import GOALS
from orchestrator.chaos.crew import write_conditional_documents
from orchestrator.chaos.exhaustive import EveryPoint
from orchestrator.chaos.pairs import check_pairs
from orchestrator.chaos.scenarios.chaos_faults import format_faults
from orchestrator.chaos.scenarios.plan import write_script
from orchestrator.chaos.user_code import UserWorkflow, load_workflow
from orchestrator.chaos.user_workflows import POLICY
from orchestrator.chaos.verdicts.report import ChaosReport, Flaw, PairsReport
from orchestrator.cli.options import mcp_listings, note_unmarked
from orchestrator.cli.output import colored, counting_bar, line, progress
from orchestrator.cli.tools_commands import draw_skipped
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import number_of
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.runtime.sandboxed_documents import sandbox_credentials, write_redirected
from orchestrator.sandbox import DocumentError
from orchestrator.settings import bundled_specs


@dataclass(frozen=True)
class UserCase:
    """A user's workflow, in Python or written, with the documents of its tools."""

    workflow: UserWorkflow | MissionRequest
    target: str
    """The workflow as the command names it."""
    input_file: Path | None
    specs: tuple[Path, ...] = ()
    overlays: tuple[Path, ...] = ()
    mcp: tuple[str, ...] = ()

    @property
    def python(self) -> UserWorkflow | None:
        """The workflow in Python; None if it is a written one, whose runs are missions."""
        return self.workflow if isinstance(self.workflow, UserWorkflow) else None

    @property
    def written(self) -> MissionRequest | None:
        """The request of each mission of a written workflow; None for one in Python."""
        return self.workflow if isinstance(self.workflow, MissionRequest) else None

    @property
    def options(self) -> str:
        """The options of the command that name them."""
        given: list[tuple[str, object]] = [("--workflow", self.target)]
        given += [("--input", one) for one in [self.input_file] if one is not None]
        given += [("--activity", one) for one in self.python.activities] if self.python else []
        given += [("--specs", one) for one in self.specs]
        given += [("--overlay", one) for one in self.overlays]
        given += [("--mcp", one) for one in self.mcp]
        return "".join(f" {name} {shlex.quote(str(one))}" for name, one in given)


def user_case(
    target: str | None,
    input_file: Path | None,
    activities: Sequence[str],
    specs: tuple[Path, ...],
    overlays: tuple[Path, ...],
    mcp: tuple[str, ...],
) -> UserCase | None:
    """Load a user's workflow, in Python or written, for a run with the documents of its tools."""
    if target is None:
        return None
    workflow: UserWorkflow | MissionRequest
    if Path(target.partition("#")[0]).suffix not in (".yaml", ".yml", ".json"):
        workflow = load_workflow(target, input_file, activities)
    elif activities:
        raise UsageError("--activity is for a workflow in Python")
    else:
        from orchestrator.cli.mission_requests import workflow_source

        inputs: JsonValue = {}
        if input_file is not None:
            try:
                inputs = json.loads(input_file.read_text())
            except (OSError, ValueError) as error:
                raise UsageError(f"--input {input_file} is no file with JSON: {error}") from error
        if not isinstance(inputs, dict):
            raise UsageError(f"--input {input_file} is no JSON object of the workflow's inputs")
        workflow = MissionRequest(inputs=inputs, workflow=workflow_source(target, []))
    return UserCase(workflow, target, input_file, specs, overlays, mcp)


@dataclass(frozen=True)
class ChosenRun:
    """A run of missions, or of a user's workflow, as the options of the command choose it."""

    options: RunOptions
    case: UserCase | None = None
    goals: Sequence[str] | None = None
    missions: int | None = None
    """How many; None: one for each point."""
    only: int | None = None
    """The index of the one mission that is run alone."""
    modelled: ModelledRun | None = None
    """The model that plans; None: rules do."""

    def command(self, index: int) -> str:
        """Return the command that runs one of its missions again."""
        options = self.options
        chosen = "".join(f" --goal {shlex.quote(text)}" for text in self.goals or ())
        chosen += self.case.options if self.case else ""
        chosen += self.modelled.options if self.modelled else ""
        chosen += " --store postgresql" if options.postgres else ""
        if options.workers != RunOptions.workers:
            chosen += f" --workers {options.workers}"
        if self.missions is None:
            return f"orchestrator chaos run --every-point --only {index}{chosen}"
        faults = format_faults(options.faults)
        return (
            f"orchestrator chaos run --seed {options.seed} --only {index} --faults {faults}{chosen}"
        )

    async def play(self, stack: Stack, bar: Progress) -> ChaosReport:
        """Run the missions on an installation."""
        goals = tuple([self.case.target] if self.case else self.goals or GOALS)
        workflow = None if self.case is None else self.case.python
        if self.missions is None:  # missions of one goal, with one fault each
            task = bar.add_task("points", total=None)
            every = EveryPoint(
                stack,
                self.options,
                goals[0],
                on_count=lambda count: bar.update(task, total=count),
                on_end=lambda _: bar.advance(task),
                workflow=workflow,
            )
            return await every.run(self.command, only=self.only)
        options = self.options
        indexes = range(self.missions) if self.only is None else [self.only]
        scripts = [write_script(options.seed, one, options.faults, goals) for one in indexes]
        progress.print(f"seed {options.seed}, faults {format_faults(options.faults)}")
        task = bar.add_task("missions", total=len(scripts))
        return await run_scripts(
            stack,
            options,
            scripts,
            self.command,
            on_end=lambda _: bar.advance(task),
            modelled=self.modelled,
            workflow=workflow,
        )


async def planned_by_a_model(
    chosen: ChosenRun, keep: Path | None, model: str | None
) -> ChaosReport:
    """Run missions as `on_a_stack` does, with a scripted model that the workers call over HTTP."""
    options = chosen.options
    catalog = await asyncio.to_thread(Catalog.load, bundled_specs())
    async with modelled_run(options.seed, options.faults, catalog, model) as modelled:
        return await on_a_stack(replace(chosen, modelled=modelled), keep)


async def on_a_stack(chosen: ChosenRun, keep: Path | None) -> ChaosReport:
    """Run missions on an installation of their own, whose logs stay when an invariant broke."""
    options, case = chosen.options, chosen.case
    this_run = asyncio.current_task()
    assert this_run is not None
    # Asked to stop, it stops its processes first, as after Ctrl-C.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this_run.cancel)
    if keep is not None:
        await asyncio.to_thread(keep.mkdir, parents=True, exist_ok=True)
    # A folder for each run, which starts without missions of an earlier one.
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{options.seed}-", dir=keep))
    of_workers = {**WORKER_VARIABLES, **(chosen.modelled.variables if chosen.modelled else {})}
    if options.postgres is not None:
        await asyncio.to_thread(options.postgres.start)
        of_workers["ORCHESTRATOR_STORE"] = options.postgres.create_database()
        of_workers["ORCHESTRATOR_PII_KEY"] = new_key()
    stack = Stack(folder, (bundled_specs(),), Ports.free(), variables=of_workers)
    if case is None or not (case.specs or case.mcp):
        written = await asyncio.to_thread(write_conditional_documents, bundled_specs(), folder)
        stack.specs = (written,)
    if case is not None and case.python is not None:
        policy = folder / "policy.json"
        policy.write_text(POLICY.model_dump_json(exclude_unset=True))
        of_workers["ORCHESTRATOR_MISSION_POLICY"] = str(policy.absolute())
        stack.worker_command = case.python.worker_command
    if case is not None and (case.specs or case.mcp):
        # Their servers may be anywhere: the sandbox of the stack serves them.
        listed = await asyncio.to_thread(mcp_listings, case.mcp)
        sources = await asyncio.to_thread(
            load_sources, *case.specs, overlays=case.overlays, mcp=listed
        )
        turned = await asyncio.to_thread(
            write_redirected, sources.documents, folder, port=stack.ports.sandbox
        )
        stack.specs = (turned.folder,)
        stack.credentials = sandbox_credentials(sources.documents)
    try:
        with progress.status("starting Temporal, the sandbox and a worker"):
            await stack.__aenter__()
        progress.print(f"logs {folder}, Temporal UI while this runs: {stack.ui_url}")
        with counting_bar() as bar:
            report = await chosen.play(stack, bar)
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


async def try_pairs(
    specs: Sequence[Path],
    overlays: Sequence[Path],
    mcp: Sequence[str],
    *,
    seed: int,
    keep: Path | None,
) -> PairsReport:
    """Try every cancel pair of these documents, and of the tools that MCP servers list.

    The sandbox takes the place of MCP servers too: their own tools are not called.
    """
    documents = load_documents(*specs, overlays=overlays, mcp=mcp_listings(mcp))
    if note_unmarked(documents, specs):
        raise UsageError("there is nothing to roll back before something is marked")
    found = await try_documents(documents, seed=seed, keep=keep)
    if not found.checks:
        raise UsageError(
            "no tool of these documents leaves anything behind, so there is nothing to roll back; "
            "mark operations with x-orchet-tool and x-orchet-cancels, or add an --overlay that does"
        )
    return found


async def try_documents(
    documents: Mapping[str, JsonObject], *, seed: int, keep: Path | None = None
) -> PairsReport:
    """Try every cancel pair of parsed documents, by name, overlays applied."""
    progress.print(f"seed {seed}")
    with (
        tempfile.TemporaryDirectory(prefix="orchestrator-pairs-") as scratch,
        counting_bar() as bar,
    ):
        folder = private_folder(keep or Path(scratch))
        task = bar.add_task("starting Temporal, the sandbox and a worker", total=None)

        def started(total: int) -> None:
            bar.update(task, description="trials", total=total)

        # Libraries write their log about the planned faults to a file.
        handler = logging.FileHandler(private_file(folder / "worker.log"))
        loggers = [logging.getLogger(name) for name in ("temporalio", "uvicorn", "httpx")]
        for logger in loggers:
            logger.addHandler(handler)
            logger.propagate = False
        try:
            return await check_pairs(
                documents, folder, seed=seed, on_start=started, on_check=lambda _: bar.advance(task)
            )
        except DocumentError as error:
            raise UsageError(str(error)) from error
        finally:
            for logger in loggers:
                logger.removeHandler(handler)
                logger.propagate = True
            handler.close()


_BREACHES_SHOWN = 20


def draw_report(console: Console, found: ChaosReport) -> None:
    """Draw missions by status, effects at providers, faults, and each broken invariant."""
    table = Table(Column("missions"), Column(justify="right"), box=None, pad_edge=False)
    for status, count in found.statuses.items():
        table.add_row(colored(status), str(count))
    for name, count, is_fault in (
        ("effects at the providers", found.effects, False),
        ("that still stand", found.live, False),
        ("orphans", found.orphans, True),
        ("duplicates", found.duplicates, True),
        ("prompts during rollback", found.prompts_during_rollback, True),
        ("phantom receipts", found.phantoms, True),
        ("overcharges unnoticed", found.overcharges_unnoticed, True),
        ("parked for an operator", found.parked, False),
        ("parked without need", found.parked_wrongly, True),
    ):
        style = "bold red" if count else "green"
        table.add_row(name, line((str(count), style)) if is_fault else str(count))
    for name, took in (
        ("rollbacks", found.rollback_s),
        ("missions, with their rollback", found.mission_s),
    ):
        figures = f"p50 {took.p50:.1f} s, p95 {took.p95:.1f} s, max {took.max:.1f} s"
        table.add_row(name, f"{took.count}: {figures}")
    console.print(table)
    table = Table("fault", Column("planned", justify="right"), Column("fired", justify="right"))
    table.box = None
    for name, counts in found.fault_counts.items():
        table.add_row(name, str(counts.planned or ""), str(counts.fired))
    console.print(table)
    for breach in found.breaches[:_BREACHES_SHOWN]:
        console.print(
            line(
                (breach.invariant, "bold red"),
                f" {breach.mission_id} ({breach.goal}): {breach.what}",
            ),
            soft_wrap=True,
        )
    if len(found.breaches) > _BREACHES_SHOWN:
        console.print(f"and {len(found.breaches) - _BREACHES_SHOWN} more")
    if found.reproduce is not None:
        console.print(f"again, the first of them: {found.reproduce}", soft_wrap=True)
    if found.logs:
        console.print(f"logs: {found.logs}", soft_wrap=True)
    verdict = ("every invariant held", "bold green") if found.ok else ("BROKEN", "bold red")
    missions = number_of(found.missions, "mission")
    console.print(line(verdict, f": {missions} in {found.seconds:.1f} s, seed {found.seed}"))


def draw_pairs(console: Console, report: PairsReport) -> None:
    """Draw a line for each pair with its flaws and remedies, and the verdict."""
    for (document, tool), group in groupby(report.checks, key=lambda c: (c.document, c.tool)):
        checks = list(group)
        flawed = [check for check in checks if not check.ok]
        mark = ("NOT CANCELLED", "bold red") if flawed else ("ok", "green")
        if flawed and all(check.only_parks for check in flawed):  # where its answer is lost
            mark = ("PARKS", "yellow")
        cancel = checks[0].cancel or "nothing"
        console.print(line(mark, f" {document}: {tool} is cancelled by {cancel}"), soft_wrap=True)
        flaws: dict[tuple[str, str], tuple[Flaw, list[str]]] = {}
        for check in checks:
            for flaw in check.flaws:
                flaws.setdefault((flaw.why, flaw.remedy), (flaw, []))[1].append(check.case)
        for flaw, cases in flaws.values():
            console.print(line("   ", (flaw.why, "red")), soft_wrap=True)
            console.print(f"   when: {', '.join(cases)}", soft_wrap=True)
            console.print(f"   fix: {flaw.remedy}", soft_wrap=True)
    verdict = ("every pair held", "bold green") if report.ok else ("NOT ALL HELD", "bold red")
    if not report.ok and all(check.ok or check.only_parks for check in report.checks):
        verdict = ("HELD BUT WHERE ANSWERS ARE LOST", "bold yellow")
    figures = f"{number_of(report.pairs, 'tool')}, {number_of(len(report.checks), 'trial')}"
    console.print(line(verdict, f": {figures} in {report.seconds:.1f} s, seed {report.seed}"))
    if report.skipped:
        draw_skipped(console, report.skipped)
