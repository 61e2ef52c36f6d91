"""What the router reads of a step: its words, or what it orders where it reads no such language."""

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import StepContext
from orchestrator.planning.route_context import route_text, with_ordered
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_selection

ENGLISH = "Reserve a table for two in Lisbon"
GERMAN = "Reserviere bitte einen Tisch für zwei Personen in Lissabon"


def _ordering(context: StepContext, goal: str, *tools: str) -> StepContext:
    orders = tuple(Order(tools=(tool,)) for tool in tools)
    return context.model_copy(update={"leg_goal": goal, "orders": orders})


def test_a_leg_in_another_language_is_routed_by_the_titles_of_its_orders(
    step_context: StepContext, shipped: Catalog
) -> None:
    """And by its own words where the router reads them, or where it orders nothing."""
    tool = "dining_reserve_table"
    assert route_text(_ordering(step_context, ENGLISH, tool), shipped) == ENGLISH
    assert route_text(_ordering(step_context, GERMAN), shipped) == GERMAN
    assert route_text(_ordering(step_context, GERMAN, tool), shipped) == shipped.tools[tool].title


def test_a_leg_is_shown_what_it_orders_and_what_feeds_that(
    step_context: StepContext, shipped: Catalog, router: Router
) -> None:
    """Whatever its words select; an English selection holds its orders already."""
    context = _ordering(step_context, GERMAN, "dining_reserve_table")
    selection = fake_selection("weather_get_forecast", catalog_size=93, band="crisp")

    shown = with_ordered(selection, context, router.feeders)

    assert shown.tools[:2] == ("weather_get_forecast", "dining_reserve_table")
    assert shown.prerequisites == ("dining_search_tables",)
    assert with_ordered(shown, context, router.feeders) == shown
    english = _ordering(step_context, ENGLISH, "dining_reserve_table")
    held = router.route(ENGLISH, RouteContext(), now=context.now)
    assert with_ordered(held, english, router.feeders) == held
