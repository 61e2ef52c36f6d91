"""Learning from records."""

import random

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.learning.calibration import calibrate
from orchestrator.routing.learning.trace import FrameTrace, RouteRecord, record_of, shadows_of
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Band


def record(
    scores: dict[str, float], called: str, *, confidence: float = 0.5, band: Band = "moderate"
) -> RouteRecord:
    """A record of a selection of two tools, and what was called."""
    return RouteRecord(
        frame=FrameTrace(confidence=confidence),
        band=band,
        reason="",
        k=2,
        tools=tuple(scores)[:2],
        catalog_size=10,
        scores=scores,
        called=((called,),),
    )


def test_a_tool_that_is_called_more_than_its_score_says_rises() -> None:
    """And one that is called less sinks; a tool in between stays about where it was."""
    records = [record({"loud": 1.0, "quiet": 0.9, "other": 0.2}, "quiet") for _ in range(40)]

    fitted = calibrate(records)

    assert fitted.profile.learned["quiet"] > 0 > fitted.profile.learned["loud"]
    assert fitted.first_right_before == 0
    assert fitted.first_right_after == 1


def test_noise_teaches_next_to_nothing() -> None:
    """Where scores say all there is to say, none is moved far."""
    random.seed(7)
    names = [f"tool_{i}" for i in range(30)]
    records = []
    for _ in range(40):
        chosen = random.sample(names, 5)
        scores = {name: 1.0 - i / 10 for i, name in enumerate(chosen)}
        records.append(record(scores, chosen[0]))

    silent = record({"a": 1.0}, "a").model_copy(update={"called": ()})
    unchanged = calibrate([silent])

    assert (unchanged.records, unchanged.profile) == (0, RoutingProfile())
    learned = calibrate(records).profile.learned
    assert max((abs(v) for v in learned.values()), default=0.0) < 0.1


def test_thresholds_follow_the_calls() -> None:
    """Where high confidence is always right, one tool suffices from there on."""
    sure = [record({"a": 1.0, "b": 0.9, "c": 0.8}, "a", confidence=0.5) for _ in range(30)]
    unsure = [record({"x": 1.0, "y": 0.9, "z": 0.8}, "z", confidence=0.45) for _ in range(10)]
    profile = RoutingProfile(crisp=0.9, sure=0.42)

    fitted = calibrate([*sure, *unsure], profile=profile)

    assert fitted.covered_after >= fitted.covered_before
    assert fitted.mean_k_after <= fitted.mean_k_before
    assert fitted.covered_after == 1


def test_the_router_uses_what_was_learned(shipped: Catalog) -> None:
    """A learned signal moves the tool in the ranking, and the explanation shows it."""
    text = "show me hotels in Lisbon"
    plain = Router(shipped)
    best, second = list(plain.route(text).scores)[:2]

    taught = Router(shipped, profile=RoutingProfile(learned={second: 2.0}))

    assert next(iter(taught.route(text).scores)) == second != best
    table = taught.explain(text).tables[0][1]
    assert table.features["learned"][0] == 2.0


def test_shadows_are_what_other_widths_forward(shipped: Catalog) -> None:
    """A fixed three are the best three; all the catalog casts no shadow."""
    selection = Router(shipped).route("show me hotels in Lisbon")
    ranked = tuple(selection.scores)

    shadows = shadows_of(selection)

    assert shadows["fixed_3"] == ranked[:3]
    assert shadows["wider"] == ranked[: selection.k + 1]
    assert shadows_of(selection.model_copy(update={"band": "fail_open"})) == {}


def test_after_a_fail_open_everything_was_forwarded(shipped: Catalog) -> None:
    """Whatever was called; the record does not list it all."""
    selection = Router(shipped, clock=iter([0.0, 9.0, 9.0]).__next__).route("find a hotel")

    kept = record_of(selection, called=(("hotel_search_rooms",),))

    assert kept.tools == ()
    assert kept.covered_by(kept.tools)
