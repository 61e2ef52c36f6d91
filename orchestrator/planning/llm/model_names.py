"""Names of models: whether one can exist, found without a key and without asking anybody."""

from typing import get_args

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import KnownModelName, infer_model, parse_model_id
from pydantic_ai.providers import infer_provider_class
from rapidfuzz import fuzz, process

_TEST = "test"
"""The library's own model for tests, which has no provider."""
_NEAR_ENOUGH = 70


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
        return first_sentence(error)
    return None


def first_sentence(error: Exception) -> str:
    """What the library says, without its hints to people who try it out."""
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")


def _meant(provider: str) -> str:
    known = {name.partition(":")[0] for name in get_args(KnownModelName.__value__)}
    near = process.extract(
        provider, sorted(known), scorer=fuzz.WRatio, limit=1, score_cutoff=_NEAR_ENOUGH
    )
    return f"did you mean {near[0][0]}?" if near else "write PROVIDER:MODEL, such as openai:gpt-5"
