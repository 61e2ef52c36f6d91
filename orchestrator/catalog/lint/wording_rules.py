"""Rules on how a tool is called and described."""

import re
from collections.abc import Iterator

from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.tool_names import TOOL_NAME

_FEWEST_WORDS = 5
_CAMEL_CASE = re.compile(r"\b[a-z]+[A-Z]\w*\b")
_JARGON = re.compile(
    r"\b(?:endpoint|payload|request body|query param\w*|http|rest api|json|idempoten\w+|"
    r"crud|dto|upsert|webhook|uuid|boolean|nullable|enum)\b",
    re.IGNORECASE,
)


@rule("ORC010", "error", "A tool has a usable operationId")
def usable_name(subject: Subject) -> Iterator[Problem]:
    """The operationId is there and can name a tool."""
    name = subject.operation.operation_id
    if name is None:
        yield Problem(
            subject.pointer,
            f"{subject.name} has no operationId",
            "add one: it becomes the name of the tool and should never change",
        )
    elif not TOOL_NAME.fullmatch(name):
        yield Problem(
            subject.pointer_to("operationId"),
            f"the operationId {name!r} cannot name a tool",
            "use letters, digits, _ and - only, 64 at most, beginning with a letter",
        )


@rule("ORC012", "error", "A tool has a summary")
def has_summary(subject: Subject) -> Iterator[Problem]:
    """There is a summary."""
    if not _text(subject, "summary"):
        yield Problem(
            subject.pointer_to("summary"),
            f"{subject.name} has no summary",
            "say in one short sentence what it does, as a user would",
        )


@rule("ORC013", "error", "A tool is described")
def has_description(subject: Subject) -> Iterator[Problem]:
    """There is a description of more than a few words."""
    if not _is_described(_text(subject, "description")):
        yield Problem(
            subject.pointer_to("description"),
            f"{subject.name} is not described",
            "describe its scope: 'Use this when ...' and 'Returns ...'",
        )


@rule("ORC014", "warning", "Words are plain")
def plain_language(subject: Subject) -> Iterator[Problem]:
    """Summary and description are free of the provider's jargon."""
    for keyword in ("summary", "description"):
        text = _text(subject, keyword)
        found = _JARGON.search(text) or _CAMEL_CASE.search(text)
        if found is not None:
            yield Problem(
                subject.pointer_to(keyword),
                f"the {keyword} of {subject.name} says {found.group()!r}",
                "write for the person who asks, not for the programmer who calls",
            )


@rule("ORC015", "note", "A description tells its scope")
def explicit_scope(subject: Subject) -> Iterator[Problem]:
    """The description says when to use the tool and what comes back."""
    text = _text(subject, "description").lower()
    if _is_described(text) and not ("use this" in text and "return" in text):
        yield Problem(
            subject.pointer_to("description"),
            f"the description of {subject.name} does not tell its scope",
            "write 'Use this when ...' and 'Returns ...'",
        )


def _is_described(text: str) -> bool:
    return len(text.split()) >= _FEWEST_WORDS


def _text(subject: Subject, keyword: str) -> str:
    found = subject.declared(keyword)
    return found.value.strip() if found is not None and isinstance(found.value, str) else ""
