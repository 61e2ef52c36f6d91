"""An agent of one's own as the planner of legs: its first call is the decision of the step."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    DecisionInvalid,
    ModelRefused,
    ModelUnavailable,
    OrchestratorError,
    UsageError,
)
from orchestrator.core.model_errors import AnswerUnusable
from orchestrator.planning import metering
from orchestrator.planning.frameworks.agent_prompt import AgentAnswer, AgentPrompt
from orchestrator.planning.frameworks.agent_step import agent_step
from orchestrator.planning.models import AgentProfile, GoalBrief, MissionPlan, StepContext
from orchestrator.planning.planner import PlannedStep, Planner
from orchestrator.routing.selection import Selection

TIMEOUT_S: Final = 90.0
_TRIES: Final = 2
_PASSING: Final = frozenset({408, 409, 425, 429})


class StepwiseAgent(Protocol):
    """An agent that can be run for one step; the adapters of frameworks are such.

    Nothing that it is given does anything when it is called: whoever writes another adapter makes
    its framework stop at the first call, and gives no tool of its own.
    """

    name: str
    """For errors that people read."""

    async def answer(self, prompt: AgentPrompt) -> AgentAnswer:
        """What the agent wants called, or its last word.

        Raises:
            DecisionInvalid: its framework finds that the answer is none.
        """
        ...


class AgentPlanner:
    """Decides the steps of legs by asking an agent of one's own, and keeps nothing between them.

    What the agent calls is a proposal: it is checked, confirmed, written to the ledger and sent as
    any planner's, and its result is there when the agent is asked for the next step. An answer that
    cannot be carried out is told to it once.
    """

    def __init__(
        self,
        agent: StepwiseAgent,
        *,
        default: Planner | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Take the agent.

        Args:
            agent: decides the steps.
            default: splits goals, where this is the planner of a whole worker.
            timeout_s: how long one answer of the agent may take.
        """
        self._agent = agent
        self._default = default
        self._timeout_s = timeout_s

    async def split_goal(
        self, brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile]
    ) -> MissionPlan:
        """The legs of a mission, as the default planner makes them.

        Raises:
            UsageError: there is none.
        """
        if self._default is None:
            raise UsageError(
                f"the agent {self._agent.name} splits no goals: name it in a profile, or give its "
                "planner another one: AgentPlanner(agent, default=parts.default)"
            )
        return await self._default.split_goal(brief, catalog, agents)

    async def plan_step(
        self, context: StepContext, selection: Selection, catalog: Catalog
    ) -> PlannedStep:
        """The next step of one leg, and what asking for it took.

        Raises:
            AnswerUnusable: the second answer cannot be carried out either.
            ModelUnavailable: the agent came to no answer; a later attempt may.
            ModelRefused: its provider does not serve the request.
        """
        step = agent_step(context, selection, catalog)
        prompt, usage, objection = step.prompt, Usage(), ""
        for _ in range(_TRIES):
            try:
                answer = await self._answer(prompt)
            except DecisionInvalid as error:
                raise AnswerUnusable(str(error), usage) from error
            except (ModelUnavailable, ModelRefused) as error:
                if not objection:
                    raise
                # The step is spent on the first answer; the next one meets the trouble.
                raise AnswerUnusable(objection, usage) from error
            usage = usage.plus(answer.usage)
            try:
                return step.planned(answer, usage)
            except DecisionInvalid as error:
                objection = str(error)
                prompt = prompt.objected(answer, f"This cannot be carried out: {objection}.")
        raise AnswerUnusable(objection, usage)

    async def _answer(self, prompt: AgentPrompt) -> AgentAnswer:
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._agent.answer(prompt)
        except OrchestratorError:
            raise
        except TimeoutError as error:
            reason = f"no answer within {self._timeout_s:g} s"
            raise ModelUnavailable(self._agent.name, reason) from error
        except Exception as error:  # whatever a framework or the code of an agent may raise
            raise _trouble(self._agent.name, error) from error
        metering.count(answer.usage)
        return answer


def _trouble(agent: str, error: Exception) -> ModelUnavailable | ModelRefused:
    """Our error for whatever was raised; its text stays out, for it may quote the prompt."""
    status = next((s for s in map(_status, _chain(error)) if s is not None), None)
    reason = type(error).__name__ + (f", status {status}" if status else "")
    wait_s = next((s for s in map(_retry_after_s, _chain(error)) if s is not None), None)
    if status is not None and 400 <= status < 500 and status not in _PASSING:
        return ModelRefused(agent, reason, "", wait_s)
    return ModelUnavailable(agent, reason, "", wait_s)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, the outermost first."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def _status(error: BaseException) -> int | None:
    """The HTTP status of a provider's answer, where the library of the provider tells it."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _retry_after_s(error: BaseException) -> float | None:
    """How long the provider asks to be left alone, where the library of the provider tells it."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return float(headers["retry-after"]) if headers is not None else None
    except (KeyError, TypeError, ValueError):
        return None
