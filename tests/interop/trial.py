"""Tries the documents of a folder, one after the other, and writes down what came of each."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from tests.interop.calls import Call, Caller
from tests.interop.listing import Listed, listed
from tests.interop.prism import PrismMissing, installed, serving
from tests.interop.reading import Reading, count_findings, read, without_answers
from tests.interop.report import Outcome, refused, summed_up, table, written
from tests.interop.umpire import Umpire

_STARTS_WITHIN_S: Final = 60.0


def try_documents(options: argparse.Namespace) -> int:
    """Try every document that was chosen; 1 when a disagreement is ours."""
    try:
        script = installed(options.cache)
    except PrismMissing as missing:
        sys.stderr.write(f"{missing}\n")
        return 1
    chosen = [e for e in listed(options.folder) if not options.only or e.name in options.only]
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for entry in chosen:
        outcome, calls = _try(entry, options.folder, script, options.most)
        outcomes.append(outcome)
        sys.stdout.write(written(outcome) + "\n")
        sys.stdout.flush()
        if options.out is not None:
            _keep(options.out, outcome, calls)
    sys.stdout.write(table(outcomes) + "\n")
    return int(any(outcome.ours for outcome in outcomes))


def _try(entry: Listed, folder: Path, script: Path, most: int | None) -> tuple[Outcome, list[Call]]:
    path = folder / entry.file
    try:
        reading = read(path)
    except OrchestratorError as error:
        return refused(entry, str(error)), []
    count_findings(reading)
    note = ""
    try:
        with _prism(script, path, reading.document) as (address, note):
            calls = asyncio.run(_called(reading, address, most))
    except PrismMissing as missing:
        calls, note = [], str(missing)
    return summed_up(entry, reading, calls, Umpire(reading.document), note), calls


@contextmanager
def _prism(script: Path, path: Path, document: JsonObject) -> Iterator[tuple[str, str]]:
    """The address of a Prism for the document, and what it does not know of it.

    Where it does not read the whole, as recursive answers keep it from doing, it is given the
    document without the bodies of answers: then it judges requests alone.
    """
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "prism.log"
        try:
            with serving(script, path, log, within_s=_STARTS_WITHIN_S) as address:
                yield address, ""
                return
        except PrismMissing as missing:
            why = str(missing)
        lean = Path(scratch) / "document.json"
        lean.write_text(json.dumps(without_answers(document)), encoding="utf-8")
        with serving(script, lean, log, within_s=_STARTS_WITHIN_S) as address:
            yield address, f"{why}; without its answers it did"


async def _called(reading: Reading, address: str, most: int | None) -> list[Call]:
    caller = Caller(reading.catalog, address)
    calls: list[Call] = []
    try:
        for tool in list(reading.catalog.tools.values())[:most]:
            calls += await caller.calls(tool)
    finally:
        await caller.aclose()
    return calls


def _keep(folder: Path, outcome: Outcome, calls: list[Call]) -> None:
    """Every call, a line each, and what it all came to."""
    name = outcome.entry.name.replace("/", "+")
    lines: list[Any] = [asdict(call) for call in calls]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{name}.calls.jsonl").write_text(text, encoding="utf-8")
    nested = {"skipped": [one.model_dump() for one in outcome.skipped]}
    summary = json.dumps({**asdict(outcome), **nested}, indent=2)
    (folder / f"{name}.json").write_text(summary + "\n", encoding="utf-8")
