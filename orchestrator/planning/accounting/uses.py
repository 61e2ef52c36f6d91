"""As what a path takes up one thing that is said: an input, a choice, a text, or not at all."""

import re
from dataclasses import dataclass
from typing import Final

from orchestrator.language import lexicon
from orchestrator.language.anaphora import POINTING_STEMS
from orchestrator.language.bounds import limit_of
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.deeds import is_vague, same_deed
from orchestrator.language.intent import Action, Slot
from orchestrator.language.words import QUESTION_WORDS, is_verb, stem, tokens
from orchestrator.planning.accounting.grounds import explained, takes, unexplained
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.said import Said
from orchestrator.planning.order_deeds import named
from orchestrator.planning.rules.answers import answers_price
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.saga.served import Order

_AND: Final = re.compile(r"(?:,|\b(?:and|plus)|&)\s+(?:(?:also|then)\s+)?$", re.IGNORECASE)
_AND_ONE: Final = re.compile(
    r"(?:,|\b(?:and|plus)|&)\s+(?:also\s+)?(?:an?|the|my|our|some|another)\s+$", re.IGNORECASE
)
_FEATURE: Final = re.compile(
    r"\b(?:with|without|near|by|beside|including|has|have)\s+(?:an?\s+|the\s+)?(?:[\w'-]+\s*){1,3}$",
    re.IGNORECASE,
)
_DONE_TO: Final = re.compile(r"\s+(?:my|our|the|an?|him|her|them|it)\b", re.IGNORECASE)
_CHOSEN: Final = "chooses among what is found"
_MATCHED: Final = "to be matched with what is found"
_WORDS: Final = frozenset({"thing", "quality", "name", "addressee", "place", "identifier"})
"""Kinds that are told by their words, which what is found may have."""
_ENDS: Final = frozenset({Kind.DATE, Kind.DATETIME})


@dataclass(frozen=True)
class Taken:
    """A clause, and the path that it is taken by."""

    clause: ClauseReading
    path: Path
    order: Order | None = None

    def use(self, said: Said) -> str:
        """As what it takes a thing up; empty when it does not."""
        match said.kind:
            case "verb":
                return self._as_deed(said)
            case "count":
                return self._as_count(said)
            case "amount":
                return self._as_amount(said)
            case "negation" | "correction" | "condition":
                return ""
        return self._as_value(said) or self._as_text(said) or self._as_found(said)

    def _as_deed(self, said: Said) -> str:
        """The verb of an order, where a tool does such a thing, whatever it calls that."""
        verb = self.clause.verb
        for tool in self.path.targets:
            own, action = named(tool)
            alike = action is self.clause.action and action is not Action.UNKNOWN
            if alike or same_deed(verb, own) or is_vague(verb) or verb in QUESTION_WORDS:
                return f"the tool {tool.name}"
        known = explained(said, self.path.grounds)
        done = self.order is not None and is_verb(verb) and bool(self.order.tools)
        return known or (
            f"the tool {self.path.targets[0].name}" if done and self.path.targets else ""
        )

    def _as_value(self, said: Said) -> str:
        return explained(said, self.path.grounds)

    def _as_text(self, said: Said) -> str:
        """What is written as it is said: a title, a description, a message."""
        written = self.path.writes
        return f"{written.name} that is written" if written and said.kind in _WORDS else ""

    def _as_found(self, said: Said) -> str:
        """What is told by the things that a tool of the path lists."""
        if self.path.finds is None or said.kind not in _WORDS or self._is_another(said):
            return ""
        words = {*tokens(said.text)}
        prefers = words & lexicon.PREFERENCES or {*said.stems} <= POINTING_STEMS
        return _CHOSEN if prefers else _MATCHED

    def _is_another(self, said: Said) -> bool:
        """Whether it is joined to what is ordered as another order: "and a taxi", "and walk Rex".

        Of two things that one preposition introduces ("with a pool and a sauna") both are features.
        """
        before, after = self.clause.text[: said.position], self.clause.text[said.end :]
        joined = _AND_ONE.search(before)
        if joined is not None:
            return not _FEATURE.search(before[: joined.start()])
        return bool(_AND.search(before) and _DONE_TO.match(after))

    def _as_count(self, said: Said) -> str:
        counted = [
            (w, p) for w, p in self.path.grounds.inputs if p.kind in (Kind.COUNT, Kind.NIGHTS)
        ]
        fitting = next((where for where, p in counted if _counts(p, said)), "")
        if fitting:
            return fitting
        if said.hint in lexicon.NIGHTS | lexicon.WEEKS and self._has_end():
            return "how long it lasts"
        if self.order is not None and self.order.count > 1:
            return f"{self.order.count} times"
        known = not unexplained(said, self.path.grounds) if said.stems else False
        if isinstance(said.value, str):
            return "each of what is found" if self.path.finds is not None else ""
        if said.value == 1:
            return "one of them"
        return explained(said, self.path.grounds) if known and said.hint in lexicon.COUNTED else ""

    def _has_end(self) -> bool:
        inputs = [p for _, p in self.path.grounds.inputs]
        return any(p.kind in _ENDS and p.side == "end" for p in inputs)

    def _as_amount(self, said: Said) -> str:
        given = next((where for where, p in self.path.grounds.inputs if takes(said, p)), "")
        if given:
            return given
        slot = Slot(
            kind="amount",
            value=said.value,
            text=said.text,
            position=said.position,
            hint=said.hint,
        )
        is_most = limit_of(self.clause.text, slot) == "max" or said.hint in lexicon.MOST_HINTS
        finds = self.path.finds
        priced = finds is not None and answers_price(finds)
        return "the most that is paid" if is_most and priced else ""


def _counts(parameter: Parameter, said: Said) -> bool:
    """Whether a number of a request is the one that an input counts."""
    words = {*parameter.words}
    if stem(said.hint) in {stem(word) for word in words}:
        return True
    if words & lexicon.PEOPLE:
        return said.hint in lexicon.PEOPLE or said.hint in ("for", "", "of")
    if parameter.kind is Kind.NIGHTS:
        return said.hint in lexicon.NIGHTS | lexicon.WEEKS
    return bool(words & {"quantity", "qty", "copies"}) and said.hint not in lexicon.PEOPLE
