"""Whether any tool fits a request."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.catalog.tool import Tool
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.slots import read_slots
from orchestrator.routing.cards.capability_card import CapabilityCard, make_card
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.fitness import SIGNS, fitness, fitness_signs
from orchestrator.routing.scoring.scorer import ScoreTable


@pytest.fixture
def cards(make_tool: Callable[..., Tool]) -> Mapping[str, CapabilityCard]:
    """A loan calculator that wants a number, and a list of museums."""
    loan = make_tool(
        "calculate_loan",
        "Work out what a loan costs in a month",
        inputs={"sum": {"type": "number"}},
        required=("sum",),
    )
    museums = make_tool("list_museums", "Museums of a city with opening hours")
    return {tool.name: make_card(tool) for tool in (loan, museums)}


@pytest.fixture
def signs(cards: Mapping[str, CapabilityCard]) -> Callable[..., Floats]:
    """The signs of tools for a text, by what scoring is said to have found."""

    def read(text: str, weights: Mapping[str, float], **features: float) -> Floats:
        table = ScoreTable(
            names=("calculate_loan",),
            features={name: np.array([features.get(name, 0.0)]) for name in ("name", "near")},
            fused=np.ones(1),
            strength=1.0,
        )
        slots = read_slots(text, now=None)
        reading = read_clause(text)
        return fitness_signs(reading, slots, table=table, weights=weights, cards=cards)

    return read


def column(signs: Floats, name: str) -> list[float]:
    """One sign of each tool."""
    found: list[float] = signs[:, SIGNS.index(name)].tolist()
    return found


def test_the_most_promising_tool_comes_first(signs: Callable[..., Floats]) -> None:
    """Only tools that may fit have signs, one row each, by the weight of their evidence."""
    found = signs("loan", {"list_museums": 1.0, "calculate_loan": 4.0})

    assert found.shape == (2, len(SIGNS))
    assert column(found, "evidence") == sorted(column(found, "evidence"), reverse=True)
    assert len(signs("loan", {"list_museums": 1.0})) == 1
    assert signs("loan", {}).shape == (0, len(SIGNS))


def test_a_tool_outside_the_table_has_no_features(signs: Callable[..., Floats]) -> None:
    """What was not looked at closely stands by its evidence alone."""
    found = signs("loan", {"list_museums": 1.0, "calculate_loan": 4.0}, name=0.5, near=1.0)

    assert column(found, "name") == [0.25, 0.0]
    assert column(found, "near")[0] > column(found, "near")[1] == 0


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("calculate the loan", 0),
        ("calculate the loan for my boat", 1),
        ("calculate the loan in Lisbon", 0),
        ("calculate the loan of 5000 euros", 0),
    ],
)
def test_words_that_the_tool_has_nothing_for_count(
    text: str, missing: int, signs: Callable[..., Floats]
) -> None:
    """Places, sums and other values do not: no tool need know them."""
    found = signs(text, {"calculate_loan": 4.0})

    assert column(found, "unheld") == pytest.approx([np.log1p(missing)])


@pytest.mark.parametrize(
    ("text", "wanting"),
    [("what is a loan", 1.0), ("a loan of 5000 euros", 0.0), ("a loan, 12 months", 0.0)],
)
def test_a_number_that_is_wanted_and_not_said_counts(
    text: str, wanting: float, signs: Callable[..., Floats]
) -> None:
    """A definition is no calculation; the museums want no number whatever is said."""
    found = signs(text, {"calculate_loan": 4.0, "list_museums": 1.0})

    assert column(found, "number") == [wanting, 0.0]


@pytest.mark.parametrize("sign", SIGNS)
def test_each_sign_speaks_for_a_tool_or_against_it(sign: str) -> None:
    """Evidence, the name and words that meet speak for it; what it lacks against it."""
    plain = np.zeros((1, len(SIGNS)))
    more = plain.copy()
    more[0, SIGNS.index(sign)] = 1.0

    assert (fitness(more) > fitness(plain)) == (sign in ("evidence", "name", "near"))


@given(st.lists(st.floats(0, 60), min_size=len(SIGNS), max_size=len(SIGNS)))
def test_a_tool_more_never_makes_a_request_fit_less(row: list[float]) -> None:
    """The best tool decides; without any the chance is 0."""
    one = np.ones((1, len(SIGNS)))
    both = np.vstack([one, [row]])

    assert fitness(one[:0]) == 0
    assert 0 < fitness(one) <= fitness(both) <= 1


def test_what_the_tools_do_scores_above_what_they_do_not(router: Router) -> None:
    """Requests that share words with tools, and that no tool can do."""
    fit = [
        "find a hotel in Rome for two nights",
        "what is the weather in Oslo",
        "pay the invoice INV-204",
    ]
    unfit = [
        "write a poem about the weather",
        "how many hotels are there in the world",
        "who invented the invoice",
    ]

    assert min(map(router.best_score, fit)) > max(map(router.best_score, unfit))


def test_no_word_that_a_tool_has_is_no_chance(router: Router) -> None:
    """Neither among all tools nor among none."""
    assert router.best_score("zzyzx qwrtp") == 0
    assert router.best_score("what is the weather in Oslo", among=()) == 0
