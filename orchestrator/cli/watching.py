"""What happens in missions, a line an event: `mission watch --json`, `feed`, `event-types`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestrator.cli.asking import ask
from orchestrator.cli.drawing import line, table_of
from orchestrator.cli.output import console, print_json, progress
from orchestrator.core.record import Record
from orchestrator.core.shown_text import visible_json

if TYPE_CHECKING:  # drawing a thing needs no import of where it comes from
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.messages.events import AnyEvent, MissionEvent

_STOPPED = 130

After = Annotated[
    str | None,
    typer.Option(metavar="CURSOR", help="Go on after the event that has this cursor."),
]
Lines = Annotated[bool, typer.Option("--json", help="Print one JSON document a line.")]


def feed(
    after: After = None,
    once: Annotated[
        bool, typer.Option("--once", help="End with what there is by now, instead of going on.")
    ] = False,
    as_json: Lines = False,
) -> None:
    """Cards and questions of all missions: opened, decided, answered, expired; Ctrl-C ends it.

    Example: orchestrator mission feed --json
    """
    tell = _Teller()

    async def follow(client: "MissionClient") -> None:
        async for event in client.events(after=after, follow=not once, tell=tell):
            if as_json:
                print_line(event)
            else:
                console.print(drawn(event), soft_wrap=True)

    try:
        ask(follow)
    except KeyboardInterrupt:
        raise typer.Exit(_STOPPED) from None


async def follow_lines(
    client: "MissionClient", mission_id: str, after: str | None
) -> "MissionEvent | None":
    """Print a mission's events, a line for each; the last that it told of itself."""
    from orchestrator.messages.events import MissionEvent

    last: MissionEvent | None = None
    async for event in client.get(mission_id).events(after=after, tell=_Teller()):
        print_line(event)
        last = event if isinstance(event, MissionEvent) else last
    return last


def print_line(event: "AnyEvent") -> None:
    """One event on a line of its own, at once."""
    document = json.dumps(event.model_dump(mode="json"), ensure_ascii=False)
    typer.echo(visible_json(document))


def drawn(event: "AnyEvent") -> Text:
    """One event for people: when, whose, what."""
    told = event.model_dump(mode="json")
    whose = f"{event.mission_id}.{event.leg_id}" if event.leg_id else event.mission_id
    words = [str(told[name]) for name in _WORDS if told.get(name)]
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


class EventTypeRow(Record):
    """One type of event, as it is listed."""

    kind: str
    means: str
    fields: tuple[str, ...]
    in_feed: bool

    @property
    def markdown(self) -> str:
        """A row of a table."""
        fields = ", ".join(f"`{name}`" for name in self.fields)
        return f"| `{self.kind}` | {self.means} | {fields} | {'yes' if self.in_feed else ''} |"


def event_types(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The table of docs/observing.md.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """The types of events, with what each means and has beside what all have.

    Example: orchestrator mission event-types
    """
    if markdown:
        typer.echo(event_type_table())
        return
    rows = event_type_rows()
    if as_json:
        print_json(rows)
        return
    table = table_of("kind", "means", "fields", "in the feed")
    for row in rows:
        table.add_row(row.kind, row.means, ", ".join(row.fields), "yes" if row.in_feed else "")
    console.print(table)


def event_type_table() -> str:
    """The table of docs/observing.md."""
    head = ("| kind | means | fields | in the feed |", "|---|---|---|---|")
    return "\n".join([*head, *(row.markdown for row in event_type_rows())])


def event_type_rows() -> list[EventTypeRow]:
    """The table of event types, in the order of `EVENT_TYPES`."""
    from orchestrator.messages.events import EVENT_TYPES, FEED_KINDS, Event, kind_of

    shared = set(Event.model_fields)
    return [
        EventTypeRow(
            kind=kind_of(one),
            means=(one.__doc__ or "").partition("\n")[0].rstrip("."),
            fields=tuple(name for name in one.model_fields if name not in shared),
            in_feed=kind_of(one) in FEED_KINDS,
        )
        for one in EVENT_TYPES
    ]


class _Teller:
    """Says on standard error what is in the way, each thing once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, absence: Exception) -> None:
        if (news := str(absence)) not in self._told:
            self._told.add(news)
            progress.print(line(news), soft_wrap=True)
