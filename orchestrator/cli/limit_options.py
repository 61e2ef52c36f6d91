"""`--limit WHAT=N`: what a mission may use up, as its start says."""

from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError

from orchestrator.cli.options import split_pair
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits

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
    """`["requests=40", "wall_clock=PT2H"]` as limits.

    Raises:
        UsageError: one of them is no limit, or says no amount above zero.
    """
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
