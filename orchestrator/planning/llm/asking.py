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

SETTINGS: Final = ModelSettings(max_retries=0, timeout=90.0)
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
    usage = usage_of(answer)
    count(usage)
    return answer, usage


def _translated(error: exceptions.AgentRunError, model: str) -> OrchestratorError:
    """Our error for the library's; its text stays out, for it may quote the prompt."""
    status = getattr(error, "status_code", None)
    reason = type(error).__name__.lstrip("_") + (f", status {status}" if status else "")
    if isinstance(error, _PASSING):
        return ModelUnavailable(model, reason)
    return ModelRefused(model, reason)


def usage_of(answer: ModelResponse) -> Usage:
    """What an answer took, with its list price where the price list holds the model."""
    counted = answer.usage
    price = _price(answer)
    return Usage(
        requests=1,
        input_tokens=counted.input_tokens,
        cached_tokens=counted.cache_read_tokens,
        written_tokens=counted.cache_write_tokens,
        output_tokens=counted.output_tokens,
        reasoning_tokens=counted.output_reasoning_tokens,
        cost_usd=price or Decimal(0),
        unpriced=1 if price is None else 0,
    )


def _price(answer: ModelResponse) -> Decimal | None:
    try:
        return answer.cost().total_price
    except (LookupError, ValueError, AssertionError):
        return None
