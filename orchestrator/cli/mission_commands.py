"""`orchestrator mission ...`: plan, start, list, show, watch, answer, cancel, roll back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestrator.cli import (
    answering,
    batch_commands,
    record_commands,
    render_missions,
    render_waiting,
    schedule_commands,
    watching,
)
from orchestrator.cli.asking import ask, confirmed, require_terminal
from orchestrator.cli.drawing import line, lines
from orchestrator.cli.mission_requests import takes_request
from orchestrator.cli.output import AsJson, console, present, print_json, progress
from orchestrator.cli.signing import account_name
from orchestrator.core.errors import (
    MissionNotFound,
    PlanRefused,
    ServerUnreachable,
    ServiceUnavailable,
    UsageError,
)
from orchestrator.messages.mission import (
    MissionRequest,
    MissionResult,
    MissionStatus,
)
from orchestrator.messages.open_waits import Waiting

if TYPE_CHECKING:  # `ask` imports it
    from orchestrator.client.known_mission import KnownMission
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.client.mission_rollback import RollbackPreview
    from orchestrator.client.result_retention import KeptResult

    _Otherwise = KnownMission | KeptResult

app = typer.Typer(add_completion=False, no_args_is_help=True)

_INTERRUPTED = 130
_YES = "--yes, which rolls back a mission that succeeded without asking"

MissionId = Annotated[str, typer.Argument(metavar="ID", help="The mission's id.")]


@app.command()
@takes_request(names_it=True)
def start(
    request: MissionRequest,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a mission: a goal in words, or a follow-up of an earlier one.

    A model plans free text in any language: set ORCHESTRATOR_PLANNER_MODEL where the worker runs
    (for a local server OLLAMA_BASE_URL too), or --model. Without one, rules carry out plain goals
    in English, one thing a sentence, and ask about the rest.

    Example: orchestrator mission start "What is the weather in Oslo tomorrow?" --wait

    Example: orchestrator mission start --follow-up trip-1a2b3c:1
    """
    if wait:
        with _going_on(request.mission_id or ""):
            result = ask(lambda client: _start_and_follow(client, request))
        _finish(result, as_json=as_json)
        return
    mission = ask(lambda client: client.start(request))
    _tell_started(mission, as_json=as_json)


def _tell_started(mission: "MissionHandle", *, as_json: bool) -> None:
    undeclared = mission.undeclared_inputs
    if as_json:
        print_json(
            {
                "mission_id": mission.mission_id,
                "undeclared_inputs": list(undeclared),
                "queued": mission.queued,
            }
        )
    else:
        render_missions.unread(progress, undeclared)
        render_missions.started(console, mission.mission_id, mission.queued)


@app.command()
@takes_request()
def plan(request: MissionRequest, as_json: AsJson = False) -> None:
    """What would be done for a goal, by whom, and what of it nothing serves; nothing is done.

    Exit 1 when no plan can be made of it.

    Example: orchestrator mission plan "Reserve a table in Lisbon tomorrow at 20:00 for 4"
    """
    try:
        preview = ask(lambda client: client.plan(request), tells_silence=True)
    except PlanRefused as refused:
        if not as_json:
            raise
        print_json({"goal": request.goal, "refusal": refused.reason})
        raise typer.Exit(1) from None
    from orchestrator.cli import render_plans  # reads how plans are approved

    if not as_json:
        render_missions.unread(progress, preview.undeclared_inputs)
    present(preview, render_plans.preview, as_json=as_json)


async def _start_and_follow(client: "MissionClient", request: MissionRequest) -> MissionResult:
    mission = await client.start(request)
    render_missions.unread(progress, mission.undeclared_inputs)
    if mission.queued:
        progress.print(f"queued: {mission.queued}", soft_wrap=True)
    progress.print(f"mission {mission.mission_id} {'is queued' if mission.queued else 'started'}")
    return await _follow(mission)


@contextmanager
def _going_on(mission_id: str) -> Iterator[None]:
    """Say, when the person stops watching, that only the watching stops."""
    try:
        yield
    except KeyboardInterrupt:
        progress.print(f"stopped watching; {mission_id} goes on: it needs nobody who watches")
        progress.print(f"  orchestrator mission watch {mission_id}", soft_wrap=True)
        raise typer.Exit(_INTERRUPTED) from None


async def _follow(mission: "MissionHandle") -> MissionResult:
    """Watch to the end, telling on standard error what changes and what waits for a person."""
    from orchestrator.client.connection import until_answered

    told: set[str] = set()

    def tell(absence: Exception) -> None:
        _tell_once(told, line(f"waiting for a worker: {absence}"))

    result = await until_answered(mission.snapshot, tell=tell)
    async for result in mission.watch(tell=tell):
        for news in render_missions.news(result, told):
            progress.print(news, soft_wrap=True)
        waiting = await until_answered(mission.waiting, tell=tell)
        for card in waiting.cards:
            _tell_once(
                told, line(f"waits for you: orchestrator confirm show {card.confirmation_id}")
            )
        for question in waiting.questions:
            _tell_once(told, render_missions.asked(question))
        for pause in waiting.pauses:
            _tell_once(told, lines(*render_waiting.paused(pause)))
        for leg in waiting.unasked:
            _tell_once(told, line(f"{leg.leg} could not be asked: {leg.why}"))
    return await mission.result() if result.finished_at is None else result


def _tell_once(told: set[str], news: Text) -> None:
    if news.plain not in told:
        told.add(news.plain)
        progress.print(news, soft_wrap=True)


def _finish(result: MissionResult, *, as_json: bool) -> None:
    ok = result.status is MissionStatus.SUCCEEDED
    if as_json:
        print_json(result.document())
    else:
        render_missions.mission(console, result)
    if not ok:
        raise typer.Exit(1)


@app.command("list")
def list_missions(
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 20,
    status: Annotated[
        str | None, typer.Option(help="Only those that stand so: parked, running, succeeded ...")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The newest missions, and what each waits for.

    Example: orchestrator mission list --status parked
    """
    found = ask(lambda client: client.missions(limit=limit, status=status))
    present(found, render_missions.missions, as_json=as_json)


@app.command()
def show(mission_id: MissionId, as_json: AsJson = False) -> None:
    """One mission as it stands: legs, receipts, ledger, spend, and what it waits for.

    What its server no longer knows is shown as the store has kept it: `kept_as_of` in --json. While
    it runs, --json has what it waits for as `waiting`, with the commands to type. While its
    worker is away, what the server knows of it: `is_partial` in --json.

    Example: orchestrator mission show book-a-flight-from-1a2b3c
    """

    async def as_known(client: "MissionClient") -> "tuple[MissionResult, Waiting] | _Otherwise":
        mission = client.get(mission_id)
        try:
            result = await mission.snapshot()
            is_over = result.finished_at is not None
            return result, Waiting() if is_over else await mission.waiting()
        except MissionNotFound:
            return await client.kept(mission_id)
        except ServiceUnavailable as absence:
            if isinstance(absence, ServerUnreachable):
                raise
            return await client.known(mission_id, why=str(absence))

    found = ask(as_known, tells_silence=True)
    if not isinstance(found, tuple):
        _show_otherwise(found, as_json=as_json)
        return
    result, waiting = found
    if not as_json:
        render_missions.mission(console, result)
        render_waiting.part(console, waiting)
    elif result.finished_at is not None:
        print_json(result.document())
    else:
        print_json({**result.document(), "waiting": list(waiting.entries())})


def _show_otherwise(kept: "_Otherwise", *, as_json: bool) -> None:
    """What the server knows without its worker, or the store knows without the server."""
    from orchestrator.client.known_mission import KnownMission

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
def watch(
    mission_id: MissionId, after: watching.After = None, as_json: watching.Lines = False
) -> None:
    """Follow a mission to its end; exit 1 if it does not succeed.

    --json prints what happens in it, one event a line, from its beginning or after a cursor; the
    result is what `mission show --json` prints.

    Example: orchestrator mission watch book-a-flight-from-1a2b3c
    """
    if after and not as_json:
        raise UsageError("--after goes on with events: give it together with --json")
    with _going_on(mission_id):
        if not as_json:
            _finish(ask(lambda client: _follow(client.get(mission_id))), as_json=False)
            return
        last = ask(lambda client: watching.follow_lines(client, mission_id, after))
    if last is None:  # the cursor was its end
        status = ask(lambda client: client.get(mission_id).snapshot()).status.value
    else:
        status = last.status
    if status != MissionStatus.SUCCEEDED.value:
        raise typer.Exit(1)


app.command()(watching.feed)
app.command("event-types")(watching.event_types)
app.command()(answering.answer)
app.command()(answering.resume)
app.command()(batch_commands.batch)
app.command()(record_commands.file)
app.command()(record_commands.export)
app.command()(record_commands.verify)
app.add_typer(schedule_commands.app, name="schedule")


@app.command()
def cancel(mission_id: MissionId) -> None:
    """Ask a mission to stop; it rolls back what it did.

    Example: orchestrator mission cancel book-a-flight-from-1a2b3c
    """
    ask(lambda client: client.get(mission_id).cancel())
    console.print(f"asked to stop; see: orchestrator mission watch {mission_id}", soft_wrap=True)


@app.command()
def rollback(
    mission_id: MissionId,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "asked for",
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing, for scripts.")] = False,
    approver: Annotated[
        str | None, typer.Option(help="Who decides, for the record; default: your account's name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Roll back a mission that is over, finished or terminated; exit 1 if something is parked.

    What will be cancelled is listed. Of a mission that succeeded it is meant to stand: you are
    asked, and without a terminal nothing is done unless --yes is given.

    Example: orchestrator mission rollback book-a-flight-from-1a2b3c --reason "wrong week"
    """
    preview = ask(lambda client: client.rollback_preview(mission_id))
    if not yes:
        _check_askable(preview, as_json=as_json)
    if not as_json:
        # With the question, on standard error.
        render_missions.preview(progress, preview)
    if preview.is_a_decision and not yes and not confirmed("Roll it back?", instead=_YES):
        progress.print("nothing was rolled back")
        raise typer.Exit(1)
    who = approver or account_name() or None
    with progress.status(f"undoing {mission_id}"):
        report = ask(lambda client: client.rollback(mission_id, reason=reason, approver=who))
    present(report, render_missions.rollback, as_json=as_json, ok=not report.parked)


def _check_askable(preview: "RollbackPreview", *, as_json: bool) -> None:
    """Refuse a decision where nobody can be asked for it."""
    if not preview.is_a_decision:
        return
    if as_json:
        raise UsageError(f"--json asks nothing; give {_YES}")
    require_terminal(_YES)
