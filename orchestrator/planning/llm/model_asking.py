"""Asking a model: one request over pydantic-ai's direct API, and its failures as our errors.

Nothing here retries a failed request: that is the engine's task, which survives this process.
"""

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused, ModelUnavailable, ModelUnusable
from orchestrator.core.model_errors import AnswerUnusable
from orchestrator.planning.llm.model_providers import UNREAD, trouble_with, why_unusable
from orchestrator.planning.metering import count, watched

DEFAULT_TIMEOUT_S = 90.0


def request_settings(
    timeout_s: float = DEFAULT_TIMEOUT_S,
    temperature: float | None = None,
    max_tokens: int | None = None,
    thinking: ThinkingEffort | None = None,
) -> ModelSettings:
    """Return what goes along with each request; what is None is left to the provider.

    One request is one attempt: the activity around it is what retries. Its time is that of all of
    it, however slowly an answer trickles in.
    """
    settings = ModelSettings(
        max_retries=0, timeout=timeout_s, request_timeout=timeout_s, cache=True
    )
    if temperature is not None:
        settings["temperature"] = temperature
    if max_tokens is not None:
        settings["max_tokens"] = max_tokens
    if thinking is not None:
        settings["thinking"] = thinking
    return settings


class Models:
    """Models by their names, each made once, and asked with the same settings."""

    def __init__(
        self, make: Callable[[str], Model] = infer_model, settings: ModelSettings | None = None
    ) -> None:
        """Take what makes a model of `provider:model`, and what goes along with each request."""
        self._make = functools.lru_cache(maxsize=16)(make)
        self._settings = settings or request_settings()

    def check(self, name: str) -> Model:
        """Return the model of this name.

        Raises:
            ModelUnusable: no such model, or its provider is not set up here.
        """
        try:
            return self._make(name)
        except (exceptions.UserError, ImportError, ValueError) as error:
            raise ModelUnusable(name, why_unusable(name, error)) from error

    async def ask(
        self, name: str, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[ModelResponse, Usage]:
        """Return one answer of a model, and what it took.

        Args:
            name: `provider:model`.
            messages: what it is told.
            parameters: the tools that it may call.

        Raises:
            AnswerUnusable: the provider held the answer back, or it was cut at a limit.
            ModelUnavailable: the model did not answer; a later attempt may meet it.
            ModelRefused: the provider does not serve the request, or is not set up here.
        """
        try:
            model = self.check(name)
        except ModelUnusable as error:
            raise ModelRefused(name, error.reason) from error
        with watched(name) as seen:
            try:
                answer = await model_request(
                    model,
                    messages,
                    model_settings=self._settings,
                    model_request_parameters=parameters,
                    instrument=False,
                )
            except (exceptions.ContentFilterError, exceptions.OutputTokenLimitExceeded) as error:
                count(answered := Usage(requests=1))
                unread = f"the answer was held back or cut ({type(error).__name__})"
                raise AnswerUnusable(unread, answered) from error
            except exceptions.ModelAPIError as error:
                raise trouble_with(name, error) from error
            except exceptions.UserError as error:
                raise ModelRefused(name, " ".join(str(error).split())) from error
            except Exception as error:  # whatever the provider's own library stumbles over
                raise ModelUnavailable(name, f"{UNREAD} ({type(error).__name__})") from error
            seen.usage = usage = usage_of(answer)
        count(usage)
        return answer, usage


def usage_of(answer: ModelResponse) -> Usage:
    """Return what an answer took, with its list price where the price list holds the model."""
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
