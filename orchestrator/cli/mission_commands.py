"""`orchestrator mission ...`: start, plan, list, show, cancel and roll back missions."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from orchestrator.cli.answering import answer, repair
from orchestrator.cli.asking import account_name, ask, confirmed, require_terminal
from orchestrator.cli.drawing import line
from orchestrator.cli.mission_export import export
from orchestrator.cli.mission_requests import RequestMaker, takes_request
from orchestrator.cli.options import MissionId, WholeMission, new_app
from orchestrator.cli.output import AsJson, console, present, print_json, progress, run
from orchestrator.cli.watching import finish, follow, going_on, watch
from orchestrator.core.errors import EventsUnreadable, MissionNotFound, PlanRefused, UsageError

if TYPE_CHECKING:  # help does without them, and a command imports the module that draws its result
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.mission_list import KnownMission, MissionSummary
    from orchestrator.client.mission_rollback import RollbackPreview
    from orchestrator.client.saga_list import SagaAccount
    from orchestrator.messages.mission import MissionRequest, MissionResult
    from orchestrator.messages.open_waits import Waiting

app = new_app(no_args_is_help=True)

_YES = "--yes, which rolls back a mission that succeeded without asking"


@app.command()
@takes_request(starts=True)
def start(
    request_of: RequestMaker,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a mission: a goal in words, a written workflow, or a follow-up of an earlier one.

    A model plans free text in any language: set ORCHESTRATOR_PLANNER_MODEL where the worker runs
    (for a local server OLLAMA_BASE_URL too), or --model. Without one, rules carry out plain goals
    in English, one thing a sentence, and ask about the rest.

    Example: orchestrator mission start "What is the weather in Oslo tomorrow?" --wait

    Example: orchestrator mission start --follow-up trip-1a2b3c:1
    """
    from orchestrator.cli import render_missions

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
def plan(
    request_of: RequestMaker,
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="Run it and its rollback on a private sandbox with made data; a model is asked.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the plan of a goal, and the parts that no leg serves; nothing is done.

    With --rehearse the plan and its rollback run on a sandbox that is started for it, and thrown
    away: no provider, store or credential of yours is touched, and no running installation is
    needed. Personal values are made up, every card is approved and every question is answered with
    made values. A model as planner is really asked, and costs what it costs.

    Exit 1 when no plan can be made of it.

    Example: orchestrator mission plan "Reserve a table in Lisbon tomorrow at 20:00 for 4"

    Example: orchestrator mission plan "Reserve a table in Lisbon tomorrow for 4" --rehearse
    """
    from orchestrator.cli import render_missions

    request = request_of()
    if rehearse:
        _rehearse(request, as_json=as_json)
        return
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


def _rehearse(request: "MissionRequest", *, as_json: bool) -> None:
    from orchestrator.chaos.rehearsal import WITHIN_S, rehearse
    from orchestrator.cli import render_missions
    from orchestrator.settings import load_settings

    with progress.status(f"rehearsing on a private sandbox, for at most {WITHIN_S:.0f} s"):
        found = run(rehearse(request, load_settings()))
    document = {**found.model_dump(mode="json"), "summary": found.summary}
    if as_json:
        print_json(document)
    else:
        render_missions.rehearsal(console, found)
    if not found.status:
        raise typer.Exit(1)


@app.command("list")
def list_missions(
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 20,
    status: Annotated[
        str | None, typer.Option(help="Only missions of a status: parked, running, succeeded ...")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the newest missions, and what each waits for; also sessions, and sagas that wait.

    Example: orchestrator mission list --status parked
    """
    from orchestrator.cli import render_missions

    found = ask(lambda client: _newest(client, limit, status))
    present(found, render_missions.missions, as_json=as_json)


async def _newest(
    client: "MissionClient", limit: int, status: str | None
) -> "list[MissionSummary]":
    """Return missions of a status, or the newest of missions, sagas and sessions."""
    found = await client.missions(limit=limit, status=status)
    if status is not None:
        return found
    found += await client.sagas(limit=limit)
    return sorted(found, key=lambda one: one.started_at, reverse=True)[:limit]


class _Shown(NamedTuple):
    """A mission as it stands, what it waits for, and why it cannot go on."""

    result: "MissionResult"
    waiting: "Waiting | None" = None
    obstacle: str = ""


@app.command()
def show(mission_id: MissionId, as_json: AsJson = False) -> None:
    """Show a mission as it stands: legs, receipts, ledger, spend, and what it waits for.

    While it runs, --json has what it waits for as `waiting`, with the commands to type, and
    as `cannot_go_on` why it cannot, such as that its worker is away. Where this release cannot
    replay its history, the facts of the server are shown: `is_partial` in --json.

    Of a saga or a session, the state and all obligations are shown: `kind` in --json.

    Example: orchestrator mission show book-a-flight-from-1a2b3c
    """
    from orchestrator.cli import render_missions, render_waiting

    found = ask(lambda client: _as_known(client, mission_id))
    if not isinstance(found, _Shown):
        present(found, render_missions.partial, as_json=as_json)
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
) -> "_Shown | KnownMission | SagaAccount":
    mission = client.get(mission_id)
    try:
        result = await mission.snapshot()
        if result.finished_at is not None:
            return _Shown(result)
        return _Shown(result, await mission.waiting(), str(await mission.obstacle() or ""))
    except MissionNotFound:
        return await client.saga(mission_id)
    except EventsUnreadable as unreadable:
        return await client.known(mission_id, why=str(unreadable))


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
