"""Whatever providers answer, a step is decided."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.planning.planner import check_decision
from orchestrator.planning.rules.answers import read_items
from orchestrator.planning.rules.chaining import decide
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

NAMES = st.sampled_from(
    ["offers", "offer_id", "id", "price", "amount", "currency", "date", "start_date", "status"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["EUR", "2026-12-03", "2026-99-99", "2026-12-03T99:00:00Z", "x", ""])
)
BODIES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(found=BODIES, learned=BODIES)
def test_any_answer_leads_to_a_decision(
    found: Any,
    learned: Any,
    shipped: Catalog,
    router: Router,
    step_context: StepContext,
    refusal: Callable[[Callable[[], object]], Exception | None],
) -> None:
    """No body of a search or of a fact makes the planner raise or decide what cannot be done."""
    for goal in (
        "Book the cheapest flight from Berlin to Lisbon on 2026-12-03 under 90 EUR",
        "file the expense and add it to my calendar",
        "add it to my calendar",
    ):
        selection = router.route(goal, RouteContext(goal=goal), now=step_context.now)
        context = step_context.model_copy(
            update={
                "leg_goal": goal,
                "mission_goal": goal,
                "observations": (
                    Observation(
                        step=1, tool="flight_search_offers", outcome="succeeded", body=found
                    ),
                ),
                "facts": (
                    Fact(source="1-x.1", tool="car_book_offer", side_effect=True, body=learned),
                ),
            }
        )

        decision = decide(context, selection, shipped)

        check = partial(check_decision, decision, selection, context, shipped)
        assert refusal(check) is None, goal


def test_deeply_nested_answers_are_read_to_a_bounded_depth() -> None:
    """An answer that is nested without end costs a bounded effort."""
    body: Any = "x"
    for _ in range(500):
        body = [body]

    assert read_items(body) == []
