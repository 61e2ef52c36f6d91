"""Options that several commands share, how their text is read, and the documents they name."""

import gc
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from orchestrator.cli.clean_errors import print_error
from orchestrator.cli.output import progress
from orchestrator.core.errors import OverlayWarning, SkippedWarning, UsageError

if TYPE_CHECKING:  # help and wrong usage do without them
    from pydantic import JsonValue, ValidationError
    from rich.status import Status

    from orchestrator.adapters.mcp.servers import McpServer
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.catalog.mcp_documents import McpListing
    from orchestrator.core.budget import Money
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.mission_policy import MissionPolicy
    from orchestrator.settings import Settings

Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="An OpenAPI file or a folder of them; may be repeated."),
]
Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="An OpenAPI Overlay document; may be repeated."),
]
McpServers = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp",
        metavar="URL",
        help="An MCP server, by URL or by its name in ORCHESTRATOR_MCP; may be repeated.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="PROVIDER:MODEL", help="The model that plans; see docs/planning.md."
    ),
]


MissionId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        callback=lambda named: named.partition(".")[0],
        help="The mission's id, or one of its cards, questions or obligations.",
    ),
]
WholeMission = Annotated[
    str, typer.Argument(metavar="ID", help="The mission's own id: all of it is meant.")
]


def new_app(**options: Any) -> typer.Typer:
    """Return a group of commands with plain help: rich takes a tenth of a second to load."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, **options)


def model_variables(model: str | None) -> dict[str, str]:
    """Return the environment variables that `--model` stands for."""
    from orchestrator.planning.models import CHAINING, LLM
    from orchestrator.settings import MODEL_VARIABLE, PLANNER_VARIABLE

    if model is None:
        return {}
    by_rules = os.environ.get(PLANNER_VARIABLE) == CHAINING
    return {MODEL_VARIABLE: model, **({PLANNER_VARIABLE: LLM} if by_rules else {})}


# -- values ----------------------------------------------------------------------------------------

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST_NUMBER = 4


def read_duration(text: str, option: str) -> timedelta:
    """Return the time that `90m`, `12h`, `30d` or `2w` stands for."""
    if not (length := _length(text)):
        raise UsageError(f"{option} {text!r}: write a time such as 90m, 12h, 30d or 2w")
    return length


def read_since(text: str, *, now: datetime) -> datetime:
    """Return the time that `7d` before now or an ISO 8601 time stands for."""
    if length := _length(text):
        return now - length
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--since {text!r}: write how far back, such as 90m, 36h, 7d or 2w, or a time such as "
            "2026-12-01T08:00"
        ) from None
    return read if read.tzinfo is not None else read.astimezone()


def _length(text: str) -> timedelta | None:
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdecimal() or len(number) > _LONGEST_NUMBER:
        return None
    return timedelta(**{_UNITS[unit]: int(number)})


def read_pairs(pairs: Sequence[str]) -> "JsonObject":
    """Return `["guests=2", "city=Rome"]` as {"guests": 2, "city": "Rome"}."""
    return {name: read_json(text) for name, text in map(split_pair, pairs)}


def split_pair(pair: str) -> tuple[str, str]:
    """Return name and text of `name=text`."""
    name, equals, text = pair.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{pair!r} is not NAME=VALUE, e.g. guests=2")
    return name.strip(), text


def read_json(text: str) -> "JsonValue":
    """Return the text as JSON where it is JSON, else the text itself."""
    from orchestrator.json_schema.canonical import find_defect

    def finite(number: str) -> float:
        if not math.isfinite(value := float(number)):
            raise ValueError(number)
        return value

    def whole(number: str) -> int:
        finite(number)  # an id of 400 digits is text: no receiver of JSON can hold it as a number
        return int(number)

    try:
        value: JsonValue = json.loads(
            text, parse_constant=finite, parse_float=finite, parse_int=whole
        )
    except ValueError:
        return text
    except RecursionError:
        raise UsageError("a value is nested too deep: pass it as a flat object") from None
    if (defect := find_defect(value)) is not None:
        raise UsageError(f"a value cannot be taken: {defect.reason}")
    return value


def read_money(amount: str, currency: str, *, where: str = "--budget") -> "Money":
    """Return an amount with its currency code; `where` is the option, for the refusal."""
    from decimal import Decimal, InvalidOperation

    from pydantic import ValidationError

    from orchestrator.core.budget import Money, check_currencies

    try:
        money = Money(amount=Decimal(amount), currency=currency.upper())
    except InvalidOperation:
        raise UsageError(f"{amount!r} is not a number; write: {where} 900 EUR") from None
    except ValidationError as error:
        part = error.errors()[0]["loc"][-1]
        wrong = amount if part == "amount" else currency
        raise UsageError(
            f"{wrong!r} is not a valid {part}; write an amount and a currency: {where} 900 EUR"
        ) from None
    check_currencies(money)
    return money


def read_policy(path: Path | None) -> "MissionPolicy | None":
    """Return the policy in a file, with a warning for each approval in it that never runs out."""
    from orchestrator.settings import load_policy

    policy = load_policy(path)
    for endless in policy.confirmation.unbounded_standing() if policy is not None else ():
        print_error(f"warning: {path}: {endless}")
    return policy


def as_usage(error: "ValidationError") -> UsageError:
    """Return the first fault of a validation in a sentence, with its place."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    return UsageError(f"{where}: {said}" if where else said)


# -- documents -------------------------------------------------------------------------------------


@contextmanager
def reading() -> "Iterator[Status]":
    """Show on a terminal what is being done with documents.

    The garbage collector pauses: a parsed document of 50 MB is millions of objects and no garbage,
    and looking through them takes a quarter of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        with progress.status("reading documents") as status:
            yield status
    finally:
        if was_on:
            gc.enable()


def mcp_servers(named: Sequence[str]) -> "list[McpServer]":
    """Return the MCP servers that `--mcp` names; an unknown URL is one of its own."""
    from pydantic import ValidationError

    from orchestrator.adapters.mcp.servers import McpServer
    from orchestrator.settings import load_mcp_servers, load_settings

    known = load_mcp_servers(load_settings().mcp)
    found: list[McpServer] = []
    for text in named:
        server = next((one for one in known if text in (one.name, one.url)), None)
        if server is None and "://" not in text:
            raise UsageError(
                f"{text!r} is neither a URL nor the name of a server in ORCHESTRATOR_MCP"
            )
        try:
            number = f"-{len(found) + 1}" if found else ""
            found.append(server or McpServer(name=f"mcp{number}", url=text))
        except ValidationError as error:
            raise as_usage(error) from None
    return found


def mcp_listings(named: Sequence[str] | None) -> "list[McpListing]":
    """Return what these MCP servers list now, or raise DocumentUnreadable."""
    if not named:
        return []
    from orchestrator.core.errors import DocumentUnreadable
    from orchestrator.runtime.defaults import list_mcp_servers
    from orchestrator.settings import load_settings

    listings = list_mcp_servers(load_settings(), mcp_servers(named))
    for text, listing in zip(named, listings, strict=True):
        if listing.fault:
            raise DocumentUnreadable(text, listing.fault)
    return listings


def open_catalog(
    specs: list[Path] | None,
    overlays: list[Path] | None,
    mcp: Sequence[str] | None = None,
    *,
    notes_skipped: bool = True,
) -> "Catalog":
    """Return the catalog of these paths and MCP servers, else of the settings.

    Overlays of the settings are for the documents of the settings: with other documents, or other
    overlays, they are left out.
    """
    from orchestrator.catalog.catalog import Catalog
    from orchestrator.runtime.defaults import list_mcp_servers
    from orchestrator.settings import load_settings

    settings = load_settings()
    is_given = bool(specs or mcp)
    over = settings.overlays if overlays is None and not is_given else overlays or ()
    with warnings.catch_warnings(), reading():
        warnings.simplefilter("ignore", SkippedWarning)
        listings = mcp_listings(mcp) if is_given else list_mcp_servers(settings)
        paths = specs or (() if mcp else settings.specs)
        catalog = Catalog.load(*paths, overlays=over, mcp=listings)
    if catalog.skipped and notes_skipped:
        progress.print(f"{len(catalog.skipped)} skipped; see: orchestrator tools list")
    return catalog


def note_unmarked(documents: "Mapping[str, JsonObject]", paths: Sequence[Path]) -> bool:
    """Print on standard error that no operation is a tool, if so; return true if it was."""
    from orchestrator.catalog.overlay import unmarked

    files = [
        file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])
    ]
    note = unmarked(documents, files)
    if note is not None:
        typer.echo(note, err=True)
    return note is not None


class Chosen(NamedTuple):
    """Paths of documents, and of the overlays over them."""

    specs: tuple[Path, ...]
    overlays: tuple[Path, ...]


def choose(
    settings: "Settings", specs: Sequence[Path] | None, overlays: Sequence[Path] | None
) -> Chosen:
    """Return the documents of the command line, else those of the settings.

    Overlays of the settings also apply to other documents. One that extends a document which is
    not among them is left out, with an OverlayWarning.
    """
    if overlays:
        return Chosen(tuple(specs or settings.specs), tuple(overlays))
    if not specs or not settings.overlays:
        return Chosen(tuple(specs or settings.specs), settings.overlays)
    from orchestrator.catalog.source import overlays_for

    fitting, others = overlays_for(specs, settings.overlays)
    for path, extended in others:
        warnings.warn(
            f"{path} of ORCHESTRATOR_OVERLAYS is left out: it extends {extended}, which is none of "
            "these documents",
            OverlayWarning,
            stacklevel=2,
        )
    return Chosen(tuple(specs), fitting)
