"""Scores of cards for a request: one number per feature and candidate, and their weighted sum."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.wall import Wall, admitted
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Slot
from orchestrator.language.words import stem
from orchestrator.routing.cards.capability_card import CapabilityCard
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.agreement import action_agreement, effect_agreement
from orchestrator.routing.scoring.columns import CardColumns, Rows
from orchestrator.routing.scoring.embedding import closeness
from orchestrator.routing.scoring.passages import FEATURES as PASSAGE_FEATURES
from orchestrator.routing.scoring.passages import Passages, Sought
from orchestrator.routing.scoring.word_evidence import FIELDS, Evidence, EvidenceIndex, value_stems
from orchestrator.routing.selection import RouteContext

FEATURES: Final = (
    *FIELDS,
    "joint",
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
_NUMBERS: Final = {name: number for number, name in enumerate(FEATURES)}
_PASSAGES: Final = slice(len(FIELDS) + 1, len(FIELDS) + 1 + len(PASSAGE_FEATURES))
_DIGITS = 12
"""Decimal places of a score: equal cards stay equal, in whatever order features are summed."""
_SHORTLIST = 32
"""So many cards are looked at closely for a request; more gain nothing on public data."""
_OF_A_CLAUSE = 8
"""So many more for each of several clauses: most of its best ones are the request's as well."""
_NEAREST = 16
"""So many of the cards that an embedder finds nearest are looked at, whatever words they share."""
_WALLS_KEPT = 64
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
        self._card_domains = tuple(card.domain for card in cards)
        self._inside = lru_cache(maxsize=_WALLS_KEPT)(self._admitted)
        self._vocabulary = vocabulary
        self._profile = profile
        self._weights = np.array([getattr(profile.weights, name) for name in FEATURES])
        self._open = np.array([not card.is_probe for card in cards], dtype=bool)
        self._shows_own = np.array([card.shows_own for card in cards], dtype=float)
        self._learned = np.array([profile.learned.get(name, 0.0) for name in self._names])
        self.evidence = EvidenceIndex(cards, profile)
        self._passages = Passages(cards)
        self._columns = CardColumns(cards, domains=vocabulary.domains, idf=self.evidence.idf)

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
        """The feature table of each text over the most promising cards of all.

        Args:
            texts: the whole of a request, then its clauses, if it has several.
            check: called after each text that was looked up; may raise to stop.

        Returns:
            One table per text; without candidates for a text that speaks for no card itself.
        """
        found: list[Evidence] = []
        own: list[Rows] = []
        for text in texts:
            evidence = self.evidence.find(text.reading.stems, text.slots)
            own.append(self._promising(text, evidence, _OF_A_CLAUSE if found else _SHORTLIST))
            found.append(evidence)
            check()
        if not texts:
            return []
        # Not np.unique, which loads all of numpy.ma when first called: 20 ms of a request's 50.
        rows = np.array(sorted(set(np.concatenate(own).tolist())), dtype=np.intp)
        features = self._features(texts, found, rows)
        fused = (self._weights @ features.reshape(len(FEATURES), -1)).round(_DIGITS)
        fused = fused.reshape(len(texts), len(rows))
        # Best first; of equals, the first of the catalog.
        orders = np.argsort(-fused, axis=1, kind="stable")
        tables = []
        for i, evidence in enumerate(found):
            order = orders[i] if len(own[i]) else orders[i, :0]
            names = tuple([self._names[row] for row in rows[order].tolist()])
            columns = dict(zip(FEATURES, features[:, i, order], strict=True))
            tables.append(ScoreTable(names, columns, fused[i, order], evidence.strength))
        return tables

    def _features(self, texts: Sequence[Scored], found: Sequence[Evidence], rows: Rows) -> Floats:
        """Every feature of each text and card; shape (len(FEATURES), n_texts, n_rows)."""
        features = np.zeros((len(FEATURES), len(texts), len(rows)))
        sought = []
        for i, (text, evidence) in enumerate(zip(texts, found, strict=True)):
            # Scaled so that their weighted sum is 1 for the best card.
            scale = float(evidence.total.max(initial=0.0)) or 1.0
            features[: len(FIELDS), i] = evidence.fields[:, rows] / scale
            most = float(evidence.joint.max(initial=0.0)) or 1.0
            features[len(FIELDS), i] = evidence.joint[rows] / most
            # What is counted, in "5 heads of 10 tosses", is as telling as any noun.
            told = value_stems(slot for slot in text.slots if slot.kind != "quantity")
            sought.append(Sought(text.reading.stems, told, evidence.known))
        features[_PASSAGES] = self._passages.features(sought, rows)
        for name, values in self._card_features(texts, rows).items():
            features[_NUMBERS[name]] = values
        return features

    def _promising(self, text: Scored, evidence: Evidence, most: int) -> Rows:
        """Positions of the cards that deserve a closer look for a text, in no order.

        Args:
            text: to score.
            evidence: of its words.
            most: so many of those that the words speak for are taken, and those that are near it.
        """
        rough = evidence.total
        if text.context.domains:
            lift = self._profile.weights.agent * float(rough.max(initial=0.0)) or 1.0
            rough = rough + lift * self._own(text.context)[self._columns.domain]
        # Left out before the best are taken: what is outside must not crowd out what is inside.
        inside = self._inside(text.context.walls)
        rows = np.flatnonzero((rough > 0) & inside)
        if len(rows) > most:
            rows = rows[np.argpartition(rough[rows], -most)[-most:]]
        if text.near is not None:
            near = np.flatnonzero(inside)
            near = near[np.argsort(-text.near[near], kind="stable")[:_NEAREST]]
            rows = np.union1d(rows, near)
        return rows if _REFERENCE in text.reading.stems else rows[self._open[rows]]

    def _admitted(self, walls: tuple[Wall, ...]) -> NDArray[np.bool_]:
        """Which cards are inside all of the walls; shape (n_cards,)."""
        named = zip(self._names, self._card_domains, strict=True)
        return np.array([admitted(walls, name, domain) for name, domain in named], dtype=bool)

    def _card_features(self, texts: Sequence[Scored], rows: Rows) -> dict[str, Floats]:
        """What is worth computing for promising cards only; arrays of shape (n_texts, n_rows).

        What is 0 for every card is left out.
        """
        columns = self._columns
        readings = [text.reading for text in texts]
        domain = columns.domain[rows]
        own = np.array([_ownership(text.reading, text.slots) for text in texts])
        features = {
            "name": columns.name_share(readings, rows),
            "domain": self._domain_shares(readings)[:, domain],
            "action": columns.agreement(action_agreement, readings, rows),
            "effect": columns.agreement(effect_agreement, readings, rows),
            "fit": np.stack([columns.fit(t.context.known, t.slots, rows) for t in texts]),
            "slots": columns.slot_use([text.slots for text in texts], rows),
            "own": own[:, None] * self._shows_own[rows],
            "learned": self._learned[rows],
        }
        if any(text.context.domains for text in texts):
            features["agent"] = np.stack([self._own(text.context) for text in texts])[:, domain]
        if any(reading.unwanted for reading in readings):
            features["negated"] = np.stack([columns.naming(r.unwanted, rows) for r in readings])
        near = [text.near for text in texts if text.near is not None]
        if near:
            features["embedding"] = np.stack([closeness(cosines)[rows] for cosines in near])
        return features

    def _domain_shares(self, readings: Iterable[ClauseReading]) -> Floats:
        """How strongly the words speak for each domain, 1 for the best; (n_texts, n_domains)."""
        domains = self._vocabulary.domain_array(reading.stems for reading in readings)
        strongest = domains.max(axis=1, initial=0.0, keepdims=True)
        shares: Floats = domains / np.where(strongest > 0, strongest, 1.0)
        return shares

    def _own(self, context: RouteContext) -> Floats:
        """1 for each domain that is the agent's own, else 0; shape (n_domains,)."""
        return np.array([float(d in context.domains) for d in self._vocabulary.domains])


def _ownership(reading: ClauseReading, slots: Iterable[Slot]) -> float:
    """1 where what somebody has is asked for, -1 where nothing says so, 0 for orders and ids."""
    if reading.action in SIDE_EFFECT_ACTIONS or any(s.kind == "identifier" for s in slots):
        return 0.0
    return 1.0 if reading.is_own else -1.0
