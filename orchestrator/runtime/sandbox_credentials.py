"""Credentials for a sandbox, which takes any: one for each scheme that documents declare."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from orchestrator.catalog.contract import bare_credentials
from orchestrator.catalog.operations import operations
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.core.secret_names import secret_for_scheme, variable_of
from orchestrator.json_schema.document import DocumentNode

_MADE_UP = "sandbox"
_MADE_UP_PAIR = "sandbox:sandbox"
"""What basic authentication is made of: a user and a password."""


def sandbox_credentials(documents: Mapping[str, JsonObject]) -> dict[str, str]:
    """Return environment variables that fill each declared scheme and each bare credential."""
    bare = {
        variable_of(secret_for_scheme(name, parameter).name): _MADE_UP
        for name, document in documents.items()
        for parameter in _bare(name, document)
    }
    return bare | {
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


def _bare(name: str, document: JsonObject) -> Iterator[str]:
    """Yield the parameters of a document's tools that are credentials without a scheme."""
    # What cannot be read is reported where the document is compiled.
    with suppress(DocumentInvalid):
        for operation in operations(DocumentNode.of(name, document)):
            with suppress(DocumentInvalid):
                if operation.is_tool:
                    yield from (p.require("name").text() for p in bare_credentials(operation))


def _is_basic(declared: object) -> bool:
    return isinstance(declared, dict) and str(declared.get("scheme", "")).lower() == "basic"
