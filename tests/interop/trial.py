"""Trials of the documents of a folder: each is called at Prism, and the results are counted."""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.catalog.operations import SkippedOperation
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from tests.interop.calls import Call, Caller
from tests.interop.listing import Listed, Reading, count_findings, listed, read, without_answers
from tests.interop.prism import PrismMissing, installed, serving
from tests.interop.verdicts import Umpire, Verdict, of_answer, of_request

_SHOWN = 6
_SIDES = ("ours", "document", "prism")


@dataclass
class Disagreement:
    """Calls on which we and Prism differ for one reason."""

    about: str
    """`request` or `answer`."""
    side: str
    why: str
    calls: int
    operations: list[str]


@dataclass
class Outcome:
    """What came of one document."""

    entry: Listed
    refused: str = ""
    described: int = 0
    compiled: int = 0
    skipped: list[SkippedOperation] = field(default_factory=list)
    findings: dict[str, int] = field(default_factory=dict)
    read_s: float = 0.0
    lint_s: float = 0.0
    note: str = ""
    calls: int = 0
    judged: int = 0
    """Calls on whose request Prism can say something that can be held against us."""
    accepted: int = 0
    answers: int = 0
    answers_accepted: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    @property
    def ours(self) -> list[Disagreement]:
        """What is our fault."""
        return [one for one in self.disagreements if one.side == "ours"]


def refused(entry: Listed, why: str) -> Outcome:
    """Of a document that cannot be read at all."""
    return Outcome(entry, refused=why)


def summed_up(
    entry: Listed, reading: Reading, calls: Sequence[Call], umpire: Umpire, note: str
) -> Outcome:
    """What the calls came to."""
    requests = [(call, of_request(call, umpire)) for call in calls]
    answers = [(call, of_answer(call, umpire)) for call in calls if not note]
    judged = [verdict for _, verdict in requests if verdict and verdict.side != "prism"]
    compared = [verdict for _, verdict in answers if verdict and verdict.side != "prism"]
    return Outcome(
        entry,
        described=reading.described,
        compiled=len(reading.catalog.tools),
        skipped=list(reading.catalog.skipped),
        findings=dict(sorted(reading.findings.items())),
        read_s=round(reading.read_s, 1),
        lint_s=round(reading.lint_s, 1),
        note=note,
        calls=len(calls),
        judged=len(judged),
        accepted=sum(verdict.side == "agreed" for verdict in judged),
        answers=len(compared),
        answers_accepted=sum(verdict.side == "agreed" for verdict in compared),
        disagreements=[*_grouped("request", requests), *_grouped("answer", answers)],
    )


def _grouped(about: str, verdicts: Iterable[tuple[Call, Verdict | None]]) -> Iterator[Disagreement]:
    groups: dict[Verdict, list[str]] = {}
    for call, verdict in verdicts:
        if verdict is not None and verdict.why:
            groups.setdefault(verdict, []).append(call.operation)
    for verdict, operations in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = list(dict.fromkeys(operations))
        yield Disagreement(about, verdict.side, verdict.why, len(operations), names)


def written(outcome: Outcome) -> str:
    """Everything about one document, for reading."""
    return "\n".join(_lines(outcome))


def _lines(outcome: Outcome) -> Iterator[str]:
    entry = outcome.entry
    yield f"== {entry.name}  {entry.repository} {entry.commit[:12]} {entry.path}".rstrip()
    if outcome.refused:
        yield f"   refused: {outcome.refused}"
        return
    yield (
        f"   {outcome.described} operations, {outcome.compiled} compiled "
        f"(read in {outcome.read_s} s, linted in {outcome.lint_s} s)"
    )
    for skipped in outcome.skipped[:_SHOWN]:
        yield f"   skipped {skipped.operation} at {skipped.pointer}: {skipped.reason}"
    if len(outcome.skipped) > _SHOWN:
        yield f"   ... and {len(outcome.skipped) - _SHOWN} more skipped"
    yield "   findings: " + (_counted(outcome.findings) or "none")
    if outcome.note:
        yield f"   Prism: {outcome.note}"
    yield (
        f"   {outcome.calls} calls: {outcome.accepted} of {outcome.judged} that Prism can judge "
        f"accepted; of {outcome.answers} answers we take {outcome.answers_accepted} as it does"
    )
    for one in outcome.disagreements:
        names = "; ".join(one.operations[:_SHOWN])
        yield f"   {one.about}, {one.side}: {one.why}: {one.calls} calls ({names})"


def _counted(findings: dict[str, int]) -> str:
    return ", ".join(f"{code} {count}" for code, count in findings.items())


def table(outcomes: Sequence[Outcome]) -> str:
    """The documents side by side, in Markdown."""
    head = (
        "| document | operations | compiled | errors | warnings | calls | Prism can judge "
        "| accepted | answers | judged alike | whose: ours / document's / Prism's |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    )
    return "\n".join([head, *(_row(outcome) for outcome in outcomes), _total(outcomes)])


def _row(outcome: Outcome) -> str:
    if outcome.refused:
        return f"| {outcome.entry.name} | refused: {outcome.refused} |" + " |" * 9
    return _cells(
        outcome.entry.name,
        outcome.described,
        outcome.compiled,
        _of_severity(outcome, "error"),
        _of_severity(outcome, "warning"),
        outcome.calls,
        outcome.judged,
        f"{outcome.accepted} ({_share(outcome.accepted, outcome.judged)})",
        outcome.answers,
        outcome.answers_accepted,
        _by_side([outcome]),
    )


def _total(outcomes: Sequence[Outcome]) -> str:
    accepted, judged = sum(o.accepted for o in outcomes), sum(o.judged for o in outcomes)
    return _cells(
        "all",
        sum(o.described for o in outcomes),
        sum(o.compiled for o in outcomes),
        sum(_of_severity(o, "error") for o in outcomes),
        sum(_of_severity(o, "warning") for o in outcomes),
        sum(o.calls for o in outcomes),
        judged,
        f"{accepted} ({_share(accepted, judged)})",
        sum(o.answers for o in outcomes),
        sum(o.answers_accepted for o in outcomes),
        _by_side(outcomes),
    )


def _cells(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _of_severity(outcome: Outcome, severity: str) -> int:
    return sum(n for code, n in outcome.findings.items() if code.startswith(severity))


def _by_side(outcomes: Sequence[Outcome]) -> str:
    found: Counter[str] = Counter()
    for outcome in outcomes:
        for one in outcome.disagreements:
            found[one.side] += one.calls
    return " / ".join(str(found[side]) for side in _SIDES)


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
