"""The request parser: completed clauses of a request, their values, and the intent frame."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Final, NamedTuple

from orchestrator.language.goal_clauses import Clause, split_goal, without_lead
from orchestrator.language.intent import Action, IntentFrame, Slot
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    QUESTION_WORDS,
    STOP_WORDS,
    content_stems,
    is_verb,
    name_stems,
    stem,
    tokens,
)
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.vocabulary import CatalogVocabulary, EvidenceIndex
from orchestrator.routing.clause_reading import (
    ClauseReading,
    matter_start,
    read_clause,
    read_slots,
)
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.selection import RouteContext

# --- follow-ups -----------------------------------------------------------------------------

_LOOKS: Final = frozenset({Action.READ, Action.SEARCH})
_POINTING_STEMS: Final = frozenset(content_stems(" ".join(WordLists("words").words("pointing"))))
"""Stems of words that refer to a thing without naming it."""
_ORDINAL: Final = (
    r"first|second|third|fourth|fifth|last|next|other|same|cheapest|best|latest|top|former|latter"
)
_POINTS: Final = re.compile(
    rf"\b(?:(?:this|that|the|these|those|your|another)\s+(?:(?:{_ORDINAL})\s+)?(?:one|ones)"
    rf"|(?:the|number)\s+(?:{_ORDINAL}|one|two|three|four|five)(?=\s*(?:[.,;!?]|$|(?:for|with|on|please)\b))"
    r"|it|them|both|either|all\s+of\s+(?:them|it)"
    r"|(?:this|that|these|those)(?=\s*(?:[.,;!?]|$|(?:for|with|to|by|on|at|in|from|too|now|please"
    r"|instead|again|back|as)\b)))\b",
    re.IGNORECASE,
)
"""Words that refer to a thing."""
_REPEATS: Final = re.compile(
    r"\b(?:retry|try\s+(?:it\s+|that\s+|this\s+)?(?:again|once\s+more)|re-?do"
    r"|(?:do|run|repeat)\s+(?:it|that|this)(?:\s+again|\s+once\s+more)?|once\s+more|same\s+again)\b",
    re.IGNORECASE,
)
"""A request to repeat the last action."""


class FollowUps:
    """Completes the follow-ups of requests over one catalog; immutable.

    "Book it", "cancel that one", "the second one", "try again" and "and in Rome?" name no thing
    themselves. They take the words of the nearest antecedent: an earlier clause of the request,
    then the tools that were called before, then the goal.
    """

    def __init__(self, cards: Iterable[CapabilityCard]) -> None:
        """Take the catalog's cards."""
        self._cards = {card.name: card for card in cards}
        self._verbs = {(card.domain, stem(card.verb)) for card in self._cards.values()}

    def resolve(
        self,
        clauses: Sequence[ClauseReading],
        slots: Sequence[Sequence[Slot]],
        context: RouteContext,
    ) -> list[ClauseReading]:
        """Return the clauses, with follow-ups completed from their antecedents.

        Args:
            clauses: the clauses of the request, in order.
            slots: the values of each clause.
            context: contains the earlier calls and the goal.
        """
        found: list[ClauseReading] = []
        for clause, values in zip(clauses, slots, strict=True):
            said = _REPEATS.search(clause.text) or _POINTS.search(clause.text)
            referring = replace(clause, reference=said.group() if said else "")
            is_send = clause.action is Action.SEND
            # A bare clause has only a verb and values, without a thing. The text of a message never
            # counts as bare.
            values_said = {word for slot in values for word in name_stems(slot.text)}
            own = set(clause.stems) - _POINTING_STEMS - values_said
            is_bare = not (own - {stem(clause.verb)} if clause.commands else own)
            if is_send and clause.objects:
                clause = referring
            elif is_bare and not (
                is_send and matter_start(clause.text, clause.verb) < len(clause.text)
            ):
                before = self._before(referring, found, context)
                clause = _completed(referring, before, context) if before else referring
            found.append(clause)
        return found

    def _before(
        self, clause: ClauseReading, found: Sequence[ClauseReading], context: RouteContext
    ) -> ClauseReading | None:
        """Return the nearest antecedent that names a thing: a clause, a called tool or the goal."""
        start = context.goal.find(clause.text)
        goal = [one.text for one in split_goal(context.goal[:start] if start > 0 else context.goal)]
        clauses = [read_clause(one) for one in (reversed(goal) if start > 0 else goal)]
        called = [self._cards[name] for name in context.earlier if name in self._cards]
        # Nobody books the weather, even if it was looked up last.
        able = [card for card in called if (card.domain, stem(clause.verb)) in self._verbs]
        tools = [
            ClauseReading(
                card.name,
                (*card.name_stems, *card.tag_stems),
                verb=card.verb,
                action=card.action,
                objects=tuple(word for word in tokens(card.name) if word != card.verb),
            )
            for card in (able or called)
        ]
        own = [one for one in reversed(found) if not one.reference]
        return next((one for one in (*own, *tools, *clauses) if one.objects), None)


def _completed(
    clause: ClauseReading, before: ClauseReading, context: RouteContext
) -> ClauseReading:
    commands = clause.commands and not _REPEATS.search(clause.text)
    things = [word for name in before.objects for word in name_stems(name)]
    is_look = {clause.action, before.action} <= _LOOKS
    stems, action = things if commands and not is_look else before.stems, clause.action
    if not commands:
        # "The second one" of some results is for the action that the goal orders.
        goal = read_clause(context.goal)
        orders = goal.asks_side_effect and not _REPEATS.search(clause.text)
        stems, action = (
            ([*things, *goal.stems[:1]], goal.action) if orders else (stems, before.action)
        )
    return replace(
        clause,
        reference=clause.reference or clause.text.strip(),
        stems=tuple(dict.fromkeys((*clause.stems, *stems))),
        objects=before.objects,
        action=action if action is not Action.UNKNOWN else clause.action,
    )


# --- conjuncts ------------------------------------------------------------------------------

# Beginnings that continue the previous thing: "returning on Friday", "with a pool".
_GOES_ON: Final = re.compile(
    r"(?:\w{3,}ing|that|who|whose|with|without|for|from|in|at|on|to|by|of|under|over|near|until|since"
    r"|because|so|if|unless|not|nor|neither|except|excluding)\b",
    re.IGNORECASE,
)
_LENGTHS: Final = re.compile(r"(?:minute|min|hour|hr|day|night|week|fortnight)s?|h")


class Conjuncts:
    """Finds the separate requests in texts over one catalog; immutable.

    "Weather in London and list files" begins one request with a noun, "a flight to Rome and a hotel
    there" both. The catalog decides: split, each part points to a different tool, and together they
    have more evidence than the best tool for the whole. "Tom and Jerry" and "bread and butter"
    point to one tool or to none.
    """

    def __init__(
        self,
        evidence: EvidenceIndex,
        cards: Sequence[CapabilityCard],
        apart: float,
    ) -> None:
        """Take a catalog's words and cards; `apart`: see `RoutingProfile.apart`."""
        self._evidence = evidence
        self._domains = [card.domain for card in cards]
        self._price = apart * math.log(max(len(cards), 12))

    def clauses(self, text: str, slots: Sequence[Slot]) -> tuple[Clause, ...]:
        """Return the requests of a text.

        Args:
            text: the request.
            slots: the values of the text, which do not count as evidence: "from Rome and Milan".
        """
        # "Papier & Co" is one name and separates no requests. "Tomorrow, 6 in the evening" and "30
        # EUR for lunch and 12 EUR for parking" continue one request.
        whole = [(s.position, s.position + len(s.text)) for s in slots if s.kind == "name"]
        whole += [
            (s.position - 1, s.position + 1)
            for s in slots
            if s.kind in ("time", "amount")
            or (s.kind == "quantity" and bool(_LENGTHS.fullmatch(s.hint)))
        ]
        values = {word for slot in slots for word in name_stems(slot.text)}
        return split_goal(
            text,
            is_other=partial(self._is_other, values),
            at_commas=True,
            whole=whole,
        )

    def _is_other(self, values: Collection[str], before: str, phrase: str) -> bool:
        """Return True if a phrase without a verb is a different request than the text before it."""
        if _GOES_ON.match(phrase):
            return False
        readings = [read_clause(part) for part in (before, phrase)]
        if readings[0].action is Action.SEND:
            return False  # the text of a message continues
        if readings[1].asks_side_effect and QUESTION_WORDS & {*tokens(without_lead(before))[:1]}:
            return False  # "How much did Ana and the plumber charge us" orders no charge
        left, right = (
            self._evidence.find(word for word in one.stems if word not in values).total
            for one in readings
        )
        if not len(left):
            return False
        tops = float(left.max()), float(right.max())
        gain = sum(tops) - float((left + right).max())
        # The whole of the weaker side, if none of it points to the other side's tool.
        gain *= gain / max(min(tops), 1e-9)
        if self._domains[int(left.argmax())] == self._domains[int(right.argmax())]:
            gain /= 2
        return gain >= self._price


# --- requests -------------------------------------------------------------------------------

# A command and its object: "sell my car", "paint the house".
_ORDER: Final = re.compile(
    r"(?P<verb>[a-z]+)\s+(?:me|us|my|our|him|her|them|the|a|an|\d+)\s+\w", re.IGNORECASE
)
_PLAIN_WORD: Final = re.compile(r"(?<![\w@./-])[a-z]{4,}(?![\w@/-])")


_Own = tuple[tuple[Slot, ...], list[list[Slot]], list[ClauseReading]]
"""The values of a text, those of each clause, and the clauses, without what came before."""


class RequestReading(NamedTuple):
    """A parsed request."""

    clauses: list[ClauseReading]
    """In order, with follow-ups completed."""
    slots: tuple[Slot, ...]
    """The values of the whole request."""
    own: list[list[Slot]]
    """The values of each clause."""
    frame: IntentFrame


class RequestParser:
    """Parses requests over one catalog; immutable."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        vocabulary: CatalogVocabulary,
        evidence: EvidenceIndex,
        profile: RoutingProfile,
    ) -> None:
        """Take a catalog's cards, their vocabulary and evidence, and the routing profile."""
        self._domains: dict[str, set[str]] = {}
        for card in cards:
            self._domains.setdefault(card.verb, set()).add(card.domain)
        self._follow_ups = FollowUps(cards)
        self._vocabulary = vocabulary
        self._knows = evidence.knows
        self._conjuncts = Conjuncts(evidence, cards, profile.apart)

        @lru_cache(maxsize=256)
        def own(text: str, now: datetime | None) -> _Own:
            slots = read_slots(text, now=now)
            pieces = self._conjuncts.clauses(text, slots)
            owned = [[s for s in slots if one.start <= s.position < one.end] for one in pieces]
            clauses = [self.clause(p.text, values) for p, values in zip(pieces, owned, strict=True)]
            return slots, owned, clauses

        self._own = own

    def parse(self, text: str, context: RouteContext, now: datetime | None) -> RequestReading:
        """Return the clauses and values of a request."""
        slots, own, clauses = self._own(text, now)
        resolved = self._follow_ups.resolve(clauses, own, context)
        frame = _frame_of(
            resolved, slots, self._vocabulary, is_retry=context.last_error is not None
        )
        return RequestReading(resolved, slots, own, frame)

    def clause(self, clause: str, slots: Sequence[Slot]) -> ClauseReading:
        """Read one clause, with misspellings corrected."""
        read = read_clause(self.corrected(clause, slots))
        return read if read.text == clause else replace(read, text=clause)

    def corrected(self, text: str, slots: Sequence[Slot] = ()) -> str:
        """Return the text with misspellings replaced by the catalog's words, except in values."""
        values = {word for slot in slots for word in tokens(slot.text)}

        def corrected(match: re.Match[str]) -> str:
            word = match.group()
            if word in values or word in STOP_WORDS or is_verb(word):
                return word
            return self._vocabulary.meant(stem(word)) or word

        return _PLAIN_WORD.sub(corrected, text)

    def knows_order(self, text: str) -> bool:
        """Return True if the catalog knows the verb of an order and its object.

        "Sell my car" without a tool that sells, or "book me a massage" without massages, shares a
        word with tools that do something else.
        """
        reading = self.clause(text, ())
        ordered = _ORDER.match(without_lead(text))
        verb = ordered["verb"].lower() if ordered else ""
        if verb and verb not in STOP_WORDS and not reading.is_negated and not is_verb(verb):
            if reading.verb != verb and reading.action is not Action.UNKNOWN:
                return True
            return self._knows(stem(verb))
        # A verb that tools of several domains share says little by itself.
        if not reading.asks_side_effect or len(self._domains.get(reading.verb, ())) < 2:
            return True
        if any(not word.islower() for word in reading.objects):
            return True
        objects = [word for name in reading.objects for word in name_stems(name)]
        return not objects or any(self._knows(word) for word in objects)


def _frame_of(
    readings: Collection[ClauseReading],
    slots: Collection[Slot],
    vocabulary: CatalogVocabulary,
    *,
    is_retry: bool,
) -> IntentFrame:
    asked = [r for r in readings if not r.is_negated]
    main = next((r for r in asked if r.action is not Action.UNKNOWN), None)
    main = main or next(iter(asked), None) or next(iter(readings), ClauseReading("", ()))
    return IntentFrame(
        domain=vocabulary.best_domain(main.stems),
        action=main.action,
        verb=main.verb,
        objects=tuple(dict.fromkeys(word for r in readings for word in r.objects)),
        references=tuple(r.reference for r in readings if r.reference),
        slots=tuple(slot for slot in slots if slot.value is not None),
        side_effect_allowed=any(r.asks_side_effect for r in readings),
        previous_tool_error=is_retry,
        clauses=tuple(r.text for r in readings),
    )
