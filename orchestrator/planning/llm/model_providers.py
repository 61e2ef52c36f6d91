"""Providers of models: their possible names, missing settings, and refusals.

All of it is read from the library, without a key and without a network call. A provider's own text
is shown when it refuses a request, without parts that may quote the prompt or a key.
"""

import re
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Final, get_args

from pydantic_ai import exceptions
from pydantic_ai.models import KnownModelName, infer_model, parse_model_id
from pydantic_ai.providers import infer_provider_class
from rapidfuzz import fuzz, process

from orchestrator.core.errors import ModelRefused, ModelUnavailable
from orchestrator.planning.trimming import cut_text

_TEST: Final = "test"
"""The library's own test model, which has no provider."""
_NEAR_ENOUGH: Final = 70
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""An environment variable."""
_KEYS: Final = ("_KEY", "_TOKEN", "_CREDENTIALS", "_BEDROCK")
_URLS: Final = ("_URL", "_ENDPOINT")
_CODE: Final = re.compile(r"[a-z]+(_[a-z]+){0,7}")
"""A machine-readable code: without digits and capitals, so that it cannot be part of a key."""
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
    (exceptions.ModelNotFoundError, "it has no such model, or no such API at this address"),
    (exceptions.ModelContextWindowExceededError, "the prompt is longer than the model takes"),
    (exceptions.ModelRequestRejectedError, "it refuses the request as it is"),
    (exceptions.ModelUnavailableError, "it is overloaded or down"),
    (exceptions.ModelServerError, "it failed"),
    (exceptions.ModelConnectionError, "it cannot be reached"),
)
_FILTERED: Final = re.compile(r"content_(?:filter|policy|management)|safety|refusal", re.IGNORECASE)
_MESSAGES: Final = ("error", "message", "detail", "msg")
"""Members of an error's body that hold its text, or another such object."""
_SECRET: Final = re.compile(
    r"@|\d{7}|(?=[\w.+/=-]{16})(?=[\w.+/=-]*\d)(?=[\w.+/=-]*[A-Za-z])[\w.+/=-]{16,100}|sk-|%[0-9A-F]{2}"
)
_MARKS: Final = ".,;:!?'\"`()[]{}<>"
_QUOTED: Final = 3
_PLAIN: Final = re.compile(r"[a-z_]*")
_MOST_SAID: Final = 2_000
_LONGEST_SAID: Final = 240
UNREAD: Final = "its answer could not be read"
_MODEL_SET_BY: Final = "`model` of the agent or ORCHESTRATOR_PLANNER_MODEL"


def model_problem(name: str) -> tuple[str, str] | None:
    """Return why no model can have this name, and the remedy; None if one can.

    The models of a provider are its own affair and change from day to day, so only the provider is
    checked.
    """
    provider, model = parse_model_id(name)
    if name == _TEST:
        return None
    if provider is None or not model.strip():
        missing = "provider" if provider is None else "model"
        return f"{name!r} names no {missing}", "write PROVIDER:MODEL, such as openai:gpt-5"
    try:
        infer_provider_class(provider)
    except ValueError:
        return f"no provider of models is called {provider!r}", _meant(provider)
    except ImportError as error:
        return f"{name!r} cannot be asked from here", " ".join(str(error).split())
    return None


def missing_for(name: str) -> str | None:
    """Return what is missing to call a possible model from here; None: nothing."""
    try:
        infer_model(name)
    except (exceptions.UserError, ImportError) as error:
        return _what_helps(error)
    return None


def why_unusable(name: str, error: Exception) -> str:
    """Return why the library cannot create a model of this name, and the remedy."""
    problem = model_problem(name)
    return _what_helps(error) if problem is None else "; ".join(problem)


def _what_helps(error: Exception) -> str:
    """Return the setting that the library asks for, without its hints for programmers."""
    quoted = str(error).split("`")[1::2]
    if variables := dict.fromkeys(one for one in quoted if _VARIABLE.fullmatch(one)):
        return f"set {' or '.join(variables)} where the worker runs"
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")


def _meant(provider: str) -> str:
    known = {name.partition(":")[0] for name in get_args(KnownModelName.__value__)}
    near = process.extractOne(
        provider, sorted(known), scorer=fuzz.WRatio, score_cutoff=_NEAR_ENOUGH
    )
    return f"did you mean {near[0]}?" if near else "write PROVIDER:MODEL, such as openai:gpt-5"


@cache
def provider_variables(model: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variables for the key of a model's provider, and those for its address.

    They are read from the constants of the provider's constructor, so that none is listed here;
    there are none if the constructor reads none by itself.
    """
    provider, _ = parse_model_id(model)
    try:
        made_by = infer_provider_class(provider or "").__init__
    except (ValueError, ImportError):
        return (), ()
    constants = getattr(getattr(made_by, "__code__", None), "co_consts", ())
    named = dict.fromkeys(c for c in constants if isinstance(c, str) and _VARIABLE.fullmatch(c))
    return (
        tuple(name for name in named if name.endswith(_KEYS)),
        tuple(name for name in named if name.endswith(_URLS)),
    )


def trouble_with(
    model: str, error: exceptions.ModelAPIError, sent: str = ""
) -> ModelUnavailable | ModelRefused:
    """Return our error for the library's; a transient one is retryable.

    Args:
        model: `provider:model`.
        error: the library's error.
        sent: the prompt, no words of which are shown.
    """
    kind = ModelUnavailable if _passes(error) else ModelRefused
    # The provider refused the content of the request, not the caller.
    is_refusal = isinstance(error, exceptions.ModelRequestRejectedError)
    is_explained = is_refusal and not isinstance(error, exceptions.ModelAuthenticationError)
    said = redacted(_said(error.body), sent) if is_explained else ""
    reason = f"{_reason(error)}: {said}" if said else _reason(error)
    return kind(model, reason, _remedy(model, error), error.retry_after)


def redacted(text: str, sent: str) -> str:
    """Return the beginning of a text without parts that may be secret, personal, or of the prompt.

    Hidden are tokens that look like keys, addresses or long numbers; three words in a row that are
    also in the prompt; and each name, number or other word of the prompt that is not in lower case.
    A provider's own words and the names of its parameters stay.
    """
    words, prompt = text[:_MOST_SAID].split(), " ".join(sent.split()).casefold()
    of_prompt = {word.strip(_MARKS) for word in sent.split()}
    hidden = {
        n
        for n, word in enumerate(words)
        if _SECRET.search(word)
        or (word.strip(_MARKS) in of_prompt and not _PLAIN.fullmatch(word.strip(_MARKS)))
    }
    for n in range(len(words) - _QUOTED + 1):
        run = " ".join(words[n : n + _QUOTED]).strip(_MARKS).casefold()
        if run in prompt:
            hidden |= {*range(n, n + _QUOTED)}
    shown = ("\u2026" if n in hidden else word for n, word in enumerate(words))
    return cut_text(" ".join(word for word, _ in groupby(shown)), _LONGEST_SAID)


def _said(body: object) -> str:
    """Return the message in the body of an error; empty for a page and other bodies."""
    while isinstance(body, Mapping):
        body = next((body[name] for name in _MESSAGES if body.get(name)), None)
    return body if isinstance(body, str) and not body.lstrip().startswith("<") else ""


def _passes(error: exceptions.ModelAPIError) -> bool:
    if isinstance(error, exceptions.ModelHTTPError) and error.provider_retry_hint is not None:
        return error.provider_retry_hint
    if _is_unread(error):
        return True
    return isinstance(error, _PASSING) or _status(error) in _PASSING_STATUS


def _is_unread(error: exceptions.ModelAPIError) -> bool:
    """Return True if the answer was not the provider's, but for instance a gateway's page."""
    return _status(error) is None and not any(isinstance(error, kind) for kind, _ in _IN_WORDS)


def _status(error: exceptions.ModelAPIError) -> int | None:
    return error.status_code if isinstance(error, exceptions.ModelHTTPError) else None


def _reason(error: exceptions.ModelAPIError) -> str:
    """Return a few words such as `429, too many requests at a time (rate_limit_exceeded)`."""
    unread = UNREAD if _is_unread(error) else "it failed"
    words = next((text for kind, text in _IN_WORDS if isinstance(error, kind)), unread)
    if _FILTERED.search(f"{error.provider_error_code} {error.provider_error_type}"):
        words = "its content filter refuses the request"
    if isinstance(error, exceptions.ModelConnectionError) and error.phase == "read":
        words = "its answer broke off or did not come in time"
    status = _status(error)
    code = error.provider_error_code or error.provider_error_type or ""
    shown = f" ({code})" if _CODE.fullmatch(code) else ""
    return f"{f'{status}, ' if status else ''}{words}{shown}"


def _remedy(model: str, error: exceptions.ModelAPIError) -> str:
    """Return a remedy for people; empty if there is only waiting."""
    keys, urls = map(" or ".join, provider_variables(model))
    match error:
        case exceptions.ModelAuthenticationError():
            named = keys or "the key of its provider"
            return f"set {named} where the worker runs, and start that worker again"
        case exceptions.ModelQuotaExceededError():
            of_key = f" of the key in {keys}" if keys else ""
            return f"top up the account{of_key}, or raise its limit"
        case exceptions.ModelNotFoundError():
            suggested = getattr(error, "suggested_model_id", None)
            meant = f" (did you mean {suggested}?)" if suggested else ""
            where = f", or check {urls}" if urls else ""
            return f"name a model that it has{meant} in {_MODEL_SET_BY}{where}"
        case exceptions.ModelContextWindowExceededError():
            return f"lower context_tokens of the agent, or name another model in {_MODEL_SET_BY}"
        case exceptions.ModelRequestRejectedError():
            return f"name another model in {_MODEL_SET_BY}"
        case exceptions.ModelRequestTimeout() | exceptions.ModelTimeoutError():
            return "ORCHESTRATOR_PLANNER_TIMEOUT_S gives it longer"
        case exceptions.ModelConnectionError():
            return f"check {f'{urls} and ' if urls else ''}the network of the worker"
    return ""
