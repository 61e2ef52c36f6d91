"""Follow-ups: clauses that say what to do, and leave what with to what came before.

"Book it", "cancel that one", "the second one", "try again" and "and in Rome?" have no words of
their own for a thing. They take those of the nearest antecedent: a clause before them in the
request, then the tools that were called before, then the goal.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.language.clauses import split_clauses
from orchestrator.language.intent import Action, Slot
from orchestrator.language.words import QUESTION_WORDS, content_stems, name_stems, stem, tokens
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.reading.frame import ClauseReading, read_clause
from orchestrator.routing.selection import RouteContext

_ORDINAL = (
    r"first|second|third|fourth|fifth|last|next|other|same|cheapest|best|latest|top|former|latter"
)
_POINTS: Final = re.compile(
    rf"""\b(?:(?:this|that|the|these|those|your|another)\s+(?:(?:{_ORDINAL})\s+)?(?:one|ones)
        |(?:the|number)\s+(?:{_ORDINAL}|one|two|three|four|five)(?=\s*(?:[.,;!?]|$|for\b|with\b|on\b|please\b))
        |it|them|both|either|all\s+of\s+(?:them|it)
        |(?:this|that|these|those)(?=\s*(?:[.,;!?]|$|for\b|with\b|to\b|by\b|on\b|at\b|in\b|from\b|too\b
            |now\b|please\b|instead\b|again\b|back\b|as\b)))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REPEATS: Final = re.compile(
    r"\b(?:retry|try\s+(?:it\s+|that\s+|this\s+)?(?:again|once\s+more)|re-?do"
    r"|(?:do|run|repeat)\s+(?:it|that|this)(?:\s+again|\s+once\s+more)?|once\s+more|same\s+again)\b",
    re.IGNORECASE,
)
_EMPTY_WORDS = """
    first second third fourth fifth last next other same cheapest cheap best latest top former
    latter two three four five option number try retry redo repeat instead
    pick choose take right ahead whole thing things yes proceed go perfect fine great sure
"""
_LOOKS: Final = frozenset({Action.READ, Action.SEARCH})
_EMPTY: Final = frozenset(content_stems(_EMPTY_WORDS))


@dataclass(frozen=True, slots=True)
class Antecedent:
    """What a follow-up is about: `stems` of its words, `objects` as written, and what was done.

    `whole` are the stems with those of its verb, for a follow-up that only repeats.
    """

    stems: tuple[str, ...]
    objects: tuple[str, ...]
    whole: tuple[str, ...]
    action: Action


def reference_in(clause: str) -> str:
    """The words of a clause that point at what came before; empty when none do."""
    match = _REPEATS.search(clause) or _POINTS.search(clause)
    return " ".join(match.group().split()) if match else ""


def resolve(
    clauses: Sequence[ClauseReading],
    slots: Sequence[Sequence[Slot]],
    context: RouteContext,
    *,
    cards: Mapping[str, CapabilityCard],
    skill: Callable[[str, ClauseReading], int],
    owner: Callable[[str], str],
    verbs: Collection[str],
) -> list[ClauseReading]:
    """The clauses of a request, those that leave their thing to another one completed from it.

    Args:
        clauses: of the request, in order.
        slots: the values of each clause.
        context: what was called before, and the goal.
        cards: the catalog's, by name.
        skill: 2 where a domain has a tool with the clause's verb, 1 where it has one for its
            action, else 0: "book it" is not about the weather.
        owner: the only domain with a verb, else an empty string.
        verbs: further words that may command.
    """
    found: list[ClauseReading] = []
    for clause, values in zip(clauses, slots, strict=True):
        if _is_bare(clause, values):
            nearest = (
                _from_clauses(reversed(found))
                or _from_tools(clause, context, cards, skill)
                or _from_goal(clause, context, verbs)
            )
            clause = _completed(clause, nearest, order=_order(clause, context, verbs))
        found.append(clause)
    if not found:
        return []
    following = (*clauses[1:], _after_in_goal(clauses[-1], context, verbs))
    return [_foreseen(clause, after, owner) for clause, after in zip(found, following, strict=True)]


def _after_in_goal(
    last: ClauseReading, context: RouteContext, verbs: Collection[str]
) -> ClauseReading | None:
    """The clause that follows this one in the goal, if it points back."""
    start = context.goal.find(last.text) if last.text else -1
    rest = context.goal[start + len(last.text) :] if start >= 0 else ""
    if not _POINTS.search(rest):
        return None
    after = split_clauses(rest, verbs=verbs)
    return read_clause(after[0], verbs=verbs) if after else None


def _foreseen(
    clause: ClauseReading, following: ClauseReading | None, owner: Callable[[str], str]
) -> ClauseReading:
    """The clause, told what is to be done with what it asks for: only files are shared."""
    if following is None or following.objects or not _commands(following):
        return clause
    if not reference_in(following.text):
        return clause
    domain = owner(following.verb)
    stems = dict.fromkeys((*clause.stems, *content_stems(domain)))
    return replace(clause, likely=domain, stems=tuple(stems))


def _is_bare(clause: ClauseReading, values: Iterable[Slot]) -> bool:
    """Whether nothing in the clause but its verb and values says what it is about."""
    said = {word for slot in values for word in name_stems(slot.text)}
    own = {word for word in clause.stems if word not in _EMPTY and word not in said}
    return not own - {stem(clause.verb)} if _commands(clause) else not own


def _commands(clause: ClauseReading) -> bool:
    return clause.action is not Action.UNKNOWN and clause.verb not in QUESTION_WORDS


def _completed(
    clause: ClauseReading, antecedent: Antecedent | None, *, order: ClauseReading | None
) -> ClauseReading:
    """The clause with its antecedent's words.

    Args:
        clause: says at most what is to be done.
        antecedent: what with; None when nothing came before.
        order: what the goal orders to be done, for a clause that does not say it: "the second one".
    """
    if antecedent is None:
        return replace(clause, reference=reference_in(clause.text))
    commands = _commands(clause) and not _REPEATS.search(clause.text)
    same = commands and {clause.action, antecedent.action} <= _LOOKS
    stems = antecedent.stems if commands and not same else antecedent.whole
    action = clause.action if commands else antecedent.action
    if order is not None and not commands:
        stems, action = (*antecedent.stems, *order.stems[:1]), order.action
    return replace(
        clause,
        reference=reference_in(clause.text) or clause.text.strip(),
        stems=tuple(dict.fromkeys((*clause.stems, *stems))),
        objects=antecedent.objects,
        action=action if action is not Action.UNKNOWN else clause.action,
    )


def _order(
    clause: ClauseReading, context: RouteContext, verbs: Collection[str]
) -> ClauseReading | None:
    """The goal, if it orders something and the clause itself says nothing of what to do."""
    if _commands(clause) or _REPEATS.search(clause.text) or not context.goal:
        return None
    goal = read_clause(context.goal, verbs=verbs)
    return goal if goal.asks_side_effect and goal.text != clause.text else None


def _from_clauses(before: Iterable[ClauseReading]) -> Antecedent | None:
    for clause in before:
        if clause.reference:
            continue
        things = tuple(word for name in clause.objects for word in name_stems(name))
        if things:
            return Antecedent(things, clause.objects, clause.stems, clause.action)
    return None


def _from_tools(
    clause: ClauseReading,
    context: RouteContext,
    cards: Mapping[str, CapabilityCard],
    skill: Callable[[str, ClauseReading], int],
) -> Antecedent | None:
    """What the last of the tools called before was about, of those that can be acted on best."""
    called = [cards[name] for name in context.earlier if name in cards]
    if _commands(clause):
        best = max((skill(card.domain, clause) for card in called), default=0)
        called = [card for card in called if best and skill(card.domain, clause) == best]
    if not called:
        return None
    card = called[0]
    things = tuple(word for word in card.name_stems if word != stem(card.verb))
    objects = tuple(word for word in tokens(card.name) if stem(word) in things)
    whole = (*card.name_stems, *card.tag_stems)
    return Antecedent((*things, *card.tag_stems), objects, whole, card.action)


def _from_goal(
    clause: ClauseReading, context: RouteContext, verbs: Collection[str]
) -> Antecedent | None:
    """What the goal is about: the clause before this one in it, else its first with a thing."""
    start = context.goal.find(clause.text)
    before = split_clauses(context.goal[:start] if start > 0 else context.goal, verbs=verbs)
    texts = [text for text in before if text != clause.text]
    readings = [
        read_clause(text, verbs=verbs) for text in (reversed(texts) if start > 0 else texts)
    ]
    return _from_clauses(readings)
