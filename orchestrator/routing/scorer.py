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

FEATURES: Final = (
    *FIELDS,
    *PASSAGE_FEATURES,
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

        `check` is called after each text that was looked up, and may raise to stop.
        """
        sought = []
        for text in texts:
            sought.append(self._sought(text))
            check()
        if not sought:
            return []
        passages = self._passages.features([found for found, _ in sought])
        return [
            self._table(text, found.rows, evidence, features)
            for text, (found, evidence), features in zip(texts, sought, passages, strict=True)
        ]

    def _sought(self, text: Scored) -> tuple[Sought, Evidence]:
        """What the words of a text say, and the candidates that deserve a closer look."""
        stems, slots = text.reading.stems, text.slots
        evidence = self._index.find(stems, values=value_stems(slots))
        rows = self._shortlist(evidence, text.context)
        if text.near is not None:
            rows = np.union1d(rows, np.argsort(-text.near, kind="stable")[:_NEAREST])
        if _REFERENCE not in stems:
            rows = rows[~self._probes[rows]]
        # What is counted, in "5 heads of 10 tosses", is as telling as any noun.
        told = value_stems(slot for slot in slots if slot.kind != "quantity")
        return Sought(stems, told, evidence.known, rows), evidence

    def _table(
        self, text: Scored, rows: Rows, evidence: Evidence, passages: Mapping[str, Floats]
    ) -> ScoreTable:
        near = text.near
        features = {
            **self._word_features(evidence, rows),
            **passages,
            **self._card_features(rows, text.reading, text.slots, text.context),
            "embedding": np.zeros(len(rows)) if near is None else closeness(near)[rows],
        }
        table = np.concatenate([features[name] for name in FEATURES]).reshape(len(FEATURES), -1)
        fused = self._weights @ table
        order = np.lexsort((rows, -fused))
        table = table[:, order]
        return ScoreTable(
            names=tuple([self._names[i] for i in rows[order].tolist()]),
            features=dict(zip(FEATURES, table, strict=True)),
            fused=fused[order],
            strength=evidence.peak,
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

    def _shortlist(self, evidence: Evidence, context: RouteContext) -> Rows:
        """Positions of the cards worth a closer look, in catalog order."""
        rough = evidence.total
        if context.domains:
            lift = self._profile.weights.agent * float(rough.max(initial=0.0)) or 1.0
            rough = rough + lift * self._own(context)[self._columns.domain]
        found = np.flatnonzero(rough > 0)
        if len(found) > _SHORTLIST:
            found = found[np.argpartition(-rough[found], _SHORTLIST)[:_SHORTLIST]]
        return np.sort(found)

    def _word_features(self, evidence: Evidence, rows: Rows) -> dict[str, Floats]:
        """The evidence fields, scaled so that their weighted sum is 1 for the best card."""
        scale = float(evidence.total.max(initial=0.0)) or 1.0
        return {name: scores[rows] / scale for name, scores in evidence.fields.items()}

    def _card_features(
        self, rows: Rows, reading: ClauseReading, slots: Sequence[Slot], context: RouteContext
    ) -> dict[str, Floats]:
        """What is worth computing for promising cards only."""
        columns, zeros = self._columns, np.zeros(len(rows))
        domains = self._vocabulary.domain_array(reading.stems)
        strongest = float(domains.max(initial=0.0)) or 1.0
        return {
            "name": columns.name_share(reading, rows),
            "domain": domains[columns.domain[rows]] / strongest,
            "action": columns.agreement(action_agreement, reading, rows),
            "effect": columns.agreement(effect_agreement, reading, rows),
            "fit": columns.fit(context.known, slots, rows),
            "slots": columns.slot_use(slots, rows),
            "agent": self._own(context)[columns.domain[rows]] if context.domains else zeros,
            "negated": columns.naming(reading.unwanted, rows),
            "own": self._shows_own[rows] * _ownership(reading, slots),
            "learned": self._learned[rows],
        }

    def _own(self, context: RouteContext) -> Floats:
        """1 for each domain that is the agent's own, else 0; shape (n_domains,)."""
        return np.array([float(d in context.domains) for d in self._vocabulary.domains])


def _ownership(reading: ClauseReading, slots: Iterable[Slot]) -> float:
    """1 where what somebody has is asked for, -1 where nothing says so, 0 for orders and ids."""
    if reading.action in SIDE_EFFECT_ACTIONS or any(s.kind == "identifier" for s in slots):
        return 0.0
    return 1.0 if reading.is_own else -1.0


def value_stems(slots: Iterable[Slot]) -> frozenset[str]:
    """Stems of the words that are values; names and quoted words may say what is asked."""
    typed = (slot.text for slot in slots if slot.kind not in UNTYPED)
    return frozenset(word for text in typed for word in _stems(text))


@lru_cache(maxsize=1 << 12)
def _stems(value: str) -> tuple[str, ...]:
    """The whole of a request and its clauses share their values."""
    return tuple(content_stems(value))
