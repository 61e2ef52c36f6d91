"""Values as they are written on a command line: K=V pairs, amounts, paths of documents."""

import json
import math
import os
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
from orchestrator.planning.models import CHAINING, LLM
from orchestrator.settings import MODEL_VARIABLE, PLANNER_VARIABLE

Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="An OpenAPI file or a folder of them; may be repeated."),
]

Overlays = Annotated[
    list[Path] | None,
    typer.Option("--overlay", help="An OpenAPI Overlay document; may be repeated."),
]

Planner = Annotated[
    str | None,
    typer.Option(
        "--planner",
        metavar="NAME",
        help="Who plans: chaining (rules), llm (a model), or module:factory of your own.",
    ),
]

Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="PROVIDER:MODEL", help="The model that plans; docs/models.md names them."
    ),
]


def planning_variables(planner: str | None, model: str | None) -> dict[str, str]:
    """The variables that stand for `--planner` and `--model`, whatever the environment has.

    Raises:
        UsageError: a model is named for a planner that asks none.
    """
    if planner == CHAINING and model is not None:
        raise UsageError("the planner chaining asks no model: leave --planner or --model out")
    if model is not None and planner is None and os.environ.get(PLANNER_VARIABLE) == CHAINING:
        planner = LLM
    named = {PLANNER_VARIABLE: planner, MODEL_VARIABLE: model}
    return {variable: value for variable, value in named.items() if value is not None}


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


def listen_address(text: str) -> tuple[str, int]:
    """The host and the port of HOST:PORT.

    Raises:
        UsageError: it is not written so.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"{text!r} is no address; give one as 127.0.0.1:8800")
    return host.strip("[]"), int(port)
