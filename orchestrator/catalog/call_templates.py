"""Calls of cancel tools and probes, filled from a forward call and its answer."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from orchestrator.catalog.expressions import Expression, Filling, follow_or_none, parse_filling
from orchestrator.catalog.tool import Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject


def fill_template(
    template: ToolCallTemplate,
    *,
    tool: Tool,
    arguments: JsonObject,
    idempotency_key: str | None,
    response_body: JsonValue,
    response_headers: Mapping[str, str],
) -> JsonObject:
    """Return the arguments of the template's tool, without those whose expressions find nothing.

    Args:
        template: the cancel or probe call of a contract.
        tool: the tool that was called, whose bindings locate its inputs.
        arguments: what it was called with, by input name.
        idempotency_key: the key that the call carried, if it takes one.
        response_body: the answer; None when there is none.
        response_headers: names in any case.
    """
    headers = {name.lower(): value for name, value in response_headers.items()}

    def read(expression: Expression) -> JsonValue:
        if expression.message == "request":
            return _read_request(expression, tool, arguments, idempotency_key)
        if expression.source == "header":
            return headers.get(expression.path[0].lower())
        return follow_or_none(response_body, expression.path)

    filled = {name: _fill(parse_filling(v), read) for name, v in template.arguments.items()}
    return {name: value for name, value in filled.items() if value is not None}


def _fill(filling: Filling, read: Callable[[Expression], JsonValue]) -> JsonValue:
    values = [read(part) if isinstance(part, Expression) else part for part in filling.parts]
    if len(values) == 1:
        return [values[0]] if filling.is_listed and values[0] is not None else values[0]
    if any(value is None or isinstance(value, dict | list) for value in values):
        return None
    return "".join(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


def _read_request(
    expression: Expression, tool: Tool, arguments: JsonObject, idempotency_key: str | None
) -> JsonValue:
    if len(expression.path) == 1 and tool.reads_key(expression.source, expression.path[0]):
        return tool.key_of(idempotency_key) if idempotency_key is not None else None
    if expression.source == "body":
        return follow_or_none(_sent_body(tool, arguments), expression.path)
    wanted = input_read(expression, tool)
    return arguments.get(wanted) if wanted is not None else None


def _sent_body(tool: Tool, arguments: JsonObject) -> JsonValue:
    fields = [b for b in tool.bindings if b.location == "body" and b.name in arguments]
    for binding in fields:
        if not binding.field:
            return arguments[binding.name]
    return {binding.field: arguments[binding.name] for binding in fields} or None


def input_read(expression: Expression, tool: Tool) -> str | None:
    """Return the input of `tool` that the expression reads whole, or None.

    >>> input_read(parse_expression("$request.body#/client_reference"), tool)
    'client_reference'
    """
    if expression.message != "request" or len(expression.path) != 1:
        return None
    name, source = expression.path[0], expression.source
    for binding in tool.bindings:
        is_header = source == "header" and binding.field.lower() == name.lower()
        if binding.location == source and (binding.field == name or is_header):
            return binding.name
    return None


def reads_only_response(template: ToolCallTemplate) -> bool:
    """Return True if the template reads only the answer, so a lost answer leaves it unfilled."""
    expressions = expressions_of(template)
    return bool(expressions) and all(e.message == "response" for e in expressions)


def response_headers_read(tool: Tool) -> frozenset[str]:
    """Return the lower-case names of the answer's headers that the tool's compensation reads."""
    return frozenset(
        expression.path[0].lower()
        for template in (tool.compensation.templates if tool.compensation is not None else ())
        for expression in expressions_of(template)
        if expression.message == "response" and expression.source == "header"
    )


def expressions_of(template: ToolCallTemplate) -> tuple[Expression, ...]:
    """Return every expression in the template's arguments.

    Raises:
        ValueError: one of them is malformed.
    """
    return tuple(
        expression
        for value in template.arguments.values()
        for expression in parse_filling(value).expressions
    )
