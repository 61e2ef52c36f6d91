"""Finds the tool for a clause: with the right effect, and named by the clause's own words."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.catalog import Catalog, other_versions
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.wall import Wall
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.synonyms import meanings_of
from orchestrator.language.triggers import find_triggers
from orchestrator.language.words import (
    QUESTION_WORDS,
    STOP_WORDS,
    WARY_VERBS,
    action_of,
    content_stems,
    is_verb,
    stem,
    tokens,
)
from orchestrator.planning.rules.chain import references
from orchestrator.planning.rules.clause import CALLED, LEADS, Clause
from orchestrator.planning.rules.items import is_listing
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.planning.rules.tool_words import (
    is_in_path,
    named_nouns,
    noun_before,
    nouns_of,
    own_words,
    thing_words,
    verb_of,
    verbs_meant,
    verbs_of,
)
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

_COURTESY: Final = frozenset({"can", "could", "would", "will"})
_LEAVE: Final = frozenset({"may", "might", "should", "must", "shall"})
_FEW: Final = 2
_PARTICLES: Final = frozenset({"on", "off", "in", "out", "up", "down"})
_MESSAGES: Final = frozenset({"messag", "email", "mail", "sms"})
_ALL: Final = frozenset({"all", "every", "everything"})
_ALIKE: Final = 5
_OWN: Final = frozenset({"my", "our", "mine", "ours"})
_WANTED: Final = re.compile(
    r"(?:please )?(?:(?:i|we)(?:['\u2019]d| would)?(?: (?:also|really|just))? "
    r"(?:need|want|like|love) "
    r"|(?:get|fly|drive|take|bring|grab) (?:me |us )(?:(?:to|from) )?)"
    r"(?:(?:a|an|one|two|three|another|\d+)\b|(?<=(?:to|om) )\w)",
    re.IGNORECASE,
)
"""The wording of a wish: "I need a rental car"."""


@dataclass(frozen=True)
class ClauseIntent:
    """The intent of a clause: a read, a consequence of a class, or unclear."""

    action: Action
    verb: str
    is_order: bool
    is_open: bool = False
    """True if the words do not determine whether to read or to change something."""
    is_wanted: bool = False
    """True if it names a wanted thing, which is shown if no tool can provide it."""


@dataclass(frozen=True)
class ToolMatch:
    """A tool, and how well the clause's words match it; more is better."""

    tool: Tool
    score: float
    nouns: int
    """How many words of the clause name the tool's subject."""
    is_own_verb: bool = False
    """True if the clause contains its verb, and few tools have that verb."""


@dataclass(frozen=True)
class _Said:
    """The words of a clause, parsed once for all tools."""

    stems: frozenset[str]
    meanings: frozenset[str]
    """The stems of all words and of their synonyms."""
    telling: Mapping[str, frozenset[str]]
    """The stems of the words that may name the subject, each with its synonyms."""


@read_once
def _said(clause: Clause) -> _Said:
    stems = frozenset(word.stem for word in clause.words)
    meant = {w.stem: frozenset((w.stem, *meanings_of(w.lower))) for w in clause.words}
    values = clause.of_kind("quoted", "email", "url", "text", "trimmed")
    spans = [(c.start, c.end) for c in values]
    telling = {
        word.stem: meant[word.stem]
        for number, word in enumerate(clause.words)
        if word.lower not in STOP_WORDS
        and not any(s < word.end and word.start < e for s, e in spans)
        and not (number == clause.verb_index and is_verb(word.lower) and len(clause.words) > 1)
    }
    return _Said(stems, stems.union(*meant.values()), telling)


def intent_of(clause: Clause, catalog: Catalog) -> ClauseIntent:
    """Return the intent of a clause, from its first words and its verb."""
    words = clause.words
    if not words:
        return ClauseIntent(Action.UNKNOWN, "", is_order=False, is_open=True)
    first = words[0].lower
    second = words[1].lower if len(words) > 1 else ""
    asks_leave = first in _COURTESY | _LEAVE and second in ("i", "we", "my", "our", "it", "there")
    is_asked = (
        asks_leave
        or first in QUESTION_WORDS | {"any"}
        or (clause.text.rstrip().endswith("?") and first not in _COURTESY and not is_verb(first))
    )
    verb = clause.verb
    following = [word.lower for word in words[clause.verb_index + 1 :][:1]]
    action = action_of(verb, *following)
    if asks_leave or (is_asked and first not in _COURTESY):
        return ClauseIntent(Action.READ, verb, is_order=False)
    if _WANTED.match(clause.text):
        return ClauseIntent(Action.CREATE, verb, is_order=True, is_wanted=True)
    changes = _changes_of(catalog)
    is_commanded = stem(verb) in changes.by_verb
    if action in (Action.READ, Action.SEARCH):
        things = {one for tool in changes.by_verb.get(stem(verb), ()) for one in thing_words(tool)}
        names_one = not things.isdisjoint(_said(clause).telling)
        if not is_commanded or not (verb in WARY_VERBS or names_one):
            return ClauseIntent(action, verb, is_order=False)
        if stem(verb) in changes.read_verbs:
            return ClauseIntent(action, verb, is_order=True, is_open=True)
        return ClauseIntent(Action.EXECUTE, verb, is_order=True)
    if action in SIDE_EFFECT_ACTIONS:
        return ClauseIntent(action, verb, is_order=True)
    if is_commanded:
        return ClauseIntent(Action.EXECUTE, verb, is_order=True)
    return ClauseIntent(Action.UNKNOWN, verb, is_order=False, is_open=True)


def refers_back(clause: Clause) -> bool:
    """Return True if a clause refers to an earlier thing: "inform them of it"."""
    return any(one.kind == "back_reference" for one in find_triggers(clause.text))


@dataclass(frozen=True)
class _Changes:
    """The tools of a catalog that change something, by verb, and the things they create."""

    by_verb: Mapping[str, Sequence[Tool]]
    things: frozenset[str]
    read_verbs: frozenset[str]
    """The verbs of the tools that change nothing."""


@read_once
def _changes_of(catalog: Catalog) -> _Changes:
    by_verb: defaultdict[str, list[Tool]] = defaultdict(list)
    changing = [tool for tool in catalog.tools.values() if tool.is_side_effect]
    for tool in changing:
        for verb in verbs_of(tool):
            by_verb[verb].append(tool)
    things = frozenset(one for tool in changing for one in thing_words(tool))
    reads = [tool for tool in catalog.tools.values() if not tool.is_side_effect]
    return _Changes(dict(by_verb), things, frozenset().union(*map(verbs_of, reads)))


def find_target(
    clause: Clause, selection: Selection, catalog: Catalog, walls: Sequence[Wall] = ()
) -> list[ToolMatch]:
    """Return the tools that may carry out a clause, best first; empty without any."""
    intent = intent_of(clause, catalog)
    found = _fitting(clause, intent, selection, catalog, walls)
    if not found and intent.is_wanted:
        intent = ClauseIntent(Action.READ, intent.verb, is_order=False)
        found = _fitting(clause, intent, selection, catalog, walls)
    return found


def _fitting(
    clause: Clause,
    intent: ClauseIntent,
    selection: Selection,
    catalog: Catalog,
    walls: Sequence[Wall],
) -> list[ToolMatch]:
    scores = selection.scores
    top = max(scores.values(), default=0.0) or 1.0
    unasked = {*selection.prerequisites, *selection.padding} - {*scores}
    names = [name for name in selection.tools if name not in unasked]
    names += [name for name in scores if name not in names]
    verb = stem(intent.verb)
    changes = _changes_of(catalog)
    named_by = changes.by_verb.get(verb, ())
    frame_orders = selection.frame.side_effect_allowed
    says_all = not _ALL.isdisjoint(word.lower for word in clause.words)
    found: list[ToolMatch] = []
    for name in names:
        tool = catalog.tools.get(name)
        if tool is None or not is_inside(tool, walls):
            continue
        does_all = not _ALL.isdisjoint((*tokens(tool.name), *tokens(tool.summary)))
        if tool.is_side_effect and does_all and not says_all:
            continue
        if not _has_effect(tool, intent, frame_orders):
            continue
        if not tool.is_side_effect and not references(catalog).isdisjoint(tool.required_inputs):
            continue  # it takes a reference that no person knows
        if intent.is_order and (_is_opposite(tool, clause, intent) or _is_of_another(tool, clause)):
            continue
        score, nouns = _score(tool, clause, intent)
        if intent.is_order and named_by and verb not in verbs_of(tool):
            score -= 1.5
        if not tool.is_side_effect and _is_of_records(tool, clause, changes.things):
            score -= 2.5
        if tool.deprecated:
            if any(not catalog.tools[one].deprecated for one in other_versions(catalog, tool)):
                continue
            score -= 1.0  # after an equal one
        own = verb in verbs_of(tool) and len(named_by) <= _FEW
        found.append(ToolMatch(tool, score + 2.0 * scores.get(name, 0.0) / top, nouns, own))
    found.sort(key=lambda match: -match.score)
    # "List them" names nothing to be listed.
    names_thing = intent.is_order or not refers_back(clause)
    may_be_bare = selection.fits and names_thing
    return [match for match in found if match.nouns > 0 or (may_be_bare and match.is_own_verb)]


def _has_effect(tool: Tool, intent: ClauseIntent, frame_orders: bool) -> bool:
    if intent.is_open and intent.action is Action.UNKNOWN:
        return tool.is_side_effect is frame_orders or not tool.is_side_effect
    if intent.is_open:
        return True
    if not intent.is_order:
        return tool.effect is Effect.READ
    if not tool.is_side_effect:
        return False
    _, own = verb_of(tool)
    ends = tool.effect is Effect.CANCEL or own is Action.CANCEL
    if stem(intent.verb) in verbs_of(tool):
        return True
    return ends is (intent.action is Action.CANCEL)


def _is_opposite(tool: Tool, clause: Clause, intent: ClauseIntent) -> bool:
    """Return True if a tool's verb has another particle than the clause: "turn off", "turn on"."""
    summary = tokens(tool.summary)
    own = _PARTICLES & {*summary[1:2], *summary[-1:]}
    if not own or not verbs_meant(intent.verb, tool):
        return False
    words = [word.lower for word in clause.words]
    ends = (*words[clause.verb_index + 1 :][:1], words[-1])
    said = next((word for word in ends if word in _PARTICLES), None)
    return own.isdisjoint(words if said is None else (said,))


def _is_of_another(tool: Tool, clause: Clause) -> bool:
    """Return True if the clause's id belongs to a thing that the tool does not mention."""
    ids = [c for c in clause.of_kind("id") if clause.place_of(c.start) > clause.verb_index + 1]
    nouns = {c.noun for c in ids if c.cue not in CALLED} - LEADS - STOP_WORDS - {""}
    if not nouns:
        return False
    fed = {stem(word) for p in tool_parameters(tool) for word in p.words}
    return nouns.isdisjoint(own_words(tool) | fed)


def _is_of_records(tool: Tool, clause: Clause, made: Collection[str]) -> bool:
    """Return True if a tool reads records that people made, such as bookings, and is not asked to.

    "Booked", "reserved" and the like ask for records too: words with the same beginning.
    """
    things = thing_words(tool)
    if things.isdisjoint(made) or not _OWN.isdisjoint(word.lower for word in clause.words):
        return False
    nouns = things | (named_nouns(tool) - {*content_stems(tool.domain)})
    said = _said(clause).meanings
    begins = {noun[:_ALIKE] for noun in nouns if len(noun) >= _ALIKE}
    return nouns.isdisjoint(said) and begins.isdisjoint(one[:_ALIKE] for one in said)


def _score(tool: Tool, clause: Clause, intent: ClauseIntent) -> tuple[float, int]:
    said = _said(clause)
    own, wide = named_nouns(tool), nouns_of(tool)
    verb, verbs = stem(intent.verb), verbs_of(tool)
    words = own_words(tool) - verbs
    named = {one for one, same in said.telling.items() if same & own}
    summed = said.telling.keys() & wide
    known = [one for one, same in said.telling.items() if not words.isdisjoint(same)]
    covered = len(own & said.stems) / max(1, len(own))
    score = 1.6 * len(named) + 0.8 * len(summed - named) + 0.5 * len(known) + 1.5 * covered
    if verb in verbs:
        score += 2.5
    elif verbs_meant(intent.verb, tool):
        score += 1.5
    elif intent.is_order:
        score -= 1.5
    if intent.is_order and verb in own and tool.effect in (Effect.OBLIGATION, Effect.WRITE):
        named.add(verb)  # "remind me" is a reminder, "email" an e-mail
        score += 2.0
    if intent.action is Action.SEND and wide & _MESSAGES:
        summed |= wide & _MESSAGES
        score += 1.5
    score += _shape(tool, clause, intent)
    # The last word of the verb's object is the subject of the clause.
    objects = clause.of_kind("object")
    head = clause.before(objects[-1].end) if objects else None
    if head is not None and head.stem in thing_words(tool) | own:
        score += 1.0
    return score, len(named | summed)


def _shape(tool: Tool, clause: Clause, intent: ClauseIntent) -> float:
    """Return how well a tool's inputs suit a clause: an id if it requests one item."""
    required = [p for p in tool_parameters(tool) if p.required and p.name not in tool.pii_fields]
    ids = [p for p in required if p.is_id or is_in_path(tool, p.name)]
    has_id = bool(clause.of_kind("id")) or any(
        c.text.isdigit() and c.noun in {stem(w) for p in ids for w in p.words} | nouns_of(tool)
        for c in clause.of_kind("number")
    )
    score = 0.0
    if not intent.is_order and not tool.is_side_effect:
        said = {word.stem for word in clause.words}
        is_named = any(said & noun_before(tool, p.name) for p in ids) and len(said) > 3
        if ids and not has_id and not is_named and not clause.of_kind("name", "quoted"):
            last = " ".join(c.text.lower() for c in clause.of_kind("object")[-1:])
            score -= 2.5 if last.endswith("s") and not last.endswith("ss") else 1.5
        if not ids and has_id and is_listing(tool):
            score -= 0.7
    kinds = {p.kind for p in required}
    said = {c.kind for c in clause.candidates}
    for kind, value in ((Kind.EMAIL, "email"), (Kind.DATE, "date"), (Kind.TIME, "time")):
        if kind in kinds:
            score += 0.6 if value in said else -0.3
    takes = {p.kind for p in tool_parameters(tool)}
    for kind, value in ((Kind.EMAIL, "email"), (Kind.DATE, "date"), (Kind.AMOUNT, "amount")):
        if value in said and kind in takes and kind not in kinds:
            score += 0.3
    return score
