"""Features per candidate, and their sum."""

import numpy as np
import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.vocabulary import CatalogVocabulary
from orchestrator.routing.clause_reading import read_clause, read_slots
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.scorer import FEATURES, Scored, Scorer, ScoreTable
from orchestrator.routing.selection import RouteContext


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


@pytest.mark.parametrize("count", [1, 40])
def test_every_card_of_a_small_catalog_is_a_candidate(count: int) -> None:
    """Whoever sends a few tools wants each ranked, whatever words it shares with the request."""
    functions = [{"name": f"tool_{i}", "description": "Does a thing."} for i in range(count)]

    assert len(Router(Catalog.from_functions(functions)).rank("xyzzy plugh")) == count


def test_the_agents_domain_is_a_preference_not_a_wall(scorer: Scorer) -> None:
    """Its tools rise; a request for another domain still finds that one's."""
    flights = RouteContext(domains=("flights",))
    tables = [table_for(scorer, "cancel my booking", c) for c in (None, flights)]
    neutral, preferred = (table.names[0] for table in tables)

    assert neutral != preferred == "flight_cancel_booking"
    other = table_for(scorer, "what is the weather in Oslo", flights)
    assert other.names[0] == "weather_get_forecast"
