"""The pure part of a hold: what stands, when a rollback has to begin, and which answers fit."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from orchestrator.core.limits import LimitReached, Limits
from orchestrator.core.record import JsonObject
from orchestrator.messages.hold import (
    FailedCall,
    Hold,
    answer_fields,
    hold_problems,
    raised_limit,
    rolls_back_at,
    standing_of,
    why_not_repaired,
)
from orchestrator.messages.question_field import answer_problems
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from tests.fakes import fake_obligation

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
REACHED = LimitReached(figure="tool_calls", used=Decimal(3), limit=Decimal(3), of="the mission")


def booked(number: int, **fields: object) -> Obligation:
    at = NOW - timedelta(minutes=number)
    given: dict[str, object] = {"state": ObligationState.COMMITTED, "committed_at": at}
    given |= {"written_at": at, "deadline": at}
    given |= {"cancel_max_attempts": 3, "cancel_timeout": timedelta(minutes=1)}
    return fake_obligation(f"m.1-a.{number}", **{**given, **fields})


@pytest.mark.parametrize(
    ("obligations", "hours", "minutes"),
    [
        ((booked(1), booked(2)), 1, 60),
        ((booked(30, cancel_window=HOUR), booked(5)), 1, 30 - 2 * 3),
        ((booked(30), booked(5, cancel_window=HOUR)), 2, 55 - 3),
    ],
    ids=["without a window the limit counts", "the oldest is cancelled last", "the newest first"],
)
def test_each_cancel_has_the_time_of_those_before_it(
    obligations: tuple[Obligation, ...], hours: int, minutes: int
) -> None:
    """A window leaves time for the attempts of what is cancelled before it, and for its own."""
    ledger = Ledger(obligations=obligations)

    assert rolls_back_at(ledger, NOW, hours * HOUR) == NOW + timedelta(minutes=minutes)


def test_standing_effects_are_those_of_the_rollback_in_its_order() -> None:
    """What is settled for good is not listed; ends of windows are."""
    gone = booked(9, state=ObligationState.CANCELLED)
    ledger = Ledger(obligations=(booked(30, cancel_window=HOUR), gone, booked(5)))
    standing = standing_of(ledger)

    assert [one.call_id for one in standing] == ["m.1-a.5", "m.1-a.30"]
    assert [one.until for one in standing] == [None, NOW + HOUR / 2]


@pytest.mark.parametrize(
    ("fields", "repairable"),
    [
        ({}, True),
        ({"state": ObligationState.INTENDED, "committed_at": None}, False),
        ({"cancel_sent": True}, False),
    ],
)
def test_what_is_in_doubt_is_not_repaired(fields: dict[str, object], repairable: bool) -> None:
    """A call or a cancel of unknown outcome is left to a rollback."""
    ledger = Ledger(obligations=(booked(1, **fields),))

    assert (not why_not_repaired(ledger)) is repairable


def test_a_hold_without_repair_offers_the_rest() -> None:
    """Only the decisions that are possible, and no field of a repair."""
    hold = Hold(error="no", leg_id="1-a", no_repair="in doubt", failed=FailedCall(tool="book"))
    fields = answer_fields(hold)

    assert list(fields) == ["decision"]
    assert answer_problems(fields, {"decision": "repair"})
    assert not answer_problems(fields, {"decision": "keep"})


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ({"decision": "repair", "arguments": {"seat": "14C"}}, True),
        ({"decision": "keep", "hint": "later"}, False),
        ({"decision": "repair", "arguments": {"passport": "X123"}}, False),
        ({"decision": "repair", "arguments": {"passport": "pii:passport"}}, True),
        ({"decision": "repair", "limit": "5"}, True),
        ({"decision": "repair", "limit": "3"}, False),
        ({"decision": "repair", "limit": "9"}, False),
        ({"decision": "repair", "limit": "lots"}, False),
    ],
)
def test_answers(values: JsonObject, fits: bool) -> None:
    """Fields of a repair belong to a repair, personal values to the vault, limits to the policy."""
    failed = FailedCall(tool="book", arguments={"passport": "pii:passport"})
    hold = Hold(error="no", leg_id="1-a", failed=failed, limit=REACHED, most=Limits(tool_calls=6))

    assert (not list(hold_problems(hold, values))) is fits


def test_a_time_is_raised_in_the_words_of_policies() -> None:
    reached = LimitReached(
        figure="wall_clock", used=Decimal(3600), limit=Decimal(3600), of="the mission"
    )

    assert raised_limit(Hold(error="", limit=reached), "PT2H") == Limits(wall_clock=2 * HOUR)
