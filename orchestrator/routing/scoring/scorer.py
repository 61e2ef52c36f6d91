"""Scores cards for a request: one number per feature and candidate, and their weighted sum."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.catalog.tool import Effect
from orchestrator.core.wall import Wall, admitted
from orchestrator.language.intent import Action, Slot, SlotKind
from orchestrator.language.words import name_stems, stem
from orchestrator.routing.cards.capability_card import CapabilityCard, share_filled
from orchestrator.routing.cards.vocabulary import (
    FIELDS,
    CatalogVocabulary,
    Evidence,
    EvidenceIndex,
    value_stems,
)
from orchestrator.routing.clause_reading import ClauseReading
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.embedding import closeness
from orchestrator.routing.selection import RouteContext
from orchestrator.routing.sparse_index import Floats, Positions

CLOSER: Final = ("near", "name", "effect", "fit", "negated")
_REACH = 3
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
        self._view = lru_cache(maxsize=1 << 13)(self._read)
        # Cached, as requests often share their kinds of values, and tools their needs.
        self._filled = lru_cache(maxsize=1 << 14)(share_filled)

    def features(self, texts: Sequence[Sought], rows: Positions) -> Floats:
        """Return each of CLOSER for each text and card; (len(CLOSER), n_texts, n_rows)."""
        views = [self._view(row) for row in rows.tolist()]
        found = [self._of(text, views) for text in texts]
        return np.array(found).reshape(len(texts), len(rows), len(CLOSER)).transpose(2, 0, 1)

    def _of(self, text: Sought, views: Sequence[_View]) -> list[tuple[float, ...]]:
        # Ordered: sums in the order of a set would differ between processes.
        reading, words = text.reading, dict.fromkeys(text.reading.stems)
        shared_words = (word for word in words if word in text.idf and word not in text.values)
        asked = {word: text.idf[word] for word in shared_words}
        expected = sum(asked.values()) or 1.0
        # Pairs of different words at a distance of at most three, with their weights.
        pairs: dict[tuple[str, str], float] = {}
        for step in range(1, _REACH + 1):
            for first, second in zip(reading.stems, reading.stems[step:], strict=False):
                if first != second:
                    a, b = min(first, second), max(first, second)
                    pairs[a, b] = (asked.get(a, 0.0) + asked.get(b, 0.0)) / (2 * expected)
        found: list[tuple[float, ...]] = []
        for view in views:
            card, places = view.card, view.places
            held = [word for word in words if word in places]
            shared = pairs.items() if len(held) > 1 else ()
            near = sum(
                weight
                for (a, b), weight in shared
                if a in places
                and b in places
                and any(abs(x - y) <= _REACH for x in places[a] for y in places[b])
            )
            named = sum(view.name.get(word, 0.0) for word in held)
            # The name's verb counts too if the text has a synonym of it.
            own = stem(card.verb)
            if reading.action is card.action and card.verb != reading.verb:
                named += 0.0 if own in reading.stems else view.name.get(own, 0.0)
            filled = self._filled(
                card.needs, len(card.required), known=text.inputs, kinds=text.kinds
            )
            negated = -1.0 if any(word in view.name for word in reading.unwanted) else 0.0
            found.append((near, named, effect_agreement(reading, card), filled, negated))
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


FEATURES: Final = (*FIELDS, *CLOSER, "joint", "domain", "agent", "embedding", "alike", "learned")
_NUMBERS: Final = {name: number for number, name in enumerate(FEATURES)}
_CLOSER: Final = slice(len(FIELDS), len(FIELDS) + len(CLOSER))
_DIGITS = 12
"""Decimal places of a score: equal cards stay equal, whatever the order of summation."""
_SHORTLIST = 32
"""Cards that get a detailed comparison per request; more gain nothing on public data."""
_OF_A_CLAUSE = 8
"""Additional cards for each of several clauses, most of whose best cards the request shares."""
_NEAREST = 16
"""Cards that are included because an embedder finds them nearest, whatever words they share."""
_FEW = 48
"""A catalog of this size or less is compared whole, as its callers want all tools ranked."""
_WALLS_KEPT = 64
_REFERENCE: Final = stem("reference")
"""Tools that look up a call by its reference suit only requests that mention one."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Features of the candidates of one text, best first.

    In a small catalog every card is a candidate; in a larger one, the cards that share a word with
    the text, are near it or belong to the agent's domains. All arrays have shape (n_candidates,):

    - features: by the names of FEATURES; fused: their weighted sum, descending
    - strength: strength of the words' evidence for the best card
    - weight: the words' evidence in the form that separates fitting cards from others (`Evidence`)
    - cosines: from an embedder; None without one
    """

    names: tuple[str, ...]
    features: Mapping[str, Floats]
    fused: Floats
    strength: float
    weight: Floats = field(default_factory=lambda: np.zeros(0))
    cosines: Floats | None = None

    def rows(self, count: int = 10) -> list[dict[str, str | float]]:
        """Return the best candidates as rows: tool, each feature, fused."""
        rows: list[dict[str, str | float]] = []
        for i, name in enumerate(self.names[:count]):
            values = {feature: float(column[i]) for feature, column in self.features.items()}
            rows.append({"tool": name, **values, "fused": float(self.fused[i])})
        return rows


class Scored(NamedTuple):
    """A text to score; `near` has the embedder's cosine of each card, shape (n_cards,)."""

    reading: ClauseReading
    slots: Sequence[Slot]
    context: RouteContext
    near: Floats | None = None


class Scorer:
    """Scores cards; the indexes are built once and never change."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        vocabulary: CatalogVocabulary,
        profile: RoutingProfile,
    ) -> None:
        """Index the cards."""
        self._vocabulary = vocabulary
        numbers = {domain: number for number, domain in enumerate(vocabulary.domains)}
        self._domain = np.array([numbers[card.domain] for card in cards], dtype=np.intp)
        self._names = tuple(card.name for card in cards)
        self.needed: Final = frozenset(need.name for card in cards for need in card.needs)
        """The names of inputs that some card needs; only these count among the known names."""
        self._domains = tuple(card.domain for card in cards)
        self._inside = lru_cache(maxsize=_WALLS_KEPT)(self._admitted)
        self._profile = profile
        self._weights = np.array([getattr(profile.weights, name) for name in FEATURES])
        self._open = np.array([not card.is_probe for card in cards], dtype=bool)
        self._worth = np.array([0.9 if card.is_deprecated else 1.0 for card in cards])
        self._learned = np.array([profile.learned.get(name, 0.0) for name in self._names])
        self.evidence = EvidenceIndex(cards, profile)
        self._closer = CloserLook(cards, self.evidence.idf)
        self._preferred = lru_cache(maxsize=_WALLS_KEPT)(
            lambda domains: np.array([float(domain in domains) for domain in self._domains])
        )

    def score_all(
        self,
        texts: Sequence[Scored],
        *,
        alike: Callable[[Positions], Floats | None] = lambda rows: None,
        check: Callable[[], object] = lambda: None,
    ) -> list[ScoreTable]:
        """Return the feature table of each text over the most promising cards of all texts.

        Args:
            texts: the whole of a request, then its clauses, if it has several.
            alike: similarity of cards to each text word by word, shape (n_texts, n_rows), or None.
            check: called after each text that was looked up; may raise to stop.

        Returns:
            One table per text, empty for a text that points to no card.
        """
        found: list[Evidence] = []
        own: list[Positions] = []
        for text in texts:
            evidence = self.evidence.find(text.reading.stems, text.slots)
            promising = self._promising(text, evidence, _OF_A_CLAUSE if found else _SHORTLIST)
            if not found and len(self._names) <= _FEW:
                # Every request forwards something, but a single clause may match nothing.
                inside = self._inside(text.context.walls)
                promising = np.union1d(promising, np.flatnonzero(inside & self._open))
            own.append(promising)
            found.append(evidence)
            check()
        if not texts:
            return []
        # Not np.unique, which loads all of numpy.ma when first called: 20 ms of a request's 50.
        rows = np.array(sorted(set(np.concatenate(own).tolist())), dtype=np.intp)
        features = self._features(texts, found, rows)
        words = alike(rows)
        if words is not None:
            features[_NUMBERS["alike"]] = words
        fused = (self._weights @ features.reshape(len(FEATURES), -1)).round(_DIGITS)
        fused = fused.reshape(len(texts), len(rows)) * self._worth[rows]
        # Best first; ties in catalog order.
        orders = np.argsort(-fused, axis=1, kind="stable")
        tables = []
        for i, evidence in enumerate(found):
            order = orders[i] if len(own[i]) else orders[i, :0]
            names = tuple([self._names[row] for row in rows[order].tolist()])
            columns = dict(zip(FEATURES, features[:, i, order], strict=True))
            chosen, near = rows[order], texts[i].near
            tables.append(
                ScoreTable(
                    names,
                    columns,
                    fused[i, order],
                    evidence.strength,
                    evidence.weight[chosen],
                    None if near is None else near[chosen],
                )
            )
        return tables

    def _features(
        self, texts: Sequence[Scored], found: Sequence[Evidence], rows: Positions
    ) -> Floats:
        """Return every feature of each text and card; (len(FEATURES), n_texts, n_rows)."""
        features = np.zeros((len(FEATURES), len(texts), len(rows)))
        sought = []
        for i, (text, evidence) in enumerate(zip(texts, found, strict=True)):
            # Scaled so that their weighted sum is 1 for the best card.
            scale = float(evidence.total.max(initial=0.0)) or 1.0
            features[: len(FIELDS), i] = evidence.fields[:, rows] / scale
            most = float(evidence.joint.max(initial=0.0)) or 1.0
            features[_NUMBERS["joint"], i] = evidence.joint[rows] / most
            shares = self._vocabulary.domain_shares(text.reading.stems)
            features[_NUMBERS["domain"], i] = shares[self._domain[rows]]
            # The counted thing, in "5 heads of 10 tosses", says as much as any noun.
            values = value_stems(slot for slot in text.slots if slot.kind != "quantity")
            kinds = tuple(sorted(slot.kind for slot in text.slots))
            sought.append(Sought(text.reading, evidence.known, values, kinds, text.context.known))
            features[_NUMBERS["agent"], i] = self._preferred(text.context.domains)[rows]
            if text.near is not None:
                features[_NUMBERS["embedding"], i] = closeness(text.near)[rows]
        features[_CLOSER] = self._closer.features(sought, rows)
        features[_NUMBERS["learned"]] = self._learned[rows]
        return features

    def _promising(self, text: Scored, evidence: Evidence, most: int) -> Positions:
        """Return unordered positions of the cards that deserve a detailed comparison for a text.

        At most `most` cards by words, and the nearest by vectors.
        """
        rough = evidence.total
        if text.context.domains:
            lift = self._profile.weights.agent * float(rough.max(initial=0.0)) or 1.0
            rough = rough + lift * self._preferred(text.context.domains)
        # Excluded before the best are taken, so that cards outside the walls crowd out none inside.
        inside = self._inside(text.context.walls)
        rows = np.flatnonzero((rough > 0) & inside)
        if len(rows) > most:
            rows = rows[np.argpartition(rough[rows], -most)[-most:]]
        if text.near is not None:
            able = np.flatnonzero(inside)
            values = text.near[able]
            if len(able) > _NEAREST:  # sorting all of 50,000 takes milliseconds
                may_be = values >= np.partition(values, -_NEAREST)[-_NEAREST]
                able, values = able[may_be], values[may_be]
            # Ties keep their order.
            rows = np.union1d(rows, able[np.argsort(-values, kind="stable")[:_NEAREST]])
        return rows if _REFERENCE in text.reading.stems else rows[self._open[rows]]

    def _admitted(self, walls: tuple[Wall, ...]) -> NDArray[np.bool_]:
        if not walls:
            return np.ones(len(self._names), dtype=bool)
        named = zip(self._names, self._domains, strict=True)
        return np.array([admitted(walls, name, domain) for name, domain in named], dtype=bool)


FITTED_TO: Final = "built-in:"
"""Name prefix of the embedder whose cosines the model was fitted to; those of others only rank."""

# Logistic regressions on the training halves of public routing data, each set weighted alike, and
# the first part of the everyday requests. The levels (intercepts) are set by hand, .1 to .4 below
# the fitted ones. Signs: the weight of the words' evidence; the squared share of the tool's name in
# the request; how many pairs of words occur near each other in both its texts and the request;
# whether the order is known here; the cosine; how many words the tool does not have, values aside;
# and whether it needs a number where none was given.
_WITH_VECTORS: Final = np.array([2.26, 0.5, 0.6, 1.39, 2.67, -0.58, -0.66])
_LEVEL_WITH: Final = -4.21
_BY_WORDS: Final = np.array([2.86, 0.9, 0.81, 1.61, 0.0, -0.72, -1.43])
_LEVEL_BY_WORDS: Final = -4.44


class FittedRequest(NamedTuple):
    """A text that requests something."""

    reading: ClauseReading
    slots: Sequence[Slot]
    table: ScoreTable
    is_known_order: bool
    """True if the catalog knows the verb of an order and its object."""


class Fitness:
    """Computes how well the cards of one catalog fit requests."""

    def __init__(self, cards: Iterable[CapabilityCard], *, has_vectors: bool) -> None:
        """Take the cards; `has_vectors`: cosines come from the embedder used in fitting."""
        self._cards = {card.name: card for card in cards}
        # In units of the highest possible idf.
        self._unit = float(np.log(2 * max(1, len(self._cards)) + 1))
        self._has_vectors = has_vectors
        self._traits = lru_cache(maxsize=None)(self._read_traits)

    def best(self, asked: FittedRequest) -> float:
        """Return how well the best-fitting candidate fits, 0 to 1; 0 without a candidate.

        The value is the chance to fit if half of all requests fit some tool; catalogs differ in how
        often they receive requests that no tool fits. It is not relative to the catalog's own best
        score, so it is comparable between catalogs of any size.
        """
        table, stems = asked.table, frozenset(asked.reading.stems)
        if not table.names:
            return 0.0
        has_vectors = self._has_vectors and table.cosines is not None
        coefficients = _WITH_VECTORS if has_vectors else _BY_WORDS
        level = _LEVEL_WITH if has_vectors else _LEVEL_BY_WORDS
        words = without_values(stems, asked.slots)
        has_number = any(slot.kind in ("quantity", "amount") for slot in asked.slots)
        traits = [self._traits(name) for name in table.names]
        signs: list[Any] = [
            np.log1p(table.weight / self._unit),
            table.features["name"] ** 2,
            np.log1p(table.features["near"] * len(stems)),
            np.full(len(traits), float(asked.is_known_order)),
            np.zeros(len(traits)) if table.cosines is None else table.cosines,
            np.log1p([len(words - held) for held, _ in traits]),
            [float(wants_number and not has_number) for _, wants_number in traits],
        ]
        best = float((np.stack(signs, axis=1) @ coefficients).max())
        return float(1 / (1 + np.exp(-(best + level))))

    def words_of(self, tool: str) -> frozenset[str]:
        """Return every word of a tool, stemmed."""
        return self._traits(tool)[0]

    def _read_traits(self, tool: str) -> tuple[frozenset[str], bool]:
        """Return every word of a tool, and True if a request must state a count or a price."""
        card = self._cards[tool]
        texts = (card.name_stems, card.text_stems, card.schema_stems, card.tag_stems)
        words = frozenset(chain(*texts, *card.example_stems))
        return words, any("quantity" in need.kinds for need in card.needs)


def without_values(stems: frozenset[str], slots: Iterable[Slot]) -> frozenset[str]:
    """Return the words of a text except those of its values."""
    return stems.difference(*(name_stems(slot.text) for slot in slots))
