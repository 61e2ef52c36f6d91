"""What a catalog's own words say."""

from collections.abc import Callable

from orchestrator.catalog.tool import Tool
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.vocabulary import CatalogVocabulary


def test_words_speak_for_the_domain_that_uses_them(make_tool: Callable[..., Tool]) -> None:
    """The fewer domains use a word, the more it counts; of unknown words no guess is made."""
    tools = [
        make_tool("ferry_find", "Find ferry bookings.", domain="ferries"),
        make_tool("ferry_book", "Board a ferry.", domain="ferries"),
        make_tool("spa_book", "Reserve a massage booking.", domain="spa"),
    ]
    words = CatalogVocabulary([make_card(tool) for tool in tools])

    assert words.best_domain(content_stems("a ferry please")) == "ferries"
    assert words.best_domain(content_stems("massage booking")) == "spa"
    assert words.best_domain(["xyzzy"]) is None
