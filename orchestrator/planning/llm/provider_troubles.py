"""What a model's provider refuses or fails at, in a few words, with the variable that mends it.

The library tells what kind of failure it is. The text of the provider stays out: it may quote the
prompt, or the key.
"""

import re
from typing import Final

from pydantic_ai import exceptions

from orchestrator.core.errors import ModelRefused, ModelUnavailable
from orchestrator.planning.llm.provider_variables import key_variables, url_variables

_CODE: Final = re.compile(r"[a-z]+(_[a-z]+){0,7}")
"""A code of a machine for machines: no digit and no capital, so that it is no part of a key."""
_PASSING: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
    exceptions.ModelServerError,
    exceptions.ModelUnavailableError,
)
_PASSING_STATUS: Final = frozenset({408, 409, 425})
_IN_WORDS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (exceptions.ModelRequestTimeout, "it did not answer in time"),
    (exceptions.ModelTimeoutError, "it did not answer in time"),
    (exceptions.ModelAuthenticationError, "it does not take the key, or not for this model"),
    (exceptions.ModelQuotaExceededError, "the quota or credit of the account is used up"),
    (exceptions.ModelRateLimitError, "too many requests at a time"),
    (exceptions.ModelNotFoundError, "it has no such model"),
    (exceptions.ModelContextWindowExceededError, "the prompt is longer than the model takes"),
    (exceptions.ModelRequestRejectedError, "it refuses the request as it is"),
    (exceptions.ModelUnavailableError, "it is overloaded or down"),
    (exceptions.ModelServerError, "it failed"),
    (exceptions.ModelConnectionError, "it cannot be reached"),
)
UNREAD: Final = "its answer could not be read"
_TIMEOUTS: Final = (exceptions.ModelRequestTimeout, exceptions.ModelTimeoutError)
_MODEL_SET_BY: Final = "`model` of the agent or ORCHESTRATOR_PLANNER_MODEL"


def trouble_with(model: str, error: exceptions.ModelAPIError) -> ModelUnavailable | ModelRefused:
    """Our error for the library's; one that may pass by itself can be tried again at once."""
    kind = ModelUnavailable if _passes(error) else ModelRefused
    return kind(model, _reason(error), _remedy(model, error), error.retry_after)


def _passes(error: exceptions.ModelAPIError) -> bool:
    if isinstance(error, exceptions.ModelHTTPError) and error.provider_retry_hint is not None:
        return error.provider_retry_hint
    if _is_unread(error):
        return True
    return isinstance(error, _PASSING) or _status(error) in _PASSING_STATUS


def _is_unread(error: exceptions.ModelAPIError) -> bool:
    """Whether there was an answer that is none: a gateway's page, for instance."""
    return _status(error) is None and not any(isinstance(error, kind) for kind, _ in _IN_WORDS)


def _status(error: exceptions.ModelAPIError) -> int | None:
    return error.status_code if isinstance(error, exceptions.ModelHTTPError) else None


def _reason(error: exceptions.ModelAPIError) -> str:
    """`429, too many requests at a time (rate_limit_exceeded)`."""
    unread = UNREAD if _is_unread(error) else "it failed"
    words = next((told for kind, told in _IN_WORDS if isinstance(error, kind)), unread)
    if isinstance(error, exceptions.ModelConnectionError) and error.phase == "read":
        words = "its answer broke off or did not come in time"
    status = _status(error)
    code = error.provider_error_code or error.provider_error_type or ""
    shown = f" ({code})" if _CODE.fullmatch(code) else ""
    return f"{f'{status}, ' if status else ''}{words}{shown}"


def _remedy(model: str, error: exceptions.ModelAPIError) -> str:
    """What somebody can do about it; empty where waiting is all."""
    keys, urls = " or ".join(key_variables(model)), " or ".join(url_variables(model))
    if isinstance(error, exceptions.ModelAuthenticationError):
        named = keys or "the key of its provider"
        return f"set {named} where the worker runs, and start that worker again"
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return f"top up the account{f' of the key in {keys}' if keys else ''}, or raise its limit"
    if isinstance(error, exceptions.ModelNotFoundError):
        suggested = getattr(error, "suggested_model_id", None)
        meant = f" (did you mean {suggested}?)" if suggested else ""
        where = f", or check {urls}" if urls else ""
        return f"name a model that it has{meant} in {_MODEL_SET_BY}{where}"
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return f"lower context_tokens of the agent, or name another model in {_MODEL_SET_BY}"
    if isinstance(error, exceptions.ModelRequestRejectedError):
        return f"name another model in {_MODEL_SET_BY}"
    if isinstance(error, _TIMEOUTS):
        return "ORCHESTRATOR_PLANNER_TIMEOUT_S gives it longer"
    if isinstance(error, exceptions.ModelConnectionError):
        return f"check {f'{urls} and ' if urls else ''}the network of the worker"
    return ""
