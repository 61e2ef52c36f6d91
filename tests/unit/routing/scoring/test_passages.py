"""The words of promising cards, read in their order."""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.language.words import content_stems
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.passages import FEATURES, Passages, Sought


@pytest.fixture
def passages(make_tool: Callable[..., Tool]) -> Passages:
    """Three tools; the first two have the same words of the request, near each other or apart."""
    tools = [
        make_tool("ferry_find", "Find the exchange rate of a harbour."),
        make_tool("spa_find", "Rate a guest whom the hot baths allowed to leave for an exchange."),
        make_tool("taxi_ride", inputs={"driver": {"description": "who drives"}}),
    ]
    return Passages([make_card(tool) for tool in tools])


def read(
    passages: Passages,
    text: str,
    values: Collection[str] = (),
    rows: Sequence[int] = (0, 1, 2),
) -> dict[str, Floats]:
    """The features of one text."""
    found = passages.features([sought(text, values)], np.array(rows, dtype=np.intp))
    return dict(zip(FEATURES, found[:, 0], strict=True))


def sought(text: str, values: Collection[str] = ()) -> Sought:
    """A text in which every word weighs the same."""
    stems = content_stems(text)
    return Sought(stems, values, dict.fromkeys(stems, 1.0))


def test_words_that_meet_are_told_from_words_apart(passages: Passages) -> None:
    """Both tools hold both words; only one holds them together, and in that order."""
    found = read(passages, "the exchange rate please")

    assert found["coverage"].tolist() == [1, 1, 0]
    assert found["near"][0] > 0 == found["near"][1]
    assert found["order"][0] > 0 == found["order"][1]


def test_order_counts_only_where_it_is_the_same(passages: Passages) -> None:
    """Words the other way round are near each other all the same."""
    found = read(passages, "rate my exchange")

    assert found["near"][0] > 0
    assert found["order"][0] == 0


def test_a_field_never_meets_the_next(passages: Passages) -> None:
    """The last word of a name and the first of an input's are no pair."""
    assert read(passages, "ride driver")["near"].tolist() == [0, 0, 0]


def test_coverage_asks_for_no_values_and_held_for_names_and_descriptions(
    passages: Passages,
) -> None:
    """A city need not be known; what only an input says is not the tool's own."""
    found = read(passages, "driver harbour", values={"harbour"})

    assert found["coverage"].tolist() == [0, 0, 1]
    assert found["held"].tolist() == [0.5, 0, 0]


def test_the_rows_asked_for_are_answered(passages: Passages) -> None:
    """Without the others; and no rows and no words are answered too."""
    every, some = read(passages, "exchange rate"), read(passages, "exchange rate", rows=(0, 2))

    assert all(some[name].tolist() == every[name][[0, 2]].tolist() for name in FEATURES)
    assert all(not found.any() for found in read(passages, "").values())
    assert all(len(found) == 0 for found in read(passages, "rate", rows=()).values())


def test_texts_read_together_say_what_each_says_alone(passages: Passages) -> None:
    """The words of one text are not taken for those of another."""
    rows = np.array([0, 1, 2])
    texts = [
        sought("exchange rate of a harbour", {"harbour"}),
        sought("rate the exchange"),
        sought(""),
        sought("drive a taxi"),
        sought("taxi driver please"),
    ]

    together = passages.features(texts, rows)

    for number, text in enumerate(texts):
        alone = passages.features([text], rows)[:, 0]
        np.testing.assert_allclose(together[:, number], alone, atol=1e-12)
