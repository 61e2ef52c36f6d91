"""A tool's arguments sorted to their places in a request."""

from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.core.record import JsonObject


@dataclass(frozen=True)
class Placement:
    """Which value goes where, nothing written yet."""

    parameters: tuple[tuple[InputBinding, JsonValue], ...] = ()
    """Path, query, header and cookie parameters."""
    body: JsonValue = None
    has_body: bool = False


def place_arguments(
    tool: Tool, arguments: JsonObject, *, body_required: bool, key: str | None = None
) -> Placement:
    """Sort the arguments by the tool's bindings, and put the idempotency key into its field.

    Args:
        tool: whose bindings say where each input goes.
        arguments: by input name; an optional parameter that is null is left out, for no style
            can write it.
        body_required: whether an empty object is sent when no argument belongs to the body.
        key: the idempotency key, if the call carries one.
    """
    given = [(b, arguments[b.name]) for b in tool.bindings if b.name in arguments]
    parameters = [(b, value) for b, value in given if b.location != "body" and value is not None]
    in_body = [(b, value) for b, value in given if b.location == "body"]
    if (taken := tool.idempotency_key) is not None and key is not None:
        style = "form" if taken.location == "query" else "simple"
        place = InputBinding(
            name=taken.field, location=taken.location, field=taken.field, style=style
        )
        (in_body if taken.location == "body" else parameters).append((place, key))
    whole = [value for b, value in in_body if not b.field]
    fields = {b.field: value for b, value in in_body if b.field}
    return Placement(
        parameters=tuple(parameters),
        body=whole[0] if whole else fields,
        has_body=bool(in_body) or (body_required and tool.body_content_type is not None),
    )
