"""What a person asks for who refused a proposal, read as more of the request: a later one, a day.

Dates, places, times and numbers of a hint are read where those of the request are. What is read
here is what it says of one thing against another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from orchestrator.core.budget import Money
from orchestrator.language import lexicon
from orchestrator.language.words import STOP_WORDS, stem, tokens
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.moments import moment_of
from orchestrator.planning.rules.order_of_things import in_order
from orchestrator.planning.rules.ranking import mentioned, preference_of, stated_limit
from orchestrator.planning.rules.utterance import MEASURES, Utterance

Test = Callable[[Item], bool]


@dataclass(frozen=True)
class Followed:
    """What is left of the things when a hint is followed."""

    items: tuple[Item, ...] = ()
    refusal: str = ""
    """Why nothing is left."""
    is_read: bool = True
    """Whether anything was made of what the hint says of one thing against another."""


@dataclass(frozen=True)
class _Reading:
    """A hint, against what was refused."""

    hint: Utterance
    refused: Item | None
    words: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tokens(self.hint.text))

    def tests(self) -> list[tuple[str, Test]]:
        """What a thing must be, beside what was refused, each with its name."""
        was = self.refused
        if was is None:
            return []
        found: list[tuple[str, Test]] = []
        if self._asks(lexicon.LATER, lexicon.EARLY):
            found.append(("later", lambda item: moment_of(item) > moment_of(was)))
        if self._asks(lexicon.EARLIER, lexicon.LATE):
            found.append(("earlier", lambda item: moment_of(item) < moment_of(was)))
        if self._asks(lexicon.CHEAPER, lexicon.DEAR):
            found.append(("cheaper", lambda item: _is_cheaper(item, was)))
        return found

    def _asks(self, comparative: frozenset[str], opposite: frozenset[str]) -> bool:
        """Whether it says "later", or "too early", or "less early"."""
        too = any(a in lexicon.RATHER_NOT and b in opposite for a, b in pairwise(self.words))
        return too or bool(comparative & set(self.words))

    def content(self) -> frozenset[str]:
        """Stems of the words that may single out one thing; none where something is ruled out."""
        if lexicon.RULED_OUT & set(self.words):
            return frozenset()
        slots = (s for s in self.hint.slots if s.kind in MEASURES)
        valued = {stem(token) for slot in slots for token in tokens(slot.text)}
        said = {stem(word) for word in self.words if word not in STOP_WORDS}
        return frozenset(said - valued)


def follow(hint: Utterance, items: Sequence[Item], refused: Item | None) -> Followed:
    """The things that a hint leaves, those first that it speaks of."""
    reading = _Reading(hint, refused)
    tests, limit = reading.tests(), stated_limit(hint)
    kept = [item for item in items if all(test(item) for _, test in tests)]
    if limit is not None:
        kept = [item for item in kept if _costs_at_most(item, limit)]
    if items and not kept:
        wanted = " and ".join([name for name, _ in tests] or [f"at most {limit}"])
        return Followed(refusal=f"nothing else that was found is {wanted}, as was asked for")
    preference = preference_of(hint)
    content = reading.content()
    spoken = {id(item): len(_said_of(item) & content) for item in kept}
    speaks = max(spoken.values(), default=0)
    order = [item for item in kept if spoken[id(item)] == speaks]
    if preference is not None:
        order = in_order(order, preference)[0]
    return Followed(tuple(order), is_read=bool(tests or limit or preference or speaks))


def _said_of(item: Item) -> set[str]:
    """Stems of the words in a thing's texts, and in the names of what it says yes to."""
    yes = (name for name, value in item.fields.items() if value is True)
    return mentioned(item) | {stem(token) for name in yes for token in tokens(name)}


def wants_another(hints: Sequence[Utterance]) -> bool:
    """Whether the last hint says that it must be another thing."""
    return bool(hints) and bool(lexicon.ANOTHER & set(tokens(hints[0].text)))


def _is_cheaper(item: Item, other: Item) -> bool:
    if item.price is None or other.price is None:
        return False
    return item.price.currency == other.price.currency and _amount(item) < _amount(other)


def _costs_at_most(item: Item, limit: Money) -> bool:
    """Whether it is known to: a price that nobody knows fits no limit."""
    price = item.price
    return price is not None and price.currency == limit.currency and price.amount <= limit.amount


def _amount(item: Item) -> Decimal:
    assert item.price is not None
    return item.price.amount
