"""Missions that a scripted model plans over the shipped documents: real split, steps and cards."""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from pydantic import JsonValue
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from orchestrator.activities.planning_activities import PlanningActivities, ThinkingActivities
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.pii import as_written
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.messages import names
from orchestrator.messages.mission import MissionResult
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, ToolCall
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.llm.splitting import ModelSplitter
from orchestrator.planning.models import StepContext
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii, MemoryTraces
from tests.shipped import shipped_catalog
from tests.workflow.conftest import Stage
from tests.world import FakeWorld

NOBODY: Final = MissionPolicy(
    confirmation=ConfirmationPolicy(
        standing=(StandingApproval(name="any", tools=("*",)),), unapproved_plans=True
    ),
    confirmation_expiry=timedelta(minutes=5),
    answer_expiry=timedelta(minutes=5),
    call_timeout=timedelta(seconds=10),
)
"""A standing approval for everything, and nobody who answers."""
VAULT: Final = {
    "traveler_id": "trv_1001",
    "traveler_name": "Sam Example",
    "traveler_phone": "+15550100",
    "traveler_email": "sam@example.com",
    "payment_method_id": "pm_8899",
}
OURS: Final = "client_reference"
AT_ONCE: Final = 4
_LOOKS_EACH_S: Final = 0.1
MODEL: Final = "scripted:model"
_PART: Final = re.compile(
    r"^Mission: (?P<mission>.*?)(?:\nYour part: (?P<part>.*?))?(?:\nOrders: .*?)?\nNow: ",
    re.M | re.S,
)

_STEP: Final = re.compile(r"^\d+[a-z]?\. \S+ \{.*\}: (?!dropped)", re.M)
Call = tuple[str, JsonObject]
"""A tool, or a meta tool, and its arguments."""


def order(tool: str, **more: JsonValue) -> JsonObject:
    """An order as a model writes it."""
    return {"tool": tool, **more}


@dataclass(frozen=True)
class Part:
    """A leg as a model plans it, and what it then calls; after the last call it ends."""

    calls: Sequence[Call]
    orders: Sequence[JsonObject] = ()
    quotes: Sequence[str] = ()
    """Of the goal; empty: all of it."""
    conditions: Sequence[JsonObject] = ()
    """What its ending says."""
    says: str = "Done."
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class Case:
    """A goal, and a model that plans and carries it out so."""

    goal: str
    parts: Sequence[Part]
    wrong: Sequence[str] = ()
    """Tools of which no call may be sent without a person; empty where all is right."""
    inputs: JsonObject = field(default_factory=dict)
    read_only: bool = False

    @property
    def expected(self) -> list[tuple[str, JsonObject]]:
        """The calls of the script that are tools of the catalog."""
        calls = [call for part in self.parts for call in part.calls]
        return [call for call in calls if call[0] != "tools_discover"]


class Script:
    """The model of many goals: the steps that a prompt shows say where its leg is."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = {case.goal: case for case in cases}
        self.shown: list[set[str]] = []
        """The tools of each step, by their names."""

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        text = "\n".join(
            str(part.content)
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        )
        if info.function_tools[0].name == "plan_mission":
            return _calling("plan_mission", self._plan(text))
        self.shown.append({tool.name for tool in info.function_tools})
        found = _PART.search(text)
        assert found is not None
        case = self._cases[found["mission"]]
        return _calling(*self._next(case, found["part"] or case.goal, len(_STEP.findall(text))))

    def _plan(self, text: str) -> JsonObject:
        goal = text.split("# Goal\n", 1)[1].split("\n\n# ", 1)[0]
        case = self._cases[goal]
        legs: list[JsonValue] = [
            {
                "id": f"leg-{number}",
                "quotes": [*part.quotes] or [case.goal],
                "orders": [*part.orders],
                "needs": [*part.needs],
            }
            for number, part in enumerate(case.parts, start=1)
        ]
        return {"legs": legs}

    def _next(self, case: Case, said: str, at: int) -> Call:
        part = next(p for p in case.parts if said == (" ".join(p.quotes) or case.goal))
        if at < len(part.calls):
            return part.calls[at]
        ending: JsonObject = {"summary": part.says}
        return "part_done", ending | ({"conditions": [*part.conditions]} if part.conditions else {})


def _calling(name: str, arguments: JsonObject) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(name, arguments)])


class ModelWorld(FakeWorld):
    """A world whose goals are split and whose steps are planned by a scripted model.

    Real are the splitter, the router, the planner over models, the checks of decisions and the
    cards; calls are answered as the documents say.
    """

    def __init__(self, client: Client, cases: Iterable[Case], *, by_rules: bool = False) -> None:
        catalog = shipped_catalog()
        super().__init__(client, catalog, pii=MemoryPii(VAULT), policy=NOBODY)
        self.checks_orders = True
        router = Router(catalog)
        router.rank("warm up")  # what is built once is built before activities are timed
        self.script = Script(cases)
        model = FunctionModel(self.script)
        rules: Any = RulePlanner(lambda _: router) if by_rules else _NoRules()
        planner = PerAgentPlanner(
            rules,
            lambda: LlmPlanner(default_model=MODEL, models=lambda _: model),
            default_model=None if by_rules else MODEL,
            splitter=lambda: ModelSplitter(lambda _: model),
        )
        self.received = Received(planner)
        self._planning = PlanningActivities(
            self.catalogs,
            lambda _: router,
            self.received,
            (),
            MemoryTraces(),
            authority=self._authority,
            kept=self._kept,
        )
        self._prepare._kept = self._kept
        self.prepared: list[PreparedCall] = []
        self._prepare.prepare_call = self._recorded(self._prepare.prepare_call)  # type: ignore[method-assign]
        self._thinking = ThinkingActivities(self._planning, self._prepare, self._kept)
        provider = Provider()
        for tool in catalog.tools.values():
            self.answer(tool.name, provider.playing(tool))

    def activities(self) -> list[Callable[..., Any]]:
        """Those of the world, with planning as a real worker has it."""
        real = (
            self._planning.split_goal,
            self._planning.discover_tools,
            self._thinking.think,
        )
        replaced = {names.SPLIT_GOAL, names.DISCOVER_TOOLS, names.THINK}
        kept = [one for one in super().activities() if _name_of(one) not in replaced]
        return [*kept, *real]

    def _recorded(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        async def recorded(message: Any) -> PreparedCall:
            made: PreparedCall = await prepare(message)
            self.prepared.append(made)
            return made

        return recorded

    def calls_of(self, mission_id: str) -> list[tuple[str, JsonObject]]:
        """The calls of a mission that went out, without references of our own."""
        sent = [c.message for c in self.attempts(names.INVOKE_TOOL)]
        return [
            (call.tool, {n: v for n, v in as_written(call.arguments).items() if n != OURS})
            for call in sent
            if isinstance(call, ToolCall) and call.mission_id == mission_id
        ]

    def waits(self, mission_id: str) -> bool:
        """True once a mission has a card that no standing approval covers: nobody decides it."""
        return any(
            one.card is not None
            and one.card.mission_id == mission_id
            and one.standing_approver is None
            for one in self.prepared
        )

    def complaints_of(self, mission_id: str, tools: Iterable[str]) -> list[str]:
        """What the cards of a mission's calls say is wrong."""
        cards = [one.card for one in self.prepared if one.card is not None]
        own = [card for card in cards if card.mission_id == mission_id and card.tool in {*tools}]
        return [text for card in own for text in (card.unordered, *card.warnings) if text]


async def run_all(
    env: WorkflowEnvironment,
    world: ModelWorld,
    cases: Sequence[Case],
    name: str,
    *,
    longest_s: float = 60.0,
) -> list[tuple[Case, MissionResult]]:
    """The results of the missions of all cases; one that waits for a person is cancelled.

    No time is skipped meanwhile: on a busy machine that would end what others are at.
    """
    stage, turns = Stage(env, world, name), asyncio.Semaphore(AT_ONCE)

    async def run(case: Case) -> tuple[Case, MissionResult]:
        async with turns:
            mission = await stage.start(
                goal=case.goal, inputs=case.inputs, policy=NOBODY, read_only=case.read_only
            )
            asked, clock = False, asyncio.get_running_loop().time
            until = clock() + longest_s
            while await mission.status() is WorkflowExecutionStatus.RUNNING:
                if not asked and (world.waits(mission.mission_id) or clock() > until):
                    asked = True
                    await mission.handle.cancel()
                await asyncio.sleep(_LOOKS_EACH_S)
            return case, await mission.snapshot()

    async with stage.worker():
        return list(await asyncio.gather(*map(run, cases)))


def _name_of(activity: Callable[..., Any]) -> str:
    definition = getattr(activity, "__temporal_activity_definition", None)
    return str(getattr(definition, "name", ""))


class Received:
    """A planner that notes the selection of each step which the one behind it is asked for."""

    def __init__(self, planner: PerAgentPlanner) -> None:
        self._planner = planner
        self.split_goal = planner.split_goal
        self.selections: dict[tuple[str, str, int], tuple[str, ...]] = {}

    async def plan_step(self, context: StepContext, selection: Selection, catalog: Catalog) -> Any:
        self.selections[context.mission_id, context.leg_id, context.step] = selection.tools
        return await self._planner.plan_step(context, selection, catalog)


class _NoRules:
    async def split_goal(self, *_: object) -> Any:
        raise AssertionError("rules split a goal for a model")

    async def plan_step(self, *_: object) -> Any:
        raise AssertionError("rules plan a step for a model")


class Provider:
    """Answers as the documents say: lists of two things that echo what was asked."""

    def __init__(self) -> None:
        self._things: dict[str, JsonObject] = {}
        self._made = 0

    def playing(self, tool: Tool) -> Callable[[ToolCall], Any]:
        """What a call of a tool comes to."""

        async def play(call: ToolCall) -> ToolOutcome:
            body = LISTED.get(tool.name) or self._body(tool, call.arguments)
            if callable(body):
                body = body(call.arguments)
            elif tool.is_side_effect:
                self._made += 1
                body = _with_own_id(body, tool, self._made)
            self._remember(body)
            status = 201 if tool.is_side_effect else 200
            return ToolOutcome(kind="succeeded", status=status, body=body)

        return play

    def _remember(self, body: JsonValue) -> None:
        for item in body if isinstance(body, list) else []:
            self._remember(item)
        if isinstance(body, dict):
            for value in body.values():
                if isinstance(value, str) and value[-1:].isdigit():
                    self._things[value] = body
                self._remember(value)

    def _body(self, tool: Tool, arguments: JsonObject) -> JsonObject:
        known: JsonObject = {}
        for value in arguments.values():
            known |= self._things.get(str(value), {})
        schema = tool.output_schema or {}
        made = _made(schema, schema, tool.name, {**known, **arguments})
        assert isinstance(made, dict)
        return made


def _with_own_id(body: JsonObject, tool: Tool, number: int) -> JsonObject:
    """Return an answer in which what the cancel names it by was given to nothing before."""
    read = tool.compensation.cancel.arguments.values() if tool.compensation is not None else ()
    prefix = "$response.body#/"
    ids = [str(one).removeprefix(prefix) for one in read if str(one).startswith(prefix)]
    return body | {name: f"{body[name]}_{number}" for name in ids}


def _made(schema: JsonObject, root: JsonObject, name: str, known: JsonObject) -> JsonValue:
    resolved = resolve(schema, root)
    if properties := properties_of(resolved):
        return {
            inner: known.get(inner) or _made(part, root, inner, known)
            for inner, part in properties.items()
            if inner in known or inner in resolved.get("required", [])  # type: ignore[operator]
        }
    if isinstance(items := resolved.get("items"), dict):
        return [_made(items, root, f"{name}{n}", known) for n in (1, 2)]
    for shown in ("enum", "examples"):
        if isinstance(values := resolved.get(shown), list) and values:
            return values[0]
    return 7 if resolved.get("type") in ("integer", "number") else f"{name}_7"


def _tables(asked: JsonObject) -> JsonValue:
    return {
        "tables": [
            {
                "table_slot_id": f"tbl_{n}",
                "restaurant_id": f"rst_{n}",
                "restaurant_name": name,
                "cuisine": "portuguese",
                "city": asked["city"],
                "date": asked["date"],
                "time": asked.get("time", "20:00"),
                "party_size": asked.get("party_size", 2),
                "price": {"amount": 10 * n, "currency": "EUR"},
            }
            for n, name in ((1, "Casa Velha"), (2, "Solar"))
        ]
    }


def _rooms(asked: JsonObject) -> JsonValue:
    return {
        "offers": [
            {
                "room_offer_id": f"rof_{n}",
                "hotel_id": f"htl_{n}",
                "hotel_name": f"Hotel {name}",
                **{key: asked[key] for key in ("city", "check_in", "check_out")},
                "guests": asked.get("guests", 1),
                "price": {"amount": 90 * n, "currency": "EUR"},
            }
            for n, name in ((1, "Sol"), (2, "Mar"))
        ]
    }


def _flights(asked: JsonObject) -> JsonValue:
    return {
        "offers": [
            {
                "offer_id": f"off_{n}",
                "airline": "Atlantic Air",
                "flight_number": f"AT48{n}",
                **{key: asked[key] for key in ("origin", "destination", "departure_date")},
                "passengers": asked.get("passengers", 1),
                "price": {"amount": 100 + n, "currency": "EUR"},
            }
            for n in (1, 2)
        ]
    }


def _invoices(asked: JsonObject) -> JsonValue:
    rows = [
        ("inv_118", "INV-2026-118", "Northwind Office Supplies", "overdue", 120),
        ("inv_119", "INV-2026-119", "Contoso", "overdue", 80),
        ("inv_120", "INV-2026-120", "Fabrikam", "open", 60),
    ]
    wanted = asked.get("invoice_status")
    return {
        "invoices": [
            {
                "invoice_id": one,
                "invoice_number": number,
                "vendor_name": vendor,
                "invoice_status": status,
                "total": {"amount": amount, "currency": "EUR"},
                "due_date": "2026-11-20",
            }
            for one, number, vendor, status, amount in rows
            if wanted in (None, status)
        ]
    }


def _forecast(asked: JsonObject) -> JsonValue:
    is_wet = asked["city"] == "Lisbon"
    return {
        "city": asked["city"],
        "date": asked.get("date", "2026-12-06"),
        "condition": "rain" if is_wet else "clear",
        "temperature_min_c": 8,
        "temperature_max_c": 15,
        "rain_chance_percent": 80 if is_wet else 5,
    }


LISTED: Final[dict[str, Any]] = {
    "dining_search_tables": _tables,
    "hotel_search_rooms": _rooms,
    "flight_search_offers": _flights,
    "payment_list_invoices": _invoices,
    "weather_get_forecast": _forecast,
    "message_find_channels": {
        "channels": [
            {"channel_id": "chn_7", "channel_name": "travel", "channel_kind": "project"},
            {"channel_id": "chn_8", "channel_name": "team Ana", "channel_kind": "team"},
        ]
    },
}
