"""Of several things those are taken that begin, or arrive, at the hours that were said."""

from datetime import UTC, datetime

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.hours_wanted import at_hours_wanted
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def flight(leaves: str, lands: str) -> Item:
    """One that leaves at one time and lands at another."""
    fields: JsonObject = {"departure_time": leaves, "arrival_time": lands, "flight": leaves}
    return Item(fields=fields, own=frozenset({"departure_time", "arrival_time"}))


EARLY, NOON, LATE = flight("06:45", "13:20"), flight("12:30", "16:10"), flight("23:10", "02:15")
FLIGHTS = [EARLY, NOON, LATE]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("in the morning", [EARLY]),
        ("in the afternoon", [NOON]),
        ("at night", [LATE]),
        ("after 12:00", [NOON, LATE]),
        ("before noon", [EARLY]),
        ("arriving before 15:00", [EARLY, LATE]),
        ("landing in Rome after 15:00", [NOON]),
        ("and be in Rome on Friday by 15:00", [EARLY, LATE]),
        ("not before 12:00", [NOON, LATE]),
        ("leaving later than 12:00", [NOON, LATE]),
        ("no later than noon", [EARLY]),
        ("landing at 15:00 at the latest", [EARLY, LATE]),
        ("not in the morning", FLIGHTS),
        ("at 8 in the evening", FLIGHTS),
        ("with breakfast", FLIGHTS),
        ("in Rome", FLIGHTS),
    ],
)
def test_things_at_other_hours_are_left_out(words: str, kept: list[Item]) -> None:
    """Where none begins then, none is left out: who decides is asked."""
    clause = read_utterance(f"Book a flight {words}", now=NOW)

    assert at_hours_wanted(FLIGHTS, clause) == kept


def test_moments_are_of_the_requesters_zone() -> None:
    """A moment tells its own offset, and what it is made at is none of its hours."""
    here = datetime(2026, 11, 23, 12).astimezone().replace(tzinfo=UTC)
    slot = {"start": "2026-12-01T11:30:00-05:00", "created_at": "2026-11-01T08:00:00Z"}
    item = Item(fields={**slot}, own=frozenset(slot))
    other = Item(fields={"start": "2026-12-01T09:00:00Z"}, own=frozenset({"start"}))

    kept = at_hours_wanted([item, other], read_utterance("one in the afternoon", now=here))

    assert kept == [item]
