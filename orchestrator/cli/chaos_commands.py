"""`orchestrator chaos`: missions under planned faults, and the verdict."""

import secrets
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.chaos.scenarios.chaos_faults import ChaosFault, parse_faults
from orchestrator.cli.options import McpServers, Model, Overlays, Specs, new_app
from orchestrator.cli.output import AsJson, present, run
from orchestrator.core.errors import UsageError

app = new_app(no_args_is_help=True)

Seed = Annotated[int | None, typer.Option(help="Determines the run; random unless given.")]
Missions = Annotated[int, typer.Option(min=1, help="The number of missions.")]
Faults = Annotated[str, typer.Option(help=f"all, none, or some of: {', '.join(ChaosFault)}.")]
EachPoint = Annotated[
    bool,
    typer.Option(
        "--every-point", help="One mission per request and fault, and per event and killed worker."
    ),
]
Goals = Annotated[
    list[str] | None, typer.Option(help="A goal, in place of the built-in ones; repeatable.")
]
Only = Annotated[int | None, typer.Option(min=0, help="Run this one mission of the run, alone.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Missions that run side by side.")]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes.")]
Keep = Annotated[Path | None, typer.Option(help="Keep server, ledgers and logs in this folder.")]

RunStore = Annotated[
    Literal["sqlite", "postgresql"],
    typer.Option(
        "--store",
        help="sqlite: a file that all workers share; postgresql: a server, and a folder for each.",
    ),
]
Workflow = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:CLASS|FILE[#ID]",
        help="Run this in place of goals: a workflow of yours with a ToolSaga, or of Arazzo.",
    ),
]
Input = Annotated[
    Path | None,
    typer.Option(
        "--input", help="JSON with the arguments of the workflow's run method, or its inputs."
    ),
]
Activities = Annotated[
    list[str] | None,
    typer.Option(
        "--activity",
        metavar="MODULE:FUNCTION",
        help="An activity of the workflow's own; again for each.",
    ),
]
RunPlanner = Annotated[
    Literal["chaining", "llm"] | None,
    typer.Option("--planner", help="chaining, or llm: a scripted model."),
]


@app.callback()
def chaos() -> None:
    """Test rollback: missions and workers under planned faults."""


@app.command("run")
def run_chaos(
    seed: Seed = None,
    missions: Missions = 50,
    faults: Faults = "all",
    every_point: EachPoint = False,
    goal: Goals = None,
    workflow: Workflow = None,
    input_file: Input = None,
    activities: Activities = None,
    only: Only = None,
    at_once: AtOnce = 32,
    workers: Workers = 3,
    planner: RunPlanner = None,
    model: Model = None,
    store: RunStore = "sqlite",
    keep: Keep = None,
    specs: Specs = None,
    overlays: Overlays = None,
    mcp: McpServers = None,
    as_json: AsJson = False,
) -> None:
    """Run missions under faults, and check their effects.

    Exit 1 when an invariant broke; logs are kept then, and where --keep says. --planner llm has a
    scripted model plan, which the workers ask over HTTP on this machine.

    --specs, or the tools that the servers of --mcp list: each tool that leaves something behind is
    called in the sandbox, its answer broken in every way, and cancelled.

    --workflow: runs of your own workflow take the place of missions, and each of its sagas is
    judged; --specs has the documents of its tools.

    Example: orchestrator chaos run --seed 7 --missions 100 --faults 5xx,drop-after,kill-worker

    Example: orchestrator chaos run --specs crm.yaml --overlay crm-tools.yaml

    Example: orchestrator chaos run --workflow trip_workflow:Trip --input trip.json
    """
    chosen = parse_faults(faults)
    if model is not None and planner != "llm":
        raise UsageError("--model goes with --planner llm")
    if workflow is None and (input_file is not None or activities):
        raise UsageError("--input and --activity go with --workflow, to which they belong")
    if workflow is not None and (goal or planner):
        raise UsageError("--goal and --planner are for missions; leave them out with --workflow")
    if overlays and not (specs or mcp):
        raise UsageError("--overlay goes with --specs, the documents that it changes")
    seed = secrets.randbelow(10**6) if seed is None else seed
    from orchestrator.chaos.chaos_run import RunOptions
    from orchestrator.chaos.user_workflows import NOT_FOR_WORKFLOWS
    from orchestrator.cli import chaos_runs
    from orchestrator.testing.postgres import PostgresServer

    documents = tuple(specs or ()), tuple(overlays or ()), tuple(mcp or ())
    if (specs or mcp) and workflow is None:
        pairs = run(chaos_runs.try_pairs(*documents, seed=seed, keep=keep))
        return present(pairs, chaos_runs.draw_pairs, as_json=as_json, ok=pairs.ok)
    case = chaos_runs.user_case(workflow, input_file, activities or (), *documents)
    if case is not None and case.python is not None:
        chosen -= NOT_FOR_WORKFLOWS
    options = RunOptions(
        seed,
        chosen,
        at_once=at_once,
        workers=workers,
        postgres=PostgresServer() if store == "postgresql" else None,
        written=None if case is None else case.written,
    )
    count = None if every_point else missions
    wanted = chaos_runs.ChosenRun(options, case, goals=goal, missions=count, only=only)
    if planner == "llm":
        report = run(chaos_runs.planned_by_a_model(wanted, keep, model))
    else:
        report = run(chaos_runs.on_a_stack(wanted, keep))
    present(report, chaos_runs.draw_report, as_json=as_json, ok=report.ok)
