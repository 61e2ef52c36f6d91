"""The features of candidates, their sum, and whether any tool fits a request."""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.routing.cards.capability_card import CapabilityCard, make_card
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.clause_reading import read_clause, read_slots
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.request_scoring import ScoredRequest, merged
from orchestrator.routing.scoring.scorer import (
    CLOSER,
    FEATURES,
    CloserLook,
    Fitness,
    FittedRequest,
    Scored,
    Scorer,
    ScoreTable,
    Sought,
    effect_agreement,
)
from orchestrator.routing.selection import RouteContext
from orchestrator.routing.sparse_index import Floats


@pytest.fixture(scope="module")
def scorer(shipped: Catalog) -> Scorer:
    """A scorer over the shipped documents."""
    cards = [make_card(tool) for tool in shipped.tools.values()]
    return Scorer(cards, CatalogVocabulary(cards), RoutingProfile())


def table_for(scorer: Scorer, text: str, context: RouteContext | None = None) -> ScoreTable:
    """The table of a text."""
    slots = read_slots(text, now=None)
    return scorer.score_all([Scored(read_clause(text), slots, context or RouteContext())])[0]


def test_the_table_explains_the_score(scorer: Scorer) -> None:
    """Every feature of every candidate is there, and the fused score is their weighted sum."""
    table = table_for(scorer, "book a flight from Berlin to Lisbon")
    weights = RoutingProfile().weights

    assert tuple(table.features) == FEATURES
    expected = sum(getattr(weights, name) * table.features[name] for name in FEATURES)
    np.testing.assert_allclose(table.fused, expected)
    assert (np.diff(table.fused) <= 0).all()
    assert [set(row) for row in table.rows(2)] == [{"tool", "fused", *FEATURES}] * 2
    assert table.rows(1)[0]["tool"] == table.names[0]
    unknown = table_for(scorer, "xyzzy plugh")
    assert (unknown.names, unknown.strength) == ((), 0)


def test_the_agents_domain_is_a_preference_not_a_wall(scorer: Scorer) -> None:
    """Its tools rise; a request for another domain still finds that one's."""
    flights = RouteContext(domains=("flights",))
    tables = [table_for(scorer, "cancel my booking", c) for c in (None, flights)]
    neutral, preferred = (table.names[0] for table in tables)

    assert neutral != preferred == "flight_cancel_booking"
    other = table_for(scorer, "what is the weather in Oslo", flights)
    assert other.names[0] == "weather_get_forecast"


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


def scored(**scores: float) -> ScoreTable:
    """Candidates with their fused scores, best first."""
    return ScoreTable(tuple(scores), {}, np.array([*scores.values()]), strength=1.0)


def test_every_clause_gets_its_tool_near_the_top() -> None:
    """A tool of all clauses stands before one of a remark; one request has its own scores."""
    whole = scored(book=2.0, find=1.5, send=0.9)
    clauses = (scored(book=2.0, find=1.2), scored(send=0.5))
    remark = (scored(blog=1.0, joke=0.6), scored(joke=1.0, blog=0.1))

    assert [*merged(ScoredRequest((), (), whole, clauses))][:2] == ["book", "send"]
    of_both = merged(ScoredRequest((), (), scored(blog=1.0, joke=1.0), remark))
    assert next(iter(of_both)) == "joke"
    assert merged(ScoredRequest((), (), whole, ())) == {"book": 2.0, "find": 1.5, "send": 0.9}
    assert merged(ScoredRequest((), (), None, ())) == {}
