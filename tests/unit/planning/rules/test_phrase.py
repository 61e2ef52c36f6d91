"""What clauses speak of."""

from datetime import UTC, datetime

import pytest

from orchestrator.language.words import stem
from orchestrator.planning.rules.phrase import head_noun, names_said, object_phrase, told_text
from orchestrator.planning.rules.utterance import listen

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "generic", "topic_first", "phrase"),
    [
        ("message my team about it", "messages find channels", False, "team"),
        ("find the files about the budget", "files find", True, "budget"),
        ("move the budget file to the Archive folder", "files find", False, "budget"),
        ("share the latest with anna@example.com", "files", False, ""),
        ('reserve the book "Dune" for 3 weeks', "books search", False, "Dune"),
    ],
)
def test_object_phrase_is_what_a_search_would_take(
    text: str, generic: str, topic_first: bool, phrase: str
) -> None:
    """Verbs, articles, values and words that every answer bears are left out."""
    said = listen(text, now=NOW)

    assert object_phrase(said, generic=generic.split(), topic_first=topic_first) == phrase


def test_told_text_is_what_follows_that_or_a_colon() -> None:
    """What is to be said to somebody is spelled out in the clause, or it is not."""
    assert told_text(listen("tell my team that I am late", now=NOW)) == "I am late"
    assert told_text(listen('message Anna "See you soon"', now=NOW)) == "See you soon"
    assert told_text(listen("message my team about that", now=NOW)) == ""


def test_names_beside_a_noun_are_what_the_thing_is_called() -> None:
    """The word beside the noun names the thing; a place it is in does not."""
    said = listen("move it to the Archive folder in Lisbon", now=NOW)

    assert names_said(frozenset({stem("folder")}), said) == ["Archive"]
    assert names_said(frozenset({stem("file")}), said) == []


@pytest.mark.parametrize(
    ("text", "noun"),
    [("order sushi in Lisbon", "sushi"), ("move the budget file to X", "file"), ("add it", "")],
)
def test_head_noun_is_the_last_word_of_the_object(text: str, noun: str) -> None:
    """What stands before it only describes it."""
    assert head_noun(listen(text, now=NOW)) == noun
