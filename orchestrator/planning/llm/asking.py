"""Asking a model: one request over pydantic-ai's direct API, and its failures as our errors.

Nothing here retries a failed request: that is the engine's task, which survives this process.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    ModelRefused,
    ModelUnavailable,
    OrchestratorError,
    UsageError,
)
from orchestrator.planning.metering import count

SETTINGS: Final = ModelSettings(max_retries=0, parallel_tool_calls=False, timeout=90.0)
"""One request is one attempt: the activity around it is what retries. Time in seconds."""

_PASSING: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
    exceptions.ModelServerError,
    exceptions.ModelUnavailableError,
)


async def ask(
    model: Model, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
) -> tuple[ModelResponse, Usage]:
    """One answer of a model, and what it took.

    Raises:
        ModelUnavailable: the model did not answer; a later attempt may meet it.
        ModelRefused: the provider does not serve the request.
        UsageError: the model cannot be used here.
    """
    try:
        answer = await model_request(
            model,
            messages,
            model_settings=SETTINGS,
            model_request_parameters=parameters,
            instrument=False,
        )
    except exceptions.AgentRunError as error:
        raise _translated(error, model.model_name) from error
    except exceptions.UserError as error:
        raise UsageError(f"the model {model.model_name} cannot be used: {error}") from error
    counted = answer.usage
    usage = Usage(
        requests=1,
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        cost_usd=_cost(answer),
    )
    count(usage)
    return answer, usage


def _translated(error: exceptions.AgentRunError, model: str) -> OrchestratorError:
    """Our error for the library's; its text stays out, for it may quote the prompt."""
    status = getattr(error, "status_code", None)
    reason = type(error).__name__.lstrip("_") + (f", status {status}" if status else "")
    if isinstance(error, _PASSING):
        return ModelUnavailable(model, reason)
    return ModelRefused(model, reason)


def _cost(answer: ModelResponse) -> Decimal:
    """The list price of the answer; 0 where the price list does not hold the model."""
    try:
        return answer.cost().total_price
    except (LookupError, ValueError, AssertionError):
        return Decimal(0)
