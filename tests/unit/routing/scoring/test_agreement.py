"""Orders and the tools that carry them out."""

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.clause_reading import read_clause
from orchestrator.routing.scoring.agreement import effect_agreement


def test_cancelling_is_for_those_who_ask(shipped: Catalog) -> None:
    """A cancel tool agrees with cancelling and with nothing else."""
    cancel = make_card(shipped.tool("flight_cancel_booking"))
    book = make_card(shipped.tool("flight_book_offer"))
    asked, ordered = read_clause("cancel my flight"), read_clause("book a flight")

    assert effect_agreement(asked, cancel) == 1
    assert effect_agreement(ordered, cancel) == -1
    assert effect_agreement(ordered, book) == 1


def test_the_tools_own_verb_agrees(shipped: Catalog) -> None:
    """Restoring undoes a deletion: who says restore means it."""
    restore = make_card(shipped.tool("file_restore_file"))

    assert effect_agreement(read_clause("restore the file"), restore) == 1


def test_a_question_does_not_want_a_side_effect(shipped: Catalog) -> None:
    """Who only wants to know gets what only tells."""
    book = make_card(shipped.tool("flight_book_offer"))
    search = make_card(shipped.tool("flight_search_offers"))
    asked = read_clause("show me flights")

    assert effect_agreement(asked, book) < effect_agreement(asked, search)
