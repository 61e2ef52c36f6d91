"""Facts of a card: each argument and each property of an answer, with its kind and its part.

The kind of a value follows from its name and shape alone; no provider is known here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from orchestrator.catalog.card_types import CARD_TYPES
from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.money import (
    money_of,
    names_amount,
    names_currency,
    names_quantity,
    stated_price,
)
from orchestrator.catalog.tool import CardLayout
from orchestrator.confirmation.card_content import (
    CONTENT_TYPES,
    Amount,
    CardLine,
    CardSection,
    Content,
    Declared,
    LineItem,
    Moment,
)
from orchestrator.core.budget import Money
from orchestrator.core.pii import field_of, is_handle, shown_without_version
from orchestrator.core.record import JsonObject
from orchestrator.language.words import name_words

FactKind = Literal["money", "moment", "items", "flag", "text"]

_LONGEST_VALUE = 240
LONGEST_SENT = 4_000
"""Up to this length a sent value is shown whole: an approver answers for every word. The card of a
longer one says that it is cut."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d\S*)?|\d\d:\d\d(:\d\d)?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""The boundary of a word in camelCase."""
_NAMES = ("name", "title", "label", "description", "summary", "product", "category")
_QUANTITIES = ("quantity", "count", "units", "number")


@dataclass(frozen=True)
class CardFact:
    """A value on a card."""

    name: str
    label: str
    words: tuple[str, ...]
    """The words of its name, in lower case; for a nested value, the holder's words first."""
    value: JsonValue
    kind: FactKind
    money: Money | None = None
    """The amount of a money fact."""
    is_sent: bool = False
    """True for an argument of the call; False for a part of an answer."""

    @property
    def is_empty(self) -> bool:
        """True for an empty value, which is shown only if it is sent."""
        return self.value in (None, [], {})

    @property
    def is_id(self) -> bool:
        """True for a code that means nothing to a person."""
        return self.words[-1:] in (("id",), ("ids",))

    def line(self, *, prose: bool = False, label: str = "") -> CardLine:
        """Return the line for people, under the fact's own label by default."""
        whole = prose or self.is_sent
        value = str(self.money) if self.money is not None else readable(self.value, whole=whole)
        return CardLine(label=label or self.label, value=value)

    @property
    def unshown(self) -> int:
        """The number of characters of a sent value that are on no line of a card."""
        if not self.is_sent or self.money is not None:
            return 0
        if self.kind == "items":
            held = self.value if isinstance(self.value, list) else []
            items = [item for item in held if isinstance(item, dict)]
            return sum(replace(one, is_sent=True).unshown for item in items for one in facts(item))
        return max(0, len(_text(self.value, whole=True)) - LONGEST_SENT)


def facts(holder: JsonObject, labels: dict[str, str] | None = None) -> Iterator[CardFact]:
    """Yield the facts of an object; names of nested facts begin with the holder's name."""
    for name, value in holder.items():
        if name == PRICE:
            continue  # the property that it was derived from is shown
        if names_currency(name) and any(_money(*one, holder) for one in holder.items()):
            continue  # it is shown with its amount
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
    """Return the money of a value: an object with a currency, or a number next to one."""
    if isinstance(value, dict):
        # By any name: the amount is for a person to read, and not the cost of the call.
        return money_of(value)
    return money_of(value, holder) if names_amount(name) else None


def line_items(value: JsonValue, *, whole: bool = False) -> Iterator[LineItem]:
    """Yield the items of a list, each with its name, quantity and price."""
    for number, item in enumerate(value if isinstance(value, list) else [], start=1):
        if not isinstance(item, dict):
            continue
        name = next((item[n] for n in _NAMES if isinstance(item.get(n), str)), None)
        quantity = next((item[q] for q in _QUANTITIES if q in item), "")
        # Next to its quantity, a price may be that of one piece or of all.
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
    """Return a name as a person would write it."""
    spaced = _HUMP.sub(" ", name).replace("_", " ").replace("-", " ")
    return spaced.strip().capitalize()


def readable(value: JsonValue, *, whole: bool = False) -> str:
    """Return a value for people; personal ones are masked."""
    longest = LONGEST_SENT if whole else _LONGEST_VALUE
    text = _text(value, whole=whole)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _text(value: JsonValue, *, whole: bool) -> str:
    def inside(inner: JsonValue) -> str:
        return _text(inner, whole=True) if whole else readable(inner)

    if isinstance(value, dict):
        if (money := money_of(value)) is not None:  # with nothing else, which would stay unsaid
            return str(money)
        held = (f"{label_of(n).lower()} {inside(v)}" for n, v in value.items())
        return ", ".join(held) or "none"
    if isinstance(value, list):
        return "; ".join(map(inside, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if is_handle(value):
        return f"•••••• ({field_of(value)} from the vault)"
    return shown_without_version(str(value))


_MINE = "client"
"""A client reference is this project's own and no fact about the effect."""
_PART_OF_KIND = {"money": "amounts", "moment": "times", "items": "items"}
"""The part of every card for each kind of fact that its shape alone determines."""


def content_of(
    card_type: str, shown: Sequence[CardFact], layout: CardLayout | None = None
) -> tuple[Content | None, tuple[CardFact, ...]]:
    """Return the content of a card type, and the facts that fit in none of its parts."""
    if layout is not None and layout.sections:
        return _declared(shown, layout)
    if card_type not in CARD_TYPES:
        return None, tuple(shown)
    parts: dict[str, list[object]] = {}
    rest = []
    own = CARD_TYPES[card_type].parts
    for fact in shown:
        if fact.kind in _PART_OF_KIND:
            part = _PART_OF_KIND[fact.kind]
            taking = [part] if part in own else []
        else:
            # A code means nothing to a person, and a value from the vault is not shown.
            is_code = fact.is_id or is_handle(fact.value)
            taking = [
                name
                for name, one in own.items()
                if _MINE not in fact.words
                and (one.takes_ids or not is_code)
                and one.words & set(fact.words)
            ]
        if not taking:
            rest.append(fact)
            continue
        name = min(taking, key=lambda name: own[name].turn)
        entries = parts.setdefault(name, [])
        if fact.money is not None:
            entries.append(Amount(label=fact.label, money=fact.money))
        elif fact.kind == "moment":
            entries.append(Moment(label=fact.label, at=str(fact.value)))
        elif fact.kind == "items":
            entries += line_items(fact.value, whole=fact.is_sent)
        else:
            entries.append(fact.line(prose=own[name].is_prose))
    return CONTENT_TYPES[card_type].model_validate(parts), tuple(rest)


def _declared(
    shown: Sequence[CardFact], layout: CardLayout
) -> tuple[Declared, tuple[CardFact, ...]]:
    """Return a document's own layout, and the facts that it leaves out but the card shows."""
    placed: set[str] = set()
    parts = []
    for section in layout.sections:
        lines: list[CardLine] = []
        for field in section.fields:
            inside = f"{field.name}."
            meant = [f for f in shown if f.name == field.name or f.name.startswith(inside)]
            placed.update(fact.name for fact in meant)
            lines += [
                fact.line(prose=True, label=field.label if len(meant) == 1 else "")
                for fact in meant
            ]
        if lines:
            parts.append(CardSection(title=section.title, lines=tuple(lines)))
    return Declared(parts=tuple(parts)), tuple(f for f in shown if f.name not in placed)
