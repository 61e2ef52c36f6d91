"""Scores of cards for a request: one number per feature and candidate, and their weighted sum."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orchestrator.catalog.tool import Effect
from orchestrator.intent import Action, Slot
from orchestrator.routing.bm25 import Floats
from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.evidence import FIELDS, Evidence, EvidenceIndex
from orchestrator.routing.fit import UNTYPED, schema_fit, slot_use
from orchestrator.routing.frame import ClauseReading
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.selection import RouteContext
from orchestrator.routing.vocabulary import CatalogVocabulary
from orchestrator.routing.words import SIDE_EFFECT_ACTIONS, content_stems, stem

FEATURES: Final = (*FIELDS, "name", "domain", "action", "effect", "fit", "slots", "agent")
_SHORTLIST = 64
_READING = frozenset({Action.READ, Action.SEARCH})


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


class Scorer:
    """Scores cards; the indexes are built once, scoring changes nothing."""

    def __init__(
        self,
        cards: Sequence[CapabilityCard],
        vocabulary: CatalogVocabulary,
        profile: RoutingProfile,
    ) -> None:
        """Index the cards."""
        self._cards = tuple(cards)
        self._vocabulary = vocabulary
        self._profile = profile
        self._index = EvidenceIndex(cards, profile)

    def score(
        self, reading: ClauseReading, slots: Sequence[Slot], context: RouteContext
    ) -> ScoreTable:
        """The feature table of one text over its most promising candidates."""
        evidence = self._index.find(reading.stems, values=value_stems(slots))
        shortlist = self._shortlist(evidence, context)
        cards = [self._cards[i] for i in shortlist]
        features = self._word_features(evidence, shortlist)
        features |= self._card_features(cards, reading, slots, context)
        weights = self._profile.weights
        fused = np.zeros(len(cards))
        for name in FEATURES:
            fused += getattr(weights, name) * features[name]
        order = np.lexsort((np.array(shortlist), -fused))
        return ScoreTable(
            names=tuple(cards[i].name for i in order),
            features={name: features[name][order] for name in FEATURES},
            fused=fused[order],
            strength=float(evidence.strength.max(initial=0.0)),
        )

    def strengths(self, stems: Iterable[str], slots: Sequence[Slot] = ()) -> dict[str, float]:
        """The strength of the words' evidence for each card that shares a word with them."""
        strength = self._index.find(stems, values=value_stems(slots)).strength
        return {self._cards[i].name: float(strength[i]) for i in np.flatnonzero(strength)}

    def _shortlist(self, evidence: Evidence, context: RouteContext) -> list[int]:
        """Positions of the cards worth a closer look, in catalog order."""
        rough = evidence.total
        if context.domains:
            own = (card.domain in context.domains for card in self._cards)
            lift = self._profile.weights.agent * float(rough.max(initial=0.0)) or 1.0
            rough = rough + lift * np.fromiter(own, dtype=np.float64, count=len(rough))
        found = np.flatnonzero(rough > 0)
        if len(found) > _SHORTLIST:
            found = found[np.argpartition(-rough[found], _SHORTLIST)[:_SHORTLIST]]
        return [int(i) for i in np.sort(found)]

    def _word_features(self, evidence: Evidence, shortlist: Sequence[int]) -> dict[str, Floats]:
        """The evidence fields, scaled so that their weighted sum is 1 for the best card."""
        scale = float(evidence.total.max(initial=0.0)) or 1.0
        return {name: scores[shortlist] / scale for name, scores in evidence.fields.items()}

    def _card_features(
        self,
        cards: Sequence[CapabilityCard],
        reading: ClauseReading,
        slots: Sequence[Slot],
        context: RouteContext,
    ) -> dict[str, Floats]:
        """What is worth computing for promising cards only."""
        stems = frozenset(reading.stems)
        domains = self._vocabulary.domain_scores(stems)
        strongest = max(domains.values(), default=1.0) or 1.0
        return {
            "name": _array(self._name_share(card, reading, stems) for card in cards),
            "domain": _array(domains.get(card.domain, 0.0) / strongest for card in cards),
            "action": _array(action_agreement(reading, card) for card in cards),
            "effect": _array(effect_agreement(reading, card) for card in cards),
            "fit": _array(schema_fit(card, known=context.known, slots=slots) for card in cards),
            "slots": _array(slot_use(card, slots) for card in cards),
            "agent": _array(float(card.domain in context.domains) for card in cards),
        }

    def _name_share(
        self, card: CapabilityCard, reading: ClauseReading, stems: frozenset[str]
    ) -> float:
        """How much of the card's name the request says; a verb that means the same is said."""
        same_verb = stem(card.verb) if reading.action is card.action else ""
        said = whole = 0.0
        for word in set(card.name_stems):
            weight = max(0.0, self._index.idf(word))
            whole += weight
            said += weight if word in stems or word == same_verb else 0.0
        return said / whole if whole else 0.0


def value_stems(slots: Iterable[Slot]) -> frozenset[str]:
    """Stems of the words that are values; names and quoted words may say what is asked."""
    typed = (slot.text for slot in slots if slot.kind not in UNTYPED)
    return frozenset(word for text in typed for word in content_stems(text))


def action_agreement(reading: ClauseReading, card: CapabilityCard) -> float:
    """How well what is asked agrees with what the tool does, -1 to 1.

    A tool that undoes is for those who ask to undo, and a tool that changes something is not for
    those who only ask to know; finding and reading are close.
    """
    asked = reading.action
    if reading.verb and reading.verb == card.verb:
        return 1.0
    if card.effect is Effect.CANCEL and asked is not Action.CANCEL:
        return -1.0
    if asked is Action.UNKNOWN or card.action is Action.UNKNOWN:
        return 0.0
    if asked is card.action:
        return 1.0
    if {asked, card.action} <= _READING:
        return 0.7
    if {asked, card.action} <= SIDE_EFFECT_ACTIONS:
        return 0.3
    return -0.5 if card.is_mutation else 0.0


def effect_agreement(reading: ClauseReading, card: CapabilityCard) -> float:
    """Whether the effect that the tool declares is what was ordered: 1, 0 (it has none) or -1.

    Unlike the action, which is read from words, the effect is a fact of the contract.
    """
    if not card.is_side_effect:
        return 0.0
    if reading.asks_side_effect and reading.verb == card.verb:
        return 1.0
    wants_cancel = reading.action is Action.CANCEL
    if reading.asks_side_effect and (card.effect is Effect.CANCEL) <= wants_cancel:
        return 1.0
    return -1.0 if reading.action is not Action.UNKNOWN else 0.0


def _array(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)
