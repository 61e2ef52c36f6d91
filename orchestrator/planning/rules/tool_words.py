"""The words with which people refer to a tool: its name, summary, tags and inputs."""

from collections.abc import Collection, Sequence
from typing import Final

from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import read_once
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.synonyms import equals_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    STOP_WORDS,
    action_of,
    action_of_stem,
    content_stems,
    stem,
    tokens,
    verb_named,
)
from orchestrator.planning.rules.parameters import Parameter

_LISTS: Final = WordLists("rules")
_NESTED: Final = ("properties", "items", "anyOf", "oneOf", "allOf", "$defs")
_MOST_LEVELS: Final = 5
_SPECIFIC: Final = _LISTS.word_set("specific")
_PLAIN_CHANGES: Final = _LISTS.word_set("plain_changes")
_MAKING: Final = frozenset({Action.CREATE, Action.EXECUTE, Action.PAY, Action.SEND, Action.UPDATE})


@read_once
def verb_of(tool: Tool) -> tuple[str, Action]:
    """Return the verb in a tool's name and its class, which the tool's effect overrides."""
    verb, action = verb_named(
        tool.name, tool.summary or tool.description, but=tool.domain, method=tool.method
    )
    ends = tool.method == "DELETE" or Action.CANCEL in {action_of_stem(v) for v in verbs_of(tool)}
    if tool.effect is Effect.CANCEL or (tool.is_side_effect and ends):
        return verb, Action.CANCEL
    if tool.effect is Effect.READ and (action in SIDE_EFFECT_ACTIONS or action is Action.UNKNOWN):
        return verb, Action.READ
    return verb, action


@read_once
def verbs_of(tool: Tool) -> frozenset[str]:
    """Return the stems of the verbs for a tool's action, in its summary, name and path."""
    domain = {*content_stems(tool.domain)}
    named = [word for word in tokens(tool.name) if stem(word) not in domain]
    if len(named) > 1 and named[0] == tool.method.lower():
        named = named[1:]
    ends = [part for part in tool.path.split("/") if part]
    done = tokens(ends[-1]) if len(ends) > 1 and "{" in ends[-2] and "{" not in ends[-1] else []
    words = [*named[:1], *done]
    known = [word for word in words if action_of(word) is not Action.UNKNOWN]
    return frozenset(stem(word) for word in (*tokens(tool.summary)[:1], *known))


@read_once
def nouns_of(tool: Tool) -> frozenset[str]:
    """Return the stems of the things in a tool's name and summary."""
    text = f"{tool.name} {tool.summary} {tool.path}"
    return frozenset(content_stems(text)) - verbs_of(tool)


@read_once
def named_nouns(tool: Tool) -> frozenset[str]:
    """Return the stems of the things in a tool's name, or in its summary if the name has none."""
    own = frozenset(content_stems(tool.name)) - verbs_of(tool)
    return own or nouns_of(tool)


@read_once
def own_words(tool: Tool) -> frozenset[str]:
    """Return the stems of every word in a tool's texts, its inputs and their values."""
    values: list[str] = []
    for part in walk(tool.input_schema, _NESTED, most_levels=_MOST_LEVELS):
        listed = part.get("enum")
        values += [str(one) for one in listed] if isinstance(listed, list) else []
    return unvalued_words(tool) | _stems(tool, " ".join(values))


@read_once
def unvalued_words(tool: Tool) -> frozenset[str]:
    """Return the stems of every word in a tool's texts and the names of its inputs."""
    return _words_of_texts(tool) | _stems(tool, " ".join(_input_names(tool)))


@read_once
def _words_of_texts(tool: Tool) -> frozenset[str]:
    texts = [tool.name, tool.summary, tool.domain, tool.document, tool.path, *tool.intent_tags]
    return _stems(tool, " ".join(texts))


@read_once
def _input_names(tool: Tool) -> list[str]:
    parts = walk(tool.input_schema, _NESTED, most_levels=_MOST_LEVELS)
    return [name for part in parts for name in properties_of(part)]


def _stems(tool: Tool, text: str) -> frozenset[str]:
    stems = frozenset(content_stems(text))
    return stems.union(*(equals_of(one) for one in stems - verbs_of(tool)))


def vocabulary(tools: Sequence[Tool], empty: Collection[str] = ()) -> frozenset[str]:
    """Return the words of several tools, without those of their inputs' values.

    The name of an `empty` input says what its call would leave undone: "as a gift".
    """
    texts = map(_words_of_texts, tools)
    filled = ([name for name in _input_names(tool) if name not in empty] for tool in tools)
    named = (_stems(tool, " ".join(names)) for tool, names in zip(tools, filled, strict=True))
    return frozenset().union(*texts, *named)


def verbs_meant(word: str, tool: Tool, following: str = "") -> bool:
    """Return True if a verb requests a tool's action: its own verb, or a plain one of its class.

    To disable is not to enable, nor to forward to send: such verbs match only their own tools.
    `following` is the next word: "set an alarm" creates one.
    """
    action = action_of(word, following)
    if action is Action.UNKNOWN:
        action = action_of_stem(stem(word))
    _, own = verb_of(tool)
    if stem(word) in verbs_of(tool) or not verbs_of(tool).isdisjoint(equals_of(stem(word))):
        return True
    if action is Action.UNKNOWN or word in _SPECIFIC:
        return False
    if tool.effect is Effect.READ:
        return action in (Action.READ, Action.SEARCH)
    if tool.effect is Effect.CANCEL or own is Action.CANCEL:
        return action is Action.CANCEL
    if word == "write" and own is Action.SEND:
        return True
    if action in (Action.UPDATE, Action.EXECUTE):
        plain = {*_PLAIN_CHANGES}
        return own is action and (word in plain or not verbs_of(tool).isdisjoint(map(stem, plain)))
    return action is own or (own is Action.UNKNOWN and action in _MAKING)


@read_once
def thing_words(tool: Tool) -> frozenset[str]:
    """Return the singular stems of the last fixed part of a tool's path."""
    fixed = [part for part in tool.path.split("/") if part and "{" not in part]
    words = tokens(fixed[-1]) if fixed else []
    return frozenset(stem(singular(word)) for word in words if word not in STOP_WORDS)


def is_in_path(tool: Tool, name: str) -> bool:
    """Return True if an input is a part of the tool's path."""
    return f"{{{name}}}" in tool.path


def noun_before(tool: Tool, name: str) -> frozenset[str]:
    """Return the stems of the path segment right before one of its inputs."""
    before = tool.path.partition(f"{{{name}}}")[0] if is_in_path(tool, name) else ""
    parts = [part for part in before.split("/") if part and "{" not in part]
    return frozenset(stem(singular(word)) for word in tokens(parts[-1] if parts else ""))


def id_nouns(tool: Tool, parameter: Parameter) -> frozenset[str]:
    """Return the stems of the nouns that introduce an id for this input."""
    own = {stem(word) for word in parameter.words} - {stem(word) for word in lexicon.IDENTIFIER}
    return frozenset(own) | noun_before(tool, parameter.name)
