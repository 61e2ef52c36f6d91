"""What a catalog's own words say."""

from collections.abc import Callable

from orchestrator.catalog.tool import Tool
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.vocabulary import CatalogVocabulary


def vocabulary(make_tool: Callable[..., Tool]) -> CatalogVocabulary:
    """Two domains that share the word "booking"."""
    tools = [
        make_tool("ferry_find", "Find ferry bookings.", domain="ferries"),
        make_tool("ferry_book", "Board a ferry.", domain="ferries"),
        make_tool("spa_book", "Reserve a massage booking.", domain="spa"),
    ]
    return CatalogVocabulary([make_card(tool) for tool in tools])


def test_words_speak_for_the_domain_that_uses_them(make_tool: Callable[..., Tool]) -> None:
    """The domain of a request is that of its words."""
    words = vocabulary(make_tool)

    assert words.best_domain(content_stems("a ferry please")) == "ferries"
    assert words.best_domain(content_stems("I want a massage")) == "spa"


def test_unknown_words_speak_for_none(make_tool: Callable[..., Tool]) -> None:
    """No guess is made."""
    assert vocabulary(make_tool).best_domain(["xyzzy"]) is None


def test_a_word_of_one_domain_outweighs_a_shared_one(make_tool: Callable[..., Tool]) -> None:
    """The fewer domains use a word, the more it counts."""
    words = vocabulary(make_tool)

    assert words.best_domain(content_stems("massage booking")) == "spa"
