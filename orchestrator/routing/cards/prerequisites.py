"""Which tools feed another: producers of the required inputs that nobody has yet."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from orchestrator.catalog.tool import Effect
from orchestrator.core.wall import Wall, admitted
from orchestrator.language import lexicon
from orchestrator.language.intent import Action, Slot, SlotKind
from orchestrator.language.words import stem, tokens
from orchestrator.routing.cards.capability_card import CapabilityCard, id_of
from orchestrator.routing.cards.input_needs import identifies, noun_of, unmet

MAX_DEPTH = 3
MAX_PRODUCERS = 4
_NOUN_AND_ID = 2
_FEEDERS_KEPT = 1 << 14
_ACTION_RANK = {Action.SEARCH: 0, Action.READ: 1}


class Producers:
    """For every input name of a catalog, the tools whose answers carry it."""

    def __init__(self, cards: Sequence[CapabilityCard]) -> None:
        """Index the cards by what they produce, and by the nouns of their names."""
        self._cards = {card.name: card for card in cards}
        self._by_property: dict[str, list[str]] = defaultdict(list)
        self._by_noun: dict[str, list[str]] = defaultdict(list)
        for card in cards:
            for name in card.produces:
                self._by_property[name].append(card.name)
            if not card.produces and not card.is_mutation:
                nouns = {word for word in card.name_stems if word != stem(card.verb)}
                if len(nouns) == 1:
                    self._by_noun[nouns.pop()].append(card.name)
        self._giving_files = tuple(card.name for card in cards if card.answers_file)
        # Who feeds an input does not depend on the request.
        self._feeding = lru_cache(maxsize=_FEEDERS_KEPT)(self._find)

    def prerequisites(
        self,
        selected: Iterable[str],
        *,
        known: Collection[str] = (),
        slots: Sequence[Slot] = (),
        scores: Mapping[str, float] | None = None,
        walls: Sequence[Wall] = (),
    ) -> tuple[str, ...]:
        """Tools to add so that every selected tool can be fed; none that is selected already.

        Transitive up to three steps back, at most four tools, reading tools before any other and
        those of the same document first.

        Args:
            selected: tool names.
            known: names of values that are there already.
            slots: what the request gives.
            scores: fused scores, to choose among several producers.
            walls: what the agent may touch; a producer outside is none.
        """
        added: dict[str, None] = {}
        chosen = set(selected)
        frontier = list(dict.fromkeys(selected))
        for _ in range(MAX_DEPTH):
            frontier = self._step(frontier, chosen, known, slots, scores or {}, walls)
            for name in frontier:
                added.setdefault(name)
        return tuple(added)[:MAX_PRODUCERS]

    def _step(
        self,
        frontier: Iterable[str],
        chosen: set[str],
        known: Collection[str],
        slots: Sequence[Slot],
        scores: Mapping[str, float],
        walls: Sequence[Wall],
    ) -> list[str]:
        """The producers of what the frontier lacks; they join `chosen`."""
        found: list[str] = []
        kinds = [slot.kind for slot in slots]
        for name in frontier:
            card = self._cards[name]
            needed = (*unmet(card.needs, known=known, kinds=kinds), *self._keys(card, known, kinds))
            for missing in needed:
                producers = [p for p in self.of(card, missing) if self._is_inside(p, walls)]
                if not producers:
                    continue
                best = min(producers, key=lambda p: self._preference(card, missing, p, scores))
                is_named = self._lists_those(self._cards[best], noun_of(missing))
                if best in chosen or (not is_named and any(p in chosen for p in producers)):
                    continue
                chosen.add(best)
                found.append(best)
        return found

    def of(self, card: CapabilityCard, name: str) -> tuple[str, ...]:
        """Tools that answer with what the card's input `name` wants, without asking for it.

        Only for inputs that identify something, and for files: a city, a date or a title comes from
        the request.
        Tools that do not declare their answer are found by the noun in their name.
        """
        return self._feeding(card.name, name)

    def _keys(
        self, card: CapabilityCard, known: Collection[str], kinds: Sequence[SlotKind]
    ) -> Iterator[str]:
        """The codes and numbers that a call needs, and a tool beside it tells of what it lists.

        Whoever knows one says it: "bill B-2201".
        """
        if "identifier" not in kinds:
            yield from (name for name in card.required if name not in known and self._is_key(name))

    @staticmethod
    def _is_key(name: str) -> bool:
        return not identifies(name) and not lexicon.IDENTIFIER.isdisjoint(tokens(name)[-1:])

    @staticmethod
    def _lists_those(card: CapabilityCard, noun: str) -> bool:
        """Whether a tool is named for things of that noun alone."""
        return noun in card.name_stems and {*card.name_stems} <= {noun, stem(card.verb)}

    def _is_inside(self, name: str, walls: Sequence[Wall]) -> bool:
        return admitted(walls, name, self._cards[name].domain)

    def _find(self, tool: str, name: str) -> tuple[str, ...]:
        card = self._cards[tool]
        if name in card.files:
            return tuple(p for p in self._giving_files if self._is_source(card, name, p))
        if self._is_key(name):
            named = self._by_property.get(name, ())
            beside = (p for p in named if self._cards[p].document == card.document)
            return tuple(p for p in beside if self._is_source(card, name, p))
        if not identifies(name):
            return ()
        # What lists pets tells which one is meant before what lists something that pets have.
        called_so = (id_of(noun_of(name)), name)
        is_plain = len(tokens(name)) == _NOUN_AND_ID
        for called in dict.fromkeys(called_so if is_plain else called_so[::-1]):
            found = self._by_property.get(called, ())
            declared = tuple(p for p in found if self._is_source(card, name, p))
            if declared:
                return declared
        noun = noun_of(name) or stem(tokens(card.domain)[-1] if tokens(card.domain) else "")
        return tuple(p for p in self._by_noun.get(noun, ()) if self._is_source(card, name, p))

    def _is_source(self, card: CapabilityCard, name: str, producer: str) -> bool:
        other = self._cards[producer]
        return producer != card.name and name not in other.required and not other.is_mutation

    def _preference(
        self, card: CapabilityCard, name: str, producer: str, scores: Mapping[str, float]
    ) -> tuple[bool, bool, int, int, bool, float, str]:
        """Smaller is better: what lists machines tells one before what lists who has which."""
        other = self._cards[producer]
        unfed = sum(identifies(name) for name in other.required)
        return (
            other.effect is not Effect.READ,
            other.document != card.document,
            unfed,
            _ACTION_RANK.get(other.action, 2),
            not self._lists_those(other, noun_of(name)),
            -scores.get(producer, 0.0),
            producer,
        )
