"""Things that were found, as a person reads them who is to choose one: no raw ids."""

from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.stated_prices import stated_price
from orchestrator.confirmation.card_facts import CardFact, facts
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon

_MOST: Final = 6
"""Things that are offered."""
_MOST_FACTS: Final = 7
_LONGEST: Final = 60


def offered(items: Iterable[JsonObject]) -> tuple[str, ...]:
    """The things, each once."""
    told = (readable_thing(item) for item in items)
    return tuple(dict.fromkeys(text for text in told if text))[:_MOST]


def readable_thing(item: JsonObject) -> str:
    """What a person would call a thing, what tells it from others, its price: "Acme, 120 EUR"."""
    return ", ".join(_parts(item))


def thing_called(item: JsonObject) -> str:
    """The name of a thing alone, or the first that is told of it."""
    return next(iter(_parts(item)), "")


def _parts(item: JsonObject) -> list[str]:
    kept = [fact for fact in facts(item) if _is_readable(fact)]
    price = stated_price(item)
    kept = [fact for fact in kept if fact.money is None or fact.money != price]
    told = [
        part for rank in range(4) for fact in kept if _rank(fact) == rank for part in _told(fact)
    ]
    return [*told[:_MOST_FACTS], *([str(price)] if price is not None else [])]


def _rank(fact: CardFact) -> int:
    """Names before other words, those before moments, and numbers and flags last."""
    if lexicon.TITLE & set(fact.words[-1:]):
        return 0
    if fact.kind == "moment":
        return 2
    return 1 if isinstance(fact.value, str) else 3


def _told(fact: CardFact) -> Iterator[str]:
    if fact.kind == "flag":
        if fact.value is True:
            yield fact.label.lower()
    elif _rank(fact) < 2:
        yield str(fact.value)
    else:
        yield f"{fact.label.lower()} {fact.line().value}"


def _is_readable(fact: CardFact) -> bool:
    value: JsonValue = fact.value
    if fact.is_empty or fact.kind == "items" or isinstance(value, list) or is_handle(value):
        return False
    if lexicon.IDENTIFIER & set(fact.words[-1:]) or lexicon.BOOKKEEPING & set(fact.words):
        return False
    return not (isinstance(value, str) and (len(value) > _LONGEST or value.startswith("http")))
