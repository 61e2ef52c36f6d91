"""Prerequisites: the tools that produce required inputs for which no value is available."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from orchestrator.catalog.tool import Effect
from orchestrator.core.wall import Wall, admitted
from orchestrator.language import lexicon
from orchestrator.language.intent import Action, Slot, SlotKind
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
_NOUN_AND_ID = 2
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
            frontier = self._step(frontier, chosen, known, kinds, scores or {}, walls)
            added |= dict.fromkeys(frontier)
        return tuple(added)[:MAX_PRODUCERS]

    def _step(
        self,
        frontier: Iterable[str],
        chosen: set[str],
        known: Collection[str],
        kinds: Sequence[SlotKind],
        scores: Mapping[str, float],
        walls: Sequence[Wall],
    ) -> list[str]:
        """Return the producers of the frontier's missing inputs, and add them to `chosen`."""
        found: list[str] = []
        for name in frontier:
            card = self._cards[name]
            needed = (*unmet(card.needs, known=known, kinds=kinds), *_keys(card, known, kinds))
            for missing in needed:
                found_by = self.of(card, missing) or self._likely(card, missing, scores)
                producers = [p for p in found_by if self._is_inside(p, walls)]
                if not producers:
                    continue
                best = min(producers, key=lambda p: self._preference(card, missing, p, scores))
                is_named = _lists_only(self._cards[best], noun_of(missing))
                if best in chosen or (not is_named and any(p in chosen for p in producers)):
                    continue
                chosen.add(best)
                found.append(best)
        return found

    def of(self, card: CapabilityCard, name: str) -> tuple[str, ...]:
        """Return tools whose answers hold the card's input `name` and that do not require it.

        Only for ids and files: a city, a date or a title comes from the request. Tools that do not
        declare their answer are found by the noun in their name.
        """
        return self._found(card.name, name)

    def _is_inside(self, name: str, walls: Sequence[Wall]) -> bool:
        return admitted(walls, name, self._cards[name].domain)

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
        is_plain = len(tokens(name)) == _NOUN_AND_ID
        for called in dict.fromkeys(called_so if is_plain else called_so[::-1]):
            found = self._by_property.get(called, ())
            declared = tuple(p for p in found if self._is_source(card, name, p))
            if declared:
                return declared
        noun = noun_of(name) or stem(tokens(card.domain)[-1] if tokens(card.domain) else "")
        return self._find_by_words(card, name, noun)

    def _find_by_words(self, card: CapabilityCard, name: str, noun: str) -> tuple[str, ...]:
        """Return the tools that may find an id although no answer is declared.

        The noun is their whole name, a part of it, or in their description; otherwise they search
        in the same namespace.
        """
        others = [c for c in self._undeclared if self._is_source(card, name, c.name)]
        looks = [c for c in others if c.action in _ACTION_RANK]
        space = _namespace(card)
        tiers = (
            (c for c in others if {*c.name_stems} - {stem(c.verb)} == {noun}),
            (c for c in others if noun in c.name_stems),
            (c for c in looks if noun in c.text_stems),
            (c for c in looks if space and space == _namespace(c) and _needs_no_id(c)),
        )
        found = (tuple(c.name for c in tier) for tier in tiers)
        return next(filter(None, found), ())

    def _likely(
        self, card: CapabilityCard, name: str, scores: Mapping[str, float]
    ) -> tuple[str, ...]:
        """Return the search tool that fits the request best, if no words show what finds an id."""
        if card.produces or not identifies(name):
            return ()
        searches = [
            c.name
            for c in self._undeclared
            if c.action is Action.SEARCH
            and scores.get(c.name, 0) > 0
            and _needs_no_id(c)
            and self._is_source(card, name, c.name)
        ]
        return tuple(sorted(searches, key=lambda p: -scores[p])[:1])

    def _is_source(self, card: CapabilityCard, name: str, producer: str) -> bool:
        other = self._cards[producer]
        return producer != card.name and name not in other.required and not other.is_mutation

    def _preference(
        self, card: CapabilityCard, name: str, producer: str, scores: Mapping[str, float]
    ) -> tuple[bool, bool, int, int, bool, float, str]:
        """Return a sort key; smaller is preferred."""
        other = self._cards[producer]
        unfed = sum(identifies(name) for name in other.required)
        return (
            other.effect is not Effect.READ,
            other.document != card.document,
            unfed,
            _ACTION_RANK.get(other.action, 2),
            not _lists_only(other, noun_of(name)),
            -scores.get(producer, 0.0),
            producer,
        )


def _keys(card: CapabilityCard, known: Collection[str], kinds: Sequence[SlotKind]) -> Iterator[str]:
    """Yield the codes and numbers that a call needs, unless the request contains an id."""
    if "identifier" not in kinds:
        yield from (name for name in card.required if name not in known and _is_key(name))


def _is_key(name: str) -> bool:
    return not identifies(name) and not lexicon.IDENTIFIER.isdisjoint(tokens(name)[-1:])


def _namespace(card: CapabilityCard) -> str:
    """Return the common first word of a family of names, before the verb: gmail_search."""
    words = tokens(card.name)
    return words[0] if len(words) > 1 and words[0] != card.verb and not is_verb(words[0]) else ""


def _needs_no_id(card: CapabilityCard) -> bool:
    return not any(map(identifies, card.required))


def _lists_only(card: CapabilityCard, noun: str) -> bool:
    """Return True if a tool's name mentions only things of that noun."""
    return noun in card.name_stems and {*card.name_stems} <= {noun, stem(card.verb)}
