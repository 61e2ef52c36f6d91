"""The cards of a catalog as columns: what scoring reads of many cards at once."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import Action, Slot, SlotKind
from orchestrator.language.words import stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.input_needs import UNTYPED, share_filled
from orchestrator.routing.indexes.terms import Floats, TermIndex

Rows = NDArray[np.intp]
_SHARES_KEPT = 1 << 14
_RULINGS_KEPT = 1 << 6
_T = TypeVar("_T", bound=Hashable)
_ACTION_NUMBERS: Final = {action: number for number, action in enumerate(Action)}
_KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(get_args(SlotKind))}


class AgreementRule(Hashable, Protocol):
    """How well a request agrees with what a tool is for; see `scoring.agreement`."""

    def __call__(self, reading: ClauseReading, card: CapabilityCard, *, own_verb: bool) -> float:
        """The agreement, -1 to 1."""


class CardColumns:
    """One array per trait, each of shape (n_cards,); a request reads the rows it needs."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        *,
        domains: Sequence[str],
        idf: Callable[[str], float],
    ) -> None:
        """Lay out the cards.

        Args:
            cards: in catalog order.
            domains: every domain of the cards, in the order of the domain scores.
            idf: how telling a word of a name is; negative values count as none.
        """
        names = [{w: max(0.0, idf(w)) for w in set(card.name_stems)} for card in cards]
        self._names = TermIndex.of(names)
        mass = np.array([sum(name.values()) for name in names])
        # Infinite where a name says nothing, so that no share of it is ever said.
        self._name_mass = np.where(mass > 0, mass, np.inf)
        numbers = {domain: number for number, domain in enumerate(domains)}
        self.domain: Rows = np.array([numbers[card.domain] for card in cards], dtype=np.intp)
        # An action and an effect are a purpose: a catalog has few, and one card stands for each.
        purposes = [(card.action, card.effect) for card in cards]
        _, self._purpose = _coded(purposes)
        self._examples = list(dict(zip(purposes, cards, strict=True)).values())
        self._actions = np.array([_ACTION_NUMBERS[card.action] for card in cards])
        verbs, self._verb = _coded([card.verb for card in cards])
        self._verb_numbers = {verb: number for number, verb in enumerate(verbs)}
        self._verbs_by_stem: dict[str, list[int]] = defaultdict(list)
        for number, verb in enumerate(verbs):
            self._verbs_by_stem[stem(verb)].append(number)
        self._verb_mass = np.array(
            [name.get(stem(c.verb), 0.0) for name, c in zip(names, cards, strict=True)]
        )
        # What a request orders, and how, is one of a dozen cases; a rule sees no more of it.
        self._agreed = lru_cache(maxsize=_RULINGS_KEPT)(self._rulings)
        self._needs, self._need = _coded([(card.needs, len(card.required)) for card in cards])
        # Requests with values of the same kinds are frequent, and tools with the same needs too.
        self._filled = lru_cache(maxsize=_SHARES_KEPT)(self._share_filled)
        self._takes = np.zeros((len(cards), len(_KIND_NUMBERS)))
        for row, card in enumerate(cards):
            self._takes[row, [_KIND_NUMBERS[kind] for kind in card.takes]] = 1.0

    def name_share(self, readings: Sequence[ClauseReading], rows: Rows) -> Floats:
        """How much of each name a request says, 0 to 1; a verb that means the same is said."""
        verb, actions = self._verb[rows], self._actions[rows]
        mass, verb_mass = self._name_mass[rows], self._verb_mass[rows]
        stems = [dict.fromkeys(reading.stems, 1.0) for reading in readings]
        said = self._names.sums_each(stems)[:, rows]
        for i, reading in enumerate(readings):
            unsaid = np.ones(len(self._verb_numbers), dtype=bool)
            for word in stems[i]:
                if word in self._verbs_by_stem:
                    unsaid[self._verbs_by_stem[word]] = False
            said[i] += verb_mass * (unsaid[verb] & (actions == _ACTION_NUMBERS[reading.action]))
        share: Floats = said / mass
        return share

    def naming(self, stems: Collection[str], rows: Rows) -> Floats:
        """-1 for each name that holds one of the words, else 0."""
        if not stems:
            return np.zeros(len(rows))
        words = dict.fromkeys(stems, 1.0)
        return -(self._names.sums(words)[rows] > 0).astype(np.float64)

    def agreement(
        self, rule: AgreementRule, readings: Sequence[ClauseReading], rows: Rows
    ) -> Floats:
        """What a rule says of each tool's purpose, given whether its own verb was used.

        Of a reading, the rule is shown the action and whether it is negated.
        """
        verb, purpose = self._verb[rows], self._purpose[rows]
        agreed = []
        for reading in readings:
            own = verb == (self._verb_numbers.get(reading.verb, -1) if reading.verb else -1)
            rulings = self._agreed(rule, reading.action, reading.is_negated)
            agreed.append(rulings[own.astype(np.intp), purpose])
        return np.stack(agreed)

    def _rulings(self, rule: AgreementRule, action: Action, is_negated: bool) -> Floats:
        """What a rule says of every purpose; shape (2, n_purposes), the second: its own verb."""
        reading = ClauseReading("", (), action=action, is_negated=is_negated)
        said = [
            [rule(reading, card, own_verb=own_verb) for card in self._examples]
            for own_verb in (False, True)
        ]
        return np.array(said, dtype=np.float64)

    def fit(self, known: Collection[str], slots: Iterable[Slot], rows: Rows) -> Floats:
        """The share of required inputs that can be filled, 0 to 1; 1 when nothing is required."""
        known, kinds = tuple(known), tuple(sorted(slot.kind for slot in slots))
        return np.array([self._filled(need, known, kinds) for need in self._need[rows].tolist()])

    def _share_filled(
        self, need: int, known: tuple[str, ...], kinds: tuple[SlotKind, ...]
    ) -> float:
        own, required = self._needs[need]
        return share_filled(own, required, known=known, kinds=kinds)

    def slot_use(self, texts: Sequence[Iterable[Slot]], rows: Rows) -> Floats:
        """The share of each text's typed values that some input of the tool takes, 0 to 1.

        Names and quoted words, which any text input takes, do not count; 0 when nothing counts.
        Shape (n_texts, n_rows).
        """
        asked = np.zeros((len(texts), len(_KIND_NUMBERS)))
        for text, slots in enumerate(texts):
            for slot in slots:
                if slot.kind not in UNTYPED:
                    asked[text, _KIND_NUMBERS[slot.kind]] += 1
        share: Floats = asked / np.maximum(1.0, asked.sum(axis=1, keepdims=True))
        used: Floats = share @ self._takes[rows].T
        return used


def _coded(values: Sequence[_T]) -> tuple[list[_T], Rows]:
    """The distinct values, and for each place the number of its value."""
    numbers: dict[_T, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), np.array(codes, dtype=np.intp)
