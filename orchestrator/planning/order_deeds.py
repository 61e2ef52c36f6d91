"""Whether what a tool does is what a clause orders: made, changed, ended, sent, paid."""

from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import read_once
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.deeds import is_any_change, is_vague, same_deed
from orchestrator.language.intent import Action, Slot
from orchestrator.language.words import (
    PERMITTING_VERBS,
    QUESTION_WORDS,
    STOP_WORDS,
    action_of,
    is_verb,
    name_stems,
    stem,
    tokens,
    verb_named,
)
from orchestrator.planning.rules.parameters import Kind, tool_parameters

_CHANGES_ALL: Final = frozenset({"PUT", "PATCH"})
"""Methods of HTTP that change a thing into what they are told."""


def can_serve(tool: Tool, clause: ClauseReading) -> bool:
    """Whether an effect of the tool is of the kind that the clause orders.

    What makes something serves an order to send or pay it ("create a payment"), and the other way
    round; what changes something, only an order to change it in that way. To pay and to refund are
    two things.
    """
    if not tool.is_side_effect:
        return False
    if clause.action is Action.CANCEL:
        return tool.effect is Effect.CANCEL or commands(tool, Action.CANCEL)
    if clause.verb in PERMITTING_VERBS:
        return is_asked_for_by(tool, clause.verb)
    if clause.action is Action.UNKNOWN or not clause.asks_side_effect:
        return True
    if is_vague(clause.verb):
        return tool.effect is not Effect.CANCEL or commands(tool, Action.UPDATE)
    if tool.effect is Effect.CANCEL and not commands(tool, clause.action):
        return False
    _, action = named(tool)
    if clause.action is Action.UPDATE:
        return changes_so(tool, clause.verb)
    if clause.action is action is Action.PAY:
        return is_same_deed(tool, clause)
    return action not in (Action.UPDATE, Action.CANCEL)


def changes_so(tool: Tool, verb: str) -> bool:
    """Whether the tool changes a thing as a verb says, which is no other change."""
    own, action = named(tool)
    if is_any_change(verb):
        return action is Action.UPDATE
    return is_called(tool, verb) or is_any_change(own) or tool.method in _CHANGES_ALL


def is_called(tool: Tool, verb: str) -> bool:
    """Whether a verb says what the tool does by its name, or as its summary commands it."""
    own, _ = named(tool)
    commanded = next(iter(tokens(tool.summary)), "") if tool.effect is not Effect.CANCEL else ""
    return same_deed(verb, own) or (is_verb(commanded) and same_deed(verb, commanded))


def is_same_deed(tool: Tool, clause: ClauseReading) -> bool:
    """Whether the tool is named by what the clause says is to be done, or by a word for that."""
    verb, _ = named(tool)
    if clause.action is Action.UPDATE:
        return changes_so(tool, clause.verb)
    return same_deed(clause.verb, verb)


def is_what_is_done(tool: Tool, verb: str, objects: Sequence[str]) -> bool:
    """Whether the verb alone says what the tool deals in: "expense 12 EUR for a hotel night"."""
    return bool(verb) and not objects and stem(verb) in name_stems(tool.domain)


def is_asked_for_by(tool: Tool, verb: str) -> bool:
    """Whether its document asks for what the tool changes by that verb: "print 20 flyers".

    "Have" of "have dinner sent" opens a question as well: "have we paid?". Who lets, allows.
    """
    if verb in PERMITTING_VERBS:
        return tool.is_side_effect and any(
            read_clause(example).verb in PERMITTING_VERBS for example in tool.examples
        )
    asked = (tokens(example)[:1] for example in tool.examples)
    return verb not in STOP_WORDS | QUESTION_WORDS and tool.is_side_effect and [verb] in asked


def tells(tool: Tool) -> bool:
    """Whether the tool says something to somebody: by its verb, or since it must have the words."""
    return tool.is_side_effect and (named(tool)[1] is Action.SEND or writes(tool))


def writes(tool: Tool) -> bool:
    """Whether the tool must have words, in which anything may be spoken of."""
    return any(p.required and p.kind is Kind.TEXT for p in tool_parameters(tool))


def reaches(tool: Tool, text: str, values: Iterable[Slot]) -> bool:
    """Whether the tool takes addresses where one is said, and none where a channel is: "#team"."""
    is_mail = any(slot.kind == "email" for slot in values)
    if not is_mail and not any(word.startswith("#") for word in text.split()):
        return True
    taken = (p.element or p for p in tool_parameters(tool))
    return is_mail is any(parameter.kind is Kind.EMAIL for parameter in taken)


def is_said(tool: Tool, clause: ClauseReading) -> bool:
    """Whether the clause has the verb that names the tool, wherever it stands."""
    verb, _ = named(tool)
    return stem(verb) in clause.stems


def makes(tool: Tool) -> bool:
    """Whether the tool makes a thing that was not there."""
    return named(tool)[1] is Action.CREATE


def of_the_deed(tools: Sequence[Tool], clause: ClauseReading) -> list[Tool]:
    """Of tools that can serve, best first, those that do what is ordered and not its like.

    Where the best is named by what is ordered, what is named otherwise does something else: sharing
    a file does not upload it. What makes a thing that is itself so done (a message) does the same.
    """
    if not tools or clause.action is Action.CANCEL or not is_same_deed(tools[0], clause):
        return list(tools)
    return [
        tool
        for tool in tools
        if is_same_deed(tool, clause) or _makes_what_is_done(tool, clause.action)
    ]


def _makes_what_is_done(tool: Tool, action: Action) -> bool:
    """Whether it makes what the action is done with: `schedule_message` makes what is sent."""
    verb, made = named(tool)
    words = (word for word in tokens(tool.name) if word != verb)
    wanted = action in (Action.SEND, Action.PAY) and made is Action.CREATE
    return wanted and any(action_of(word) is action for word in words)


def commands(tool: Tool, action: Action) -> bool:
    """Whether the tool's summary orders a deed of that class: "Delete a file", "Call it off"."""
    return read_clause(tool.summary).action is action


@read_once
def named(tool: Tool) -> tuple[str, Action]:
    """The verb that a tool is named by, and its class."""
    return verb_named(tool.name, tool.summary, but=tool.domain, method=tool.method)
