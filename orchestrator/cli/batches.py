"""`mission start --batch`: the missions of a file in JSON Lines, JSON, YAML or CSV."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.console import Console

from orchestrator.cli.asking import account_name, ask
from orchestrator.cli.drawing import colored, table_of
from orchestrator.cli.options import as_usage, read_json, read_money
from orchestrator.cli.output import INTERRUPTED, PrintOnce, present, progress
from orchestrator.core.errors import DocumentUnreadable, UsageError

if TYPE_CHECKING:  # help does without them
    from orchestrator.client.batch import BatchEnd, BatchEntry
    from orchestrator.messages.mission import MissionRequest

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"


def run_batch(file: Path, *, name: str | None, at_once: int, as_json: bool) -> None:
    """Start the missions of a file, so many at a time, and wait for all of them."""
    entries = read_batch(file)
    called = re.sub(r"[^A-Za-z0-9_-]+", "-", file.stem).strip("-_")[:40] if name is None else name
    if not re.fullmatch(_NAME, called):
        raise UsageError(
            f"{called!r} cannot begin ids: letters, digits, '-' and '_', at most 40; give --name"
        )
    once = PrintOnce()

    def notify(entry: "BatchEntry", change: str) -> None:
        once(f"{entry.place}: {entry.request.mission_id or ''} {change}")

    try:
        ends = ask(lambda client: client.batch.run(called, entries, at_once=at_once, notify=notify))
    except KeyboardInterrupt:
        progress.print(
            "stopped; what was started goes on, and the same command goes on with the rest",
            soft_wrap=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    present(ends, _draw, as_json=as_json, ok=all(end.succeeded for end in ends))


def _draw(on: Console, ends: "list[BatchEnd]") -> None:
    table = table_of("mission", "where", "end", "why")
    for end in ends:
        table.add_row(end.mission_id, end.place, colored(end.status), end.error)
    on.print(table)
    good = sum(end.succeeded for end in ends)
    on.print(f"{good} of {len(ends)} succeeded")


_INPUT: Final = "input."
_PLAIN: Final = (
    "goal",
    "id",
    "budget",
    "requester",
    "planner",
    "model",
    "tenant",
    "priority",
    "policy",
)
"""Columns of a CSV file, besides `input.NAME`."""

Raw = tuple[str, Any]
"""The place of a request, and its content."""


def read_batch(path: Path) -> "list[BatchEntry]":
    """Return the requests of a file, in their order."""
    from orchestrator.client.batch import BatchEntry, BatchFaulty

    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DocumentUnreadable(str(path), f"its name ends in none of {', '.join(_READERS)}")
    try:
        found = list(reader(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        reason = (str(error).splitlines() or ["it cannot be read"])[0]
        raise DocumentUnreadable(str(path), reason) from error
    if not found:
        raise DocumentUnreadable(str(path), "it holds no request")
    entries, faults = [], []
    for place, raw in found:
        try:
            entries.append(BatchEntry(place=place, request=_request(raw, path.parent)))
        except (UsageError, DocumentUnreadable) as error:
            faults.append(f"{place}: {error}")
    if faults:
        raise BatchFaulty(faults)
    return entries


def _request(raw: Any, folder: Path) -> "MissionRequest":
    """Return one request as it is written in a file."""
    from pydantic import ValidationError

    from orchestrator.messages.mission import MissionRequest
    from orchestrator.settings import load_policy

    if isinstance(raw, UsageError):
        raise raw
    if not isinstance(raw, Mapping):
        raise UsageError("a request is an object with a goal")
    given = {"requester": account_name(), **raw}
    if "id" in given:
        given["mission_id"] = given.pop("id")
    if isinstance(given.get("budget"), str):
        given["budget"] = _money(given["budget"])
    if isinstance(given.get("policy"), str):
        given["policy"] = load_policy(folder / given["policy"])
    try:
        return MissionRequest.model_validate(given, extra="forbid")
    except ValidationError as error:
        raise as_usage(error) from None


def _money(text: str) -> Any:
    words = text.split()
    if len(words) != 2:
        raise UsageError(f"budget {text!r}: write an amount and a currency, such as 900 EUR")
    return read_money(*words)


def _json_lines(text: str) -> Iterator[Raw]:
    for number, written in enumerate(text.split("\n"), start=1):
        if written.strip():
            yield f"line {number}", _one_line(written)


def _one_line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return UsageError(f"it is no JSON: {error}")


def _document(load: Callable[[str], Any]) -> Callable[[str], Iterator[Raw]]:
    """Return a reader of a list that names each entry by its number."""

    def read(text: str) -> Iterator[Raw]:
        entries = load(text)
        if not isinstance(entries, list):
            raise ValueError("it should be a list of requests")
        for number, entry in enumerate(entries, start=1):
            yield f"entry {number}", entry

    return read


def _yaml(text: str) -> Any:
    from orchestrator.catalog.yaml12 import load_yaml

    return load_yaml(text)


def _csv(text: str) -> Iterator[Raw]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    columns = rows.fieldnames or []
    for name in columns:
        if name not in _PLAIN and not name.startswith(_INPUT):
            known = ", ".join(_PLAIN)
            raise ValueError(f"there is no column {name!r}: {known}, and {_INPUT}NAME for inputs")
    if len(set(columns)) < len(columns):
        raise ValueError("two of its columns have one name")
    for row in rows:
        yield f"line {rows.line_num}", _of_row(row)


def _of_row(row: Mapping[str | None, Any]) -> Any:
    """Return the request of a row, without its empty cells."""
    if None in row:
        return UsageError("it has more cells than there are columns")
    cells = {str(name): text for name, text in row.items() if text}
    inputs = {
        name.removeprefix(_INPUT): read_json(text)
        for name, text in cells.items()
        if name.startswith(_INPUT)
    }
    plain = {name: text for name, text in cells.items() if not name.startswith(_INPUT)}
    return {**plain, **({"inputs": inputs} if inputs else {})}


_READERS: Final[Mapping[str, Callable[[str], Iterator[Raw]]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _document(json.loads),
    ".yaml": _document(_yaml),
    ".yml": _document(_yaml),
    ".csv": _csv,
}
