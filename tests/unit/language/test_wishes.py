"""Things that are ordered for oneself without a verb that orders."""

import pytest

from orchestrator.language.wishes import WishedThing, wish_of


@pytest.mark.parametrize(
    ("clause", "wish"),
    [
        ("i need a rental car in Faro from the 3rd", WishedThing(thing="car")),
        ("please get me a table for two, at eight", WishedThing(thing="table")),
        ("we'd like two hotel rooms in Pisa", WishedThing(thing="rooms")),
        ("could I have some thai food", WishedThing(thing="food")),
        ("Bella needs an appointment on Friday", WishedThing(thing="appointment")),
        ("my mother needs a room in Rome", WishedThing(thing="room")),
        ("fly me from Hamburg to Oslo", WishedThing(verb="fly")),
        ("I want to fly from Nice to Prague", WishedThing(verb="fly")),
        ("I need a list of flights to Rome", None),
        ("get me the weather in Oslo", None),
        ("I need to know when the shop opens", None),
        ("show me a hotel in Rome", None),
        ("tell me a joke", None),
        ("pick me a hotel in Rome", None),
        ("find me a flight to Rome", None),
        ("book me a table", None),
    ],
)
def test_a_wish_is_told_from_a_question(clause: str, wish: WishedThing | None) -> None:
    """A kind of thing is wished for; what is to be read, or done by its verb, is not."""
    assert wish_of(clause) == wish
