"""The plan of faults, without a request."""

import pytest
from pydantic import ValidationError

from orchestrator.sandbox import FaultPlan, FaultRule


def kinds(plan: FaultPlan, operations: list[str]) -> list[str | None]:
    return [plan.draw(operation).name for operation in operations]


def test_times_limits_how_often_a_rule_strikes() -> None:
    """Up to `times` and from `after` on, strikes of others included; replaced, again."""
    plan = FaultPlan(rules=[FaultRule(operation_id="a", kind="drop_before", times=2)])

    assert kinds(plan, ["a", "b", "a", "a"]) == ["drop_before", None, "drop_before", None]
    assert plan.to_json()["rules"][0]["fired"] == 2
    rules = [FaultRule(kind="drop_before", times=1), FaultRule(kind="drop_after", times=1, after=2)]
    assert kinds(FaultPlan(rules=rules), ["a"] * 4) == ["drop_before", None, "drop_after", None]
    rule = FaultRule(kind="drop_before", times=1)
    plan = FaultPlan(rules=[rule])
    kinds(plan, ["a", "a"])
    plan.replace([rule])
    assert kinds(plan, ["a", "a"]) == ["drop_before", None]
    plan.clear()
    assert kinds(plan, ["a"]) == [None]


def test_same_seed_and_requests_meet_the_same_trouble() -> None:
    """Random draws are seeded, and requests for other operations leave their order."""
    rule = FaultRule(kind="status_before", probability=0.5)
    first, second, other = (kinds(FaultPlan(seed, [rule]), ["a"] * 40) for seed in (1, 1, 2))

    assert first == second
    assert first != other
    assert {None, "status_before"} == set(first)
    rules = [
        FaultRule(operation_id="a", kind="drop_before", probability=0.5),
        FaultRule(operation_id="b", kind="drop_after", probability=0.5),
    ]
    alone = kinds(FaultPlan(3, rules), ["b"] * 20)
    mixed = kinds(FaultPlan(3, rules), ["a", "b"] * 20)
    assert mixed[1::2] == alone


def test_first_rule_that_strikes_wins_and_latency_joins_it() -> None:
    """Delays add up, next to one other kind."""
    plan = FaultPlan(
        rules=[
            FaultRule(kind="latency", delay_s=0.5),
            FaultRule(kind="rate_limit", times=1),
            FaultRule(kind="drop_before"),
            FaultRule(kind="latency", delay_s=0.25),
        ]
    )
    trouble = plan.draw("a")

    assert (trouble.delay_s, trouble.name) == (0.75, "latency+rate_limit")
    assert plan.draw("a").name == "latency+drop_before"


def test_a_rule_can_meet_one_mission_or_one_role() -> None:
    """By the ids in requests, or only probes and cancels, whatever their names."""
    plan = FaultPlan(rules=[FaultRule(kind="drop_before", request_prefix="m1.", times=1)])
    ids = ["m12.flights.1", None, "m1.flights.1", "m1.flights.2"]
    struck = [plan.draw("a", request_id=request_id).name for request_id in ids]

    assert struck == [None, None, "drop_before", None]
    plan = FaultPlan(rules=[FaultRule(kind="gateway", status=404, meets="probe")])
    struck = [plan.draw("a", role=role).name for role in ("call", "cancel", "read", "probe")]
    assert struck == [None, None, None, "gateway"]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "explode"},
        {"kind": "latency", "probability": 1.5},
        {"kind": "status_after", "status": 200},
        {"kind": "drop_after", "times": 0},
        {"kind": "drop_after", "after": -1},
        {"kind": "drop_after", "operation": "a"},
    ],
)
def test_impossible_rule_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FaultRule.model_validate(fields)


def test_what_was_lost_is_refused_when_it_comes_again() -> None:
    """Only repetitions of the lost request are refused: its probe and other requests pass."""
    plan = FaultPlan(rules=[FaultRule(kind="refuse_repeat", status=422, times=1)])
    ids = ["m.1", "m.1.probe", "m.2", "m.1"]
    drawn = [plan.draw("a", request_id=request_id) for request_id in ids]

    assert [fault.name for fault in drawn] == ["refuse_repeat", None, None, "refuse_repeat"]
    assert [fault.is_repeat for fault in drawn] == [False, False, False, True]
    assert plan.to_json()["rules"][0]["fired"] == 1
