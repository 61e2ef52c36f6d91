"""From a request to its intent frame, with one catalog's words."""

import pytest

from orchestrator.language.intent import Action
from orchestrator.routing.router import Router


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
    assert router.route(text).frame.domain == domain


def test_side_effects_are_allowed_only_when_ordered(router: Router) -> None:
    """An imperative allows it; a question, a look and a forbidden order do not."""
    assert router.route("Book a flight to Rome").frame.side_effect_allowed
    assert router.route("show flights and book a hotel").frame.side_effect_allowed
    assert not router.route("don't book yet, just show me flights").frame.side_effect_allowed
    assert not router.route("how can I cancel a booking?").frame.side_effect_allowed


def test_the_action_is_that_of_the_first_clause_that_asks(router: Router) -> None:
    """What must not be done is not what is asked."""
    frame = router.route("don't book yet, just show me flights").frame

    assert (frame.action, frame.verb) == (Action.SEARCH, "show")
    assert frame.clauses == ("don't book yet", "show me flights")
