"""Where output goes: people get rich text, scripts get one JSON document and nothing else.

Nothing that a command prints can speak to the terminal or look like our own words by hidden
characters: both consoles clean all that goes through them.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, TypeAdapter
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from orchestrator.core.shown_text import visible, visible_block, visible_json

T = TypeVar("T")
Shown = TypeVar("Shown", bound=BaseModel | Sequence[BaseModel])

_SDK_SETTLES_S = 0.1


class CleanConsole(Console):
    """A console on which text is text: a string is one line, and no markup is read in any.

    What has several lines, or a style, is given as a rich `Text`; `orchestrator.cli.drawing` makes
    them. Where one was made of text that is not clean, it is cleaned when it is drawn.
    """

    def __init__(self, **options: Any) -> None:
        """Take what any console takes."""
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """A string as text, before it is measured and laid out."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is written to the terminal; only rich's own commands to it stay as they are."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible_block(text), style, control)

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A spinner; rich would read markup in a string."""
        said = Text(visible(status)) if isinstance(status, str) else status
        return super().status(said, **options)


console = CleanConsole()
progress = CleanConsole(stderr=True)
"""Progress goes to standard error, so that standard output can be piped."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def print_json(value: BaseModel | Sequence[BaseModel | dict[str, Any]] | dict[str, Any]) -> None:
    """One JSON document on standard output; a list by its elements, for it may be a long one."""
    if not isinstance(value, Sequence) or not value:
        typer.echo(_json_text(value))
        return
    begin = "[\n  "
    for element in value:
        typer.echo(begin + _json_text(element).replace("\n", "\n  "), nl=False)
        begin = ",\n  "
    typer.echo("\n]")


def _json_text(value: object) -> str:
    document = TypeAdapter(Any).dump_python(value, mode="json")
    return visible_json(json.dumps(document, indent=2, ensure_ascii=False))


def present(
    shown: Shown, draw: Callable[[Console, Shown], None], *, as_json: bool, ok: bool = True
) -> None:
    """Print what a command came to, for people or for scripts; exit 1 when it is not ok."""
    if as_json:
        print_json(shown)
    else:
        draw(console, shown)
    if not ok:
        raise typer.Exit(1)


def run(work: Coroutine[Any, Any, T], *, is_service: bool = False) -> T:
    """Run a command's coroutine.

    Args:
        work: the coroutine.
        is_service: whether what the process prints is its log, where the warnings of Temporal's SDK
            belong. They go to standard output, amid what a script reads from other commands; these
            say in their own words what a server does not answer.
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
