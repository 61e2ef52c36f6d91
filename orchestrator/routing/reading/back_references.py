"""Follow-ups: clauses that say what to do, and leave what with to what came before.

"Book it", "cancel that one", "the second one", "try again" and "and in Rome?" have no words of
their own for a thing. They take those of the nearest antecedent: a clause before them in the
request, then the tools that were called before, then the goal.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.language.goal_clauses import split_goal
from orchestrator.language.intent import Action, Slot
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import content_stems, name_stems, stem, tokens
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.clause_reading import (
    CatalogVerbs,
    ClauseReading,
    matter_start,
    read_clause,
)
from orchestrator.routing.selection import RouteContext

_LOOKS: Final = frozenset({Action.READ, Action.SEARCH})
POINTING_STEMS: Final = frozenset(content_stems(" ".join(WordLists("words").words("pointing"))))
"""Stems of words that say which thing, or to go ahead, and not what."""
_ORDINAL: Final = (
    r"first|second|third|fourth|fifth|last|next|other|same|cheapest|best|latest|top|former|latter"
)
POINTS: Final = re.compile(
    rf"\b(?:(?:this|that|the|these|those|your|another)\s+(?:(?:{_ORDINAL})\s+)?(?:one|ones)"
    rf"|(?:the|number)\s+(?:{_ORDINAL}|one|two|three|four|five)(?=\s*(?:[.,;!?]|$|(?:for|with|on|please)\b))"
    r"|it|them|both|either|all\s+of\s+(?:them|it)"
    r"|(?:this|that|these|those)(?=\s*(?:[.,;!?]|$|(?:for|with|to|by|on|at|in|from|too|now|please"
    r"|instead|again|back|as)\b)))\b",
    re.IGNORECASE,
)
"""Words that stand for a thing."""
REPEATS: Final = re.compile(
    r"\b(?:retry|try\s+(?:it\s+|that\s+|this\s+)?(?:again|once\s+more)|re-?do"
    r"|(?:do|run|repeat)\s+(?:it|that|this)(?:\s+again|\s+once\s+more)?|once\s+more|same\s+again)\b",
    re.IGNORECASE,
)
"""An order to do the same again."""


def reference_in(clause: str) -> str:
    """Return the words of a clause that point at what came before; empty when none do."""
    match = REPEATS.search(clause) or POINTS.search(clause)
    return " ".join(match.group().split()) if match else ""


@dataclass(frozen=True, slots=True)
class Antecedent:
    """What a follow-up is about: `stems` of its words, `objects` as written, and what was done.

    `whole` are the stems with those of its verb, for a follow-up that only repeats.
    """

    stems: tuple[str, ...]
    objects: tuple[str, ...]
    whole: tuple[str, ...]
    action: Action


class FollowUps:
    """Completes the follow-ups of requests over one catalog; immutable."""

    def __init__(self, cards: Iterable[CapabilityCard], verbs: CatalogVerbs) -> None:
        """Take the catalog's cards, and the verbs that its tools are named by."""
        self._cards = {card.name: card for card in cards}
        self._known_verbs = verbs
        self._actions = {(card.domain, card.action) for card in self._cards.values()}
        self._verbs = {(card.domain, stem(card.verb)) for card in self._cards.values()}

    def resolve(
        self,
        clauses: Sequence[ClauseReading],
        slots: Sequence[Sequence[Slot]],
        context: RouteContext,
    ) -> list[ClauseReading]:
        """The clauses, those that leave their thing to another one completed from it.

        Args:
            clauses: of the request, in order.
            slots: the values of each clause.
            context: what was called before, and the goal.
        """
        found: list[ClauseReading] = []
        for clause, values in zip(clauses, slots, strict=True):
            if clause.action is Action.SEND and clause.objects:
                clause = replace(clause, reference=reference_in(clause.text))
            elif _is_bare(clause, values):
                nearest = (
                    _from_clauses(reversed(found))
                    or self._from_tools(clause, context)
                    or self._from_goal(clause, context)
                )
                clause = _completed(clause, nearest, order=self._order(clause, context))
            found.append(clause)
        if not found:
            return []
        following = (*clauses[1:], self._after_in_goal(clauses[-1], context))
        return [self._foreseen(c, after) for c, after in zip(found, following, strict=True)]

    def _after_in_goal(self, last: ClauseReading, context: RouteContext) -> ClauseReading | None:
        """The clause that follows this one in the goal, if it points back."""
        start = context.goal.find(last.text) if last.text else -1
        rest = context.goal[start + len(last.text) :] if start >= 0 else ""
        if not POINTS.search(rest):
            return None
        after = split_goal(rest, verbs=self._known_verbs)
        return read_clause(after[0].text, verbs=self._known_verbs) if after else None

    def _foreseen(self, clause: ClauseReading, following: ClauseReading | None) -> ClauseReading:
        """The clause, told what is to be done with what it asks for: only files are shared."""
        if following is None or following.objects or not following.commands:
            return clause
        if not reference_in(following.text):
            return clause
        owners = [domain for domain, verb in self._verbs if verb == stem(following.verb)]
        domain = owners[0] if len(owners) == 1 else ""
        stems = dict.fromkeys((*clause.stems, *content_stems(domain)))
        return replace(clause, likely=domain, stems=tuple(stems))

    def _order(self, clause: ClauseReading, context: RouteContext) -> ClauseReading | None:
        """The goal, if it orders something and the clause itself says nothing of what to do."""
        if clause.commands or REPEATS.search(clause.text) or not context.goal:
            return None
        goal = read_clause(context.goal, verbs=self._known_verbs)
        return goal if goal.asks_side_effect and goal.text != clause.text else None

    def _from_tools(self, clause: ClauseReading, context: RouteContext) -> Antecedent | None:
        """What the last tool called was about, of those that can be acted on best."""
        called = [self._cards[name] for name in context.earlier if name in self._cards]
        if clause.commands:
            best = max((self._skill(card.domain, clause) for card in called), default=0)
            called = [c for c in called if best and self._skill(c.domain, clause) == best]
        if not called:
            return None
        card = called[0]
        things = tuple(word for word in card.name_stems if word != stem(card.verb))
        objects = tuple(word for word in tokens(card.name) if stem(word) in things)
        whole = (*card.name_stems, *card.tag_stems)
        return Antecedent((*things, *card.tag_stems), objects, whole, card.action)

    def _skill(self, domain: str, clause: ClauseReading) -> int:
        """2 where the domain has a tool with the clause's verb, 1 for its action, else 0.

        "Book it" is not about the weather.
        """
        if (domain, stem(clause.verb)) in self._verbs:
            return 2
        return int((domain, clause.action) in self._actions)

    def _from_goal(self, clause: ClauseReading, context: RouteContext) -> Antecedent | None:
        """What the goal is about: the clause before this one in it, else its first with a thing."""
        verbs, start = self._known_verbs, context.goal.find(clause.text)
        before = split_goal(context.goal[:start] if start > 0 else context.goal, verbs=verbs)
        texts = [one.text for one in before if one.text != clause.text]
        ordered = reversed(texts) if start > 0 else texts
        return _from_clauses([read_clause(text, verbs=verbs) for text in ordered])


def _is_bare(clause: ClauseReading, values: Iterable[Slot]) -> bool:
    """Whether nothing in the clause but its verb and values says what it is about.

    What somebody is told says so itself, whatever it is.
    """
    if clause.action is Action.SEND and matter_start(clause.text, clause.verb) < len(clause.text):
        return False
    said = {word for slot in values for word in name_stems(slot.text)}
    own = {word for word in clause.stems if word not in POINTING_STEMS and word not in said}
    return not own - {stem(clause.verb)} if clause.commands else not own


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
    commands = clause.commands and not REPEATS.search(clause.text)
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


def _from_clauses(before: Iterable[ClauseReading]) -> Antecedent | None:
    for clause in before:
        if clause.reference:
            continue
        things = tuple(word for name in clause.objects for word in name_stems(name))
        if things:
            return Antecedent(things, clause.objects, clause.stems, clause.action)
    return None
