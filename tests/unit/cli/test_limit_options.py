"""`--limit WHAT=N` of `mission start`."""

from datetime import timedelta
from decimal import Decimal

import pytest

from orchestrator.cli.options import read_limits
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import Limits


def test_limits_are_read_by_name() -> None:
    """Whole numbers, an amount of USD, and a time as ISO 8601 writes it."""
    pairs = ["requests=40", "cost_usd=1.50", "wall_clock=PT2H30M", "total_tokens=200000"]

    assert read_limits(pairs) == Limits(
        requests=40,
        cost_usd=Decimal("1.50"),
        wall_clock=timedelta(hours=2, minutes=30),
        total_tokens=200_000,
    )
    assert read_limits([]) == Limits()


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("tokens=5", "there is no limit 'tokens'; limits are requests, input_tokens"),
        ("requests=0", "--limit requests=0: a number above 0 is wanted"),
        ("requests=many", "a number above 0 is wanted"),
        ("wall_clock=soon", "--limit wall_clock=soon: a time such as PT2H is wanted"),
        ("requests", "'requests' is not NAME=VALUE"),
    ],
)
def test_what_is_no_limit_is_refused(pair: str, told: str) -> None:
    """In one sentence that names what would do."""
    with pytest.raises(UsageError, match=told.replace("(", r"\(")):
        read_limits([pair])
