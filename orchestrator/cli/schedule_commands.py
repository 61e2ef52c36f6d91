"""`orchestrator mission schedule ...`: missions that the server starts again and again."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.mission_requests import takes_request
from orchestrator.cli.options import read_duration
from orchestrator.cli.output import AsJson, console, present, print_json
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.schedules import (
    TITLES,
    MissionSchedule,
    Overlap,
    ScheduleShown,
    ScheduleSummary,
)

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.client.mission_client import MissionClient

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Missions on a schedule: the server starts one each time it is due.",
)

ScheduleId = Annotated[str, typer.Argument(metavar="ID", help="The schedule's id.")]
Note = Annotated[str, typer.Option(help="Why, for who looks at it next.")]


@app.command()
@takes_request()
def create(
    request: MissionRequest,
    schedule_id: ScheduleId,
    every: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="15m, 6h, 1d, 2w or PT90M; counted from 1970, in UTC."),
    ] = None,
    cron: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPR", help='"0 9 * * MON" is each Monday at 9; repeatable.'),
    ] = None,
    timezone: Annotated[str, typer.Option(help="Of --cron, such as Europe/Lisbon.")] = "UTC",
    overlap: Annotated[
        Overlap, typer.Option(help="What becomes of one that is due while the last one runs.")
    ] = Overlap.SKIP,
    catch_up: Annotated[
        str,
        typer.Option(metavar="TIME", help="How late one may start that no server was there for."),
    ] = "1h",
    paused: Annotated[bool, typer.Option("--paused", help="Begin with `resume`.")] = False,
    as_json: AsJson = False,
) -> None:
    """Have a mission started again and again; each is one of its own, with cards of its own.

    "tomorrow" in the goal is read by each from its own day. Personal values are not taken here:
    keep them with `orchestrator pii set`.

    Example: orchestrator mission schedule create rooms "Book a desk in Lisbon" --cron "0 9 * * MON"
    """
    when = MissionSchedule(
        every=None if every is None else read_duration(every, "--every"),
        cron=tuple(cron or ()),
        timezone=timezone,
        overlap=overlap,
        catch_up=read_duration(catch_up, "--catch-up"),
    )

    async def made(client: "MissionClient") -> ScheduleShown:
        await client.schedules.create(schedule_id, request, when, paused=paused)
        return await client.schedules.show(schedule_id)

    present(ask(made), _draw, as_json=as_json)


@app.command("list")
def list_schedules(as_json: AsJson = False) -> None:
    """All schedules of missions, and when each starts its next one.

    Example: orchestrator mission schedule list
    """
    present(ask(lambda client: client.schedules.list()), _draw_all, as_json=as_json)


@app.command()
def show(schedule_id: ScheduleId, as_json: AsJson = False) -> None:
    """One schedule: when it starts missions, and the last ones that it started.

    Example: orchestrator mission schedule show rooms
    """
    present(ask(lambda client: client.schedules.show(schedule_id)), _draw, as_json=as_json)


@app.command()
def pause(schedule_id: ScheduleId, note: Note = "", as_json: AsJson = False) -> None:
    """Start no mission by it until it is resumed; those that run go on.

    Example: orchestrator mission schedule pause rooms --note "the office is closed"
    """
    ask(lambda client: client.schedules.pause(schedule_id, note=note))
    _tell(schedule_id, "paused", as_json=as_json)


@app.command()
def resume(schedule_id: ScheduleId, note: Note = "", as_json: AsJson = False) -> None:
    """Start missions by it again; what was due while it was paused is left out.

    Example: orchestrator mission schedule resume rooms
    """
    ask(lambda client: client.schedules.resume(schedule_id, note=note))
    _tell(schedule_id, "resumed", as_json=as_json)


@app.command()
def run(schedule_id: ScheduleId, as_json: AsJson = False) -> None:
    """Start a mission now, as if one were due; a rule about one that still runs holds.

    Example: orchestrator mission schedule run rooms
    """
    ask(lambda client: client.schedules.run(schedule_id))
    _tell(schedule_id, "asked to start one now", as_json=as_json)


@app.command()
def delete(schedule_id: ScheduleId, as_json: AsJson = False) -> None:
    """Take a schedule away; missions that it has started go on.

    Example: orchestrator mission schedule delete rooms
    """
    ask(lambda client: client.schedules.delete(schedule_id))
    _tell(schedule_id, "deleted", as_json=as_json)


def _tell(schedule_id: str, done: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"schedule_id": schedule_id, "done": done})
    else:
        console.print(f"{schedule_id}: {done}", soft_wrap=True)


def _draw_all(on: Console, schedules: list[ScheduleSummary]) -> None:
    if not schedules:
        on.print("no missions are scheduled")
        return
    table = table_of("schedule", "next", "last mission", "goal")
    for one in schedules:
        table.add_row(one.schedule_id, _next(one), one.last_mission, one.goal)
    on.print(table)


def _draw(on: Console, shown: ScheduleShown) -> None:
    when = shown.when
    times = [f"every {when.every}"] if when.every is not None else []
    times += [f"{text} ({when.timezone})" for text in when.cron]
    on.print(line((shown.schedule_id, "bold"), "  ", _next(shown)), soft_wrap=True)
    on.print(line(shown.goal), soft_wrap=True)
    for name, text in (
        ("when", "; ".join(times)),
        ("overlap", TITLES[when.overlap]),
        ("requester", shown.requester),
        ("task queue", shown.task_queue),
        ("note", shown.note),
        ("running", ", ".join(shown.running)),
        ("started", f"{shown.started}, left out {shown.skipped}, missed {shown.missed}"),
        ("last", ", ".join(shown.recent)),
    ):
        if text:
            on.print(line(f"  {name}: ", text), soft_wrap=True)


def _next(one: ScheduleSummary) -> str:
    if one.paused:
        return "paused"
    return _moment(one.next_at) if one.next_at is not None else "never"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
