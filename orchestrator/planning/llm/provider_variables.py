"""The environment variables that a provider of models reads, as far as the library's code tells."""

import re
from functools import cache
from typing import Final

from pydantic_ai.models import parse_model_id
from pydantic_ai.providers import infer_provider_class

_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_KEY_ENDINGS: Final = ("_KEY", "_TOKEN", "_CREDENTIALS", "_BEDROCK")
_URL_ENDINGS: Final = ("_URL", "_ENDPOINT")


def key_variables(model: str) -> tuple[str, ...]:
    """The variables of a model's provider that hold its key; none where it reads none by itself."""
    return tuple(name for name in _variables(model) if name.endswith(_KEY_ENDINGS))


def url_variables(model: str) -> tuple[str, ...]:
    """The variables that say where its provider is; none where it is always at its own place."""
    return tuple(name for name in _variables(model) if name.endswith(_URL_ENDINGS))


@cache
def _variables(model: str) -> tuple[str, ...]:
    """Read from the constants of the provider's constructor, so that none is listed here."""
    provider, _ = parse_model_id(model)
    try:
        made_by = infer_provider_class(provider or "").__init__
    except (ValueError, ImportError):
        return ()
    constants = getattr(getattr(made_by, "__code__", None), "co_consts", ())
    named = (c for c in constants if isinstance(c, str) and _VARIABLE.fullmatch(c))
    return tuple(dict.fromkeys(named))
