"""The cards of a catalog as columns: what scoring reads of many cards at once."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from orchestrator.intent import Slot, SlotKind
from orchestrator.routing.agreement import Purpose, purpose_of
from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.fit import UNTYPED, share_filled
from orchestrator.routing.frame import ClauseReading
from orchestrator.routing.terms import Floats, TermIndex
from orchestrator.routing.words import stem

Rows = NDArray[np.intp]
_SHARES_KEPT = 1 << 15
_T = TypeVar("_T", bound=Hashable)
_KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(get_args(SlotKind))}


class AgreementRule(Protocol):
    """How well a request agrees with a purpose; see `orchestrator.routing.agreement`."""

    def __call__(self, reading: ClauseReading, purpose: Purpose, *, own_verb: bool) -> float:
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
        self._name_mass = np.array([sum(name.values()) for name in names])
        numbers = {domain: number for number, domain in enumerate(domains)}
        self.domain: Rows = np.array([numbers[card.domain] for card in cards], dtype=np.intp)
        self._purposes, self._purpose = _coded([purpose_of(card) for card in cards])
        verbs, self._verb = _coded([card.verb for card in cards])
        self._verb_numbers = {verb: number for number, verb in enumerate(verbs)}
        self._verbs_by_stem: dict[str, list[int]] = defaultdict(list)
        for number, verb in enumerate(verbs):
            self._verbs_by_stem[stem(verb)].append(number)
        self._verb_mass = np.array(
            [name.get(stem(c.verb), 0.0) for name, c in zip(names, cards, strict=True)]
        )
        self._needs, self._need = _coded([(card.needs, len(card.required)) for card in cards])
        # Requests with values of the same kinds are frequent, and tools with the same needs too.
        self._filled = lru_cache(maxsize=_SHARES_KEPT)(self._share_filled)
        self._takes = np.zeros((len(cards), len(_KIND_NUMBERS)), dtype=bool)
        for row, card in enumerate(cards):
            self._takes[row, [_KIND_NUMBERS[kind] for kind in card.takes]] = True

    def name_share(self, reading: ClauseReading, rows: Rows) -> Floats:
        """How much of each name the request says, 0 to 1; a verb that means the same is said."""
        stems = dict.fromkeys(reading.stems, 1.0)
        unsaid = np.ones(len(self._verb_numbers), dtype=bool)
        for word in stems:
            unsaid[self._verbs_by_stem.get(word, [])] = False
        same = np.array([p.action is reading.action for p in self._purposes], dtype=bool)
        implied = unsaid[self._verb[rows]] & same[self._purpose[rows]]
        said = self._names.sums(stems)[rows] + self._verb_mass[rows] * implied
        mass = self._name_mass[rows]
        share: Floats = np.divide(said, mass, out=np.zeros(len(rows)), where=mass > 0)
        return share

    def naming(self, stems: Iterable[str], rows: Rows) -> Floats:
        """-1 for each name that holds one of the words, else 0."""
        words = dict.fromkeys(stems, 1.0)
        return -(self._names.sums(words)[rows] > 0).astype(np.float64)

    def agreement(self, rule: AgreementRule, reading: ClauseReading, rows: Rows) -> Floats:
        """What a rule says of each tool's purpose, given whether its own verb was used."""
        said = [
            [rule(reading, purpose, own_verb=own_verb) for purpose in self._purposes]
            for own_verb in (False, True)
        ]
        verb = self._verb_numbers.get(reading.verb, -1) if reading.verb else -1
        own = (self._verb[rows] == verb).astype(np.intp)
        agreed: Floats = np.array(said, dtype=np.float64)[own, self._purpose[rows]]
        return agreed

    def fit(self, known: Collection[str], slots: Iterable[Slot], rows: Rows) -> Floats:
        """The share of required inputs that can be filled, 0 to 1; 1 when nothing is required."""
        kinds = tuple(sorted(slot.kind for slot in slots))
        known = tuple(known)
        codes, places = np.unique(self._need[rows], return_inverse=True)
        shares = [self._filled(code, known, kinds) for code in codes.tolist()]
        return np.array(shares)[places]

    def _share_filled(
        self, code: int, known: tuple[str, ...], kinds: tuple[SlotKind, ...]
    ) -> float:
        needs, required = self._needs[code]
        return share_filled(needs, required, known=known, kinds=kinds)

    def slot_use(self, slots: Iterable[Slot], rows: Rows) -> Floats:
        """The share of the request's typed values that some input of the tool takes, 0 to 1.

        Names and quoted words, which any text input takes, do not count; 0 when nothing counts.
        """
        kinds = [_KIND_NUMBERS[slot.kind] for slot in slots if slot.kind not in UNTYPED]
        if not kinds:
            return np.zeros(len(rows))
        used: Floats = self._takes[rows][:, kinds].mean(axis=1)
        return used


def _coded(values: Sequence[_T]) -> tuple[list[_T], Rows]:
    """The distinct values, and for each place the number of its value."""
    numbers: dict[_T, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), np.array(codes, dtype=np.intp)
