"""What a rule is and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from orchestrator.catalog.lint.subject import Subject
from orchestrator.core.record import Record

Severity = Literal["error", "warning", "note"]


class Finding(Record):
    """One thing that is wrong, where, and how to mend it."""

    code: str = Field(description="stable, e.g. ORC041")
    severity: Severity
    document: str
    pointer: str = Field(description="RFC 6901 pointer into the document, overlays applied")
    message: str
    mend: str


@dataclass(frozen=True)
class Problem:
    """What one rule says of one place; the rule's code and severity make it a Finding."""

    pointer: str
    message: str
    mend: str


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
            mend=problem.mend,
        )


@dataclass(frozen=True)
class Rule(Code):
    """A rule on single tools."""

    check: Callable[[Subject], Iterator[Problem]]

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """What the rule says of one tool."""
        for problem in self.check(subject):
            yield self.finding(subject.operation.document, problem)
