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


def place_arguments(tool: Tool, arguments: JsonObject, *, body_required: bool) -> Placement:
    """Sort the arguments by the tool's bindings.

    Args:
        tool: whose bindings say where each input goes.
        arguments: by input name; an optional parameter that is null is left out, for no style
            can write it.
        body_required: whether an empty object is sent when no argument belongs to the body.
    """
    given = [(b, arguments[b.name]) for b in tool.bindings if b.name in arguments]
    parameters = [(b, value) for b, value in given if b.location != "body" and value is not None]
    in_body = [(b, value) for b, value in given if b.location == "body"]
    whole = [value for b, value in in_body if not b.field]
    fields = {b.field: value for b, value in in_body if b.field}
    return Placement(
        parameters=tuple(parameters),
        body=whole[0] if whole else fields,
        has_body=bool(in_body) or (body_required and tool.body_content_type is not None),
    )
