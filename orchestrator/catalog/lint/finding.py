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


class Suppression(Record):
    """Why a finding is not to be mended."""

    kind: Literal["inSource", "external"] = Field(
        description="SARIF's words: said by the document, or on the command line"
    )
    reason: str = Field(default="", description="in the words of whoever decided")


class Finding(Record):
    """One thing that is wrong, where, and how to correct it."""

    code: str = Field(description="stable, e.g. ORC041")
    severity: Severity
    document: str
    pointer: str = Field(description="RFC 6901 pointer into the document, overlays applied")
    message: str
    mend: str = Field(description="what would correct it")
    operations: int = Field(
        default=0, description="tools that it concerns; 0 where it is about the document itself"
    )
    suppressed: Suppression | None = Field(
        default=None, description="None where it is to be mended"
    )


@dataclass(frozen=True)
class Problem:
    """What one rule says of one place; the rule's code and severity make it a Finding."""

    pointer: str
    message: str
    remedy: str
    cause: str = ""
    """What problems of several tools have in common, so that one finding says it of all; else
    their place and their words, but for the name of the tool."""


@dataclass(frozen=True)
class Code:
    """What a code stands for."""

    code: str
    severity: Severity
    title: str
    is_lasting: bool = False
    """Whether nothing suppresses it: with it, what is said of a rollback would not be so."""

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


@dataclass(frozen=True, kw_only=True)
class Rule(Code):
    """A rule on single tools."""

    check: Check


def rule(
    code: str, severity: Severity, title: str, *, is_lasting: bool = False
) -> Callable[[Check], Rule]:
    """Make a rule on single tools of a check: `@rule("ORC012", "warning", "It has a summary")`.

    All rules of the modules that the linter knows are applied.
    """
    return lambda check: Rule(code, severity, title, is_lasting, check=check)


def shortened(message: str, most: int = 240) -> str:
    """A message that quotes a library's, cut to a length that can be read."""
    return message if len(message) <= most else f"{message[: most - 3]}..."
