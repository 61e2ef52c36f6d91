"""Sends one request to a model over pydantic-ai's direct API, and maps failures to our errors.

This module never retries a failed request: the engine does, and survives this process.
"""

import contextlib
import functools
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal
from typing import Final

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused, ModelUnavailable, ModelUnusable
from orchestrator.planning.llm.model_providers import UNREAD, trouble_with, why_unusable
from orchestrator.planning.metering import AnswerUnusable, count, show, watched

DEFAULT_TIMEOUT_S = 90.0
_CUT = "the answer was cut at its limit of tokens"
_HELD_BACK = "the model refused, or its provider's content filter held the answer back"
CAUSES: Final = {"length": _CUT, "content_filter": _HELD_BACK}
"""The reason why an answer is unusable, by the model's finish reason."""
_NO_STREAM: Final = (
    NotImplementedError,  # the library's class of the model has no streams
    AssertionError,  # nor has a function as a model
    exceptions.UnexpectedModelBehavior,  # the answer came whole, so there was no event
    exceptions.ModelRequestRejectedError,  # the provider does not stream this model or its calls
)
"""What opening a stream raises where only whole answers are to be had."""
_NO_REQUEST: Final = (
    exceptions.ModelAuthenticationError,
    exceptions.ModelContextWindowExceededError,
    exceptions.ModelNotFoundError,
)
"""Rejections that have nothing to do with the stream."""
_MOST_SHOWN: Final = 500
"""Characters of the text that is shown while it arrives: its end."""


def request_settings(
    timeout_s: float = DEFAULT_TIMEOUT_S,
    temperature: float | None = None,
    max_tokens: int | None = None,
    thinking: ThinkingEffort | None = None,
) -> ModelSettings:
    """Return the settings of each request; None leaves a setting to the provider.

    One request is one attempt, which the surrounding activity retries. The timeout covers the whole
    request, however slowly an answer arrives.
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
    """Models by name, each created once and called with the same settings."""

    def __init__(
        self, make: Callable[[str], Model] = infer_model, settings: ModelSettings | None = None
    ) -> None:
        """Take the factory of models from `provider:model` names, and the settings of requests."""
        self._make = functools.lru_cache(maxsize=16)(make)
        self._settings = settings or request_settings()
        self._whole: set[str] = set()

    def check(self, name: str) -> Model:
        """Return the model of this name.

        Raises:
            ModelUnusable: there is no such model, or its provider is not set up here.
        """
        try:
            return self._make(name)
        except (exceptions.UserError, ImportError, ValueError) as error:
            raise ModelUnusable(name, why_unusable(name, error)) from error

    async def ask(
        self, name: str, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[ModelResponse, Usage]:
        """Return one answer of a model, and its usage.

        Args:
            name: `provider:model`.
            messages: the conversation so far.
            parameters: the tools that the model may call.

        Raises:
            AnswerUnusable: the provider withheld the answer, or it was cut at a limit.
            ModelUnavailable: the model did not answer; a later attempt may reach it.
            ModelRefused: the provider does not serve the request, or is not set up here.
        """
        try:
            model = self.check(name)
        except ModelUnusable as error:
            raise ModelRefused(name, error.reason) from error
        with watched(name) as seen:
            try:
                answer = await self._answered(name, model, messages, parameters)
            except (exceptions.ContentFilterError, exceptions.OutputTokenLimitExceeded) as error:
                count(answered := Usage(requests=1))
                is_cut = isinstance(error, exceptions.OutputTokenLimitExceeded)
                unread = _CUT if is_cut else _HELD_BACK
                raise AnswerUnusable(unread, answered, is_withheld=not is_cut) from error
            except exceptions.ModelAPIError as error:
                parts = (part for message in messages for part in message.parts)
                sent = "\n".join(str(getattr(part, "content", "")) for part in parts)
                raise trouble_with(name, error, sent) from error
            except exceptions.UserError as error:
                raise ModelRefused(name, " ".join(str(error).split())) from error
            except Exception as error:  # any error of the provider's own library
                raise ModelUnavailable(name, f"{UNREAD} ({type(error).__name__})") from error
            seen.usage = usage = usage_of(answer)
        count(usage)
        return answer, usage

    async def _answered(
        self,
        name: str,
        model: Model,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return an answer, whose text is shown while it arrives if the provider streams.

        A model that answers whole, or leaves out the usage of a stream, is not asked for a stream
        again: budgets count the usage.
        """
        request = functools.partial(
            model_request,
            model,
            messages,
            model_settings=self._settings,
            model_request_parameters=parameters,
            instrument=False,
        )
        if name in self._whole:
            return await request()
        async with AsyncExitStack() as opened:
            try:
                stream = await opened.enter_async_context(
                    model_request_stream(*request.args, **request.keywords)
                )
            except _NO_STREAM as error:
                if isinstance(error, _NO_REQUEST):
                    raise
                answer = await request()
            else:
                answer = await _received(stream)
                if not answer.usage.unmeasured_requests:
                    return answer
        self._whole.add(name)
        return answer


async def _received(stream: StreamedResponse) -> ModelResponse:
    """Return the whole answer; show the end of its text, and nothing of thoughts and calls."""
    text = ""
    try:
        async for event in stream:
            match event:
                case (
                    PartStartEvent(part=TextPart(content=added))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=added))
                ) if added:
                    show(text := (text + added)[-_MOST_SHOWN:])
    finally:
        show("")
    answer = stream.get()
    if answer.state == "incomplete" and answer.finish_reason is None:
        raise exceptions.UnexpectedModelBehavior("the stream ended within the answer")
    return answer


def usage_of(answer: ModelResponse) -> Usage:
    """Return the usage of an answer, with its list price if the price list has the model."""
    counted = answer.usage
    price: Decimal | None = None
    with contextlib.suppress(LookupError, ValueError, AssertionError):
        price = answer.cost().total_price
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
