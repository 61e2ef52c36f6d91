"""`orchestrator mission ...`: start, plan, list, show, cancel and roll back missions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from orchestrator.cli import schedule_command as schedules
from orchestrator.cli.answering import answer, repair
from orchestrator.cli.asking import account_name, ask, confirmed, require_terminal
from orchestrator.cli.batches import run_batch
from orchestrator.cli.drawing import line
from orchestrator.cli.mission_export import export, verify
from orchestrator.cli.mission_requests import RequestMaker, takes_request
from orchestrator.cli.options import MissionId, WholeMission, new_app
from orchestrator.cli.output import AsJson, console, present, print_json, progress
from orchestrator.cli.watching import finish, follow, going_on, watch
from orchestrator.core.errors import EventsUnreadable, MissionNotFound, PlanRefused, UsageError

if TYPE_CHECKING:  # help does without them, and a command imports the module that draws its result
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.mission_list import KnownMission
    from orchestrator.client.mission_rollback import RollbackPreview
    from orchestrator.client.result_retention import KeptResult
    from orchestrator.messages.mission import MissionRequest, MissionResult
    from orchestrator.messages.open_waits import Waiting

app = new_app(no_args_is_help=True)

_YES = "--yes, which rolls back a mission that succeeded without asking"


@app.command()
@takes_request(starts=True)
def start(
    request_of: RequestMaker,
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Start one again and again, as --every or --cron says, under this id.",
        ),
    ] = None,
    every: schedules.Every = None,
    cron: schedules.Cron = None,
    timezone: schedules.Timezone = "UTC",
    overlap: schedules.OverlapRule = "skip",
    catch_up: schedules.CatchUp = "1h",
    paused: schedules.Paused = False,
    batch: Annotated[
        Path | None,
        typer.Option(help="Start the requests of a .jsonl, .json, .yaml or .csv file, and wait."),
    ] = None,
    at_once: Annotated[
        int,
        typer.Option("--at-once", min=1, max=500, help="Of --batch: so many run at a time."),
    ] = 10,
    name: Annotated[
        str | None,
        typer.Option(
            help="Of --batch: ids begin with it where the file gives none; another name starts all "
            "of them again. Default: the file's."
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a mission: a goal in words, a follow-up of an earlier one, or all of a file.

    A model plans free text in any language: set ORCHESTRATOR_PLANNER_MODEL where the worker runs
    (for a local server OLLAMA_BASE_URL too), or --model. Without one, rules carry out plain goals
    in English, one thing a sentence, and ask about the rest.

    With --schedule the server starts one each time it is due, with an id and cards of its own;
    "tomorrow" in the goal is read by each from its own day. Keep personal values with
    `orchestrator pii set`.

    With --batch every request is read before the first is started; exit 1 if one does not succeed.
    The same file again goes on: a mission is found by its id and not started twice, also after a
    crash of this process.

    Example: orchestrator mission start "What is the weather in Oslo tomorrow?" --wait

    Example: orchestrator mission start --follow-up trip-1a2b3c:1

    Example: orchestrator mission start "Book a desk in Lisbon" --schedule desk --cron "0 9 * * MON"

    Example: orchestrator mission start --batch desks.jsonl --at-once 20
    """
    from orchestrator.cli import render_missions

    if batch is not None:
        if any(request_of.keywords.values()) or schedule is not None:
            raise UsageError("--batch reads its requests from the file; give --at-once and --name")
        run_batch(batch, name=name, at_once=at_once, as_json=as_json)
        return
    if schedule is not None:
        when = schedules.times(every, cron, timezone, overlap, catch_up)
        if wait or request_of.keywords["mission_id"] or request_of.keywords["follow_up"]:
            raise UsageError("--wait, --id and --follow-up are for one mission, not a --schedule")
        schedules.create(schedule, request_of(), when, paused=paused, as_json=as_json)
        return
    if every or cron or paused:
        raise UsageError("--every, --cron and --paused are for a schedule: give --schedule ID too")
    request = request_of()
    if wait:
        with going_on(request.mission_id or ""):
            result = ask(lambda client: _start_and_follow(client, request))
        finish(result, as_json=as_json)
        return
    mission = ask(lambda client: client.start(request))
    undeclared = list(mission.undeclared_inputs)
    if as_json:
        print_json(
            {
                "mission_id": mission.mission_id,
                "undeclared_inputs": undeclared,
                "queued": mission.queued,
            }
        )
    else:
        render_missions.undeclared_inputs(progress, undeclared)
        render_missions.started(console, mission.mission_id, mission.queued)


async def _start_and_follow(client: "MissionClient", request: "MissionRequest") -> "MissionResult":
    from orchestrator.cli import render_missions

    mission = await client.start(request)
    render_missions.undeclared_inputs(progress, mission.undeclared_inputs)
    if mission.queued:
        progress.print(f"queued: {mission.queued}", soft_wrap=True)
    progress.print(f"mission {mission.mission_id} {'is queued' if mission.queued else 'started'}")
    return await follow(mission)


@app.command()
@takes_request()
def plan(request_of: RequestMaker, as_json: AsJson = False) -> None:
    """Show the plan of a goal, and the parts that no leg serves; nothing is done.

    Exit 1 when no plan can be made of it.

    Example: orchestrator mission plan "Reserve a table in Lisbon tomorrow at 20:00 for 4"
    """
    from orchestrator.cli import render_missions

    request = request_of()
    try:
        preview = ask(lambda client: client.plan(request), notes_silence=True)
    except PlanRefused as refused:
        if not as_json:
            raise
        print_json({"goal": request.goal, "refusal": refused.reason})
        raise typer.Exit(1) from None
    if not as_json:
        render_missions.undeclared_inputs(progress, preview.undeclared_inputs)
    present(preview, render_missions.plan_preview, as_json=as_json)


@app.command("list")
def list_missions(
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 20,
    status: Annotated[
        str | None, typer.Option(help="Only missions of a status: parked, running, succeeded ...")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the newest missions, and what each waits for.

    Example: orchestrator mission list --status parked
    """
    from orchestrator.cli import render_missions

    found = ask(lambda client: client.missions(limit=limit, status=status))
    present(found, render_missions.missions, as_json=as_json)


class _Shown(NamedTuple):
    """A mission as it stands, what it waits for, and why it cannot go on."""

    result: "MissionResult"
    waiting: "Waiting | None" = None
    obstacle: str = ""


@app.command()
def show(mission_id: MissionId, as_json: AsJson = False) -> None:
    """Show a mission as it stands: legs, receipts, ledger, spend, and what it waits for.

    A mission that its server no longer knows is shown as the store has kept it: `kept_as_of` in
    --json. While it runs, --json has what it waits for as `waiting`, with the commands to type, and
    as `cannot_go_on` why it cannot, such as that its worker is away. Where this release cannot
    replay its history, the facts of the server are shown: `is_partial` in --json.

    Example: orchestrator mission show book-a-flight-from-1a2b3c
    """
    from orchestrator.cli import render_missions, render_waiting

    found = ask(lambda client: _as_known(client, mission_id))
    if not isinstance(found, _Shown):
        _show_otherwise(found, as_json=as_json)
        return
    if not as_json:
        render_missions.mission(console, found.result)
        if found.waiting is not None:
            render_waiting.mission_waits(console, found.waiting)
        if found.obstacle:
            console.print(line((f"cannot go on: {found.obstacle}", "yellow")), soft_wrap=True)
        return
    document = found.result.document()
    if found.waiting is not None:
        document |= {"waiting": list(found.waiting.entries()), "cannot_go_on": found.obstacle}
    print_json(document)


async def _as_known(
    client: "MissionClient", mission_id: str
) -> "_Shown | KnownMission | KeptResult":
    mission = client.get(mission_id)
    try:
        result = await mission.snapshot()
        if result.finished_at is not None:
            return _Shown(result)
        return _Shown(result, await mission.waiting(), str(await mission.obstacle() or ""))
    except MissionNotFound:
        return await client.kept(mission_id)
    except EventsUnreadable as unreadable:
        return await client.known(mission_id, why=str(unreadable))


def _show_otherwise(kept: "KnownMission | KeptResult", *, as_json: bool) -> None:
    """Show the facts of the server without a replay, or those of the store without the server."""
    from orchestrator.cli import render_missions
    from orchestrator.client.mission_list import KnownMission

    if isinstance(kept, KnownMission):
        present(kept, render_missions.known, as_json=as_json)
        return
    if as_json:
        print_json({**kept.result.document(), "kept_as_of": kept.kept_as_of})
        return
    render_missions.mission(console, kept.result)
    console.print(
        f"its server no longer knows it: this is its result of {kept.kept_as_of:%Y-%m-%d}, as the "
        "store has kept it",
        soft_wrap=True,
    )


@app.command()
def cancel(mission_id: WholeMission) -> None:
    """Ask a mission to stop; it rolls back what it did.

    Example: orchestrator mission cancel book-a-flight-from-1a2b3c
    """
    ask(lambda client: client.get(mission_id).cancel())
    console.print(f"asked to stop; see: orchestrator mission watch {mission_id}", soft_wrap=True)


@app.command()
def rollback(
    mission_id: WholeMission,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "asked for",
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, for scripts.")] = False,
    approver: Annotated[
        str | None, typer.Option(help="Who decides, for the record; default: your account's name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Roll back a mission that is over, finished or terminated; exit 1 if something is parked.

    What will be cancelled is listed. The effects of a mission that succeeded are meant to stand:
    you are asked, and without a terminal nothing is done unless --yes is given.

    Example: orchestrator mission rollback book-a-flight-from-1a2b3c --reason "wrong week"
    """
    from orchestrator.cli import render_missions

    preview = ask(lambda client: client.rollback_preview(mission_id))
    if not yes:
        _check_askable(preview, as_json=as_json)
    if not as_json:
        # With the question, on standard error.
        render_missions.rollback_preview(progress, preview)
    if preview.is_a_decision and not yes and not confirmed("Roll it back?", instead=_YES):
        progress.print("nothing was rolled back")
        raise typer.Exit(1)
    who = approver or account_name() or None
    with progress.status(f"rolling back {mission_id}"):
        report = ask(lambda client: client.rollback(mission_id, reason=reason, approver=who))
    present(report, render_missions.rollback, as_json=as_json, ok=not report.parked)


def _check_askable(preview: "RollbackPreview", *, as_json: bool) -> None:
    """Refuse a decision where nobody can be asked for it."""
    if not preview.is_a_decision:
        return
    if as_json:
        raise UsageError(f"--json asks nothing; give {_YES}")
    require_terminal(_YES)


app.command()(watch)
app.command()(answer)
app.command()(repair)
app.command()(export)
app.command()(verify)
app.command()(schedules.schedule)
