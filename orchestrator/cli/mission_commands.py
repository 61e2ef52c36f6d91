"""`orchestrator mission ...`: start, plan, list, show, watch, cancel, roll back and export."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.answering import answer, repair
from orchestrator.cli.mission_requests import RequestMaker, takes_request
from orchestrator.cli.options import MissionId, Specs, WholeMission, new_app, open_catalog
from orchestrator.cli.output import (
    INTERRUPTED,
    AsJson,
    PrintOnce,
    account_name,
    ask,
    confirmed,
    console,
    line,
    lines,
    present,
    print_json,
    progress,
    require_terminal,
    run,
    write_new,
)
from orchestrator.core.errors import EventsUnreadable, MissionNotFound, PlanError, UsageError
from orchestrator.core.shown_text import visible_block, visible_json

if TYPE_CHECKING:  # help does without them, and a command imports the module that draws its result
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.client.mission_list import KnownMission, MissionSummary
    from orchestrator.client.saga_list import SagaAccount
    from orchestrator.messages.events import MissionEvent
    from orchestrator.messages.mission import MissionResult


app = new_app(no_args_is_help=True)

_YES = "--yes, which rolls back a mission that succeeded without asking"


@app.command()
@takes_request(starts=True)
def start(
    request_of: RequestMaker,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start a goal in words, a written workflow, or a follow-up.

    A model plans free text in any language: set ORCHESTRATOR_PLANNER_MODEL where the worker runs
    (for a local server OLLAMA_BASE_URL too), or --model. Without one, rules carry out plain goals
    in English, one thing a sentence, and ask about the rest.

    Example: orchestrator mission start "What is the weather in Oslo tomorrow?" --wait

    Example: orchestrator mission start --follow-up trip-1a2b3c:1
    """
    from orchestrator.cli import render_missions

    request = request_of()

    async def start_and_follow(client: "MissionClient") -> "MissionResult":
        mission = await client.start(request)
        render_missions.undeclared_inputs(progress, mission.undeclared_inputs)
        if mission.queued:
            progress.print(f"queued: {mission.queued}", soft_wrap=True)
        state = "is queued" if mission.queued else "started"
        progress.print(f"mission {mission.mission_id} {state}")
        return await follow(mission)

    if wait:
        with going_on(request.mission_id or ""):
            result = ask(start_and_follow)
        finish(result, as_json=as_json)
        return
    mission = ask(lambda client: client.start(request))
    undeclared = list(mission.undeclared_inputs)
    if as_json:
        facts = {"mission_id": mission.mission_id, "undeclared_inputs": undeclared}
        print_json({**facts, "queued": mission.queued})
    else:
        render_missions.undeclared_inputs(progress, undeclared)
        render_missions.started(console, mission.mission_id, mission.queued)


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
    """Show the plan of a goal and what it leaves out; nothing is done.

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
        from orchestrator.chaos import rehearsal
        from orchestrator.settings import load_settings

        within = f"for at most {rehearsal.WITHIN_S:.0f} s"
        with progress.status(f"rehearsing on a private sandbox, {within}"):
            found = run(rehearsal.rehearse(request, load_settings()))
        if as_json:
            print_json({**found.model_dump(mode="json"), "summary": found.summary})
        else:
            render_missions.rehearsal(console, found)
        if not found.status:
            raise typer.Exit(1)
        return
    try:
        preview = ask(lambda client: client.plan(request), notes_silence=True)
    except PlanError as refused:
        if not as_json:
            raise
        print_json({"goal": request.goal, "refusal": str(refused)})
        raise typer.Exit(1) from None
    if not as_json:
        render_missions.undeclared_inputs(progress, preview.undeclared_inputs)
    present(preview, render_missions.plan_preview, as_json=as_json)


@app.command("list")
def list_missions(
    limit: Annotated[int, typer.Option(min=1, help="At most this many; running ones first.")] = 20,
    status: Annotated[
        str | None, typer.Option(help="Only missions of a status: parked, running, succeeded ...")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List missions, sessions and waiting sagas, newest first.

    Example: orchestrator mission list --status parked
    """
    from orchestrator.cli import render_missions

    async def newest(client: "MissionClient") -> "list[MissionSummary]":
        found = await client.missions(limit=limit, status=status)
        if status is not None:
            return found
        found += await client.sagas(limit=limit)
        return sorted(found, key=lambda one: one.started_at, reverse=True)[:limit]

    found = ask(newest)
    present(found, render_missions.missions, as_json=as_json)


@app.command()
def show(mission_id: MissionId, as_json: AsJson = False) -> None:
    """Show the legs, receipts, ledger, spend and waits of a mission.

    While it runs, --json has what it waits for as `waiting`, with the commands to type, and
    as `cannot_go_on` why it cannot, such as that its worker is away. Where this release cannot
    replay its history, the facts of the server are shown: `is_partial` in --json.

    Of a saga or a session, the state and all obligations are shown: `kind` in --json.

    Example: orchestrator mission show book-a-flight-from-1a2b3c
    """
    from orchestrator.cli import render_missions, render_waiting
    from orchestrator.messages.mission import MissionResult
    from orchestrator.messages.open_waits import Waiting

    waiting: Waiting | None = None
    obstacle = ""

    async def as_known(client: "MissionClient") -> "MissionResult | KnownMission | SagaAccount":
        nonlocal waiting, obstacle
        mission = client.get(mission_id)
        try:
            result = await mission.snapshot()
            if result.finished_at is None:
                waiting = await mission.waiting()
                obstacle = str(await mission.obstacle() or "")
            return result
        except MissionNotFound:
            return await client.saga(mission_id)
        except EventsUnreadable as unreadable:
            return await client.known(mission_id, why=str(unreadable))

    found = ask(as_known)
    if not isinstance(found, MissionResult):
        present(found, render_missions.partial, as_json=as_json)
    elif as_json:
        document = found.document()
        if waiting is not None:
            document |= {"waiting": list(waiting.entries()), "cannot_go_on": obstacle}
        print_json(document)
    else:
        render_missions.mission(console, found)
        if waiting is not None:
            render_waiting.mission_waits(console, waiting)
        if obstacle:
            console.print(line((f"cannot go on: {obstacle}", "yellow")), soft_wrap=True)


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
        str | None,
        typer.Option(help="The person who decides, for the record; default: your account."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Roll back a mission that is over; exit 1 if something is parked.

    What will be cancelled is listed. The effects of a mission that succeeded are meant to stand:
    you are asked, and without a terminal nothing is done unless --yes is given.

    Example: orchestrator mission rollback book-a-flight-from-1a2b3c --reason "wrong week"
    """
    from orchestrator.cli import render_missions

    preview = ask(lambda client: client.rollback_preview(mission_id))
    if preview.is_a_decision and not yes:
        if as_json:
            raise UsageError(f"--json never prompts: give {_YES}")
        require_terminal(_YES)
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


class ExportFormat(StrEnum):
    """Formats of an exported mission."""

    RECORD = "record"
    ARAZZO = "arazzo"


@app.command()
def export(
    mission_id: MissionId,
    style: Annotated[
        ExportFormat,
        typer.Option("--format", help="Its record, or a workflow that makes its calls again."),
    ] = ExportFormat.RECORD,
    out: Annotated[
        Path | None, typer.Option(help="A new file to write; default: standard output.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="HANDLE",
            help="Write a file that it received, in place of its record: file:sha256-..., as its "
            "answers and results say.",
        ),
    ] = None,
    specs: Specs = None,
) -> None:
    """Write the audit record of a mission that is over, as JSON.

    It has the request, the plan, cards, decisions, calls, answers and cancellations, by whom and
    when, and a digest of each recorded history. Personal values are handles in it.

    With --file it writes a file that the mission received, from the store; no server is asked.

    Example: orchestrator mission export book-a-flight-from-1a2b3c --out record.json

    Example: orchestrator mission export ship-1a2b3c --file file:sha256-9f86d0 --out label.pdf

    With --format arazzo it writes an Arazzo document: values of the request are its inputs, and
    values of earlier answers are read from them.

    Example: orchestrator mission export trip-1a2b3c --format arazzo --out trip.arazzo.yaml
    """
    if file is None and out is not None and out.exists():
        raise UsageError(f"{out} is there already: name a new file")
    if style is ExportFormat.ARAZZO:
        if file:
            raise UsageError("--format arazzo takes only --out")
        from orchestrator.arazzo.workflow_export import as_yaml
        from orchestrator.client.mission_record import mission_as_arazzo

        catalog = open_catalog(specs, None)
        made = ask(lambda client: mission_as_arazzo(client.connection, mission_id, catalog))
        if out is None:
            return typer.echo(visible_block(as_yaml(made)), nl=False)
        write_new(out, as_yaml(made).encode())
        check = f"{out}: check it with: orchestrator workflow lint {out}"
        return progress.print(line(check), soft_wrap=True)
    if file is not None:
        if out is None:
            raise UsageError("--file needs --out, the file to write")
        from orchestrator.client.stores import mission_file
        from orchestrator.settings import load_settings

        kept = run(mission_file(load_settings(), mission_id, file))
        write_new(out, kept.content)
        return progress.print(line(f"{out}: {kept}"), soft_wrap=True)
    from orchestrator.client.mission_record import seal

    record = ask(lambda client: client.get(mission_id).record())
    sealed = seal(record)
    if out is None:
        return print_json(sealed)
    text = json.dumps(sealed.model_dump(mode="json"), indent=2)
    write_new(out, f"{text}\n".encode("ascii"))
    return progress.print(line(f"{out}: SHA-256 {sealed.sha256}"), soft_wrap=True)


@app.command()
def watch(
    mission_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The mission's id; none: all missions.")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Go on after the event that has this cursor."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Without a mission: print the events so far, and end.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document a line.")
    ] = False,
) -> None:
    """Follow a mission to its end; exit 1 if it does not succeed.

    --json prints what happens in it, one event a line, from its beginning or after a cursor; the
    result is what `mission show --json` prints.

    Without an id, follow cards and questions of all missions: opened, decided, answered, expired.
    Ctrl-C ends it.

    Example: orchestrator mission watch book-a-flight-from-1a2b3c

    Example: orchestrator mission watch --json
    """
    last: MissionEvent | None = None

    async def print_events(client: "MissionClient") -> None:
        from orchestrator.messages.events import MissionEvent

        nonlocal last
        notify = PrintOnce()
        if mission_id is None:
            events = client.events(after=after, follow=not once, notify=notify)
        else:
            events = client.get(mission_id).events(after=after, notify=notify)
        async for event in events:
            fields = event.model_dump(mode="json")
            if as_json:
                typer.echo(visible_json(json.dumps(fields, ensure_ascii=False)))
            else:
                whose = f"{event.mission_id}.{event.leg_id}" if event.leg_id else event.mission_id
                words = "; ".join(str(fields[name]) for name in _WORDS if fields.get(name))
                shown = line(f"{event.at:%H:%M:%S} ", (whose, "bold"), f" {event.kind} ", words)
                console.print(shown, soft_wrap=True)
            last = event if isinstance(event, MissionEvent) else last

    if mission_id is None:
        try:
            return ask(print_events)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
    if once:
        raise UsageError("--once is for all missions; show one by: orchestrator mission show ID")
    if after and not as_json:
        raise UsageError("--after continues events: give --json too")
    with going_on(mission_id):
        if not as_json:
            finish(ask(lambda client: follow(client.get(mission_id))), as_json=False)
            return
        ask(print_events)
    if last is None:  # the cursor was its end
        status = ask(lambda client: client.get(mission_id).snapshot()).status.value
    else:
        status = last.status
    if status != "succeeded":
        raise typer.Exit(1)


@contextmanager
def going_on(mission_id: str) -> Iterator[None]:
    """Print, when the person stops watching, that the mission goes on."""
    try:
        yield
    except KeyboardInterrupt:
        progress.print(f"stopped watching; {mission_id} goes on")
        progress.print(f"  orchestrator mission watch {mission_id}", soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None


async def follow(mission: "MissionHandle") -> "MissionResult":
    """Watch to the end; print changes, and what waits for a person, on standard error."""
    from orchestrator.cli import render_missions, render_waiting
    from orchestrator.client.connection import until_answered

    once = PrintOnce()

    def notify(absence: Exception) -> None:
        once(f"waiting for the server: {absence}")

    result = await until_answered(mission.snapshot, notify=notify)
    async for result in mission.watch(notify=notify):
        for change in render_missions.statuses(result):
            once(change)
        waiting = await until_answered(mission.waiting, notify=notify)
        for card in waiting.cards:
            once(f"waits for you: orchestrator confirm show {card.confirmation_id}")
        for question in waiting.questions:
            once(lines(*render_waiting.entry(question)))
        for pause in waiting.pauses:
            once(lines(*render_waiting.paused(pause)))
        if (obstacle := await until_answered(mission.obstacle, notify=notify)) is not None:
            once(f"cannot go on: {obstacle}")
    return await mission.result() if result.finished_at is None else result


def finish(result: "MissionResult", *, as_json: bool) -> None:
    """Print a result; exit 1 if its mission did not succeed."""
    from orchestrator.cli import render_missions

    if as_json:
        print_json(result.document())
    else:
        render_missions.mission(console, result)
    if result.status.value != "succeeded":
        raise typer.Exit(1)


_WORDS = (
    "state",
    "decision",
    "title",
    "question",
    "approver",
    "reason",
    "confirmation_id",
    "question_id",
)

app.command()(answer)
app.command()(repair)
