"""Turns of phrase that order or ask without the verb for it."""

import pytest

from orchestrator.language.clause_reading import read_clause
from orchestrator.language.idioms import idioms_in
from orchestrator.language.intent import Action
from orchestrator.language.words import stem


@pytest.mark.parametrize(
    ("clause", "verb", "objects"),
    [
        ("I no longer need the car", "cancel", ("car",)),
        ("we won't need the room after all", "cancel", ("room",)),
        ("I don\u2019t want the table any more", "cancel", ("table",)),
        ("we can't go to the dinner any more", "cancel", ()),
        ("I changed my mind about the curry", "cancel", ("curry",)),
        ("I want my money back", "refund", ()),
        ("get me the 30 EUR back from them", "refund", ()),
        ("don't let me forget the milk", "remind", ("milk",)),
    ],
)
def test_an_order_is_read_without_its_verb(
    clause: str, verb: str, objects: tuple[str, ...]
) -> None:
    """And is no prohibition, whatever is negated in it."""
    reading = read_clause(clause)

    assert (reading.verb, reading.objects) == (verb, objects)
    assert stem(verb) in reading.stems
    assert reading.asks_side_effect


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("who can see the budget file", {"access", "share"}),
        ("do I have anything on Friday", {"calendar", "event"}),
        ("what have we got planned for tomorrow", {"calendar", "event"}),
        ("what did the team write", {"say"}),
        ("when does the museum close", {"open", "hour"}),
        ("should I take a coat to Bergen", {"weather"}),
        ("where is the 3pm with Dana", {"meeting"}),
        ("can I get my money back for this", {"refund"}),
        ("when can we meet", {"free", "time"}),
        ("let me know whenever it storms", {"subscribe", "alert"}),
    ],
)
def test_a_question_is_told_what_it_is_about(clause: str, words: set[str]) -> None:
    """In words that say the same; it orders nothing."""
    reading = read_clause(clause)

    assert {stem(word) for word in words} <= set(reading.stems)
    assert not reading.asks_side_effect


@pytest.mark.parametrize("clause", ["I don't want my money back", "never give them the fee back"])
def test_a_forbidden_idiom_is_no_order(clause: str) -> None:
    """Negation before it is read as before a verb."""
    assert idioms_in(clause)
    assert not read_clause(clause).asks_side_effect


@pytest.mark.parametrize(
    "clause",
    [
        "I don't need a hotel",
        "I won't be late after all",
        "I no longer want to cancel the room",
        "I have not changed my mind about the trip",
        "open the last file",
        "say hello to everyone who is there",
        "the more the better",
        "do I have anything to declare",
        "find the jobs that were posted within the last week",
        "call me back at noon",
    ],
)
def test_words_of_an_idiom_alone_are_none(clause: str) -> None:
    """Only the whole turn of phrase is one."""
    assert idioms_in(clause) == ()
    assert read_clause(clause).action is not Action.PAY


def test_a_long_text_is_read_in_bounded_time() -> None:
    """Nothing is searched for further than a sentence goes."""
    assert idioms_in("want " * 20_000 + "back") == ()
