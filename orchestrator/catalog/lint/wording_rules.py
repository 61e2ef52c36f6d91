"""Rules on the name and the descriptions of a tool."""

from collections.abc import Iterator

from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.prose import jargon_in
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.tool_names import TOOL_NAME

_FEWEST_WORDS = 5


@rule("ORC010", "note", "A tool has a usable operationId")
def usable_name(subject: Subject) -> Iterator[Problem]:
    """Require an operationId that can name a tool."""
    name = subject.operation.operation_id
    called = f", so it is called {subject.tool.name}" if subject.tool is not None else ""
    if name is None:
        yield Problem(
            subject.pointer,
            f"{subject.name} has no operationId{called}",
            "add one: it becomes the name of the tool and should never change",
            cause="no name",
        )
    elif not TOOL_NAME.fullmatch(name):
        yield Problem(
            subject.pointer_to("operationId"),
            f"the operationId {name!r} cannot name a tool{called}",
            "use letters, digits, _ and - only, 64 at most, beginning with a letter",
            cause="unusable names",
        )


@rule("ORC012", "warning", "A tool has a summary")
def has_summary(subject: Subject) -> Iterator[Problem]:
    """Require a summary."""
    if not _text(subject, "summary"):
        yield Problem(
            subject.pointer_to("summary"),
            f"{subject.name} has no summary",
            "say in one short sentence what it does, as a user would",
        )


@rule("ORC013", "warning", "A tool is described")
def has_description(subject: Subject) -> Iterator[Problem]:
    """Require a description, or a summary, of more than a few words."""
    if not any(_is_described(_text(subject, keyword)) for keyword in ("description", "summary")):
        yield Problem(
            subject.pointer_to("description"),
            f"{subject.name} is not described",
            "describe its scope: 'Use this when ...' and 'Returns ...'",
        )


@rule("ORC014", "note", "Words are plain")
def plain_language(subject: Subject) -> Iterator[Problem]:
    """Require a summary and a description without jargon."""
    for keyword in ("summary", "description"):
        for found in jargon_in(_text(subject, keyword), subject.prose):
            yield Problem(
                subject.pointer_to(keyword),
                f"the {keyword} of {subject.name} says {found.word!r}, {found.reason}",
                "spell it out, or write what a person would call it: requests are matched by words",
                cause=found.word,
            )


@rule("ORC015", "note", "A description tells its scope")
def explicit_scope(subject: Subject) -> Iterator[Problem]:
    """Require a description of when to use the tool and of its answer."""
    text = _text(subject, "description").lower()
    if _is_described(text) and not ("use this" in text and "return" in text):
        yield Problem(
            subject.pointer_to("description"),
            f"the description of {subject.name} does not tell its scope",
            "write 'Use this when ...' and 'Returns ...'",
            cause="scope",
        )


def _is_described(text: str) -> bool:
    return len(text.split()) >= _FEWEST_WORDS


def _text(subject: Subject, keyword: str) -> str:
    found = subject.declared(keyword)
    return found.value.strip() if found is not None and isinstance(found.value, str) else ""
