"""Tokens, stems and verb classes."""

import pytest

from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    action_of,
    action_of_stem,
    content_stems,
    is_verb,
    stem,
    tokens,
    verb_named,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flight_search_offers", ["flight", "search", "offers"]),
        ("searchFlightOffers", ["search", "flight", "offers"]),
        ("HTTPServer.get", ["http", "server", "get"]),
        ("getURLsFor customerIDs, VPCs", ["get", "urls", "for", "customer", "ids", "vpcs"]),
        ("isAUser", ["is", "a", "user"]),
        ("GET_movie-movie_id", ["get", "movie", "movie", "id"]),
        ("What's the weather?", ["what", "the", "weather"]),
        ("e-mails and E-Mail, not e-book", ["emails", "and", "email", "not", "e", "book"]),
        ("", []),
    ],
)
def test_identifiers_and_prose_come_apart_alike(text: str, words: list[str]) -> None:
    """Humps, separators and clitics end a word; case is dropped."""
    assert tokens(text) == words


def test_stop_words_leave_and_inflections_meet() -> None:
    """What says nothing is left out; bookings, booked and booking are one word."""
    assert content_stems("please could you") == []
    assert len(set(content_stems("bookings booked booking"))) == 1


@pytest.mark.parametrize("text", ["VPC vpcs VPCs", "vm VMs", "URL urls URLs", "id IDs ids"])
def test_an_abbreviation_and_its_plural_have_one_stem(text: str) -> None:
    """The stemmer alone keeps the s of words without a vowel."""
    assert len(set(content_stems(text))) == 1


@pytest.mark.parametrize(
    ("verb", "following", "action"),
    [
        ("book", "a", Action.CREATE),
        ("file", "the", Action.CREATE),
        ("find", "", Action.SEARCH),
        ("look", "up", Action.SEARCH),
        ("check", "", Action.READ),
        ("undo", "", Action.CANCEL),
        ("message", "my", Action.SEND),
        ("tell", "Alice", Action.SEND),
        ("tell", "me", Action.READ),
        ("refund", "", Action.PAY),
        ("reschedule", "", Action.UPDATE),
        ("call", "off", Action.CANCEL),
        ("lisbon", "", Action.UNKNOWN),
    ],
)
def test_verbs_have_their_class(verb: str, following: str, action: Action) -> None:
    """The class of a verb, the particle after it considered."""
    assert action_of(verb, following) is action


def test_inflected_verbs_are_known_by_their_stem() -> None:
    """The "retrieves" of a summary is the verb retrieve; verbs like nouns are in the lexicon."""
    assert action_of_stem(stem("retrieves")) is Action.READ
    assert not is_verb("retrieves")
    assert [verb for verb in NOUN_LIKE_VERBS if not is_verb(verb)] == []
    assert SIDE_EFFECT_ACTIONS.isdisjoint({Action.READ, Action.SEARCH, Action.UNKNOWN})


@pytest.mark.parametrize(
    ("name", "summary", "verb"),
    [("post_members", "Add member", "add"), ("post_members", "Members", "post")],
)
def test_a_name_made_of_method_and_path_says_no_verb_where_the_summary_does(
    name: str, summary: str, verb: str
) -> None:
    """`post_members` is how HTTP puts it; people say what the summary says."""
    assert verb_named(name, summary, but="members", method="POST")[0] == verb
