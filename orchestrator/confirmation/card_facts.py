"""The facts that go on a card: each argument and each property of an answer, told what it is.

What a value is shows in its name and its shape alone; no provider is known here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.stated_prices import (
    money_of,
    names_currency,
    names_money,
    names_quantity,
    stated_price,
)
from orchestrator.confirmation.card_content import CardLine, LineItem
from orchestrator.core.budget import Money
from orchestrator.core.pii import field_of, is_handle, shown_without_version
from orchestrator.core.record import JsonObject
from orchestrator.language.words import name_words

FactKind = Literal["money", "moment", "items", "flag", "text"]

_LONGEST_VALUE = 240
LONGEST_SENT = 4_000
"""What is sent is shown whole, for whoever approves it answers for every word; where it is longer
still, the card says so."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d\S*)?|\d\d:\d\d(:\d\d)?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a new word begins in camelCase."""
_NAMES = ("name", "title", "label", "description", "summary", "product", "category")
_QUANTITIES = ("quantity", "count", "units", "number")


@dataclass(frozen=True)
class CardFact:
    """One value on a card."""

    name: str
    label: str
    words: tuple[str, ...]
    """Of its name, in lower case; of an inner one, its holder's first."""
    value: JsonValue
    kind: FactKind
    money: Money | None = None
    """Of the kind money."""
    is_sent: bool = False
    """It is an argument of the call, and none of what an answer told."""

    @property
    def is_empty(self) -> bool:
        """Whether it says that there is nothing; sent, that is something to read too."""
        return self.value in (None, [], {})

    @property
    def is_id(self) -> bool:
        """Whether it names a thing by a code that says nothing to a person."""
        return self.words[-1:] in (("id",), ("ids",))

    def line(self, *, prose: bool = False, label: str = "") -> CardLine:
        """As a person reads it, under its own label when no other is given."""
        whole = prose or self.is_sent
        value = str(self.money) if self.money is not None else readable(self.value, whole=whole)
        return CardLine(label=label or self.label, value=value)

    @property
    def unshown(self) -> int:
        """How many characters of what is sent are on no line of a card."""
        if not self.is_sent or self.money is not None:
            return 0
        if self.kind == "items":
            return sum(fact.unshown for fact in self._inner())
        return max(0, len(_text(self.value, whole=True)) - LONGEST_SENT)

    def _inner(self) -> Iterator["CardFact"]:
        for item in self.value if isinstance(self.value, list) else []:
            for fact in facts(item) if isinstance(item, dict) else ():
                yield replace(fact, is_sent=True)


def facts(holder: JsonObject, labels: dict[str, str] | None = None) -> Iterator[CardFact]:
    """The facts of an object, those of objects inside of it after their own names."""
    for name, value in holder.items():
        if name == PRICE:
            continue  # the property that it was declared of is shown
        if names_currency(name) and _is_beside_amount(holder):
            continue
        yield from _facts_of(name, value, holder, (labels or {}).get(name) or label_of(name))


def _facts_of(name: str, value: JsonValue, holder: JsonObject, label: str) -> Iterator[CardFact]:
    words = name_words(name)
    money = _money(name, value, holder)
    if money is not None:
        yield CardFact(name, label, words, value, "money", money)
    elif isinstance(value, dict) and value:
        for inner in facts(value):
            yield replace(
                inner,
                name=f"{name}.{inner.name}",
                label=f"{label}: {inner.label.lower()}",
                words=(*words, *inner.words),
            )
    else:
        yield CardFact(name, label, words, value, _kind(value))


def _kind(value: JsonValue) -> FactKind:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return "moment"
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return "items"
    return "text"


def _money(name: str, value: JsonValue, holder: JsonObject) -> Money | None:
    """The money that a value is: an object of amount and currency, or a number beside one."""
    if isinstance(value, dict):
        # Whatever it is called: that is for a person to read, and not what the call costs.
        return money_of(value)
    return money_of(value, holder) if names_money(name) else None


def _is_beside_amount(holder: JsonObject) -> bool:
    return any(_money(name, value, holder) is not None for name, value in holder.items())


def line_items(value: JsonValue, *, whole: bool = False) -> Iterator[LineItem]:
    """The things of a list, each with its name, quantity and price."""
    for number, item in enumerate(value if isinstance(value, list) else [], start=1):
        if not isinstance(item, dict):
            continue
        name = next((item[n] for n in _NAMES if isinstance(item.get(n), str)), None)
        quantity = next((item[q] for q in _QUANTITIES if q in item), "")
        # Shown beside its quantity, a price needs no telling whether it is that of one.
        price = stated_price({k: v for k, v in item.items() if not names_quantity(k)})
        rest = [
            fact.line(prose=whole)
            for fact in facts(item)
            if fact.value not in (name, quantity) and (fact.money is None or fact.money != price)
        ]
        yield LineItem(
            name=str(name) if name is not None else f"no. {number}",
            quantity=readable(quantity, whole=whole),
            price=price,
            details=tuple(rest),
        )


def label_of(name: str) -> str:
    """A name as a person would write it."""
    spaced = _HUMP.sub(" ", name).replace("_", " ").replace("-", " ")
    return spaced.strip().capitalize()


def readable(value: JsonValue, *, whole: bool = False) -> str:
    """A value as a person reads it; personal ones are masked."""
    longest = LONGEST_SENT if whole else _LONGEST_VALUE
    text = _text(value, whole=whole)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _text(value: JsonValue, *, whole: bool) -> str:
    def inside(inner: JsonValue) -> str:
        return _text(inner, whole=True) if whole else readable(inner)

    if isinstance(value, dict):
        money = stated_price({"price": value}) if "amount" in value else None
        if money is not None:
            return str(money)
        told = (f"{label_of(n).lower()} {inside(v)}" for n, v in value.items())
        return ", ".join(told) or "none"
    if isinstance(value, list):
        return "; ".join(map(inside, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if is_handle(value):
        return f"•••••• ({field_of(value)} from the vault)"
    return shown_without_version(str(value))
