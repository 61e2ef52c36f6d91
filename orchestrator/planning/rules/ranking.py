"""Which of the things that were found is taken: what fits the request, then what costs least."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.core.budget import Money, Spend, over_budget
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.bounds import limit_of
from orchestrator.language.words import STOP_WORDS, is_verb, stem, tokens
from orchestrator.planning.rules.amounts import money_said
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.utterance import MEASURES, Utterance

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]|$)")
_THE_FIRST = re.compile(r"\bthe first\b(?!\s+class)", re.IGNORECASE)
_UNPRICED: Final = Decimal("Infinity")


@dataclass(frozen=True)
class Wish:
    """What is asked of the thing to be taken."""

    utterance: Utterance
    stated: JsonObject
    """Input values that the user gave; a thing whose field of that name differs comes last."""
    strict: frozenset[str]
    """Names of stated values for which nothing else will do: a cuisine, a class of car."""
    named: tuple[str, ...]
    """Names and ids that the user called the thing by; one that bears none of them is not meant."""
    dull: frozenset[str]
    """Stems of words that tell nothing about one thing against another."""
    kind: str = ""
    """Stem of the noun that must be said of a thing before it is taken unasked; '' for any."""
    buying: bool = False
    """Whether taking it costs its price."""
    budget_left: Money | None = None


@dataclass(frozen=True)
class Ranking:
    """The things that may be taken, best first; `refusal` says why there are none.

    `tied` of them are equally good, their prices aside; `is_meant` is False when none is of the
    kind that was asked for.
    """

    items: tuple[Item, ...]
    refusal: str = ""
    tied: int = 0
    is_meant: bool = True
    fits: tuple[tuple[int, int], ...] = ()
    """Of each thing how well it fits what was asked for, price and preference aside; less is
    better. Empty where the order of the answer is what was asked for."""

    def as_fitting_as(self, other: Item) -> list[Item]:
        """The things that fit what was asked for no worse than another of them."""
        fit = next((f for i, f in zip(self.items, self.fits, strict=False) if i == other), None)
        if fit is None:
            return list(self.items)
        return [i for i, own in zip(self.items, self.fits, strict=True) if own <= fit]


def rank_items(items: Sequence[Item], wish: Wish) -> Ranking:
    """The things that may be taken, best first.

    A name that it does not bear, a strict value that differs, a limit and the budget drop a thing.
    Another mismatch with what was stated, then fewer of the request's own words, then the
    preference ("the latest"), then the price, put it behind.
    """
    usable = [item for item in items if not _is_gone(item)] or list(items)
    names = {stem(token) for name in wish.named for token in tokens(name)}
    called = [item for item in usable if names <= mentioned(item)]
    if usable and not called:
        return Ranking((), f"nothing that was found is called {' '.join(map(repr, wish.named))}")
    strict = {k: v for k, v in wish.stated.items() if k in wish.strict}
    fitting = [item for item in called if not _mismatches(item, strict)]
    if called and not fitting:
        wanted = ", ".join(f"{name} {value}" for name, value in strict.items())
        return Ranking((), f"nothing that was found is {wanted}")
    kept = [item for item in fitting if _over_limit(item, wish) is None]
    if fitting and not kept:
        return Ranking((), _over_limit(fitting[0], wish) or "")
    relevant, preference = _content(wish), _preference(wish)

    def merit(item: Item) -> tuple[int, int, float | Decimal]:
        unlike = _mismatches(item, wish.stated)
        return unlike, -len(mentioned(item) & relevant), preference(item)

    meant = not wish.kind or any(wish.kind in mentioned(item) for item in kept)
    if _THE_FIRST.search(wish.utterance.text):
        return Ranking(tuple(kept), tied=1, is_meant=meant)
    order = sorted(kept, key=lambda item: (merit(item), _cost(item) if wish.buying else Decimal(0)))
    tied = sum(merit(item) == merit(order[0]) for item in order)
    fits = tuple(merit(item)[:2] for item in order)
    return Ranking(tuple(order), tied=tied, is_meant=meant, fits=fits)


def stated_limit(utterance: Utterance) -> Money | None:
    """The most that the clause allows to be paid: "under 900 EUR"."""
    for slot in utterance.of("amount"):
        limit = limit_of(utterance.text, slot)
        hinted = limit is None and slot.hint in lexicon.MOST_HINTS - {"to"}
        if limit == "max" or hinted:
            return money_said(slot)
    return None


def _is_gone(item: Item) -> bool:
    status = item.fields.get("status")
    return (isinstance(status, str) and status.lower() in lexicon.GONE) or (
        item.fields.get("available") is False
    )


def _over_limit(item: Item, wish: Wish) -> str | None:
    """Why the thing costs too much; None when it does not."""
    if not wish.buying:
        return None
    price, limit = item.price, stated_limit(wish.utterance)
    if limit is not None and price is None:
        return f"what was found does not say plainly what it costs, so nothing holds {limit}"
    if limit is not None and price is not None and limit.currency != price.currency:
        return (
            f"what was found is priced in {price.currency}, and no rates are known by which "
            f"{limit} could be held: state the limit in {price.currency}"
        )
    if limit is not None and price is not None and price.amount > limit.amount:
        return f"nothing that was found costs at most {limit}"
    if price is None:
        return None
    if over_budget(wish.budget_left, Spend(), price):
        return f"nothing that was found fits the {wish.budget_left} left of the budget"
    return None


def mentioned(item: Item) -> set[str]:
    """Stems of the words in the thing's texts."""
    texts = (v for v in item.fields.values() if isinstance(v, str))
    return {stem(token) for text in texts for token in tokens(text)}


def _mismatches(item: Item, stated: JsonObject) -> int:
    own = ((item.fields[name], value) for name, value in stated.items() if name in item.own)
    return sum(_plain(held) != _plain(value) for held, value in own)


def _plain(value: JsonValue) -> JsonValue:
    return value.casefold() if isinstance(value, str) else value


def _content(wish: Wish) -> frozenset[str]:
    """Stems of the clause's words that may single out one thing."""
    valued = {stem(t) for s in wish.utterance.slots if s.kind in MEASURES for t in tokens(s.text)}
    words = (t for t in tokens(wish.utterance.text) if t not in STOP_WORDS and not is_verb(t))
    return frozenset(stem(t) for t in words) - valued - wish.dull


def _cost(item: Item) -> Decimal:
    return item.price.amount if item.price is not None else _UNPRICED


def _preference(wish: Wish) -> Callable[[Item], float | Decimal]:
    """A key that puts first what the clause prefers; 0 for all when it states no preference."""
    return preference_of(wish.utterance) or (lambda item: 0)


def preference_of(utterance: Utterance) -> Callable[[Item], float | Decimal] | None:
    """A key that puts first what a clause prefers ("the cheapest"); None when it prefers none."""
    words = utterance.words
    if words & lexicon.CHEAPEST:
        return _cost
    if words & lexicon.NEWEST:
        return lambda item: -_moment(item)
    if words & lexicon.OLDEST:
        return _moment
    if words & lexicon.BEST_RATED:
        return lambda item: -_rating(item)
    return None


def _moment(item: Item) -> float:
    """A number that grows with the thing's date; 0 when it has none."""
    own = (str(value) for name, value in item.fields.items() if name in item.own)
    dated = next((text for text in own if _ISO_DATE.match(text)), "")
    digits = re.sub(r"\D", "", dated)[:14]
    return float(digits.ljust(14, "0")) if digits else 0.0


def _rating(item: Item) -> float:
    rated = (value for name, value in item.fields.items() if set(tokens(name)) & lexicon.RATING)
    return next((float(value) for value in rated if isinstance(value, int | float)), 0.0)
