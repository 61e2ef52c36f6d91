"""Scores cards for a request: one number per feature and candidate, and their weighted sum."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.wall import Wall, admitted
from orchestrator.language.intent import Slot
from orchestrator.language.words import stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.cards.word_evidence import FIELDS, Evidence, EvidenceIndex, value_stems
from orchestrator.routing.clause_reading import ClauseReading
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.closer_look import FEATURES as CLOSER
from orchestrator.routing.scoring.closer_look import CloserLook, Sought
from orchestrator.routing.scoring.embedding import closeness
from orchestrator.routing.selection import RouteContext
from orchestrator.routing.sparse_index import Floats, Positions

FEATURES: Final = (*FIELDS, *CLOSER, "joint", "domain", "agent", "embedding", "alike", "learned")
_NUMBERS: Final = {name: number for number, name in enumerate(FEATURES)}
_CLOSER: Final = slice(len(FIELDS), len(FIELDS) + len(CLOSER))
_DIGITS = 12
"""Decimal places of a score: equal cards stay equal, whatever the order of summation."""
_OF_DEPRECATED: Final = 0.9
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
        self._worth = np.array([_OF_DEPRECATED if card.is_deprecated else 1.0 for card in cards])
        self._learned = np.array([profile.learned.get(name, 0.0) for name in self._names])
        self.evidence = EvidenceIndex(cards, profile)
        self._closer = CloserLook(cards, self.evidence.idf)
        self._preferred = lru_cache(maxsize=_WALLS_KEPT)(self._in_domains)

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
            # Every request forwards something, but a single clause may match nothing.
            own.append(promising if found else self._widened(text, promising))
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
            rows = np.union1d(rows, _first_best(text.near, np.flatnonzero(inside), _NEAREST))
        return rows if _REFERENCE in text.reading.stems else rows[self._open[rows]]

    def _widened(self, text: Scored, rows: Positions) -> Positions:
        """Return every card of a small catalog except probes; in a larger one, `rows`."""
        if len(self._names) > _FEW:
            return rows
        return np.union1d(rows, np.flatnonzero(self._inside(text.context.walls) & self._open))

    def _admitted(self, walls: tuple[Wall, ...]) -> NDArray[np.bool_]:
        if not walls:
            return np.ones(len(self._names), dtype=bool)
        named = zip(self._names, self._domains, strict=True)
        return np.array([admitted(walls, name, domain) for name, domain in named], dtype=bool)

    def _in_domains(self, domains: tuple[str, ...]) -> Floats:
        return np.array([float(domain in domains) for domain in self._domains])


def _first_best(values: Floats, rows: Positions, most: int) -> Positions:
    """Return the rows with the largest values, descending; ties keep their order."""
    own = values[rows]
    if len(rows) > most:  # sorting all of 50,000 takes milliseconds
        may_be = own >= np.partition(own, -most)[-most]
        rows, own = rows[may_be], own[may_be]
    return rows[np.argsort(-own, kind="stable")[:most]]
