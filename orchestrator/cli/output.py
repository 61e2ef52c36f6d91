"""Output of commands: rich text for people, one JSON document for scripts; and questions.

Both consoles escape control and bidirectional characters, so that text of a provider cannot speak
to the terminal.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from orchestrator.core.errors import UsageError
from orchestrator.core.shown_text import visible, visible_block, visible_json

if TYPE_CHECKING:  # each takes a tenth of a second to import, and help needs none
    from pydantic import BaseModel
    from rich.status import Status

    from orchestrator.client.mission_client import MissionClient


T = TypeVar("T")
Shown = TypeVar("Shown", bound="BaseModel | Sequence[BaseModel]")

_SDK_SETTLES_S = 0.1
INTERRUPTED = 130


class CleanConsole(Console):
    """A console on which a string is one line without markup.

    Text with several lines or with styles is a rich `Text`, as `orchestrator.cli.output` makes it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as text, before it is measured and laid out."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield segments with text escaped and rich's own control codes unchanged."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible_block(text), style, control)

    def status(self, status: RenderableType, **options: Any) -> "Status":
        """Return a spinner; rich would read markup in its string."""
        label = Text(visible(status)) if isinstance(status, str) else status
        return super().status(label, **options)


console = CleanConsole()
progress = CleanConsole(stderr=True)
"""Progress goes to standard error, so that standard output can be piped."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def print_json(value: "BaseModel | Sequence[BaseModel | dict[str, Any]] | dict[str, Any]") -> None:
    """Print one JSON document on standard output; a long list is written element by element."""
    if not isinstance(value, Sequence) or not value:
        typer.echo(_json_text(value))
        return
    begin = "[\n  "
    for element in value:
        typer.echo(begin + _json_text(element).replace("\n", "\n  "), nl=False)
        begin = ",\n  "
    typer.echo("\n]")


def _json_text(value: object) -> str:
    from pydantic import TypeAdapter

    document = TypeAdapter(Any).dump_python(value, mode="json")
    return visible_json(json.dumps(document, indent=2, ensure_ascii=False))


def present(
    shown: Shown, draw: Callable[[Console, Shown], None], *, as_json: bool, ok: bool = True
) -> None:
    """Print a result for people or for scripts; exit 1 if it is not ok."""
    if as_json:
        print_json(shown)
    else:
        draw(console, shown)
    if not ok:
        raise typer.Exit(1)


def write_new(path: Path, content: bytes) -> None:
    """Write a file, for the eyes of its owner, that is not there yet."""
    from orchestrator.adapters.storage.files import create_file

    try:
        is_new = create_file(path, content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{path} cannot be written: {reason}") from None
    if not is_new:
        raise UsageError(f"{path} is there already: name a new file")


class PrintOnce:
    """Prints each message once on standard error, such as that the server is away."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def __call__(self, message: Exception | Text | str) -> None:
        """Print a message that was not printed yet."""
        text = message if isinstance(message, Text) else Text(visible(str(message)))
        if text.plain not in self._printed:
            self._printed.add(text.plain)
            progress.print(text, soft_wrap=True)


def run(work: Coroutine[Any, Any, T], *, is_service: bool = False) -> T:
    """Run a command's coroutine.

    Only a service leaves the log of Temporal's SDK on. It goes to standard output, where scripts
    read the answers of other commands.
    """
    if not is_service:
        from temporalio.runtime import Runtime, TelemetryConfig

        silent = Runtime(telemetry=TelemetryConfig(logging=None))
        Runtime.set_default(silent, error_if_already_set=False)

    async def settled() -> T:
        try:
            return await work
        finally:
            # A thread of the SDK that still finishes a call while the interpreter shuts down can
            # abort the process, and so change our exit code (temporalio/sdk-python issue 300).
            await asyncio.sleep(_SDK_SETTLES_S)

    return asyncio.run(settled())


_COLORS = {
    "succeeded": "green",
    "committed": "green",
    "incomplete": "yellow",
    "rolled_back": "yellow",
    "rolled_back_after_success": "yellow",
    "on_hold": "yellow",
    "cancelled": "yellow",
    "skipped": "yellow",
    "running": "cyan",
    "failed": "red",
    "rejected": "red",
    "unknown": "red",
    "parked": "red",
    "terminated": "red",
}

_UNBOUNDED = 100_000
"""Columns of a terminal that no table fills."""


def table_of(*columns: str) -> Table:
    """Return a table that folds long cells, except in its first column, which people copy."""
    first, *others = columns
    folding = (Column(name, overflow="fold") for name in others)
    return Table(Column(first, no_wrap=True), *folding, box=None, pad_edge=False)


def listing(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table if it fits; else each row in lines of its own, with its first cell whole."""
    table, listed = table_of(*columns), list(rows)
    for row in listed:
        table.add_row(*row)
    unbounded = console.options.update(max_width=_UNBOUNDED)
    if console.measure(table, options=unbounded).maximum <= console.width:
        console.print(table)
        return
    for first, *others in listed:
        console.print(first, soft_wrap=True)
        cells = [
            f"{name} {value}" for name, value in zip(columns[1:], others, strict=True) if value
        ]
        console.print(indented(block(", ".join(cells))))


def line(*parts: str | Text | tuple[str, str]) -> Text:
    """Return one line of these parts; a pair is a text and its style.

    Example: `line(("Price", "bold"), " ", price)`
    """
    clean = (
        part
        if isinstance(part, Text)
        else Text(visible(part))
        if isinstance(part, str)
        else Text(visible(part[0]), part[1])
        for part in parts
    )
    return Text("").join(clean)


def lines(*rows: Text) -> Text:
    """Return rows of text, a line each."""
    return Text("\n").join(rows)


def block(text: str) -> Text:
    """Return text of several lines."""
    return Text(visible_block(text))


def indented(text: Text, by: int = 2) -> Padding:
    """Return text of others, each line indented further than ours, also where it is folded."""
    return Padding(text, (0, 0, 0, by), expand=False)


def colored(status: str) -> Text:
    """Return a status in its color."""
    return Text(visible(status), _COLORS.get(status, ""))


def counting_bar() -> Progress:
    """Return a progress bar with description, count and time."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=progress,
    )


_SILENCE_S = 3.0


def ask(question: "Callable[[MissionClient], Awaitable[T]]", *, notes_silence: bool = False) -> T:
    """Return the answer of a client that is connected as the environment says.

    With `notes_silence`, an answer that takes longer than it should is noted on standard error.

    Example: `ask(lambda client: client.get(mission_id).snapshot())`
    """

    async def answered() -> T:
        from orchestrator.client.mission_client import MissionClient
        from orchestrator.runtime.process_telemetry import process_telemetry

        async with process_telemetry("orchestrator-cli", is_worker=False):
            client = await MissionClient.connect()
            if not notes_silence:
                return await question(client)
            noting = asyncio.create_task(_note_silence())
            try:
                return await question(client)
            finally:
                noting.cancel()

    return run(answered())


async def _note_silence() -> None:
    await asyncio.sleep(_SILENCE_S)
    progress.print("no answer yet: workers are busy or have just died; waiting for 20 seconds")


def is_terminal() -> bool:
    """Return true if standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_terminal(instead: str) -> None:
    """Refuse to go on without a terminal: all of a question is on standard error.

    `instead` is the option for scripts and its meaning: "--yes, which asks nothing".
    """
    if not is_terminal():
        raise UsageError(f"this asks first, and there is no terminal to ask at; give {instead}")


def confirmed(question: str, *, instead: str) -> bool:
    """Return true if the person at the terminal says yes; no is the default.

    Example: `if not confirmed("Cancel all of it?", instead="--yes, which asks nothing"): ...`
    """
    require_terminal(instead)
    return typer.confirm(visible(question), default=False, err=True)


def account_name() -> str:
    """Return the name of the account; empty if the system has none, as in some containers."""
    try:
        return getuser()
    except (KeyError, OSError):
        return ""
