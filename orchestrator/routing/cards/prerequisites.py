"""Prerequisites: the tools that produce required inputs for which no value is available."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from orchestrator.catalog.tool import Effect
from orchestrator.core.wall import Wall, admitted
from orchestrator.language import lexicon
from orchestrator.language.intent import Action, Slot
from orchestrator.language.words import is_verb, stem, tokens
from orchestrator.routing.cards.capability_card import (
    CapabilityCard,
    id_of,
    identifies,
    noun_of,
    unmet,
)

MAX_DEPTH = 3
MAX_PRODUCERS = 4
_CACHED = 1 << 14
_ACTION_RANK = {Action.SEARCH: 0, Action.READ: 1}


class Producers:
    """The tools whose answers contain each input name of a catalog."""

    def __init__(self, cards: Sequence[CapabilityCard]) -> None:
        """Index the cards by the properties of their declared answers."""
        self._cards = {card.name: card for card in cards}
        self._by_property: dict[str, list[str]] = defaultdict(list)
        self._undeclared: list[CapabilityCard] = []
        for card in cards:
            for name in card.produces:
                self._by_property[name].append(card.name)
            if not card.produces and not card.is_mutation:
                self._undeclared.append(card)
        self._file_producers = tuple(card.name for card in cards if card.answers_file)
        # Cached, as the producers of an input do not depend on the request.
        self._found = lru_cache(maxsize=_CACHED)(self._find)

    def prerequisites(
        self,
        selected: Iterable[str],
        *,
        known: Collection[str] = (),
        slots: Sequence[Slot] = (),
        scores: Mapping[str, float] | None = None,
        walls: Sequence[Wall] = (),
    ) -> tuple[str, ...]:
        """Return tools that supply the inputs of the selected tools, without the selected ones.

        Up to three steps back and at most four tools, reading tools first, then tools of the same
        document.

        Args:
            selected: tool names.
            known: names of values that are available.
            slots: the values of the request.
            scores: fused scores, to choose among several producers.
            walls: the agent's walls; a producer outside is left out.
        """
        added: dict[str, None] = {}
        chosen = set(selected)
        frontier = list(dict.fromkeys(selected))
        kinds = [slot.kind for slot in slots]
        for _ in range(MAX_DEPTH):
            found: list[str] = []
            for card in [self._cards[name] for name in frontier]:
                needed = [*unmet(card.needs, known=known, kinds=kinds)]
                if "identifier" not in kinds:
                    # The codes and numbers that a call needs, unless the request contains an id.
                    needed += [n for n in card.required if n not in known and _is_key(n)]
                for missing in needed:
                    best = self._best_source(card, missing, scores or {}, walls, chosen)
                    if best is not None:
                        chosen.add(best)
                        found.append(best)
            frontier = found
            added |= dict.fromkeys(frontier)
        return tuple(added)[:MAX_PRODUCERS]

    def _best_source(
        self,
        card: CapabilityCard,
        missing: str,
        scores: Mapping[str, float],
        walls: Sequence[Wall],
        chosen: Collection[str],
    ) -> str | None:
        """Return the tool to add for a missing input; None without one, or if one is chosen."""
        noun = noun_of(missing)
        found = self.of(card, missing)
        if not found and not card.produces and identifies(missing):
            # If no words show what finds an id: the search tool that fits the request best.
            searches = [
                c.name
                for c in self._undeclared
                if c.action is Action.SEARCH
                and scores.get(c.name, 0) > 0
                and not any(map(identifies, c.required))
                and self._is_source(card, missing, c.name)
            ]
            found = tuple(sorted(searches, key=lambda p: -scores[p])[:1])
        producers = [p for p in found if admitted(walls, p, self._cards[p].domain)]
        if not producers:
            return None

        def lists_only(other: CapabilityCard) -> bool:
            return noun in other.name_stems and {*other.name_stems} <= {noun, stem(other.verb)}

        def preference(producer: str) -> tuple[bool, bool, int, int, bool, float, str]:
            other = self._cards[producer]
            return (
                other.effect is not Effect.READ,
                other.document != card.document,
                sum(map(identifies, other.required)),
                _ACTION_RANK.get(other.action, 2),
                not lists_only(other),
                -scores.get(producer, 0.0),
                producer,
            )

        best = min(producers, key=preference)
        is_named = lists_only(self._cards[best])
        is_served = best in chosen or (not is_named and any(p in chosen for p in producers))
        return None if is_served else best

    def of(self, card: CapabilityCard, name: str) -> tuple[str, ...]:
        """Return tools whose answers hold the card's input `name` and that do not require it.

        Only for ids and files: a city, a date or a title comes from the request. Tools that do not
        declare their answer are found by the noun in their name.
        """
        return self._found(card.name, name)

    def _find(self, tool: str, name: str) -> tuple[str, ...]:
        card = self._cards[tool]
        if name in card.files:
            return tuple(p for p in self._file_producers if self._is_source(card, name, p))
        if _is_key(name):
            named = self._by_property.get(name, ())
            neighbours = (p for p in named if self._cards[p].document == card.document)
            return tuple(p for p in neighbours if self._is_source(card, name, p))
        if not identifies(name):
            return ()
        # A list of pets identifies a pet better than a list of things that belong to pets.
        called_so = (id_of(noun_of(name)), name)
        is_plain = len(tokens(name)) == 2  # a noun and "id"
        for called in dict.fromkeys(called_so if is_plain else called_so[::-1]):
            found = self._by_property.get(called, ())
            declared = tuple(p for p in found if self._is_source(card, name, p))
            if declared:
                return declared
        noun = noun_of(name) or stem(tokens(card.domain)[-1] if tokens(card.domain) else "")
        others = [c for c in self._undeclared if self._is_source(card, name, c.name)]
        looks = [c for c in others if c.action in _ACTION_RANK]
        space = _namespace(card)
        free = [c for c in looks if space and not any(map(identifies, c.required))]
        tiers = (
            [c.name for c in others if {*c.name_stems} - {stem(c.verb)} == {noun}],
            [c.name for c in others if noun in c.name_stems],
            [c.name for c in looks if noun in c.text_stems],
            [c.name for c in free if space == _namespace(c)],
        )
        return tuple(next(filter(None, tiers), ()))

    def _is_source(self, card: CapabilityCard, name: str, producer: str) -> bool:
        other = self._cards[producer]
        return producer != card.name and name not in other.required and not other.is_mutation


def _is_key(name: str) -> bool:
    return not identifies(name) and not lexicon.IDENTIFIER.isdisjoint(tokens(name)[-1:])


def _namespace(card: CapabilityCard) -> str:
    """Return the common first word of a family of names, before the verb: gmail_search."""
    words = tokens(card.name)
    return words[0] if len(words) > 1 and words[0] != card.verb and not is_verb(words[0]) else ""
