"""Which of the things that were found is taken: what fits the request, then what costs least."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.core.budget import Money, Spend, over_budget
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.bounds import Limit, bare_limits, limit_of
from orchestrator.language.intent import Action
from orchestrator.language.quantifiers import Ordering, PlaceInOrder, place_in
from orchestrator.language.words import STOP_WORDS, is_verb, stem, tokens
from orchestrator.planning.rules.amounts import money_said
from orchestrator.planning.rules.answers import Item, flat_fields
from orchestrator.planning.rules.hours_wanted import at_hours_wanted
from orchestrator.planning.rules.order_of_things import equals, in_order
from orchestrator.planning.rules.ruled_out import left_after
from orchestrator.planning.rules.utterance import MEASURES, Utterance

Standing = Literal["within", "beyond", "unsure"]

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
    doubt: str = ""
    """Why a person must choose: what was said does not tell which of the things is meant."""
    unsure: tuple[Item, ...] = ()
    """Things of which nobody can tell whether they keep within what was said."""
    ruled_out: tuple[Item, ...] = ()
    """Things that are not wanted."""

    def as_fitting_as(self, other: Item) -> list[Item]:
        """The things that fit what was asked for no worse than another of them."""
        fit = next((f for i, f in zip(self.items, self.fits, strict=False) if i == other), None)
        if fit is None:
            return list(self.items)
        return [i for i, own in zip(self.items, self.fits, strict=True) if own <= fit]


def rank_items(items: Sequence[Item], wish: Wish) -> Ranking:
    """The things that may be taken, best first.

    A name that it does not bear, a strict value that differs, a limit and the budget drop a thing,
    and so does another hour than is wanted, where some have that;
    of what has no price, or one in another currency, a limit says nothing: a person must choose.
    Another mismatch with what was stated, then fewer of the request's own words, then the
    preference ("the latest"), then the price, put it behind.
    """
    left, refusal = left_after(items, wish.utterance.text)
    if refusal:
        return Ranking((), refusal)
    ruled_out = tuple(item for item in items if item not in left)
    return replace(_ranked(left, wish), ruled_out=ruled_out)


def _ranked(items: Sequence[Item], wish: Wish) -> Ranking:
    """Those of the things that keep within what was said, best first."""
    usable = [item for item in items if not (_is_gone(item) or _is_sold_out(item))]
    if items and not usable and wish.buying and all(map(_is_sold_out, items)):
        return Ranking(tuple(items), doubt="nothing is left of what was found")
    usable = usable or list(items)
    names = {stem(token) for name in wish.named for token in tokens(name)}
    called = [item for item in usable if names <= mentioned(item)]
    # "The tax VAT" is the one of that name, and none that says VAT of itself as well.
    called = [item for item in called if _is_called_so(item, wish.named)] or called
    if usable and not called:
        return Ranking((), f"nothing that was found is called {' '.join(map(repr, wish.named))}")
    strict = {k: v for k, v in wish.stated.items() if k in wish.strict}
    fitting = [item for item in called if not _mismatches(item, strict)]
    fitting = at_hours_wanted(fitting, wish.utterance)
    if called and not fitting:
        wanted = ", ".join(f"{name} {value}" for name, value in strict.items())
        return Ranking((), f"nothing that was found is {wanted}")
    held = [(item, _held(item, wish)) for item in fitting]
    kept = [item for item, (standing, _) in held if standing == "within"]
    unsure = tuple(item for item, (standing, _) in held if standing == "unsure")
    if fitting and not kept:
        reason = next(
            why for _, (standing, why) in held if standing == ("unsure" if unsure else "beyond")
        )
        return Ranking(
            unsure, "" if unsure else reason, doubt=reason if unsure else "", unsure=unsure
        )
    return replace(_ordered(kept, wish), unsure=unsure)


def _is_called_so(item: Item, names: Collection[str]) -> bool:
    """Whether a thing is called by one of these names, and by no word more."""
    titles = (name for name in item.own if lexicon.TITLE & {*tokens(name)[-1:]})
    called = {str(item.fields[name]).casefold() for name in titles}
    return not called.isdisjoint(map(str.casefold, names))


def _ordered(kept: Sequence[Item], wish: Wish) -> Ranking:
    """What may be taken, in the order in which it is."""
    relevant = _content(wish)

    def fit(item: Item) -> tuple[int, int]:
        return _mismatches(item, wish.stated), -len(mentioned(item) & relevant)

    meant = not wish.kind or any(wish.kind in mentioned(item) for item in kept)
    place = place_in(wish.utterance.wanted)
    if place is not None:
        return replace(_at_place(kept, place, fit), is_meant=meant)
    preference = preference_of(wish.utterance)
    order = sorted(kept, key=_cost) if wish.buying and not _unlike_prices(kept) else list(kept)
    order = in_order(order, preference)[0] if preference else order
    doubt = in_order(order, preference)[1] if preference else ""
    order.sort(key=fit)
    tied = sum(
        fit(item) == fit(order[0]) and (not preference or equals(item, order[0], preference))
        for item in order
    )
    fits = tuple(fit(item) for item in order)
    return Ranking(tuple(order), tied=tied, is_meant=meant, fits=fits, doubt=doubt)


def _at_place(
    kept: Sequence[Item], place: PlaceInOrder, fit: Callable[[Item], tuple[int, int]]
) -> Ranking:
    """The thing that has a place in an order of those that fit best, and those after it."""
    best = min(map(fit, kept), default=(0, 0))
    alike = [i for i in kept if place.order == "as_told" or fit(i) == best]
    order, doubt = in_order(alike, place.order)
    if doubt:
        return Ranking(tuple(alike), tied=len(alike), doubt=doubt)
    if len(order) <= place.first:
        return Ranking((), f"{len(order)} were found, and there is no number {place.first + 1}")
    left = order[place.first :]
    tied = sum(equals(item, left[0], place.order) for item in left) if place.number == 1 else 1
    return Ranking(tuple(left), tied=max(tied, 1))


def _unlike_prices(items: Sequence[Item]) -> bool:
    """Whether prices are in several currencies, so that none is the least."""
    return len({item.price.currency for item in items if item.price is not None}) > 1


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


def _is_sold_out(item: Item) -> bool:
    """Whether it says itself that none of it is left: `seats_left: 0`."""
    own = ((name, value) for name, value in item.fields.items() if name in item.own)
    return any(v == 0 and not isinstance(v, bool) and lexicon.LEFT & {*tokens(n)} for n, v in own)


def _held(item: Item, wish: Wish) -> tuple[Standing, str]:
    """Whether a thing keeps within the limits on what it may cost, and why not."""
    price = item.price
    for limit, money in _limits(wish, price.currency if price else ""):
        if price is None:
            why = f"what was found does not say plainly what it costs, so nothing holds {money}"
            return "unsure", why
        if price.currency != money.currency:
            return "unsure", (
                f"what was found is priced in {price.currency}, and no rates are known by which "
                f"{money} could be held"
            )
        if limit == "max" and price.amount > money.amount:
            return "beyond", f"nothing that was found costs at most {money}"
        if limit == "min" and price.amount < money.amount:
            return "beyond", f"nothing that was found costs at least {money}"
    if wish.buying and price is not None and over_budget(wish.budget_left, Spend(), price):
        why = f"nothing that was found fits the {wish.budget_left} left of the budget"
        return "beyond", why
    return "within", ""


def _limits(wish: Wish, currency: str) -> list[tuple[Limit, Money]]:
    """What a thing may cost at least and at most; what somebody is told limits nothing.

    A limit without a currency is in that of what was found, where it has one.
    """
    utterance = wish.utterance
    if utterance.reading.action is Action.SEND:
        return []
    found: list[tuple[Limit, Money]] = []
    for slot in utterance.of("amount"):
        money = money_said(slot)
        limit = limit_of(utterance.text, slot)
        if limit is None and slot.hint in lexicon.MOST_HINTS - {"to"}:
            limit = "max"
        if money is not None and limit is not None:
            found.append((limit, money))
    if currency:
        bare = bare_limits(utterance.text, utterance.of("quantity"))
        found += [(limit, Money(amount=most, currency=currency)) for limit, most in bare]
    return found


def mentioned(item: Item) -> set[str]:
    """Stems of the words in the thing's texts, in those of objects and lists in it as well."""
    listed = chain(*(v for v in item.fields.values() if isinstance(v, list)))
    texts = (v for v in (*dict(flat_fields(item.fields)).values(), *listed) if isinstance(v, str))
    return {stem(token) for text in texts for token in tokens(text)}


def _mismatches(item: Item, stated: JsonObject) -> int:
    own = ((item.fields[name], value) for name, value in stated.items() if name in item.own)
    return sum(_plain(held) != _plain(value) for held, value in own)


def _plain(value: JsonValue) -> JsonValue:
    return value.casefold() if isinstance(value, str) else value


def _content(wish: Wish) -> frozenset[str]:
    """Stems of the clause's words that may single out one thing."""
    valued = {stem(t) for s in wish.utterance.slots if s.kind in MEASURES for t in tokens(s.text)}
    words = (t for t in tokens(wish.utterance.wanted) if t not in STOP_WORDS and not is_verb(t))
    return frozenset(stem(t) for t in words) - valued - wish.dull


def _cost(item: Item) -> Decimal:
    return item.price.amount if item.price is not None else _UNPRICED


def preference_of(utterance: Utterance) -> Ordering | None:
    """By what a clause prefers one thing to another ("a cheap one"); None when it does not say."""
    words = utterance.words
    if words & lexicon.CHEAPEST:
        return "cheapest"
    if words & lexicon.NEWEST:
        return "newest"
    if words & lexicon.OLDEST:
        return "oldest"
    return "best" if words & lexicon.BEST_RATED else None
