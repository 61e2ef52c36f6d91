"""What a number of money is counted in: told by its declaration, else by what its schema says."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.price_contract import MINOR_UNITS
from orchestrator.core import currencies
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of, subschemas
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import name_words

_LISTS: Final = WordLists("money")
_NUMBER: Final = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*")
_HUNDREDTHS: Final = 2


def _phrases(key: str) -> re.Pattern[str]:
    """Any of the phrases of a list; a word may stand in the plural."""
    longest_first = sorted(_LISTS.lines(key), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})s?(?!\w)")


_SMALLEST: Final = _phrases("smallest")
_CENTS: Final = _phrases("hundredths")
_MAJOR: Final = _phrases("major")
_DENIED: Final = re.compile(rf"\b(?:{'|'.join(_LISTS.words('denials'))})\b(?:\W+\w+){{0,3}}\W*$")
_SMALLEST_NAMES: Final = _LISTS.word_set("smallest_names")
_CENT_NAMES: Final = _LISTS.word_set("hundredths_names")
_OTHER_NAMES: Final = _LISTS.word_set("other_names")
UNIT_NAMES: Final = _SMALLEST_NAMES | _CENT_NAMES
"""Words of a name that tell the unit of its number, and nothing of what it is for."""


@dataclass(frozen=True)
class Units:
    """What words and declarations tell of a number, whatever its currency."""

    declared: bool | int | None = None
    smallest: bool = False
    hundredths: bool = False
    major: bool = False
    is_unclear: bool = False
    """Whether it is said not to be something, or to be in units that no currency has."""

    @property
    def is_told(self) -> bool:
        """Whether anything is said of it."""
        return self.declared is not None or any(
            (self.smallest, self.hundredths, self.major, self.is_unclear)
        )

    @property
    def is_minor(self) -> bool:
        """Whether words tell that it counts a smaller unit."""
        return self.smallest or self.hundredths

    def decimals(self, exponent: int) -> int | None:
        """How many decimals of the currency the number has no point for; None when unclear."""
        if self.declared is not None:
            return exponent if self.declared is True else int(self.declared)
        if self.is_unclear or (self.major and self.is_minor):
            return None
        if self.hundredths:
            # Where a hundredth is not the smallest unit, one of the two words is loosely meant.
            return _HUNDREDTHS if exponent == _HUNDREDTHS else None
        return exponent if self.smallest else 0


def units_told(name: str, *schemas: JsonObject) -> Units:
    """What the name of a number and its schemas tell: its own first, then of what is around it.

    Of several schemas the first that tells anything is believed, for the others speak of more than
    this number.
    """
    words = frozenset(name_words(name))
    named = Units(
        smallest=bool(words & _SMALLEST_NAMES),
        hundredths=bool(words & _CENT_NAMES),
        is_unclear=bool(words & _OTHER_NAMES),
    )
    declared = next((d for schema in schemas if (d := _declared(schema)) is not None), None)
    if declared is not None:
        return Units(declared=declared)
    told = (_described(schema) for schema in schemas)
    said = next((units for units in told if units.is_told), Units())
    return Units(
        smallest=named.smallest or said.smallest,
        hundredths=named.hundredths or said.hundredths,
        major=said.major,
        is_unclear=named.is_unclear or said.is_unclear,
    )


def decimals_of(
    amount: JsonValue, currency: str, units: Units, schemas: Iterable[JsonObject] = ()
) -> int | None:
    """How many decimals an amount has no point for: 0 for euros, 2 for cents; None when unclear.

    A whole number that may be either is unclear, and so is one beside a currency in lower case,
    as those write it who count cents. A fraction tells euros; so does a schema that allows one. A
    code in both cases is none of ISO 4217: so they write `GBp` who count pence.
    """
    exponent = currencies.EXPONENTS.get(currency.upper())
    if exponent is None:
        return None
    has_fraction = isinstance(amount, float) or (isinstance(amount, str) and "." in amount)
    if units.is_told:
        decimals = units.decimals(exponent)
        # What is written with a point counts no cents, whatever is said of it.
        has_point = isinstance(amount, str) and "." in amount
        return None if decimals and (has_point or not _is_whole(amount)) else decimals
    if currency not in (currency.upper(), currency.lower()):
        return None
    if exponent == 0 or has_fraction:
        return 0
    if currency != currency.upper():
        return None
    return 0 if any(allows_fractions(schema, amount) for schema in schemas) else None


def allows_fractions(schema: JsonObject, amount: JsonValue) -> bool:
    """Whether a number that is written like this one may have decimals, and so counts no cents."""
    listed = schema.get("type")
    types = listed if isinstance(listed, list) else [listed]
    if (
        isinstance(amount, int)
        and "number" in types
        and not str(schema.get("format", "")).startswith("int")
    ):
        step = schema.get("multipleOf")
        return not isinstance(step, int)
    examples = schema.get("examples")
    shown = [*(examples if isinstance(examples, list) else []), schema.get("default")]
    if any(isinstance(s, float) or (isinstance(s, str) and "." in s) for s in shown):
        return True
    return (
        isinstance(amount, str)
        and "string" in types
        and (schema.get("format") == "decimal" or "\\." in str(schema.get("pattern", "")))
    )


def views(schema: JsonObject, root: JsonObject) -> tuple[JsonObject, ...]:
    """A schema as plain objects: itself, and each of the alternatives that it leaves open."""
    whole = resolve(schema, root)
    branches = (b for b in subschemas(whole, ("anyOf", "oneOf")) if isinstance(b, dict))
    return (whole, *(resolve(branch, root) for branch in branches))


def property_of(
    held_by: Iterable[JsonObject], name: str, root: JsonObject
) -> tuple[JsonObject, ...]:
    """What these views of an object say of one of its properties, as views."""
    found = (properties_of(view).get(name) for view in held_by)
    return tuple(view for schema in found if schema is not None for view in views(schema, root))


def as_decimal(amount: JsonValue) -> Decimal | None:
    """A number, or the text of one, by its text: 249.9 is not its binary neighbour."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        return None
    try:
        value = Decimal(str(amount))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _is_whole(amount: JsonValue) -> bool:
    value = as_decimal(amount)
    return value is not None and value == value.to_integral_value()


def _declared(schema: JsonObject) -> bool | int | None:
    found = schema.get(MINOR_UNITS)
    return found if isinstance(found, bool | int) else None


def _described(schema: JsonObject) -> Units:
    text = " ".join(_texts(schema)).lower()
    if not text:
        return Units()
    smallest, rest = _taken(_SMALLEST, text)
    cents, rest = _taken(_CENTS, rest)
    major, _ = _taken(_MAJOR, rest)
    found = [*smallest, *cents, *major]
    # "Cents" often only explains the smallest unit: (e.g. 100 cents to charge 1.00).
    return Units(
        smallest=bool(smallest),
        hundredths=bool(cents) and not smallest,
        major=bool(major),
        is_unclear=any(_DENIED.search(before) for before in found),
    )


def _taken(pattern: re.Pattern[str], text: str) -> tuple[list[str], str]:
    """What stands before each phrase, and the text without them."""
    before = [text[max(0, m.start() - 40) : m.start()] for m in pattern.finditer(text)]
    return before, pattern.sub(" ", text)


def _texts(schema: JsonObject) -> Iterator[str]:
    for keyword in ("title", "description"):
        if isinstance(text := schema.get(keyword), str):
            yield text
