"""Findings: rules yield problems, suppressions silence some of them, and equal causes merge."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import Field, JsonValue

from orchestrator.catalog.contract import LINT_IGNORE as KEY
from orchestrator.catalog.lint.subject import Subject, Uses
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import number_of
from orchestrator.json_schema.references import format_pointer, parse_pointer

Severity = Literal["error", "warning", "note"]
MOST_FINDINGS = 50
"""Limit of findings per code and document; one mistake high up can cause thousands."""
_Path = tuple[str, ...]
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose content is a provider's data and contains no suppressions."""


class Suppression(Record):
    """The reason why a finding may stay."""

    kind: Literal["inSource", "external"] = Field(
        description="as in SARIF: by the document, or on the command line"
    )
    reason: str = Field(default="", description="as the suppression states it")


class Finding(Record):
    """A fault, its place, and its fix."""

    code: str = Field(description="stable, e.g. ORC041")
    severity: Severity
    document: str
    pointer: str = Field(description="RFC 6901 pointer into the document, overlays applied")
    message: str
    fix: str
    operations: int = Field(
        default=0, description="number of tools concerned; 0 if it is about the document itself"
    )
    suppressed: Suppression | None = Field(default=None, description="None if it is to be fixed")


@dataclass(frozen=True)
class Problem:
    """A fault that a rule reports at one place; the rule's code and severity make it a Finding."""

    pointer: str
    message: str
    remedy: str = ""
    """The fix; by default that of its code."""
    cause: str = ""
    """Key shared by problems of several tools that become one finding.

    By default, the place and the words without the tool's name.
    """


class Code(Record):
    """The meaning of one code, from codes.yaml."""

    severity: Severity
    lasting: bool = Field(
        default=False, description="true if it cannot be suppressed: rollback would not work"
    )
    finds: str
    fix: str


CODES: Final[Mapping[str, Code]] = {
    code: Code.model_validate(content)
    for code, content in yaml.load(
        Path(__file__).with_name("codes.yaml").read_text(encoding="utf-8"), Loader=_LOADER
    ).items()
}
Check = Callable[[Subject], Iterator[Problem]]


@dataclass(frozen=True)
class Rule:
    """A check of single tools, with the code of its problems."""

    code: str
    check: Check


def rule(code: str) -> Callable[[Check], Rule]:
    """Make a rule from a check of single tools: `@rule("ORC012")`.

    The linter applies every rule of its rule modules; codes.yaml explains the code.
    """
    return lambda check: Rule(code, check)


def shortened(message: str, most: int = 240) -> str:
    """Return a shortened message; it may quote a library's text."""
    return message if len(message) <= most else f"{message[: most - 3]}..."


IGNORED = "ORC065"


@dataclass(frozen=True)
class Ignore:
    """A suppressed code at a place, and below it."""

    code: str
    reason: str
    place: _Path
    pointer: str


class Ignores:
    """The suppressions of a document, and their use."""

    def __init__(self, root: JsonObject, is_examined: Callable[[_Path], bool]) -> None:
        """Take the document, overlays applied, and the test for places that the linter examines."""
        self._by_place: dict[_Path, list[Ignore]] = {}
        self._malformed: list[str] = []
        self._used: set[Ignore] = set()
        self._refused: set[Ignore] = set()
        for path, value in _written(root):
            if not is_examined(path):
                continue
            self._by_place[path] = noted = []
            entries: list[Any] = value if isinstance(value, list) else [None]
            if all(
                isinstance(entry, dict)
                and {"code"} <= entry.keys() <= {"code", "reason"}
                and all(isinstance(said, str) for said in entry.values())
                for entry in entries
            ):
                for index, entry in enumerate(entries):
                    pointer = format_pointer((*path, KEY, str(index)))
                    reason = entry.get("reason", "").strip()
                    noted.append(Ignore(entry["code"], reason, path, pointer))
            elif path and not (path[0] == "paths" and len(path) == 3):
                # On an operation and at the root, ORC036 reports the malformed value.
                self._malformed.append(format_pointer((*path, KEY)))

    def find(self, code: str, places: Iterable[_Path], *, is_lasting: bool) -> Suppression | None:
        """Return the suppression of a finding at one of these places or above, or None."""
        for place in places:
            for length in range(len(place), -1, -1):
                for ignore in self._by_place.get(place[:length], ()):
                    if ignore.code == code and is_lasting:
                        self._refused.add(ignore)
                    elif ignore.code == code:
                        self._used.add(ignore)
                        return Suppression(kind="inSource", reason=ignore.reason)
        return None

    def problems(self) -> Iterator[Problem]:
        """Yield ORC065 for suppressions that are malformed, refused, unused or without a reason."""
        for pointer in self._malformed:
            text = f"{KEY} holds something that is no code of a finding with a reason"
            fix = 'write a list such as [{code: ORC024, reason: "why it stays as it is"}]'
            yield Problem(pointer, text, fix)
        for ignore in (ignore for listed in self._by_place.values() for ignore in listed):
            if ignore in self._refused:
                text = f"{ignore.code} stays: with it a rollback would not do what is said of it"
                yield Problem(ignore.pointer, text, "fix the finding, and remove this")
            elif ignore not in self._used:
                text = f"there is no {ignore.code} here that could be suppressed"
                fix = "remove it, or move it to the place of the finding or around it"
                yield Problem(ignore.pointer, text, fix)
            elif not ignore.reason:
                text = f"{ignore.code} is suppressed, and nothing says why"
                yield Problem(ignore.pointer, text, "add a reason: those who come later cannot ask")


def _written(root: JsonObject) -> Iterator[tuple[_Path, JsonValue]]:
    """Yield each place with the keyword, and its value there."""
    waiting: list[tuple[_Path, JsonValue]] = [((), root)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            # Under `properties` each key is the name of a field, even if it looks like a keyword.
            names_fields = path[-1:] == ("properties",)
            if KEY in value and not names_fields:
                yield path, value[KEY]
            waiting += [
                ((*path, key), inner)
                for key, inner in value.items()
                if isinstance(inner, dict | list) and (names_fields or key not in _DATA)
            ]
        elif isinstance(value, list):
            inner = (v for v in enumerate(value) if isinstance(v[1], dict | list))
            waiting += [((*path, str(index)), item) for index, item in inner]


@dataclass(frozen=True)
class Raised:
    """A problem of one tool, or of a document."""

    code: str
    document: str
    problem: Problem
    subject: Subject | None = None

    @property
    def is_lasting(self) -> bool:
        """True if it cannot be suppressed: by its code, or because rollback calls the tool."""
        code = CODES[self.code]
        if code.lasting or code.severity != "error" or self.subject is None:
            return code.lasting
        return self.subject.is_called_by_rollback

    @property
    def cause(self) -> tuple[str, ...]:
        """Key shared by problems with the same cause."""
        problem = self.problem
        if problem.cause or self.subject is None:
            return problem.cause, "" if problem.cause else problem.pointer + problem.message
        name = self.subject.name
        return problem.pointer, problem.message.replace(name, ""), problem.remedy.replace(name, "")


def merged(
    raised: Iterable[Raised],
    uses: Mapping[str, Uses],
    ignores: Mapping[str, Ignores],
    ignored: frozenset[str],
) -> list[Finding]:
    """Return one finding for each cause, at its first place, with the number of tools concerned.

    Args:
        raised: in any order.
        uses: the number of tools that use a place, for each readable document.
        ignores: suppressions of these documents.
        ignored: codes that the caller suppresses.
    """
    groups: dict[tuple[object, ...], list[tuple[Raised, Suppression | None]]] = {}
    for found in sorted(raised, key=lambda r: (r.document, steps_of(r.problem.pointer))):
        suppression = None
        if (written := ignores.get(found.document)) is not None:
            at = [parse_pointer(found.problem.pointer)]
            at += [found.subject.operation.node.path] if found.subject is not None else []
            suppression = written.find(found.code, at, is_lasting=found.is_lasting)
        suppression = suppression or _requested(found, ignored)
        key = (found.code, found.document, found.cause, suppression)
        groups.setdefault(key, []).append((found, suppression))
    findings = [_finding(group, uses) for group in groups.values()]
    for document, of_document in ignores.items():
        for problem in of_document.problems():
            unheeded = Raised(IGNORED, document, problem)
            findings.append(_finding([(unheeded, _requested(unheeded, ignored))], uses))
    return findings


def steps_of(pointer: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key of a pointer: elements of lists by their number."""
    return tuple(
        (0, int(step), "") if step.isascii() and step.isdigit() else (1, 0, step)
        for step in parse_pointer(pointer)
    )


def _requested(found: Raised, ignored: frozenset[str]) -> Suppression | None:
    is_asked = found.code in ignored and not found.is_lasting
    return Suppression(kind="external") if is_asked else None


def _finding(group: list[tuple[Raised, Suppression | None]], uses: Mapping[str, Uses]) -> Finding:
    first, suppression = group[0]
    problem = first.problem
    places = {one.subject.pointer if one.subject else one.problem.pointer for one, _ in group}
    number = len(places)
    others = f" (and {number_of(number - 1, 'more operation')})" if number > 1 else ""
    if first.subject is None and number == 1:
        known = uses.get(first.document)
        number = known.of(parse_pointer(problem.pointer)) if known is not None else 0
    found = plain_finding(first.code, first.document, problem)
    changes = {"message": found.message + others, "operations": number, "suppressed": suppression}
    return found.model_copy(update=changes)


def plain_finding(code: str, document: str, problem: Problem) -> Finding:
    """Return a problem as a finding about the document itself."""
    fix = CODES[code].fix
    return Finding(
        code=code,
        severity=CODES[code].severity,
        document=document,
        pointer=problem.pointer,
        message=problem.message,
        fix=problem.remedy or f"{fix[:1].lower()}{fix[1:]}",
    )
