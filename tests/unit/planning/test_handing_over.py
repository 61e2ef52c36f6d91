"""Hand-overs: who may, to whom, what the model is shown, and what is ordered by them."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DecisionInvalid
from orchestrator.planning.llm.meta_tools import META_TOOLS, meta_tools
from orchestrator.planning.models import AgentProfile, Colleague, HandOver, StepContext
from orchestrator.planning.planner import check_decision
from orchestrator.planning.profile_faults import read_profiles
from orchestrator.planning.walls import colleagues_of, handed_over_orders
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_selection

FLYER = AgentProfile(name="flyer", domains=("flights",), hands_over_to=("hotelier",))
HOTELIER = AgentProfile(name="hotelier", domains=("hotels",), instructions="Be quiet.")
CLERK = AgentProfile(name="clerk", domains=("expenses",))
EVERYBODY = (FLYER, HOTELIER, CLERK)


@pytest.mark.parametrize(
    ("travelling", "own", "names"),
    [
        (FLYER, FLYER, ["hotelier"]),
        (FLYER.model_copy(update={"hands_over_to": ("*",)}), FLYER, ["hotelier"]),
        (FLYER, FLYER.model_copy(update={"hands_over_to": ("*",)}), ["hotelier"]),
        (FLYER, FLYER.model_copy(update={"hands_over_to": ()}), []),
        (HOTELIER, FLYER, []),
    ],
    ids=["as profiled", "travels wider", "profiled wider", "not profiled", "by default"],
)
def test_a_profile_says_to_whom(
    travelling: AgentProfile, own: AgentProfile, names: list[str]
) -> None:
    """What a leg brings from outside widens nothing."""
    found = colleagues_of(travelling, (own, HOTELIER, CLERK))

    assert [one.name for one in found] == names


def test_orders_go_along_inside_the_walls(shipped: Catalog) -> None:
    """An agent has none that it could not serve."""
    hotel, expense = Order(tools=("hotel_book_room",)), Order(tools=("expense_file_report",))

    assert handed_over_orders([hotel, expense], HOTELIER, shipped) == (hotel,)


def test_a_model_is_shown_it_where_there_is_somebody(step_context: StepContext) -> None:
    """With what each may use; else no such tool is there."""
    among = step_context.model_copy(update={"colleagues": colleagues_of(FLYER, EVERYBODY)})

    assert meta_tools(step_context) == META_TOOLS
    assert "hotelier: uses hotels. Be quiet." in meta_tools(among)[-1].description


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (HandOver(agent="clerk", goal="pay it"), "handed over to 'clerk', only to hotelier"),
        (HandOver(agent="hotelier", goal=" "), "a hand-over needs a goal"),
    ],
)
def test_what_cannot_be_handed_over_is_told(
    step_context: StepContext, wanted: HandOver, why: str
) -> None:
    """The planner decides again."""
    among = step_context.model_copy(update={"colleagues": (Colleague(name="hotelier"),)})

    with pytest.raises(DecisionInvalid, match=why):
        check_decision(wanted, fake_selection(catalog_size=0), among, Catalog({}, {}))


def test_a_file_that_names_nobody_is_told() -> None:
    """Before a worker begins."""
    _, (fault,) = read_profiles(
        [
            {"name": "flyer", "domains": ["flights"], "hands_over_to": ["hotelyer"]},
            {"name": "hotelier", "domains": ["hotels"]},
        ]
    )

    assert str(fault) == (
        "agent flyer: hands_over_to: there is no other agent 'hotelyer'; did you mean hotelier?"
    )
