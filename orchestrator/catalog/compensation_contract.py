"""The compensation of an obligation, read from x-orchet-cancels and x-orchet-compensation-*."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from orchestrator.catalog.contract import input_name
from orchestrator.catalog.expressions import expressions_of, input_read, parse_filling
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Compensation, InputBinding, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import matches_pattern
from orchestrator.json_schema.pointer import format_pointer
from orchestrator.json_schema.walker import properties_of

_PREFIX = "x-orchet-compensation-"
_DURATION = TypeAdapter(timedelta)
_TIME = (
    r"T(?=[0-9])(?:[0-9]{1,4}H)?(?:[0-9]{1,4}M)?(?:[0-9]{1,4}(?:\.[0-9]{1,3})?S)?"  # T1H30M, T0.5S
)
_ISO_8601 = re.compile(rf"P(?=.*[1-9])(?:[0-9]{{1,4}}W|[0-9]{{1,4}}D(?:{_TIME})?|{_TIME})")
_SHORTEST_S, _LONGEST_S = 0.001, 864_000_000
"""10,000 days: nothing is tried for longer, and far below what a timedelta holds."""
_WORDS = re.compile(r"[a-z]+")
_REFERENCE_WORDS = frozenset(
    {"correlation", "ref", "reference", "references", "referenceid", "requestid"}
)
_OWN_REFERENCE = re.compile(
    r"(?:(?:client|caller|own|partner|merchant|external|request|correlation|transaction)_?"
    r"(?:reference|ref|id|token|key)|reference|ref|correlation)(?:_?id)?"
)
"""Names that mean the caller's own reference, whatever the resource."""
_SAMPLE_CALL_ID = "mission-7f3a9c2e4b1d.1-flights.12"
_ROOM_FOR_CALL_ID = 64


def read_compensation(
    operation: Operation, tool: Tool, tools: Mapping[str, Tool]
) -> Compensation | None:
    """The compensation of a tool; None when it declares no cancel tool.

    Args:
        operation: where the contract stands.
        tool: the operation, compiled.
        tools: the tools of the same document, by name.

    Raises:
        DocumentInvalid: the cancel or probe tool is not in the document, an expression is
            malformed, or a value is not what its key takes.
    """
    cancels = operation.node.at("x-orchet-cancels")
    if cancels is None:
        return None
    on_failure = _setting(operation, "on-failure")
    max_attempts = _setting(operation, "max-attempts")
    defaults = Compensation(cancel=_cancel(operation, cancels, tool, tools))
    return Compensation(
        cancel=defaults.cancel,
        probe=_probe(operation, tool, tools),
        timeout=_duration(_setting(operation, "timeout")) or defaults.timeout,
        max_attempts=_attempts(max_attempts) if max_attempts else defaults.max_attempts,
        window=_duration(_setting(operation, "window")),
        on_failure=_on_failure(on_failure) if on_failure else defaults.on_failure,
    )


def _setting(operation: Operation, name: str) -> DocumentNode | None:
    return operation.node.at(_PREFIX + name)


def _cancel(
    operation: Operation, cancels: DocumentNode, tool: Tool, tools: Mapping[str, Tool]
) -> ToolCallTemplate:
    cancel = _same_document_tool(cancels, tools)
    args = _setting(operation, "args")
    if args is not None:
        return _template(cancel, args)
    return ToolCallTemplate(tool=cancel.name, arguments=match_by_name(cancel, tool))


def _probe(operation: Operation, tool: Tool, tools: Mapping[str, Tool]) -> ToolCallTemplate | None:
    declared = _setting(operation, "probe")
    if declared is None:
        return None
    named = declared if isinstance(declared.value, str) else declared.require("operationId")
    for key, place in declared.raw_items() if named is not declared else ():
        if key not in ("operationId", "args"):
            raise place.invalid("a probe is an operationId, or an object of operationId and args")
    probe = _same_document_tool(named, tools)
    args = declared.at("args")
    if args is not None:
        return _template(probe, args)
    return ToolCallTemplate(tool=probe.name, arguments=match_by_name(probe, tool, answered=False))


def _same_document_tool(name: DocumentNode, tools: Mapping[str, Tool]) -> Tool:
    found = tools.get(name.text())
    if found is None:
        raise name.invalid(f"no tool of this document is called {name.text()!r}")
    return found


def _template(called: Tool, args: DocumentNode) -> ToolCallTemplate:
    arguments: JsonObject = {}
    for name, place in args.raw_items():
        try:
            parse_filling(place.value)
        except ValueError as error:
            raise place.invalid(str(error)) from error
        arguments[input_name(name, called.bindings)] = place.value
    return ToolCallTemplate(tool=called.name, arguments=arguments)


def match_by_name(called: Tool, tool: Tool, *, answered: bool = True) -> JsonObject:
    """Expressions for the inputs of `called` that carry the name of something `tool` knows.

    The answer comes before the request, for its ids are the provider's; but a client reference is
    read from the request, where it is known even when the answer never came.

    Args:
        called: the cancel or probe tool.
        tool: the tool that was called before.
        answered: whether its answer may be read.
    """
    answer = properties_of(tool.output_schema or {}) if answered else {}
    matched: JsonObject = {}
    for binding in called.bindings:
        name = binding.field or binding.name
        sent = _request_expression(name, tool.bindings)
        if name in answer and not (sent is not None and is_own_reference(name)):
            matched[binding.name] = f"$response.body#{format_pointer((name,))}"
        elif sent is not None:
            matched[binding.name] = sent
    return matched


def _request_expression(name: str, bindings: tuple[InputBinding, ...]) -> str | None:
    for binding in bindings:
        if name in (binding.field, binding.name) and binding.field:
            if binding.location == "body":
                return f"$request.body#{format_pointer((binding.field,))}"
            if binding.location != "cookie":
                return f"$request.{binding.location}.{binding.field}"
    return None


def reference_inputs(tool: Tool, compensation: Compensation) -> tuple[str, ...]:
    """String inputs that the orchestrator may fill with the id of the call.

    They are read back to cancel or to probe, and their name says that they hold a reference which
    the caller makes up. A required one must say so plainly: `invoice_reference` names something
    that exists already.
    """
    templates = [t for t in (compensation.cancel, compensation.probe) if t is not None]
    read = {input_read(e, tool) for template in templates for e in expressions_of(template)}
    required = tool.required_inputs
    return tuple(
        name
        for name, schema in sorted(tool.properties.items())
        if name in read
        and name not in tool.pii_fields
        and _takes_call_id(schema)
        and (is_own_reference(name) or (name not in required and _mentions_reference(name)))
    )


def is_own_reference(name: str) -> bool:
    """Whether a name means a reference of the caller's own, e.g. client_reference."""
    return _OWN_REFERENCE.fullmatch(_snake(name)) is not None


def _mentions_reference(name: str) -> bool:
    return not _REFERENCE_WORDS.isdisjoint(_WORDS.findall(_snake(name)))


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return spaced.replace("-", "_").lower()


def _takes_call_id(schema: JsonObject) -> bool:
    kind, longest, pattern = schema.get("type"), schema.get("maxLength"), schema.get("pattern")
    if kind != "string" and not (isinstance(kind, list) and "string" in kind):
        return False
    if any(keyword in schema for keyword in ("enum", "const", "format")):
        return False
    if isinstance(longest, int) and longest < _ROOM_FOR_CALL_ID:
        return False
    return not isinstance(pattern, str) or _matches(pattern, _SAMPLE_CALL_ID)


def _matches(pattern: str, text: str) -> bool:
    try:
        return matches_pattern(pattern, text)
    except ValueError:
        return False


def _duration(setting: DocumentNode | None) -> timedelta | None:
    if setting is None:
        return None
    duration = _parse_duration(setting.value)
    if duration is None:
        raise setting.invalid(
            "a time is wanted: seconds above 0, or an ISO 8601 duration such as PT10S or P1D"
        )
    return duration


def _parse_duration(value: JsonValue) -> timedelta | None:
    """Seconds, or days and less in ISO 8601: months and years have no fixed length."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return _DURATION.validate_python(value) if _ISO_8601.fullmatch(value) else None
    return timedelta(seconds=value) if _SHORTEST_S <= value <= _LONGEST_S else None


def _attempts(setting: DocumentNode) -> int:
    attempts = setting.value
    # JSON knows no difference between 3 and 3.0.
    if isinstance(attempts, float) and attempts.is_integer():
        attempts = int(attempts)
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise setting.invalid("a whole number of attempts is wanted, 1 or more")
    return attempts


def _on_failure(setting: DocumentNode) -> Literal["park", "continue"]:
    if setting.value == "park":
        return "park"
    if setting.value == "continue":
        return "continue"
    raise setting.invalid("park or continue is wanted")
