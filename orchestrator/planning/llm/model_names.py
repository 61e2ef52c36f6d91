"""Names of models: whether one can exist, found without a key and without asking anybody."""

import re
from typing import Final, get_args

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import KnownModelName, infer_model, parse_model_id
from pydantic_ai.providers import infer_provider_class
from rapidfuzz import fuzz, process

_TEST = "test"
"""The library's own model for tests, which has no provider."""
_NEAR_ENOUGH = 70
_VARIABLE: Final = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
"""A variable of the environment, as the library writes one in its errors."""


def model_problem(name: str) -> tuple[str, str] | None:
    """Why no model can have this name, and what helps; None when one can.

    Which models a provider has is its own affair, and changes from day to day: only the provider is
    looked at.
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
        reason = " ".join(str(error).split())
        return f"{name!r} cannot be asked from here", reason
    return None


def missing_for(name: str) -> str | None:
    """What a model that can exist still needs to be asked from here; None when nothing."""
    try:
        infer_model(name)
    except (UserError, ImportError) as error:
        return _what_helps(error)
    return None


def why_unusable(name: str, error: Exception) -> str:
    """Why the library makes no model of this name, and what whoever runs the worker can do."""
    problem = model_problem(name)
    return _what_helps(error) if problem is None else "; ".join(problem)


def _what_helps(error: Exception) -> str:
    """What the library asks for, without its hints to people who write code with it."""
    variables = dict.fromkeys(match[1] for match in _VARIABLE.finditer(str(error)))
    if variables:
        return f"set {' or '.join(variables)} where the worker runs"
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")


def _meant(provider: str) -> str:
    known = {name.partition(":")[0] for name in get_args(KnownModelName.__value__)}
    near = process.extract(
        provider, sorted(known), scorer=fuzz.WRatio, limit=1, score_cutoff=_NEAR_ENOUGH
    )
    return f"did you mean {near[0][0]}?" if near else "write PROVIDER:MODEL, such as openai:gpt-5"
