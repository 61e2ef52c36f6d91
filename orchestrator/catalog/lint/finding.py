"""What a rule is, how it is made, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from orchestrator.catalog.lint.subject import Subject
from orchestrator.core.record import Record

Severity = Literal["error", "warning", "note"]
MOST_FINDINGS = 50
"""Of one kind in a document that are reported: one mistake high up can cause thousands."""


class Finding(Record):
    """One thing that is wrong, where, and how to correct it."""

    code: str = Field(description="stable, e.g. ORC041")
    severity: Severity
    document: str
    pointer: str = Field(description="RFC 6901 pointer into the document, overlays applied")
    message: str
    mend: str = Field(description="what would correct it")


@dataclass(frozen=True)
class Problem:
    """What one rule says of one place; the rule's code and severity make it a Finding."""

    pointer: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Code:
    """What a code stands for."""

    code: str
    severity: Severity
    title: str

    def finding(self, document: str, problem: Problem) -> Finding:
        """A problem under this code."""
        return Finding(
            code=self.code,
            severity=self.severity,
            document=document,
            pointer=problem.pointer,
            message=problem.message,
            mend=problem.remedy,
        )


Check = Callable[[Subject], Iterator[Problem]]


@dataclass(frozen=True)
class Rule(Code):
    """A rule on single tools."""

    check: Check

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """What the rule says of one tool."""
        for problem in self.check(subject):
            yield self.finding(subject.operation.document, problem)


def rule(code: str, severity: Severity, title: str) -> Callable[[Check], Rule]:
    """Make a rule on single tools of a check: `@rule("ORC012", "error", "A tool has a summary")`.

    All rules of the modules that the linter knows are applied.
    """
    return lambda check: Rule(code, severity, title, check)


def shortened(message: str, most: int = 240) -> str:
    """A message that quotes a library's, cut to a length that can be read."""
    return message if len(message) <= most else f"{message[: most - 3]}..."
