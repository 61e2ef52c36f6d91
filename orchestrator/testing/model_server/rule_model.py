"""A scripted model for any goal: it decides as the planner by rules would, from the prompt alone.

What a step is decided from stands in the request, nothing is kept between two: asked again after a
crash, by whichever worker, it answers alike.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import (
    AskUser,
    CallTool,
    DiscoverTools,
    Finish,
    GiveUp,
    LegPlan,
    StepContext,
    StepDecision,
)
from orchestrator.planning.route_context import route_context
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.testing.model_server.prompt_reading import (
    brief_of,
    catalog_names,
    context_of,
    wire_name,
)
from orchestrator.testing.model_server.received import ReceivedRequest
from orchestrator.testing.model_server.replies import ModelAnswer, call, say

_GENERALIST: Final = "generalist"
PLAN_MISSION: Final = "plan_mission"
_MOST_SEARCHES: Final = 3


class RuleModel:
    """Answers planners of ours.

    Example: `ModelServer(RuleModel(catalog))`
    """

    def __init__(self, catalog: Catalog, *, plans: Mapping[str, JsonObject] | None = None) -> None:
        """Take the tools, and how goals are split: what `plan_mission` gets, by the goal."""
        self._catalog = catalog
        self._plans = dict(plans or {})
        self._router = Router(catalog)
        self._planner = RulePlanner(lambda _: self._router)

    async def __call__(self, request: ReceivedRequest) -> ModelAnswer:
        """The next step of a leg, or the legs of a goal."""
        if PLAN_MISSION in request.tools:
            return await self._split(request)
        context = context_of(request, self._catalog)
        if context is None:
            return say("This is no step of a mission.")
        try:
            decision = await self._planner.plan_step(
                context, self._selection(context), self._catalog
            )
        except OrchestratorError as error:
            decision = GiveUp(reason=str(error))
        return self._answer(decision, request, context)

    async def _split(self, request: ReceivedRequest) -> ModelAnswer:
        """The legs that were given for the goal, else those that rules make of it."""
        brief = brief_of(request, self._catalog)
        if brief is None:
            return say("This is no goal of a mission.")
        if (given := self._plans.get(brief.goal)) is not None:
            return call(PLAN_MISSION, **given)
        try:
            plan = await self._planner.split_goal(brief, self._catalog, ())
        except OrchestratorError as error:
            return say(str(error))
        legs: list[JsonValue] = [_leg(leg, request) for leg in plan.legs]
        return call(PLAN_MISSION, legs=legs)

    def _selection(self, context: StepContext) -> Selection:
        """What fits the leg, and whatever the request shows beside it."""
        router = self._router.without_deadline()
        known = route_context(context)
        made = router.route(context.leg_goal, known, now=context.now)
        more = tuple(name for name in context.discovered if name not in made.tools)
        return made.model_copy(update={"tools": (*made.tools, *more)})

    def _answer(
        self, decision: StepDecision, request: ReceivedRequest, context: StepContext
    ) -> ModelAnswer:
        if isinstance(decision, CallTool):
            if decision.tool in catalog_names(request, self._catalog):
                return call(wire_name(decision.tool), **decision.arguments)
            decision = DiscoverTools(query=decision.tool.replace("_", " "))
        if isinstance(decision, DiscoverTools):
            return self._search(decision.query, context)
        if isinstance(decision, AskUser):
            fields = [_field(name, schema) for name, schema in decision.fields.items()]
            return call("user_ask", question=decision.question, fields=list(fields))
        if isinstance(decision, Finish):
            return call("part_done", summary=decision.summary or "Done.")
        reason = decision.reason if isinstance(decision, GiveUp) else type(decision).__name__
        return call("part_lost", reason=reason)

    def _search(self, query: str, context: StepContext) -> ModelAnswer:
        """A search, unless it was made before as often as is any use."""
        made = [seen for seen in context.observations if seen.outcome == "discovered"]
        if len(made) >= _MOST_SEARCHES:
            return call("part_lost", reason=f"no tool was found for {query}")
        return call("tools_discover", query=query)


def _leg(leg: LegPlan, request: ReceivedRequest) -> JsonObject:
    is_known = f"{leg.agent.name}:" in request.instructions
    return {
        "id": leg.leg_id,
        "goal": leg.goal,
        "agent": leg.agent.name if is_known else _GENERALIST,
        "serves": [*(leg.serves or (leg.goal,))],
        "orders": [
            {"tool": order.tools[0], "count": order.count, "each": order.each, "when": order.when}
            for order in leg.orders
        ],
        "needs": [*leg.depends_on],
    }


def _field(name: str, schema: JsonObject) -> JsonObject:
    kind = schema.get("type")
    told = kind if kind in ("string", "number", "integer", "boolean") else "string"
    return {"name": name, "type": told, "description": str(schema.get("description", ""))}
