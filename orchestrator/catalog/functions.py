"""Function tools of OpenAI's and MCP's shape, compiled to tools; effect and domain are inferred.

A function counts as a read only if its hints, name or description state that; the stricter of two
contradicting signs wins, so that a person confirms a doubtful call.
"""

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Any, Final, NamedTuple

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.operations import SAFE_METHODS
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import DocumentInvalid, FunctionWarning
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.inflection import singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    COMPUTING_VERBS,
    NOUN_LIKE_VERBS,
    STOP_WORDS,
    WARY_VERBS,
    WEAK_VERBS,
    action_of,
    action_of_stem,
    is_verb,
    name_words,
    stem,
    tokens,
)

DOCUMENT = "functions"
"""The document's name, in errors and tools, for functions that come from no document."""
_INPUTS: Final = ("parameters", "inputSchema", "input_schema")
"""Keywords of the input schema, in a function and in a tool that an MCP server lists."""
_EXAMPLES: Final = ("x-orqen-examples", "examples")
_MOST_NAMED: Final = 10
"""Largest number of functions that a warning names."""
_TEXTS_KEPT: Final = 1 << 12
"""Size of the cache of texts: the next request has the same functions."""
_IDS: Final = frozenset({"id", "ids", "uuid", "guid"})
_READING: Final = frozenset({Action.READ, Action.SEARCH})
_JOINING: Final = frozenset({"and", "or", "then"})
# Separators in names: slack__post, user.delete, github/create_issue, crm:find.
_SEPARATOR: Final = re.compile(r"__|[.:/]")
_PROTOCOL: Final = "mcp"
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_LIGHT: Final = frozenset({"perform", "conduct"})
_WORD_OR_BREAK: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|[,/&|:;]")
# Endings of nouns and participles: "deployments", "readers", "deleted".
_NO_VERB: Final = re.compile(r"(?:ed|ments?|[st]ions?|[eo]rs?|able|als?)$")
_AFTER_NOUNS: Final = _JOINING | frozenset(
    {"for", "of", "on", "in", "by", "using", "with", "to", "over", ","}
)
_BREAKS: Final = frozenset(",/&|:;")
_PARTICLES: Final = frozenset({"in", "out", "off", "on", "back", "away", "down"})
# Words before a verb that states an effect: "allows you to delete", "used for sending".
_BEFORE_VERBS: Final = frozenset({"to", "you", "that", "which", "can", "will", "may"})
_BEFORE_GERUNDS: Final = frozenset({"for", "of", "by"})
_DETERMINERS: Final = WordLists("words").word_set("determiners")


def compile_functions(functions: Iterable[Mapping[str, Any]]) -> dict[str, Tool]:
    """Compile `{"type": "function", "function": {...}}`, bare functions and MCP tools, by name.

    Missing facts are inferred: the effect (`changes_anything`) and the domain (`domains_by_name`).
    Read-only hints that contradict their functions' words are one FunctionWarning.

    Raises:
        DocumentInvalid: a function without a name, of an unknown shape, or a repeated name.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for index, entry in enumerate(functions):
        inner = entry.get("function")
        function = inner if isinstance(inner, Mapping) else entry
        name = function.get("name")
        if not isinstance(name, str) or not name.strip():
            raise DocumentInvalid(DOCUMENT, f"/{index}/name", "a function needs a name")
        if name in found:
            raise DocumentInvalid(DOCUMENT, f"/{index}", f"the name {name!r} is taken")
        found[name] = function
    stated = {name: str(one.get("description") or "") for name, one in found.items()}
    domains = domains_by_name(stated, otherwise=DOCUMENT)
    tools, disbelieved = {}, []
    for index, (name, function) in enumerate(found.items()):
        # A function without a schema has no inputs.
        keyword = next((key for key in _INPUTS if function.get(key) is not None), "")
        parameters, place = function.get(keyword, {}), f"/{index}/{keyword}"
        if not isinstance(parameters, Mapping):
            raise DocumentInvalid(DOCUMENT, place, "a JSON Schema is wanted here")
        if parameters.get("type", "object") != "object":
            reason = "inputs have names: an object is wanted here"
            raise DocumentInvalid(DOCUMENT, f"{place}/type", reason)
        schema: JsonObject = {"type": "object", "properties": {}, **parameters}
        keyword = next((key for key in _EXAMPLES if function.get(key) is not None), "")
        examples = function.get(keyword, [])
        if not isinstance(examples, list) or not all(isinstance(text, str) for text in examples):
            raise DocumentInvalid(DOCUMENT, f"/{index}/{keyword}", "a list of requests is wanted")
        finding = changes_anything(function, properties_of(schema))
        if finding.disbelieved:
            disbelieved.append(f"{name} ({finding.disbelieved})")
        answer = function.get("outputSchema")  # MCP tools may declare it
        tools[name] = Tool(
            name=name,
            document=DOCUMENT,
            domain=str(function.get("domain") or domains[name]),
            description=stated[name],
            method=str(function.get("method") or "POST").upper(),
            path=str(function.get("path") or ""),
            input_schema=schema,
            output_schema=dict(answer) if isinstance(answer, Mapping) else None,
            effect=Effect.WRITE if finding.changes else Effect.READ,
            card_type=DEFAULT_CARD if finding.changes else None,
            examples=tuple(examples),
        )
    if disbelieved:
        shown, others = disbelieved[:_MOST_NAMED], len(disbelieved[_MOST_NAMED:])
        more = f" and {others} more" if others else ""
        warnings.warn(
            f"{', '.join(shown)}{more}: a hint says that it only reads, its words say that it "
            "changes something: each call will be confirmed first",
            FunctionWarning,
            stacklevel=3,
        )
    return tools


def domains_by_name(functions: Mapping[str, str], *, otherwise: str) -> dict[str, str]:
    """Return the domain of each function; the order of functions does not matter.

    The domain is the namespace ("github" of github__create_issue), else the noun of the name that
    most names share: "file" of read_file next to delete_file. Ties go to the noun that most
    descriptions use, then to the first noun.

    Args:
        functions: descriptions by name.
        otherwise: the domain of a name without words.
    """
    spaces = {name: namespace_of(name) for name in functions}
    found = {name: space.lower() for name, (space, _) in spaces.items() if space}
    nouns: dict[str, list[str]] = {}
    for name in (name for name, (space, _) in spaces.items() if not space):
        # Its nouns in the singular, once each; its last word if it has none.
        words = [word for word in name_words(spaces[name][1]) if word.isalpha()]
        rest = words[1:] if words and is_verb(words[0]) else words
        own = [word for word in rest if not is_verb(word) or word in NOUN_LIKE_VERBS]
        own = [word for word in own if word not in STOP_WORDS] or words[-1:]
        nouns[name] = list(dict.fromkeys(map(singular, own)))
    uses = Counter(noun for own in nouns.values() for noun in own)
    stated = Counter(
        word for description in functions.values() for word in _said(description) if word in uses
    )
    for name, own in nouns.items():
        found[name] = max(own, key=lambda noun: (uses[noun], stated[noun]), default=otherwise)
    return found


@lru_cache(maxsize=_TEXTS_KEPT)
def _said(description: str) -> frozenset[str]:
    return frozenset(map(singular, tokens(description)))


_NOUN_LIKE, _WARY, _WEAK, _COMPUTING = (
    frozenset(map(stem, words))
    for words in (NOUN_LIKE_VERBS, WARY_VERBS, WEAK_VERBS, COMPUTING_VERBS)
)


class Reading(NamedTuple):
    """Signs of reading and changing in a name or a description."""

    reads: bool = False
    changes: bool = False
    runs: bool = False
    """True if the only change is made by the code or job that the function runs."""


class InferredEffect(NamedTuple):
    """The inferred effect of a function, and the hint that it overrides."""

    changes: bool
    disbelieved: str = ""


def changes_anything(function: Mapping[str, Any], inputs: Collection[str]) -> InferredEffect:
    """Return the effect of a function by its hints, its name and its description.

    Args:
        function: as received.
        inputs: the names of its inputs.
    """
    name, description = str(function["name"]), str(function.get("description") or "")
    holds = any(name_words(taken)[-1] in _IDS for taken in inputs)
    annotations = function.get("annotations")
    hints = [function, annotations if isinstance(annotations, Mapping) else {}]
    method = str(function.get("method") or "").upper()
    says_changes = bool(method and method not in SAFE_METHODS)
    says_reads = f"the method {method}" if method in SAFE_METHODS else ""
    for hint in hints:
        says_changes |= hint.get("readOnlyHint") is False or hint.get("destructiveHint") is True
        says_reads = "readOnlyHint" if hint.get("readOnlyHint") is True else says_reads
    named = read_name(name, holds=holds, hinted=bool(says_reads))
    described = read_description(description, name, holds=holds)
    if says_changes:
        return InferredEffect(changes=True)
    if named.changes or (described.changes and not (says_reads and described.runs)):
        return InferredEffect(changes=True, disbelieved=says_reads)
    return InferredEffect(changes=not (says_reads or named.reads or described.reads))


def namespace_of(name: str) -> tuple[str, str]:
    """Return the namespace and the own name: ("slack", "post") of mcp__slack__post."""
    parts = [part for part in _SEPARATOR.split(name) if part] if " " not in name else []
    if len(parts) > 1 and parts[0].lower() == _PROTOCOL:
        parts = parts[1:]
    return (parts[0], parts[-1]) if len(parts) > 1 else ("", parts[0] if parts else name)


@lru_cache(maxsize=_TEXTS_KEPT)
def read_name(name: str, *, holds: bool = False, hinted: bool = False) -> Reading:
    """Read the verbs of a name: the first verb, one at the end, and those joined by "and".

    A word that is as often a noun is no sign of a change: order_status orders nothing.

    Args:
        name: of a function.
        holds: True if the function takes an id, so that "convert" changes a thing: convert_lead.
        hinted: True if a hint states that it only reads: get_schedule ends with the thing it reads.
    """
    words = name_words(namespace_of(name)[1])
    verbs = [word for word in words if is_verb(word) or word in COMPUTING_VERBS]
    if not verbs:
        words = name_words(name)
        verbs = [word for word in words if is_verb(word) or word in COMPUTING_VERBS]
    if not verbs:
        return Reading()
    if not _JOINING.isdisjoint(words) and any(map(_may_order, verbs)):
        return Reading(changes=True)
    first, at = verbs[0], words.index(verbs[0])
    following = words[at + 1] if at + 1 < len(words) else ""
    # In endSearch, no lexicon lists "end" as a verb, and "search" is a noun.
    is_noun = at > 0 and first in NOUN_LIKE_VERBS
    only_reads = not holds
    if first not in COMPUTING_VERBS:
        # "Look up" reads like "look"; "check in", which no lexicon lists, may be anything.
        only_reads = action_of(first, following) in _READING and first not in WARY_VERBS
        only_reads = only_reads and following not in _PARTICLES
    if only_reads and not is_noun:
        is_other = not hinted and words[-1] != first
        orders_last = is_other and _may_order(words[-1], surely=True)
        return Reading(reads=not orders_last, changes=orders_last)
    return Reading(changes=any(_may_order(verb, surely=True) for verb in verbs))


@lru_cache(maxsize=_TEXTS_KEPT)
def read_description(description: str, name: str, *, holds: bool = False) -> Reading:
    """Read the first sentence of a description, and later ones that state an effect.

    `name` is the function's name; see `read_name` for `holds`.
    """
    first, *later = [s for s in _SENTENCE.split(description.strip()) if s] or [""]
    for sentence in later:
        words = _words(sentence)
        # "Sends it to the owner" states an effect; "Call this first" addresses the model.
        if words and words[0].endswith("s") and _verb_at(words, 0) in SIDE_EFFECT_ACTIONS:
            return Reading(changes=True)
    words = _words(first)
    return _read_sentence(words, name, holds=holds) if words else Reading()


def _read_sentence(words: Sequence[str], name: str, *, holds: bool) -> Reading:
    is_weak = stem(words[0]) in _WEAK
    head = Action.UNKNOWN if is_weak else _verb_at(words, 0)
    verbs = [head]
    for at, (before, word) in enumerate(pairwise(words), start=1):
        # Further verbs are joined to the first, or follow words that precede verbs.
        leads = before in _BEFORE_VERBS or (before in _BEFORE_GERUNDS and word.endswith("ing"))
        if before in _JOINING or before in _BREAKS or (head is Action.UNKNOWN and leads):
            verbs.append(_verb_at(words, at))
    ordered = [action for action in verbs if action in SIDE_EFFECT_ACTIONS]
    if ordered:
        return Reading(changes=True, runs=all(action is Action.EXECUTE for action in ordered))
    if is_weak:
        # Every function returns something. "Returns the balance" proves a read only if the name
        # begins with that thing, account_balance: otherwise a verb in its base form would be there.
        thing = name_words(namespace_of(name)[1])[0]
        said = {word for before, word in pairwise(words) if before not in _BEFORE_VERBS}
        return Reading(reads=not _may_order(thing) and bool({thing, f"{thing}s"} & said))
    if head is Action.UNKNOWN:
        # An unknown first word may be a verb, except in a phrase such as "a tool to find".
        is_phrase = (
            words[0] in STOP_WORDS or words[0].endswith("ly") or words[1:2] in (["|"], [":"])
        )
        stated = is_phrase and not _READING.isdisjoint(verbs)
        # The noun states the action: "Performs a web search".
        done = list(takewhile(lambda word: word not in _AFTER_NOUNS, words[1:5]))
        is_search = stem(words[0]) in _LIGHT and bool(done) and action_of(done[-1]) in _READING
        return Reading(reads=stated or is_search)
    return Reading(reads=stem(words[0]) not in (_WARY | _COMPUTING if holds else _WARY))


def _verb_at(words: Sequence[str], at: int) -> Action:
    """Return the action of a word that is surely a verb there, else UNKNOWN.

    A word that may be a noun counts as a verb at the beginning, after "to", before a determiner and
    joined to the first verb: "find and book rooms".
    """
    word, root = words[at], stem(words[at])
    if _NO_VERB.search(word) and not (is_verb(word) or is_verb(word.removesuffix("s"))):
        return Action.UNKNOWN
    if root in _NOUN_LIKE:
        following = words[at + 1] if at + 1 < len(words) else ""
        nearby = at == 0 or (at == 2 and words[1] not in _BEFORE_GERUNDS)
        leads = at > 0 and words[at - 1] in _BEFORE_VERBS
        if not (nearby or leads or following in _DETERMINERS):
            return Action.UNKNOWN
    return action_of_stem(root)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD_OR_BREAK.findall(text)]


def _may_order(word: str, *, surely: bool = False) -> bool:
    """Return True if a word, used as a verb, changes something or may do so."""
    if action_of(word) in SIDE_EFFECT_ACTIONS:
        return not surely or word not in NOUN_LIKE_VERBS
    return not surely and word in WARY_VERBS
