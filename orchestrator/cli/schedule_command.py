"""`mission schedule` and `mission start --schedule`: missions that the server starts."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from rich.console import Console

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.output import AsJson, console, present, print_json
from orchestrator.core.errors import UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.messages.mission import MissionRequest
    from orchestrator.messages.schedules import MissionSchedule, ScheduleShown, ScheduleSummary

Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="TIME",
        help="Of --schedule: 15m, 6h, 1d, 2w or PT90M; counted from 1970, in UTC.",
    ),
]
Cron = Annotated[
    list[str] | None,
    typer.Option(
        "--cron",
        metavar="EXPR",
        help='Of --schedule: "0 9 * * MON" is each Monday at 9; repeatable.',
    ),
]
Timezone = Annotated[str, typer.Option("--timezone", help="Of --cron, such as Europe/Lisbon.")]
OverlapRule = Annotated[
    Literal["skip", "buffer-one", "buffer-all", "allow"],
    typer.Option(
        "--overlap", help="Of --schedule: for a mission that is due while the last one runs."
    ),
]
CatchUp = Annotated[
    str,
    typer.Option(
        "--catch-up",
        metavar="TIME",
        help="Of --schedule: how late one may start after the server was away.",
    ),
]
Paused = Annotated[bool, typer.Option("--paused", help="Of --schedule: begin when resumed.")]
_DONE: Final = {
    "pause": "paused",
    "resume": "resumed",
    "run": "asked to start one now",
    "delete": "deleted",
}
_SHORT: Final = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def times(
    every: str | None, cron: Sequence[str] | None, timezone: str, overlap: str, catch_up: str
) -> "MissionSchedule":
    """Return when missions are due, as the options say."""
    from orchestrator.messages.schedules import MissionSchedule, Overlap

    return MissionSchedule(
        every=None if every is None else read_duration(every, "--every"),
        cron=tuple(cron or ()),
        timezone=timezone,
        overlap=Overlap(overlap),
        catch_up=read_duration(catch_up, "--catch-up"),
    )


def read_duration(text: str, option: str) -> timedelta:
    """Return a time such as `15m`, `6h`, `1d`, `2w`, or ISO 8601 such as `PT90M`."""
    from pydantic import TypeAdapter

    length = timedelta(0)
    try:
        if short := _SHORT.fullmatch(text):
            length = timedelta(seconds=int(short[1]) * _SECONDS[short[2]])
        elif text.startswith("P"):
            length = TypeAdapter(timedelta).validate_python(text)
    except (ValueError, OverflowError):
        pass
    if length <= timedelta(0):
        raise UsageError(f"{option} {text!r}: write a time such as 15m, 6h, 1d, 2w or PT90M")
    return length


def create(
    schedule_id: str,
    request: "MissionRequest",
    when: "MissionSchedule",
    *,
    paused: bool,
    as_json: bool,
) -> None:
    """Start missions of a request again and again, and show the schedule."""

    async def made(client: "MissionClient") -> "ScheduleShown":
        await client.schedules.create(schedule_id, request, when, paused=paused)
        return await client.schedules.show(schedule_id)

    present(ask(made), _draw, as_json=as_json)


def schedule(
    schedule_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The schedule's id; none: list all.")
    ] = None,
    change: Annotated[
        Literal["pause", "resume", "run", "delete"] | None,
        typer.Argument(
            help="Pause it, resume it without the missions that were due meanwhile, start one now, "
            "or delete it; none: show it. Missions that run go on."
        ),
    ] = None,
    note: Annotated[
        str, typer.Option(help="Why it is paused or resumed, for the next person.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the schedules of missions, or show, pause, resume, run or delete one.

    `mission start --schedule` makes one.

    Example: orchestrator mission schedule rooms pause --note "the office is closed"
    """
    if schedule_id is None:
        present(ask(lambda client: client.schedules.list()), _draw_all, as_json=as_json)
    elif change is None:
        present(ask(lambda client: client.schedules.show(schedule_id)), _draw, as_json=as_json)
    else:
        noted = {"note": note} if change in ("pause", "resume") else {}
        ask(lambda client: getattr(client.schedules, change)(schedule_id, **noted))
        if as_json:
            print_json({"schedule_id": schedule_id, "done": _DONE[change]})
        else:
            console.print(f"{schedule_id}: {_DONE[change]}", soft_wrap=True)


def _draw_all(on: Console, schedules: "list[ScheduleSummary]") -> None:
    if not schedules:
        on.print("no missions are scheduled")
        return
    table = table_of("schedule", "next", "last mission", "goal")
    for one in schedules:
        table.add_row(one.schedule_id, _next(one), one.last_mission, one.goal)
    on.print(table)


def _draw(on: Console, shown: "ScheduleShown") -> None:
    from orchestrator.messages.schedules import TITLES

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


def _next(one: "ScheduleSummary") -> str:
    if one.paused:
        return "paused"
    return "never" if one.next_at is None else f"{one.next_at:%Y-%m-%d %H:%M} UTC"
