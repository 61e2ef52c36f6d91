"""The planner over a model, asked through pydantic-ai's direct API: one request, one decision.

Needs the extra `llm`. The model sees the tools of the step as its own tools; what it calls is
parsed to a decision and checked like any other planner's.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    ModelRefused,
    ModelUnavailable,
    ModelUnusable,
    UsageError,
)
from orchestrator.core.model_errors import AnswerUnusable
from orchestrator.planning.llm.conversation import Conversations, Pieces
from orchestrator.planning.llm.model_asking import Models
from orchestrator.planning.llm.model_providers import model_problem
from orchestrator.planning.llm.model_step import ModelStep, complaint, shown_tools, since
from orchestrator.planning.llm.offered_tools import offered_names
from orchestrator.planning.llm.prompt import Section, ToolBlock, block_of, rendered
from orchestrator.planning.models import StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.projection import shown_to_models
from orchestrator.routing.selection import Selection

_MOST_LEGS: Final = 256
"""Whose rendered sections are kept."""
_SET_ONE: Final = "set ORCHESTRATOR_PLANNER_MODEL=provider:model"


class LlmPlanner:
    """Decides steps by asking a model.

    Between two steps it keeps rendered prompt sections and conversations: another worker that takes
    the next step renders the ones again, and reads the others from the store.
    """

    def __init__(
        self,
        *,
        default_model: str | None = None,
        models: Callable[[str], Model] = infer_model,
        settings: ModelSettings | None = None,
        pieces: Pieces | None = None,
    ) -> None:
        """Take where models come from, and where what they are told is kept.

        Args:
            default_model: `provider:model` for agents whose profile names none.
            models: a model by its name; the default reads the provider's key from the environment.
            settings: what goes along with each request, as `request_settings` makes it.
            pieces: where conversations are kept; None: each step is told as if it were the first.

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
        """Return the next step of one leg, and what asking for it took.

        An answer that cannot be carried out is told to the model once.

        Raises:
            AnswerUnusable: the second answer cannot be carried out either.
            ModelUnavailable: the model did not answer; a later attempt may meet it.
            ModelRefused: the provider does not serve the request, or is not set up here.
        """
        model = context.agent.model or self._default
        if model is None:
            raise ModelRefused("", "none is set", _SET_ONE)
        step = await self._step(context, selection, catalog, model=model)
        messages = step.messages
        first = await self._try(model, messages, step)
        if first.planned is not None:
            return await self._kept(first, step, model)
        if context.allowance is not None and context.allowance.is_spent_by(first.usage):
            raise AnswerUnusable(first.wrong, first.usage)
        messages += first.complaint()
        try:
            second = await self._try(model, messages, step)
        except (ModelUnavailable, ModelRefused) as error:
            # The step is spent on the first answer, whose usage counts; the next meets the trouble.
            raise AnswerUnusable(first.wrong, first.usage) from error
        usage = first.usage.plus(second.usage)
        if second.planned is None:
            raise AnswerUnusable(second.wrong, usage)
        planned = await self._kept(second, step, model)
        return planned.model_copy(update={"usage": usage})

    async def _step(
        self, context: StepContext, selection: Selection, catalog: Catalog, *, model: str
    ) -> ModelStep:
        """Return the step behind what the model was told before, unless that is too long by now."""
        said = await self._conversations.recall(
            context.mission_id, context.conversation, model=model
        )
        block = block_of(context, selection, catalog)
        deferred = self._deferred(context, block)
        if said is not None:
            tools = offered_names(shown_tools(block, context, catalog, said))
            new = shown_to_models(since(context, said), catalog)
            going_on = ModelStep(new, selection, catalog, tools, deferred, said)
            if not going_on.is_too_long:
                return going_on
        tools = offered_names(block.shown)
        grows = self._conversations.are_kept

        def begun() -> ModelStep:
            shown = shown_to_models(context, catalog)
            step = ModelStep(shown, selection, catalog, tools, deferred, leaves_room=grows)
            _ = step.request  # which is made once
            return step

        # In a thread: what a long leg has seen takes seconds to be told again, and other activities
        # share the loop.
        return await asyncio.to_thread(begun)

    def _deferred(self, context: StepContext, block: ToolBlock) -> str:
        """Return the catalog of a step, whose sections are rendered where they have changed."""
        leg = (context.mission_id, context.leg_id)
        sections = rendered(block, context.catalog_digest, self._rendered.pop(leg, {}))
        self._rendered[leg] = sections
        if len(self._rendered) > _MOST_LEGS:
            del self._rendered[next(iter(self._rendered))]
        return sections["catalog"].text

    async def _kept(self, tried: "_Tried", step: ModelStep, model: str) -> PlannedStep:
        """Return the step with where its conversation is kept, without what was corrected."""
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
        """Return the answer to one request, and what it comes to."""
        try:
            answer, usage = await self._models.ask(model, messages, step.parameters())
        except AnswerUnusable as error:
            return _Tried(usage=error.usage, wrong=str(error))
        try:
            return _Tried(answer, usage, planned=step.planned(answer, usage))
        except DecisionInvalid as error:
            is_cut = answer.finish_reason == "length"
            cause = " (the answer was cut at its limit of tokens)" if is_cut else ""
            return _Tried(answer, usage, wrong=f"{error}{cause}")

    def check(self, name: str | None) -> None:
        """Refuse a model that cannot be asked from here; None is the default.

        Raises:
            UsageError: no such model, or its provider is not set up here.
        """
        name = name or self._default
        if name is None:
            raise UsageError(f"no model is set: {_SET_ONE}")
        if (problem := model_problem(name)) is not None:
            raise ModelUnusable(name, "; ".join(problem))
        self._models.check(name)


@dataclass(frozen=True)
class _Tried:
    """One answer of a model: a decision, or what is wrong with it."""

    answer: ModelResponse | None = None
    usage: Usage = field(default_factory=Usage)
    planned: PlannedStep | None = None
    wrong: str = ""

    def complaint(self) -> list[ModelMessage]:
        """Return what the model is told about it; an answer that says nothing is not sent back."""
        answer = self.answer or ModelResponse(parts=[])
        told: list[ModelMessage] = [answer] if answer.parts else []
        return [*told, complaint(answer, self.wrong)]
