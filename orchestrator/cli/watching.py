"""`orchestrator mission watch`: one mission to its end, or cards and questions of all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line, lines
from orchestrator.cli.output import INTERRUPTED, PrintOnce, console, print_json, progress
from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible_json

if TYPE_CHECKING:  # help does without them
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.messages.events import AnyEvent, MissionEvent
    from orchestrator.messages.mission import MissionResult


_SUCCEEDED = "succeeded"


def watch(
    mission_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The mission's id; none: all missions.")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Go on after the event that has this cursor."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Of all missions: end with what there is by now.")
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
    if mission_id is None:
        _feed(after=after, once=once, as_json=as_json)
        return
    if once:
        raise UsageError("--once is for all missions; one is shown by: orchestrator mission show")
    if after and not as_json:
        raise UsageError("--after goes on with events: give it together with --json")
    with going_on(mission_id):
        if not as_json:
            finish(ask(lambda client: follow(client.get(mission_id))), as_json=False)
            return
        last = ask(lambda client: follow_lines(client, mission_id, after))
    if last is None:  # the cursor was its end
        status = ask(lambda client: client.get(mission_id).snapshot()).status.value
    else:
        status = last.status
    if status != _SUCCEEDED:
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
    if result.status.value != _SUCCEEDED:
        raise typer.Exit(1)


def _feed(*, after: str | None, once: bool, as_json: bool) -> None:
    notify = PrintOnce()

    async def follow(client: "MissionClient") -> None:
        async for event in client.events(after=after, follow=not once, notify=notify):
            if as_json:
                print_line(event)
            else:
                console.print(drawn(event), soft_wrap=True)

    try:
        ask(follow)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


async def follow_lines(
    client: "MissionClient", mission_id: str, after: str | None
) -> "MissionEvent | None":
    """Print a mission's events, a line for each; return the last about the mission itself."""
    from orchestrator.messages.events import MissionEvent

    last: MissionEvent | None = None
    async for event in client.get(mission_id).events(after=after, notify=PrintOnce()):
        print_line(event)
        last = event if isinstance(event, MissionEvent) else last
    return last


def print_line(event: "AnyEvent") -> None:
    """Print one event on a line of its own."""
    document = json.dumps(event.model_dump(mode="json"), ensure_ascii=False)
    typer.echo(visible_json(document))


def drawn(event: "AnyEvent") -> Text:
    """Return one event as a line for people."""
    fields = event.model_dump(mode="json")
    whose = f"{event.mission_id}.{event.leg_id}" if event.leg_id else event.mission_id
    words = [str(fields[name]) for name in _WORDS if fields.get(name)]
    return line(f"{event.at:%H:%M:%S} ", (whose, "bold"), f" {event.kind} ", "; ".join(words))


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
