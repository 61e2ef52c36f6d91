"""Credentials for a sandbox, which takes any: one for each scheme that documents declare."""

from collections.abc import Iterator, Mapping

from orchestrator.core.record import JsonObject
from orchestrator.core.secret_names import secret_for_scheme, variable_of

_MADE_UP = "sandbox"
_MADE_UP_PAIR = "sandbox:sandbox"
"""What basic authentication is made of: a user and a password."""


def sandbox_credentials(documents: Mapping[str, JsonObject]) -> dict[str, str]:
    """Environment variables, each with a made-up value, so that every declared scheme is filled."""
    return {
        variable_of(secret_for_scheme(name, scheme).name): (
            _MADE_UP_PAIR if _is_basic(declared) else _MADE_UP
        )
        for name, document in documents.items()
        for scheme, declared in _schemes(document)
    }


def _schemes(document: JsonObject) -> Iterator[tuple[str, object]]:
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    yield from schemes.items() if isinstance(schemes, dict) else ()


def _is_basic(declared: object) -> bool:
    return isinstance(declared, dict) and str(declared.get("scheme", "")).lower() == "basic"
