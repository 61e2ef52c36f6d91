"""Rules on the name and the descriptions of a tool."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from orchestrator.catalog.contract import READ_ONLY
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.prose import jargon_in
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.catalog.tool_names import TOOL_NAME
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    action_of_stem,
    is_verb,
    name_words,
    stem,
    tokens,
)

_FEWEST_WORDS = 5
_READING: Final = frozenset({"get", "list", "find", "search", "show", "fetch", "retrieve", "read"})
_DETERMINERS: Final = frozenset({"a", "an", "the", "all", "this", "your", "one"})
_SESSION_VERBS: Final = frozenset(
    {
        "logout",
        "logoff",
        "signout",
        "rotate",
        "refresh",
        "regenerate",
        "resend",
        "purge",
        "shutdown",
    }
)
"""Verbs that only systems carry out, and that requests in words never have."""


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


@rule("ORC068", "note", "Tools are not deprecated")
def not_deprecated(subject: Subject) -> Iterator[Problem]:
    """Report tools that their provider is about to remove."""
    if subject.operation.node.is_true("deprecated"):
        yield Problem(
            subject.pointer_to("deprecated"),
            f"{subject.name} is deprecated: an equal tool that is not comes first",
            "mark its successor as a tool, and leave this one out",
            cause="deprecated",
        )


@rule("ORC070", "warning", "A GET that is a read changes nothing")
def get_only_reads(subject: Subject) -> Iterator[Problem]:
    """Report a GET that is called without asking although its words speak of a change."""
    if subject.tool is None or subject.declared(READ_ONLY) is not None:
        return
    why = doubt_of_get(subject.operation, subject.tool)
    if why and subject.tool.effect is Effect.READ:
        yield Problem(
            subject.pointer,
            f"{subject.name} is a GET that may change something: {why}",
            f"set {READ_ONLY}: false with a confirmation, or {READ_ONLY}: true if it only reads",
        )


def doubt_of_get(operation: Operation, tool: Tool) -> str:
    """Return why a GET may change something, by its path, name, summary and inputs; '' if it reads.

    A noun that is a verb as well ("order", "report") is a noun here, unless nothing is answered.
    """
    if not operation.is_safe:
        return ""
    words, summary = name_words(tool.name), tokens(tool.summary)
    reads = bool({*words[:1], *words[-1:], *summary[:1]} & _READING)
    answers = any(
        response.at("content") is not None
        for status, response in operation.node.items("responses")
        if status.startswith("2")
    )
    fixed = [s for s in operation.path.strip("/").split("/") if s and "{" not in s]
    for segment, following in zip_longest(fixed, fixed[1:], fillvalue=""):
        is_verbal = not following or is_verb(following)
        if is_verbal and _is_change(name_words(segment), tool, is_noun=answers):
            return f"its path says {segment!r}"
    if not reads and any(_is_change((w,), tool, is_noun=answers) for w in (words[0], words[-1])):
        return f"it is called {tool.name!r}"
    if summary[1:2] and summary[1] in _DETERMINERS and _changes(stem(summary[0]), tool):
        return f"its summary says {summary[0]!r}"
    for name in tool.required_inputs:
        values = tool.properties[name].get("enum")
        said = [v for v in (values if isinstance(values, list) else []) if isinstance(v, str)]
        if verbs := [v for v in said if _is_change(name_words(v), tool, is_noun=True)]:
            return f"{name} may be {verbs[0]!r}"
    return "" if reads or answers else "it answers with nothing"


def _is_change(words: Sequence[str], tool: Tool, *, is_noun: bool) -> bool:
    """Return True if these words are one verb of change."""
    if len(words) != 1 or (is_noun and words[0] in NOUN_LIKE_VERBS):
        return False
    return words[0] in _SESSION_VERBS or (is_verb(words[0]) and _changes(stem(words[0]), tool))


def _changes(verb: str, tool: Tool) -> bool:
    """Return True for a verb, by its stem, that changes something; to send takes something."""
    action = action_of_stem(verb)
    if action is Action.SEND:
        return bool(tool.properties)
    return action in SIDE_EFFECT_ACTIONS - {Action.CREATE}
