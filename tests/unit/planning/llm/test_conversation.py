"""Conversations: what was said is kept, sent again unchanged, and taken by each provider."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pytest
from pydantic import JsonValue
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.core.errors import ObservationMissing
from orchestrator.planning.llm.model_asking import request_settings
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import AgentProfile, CallTool, CallTools, Observation, StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.routing.selection import Selection
from orchestrator.testing import fake_selection
from orchestrator.testing.model_server import (
    ModelAnswer,
    ModelCall,
    ModelServer,
    ReceivedRequest,
    calling,
)
from tests.unit.planning.llm.test_model_planner import CONTEXT, SELECTION

AGENT: Final = CONTEXT.agent
CITY: Final[dict[str, JsonValue]] = {"city": "Lisbon"}
CURRENT: Final = ToolCallPart("weather_get_current", CITY)


class Kept:
    """A store in memory."""

    def __init__(self) -> None:
        self.pieces: dict[tuple[str, str], bytes] = {}

    def put(self, mission_id: str, key: str, piece: bytes) -> None:
        self.pieces.setdefault((mission_id, key), piece)

    def get(self, mission_id: str, key: str) -> bytes:
        try:
            return self.pieces[mission_id, key]
        except KeyError:
            raise ObservationMissing(mission_id) from None


class Full(Kept):
    """A store on a disk that is full."""

    def put(self, mission_id: str, key: str, piece: bytes) -> None:
        raise OSError(28, "no space left on device")


class Talk:
    """A leg's steps planned by a model that answers from a script, by a worker each if wanted."""

    def __init__(self, catalog: Catalog, kept: Kept | None) -> None:
        self.catalog, self.kept = catalog, kept
        self.sent: list[list[ModelMessage]] = []
        self.tools: list[list[str]] = []
        self._answer: list[ModelResponsePart] = []
        self.planner = self.worker()

    def worker(self) -> LlmPlanner:
        """A planner that has held nothing in memory."""
        model = FunctionModel(self._answered)
        return LlmPlanner(models=lambda name: model, pieces=self.kept)

    async def _answered(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(list(messages))
        self.tools.append([tool.name for tool in info.function_tools])
        usage = RequestUsage(input_tokens=100, cache_read_tokens=64, output_tokens=7)
        return ModelResponse(parts=list(self._answer), usage=usage)

    async def step(
        self, context: StepContext, *answer: ModelResponsePart, selection: Selection = SELECTION
    ) -> PlannedStep:
        """One step, answered so."""
        self._answer = list(answer)
        return await self.planner.plan_step(context, selection, self.catalog)


@pytest.fixture
def talk(shipped: Catalog) -> Talk:
    """Over the example documents."""
    return Talk(shipped, Kept())


def _then(
    context: StepContext, planned: PlannedStep, *seen: Observation, **changes: Any
) -> StepContext:
    """The context of the next step."""
    return context.model_copy(
        update={
            "step": context.step + 1,
            "observations": (*context.observations, *seen),
            "conversation": planned.conversation or context.conversation,
            **changes,
        }
    )


def _seen(step: int, body: JsonValue = None, part: int = 0, **changes: Any) -> Observation:
    told = {"tool": "weather_get_current", "arguments": CITY, "outcome": "succeeded", **changes}
    return Observation.model_validate({"step": step, "part": part, "body": body, **told})


def _returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]


def _text(messages: list[ModelMessage]) -> str:
    texts = [p.content for p in messages[-1].parts if isinstance(p, UserPromptPart)]
    return "\n".join(map(str, texts))


def _plain(messages: list[ModelMessage]) -> Any:
    return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


async def test_a_step_is_told_behind_what_was_said(talk: Talk) -> None:
    """What was sent begins the next request as it was, and the answer came to its call."""
    first = await talk.step(CONTEXT, CURRENT)
    second = _then(CONTEXT, first, _seen(1, {"condition": "sunny"}))
    await talk.step(second, ToolCallPart("part_done", {"summary": "Sunny."}))

    assert _plain(talk.sent[1])[:1] == _plain(talk.sent[0])
    told = _returns(talk.sent[1])
    assert [one.tool_call_id for one in told] == [CURRENT.tool_call_id]
    assert str(told[0].content).startswith('1. weather_get_current {"city":"Lisbon"}: succeeded\n')
    assert _text(talk.sent[1]) == ""
    requests = [one for one in talk.sent[1] if isinstance(one, ModelRequest)]
    assert len({one.instructions for one in requests}) == 1


async def test_an_id_of_an_earlier_step_is_not_called_invented(talk: Talk) -> None:
    """The whole leg counts, not only the observations since the last exchange."""
    pays = {"invoice_id": "inv_7", "payment_method_id": "pii:payment_method_id"}
    listed: JsonValue = {"invoices": [{"invoice_id": "inv_7"}]}
    first = await talk.step(CONTEXT, CURRENT)
    second = _then(CONTEXT, first, _seen(1, listed, tool="payment_list_invoices"))
    read = await talk.step(second, CURRENT)
    third = _then(second, read, _seen(2, {"condition": "sunny"}))
    selection = fake_selection("payment_pay_invoice", catalog_size=93)
    await talk.step(third, ToolCallPart("payment_pay_invoice", pays), selection=selection)

    assert len(talk.sent) == 3


@pytest.mark.parametrize("same_worker", [True, False])
async def test_any_worker_goes_on_with_it(talk: Talk, same_worker: bool) -> None:
    """From the store: messages, reasoning with its signature, names of calls."""
    reasoned = ThinkingPart("It rains.", id="rs_1", signature="sealed", provider_name="openai")
    context = CONTEXT
    for n in range(1, 5):
        if not same_worker:
            talk.planner = talk.worker()
        planned = await talk.step(context, reasoned, ToolCallPart("weather_get_current", CITY))
        context = _then(context, planned, _seen(n, {"condition": str(n)}))

    assert [len(messages) for messages in talk.sent] == [1, 3, 5, 7]
    for shorter, longer in zip(talk.sent, talk.sent[1:], strict=False):
        assert _plain(longer)[: len(shorter)] == _plain(shorter)
    thoughts = [p for m in talk.sent[-1] for p in m.parts if isinstance(p, ThinkingPart)]
    assert thoughts == [reasoned] * 3


@pytest.mark.parametrize(
    "damage", [lambda piece: b"", lambda piece: b"{", lambda piece: piece[:-40] + b'"}']
)
async def test_what_is_missing_or_damaged_is_not_sent(
    talk: Talk, damage: Callable[[bytes], bytes]
) -> None:
    """Nothing of it is guessed at: the step begins anew, with all that the leg has seen."""
    first = await talk.step(CONTEXT, CURRENT)
    assert talk.kept is not None
    damaged = {key: damage(piece) for key, piece in talk.kept.pieces.items()}
    talk.kept.pieces = {key: piece for key, piece in damaged.items() if piece}
    talk.planner = talk.worker()
    second = await talk.step(_then(CONTEXT, first, _seen(1, {"condition": "sunny"})), CURRENT)

    assert len(talk.sent[1]) == 1
    assert '"condition":"sunny"' in _text(talk.sent[1])
    assert second.conversation


async def test_a_full_disk_costs_a_cache_and_nothing_else(shipped: Catalog) -> None:
    """The step is planned all the same."""
    talk = Talk(shipped, Full())
    planned = await talk.step(CONTEXT, CURRENT)

    assert planned.decision == CallTool(tool="weather_get_current", arguments=CITY)
    assert planned.conversation == ""


async def test_a_zombie_attempt_changes_nothing(talk: Talk) -> None:
    """Two attempts answer one step: the leg goes on from the one that its history names."""
    first = await talk.step(CONTEXT, CURRENT)
    await talk.step(CONTEXT, ToolCallPart("part_lost", {"reason": "a late answer"}))
    talk.planner = talk.worker()
    await talk.step(_then(CONTEXT, first, _seen(1)), CURRENT)

    assert "a late answer" not in json.dumps(_plain(talk.sent[-1]))
    assert _returns(talk.sent[-1])[0].tool_call_id == CURRENT.tool_call_id


async def test_another_model_is_told_from_the_beginning(talk: Talk) -> None:
    """What one has reasoned is nothing that another could read."""
    first = await talk.step(CONTEXT, CURRENT)
    other = AGENT.model_copy(update={"model": "fake:other"})
    await talk.step(_then(CONTEXT, first, _seen(1), agent=other), CURRENT)

    assert len(talk.sent[1]) == 1


async def test_each_of_several_calls_has_its_own_answer(talk: Talk) -> None:
    """In the order of the answer, those that were dropped as well."""
    a = ToolCallPart("weather_get_current", {"city": "Porto"})
    b = ToolCallPart("weather_get_current", {"city": "Faro"})
    unknown = ToolCallPart("fly", {})
    planned = await talk.step(CONTEXT, a, unknown, b)
    assert isinstance(planned.decision, CallTools)
    assert [one.tool for one in planned.dropped] == ["fly"]
    seen = (
        _seen(1, {"condition": "rain"}, arguments={"city": "Porto"}),
        _seen(1, {"condition": "sun"}, part=1, arguments={"city": "Faro"}),
        _seen(1, part=2, tool="fly", arguments={}, outcome="dropped", error=planned.dropped[0].why),
    )
    await talk.step(_then(CONTEXT, planned, *seen), CURRENT)

    told = _returns(talk.sent[1])
    assert [one.tool_call_id for one in told] == [c.tool_call_id for c in (a, unknown, b)]
    assert '"condition":"rain"' in str(told[0].content)
    assert str(told[0].content).startswith("1. ")
    assert "not among the" in str(told[1].content)
    assert str(told[2].content).startswith("1b. ")


async def test_an_amended_call_answers_the_call_that_was_amended(talk: Talk) -> None:
    """Its arguments are others then."""
    planned = await talk.step(CONTEXT, CURRENT)
    await talk.step(_then(CONTEXT, planned, _seen(1, arguments={"city": "Porto"})), CURRENT)

    (told,) = _returns(talk.sent[1])
    assert '{"city":"Porto"}' in str(told.content)


async def test_what_else_is_new_stands_behind_the_answers(talk: Talk) -> None:
    """Values that the user gave, what is left of the budget; nothing that was told before."""
    ask = ToolCallPart("user_ask", {"question": "When?", "fields": [{"name": "day"}]})
    budget = Money(amount=Decimal(90), currency="EUR")
    known = {"inputs": {"city": "Lisbon"}, "budget_left": budget}
    context = CONTEXT.model_copy(update=known)
    planned = await talk.step(context, ask)
    given = {"city": "Lisbon", "day": "2026-12-01"}
    less = Money(amount=Decimal(50), currency="EUR")
    await talk.step(_then(context, planned, inputs=given, budget_left=less), CURRENT)

    assert "The user has answered" in str(_returns(talk.sent[1])[0].content)
    assert _text(talk.sent[1]) == '# Given\n{"day":"2026-12-01"}\n\nLeft of the budget: 50.00 EUR'


async def test_steps_without_a_turn_are_told_all_the_same(talk: Talk) -> None:
    """Such as one that was spent on answers of no use."""
    planned = await talk.step(CONTEXT, CURRENT)
    context = _then(CONTEXT, planned, _seen(1))
    spent = _seen(2, tool="answer", arguments={}, outcome="refused", error="no JSON object")
    await talk.step(_then(context, planned, spent), CURRENT)

    assert _text(talk.sent[1]) == "# Steps so far\n2. answer {}: refused, no JSON object"


async def test_a_conversation_that_is_too_long_is_begun_anew_once_in_many_steps(talk: Talk) -> None:
    """From the newest answer whole and the older ones in short, with room for more behind it."""
    small = AGENT.model_copy(update={"context_tokens": 8_000, "domains": ("weather",)})
    context = CONTEXT.model_copy(update={"agent": small})
    body: dict[str, JsonValue] = {"condition": "x" * 1_500}
    for n in range(1, 41):
        planned = await talk.step(context, ToolCallPart("weather_get_current", CITY))
        context = _then(context, planned, _seen(n, {**body, "city": f"city-{n}"}))

    begun = [at for at, messages in enumerate(talk.sent) if len(messages) == 1]
    assert 2 <= len(begun) <= 10
    text = _text(talk.sent[begun[-1]])
    last = begun[-1]
    assert "x" * 1_500 in text
    assert f"{last}. weather_get_current" in text
    assert len(text) < 8_000 / 0.3


async def test_tool_lists_that_grow_keep_what_was_shown(talk: Talk) -> None:
    """In its order, so that what is new stands at the end; and it can be called."""
    growing = AGENT.model_copy(update={"tool_list": "growing", "domains": ("weather",)})
    context = CONTEXT.model_copy(update={"agent": growing})
    first = await talk.step(context, CURRENT)
    other = fake_selection("weather_get_forecast", catalog_size=93)
    second = _then(context, first, _seen(1), forwarded=("weather_get_current",))
    planned = await talk.step(second, ToolCallPart("weather_get_current", CITY), selection=other)

    assert talk.tools[1][: len(talk.tools[0])] == talk.tools[0]
    assert "weather_get_forecast" in talk.tools[1]
    assert isinstance(planned.decision, CallTool)


async def test_what_the_wall_has_closed_since_is_not_shown_again(talk: Talk) -> None:
    """Whatever a list held before."""
    growing = AGENT.model_copy(update={"tool_list": "growing"})
    context = CONTEXT.model_copy(update={"agent": growing})
    first = await talk.step(context, CURRENT)
    walled = growing.model_copy(update={"domains": ("messages",)})
    later = _then(context, first, _seen(1), agent=walled, forwarded=("weather_get_current",))
    ended = ToolCallPart("part_lost", {"reason": "no tool"})
    await talk.step(later, ended, selection=fake_selection(catalog_size=93))

    assert "weather_get_current" not in talk.tools[1]


_STEPS: Final = 4


def _two_cities(asked: ReceivedRequest) -> ModelAnswer:
    """A thought, and two calls at once."""
    cities = (f"Porto-{asked.number}", f"Faro-{asked.number}")
    calls = (ModelCall("weather_get_current", {"city": city}) for city in cities)
    return calling(*calls, thought=f"thought number {asked.number}")


@pytest.mark.parametrize(
    "model", ["openai:gpt-5", "openai-chat:gpt-5", "anthropic:claude-sonnet-5"]
)
async def test_providers_take_a_conversation_that_another_worker_began(
    shipped: Catalog, model: str
) -> None:
    """With several calls in each answer; what was sent before is read from the cache."""
    agent = AgentProfile(name="weather", model=model, domains=("weather",))
    context = CONTEXT.model_copy(update={"agent": agent})
    kept, cached = Kept(), []
    async with ModelServer(_two_cities) as server:
        for step in range(1, _STEPS + 1):
            planner = LlmPlanner(
                models=server.model, pieces=kept, settings=request_settings(thinking="medium")
            )
            planned = await planner.plan_step(context, SELECTION, shipped)
            assert isinstance(planned.decision, CallTools)
            assert planned.usage is not None
            cached.append(planned.usage.cached_tokens)
            seen = tuple(
                Observation(
                    step=step,
                    part=part,
                    tool=call.tool,
                    arguments=call.arguments,
                    outcome="succeeded",
                    body={"condition": "sunny " * 100},
                )
                for part, call in enumerate(planned.decision.calls)
            )
            context = context.model_copy(
                update={
                    "step": step + 1,
                    "observations": (*context.observations, *seen),
                    "conversation": planned.conversation,
                }
            )
        last = json.dumps(server.requests[-1].body)

    assert server.refused == []
    for number in range(1, _STEPS):
        assert f"Porto-{number}" in last
        assert f"Faro-{number}" in last
    if model != "openai-chat:gpt-5":  # which has no words for reasoning
        assert "thought number 1" in last or "encrypted_content" in last
    assert cached[-1] > 0
