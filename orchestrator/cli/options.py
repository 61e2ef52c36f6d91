"""Values as they are written on a command line: K=V pairs, amounts, paths of documents."""

import json
import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue, ValidationError

from orchestrator.core.budget import Money, check_currencies
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.wellformed import find_defect

Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="An OpenAPI file or a folder of them; may be repeated."),
]

Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="An OpenAPI Overlay document; may be repeated."),
]


def read_pairs(pairs: Sequence[str]) -> JsonObject:
    """`["guests=2", "city=Rome"]` as {"guests": 2, "city": "Rome"}: JSON where it reads as such.

    Raises:
        UsageError: a pair has no `=` or no name.
    """
    return {name: read_json(text) for name, text in map(split_pair, pairs)}


def split_pair(pair: str) -> tuple[str, str]:
    """Name and text of `name=text`.

    Raises:
        UsageError: it has no `=` or no name.
    """
    name, equals, text = pair.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{pair!r} is not NAME=VALUE, e.g. guests=2")
    return name.strip(), text


def read_json(text: str) -> JsonValue:
    """The text as JSON where it reads as such, else the text itself.

    Raises:
        UsageError: it is JSON that is nested too deep, or holds half a character.
    """
    try:
        value: JsonValue = json.loads(
            text, parse_constant=_no_number, parse_float=_finite, parse_int=_of_json
        )
    except ValueError:
        return text
    except RecursionError:
        raise UsageError("a value is nested too deep") from None
    if (defect := find_defect(value)) is not None:
        raise UsageError(f"a value cannot be taken: {defect.reason}")
    return value


def _no_number(name: str) -> None:
    """NaN and Infinity are words here: JSON has no such numbers."""
    raise ValueError(name)


def _finite(text: str) -> float:
    """So is a number beyond all that JSON's receivers can hold: it may be an id of digits."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def _of_json(text: str) -> int:
    _finite(text)
    return int(text)


def read_money(amount: str, currency: str) -> Money:
    """An amount and a currency code.

    Raises:
        UsageError: not a number, negative, or not the code of a currency.
    """
    try:
        money = Money(amount=Decimal(amount), currency=currency.upper())
    except InvalidOperation:
        raise UsageError(f"{amount!r} is not a number; write: --budget 900 EUR") from None
    except ValidationError as error:
        where = error.errors()[0]["loc"][-1]
        wrong = amount if where == "amount" else currency
        raise UsageError(
            f"{wrong!r} is not a valid {where}; write an amount and a currency: --budget 900 EUR"
        ) from None
    check_currencies(money)
    return money
