"""The features that need a detailed comparison of promising cards: word pairs, effect, inputs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from orchestrator.catalog.tool import Effect
from orchestrator.language.intent import Action, SlotKind
from orchestrator.language.words import stem
from orchestrator.routing.cards.capability_card import CapabilityCard, share_filled
from orchestrator.routing.clause_reading import ClauseReading
from orchestrator.routing.sparse_index import Floats, Positions

FEATURES: Final = ("near", "name", "effect", "fit", "negated")
_REACH = 3
_CARDS_KEPT = 1 << 13
_SHARES_KEPT = 1 << 14
_Places = Mapping[str, Sequence[int]]


class Sought(NamedTuple):
    """A text in the form that is compared with cards."""

    reading: ClauseReading
    idf: Mapping[str, float]
    """The idf of each word that the catalog knows in any form, even if no card contains it."""
    values: Collection[str] = ()
    """Words of values: a tool need not know a city or a day."""
    kinds: tuple[SlotKind, ...] = ()
    """Kinds of its values, in any fixed order."""
    inputs: tuple[str, ...] = ()
    """Names of inputs whose values are available."""


class _View(NamedTuple):
    """A card in the form that a detailed comparison uses."""

    card: CapabilityCard
    places: _Places
    """The positions of each word; words of different texts are far apart."""
    name: Mapping[str, float]
    """The share of each word in the name, by idf."""


class CloserLook:
    """The cards of a catalog, with a cache of recent views."""

    def __init__(self, cards: Sequence[CapabilityCard], idf: Callable[[str], float]) -> None:
        """Take the cards, and the idf of each word in a name."""
        self._cards = cards
        self._idf = idf
        self._view = lru_cache(maxsize=_CARDS_KEPT)(self._read)
        # Cached, as requests often share their kinds of values, and tools their needs.
        self._filled = lru_cache(maxsize=_SHARES_KEPT)(share_filled)

    def features(self, texts: Sequence[Sought], rows: Positions) -> Floats:
        """Return each of FEATURES for each text and card; (len(FEATURES), n_texts, n_rows)."""
        views = [self._view(row) for row in rows.tolist()]
        found = [self._of(text, views) for text in texts]
        return np.array(found).reshape(len(texts), len(rows), len(FEATURES)).transpose(2, 0, 1)

    def _of(self, text: Sought, views: Sequence[_View]) -> list[tuple[float, ...]]:
        """Return the features of one text for each of the cards."""
        # Ordered: sums in the order of a set would differ between processes.
        reading, words = text.reading, dict.fromkeys(text.reading.stems)
        shared_words = (word for word in words if word in text.idf and word not in text.values)
        asked = {word: text.idf[word] for word in shared_words}
        expected = sum(asked.values()) or 1.0
        pairs = {
            (a, b): (asked.get(a, 0.0) + asked.get(b, 0.0)) / (2 * expected)
            for a, b in _near(reading.stems)
        }
        found: list[tuple[float, ...]] = []
        for view in views:
            held = [word for word in words if word in view.places]
            near = _meeting(pairs, held, view.places) if len(held) > 1 else 0.0
            found.append(
                (
                    near,
                    sum(view.name.get(word, 0.0) for word in held) + _verb_meant(reading, view),
                    effect_agreement(reading, view.card),
                    self._filled(
                        view.card.needs,
                        len(view.card.required),
                        known=text.inputs,
                        kinds=text.kinds,
                    ),
                    -1.0 if any(word in view.name for word in reading.unwanted) else 0.0,
                )
            )
        return found

    def _read(self, row: int) -> _View:
        card = self._cards[row]
        idf = {word: max(0.0, self._idf(word)) for word in card.name_stems}
        # Infinite for a name without weight, so that no share of the name ever matches.
        mass = sum(idf.values()) or float("inf")
        places: dict[str, list[int]] = {}
        start = 0
        for words in chain(
            (card.name_stems, card.text_stems, card.schema_stems, card.tag_stems),
            card.example_stems,
        ):
            for place, word in enumerate(words, start):
                places.setdefault(word, []).append(place)
            start += len(words) + _REACH
        return _View(card, places, {word: own / mass for word, own in idf.items()})


def effect_agreement(reading: ClauseReading, card: CapabilityCard) -> float:
    """Compare a tool's declared effect with the requested one: 1, 0 (no declaration) or -1.

    Unlike an action, which is read from words, the effect is a fact of the contract. A cancel tool
    serves requests to cancel, and a tool that changes something does not serve mere questions.
    """
    if card.effect is Effect.READ:
        return 0.0
    if reading.asks_side_effect and card.verb and card.verb == reading.verb:
        return 1.0
    wants_cancel = reading.action is Action.CANCEL
    if reading.asks_side_effect and (card.effect is Effect.CANCEL) <= wants_cancel:
        return 1.0
    return -1.0 if reading.action is not Action.UNKNOWN else 0.0


def _near(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of different words at a distance of at most three."""
    for step in range(1, _REACH + 1):
        for first, second in zip(words, words[step:], strict=False):
            if first != second:
                yield (first, second) if first < second else (second, first)


def _meeting(
    pairs: Mapping[tuple[str, str], float], held: Collection[str], places: _Places
) -> float:
    """Return the weight of the pairs whose words are at most three apart in the card as well."""
    return sum(
        weight
        for (first, second), weight in pairs.items()
        if first in held
        and second in held
        and any(abs(a - b) <= _REACH for a in places[first] for b in places[second])
    )


def _verb_meant(reading: ClauseReading, view: _View) -> float:
    """Return the share of the name's verb if the text has a synonym of it."""
    card = view.card
    if reading.action is not card.action or card.verb == reading.verb:
        return 0.0
    own = stem(card.verb)
    return 0.0 if own in reading.stems else view.name.get(own, 0.0)
