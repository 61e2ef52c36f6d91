"""Values as they are written on a command line: K=V pairs, amounts, paths of documents."""

import json
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue, ValidationError

from orchestrator.core.budget import Money
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject

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
    """The text as JSON where it reads as such, else the text itself."""
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_number)
    except ValueError:
        return text
    return value


def _no_number(name: str) -> None:
    """NaN and Infinity are words here: JSON has no such numbers."""
    raise ValueError(name)


def read_money(amount: str, currency: str) -> Money:
    """An amount and a currency code.

    Raises:
        UsageError: not a number, negative, or not a three-letter code.
    """
    try:
        return Money(amount=Decimal(amount), currency=currency.upper())
    except InvalidOperation:
        raise UsageError(f"{amount!r} is not a number; write: --budget 900 EUR") from None
    except ValidationError as error:
        where = error.errors()[0]["loc"][-1]
        wrong = amount if where == "amount" else currency
        raise UsageError(
            f"{wrong!r} is not a valid {where}; write an amount and a currency: --budget 900 EUR"
        ) from None
