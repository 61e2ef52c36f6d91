"""The features of a closer look: words where they stand, names, effects."""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.clause_reading import read_clause
from orchestrator.routing.scoring.scorer import CLOSER, CloserLook, Sought, effect_agreement
from orchestrator.routing.sparse_index import Floats


@pytest.fixture
def look(make_tool: Callable[..., Tool]) -> CloserLook:
    """Tools that share words in other places."""
    tools = [
        make_tool("bank_rates", "Exchange rate of the day."),
        make_tool("spa_find", "Rate a guest whom the hot baths allowed to leave for an exchange."),
        make_tool("taxi_ride", inputs={"driver": {"description": "who drives"}}),
        make_tool("list_files"),
    ]
    return CloserLook([make_card(tool) for tool in tools], lambda word: 1.0)


def read(
    look: CloserLook,
    text: str,
    values: Collection[str] = (),
    rows: Sequence[int] = (0, 1, 2),
) -> dict[str, Floats]:
    """The features of one text."""
    found = look.features([sought(text, values)], np.array(rows, dtype=np.intp))
    return dict(zip(CLOSER, found[:, 0], strict=True))


def sought(text: str, values: Collection[str] = ()) -> Sought:
    """A text in which every word weighs the same."""
    reading = read_clause(text)
    return Sought(reading, dict.fromkeys(reading.stems, 1.0), values)


def test_words_that_meet_are_told_from_words_apart(look: CloserLook) -> None:
    """Of two tools with both words one holds them together; a field never meets the next."""
    found = read(look, "the exchange rate please")

    assert found["near"][0] > 0 == found["near"][1]
    assert read(look, "rate my exchange")["near"][0] > 0
    assert read(look, "ride driver")["near"].tolist() == [0, 0, 0]


def test_a_verb_of_the_same_class_says_the_names_verb(look: CloserLook) -> None:
    """Enumerating files is listing them; reading them is not."""
    said = [read(look, f"{verb} the files", rows=(3,))["name"] for verb in ("enumerate", "extract")]

    assert [share.tolist() for share in said] == [[1.0], [0.5]]


def test_the_rows_asked_for_are_answered(look: CloserLook) -> None:
    """Without the others; and no rows and no words are answered too."""
    every, some = read(look, "exchange rate"), read(look, "exchange rate", rows=(0, 2))

    assert all(some[name].tolist() == every[name][[0, 2]].tolist() for name in CLOSER)
    nothing = read(look, "")
    assert not any(nothing[name].any() for name in CLOSER if name != "fit")
    assert all(len(found) == 0 for found in read(look, "rate", rows=()).values())


def test_texts_read_together_say_what_each_says_alone(look: CloserLook) -> None:
    """The words of one text are not taken for those of another."""
    rows = np.array([0, 1, 2])
    plain = map(sought, ("rate the exchange", "", "taxi driver please"))
    texts = [sought("exchange rate of a harbour", {"harbour"}), *plain]

    together = look.features(texts, rows)

    for number, text in enumerate(texts):
        alone = look.features([text], rows)[:, 0]
        np.testing.assert_allclose(together[:, number], alone, atol=1e-12)


def test_cancelling_is_for_those_who_ask(shipped: Catalog) -> None:
    """Restoring cancels a deletion, and who says restore means it."""
    restore = make_card(shipped.tool("file_restore_file"))
    cancel = make_card(shipped.tool("flight_cancel_booking"))
    book = make_card(shipped.tool("flight_book_offer"))
    asked, ordered = read_clause("cancel my flight"), read_clause("book a flight")

    assert effect_agreement(asked, cancel) == 1
    assert effect_agreement(ordered, cancel) == -1
    assert effect_agreement(ordered, book) == 1
    assert effect_agreement(read_clause("restore the file"), restore) == 1
