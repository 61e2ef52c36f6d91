"""The planner over a model, asked through pydantic-ai's direct API: one request, one decision.

Needs the extra `llm`. The model sees the tools of the step as its own tools; what it calls is
parsed to a decision and checked like any other planner's.
"""

import functools
from collections.abc import Callable
from typing import Final

from pydantic_ai import exceptions
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, infer_model

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DecisionInvalid, UsageError
from orchestrator.planning.llm.asking import ask
from orchestrator.planning.llm.model_step import ModelStep, complaint
from orchestrator.planning.llm.offered_tools import wire_names
from orchestrator.planning.llm.prompt import ToolBlock, block_of
from orchestrator.planning.llm.prompt_state import PromptState, tool_sources
from orchestrator.planning.models import StepContext
from orchestrator.planning.planner import PlannedStep
from orchestrator.planning.projection import shown_to_models
from orchestrator.routing.selection import Selection

_KEPT_STATES: Final = 256


class LlmPlanner:
    """Decides steps by asking a model.

    Between two steps it keeps rendered prompt sections and nothing else: another worker that takes
    the next step renders them again.
    """

    def __init__(
        self,
        *,
        default_model: str | None = None,
        models: Callable[[str], Model] = infer_model,
    ) -> None:
        """Take where models come from.

        Args:
            default_model: `provider:model` for agents whose profile names none.
            models: a model by its name; the default reads the provider's key from the environment.

        Raises:
            UsageError: the default model does not exist, or its provider is not set up here.
        """
        self._default = default_model
        self._models = functools.lru_cache(maxsize=16)(models)
        self._states: dict[tuple[str, str], PromptState] = {}
        if default_model is not None:
            self._model(default_model)

    async def plan_metered(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """The next step of one leg, and what asking for it took.

        An answer that cannot be carried out is told to the model once.

        Raises:
            DecisionInvalid: the second answer cannot be carried out either.
            ModelUnavailable: the model did not answer; a later attempt may meet it.
            ModelRefused: the provider does not serve the request.
            UsageError: no such model, or its provider is not set up here.
        """
        context = shown_to_models(context, catalog)
        model = self._model(context.agent.model or self._default)
        block = block_of(context, selection, catalog)
        state = self._state(context, block)
        step = ModelStep(context, selection, catalog, wire_names(block.shown), state)
        messages: list[ModelMessage] = [step.request()]
        answer, usage = await ask(model, messages, step.parameters())
        try:
            return step.planned(answer, usage)
        except DecisionInvalid as error:
            messages += [answer, complaint(answer, str(error))]
        answer, more = await ask(model, messages, step.parameters())
        return step.planned(answer, usage.plus(more))

    def check(self, name: str | None) -> None:
        """Refuse a model that cannot be asked from here; None is the default.

        Raises:
            UsageError: no such model, or its provider is not set up here.
        """
        self._model(name or self._default)

    def _model(self, name: str | None) -> Model:
        if name is None:
            raise UsageError("no model is set: set ORCHESTRATOR_PLANNER_MODEL=provider:model")
        try:
            return self._models(name)
        except (exceptions.UserError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"the model {name} cannot be used here: {reason}") from error

    def _state(self, context: StepContext, block: ToolBlock) -> PromptState:
        """The step's tool sections, those that did not change taken from the step before."""
        leg = (context.mission_id, context.leg_id)
        sources = tool_sources(block, context.catalog_digest)
        state, _ = self._states.pop(leg, PromptState()).refreshed(sources)
        self._states[leg] = state
        if len(self._states) > _KEPT_STATES:
            del self._states[next(iter(self._states))]
        return state
