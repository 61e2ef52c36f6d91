"""Whether any tool fits a request."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.routing.cards.capability_card import CapabilityCard, make_card
from orchestrator.routing.clause_reading import read_clause, read_slots
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.scorer import Fitness, FittedRequest, ScoreTable


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
def fitness(cards: Mapping[str, CapabilityCard]) -> Fitness:
    """Of those two, without vectors."""
    return Fitness(cards.values(), has_vectors=False)


@pytest.fixture
def asked() -> Callable[..., FittedRequest]:
    """A text that asks for something, by what scoring is said to have found."""

    def read(
        text: str, tools: tuple[str, ...] = ("calculate_loan",), **found: float
    ) -> FittedRequest:
        count = len(tools)
        table = ScoreTable(
            names=tools,
            features={name: np.full(count, found.get(name, 0.0)) for name in ("name", "near")},
            fused=np.ones(count),
            strength=1.0,
            weight=np.full(count, found.get("weight", 0.0)),
            cosines=np.full(count, found["cosine"]) if "cosine" in found else None,
        )
        known = bool(found.get("known", 1.0))
        return FittedRequest(read_clause(text), read_slots(text, now=None), table, known)

    return read


@pytest.mark.parametrize("sign", ["weight", "name", "near"])
def test_each_sign_speaks_for_a_tool(
    sign: str, fitness: Fitness, asked: Callable[..., FittedRequest]
) -> None:
    """The words' evidence, the name and words that meet."""
    assert fitness.best(asked("loan", **{sign: 1.0})) > fitness.best(asked("loan"))


@pytest.mark.parametrize("text", ["loan for my boat", "loan, please, of the other kind"])
def test_what_the_tool_lacks_speaks_against_it(
    text: str, fitness: Fitness, asked: Callable[..., FittedRequest]
) -> None:
    """However much else is there."""
    assert fitness.best(asked(text, weight=3.0)) < fitness.best(asked("loan", weight=3.0))


def test_a_number_that_a_tool_needs_and_nobody_said_speaks_against_it(
    fitness: Fitness, asked: Callable[..., FittedRequest]
) -> None:
    """A definition is no calculation; values are no words that a tool must have."""
    said, unsaid = (fitness.best(asked(t)) for t in ("the loan of 5000 euros", "the loan"))

    assert said > unsaid
    assert fitness.best(asked("the loan of 5000 euros in Lisbon")) == said
    assert fitness.best(asked("loan", ())) == 0


def test_only_the_cosines_that_were_fitted_count(
    cards: Mapping[str, CapabilityCard], asked: Callable[..., FittedRequest]
) -> None:
    """Those of another embedder lie elsewhere, and say nothing of whether a tool fits."""
    known, other = (Fitness(cards.values(), has_vectors=vectors) for vectors in (True, False))

    assert known.best(asked("loan", cosine=0.6)) > known.best(asked("loan", cosine=0.1))
    assert other.best(asked("loan", cosine=0.6)) == other.best(asked("loan", cosine=0.1))


@settings(deadline=None)
@given(st.lists(st.floats(0, 60), min_size=2, max_size=6))
def test_the_best_candidate_decides(weights: list[float]) -> None:
    """Looking up only those that may be the best finds the same as looking up all."""
    cards = {f"tool_{i}": make_card(_plain(f"tool_{i}")) for i in range(6)}
    fitness = Fitness(cards.values(), has_vectors=False)
    reading = read_clause("the third tool of all")

    def best(chosen: Sequence[int]) -> float:
        table = ScoreTable(
            names=tuple(f"tool_{i}" for i in chosen),
            features={name: np.zeros(len(chosen)) for name in ("name", "near")},
            fused=np.ones(len(chosen)),
            strength=1.0,
            weight=np.array([weights[i] for i in chosen]),
        )
        return fitness.best(FittedRequest(reading, (), table, is_known_order=True))

    rows = range(len(weights))
    assert best([*rows]) == max(best([row]) for row in rows)


def _plain(name: str) -> Tool:
    return Catalog.from_functions([{"name": name}]).tool(name)


def test_what_the_tools_do_scores_above_what_they_do_not(router: Router) -> None:
    """Requests that share words with tools, and that no tool can do; of no tools it is 0."""
    fit = ["find a hotel in Rome for two nights", "what is the weather in Oslo", "pay INV-204"]
    unfit = ["write a poem about the weather", "how many hotels are there in the world"]

    assert min(map(router.best_score, fit)) > max(map(router.best_score, unfit))
    assert router.best_score("zzyzx qwrtp") < 0.15
    assert router.best_score("what is the weather in Oslo", among=()) == 0
