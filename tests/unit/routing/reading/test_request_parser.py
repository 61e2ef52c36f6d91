"""From a request to its intent frame, with one catalog's words."""

from datetime import datetime

import pytest

from orchestrator.language.intent import Action, IntentFrame
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext


def frame_for(text: str, router: Router, **context: str) -> IntentFrame:
    """The frame of a text, on a fixed day."""
    known = RouteContext(last_error=context.get("last_error"))
    return router.route(text, known, now=datetime(2026, 11, 21)).frame


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Book a flight to Lisbon", "flights"),
        ("reserve a hotel in Lisbon", "hotels"),
        ("what is the weather in Oslo tomorrow", "weather"),
        ("file the expense", "expenses"),
        ("xyzzy plugh", None),
    ],
)
def test_the_domain_comes_from_the_words_of_the_catalog(
    text: str, domain: str | None, router: Router
) -> None:
    """No domain is known to the code; unknown words belong to none."""
    assert frame_for(text, router).domain == domain


def test_side_effects_are_allowed_only_when_ordered(router: Router) -> None:
    """An imperative allows it; a question, a look and a forbidden order do not."""
    assert frame_for("Book a flight to Rome", router).side_effect_allowed
    assert frame_for("show flights and book a hotel", router).side_effect_allowed
    assert not frame_for("don't book yet, just show me flights", router).side_effect_allowed
    assert not frame_for("how can I cancel a booking?", router).side_effect_allowed


def test_the_action_is_that_of_the_first_clause_that_asks(router: Router) -> None:
    """What must not be done is not what is asked."""
    frame = frame_for("don't book yet, just show me flights", router)

    assert (frame.action, frame.verb) == (Action.SEARCH, "show")
    assert frame.clauses == ("don't book yet", "show me flights")


def test_a_failed_call_is_remembered(router: Router) -> None:
    """The last error of the step marks the frame."""
    assert frame_for("try again", router, last_error="timed out").previous_tool_error
    assert not frame_for("try again", router).previous_tool_error


@pytest.mark.parametrize("text", ["", "Book a flight", "??", "do " * 300])
def test_confidence_is_a_probability(text: str, router: Router) -> None:
    """In [0, 1], whatever is read."""
    assert 0 <= frame_for(text, router).confidence <= 1
