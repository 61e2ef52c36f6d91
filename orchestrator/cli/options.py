"""Options of the command line: what each is called, and how its text is read."""

import json
import math
import os
import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import JsonValue, TypeAdapter, ValidationError

from orchestrator.core.budget import Money, check_currencies
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.wellformed import find_defect
from orchestrator.planning.models import CHAINING, LLM, OwnPlanner
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
    """The variables that stand for `--planner` and `--model`, whatever the environment has."""
    if planner == CHAINING and model is not None:
        raise UsageError("the planner chaining asks no model: leave --planner or --model out")
    if model is not None and planner is None and os.environ.get(PLANNER_VARIABLE) == CHAINING:
        planner = LLM
    named = {PLANNER_VARIABLE: planner, MODEL_VARIABLE: model}
    return {variable: value for variable, value in named.items() if value is not None}


def read_pairs(pairs: Sequence[str]) -> JsonObject:
    """`["guests=2", "city=Rome"]` as {"guests": 2, "city": "Rome"}: JSON where it reads as such."""
    return {name: read_json(text) for name, text in map(split_pair, pairs)}


def split_pair(pair: str) -> tuple[str, str]:
    """Name and text of `name=text`."""
    name, equals, text = pair.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{pair!r} is not NAME=VALUE, e.g. guests=2")
    return name.strip(), text


def read_json(text: str) -> JsonValue:
    """The text as JSON where it reads as such, else the text itself."""
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
    """An amount and a currency code."""
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
    """The host and the port of HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"{text!r} is no address; give one as 127.0.0.1:8800")
    return host.strip("[]"), int(port)


LimitPairs = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="WHAT=N",
        help="The most it may use up, repeatable: requests, input_tokens, output_tokens, "
        "total_tokens, cost_usd, tool_calls, steps, wall_clock (PT2H).",
    ),
]


def read_limits(pairs: Sequence[str]) -> Limits:
    """`["requests=40", "wall_clock=PT2H"]` as limits."""
    named = dict(map(split_pair, pairs))
    if unknown := [name for name in named if name not in Limits.model_fields]:
        known = ", ".join(Limits.model_fields)
        raise UsageError(f"there is no limit {unknown[0]!r}; limits are {known}")
    try:
        return Limits.model_validate(named)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        wanted = "a time such as PT2H" if name == "wall_clock" else "a number above 0"
        raise UsageError(f"--limit {name}={named[name]}: {wanted} is wanted") from None


Goal = Annotated[str, typer.Argument(help="What to do, in plain words.", show_default=False)]
FollowUpId = Annotated[
    str | None,
    typer.Option(
        "--follow-up", metavar="ID:N", help="In place of a goal: what `mission show` lists."
    ),
]
Orders = Annotated[
    list[str] | None,
    typer.Option(
        "--order",
        metavar="TOOL[=N]",
        help="A consequence that you order yourself, repeatable: standing approvals cover it.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="K=V", help="A value the mission may use; repeatable."),
]
Budget = Annotated[
    tuple[str, str] | None,
    typer.Option("--budget", metavar="AMOUNT CUR", help="The most it may spend: 900 EUR."),
]
OwnId = Annotated[
    str | None, typer.Option("--id", help="Your own id: starting it twice starts it once.")
]
Policy = Annotated[
    Path | None,
    typer.Option(help="A YAML or JSON file: who confirms what, how long things may take."),
]
Requester = Annotated[
    str | None,
    typer.Option(help="Who asks; a policy may say that others approve. Default: your account."),
]
PlanFirst = Annotated[
    bool, typer.Option("--plan-first", help="Do nothing before somebody has approved its plan.")
]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", help="Refuse every call that would change something.")
]
Chosen = Annotated[
    OwnPlanner | None,
    typer.Option("--planner", help="Who plans it: chaining, by rules, or llm, a model."),
]
Tenant = Annotated[
    str, typer.Option(help="Whose work it is; while tasks wait, each tenant has its share.")
]
Urgency = Annotated[
    int | None,
    typer.Option("--priority", min=1, max=5, help="While tasks wait, 1 goes first, 5 last."),
]


_SHORT: Final = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_duration(text: str, option: str) -> timedelta:
    """`15m`, `6h`, `1d`, `2w`, or ISO 8601 such as `PT90M`."""
    short = _SHORT.fullmatch(text)
    try:
        if short is not None:
            length = timedelta(seconds=int(short[1]) * _SECONDS[short[2]])
        elif text.startswith("P"):
            length = TypeAdapter(timedelta).validate_python(text)
        else:
            raise ValueError(text)
    except (ValidationError, ValueError, OverflowError):
        length = timedelta(0)
    if length <= timedelta(0):
        raise UsageError(f"{option} {text!r}: write a time such as 15m, 6h, 1d, 2w or PT90M")
    return length
