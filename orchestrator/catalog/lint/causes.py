"""What rules have raised made into findings: one for each cause, however many tools it concerns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.catalog.lint.finding import Code, Finding, Problem, Suppression
from orchestrator.catalog.lint.place_uses import Uses
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.lint.suppressions import IGNORED, Ignores
from orchestrator.core.shown_text import number_of
from orchestrator.json_schema.references import parse_pointer


@dataclass(frozen=True)
class Raised:
    """What a rule says of one tool, or of a document."""

    code: Code
    document: str
    problem: Problem
    subject: Subject | None = None

    @property
    def is_lasting(self) -> bool:
        """Whether nothing suppresses it: its code says so, or a rollback calls the tool."""
        if self.code.is_lasting or self.code.severity != "error" or self.subject is None:
            return self.code.is_lasting
        return self.subject.is_called_by_rollback

    @property
    def cause(self) -> tuple[str, ...]:
        """What others that come from the same have in common with it."""
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
    """A finding for each cause, at the first of its places, with the number of tools it concerns.

    Args:
        raised: in any order.
        uses: how many tools make use of a place, for each document that could be read.
        ignores: what these documents say is not to be mended.
        ignored: codes that whoever asks does not want to be told of.
    """
    groups: dict[tuple[object, ...], list[tuple[Raised, Suppression | None]]] = {}
    for found in sorted(raised, key=lambda r: (r.document, steps_of(r.problem.pointer))):
        suppression = _suppression(found, ignores.get(found.document), ignored)
        key = (found.code.code, found.document, found.cause, suppression)
        groups.setdefault(key, []).append((found, suppression))
    findings = [_finding(group, uses) for group in groups.values()]
    for document, of_document in ignores.items():
        for problem in of_document.problems():
            unheeded = Raised(IGNORED, document, problem)
            findings.append(_finding([(unheeded, _asked(unheeded, ignored))], uses))
    return findings


def steps_of(pointer: str) -> tuple[tuple[int, int, str], ...]:
    """What a pointer is sorted by: elements of lists by their number."""
    return tuple(
        (0, int(step), "") if step.isascii() and step.isdigit() else (1, 0, step)
        for step in parse_pointer(pointer)
    )


def _suppression(
    found: Raised, ignores: Ignores | None, ignored: frozenset[str]
) -> Suppression | None:
    if ignores is not None:
        places = [parse_pointer(found.problem.pointer)]
        if found.subject is not None:
            places.append(found.subject.operation.node.path)
        said = ignores.find(found.code, places, is_lasting=found.is_lasting)
        if said is not None:
            return said
    return _asked(found, ignored)


def _asked(found: Raised, ignored: frozenset[str]) -> Suppression | None:
    is_asked = found.code.code in ignored and not found.is_lasting
    return Suppression(kind="external") if is_asked else None


def _finding(group: list[tuple[Raised, Suppression | None]], uses: Mapping[str, Uses]) -> Finding:
    first, suppression = group[0]
    problem = first.problem
    places = {
        found.subject.pointer if found.subject else found.problem.pointer for found, _ in group
    }
    number = len(places)
    if first.subject is None and number == 1:
        known = uses.get(first.document)
        number = known.of(parse_pointer(problem.pointer)) if known is not None else 0
    others = f" (and {number_of(len(places) - 1, 'more operation')})" if len(places) > 1 else ""
    return Finding(
        code=first.code.code,
        severity=first.code.severity,
        document=first.document,
        pointer=problem.pointer,
        message=problem.message + others,
        mend=problem.remedy,
        operations=number,
        suppressed=suppression,
    )
