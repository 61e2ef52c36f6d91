"""Tokens, stems, verb classes, inflected forms, synonyms, and the lists that they are read from."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from orchestrator import language
from orchestrator.language.inflection import participle, singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
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


@pytest.mark.parametrize("text", ["VPC vpcs VPCs", "URL urls URLs", "id IDs ids"])
def test_an_abbreviation_and_its_plural_have_one_stem(text: str) -> None:
    """The stemmer alone keeps the s of words without a vowel."""
    assert len(set(content_stems(text))) == 1


@pytest.mark.parametrize(
    ("verb", "following", "action"),
    [
        ("file", "the", Action.CREATE),
        ("look", "up", Action.SEARCH),
        ("check", "", Action.READ),
        ("undo", "", Action.CANCEL),
        ("message", "my", Action.SEND),
        ("tell", "me", Action.READ),
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


@pytest.mark.parametrize(
    ("verb", "done"),
    [("file", "filed"), ("carry", "carried"), ("stop", "stopped"), ("rent", "rented"),
     ("send", "sent"), ("play", "played"), ("cancel", "cancelled")],
)  # fmt: skip
def test_participles_are_formed_by_rule_or_list(verb: str, done: str) -> None:
    """Regular verbs need no list."""
    assert participle(verb) == done


@pytest.mark.parametrize(
    ("many", "one"),
    [("offers", "offer"), ("categories", "category"), ("boxes", "box"), ("status", "status")],
)
def test_singular_names_one_of_a_list(many: str, one: str) -> None:
    """Near enough for the names of lists."""
    assert singular(many) == one


@pytest.mark.parametrize(
    ("word", "other"), [("car", "vehicle"), ("paid", "pay"), ("wrote", "say"), ("bin", "trash")]
)
def test_words_of_a_group_stand_for_each_other(word: str, other: str) -> None:
    """Irregular forms of a verb among them."""
    assert stem(other) in synonyms_of(stem(word))
    assert stem(word) in synonyms_of(stem(other))


@pytest.mark.parametrize(
    ("kind", "wider"),
    [("pizza", "food"), ("hostel", "hotel"), ("cold", "weather"), ("spreadsheet", "file")],
)
def test_a_kind_of_thing_is_called_by_the_wider_word_and_not_the_other_way(
    kind: str, wider: str
) -> None:
    """Who asks for a pizza asks for food; who asks for food means no pizza."""
    assert stem(wider) in synonyms_of(stem(kind))
    assert stem(kind) not in synonyms_of(stem(wider))


def test_kinds_of_a_thing_do_not_stand_for_each_other() -> None:
    """Nobody who asks for sushi wants a burger."""
    assert "burger" not in synonyms_of("sushi")


FILES: Final = sorted((Path(language.__file__).parent / "data").rglob("*"))
LISTS: Final = [path for path in FILES if path.is_file()]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_file_says_what_it_is_and_is_read(path: Path) -> None:
    """It opens with a comment, holds lists by their keys, and some module reads it."""
    text = path.read_text(encoding="utf-8")
    modules = Path(language.__file__).parents[1].rglob("*.py")

    assert path.suffix == ".yaml"
    assert text.startswith("# ")
    assert isinstance(yaml.safe_load(text), dict)
    assert any(f'WordLists("{path.stem}")' in m.read_text(encoding="utf-8") for m in modules)


def test_every_word_stays_a_word() -> None:
    """What YAML takes for a truth value is text here."""
    lists = WordLists("words")

    assert {"on", "off", "no", "yes"} <= lists.word_set("stop_words")


def test_messages_read_no_word_lists() -> None:
    """Who only sends and receives missions, a workflow for one, does not load them."""
    code = (
        "import sys, orchestrator.messages, orchestrator.planning.models;"
        "import orchestrator.routing.selection;"
        "sys.exit('orchestrator.language.word_lists' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
