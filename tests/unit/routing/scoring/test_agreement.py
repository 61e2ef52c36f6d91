"""Orders and the tools that carry them out."""

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.routing.cards.capability_card import CapabilityCard, make_card
from orchestrator.routing.scoring.agreement import action_agreement, effect_agreement


def both(
    reading: ClauseReading, card: CapabilityCard, *, own_verb: bool = False
) -> tuple[float, float]:
    """The agreement of the action, and that of the effect."""
    return (
        action_agreement(reading, card, own_verb=own_verb),
        effect_agreement(reading, card, own_verb=own_verb),
    )


def test_cancelling_is_for_those_who_ask(shipped: Catalog) -> None:
    """A cancel tool agrees with cancelling and with nothing else."""
    cancel = make_card(shipped.tool("flight_cancel_booking"))
    book = make_card(shipped.tool("flight_book_offer"))
    asked, ordered = read_clause("cancel my flight"), read_clause("book a flight")

    assert both(asked, cancel) == (1, 1)
    assert both(ordered, cancel) == (-1, -1)
    assert both(ordered, book) == (1, 1)


def test_the_tools_own_verb_agrees(shipped: Catalog) -> None:
    """Restoring undoes a deletion: who says restore means it."""
    restore = make_card(shipped.tool("file_restore_file"))
    asked = read_clause("restore the file")

    assert both(asked, restore, own_verb=True) == (1, 1)


def test_a_question_does_not_want_a_side_effect(shipped: Catalog) -> None:
    """Who only wants to know gets what only tells."""
    book = make_card(shipped.tool("flight_book_offer"))
    search = make_card(shipped.tool("flight_search_offers"))
    asked = read_clause("show me flights")

    assert both(asked, book)[0] < both(asked, search)[0]
    assert both(asked, book)[1] < both(asked, search)[1]
