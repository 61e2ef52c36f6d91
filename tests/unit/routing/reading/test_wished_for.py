"""Wishes for what the tools of a catalog can take are orders."""

import pytest

from orchestrator.language.intent import Action
from orchestrator.routing.router import Router


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("get me a table for two in Lisbon", "reserve"),
        ("I need a room in Lisbon", "book"),
        ("fly me from Berlin to Lisbon", "book"),
        ("sort out a table for four", "reserve"),
        ("put me down for a table at eight", "reserve"),
    ],
)
def test_a_wish_for_what_can_be_taken_orders(router: Router, text: str, verb: str) -> None:
    """The tool that takes it says what is to be done."""
    frame = router.route(text).frame

    assert (frame.action, frame.verb, frame.side_effect_allowed) == (Action.CREATE, verb, True)


@pytest.mark.parametrize(
    "text",
    [
        "get me a list of files",
        "get me the weather in Lisbon",
        "find me a table for two",
        "I want a list of hotels in Lisbon",
        "look up a hotel in Lisbon",
        "get me a taxi in Lisbon",
    ],
)
def test_other_wishes_only_look(router: Router, text: str) -> None:
    """What is read, and what no tool takes by that name."""
    assert not router.route(text).frame.side_effect_allowed
