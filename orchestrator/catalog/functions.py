"""Function tools, OpenAI's and MCP's, compiled to tools: plain schemas without a document."""

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
"""What the errors and the tools name in place of a document."""
_INPUTS: Final = ("parameters", "inputSchema", "input_schema")
"""Where the inputs stand: in a function, and in a tool as an MCP server lists it."""


def compile_functions(functions: Iterable[Mapping[str, Any]]) -> dict[str, Tool]:
    """Tools by name, of `{"type": "function", "function": {...}}`, of bare ones and of MCP tools.

    What a function does not say of itself is inferred: its effect (`function_effects`: what cannot
    be told to only read is confirmed first) and its domain (`function_domains`). A hint that says
    that a function only reads, where its words say that it changes something, is a FunctionWarning.

    Raises:
        DocumentInvalid: a function without a name, of a shape that is not known, or a name twice.
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
    told = {name: str(one.get("description") or "") for name, one in found.items()}
    domains = domains_by_name(told, otherwise=DOCUMENT)
    tools = {}
    # No comprehension: a warning names the caller by counting frames.
    for index, (name, function) in enumerate(found.items()):
        tools[name] = _compile_function(function, index, domain=domains[name])
    return tools


def _compile_function(function: Mapping[str, Any], index: int, *, domain: str) -> Tool:
    schema = _parameters(function, index)
    changes = _changes_anything(function, properties_of(schema))
    return Tool(
        name=str(function["name"]),
        document=DOCUMENT,
        domain=str(function.get("domain") or domain),
        description=str(function.get("description") or ""),
        method=str(function.get("method") or "POST").upper(),
        path=str(function.get("path") or ""),
        input_schema=schema,
        output_schema=_answer(function),
        effect=Effect.WRITE if changes else Effect.READ,
        card_type=DEFAULT_CARD if changes else None,
        examples=_examples(function, index),
    )


def _changes_anything(function: Mapping[str, Any], inputs: Collection[str]) -> bool:
    finding = changes_anything(function, inputs)
    if finding.disbelieved:
        told = (
            f"{function['name']}: {finding.disbelieved} says that it only reads, its words say "
            "that it changes something: each call will be confirmed first"
        )
        warnings.warn(told, FunctionWarning, stacklevel=5)
    return finding.changes


def _answer(function: Mapping[str, Any]) -> JsonObject | None:
    """The schema of the answer, which MCP tools may declare."""
    schema = function.get("outputSchema")
    return dict(schema) if isinstance(schema, Mapping) else None


def _parameters(function: Mapping[str, Any], index: int) -> JsonObject:
    """The input schema; a function without one takes nothing."""
    keyword = next((key for key in _INPUTS if function.get(key) is not None), "")
    if not keyword:
        return {"type": "object", "properties": {}}
    parameters, place = function[keyword], f"/{index}/{keyword}"
    if not isinstance(parameters, Mapping):
        raise DocumentInvalid(DOCUMENT, place, "a JSON Schema is wanted here")
    if parameters.get("type", "object") != "object":
        raise DocumentInvalid(
            DOCUMENT, f"{place}/type", "inputs have names: an object is wanted here"
        )
    return {"type": "object", "properties": {}, **parameters}


def _examples(function: Mapping[str, Any], index: int) -> tuple[str, ...]:
    for keyword in ("x-orqen-examples", "examples"):
        found = function.get(keyword)
        if found is None:
            continue
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise DocumentInvalid(DOCUMENT, f"/{index}/{keyword}", "a list of requests is wanted")
        return tuple(found)
    return ()


_TEXTS_KEPT: Final = 1 << 12
"""The functions of a request come again with the next one."""


def domains_by_name(functions: Mapping[str, str], *, otherwise: str) -> dict[str, str]:
    """The domain of each function, whatever their order.

    That is its namespace ("github" of github__create_issue), or else the noun of its name that most
    names have: "file" of read_file, where there is a delete_file too. Of nouns as frequent, the one
    that most descriptions have, then the one that stands first.

    Args:
        functions: names and descriptions.
        otherwise: the domain of a name that has no word.
    """
    spaces = {name: namespace_of(name) for name in functions}
    found = {name: space.lower() for name, (space, _) in spaces.items() if space}
    nouns = {name: _nouns(local) for name, (space, local) in spaces.items() if not space}
    uses = Counter(noun for own in nouns.values() for noun in own)
    told = Counter(
        word for description in functions.values() for word in _said(description) if word in uses
    )
    for name, own in nouns.items():
        found[name] = max(own, key=lambda noun: (uses[noun], told[noun]), default=otherwise)
    return found


@lru_cache(maxsize=_TEXTS_KEPT)
def _said(description: str) -> frozenset[str]:
    return frozenset(map(singular, tokens(description)))


def _nouns(name: str) -> Sequence[str]:
    """The nouns of a name, in one number, in order and once each; its verb where it has none."""
    words = [word for word in name_words(name) if word.isalpha()]
    rest = words[1:] if words and is_verb(words[0]) else words
    told = [word for word in rest if not is_verb(word) or word in NOUN_LIKE_VERBS]
    told = [word for word in told if word not in STOP_WORDS] or words[-1:]
    return list(dict.fromkeys(map(singular, told)))


_IDS: Final = frozenset({"id", "ids", "uuid", "guid"})
_READING: Final = frozenset({Action.READ, Action.SEARCH})
_JOINING: Final = frozenset({"and", "or", "then"})
# What a name is put together with: slack__post, user.delete, github/create_issue, crm:find.
_SEPARATOR: Final = re.compile(r"__|[.:/]")
_PROTOCOL: Final = "mcp"
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_LIGHT: Final = frozenset({"perform", "conduct"})
_WORD_OR_BREAK: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|[,/&|:;]")
# Deployments, readers and what is deleted: words of a verb that are none.
_NO_VERB: Final = re.compile(r"(?:ed|ments?|[st]ions?|[eo]rs?|able|als?)$")
_AFTER_NOUNS: Final = _JOINING | frozenset(
    {"for", "of", "on", "in", "by", "using", "with", "to", "over", ","}
)
_BREAKS: Final = frozenset(",/&|:;")
_PARTICLES: Final = frozenset({"in", "out", "off", "on", "back", "away", "down"})
# Words after which a verb tells what is done: "allows you to delete", "used for sending".
_BEFORE_VERBS: Final = frozenset({"to", "you", "that", "which", "can", "will", "may"})
_BEFORE_GERUNDS: Final = frozenset({"for", "of", "by"})
_DETERMINERS: Final = WordLists("clauses").word_set("determiners")


def _stems(words: Collection[str]) -> frozenset[str]:
    return frozenset(map(stem, words))


_NOUN_LIKE: Final = _stems(NOUN_LIKE_VERBS)
_WARY, _WEAK, _COMPUTING = _stems(WARY_VERBS), _stems(WEAK_VERBS), _stems(COMPUTING_VERBS)


class Reading(NamedTuple):
    """What the words of a name or a description tell of a function."""

    reads: bool = False
    changes: bool = False
    runs: bool = False
    """It changes something only in so far as what it runs does."""


class InferredEffect(NamedTuple):
    """Whether a function changes anything, and which of its hints was not believed."""

    changes: bool
    disbelieved: str = ""


def changes_anything(function: Mapping[str, Any], inputs: Collection[str]) -> InferredEffect:
    """Whether a call leaves anything behind, by all that a function tells of itself.

    Args:
        function: as it came.
        inputs: the names of its inputs.
    """
    name, description = str(function["name"]), str(function.get("description") or "")
    holds = any(name_words(taken)[-1] in _IDS for taken in inputs)
    named = read_name(name, holds=holds)
    described = read_description(description, name, holds=holds)
    says_reads, says_changes = _hints(function)
    if says_changes:
        return InferredEffect(changes=True)
    if named.changes or (described.changes and not (says_reads and described.runs)):
        return InferredEffect(changes=True, disbelieved=says_reads)
    return InferredEffect(changes=not (says_reads or named.reads or described.reads))


def _hints(function: Mapping[str, Any]) -> tuple[str, bool]:
    """The hint that says that it only reads, if any, and whether one says that it does not."""
    annotations = function.get("annotations")
    places = [function, annotations if isinstance(annotations, Mapping) else {}]
    method = str(function.get("method") or "").upper()
    denies = any(p.get("readOnlyHint") is False or p.get("destructiveHint") is True for p in places)
    if any(place.get("readOnlyHint") is True for place in places):
        reads = "readOnlyHint"
    else:
        reads = f"the method {method}" if method in SAFE_METHODS else ""
    return reads, denies or bool(method and method not in SAFE_METHODS)


def namespace_of(name: str) -> tuple[str, str]:
    """What a name begins with before the tool's own: ("slack", "post") of mcp__slack__post."""
    parts = [part for part in _SEPARATOR.split(name) if part] if " " not in name else []
    if len(parts) > 1 and parts[0].lower() == _PROTOCOL:
        parts = parts[1:]
    return (parts[0], parts[-1]) if len(parts) > 1 else ("", parts[0] if parts else name)


@lru_cache(maxsize=_TEXTS_KEPT)
def read_name(name: str, *, holds: bool = False) -> Reading:
    """What the verbs of a name tell: its first one, one that ends it, and those joined by "and".

    What is as often a noun tells nothing of a change: an order_status is no order.

    Args:
        name: of a function.
        holds: it takes the id of something, so that "convert" is no mere sum: convert_lead.
    """
    words = name_words(namespace_of(name)[1])
    if not any(map(_is_verb, words)):
        words = name_words(name)
    verbs = [word for word in words if _is_verb(word)]
    if not verbs:
        return Reading()
    if not _JOINING.isdisjoint(words) and any(map(_may_order, verbs)):
        return Reading(changes=True)
    first, at = verbs[0], words.index(verbs[0])
    following = words[at + 1] if at + 1 < len(words) else ""
    # What ends an endSearch is a word that no lexicon holds, and the search a noun.
    is_noun = at > 0 and first in NOUN_LIKE_VERBS
    if not is_noun and _only_reads(first, following, holds=holds):
        orders_last = words[-1] != first and _surely_orders(words[-1])
        return Reading(reads=not orders_last, changes=orders_last)
    return Reading(changes=any(map(_surely_orders, verbs)))


def _only_reads(verb: str, following: str, *, holds: bool) -> bool:
    """Whether a verb of a name tells that nothing is changed.

    "Look up" does as "look" does; "check in", which no lexicon holds, may be anything.
    """
    if verb in COMPUTING_VERBS:
        return not holds
    reads = action_of(verb, following) in _READING and verb not in WARY_VERBS
    return reads and following not in _PARTICLES


@lru_cache(maxsize=_TEXTS_KEPT)
def read_description(description: str, name: str, *, holds: bool = False) -> Reading:
    """What the first sentence of a description tells, and later ones that say what is done.

    The name is the function's, `holds` as in `read_name`.
    """
    first, *later = [s for s in _SENTENCE.split(description.strip()) if s] or [""]
    for sentence in later:
        words = _words(sentence)
        # "Sends it to the owner" says what is done; "Call this first" is said to the model.
        if words and words[0].endswith("s") and _verb_at(words, 0) in SIDE_EFFECT_ACTIONS:
            return Reading(changes=True)
    words = _words(first)
    return _read_sentence(words, name, holds=holds) if words else Reading()


def _read_sentence(words: Sequence[str], name: str, *, holds: bool) -> Reading:
    is_weak = stem(words[0]) in _WEAK
    head = Action.UNKNOWN if is_weak else _verb_at(words, 0)
    places = [*_places(words, all_of_them=head is Action.UNKNOWN)]
    verbs = [head, *(_verb_at(words, at) for at in places)]
    ordered = [action for action in verbs if action in SIDE_EFFECT_ACTIONS]
    if ordered:
        return Reading(changes=True, runs=all(action is Action.EXECUTE for action in ordered))
    if is_weak:
        return Reading(reads=_is_returned(name, words))
    if head is Action.UNKNOWN:
        # It may be a verb that no lexicon holds, unless it is sure to be none: "a tool to find".
        told = _begins_without_verb(words) and not _READING.isdisjoint(verbs)
        return Reading(reads=told or _is_search_performed(words))
    return Reading(reads=stem(words[0]) not in (_WARY | _COMPUTING if holds else _WARY))


def _is_returned(name: str, words: Sequence[str]) -> bool:
    """Whether a sentence like "Returns the balance" tells what a name is of: account_balance.

    Whatever is done, something is returned. But where it is what the name begins with, the name is
    that of a thing: a verb does not stand there in its base form.
    """
    thing = name_words(namespace_of(name)[1])[0]
    said = [word for before, word in pairwise(words) if before not in _BEFORE_VERBS]
    return not _may_order(thing) and not {thing, f"{thing}s"}.isdisjoint(said)


def _begins_without_verb(words: Sequence[str]) -> bool:
    return words[0] in STOP_WORDS or words[0].endswith("ly") or words[1:2] in (["|"], [":"])


def _is_search_performed(words: Sequence[str]) -> bool:
    """Whether a sentence like "Performs a web search" names what is done by a noun."""
    done = list(takewhile(lambda word: word not in _AFTER_NOUNS, words[1:5]))
    return stem(words[0]) in _LIGHT and bool(done) and action_of(done[-1]) in _READING


def _places(words: Sequence[str], *, all_of_them: bool) -> Iterator[int]:
    """Where further verbs may stand: beside the first one, or else after what leads on to one."""
    for at in range(1, len(words)):
        before = words[at - 1]
        leads = before in _BEFORE_VERBS or (before in _BEFORE_GERUNDS and words[at].endswith("ing"))
        if before in _JOINING or before in _BREAKS or (all_of_them and leads):
            yield at


def _verb_at(words: Sequence[str], at: int) -> Action:
    """The class of a word that is surely a verb there; UNKNOWN of any other.

    What may be a noun is a verb at the beginning, after "to", before a determiner and beside the
    first verb: "find and book rooms".
    """
    word, root = words[at], stem(words[at])
    if _NO_VERB.search(word) and not (is_verb(word) or is_verb(word.removesuffix("s"))):
        return Action.UNKNOWN
    if root in _NOUN_LIKE:
        following = words[at + 1] if at + 1 < len(words) else ""
        beside = at == 0 or (at == 2 and words[1] not in _BEFORE_GERUNDS)
        leads = at > 0 and words[at - 1] in _BEFORE_VERBS
        if not (beside or leads or following in _DETERMINERS):
            return Action.UNKNOWN
    return action_of_stem(root)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD_OR_BREAK.findall(text)]


def _is_verb(word: str) -> bool:
    return is_verb(word) or word in COMPUTING_VERBS


def _may_order(word: str) -> bool:
    """Whether a word, taken as a verb, changes something or may do so."""
    return action_of(word) in SIDE_EFFECT_ACTIONS or word in WARY_VERBS


def _surely_orders(word: str) -> bool:
    return action_of(word) in SIDE_EFFECT_ACTIONS and word not in NOUN_LIKE_VERBS
