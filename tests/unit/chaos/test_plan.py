"""Scripts and schedules: all of it follows from the seed."""

from typing import get_args

import pytest

from orchestrator.chaos.scenarios.chaos_faults import (
    ALL,
    SERVER_STRIKES,
    ChaosFault,
    format_faults,
    parse_faults,
)
from orchestrator.chaos.scenarios.plan import (
    MissionScript,
    fault_of,
    schedule_strikes,
    write_script,
)
from orchestrator.core.errors import UsageError
from orchestrator.sandbox.faults import OddAnswer

GOALS = ("book a trip", "reserve a table")


def scripts(seed: int, faults: frozenset[ChaosFault], count: int = 200) -> list[MissionScript]:
    return [write_script(seed, index, faults, GOALS) for index in range(count)]


def test_a_script_follows_from_seed_and_index() -> None:
    """Whatever was written before; without faults nothing happens; trouble is of one mission."""
    again = write_script(7, 42, ALL, GOALS)

    assert scripts(7, ALL)[42] == again
    assert scripts(8, ALL)[42] != again
    quiet = scripts(1, frozenset(), 50)
    assert all(not (s.rules or s.interruptions or s.rejected_card or s.ignored_card) for s in quiet)
    assert schedule_strikes(1, frozenset(), workers=2, lasts_s=600) == []
    for script in scripts(3, ALL):
        assert {rule.request_prefix for rule in script.rules} <= {f"{script.mission_id}."}


def test_every_fault_happens_to_some_mission() -> None:
    """Of 200 missions some meet each provider fault, some each interruption, some each decision."""
    written = scripts(1, ALL)
    kinds = {rule.kind for script in written for rule in script.rules}
    parts = {
        (interruption.kind, interruption.part)
        for script in written
        for interruption in script.interruptions
    }

    assert kinds >= {"drop_before", "drop_after", "status_before", "status_after", "rate_limit"}
    assert kinds >= {"latency", "duplicate", "refuse_cancel", "late_duplicate", "overcharge"}
    assert kinds >= {"breach_before", "breach_after", "gateway", "refuse_repeat"}
    assert kinds >= {"truncate", "cut_chunk", "moved_version"}
    forms = {rule.breach for script in written for rule in script.rules}
    assert forms >= {"html", "error", "no_reference", *get_args(OddAnswer)}
    assert any(script.is_rewound for script in written)
    assert parts == {
        ("cancel", "mission"),
        ("reset", "mission"),
        ("terminate", "mission"),
        ("terminate", "rollback"),
    }
    assert any(script.rejected_card is not None for script in written)
    assert any(script.ignored_card is not None for script in written)
    assert {script.goal for script in written} == set(GOALS)


def test_a_blow_on_a_request_comes_with_the_rule_that_holds_it() -> None:
    """A request is held on its way so that the interruption falls meanwhile."""
    held = [
        (script, interruption.moment.hold(script.mission_id))
        for script in scripts(5, frozenset({ChaosFault.CANCEL, ChaosFault.TERMINATE}))
        for interruption in script.interruptions
        if interruption.moment.request is not None
    ]

    assert held
    assert all(hold in script.rules for script, hold in held)


def test_strikes_follow_from_the_seed_and_hit_every_worker() -> None:
    """Workers die often and the server seldom, in the order of time."""
    machines = SERVER_STRIKES | {ChaosFault.KILL_WORKER}
    strikes = schedule_strikes(2, machines, workers=3, lasts_s=600)
    kills = [strike for strike in strikes if strike.fault is ChaosFault.KILL_WORKER]

    assert strikes == schedule_strikes(2, machines, workers=3, lasts_s=600)
    assert strikes == sorted(strikes, key=lambda strike: strike.at_s)
    assert {strike.worker for strike in kills} == {0, 1, 2}
    assert {strike.fault for strike in strikes} == machines
    assert len(kills) > 2 * (len(strikes) - len(kills))


def test_a_worker_is_silent_for_longer_than_it_may_be() -> None:
    """Paused or cut off, from the server or from the providers: it is missed, and then lives on."""
    chosen = frozenset({ChaosFault.PAUSE_WORKER, ChaosFault.PARTITION_WORKER})
    strikes = schedule_strikes(2, chosen, workers=3, lasts_s=600)

    assert {strike.fault for strike in strikes} == chosen
    assert all(strike.lasts_s > 6 for strike in strikes)
    assert {strike.part for strike in strikes} == {"server", "providers"}


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("all", ALL),
        ("none", frozenset()),
        (" 5xx, latency ,", frozenset({ChaosFault.BREAK, ChaosFault.LATENCY})),
    ],
)
def test_faults_are_read_and_written_as_a_list(text: str, faults: frozenset[ChaosFault]) -> None:
    assert parse_faults(text) == faults
    assert parse_faults(format_faults(faults)) == faults


@pytest.mark.parametrize("text", ["", "5xx,explode", "ALL"])
def test_an_unknown_fault_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(UsageError, match="drop-after"):
        parse_faults(text)


def test_a_rule_is_counted_as_the_fault_that_it_was_drawn_for() -> None:
    """Of every fault that providers make, beside what must go wrong for it to be met."""
    needed = {ChaosFault.REFUSE, ChaosFault.DROP_AFTER}
    for fault in ALL:
        for script in scripts(3, frozenset({fault})):
            drawn = [rule for rule in script.rules if rule.kind != "latency"]
            if not script.interruptions:
                assert {fault_of(rule) for rule in drawn} <= {fault} | needed
