"""The planner over a model, through pydantic-ai's direct API: one request, one decision.

Needs the extra `llm`. The model sees the tools of the step as its own tools; its calls are parsed
to a decision and checked like any other planner's.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    ModelError,
    ModelRefused,
    ModelUnusable,
    UsageError,
)
from orchestrator.planning.llm.conversation import Conversations, Pieces
from orchestrator.planning.llm.corrections import circling, correction_of, with_remedies
from orchestrator.planning.llm.model_asking import CAUSES, Models
from orchestrator.planning.llm.model_providers import model_problem
from orchestrator.planning.llm.model_step import ModelStep, complaint, shown_tools, since
from orchestrator.planning.llm.offered_tools import offered_names
from orchestrator.planning.llm.prompt import Section, block_of, rendered
from orchestrator.planning.metering import AnswerUnusable
from orchestrator.planning.models import StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.projection import shown_to_models
from orchestrator.routing.selection import Selection

_MOST_LEGS: Final = 256
"""Size of the cache of legs' rendered sections."""
_SET_ONE: Final = "set ORCHESTRATOR_PLANNER_MODEL=provider:model"


class LlmPlanner:
    """Decides steps by asking a model.

    Between two steps it caches rendered prompt sections and conversations: another worker that
    takes the next step renders the sections again, and reads the conversations from the store.
    """

    def __init__(
        self,
        *,
        default_model: str | None = None,
        models: Callable[[str], Model] = infer_model,
        settings: ModelSettings | None = None,
        pieces: Pieces | None = None,
    ) -> None:
        """Take the source of models, and the store of their conversations.

        Args:
            default_model: `provider:model` for agents whose profile names none.
            models: returns a model by its name; the default reads the provider's key from the
                environment.
            settings: the settings of each request, from `request_settings`.
            pieces: the store of conversations; None: each step starts a conversation.

        Raises:
            ModelUnusable: the default model does not exist, or its provider is not set up here.
        """
        self._default = default_model
        self._models = Models(models, settings)
        self._conversations = Conversations(pieces)
        self._rendered: dict[tuple[str, str], dict[str, Section]] = {}
        if default_model is not None:
            self._models.check(default_model)

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """Return the next step of one leg, and the usage of the request.

        An invalid answer is sent back to the model once.

        Raises:
            AnswerUnusable: the second answer is invalid too.
            ModelUnavailable: the model did not answer; a later attempt may reach it.
            ModelRefused: the provider does not serve the request, or is not set up here.
        """
        model = context.agent.model or self._default
        if model is None:
            raise ModelRefused("", "none is set", _SET_ONE)
        step = await self._step(context, selection, catalog, model=model)
        messages = step.messages
        first = await self._try(model, messages, step)
        if first.planned is not None:
            corrected = await self._corrected(first, step, context, model)
            return await self._kept(corrected, step, model)
        if context.allowance is not None and context.allowance.is_spent_by(first.usage):
            raise AnswerUnusable(first.wrong, first.usage)
        messages += first.complaint()
        try:
            second = await self._try(model, messages, step)
        except ModelError as error:
            # The first answer uses up the step, and its usage counts; the next step meets the
            # error.
            raise AnswerUnusable(first.wrong, first.usage) from error
        usage = first.usage.plus(second.usage)
        if second.planned is None:
            raise AnswerUnusable(second.wrong, usage)
        planned = await self._kept(second, step, model)
        return planned.model_copy(update={"usage": usage})

    async def _corrected(
        self, first: "_Tried", step: ModelStep, context: StepContext, model: str
    ) -> "_Tried":
        """Return the decision, after one correction if something speaks against it.

        If the model insists, or its second answer is unusable, its first answer stands, unless it
        has insisted too often on an effect that stands.
        """
        assert first.planned is not None
        chosen, usage = first.planned, first.usage
        wrong = correction_of(chosen.decision, context, step.catalog, step.tools)
        if not wrong or (context.allowance is not None and context.allowance.is_spent_by(usage)):
            return first
        if (end := circling(chosen.decision, context, step.catalog)) is not None:
            ended = chosen.model_copy(update={"decision": end, "dropped": ()})
            return replace(first, planned=ended)
        messages = [*step.messages, *replace(first, wrong=wrong).complaint()]
        try:
            second = await self._try(model, messages, step)
        except ModelError:
            return first
        usage = first.usage.plus(second.usage)
        kept = first if second.planned is None else second
        chosen = second.planned or chosen
        return replace(kept, planned=chosen.model_copy(update={"usage": usage}))

    async def _step(
        self, context: StepContext, selection: Selection, catalog: Catalog, *, model: str
    ) -> ModelStep:
        """Return the step appended to the conversation, or a new one if that is too long by now."""
        said = await self._conversations.recall(
            context.mission_id, context.conversation, model=model
        )
        block = block_of(context, selection, catalog)
        # Of the deferred catalog, only changed sections are rendered again.
        leg = (context.mission_id, context.leg_id)
        sections = rendered(block, context.catalog_digest, self._rendered.pop(leg, {}))
        self._rendered[leg] = sections
        if len(self._rendered) > _MOST_LEGS:
            del self._rendered[next(iter(self._rendered))]
        deferred = sections["catalog"].text
        if said is not None:
            tools = offered_names(shown_tools(block, context, catalog, said))
            new = _shown(since(context, said), catalog)
            going_on = ModelStep(new, selection, catalog, tools, deferred, said)
            if not going_on.is_too_long:
                return going_on
        tools = offered_names(block.shown)
        grows = self._conversations.are_kept

        def begun() -> ModelStep:
            step = ModelStep(
                _shown(context, catalog), selection, catalog, tools, deferred, leaves_room=grows
            )
            _ = step.request  # cached: it is made once
            return step

        # In a thread: rendering the past of a long leg takes seconds, and other activities share
        # the loop.
        return await asyncio.to_thread(begun)

    async def _kept(self, tried: "_Tried", step: ModelStep, model: str) -> PlannedStep:
        """Return the step with its conversation's key; the correction is not stored."""
        assert tried.planned is not None
        assert tried.answer is not None
        key = await self._conversations.keep(
            step.context.mission_id,
            step.said,
            step.exchange(tried.answer, model),
            [step.request, tried.answer],
        )
        return tried.planned.model_copy(update={"conversation": key})

    async def _try(self, model: str, messages: Sequence[ModelMessage], step: ModelStep) -> "_Tried":
        """Return the answer to one request, and the decision in it."""
        try:
            answer, usage = await self._models.ask(model, messages, step.parameters())
        except AnswerUnusable as error:
            return _Tried(usage=error.usage, wrong=str(error))
        try:
            return _Tried(answer, usage, planned=step.planned(answer, usage))
        except DecisionInvalid as error:
            cause = CAUSES.get(answer.finish_reason or "")
            return _Tried(answer, usage, wrong=f"{error} ({cause})" if cause else str(error))

    def check(self, name: str | None) -> None:
        """Refuse a model that cannot be called from here; None is the default model.

        Raises:
            UsageError: there is no such model, or its provider is not set up here.
        """
        name = name or self._default
        if name is None:
            raise UsageError(f"no model is set: {_SET_ONE}")
        if (problem := model_problem(name)) is not None:
            raise ModelUnusable(name, "; ".join(problem))
        self._models.check(name)


def _shown(context: StepContext, catalog: Catalog) -> StepContext:
    return with_remedies(shown_to_models(context, catalog), catalog)


@dataclass(frozen=True)
class _Tried:
    """An answer of a model: a decision, or the defect."""

    answer: ModelResponse | None = None
    usage: Usage = field(default_factory=Usage)
    planned: PlannedStep | None = None
    wrong: str = ""

    def complaint(self) -> list[ModelMessage]:
        """Return the messages that send the answer back to the model; none for an empty answer."""
        answer = self.answer or ModelResponse(parts=[])
        earlier: list[ModelMessage] = [answer] if answer.parts else []
        return [*earlier, complaint(answer, self.wrong)]
