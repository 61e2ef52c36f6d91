"""Scores of cards for a request: one number per feature and candidate, and their weighted sum."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from orchestrator.intent import Slot
from orchestrator.routing.agreement import action_agreement, effect_agreement
from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.columns import CardColumns, Rows
from orchestrator.routing.embedding import closeness
from orchestrator.routing.evidence import FIELDS, Evidence, EvidenceIndex
from orchestrator.routing.fit import UNTYPED
from orchestrator.routing.frame import ClauseReading
from orchestrator.routing.passages import FEATURES as PASSAGE_FEATURES
from orchestrator.routing.passages import Passages, Sought
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.selection import RouteContext
from orchestrator.routing.terms import Floats
from orchestrator.routing.vocabulary import CatalogVocabulary
from orchestrator.routing.words import SIDE_EFFECT_ACTIONS, content_stems, stem

_CARD_FEATURES: Final = (
    "name",
    "domain",
    "action",
    "effect",
    "fit",
    "slots",
    "agent",
    "negated",
    "own",
    "embedding",
    "learned",
)
FEATURES: Final = (*FIELDS, *PASSAGE_FEATURES, *_CARD_FEATURES)
_DIGITS = 12
"""Decimal places of a score: equal cards stay equal, in whatever order features are summed."""
_SHORTLIST = 64
_NEAREST = 16
"""So many of the cards that an embedder finds nearest are looked at, whatever words they share."""
_REFERENCE: Final = stem("reference")
"""Tools that look up a call by its reference are for requests that speak of one."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Features of the candidates of one text, best first.

    `features` maps each name of FEATURES to an array of shape (n_candidates,); `fused` is their
    weighted sum, descending, same shape. Only cards that share a word with the text, or belong to
    the agent's domains, are candidates. `strength` is the strongest evidence of the words for any.
    """

    names: tuple[str, ...]
    features: Mapping[str, Floats]
    fused: Floats
    strength: float

    def rows(self, count: int = 10) -> list[dict[str, str | float]]:
        """The best candidates as rows: tool, each feature, fused."""
        rows: list[dict[str, str | float]] = []
        for i, name in enumerate(self.names[:count]):
            values = {feature: float(column[i]) for feature, column in self.features.items()}
            rows.append({"tool": name, **values, "fused": float(self.fused[i])})
        return rows


class Scored(NamedTuple):
    """A text to score; `near` is how near an embedder sees each card, shape (n_cards,)."""

    reading: ClauseReading
    slots: Sequence[Slot]
    context: RouteContext
    near: Floats | None = None


class Scorer:
    """Scores cards; the indexes are built once, scoring changes nothing."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        vocabulary: CatalogVocabulary,
        profile: RoutingProfile,
    ) -> None:
        """Index the cards."""
        self._names = tuple(card.name for card in cards)
        self._vocabulary = vocabulary
        self._profile = profile
        self._weights = np.array([getattr(profile.weights, name) for name in FEATURES])
        self._probes = np.array([card.is_probe for card in cards], dtype=bool)
        self._shows_own = np.array([card.shows_own for card in cards], dtype=float)
        self._learned = np.array([profile.learned.get(name, 0.0) for name in self._names])
        self._index = EvidenceIndex(cards, profile)
        self._passages = Passages(cards)
        self._columns = CardColumns(cards, domains=vocabulary.domains, idf=self._index.idf)

    def score(
        self,
        reading: ClauseReading,
        slots: Sequence[Slot],
        context: RouteContext,
        near: Floats | None = None,
    ) -> ScoreTable:
        """The feature table of one text; see `score_all`."""
        return self.score_all([Scored(reading, slots, context, near)])[0]

    def score_all(
        self, texts: Sequence[Scored], *, check: Callable[[], object] = lambda: None
    ) -> list[ScoreTable]:
        """The feature table of each text over its most promising candidates.

        The candidates of all texts are read together. `check` is called after each text that was
        looked up, and may raise to stop.
        """
        found: list[Evidence] = []
        shortlists: list[Rows] = []
        for text in texts:
            evidence = self._index.find(text.reading.stems, values=value_stems(text.slots))
            found.append(evidence)
            shortlists.append(self._shortlist(text, evidence))
            check()
        if not texts:
            return []
        looked = np.unique(np.concatenate(shortlists))
        features = self._features(texts, found, looked)
        return [
            self._table(features[:, i, np.searchsorted(looked, rows)], rows, found[i].peak)
            for i, rows in enumerate(shortlists)
        ]

    def _features(self, texts: Sequence[Scored], found: Sequence[Evidence], rows: Rows) -> Floats:
        """Every feature of each text and card; shape (len(FEATURES), n_texts, n_rows)."""
        sought = [
            Sought(text.reading.stems, _told(text.slots), evidence.known)
            for text, evidence in zip(texts, found, strict=True)
        ]
        by_name = self._card_features(texts, rows)
        return np.concatenate(
            [
                np.stack([_scaled(evidence, rows) for evidence in found], axis=1),
                self._passages.features(sought, rows),
                np.stack([by_name[name] for name in _CARD_FEATURES]),
            ]
        )

    def _table(self, features: Floats, rows: Rows, strength: float) -> ScoreTable:
        """The candidates of one text, best first; of equals, the first of the catalog."""
        fused = (self._weights @ features).round(_DIGITS)
        order = np.argsort(-fused, kind="stable")
        features = features[:, order]
        return ScoreTable(
            names=tuple([self._names[i] for i in rows[order].tolist()]),
            features=dict(zip(FEATURES, features, strict=True)),
            fused=fused[order],
            strength=strength,
        )

    def knows(self, word: str) -> bool:
        """Whether the catalog has a stem, one of its family or a synonym."""
        return self._index.knows(word)

    def weights(self, stems: Iterable[str], slots: Sequence[Slot] = ()) -> dict[str, float]:
        """The weight of the words' evidence for each card that shares a word with them."""
        weight = self._index.find(stems, values=value_stems(slots)).weight
        return {self._names[i]: float(weight[i]) for i in np.flatnonzero(weight)}

    def strength(self, stems: Iterable[str], slots: Sequence[Slot] = ()) -> float:
        """The strongest evidence of the words for any card."""
        return self._index.find(stems, values=value_stems(slots)).peak

    def _shortlist(self, text: Scored, evidence: Evidence) -> Rows:
        """Positions of the cards that deserve a closer look, in catalog order."""
        rough = evidence.total
        if text.context.domains:
            lift = self._profile.weights.agent * float(rough.max(initial=0.0)) or 1.0
            rough = rough + lift * self._own(text.context)[self._columns.domain]
        rows = np.flatnonzero(rough > 0)
        if len(rows) > _SHORTLIST:
            rows = np.sort(rows[np.argpartition(-rough[rows], _SHORTLIST)[:_SHORTLIST]])
        if text.near is not None:
            rows = np.union1d(rows, np.argsort(-text.near, kind="stable")[:_NEAREST])
        return rows if _REFERENCE in text.reading.stems else rows[~self._probes[rows]]

    def _card_features(self, texts: Sequence[Scored], rows: Rows) -> dict[str, Floats]:
        """What is worth computing for promising cards only; arrays of shape (n_texts, n_rows)."""
        columns = self._columns
        readings = [text.reading for text in texts]
        domain = columns.domain[rows]
        own = np.array([_ownership(text.reading, text.slots) for text in texts])
        return {
            "name": columns.name_share(readings, rows),
            "domain": np.stack([self._domain_share(reading)[domain] for reading in readings]),
            "action": columns.agreement(action_agreement, readings, rows),
            "effect": columns.agreement(effect_agreement, readings, rows),
            "fit": np.stack([columns.fit(t.context.known, t.slots, rows) for t in texts]),
            "slots": np.stack([columns.slot_use(text.slots, rows) for text in texts]),
            "agent": np.stack([self._own(text.context)[domain] for text in texts]),
            "negated": np.stack([columns.naming(r.unwanted, rows) for r in readings]),
            "own": np.outer(own, self._shows_own[rows]),
            "embedding": np.stack([_closeness(text.near, rows) for text in texts]),
            "learned": np.tile(self._learned[rows], (len(texts), 1)),
        }

    def _domain_share(self, reading: ClauseReading) -> Floats:
        """How strongly the words speak for each domain, 1 for the best; shape (n_domains,)."""
        domains = self._vocabulary.domain_array(reading.stems)
        return domains / (float(domains.max(initial=0.0)) or 1.0)

    def _own(self, context: RouteContext) -> Floats:
        """1 for each domain that is the agent's own, else 0; shape (n_domains,)."""
        if not context.domains:
            return np.zeros(len(self._vocabulary.domains))
        return np.array([float(d in context.domains) for d in self._vocabulary.domains])


def _scaled(evidence: Evidence, rows: Rows) -> Floats:
    """The evidence fields, scaled so that their weighted sum is 1 for the best card."""
    return evidence.fields[:, rows] / (float(evidence.total.max(initial=0.0)) or 1.0)


def _closeness(near: Floats | None, rows: Rows) -> Floats:
    return np.zeros(len(rows)) if near is None else closeness(near)[rows]


def _ownership(reading: ClauseReading, slots: Iterable[Slot]) -> float:
    """1 where what somebody has is asked for, -1 where nothing says so, 0 for orders and ids."""
    if reading.action in SIDE_EFFECT_ACTIONS or any(s.kind == "identifier" for s in slots):
        return 0.0
    return 1.0 if reading.is_own else -1.0


def _told(slots: Iterable[Slot]) -> frozenset[str]:
    """The values that no card need hold.

    What is counted, in "5 heads of 10 tosses", is as telling as any noun.
    """
    return value_stems(slot for slot in slots if slot.kind != "quantity")


def value_stems(slots: Iterable[Slot]) -> frozenset[str]:
    """Stems of the words that are values; names and quoted words may say what is asked."""
    typed = (slot.text for slot in slots if slot.kind not in UNTYPED)
    return frozenset(word for text in typed for word in _stems(text))


@lru_cache(maxsize=1 << 12)
def _stems(value: str) -> tuple[str, ...]:
    """The whole of a request and its clauses share their values."""
    return tuple(content_stems(value))
