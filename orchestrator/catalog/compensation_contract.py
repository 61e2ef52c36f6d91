"""The compensation of an obligation, read from x-orchet-cancels and x-orchet-compensation-*."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from pydantic import TypeAdapter

from orchestrator.catalog.call_templates import expressions_of, input_read, reads_only_response
from orchestrator.catalog.contract import input_name, read_conditions
from orchestrator.catalog.declared_prices import read_fee
from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.catalog.tool_names import Peers
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import matches_pattern
from orchestrator.json_schema.references import format_pointer
from orchestrator.json_schema.walker import alternatives_of, properties_of, types_of

ARGS = "x-orchet-compensation-args"
PROBE = "x-orchet-compensation-probe"
GONE_WHEN = "gone-when"
"""Key of a probe's declaration: conditions that show a cancelled resource."""
SETTLES_AFTER = "settles-after"
"""Key of a probe's declaration: time in which a call may still take effect."""
_PREFIX = "x-orchet-compensation-"
_DURATION = TypeAdapter(timedelta)
_WORDS = re.compile(r"[a-z]+")
_REFERENCE_WORDS = frozenset(
    {"correlation", "ref", "reference", "references", "referenceid", "requestid"}
)
_OWN_REFERENCE = re.compile(
    r"(?:(?:client|caller|own|partner|merchant|external|request|correlation|transaction)_?"
    r"(?:reference|ref|id|token|key)|reference|ref|correlation)(?:_?id)?"
)
"""Names that mean the caller's own reference, for any resource."""
_SAMPLE_CALL_ID = "mission-7f3a9c2e4b1d.1-flights.12"
_ROOM_FOR_CALL_ID = 64


def read_compensation(operation: Operation, tool: Tool, peers: Peers) -> Compensation | None:
    """Return the compensation of a tool, or None if it declares no cancel tool.

    `tool` is the compiled operation; `peers` are the tools of the same document.

    Raises:
        DocumentInvalid: the cancel or probe tool is not in the document or was skipped, or the
            currency of the fee does not exist.
    """
    cancels = operation.node.at("x-orchet-cancels")
    if cancels is None:
        return None
    args, probe = operation.node.at(ARGS), operation.node.at(PROBE)
    first, *rest = cancels.elements() if isinstance(cancels.value, list) else [cancels]
    cancel = peers.named(first)
    template = _template(cancel, args, tool)
    given: dict[str, Any] = {}
    before, then = cancel, list[ToolCallTemplate]()
    for step in rest:
        # `$response` is the answer to the previous call.
        called = peers.named(step if isinstance(step.value, str) else step.require("operationId"))
        then.append(_template(called, step.at("args"), before))
        before = called
    if then:
        given["then"] = tuple(then)
    if probe is not None:
        named = probe if isinstance(probe.value, str) else probe.require("operationId")
        given["probe"] = _template(peers.named(named), probe.at("args"), tool, answered=False)
        gone = probe.at(GONE_WHEN)
        given["gone_when"] = read_conditions(gone) if gone is not None else ()
        if (settles := probe.at(SETTLES_AFTER)) is not None:
            given["settles_after"] = _duration(settles)
    for name, read in _SETTINGS.items():
        if (setting := operation.node.at(f"{_PREFIX}{name}")) is not None:
            given[name.replace("-", "_")] = read(setting)
    return Compensation(cancel=template, **given)


def _template(
    called: Tool, args: DocumentNode | None, tool: Tool, *, answered: bool = True
) -> ToolCallTemplate:
    """Return a call whose inputs are filled as declared, else from equally named values of `tool`.

    The values come from its answer or its request. The answer wins, because its ids are the
    provider's; a client reference is read from the request, where it is known even if the answer is
    lost.
    """
    if args is not None:
        given = {input_name(name, called.bindings): a.value for name, a in args.raw_items()}
        return ToolCallTemplate(tool=called.name, arguments=given)
    answer = properties_of(tool.output_schema or {}) if answered else {}
    matched: JsonObject = {}
    for binding in called.bindings:
        name = binding.field or binding.name
        sent = [
            f"$request.body#{format_pointer((b.field,))}"
            if b.location == "body"
            else f"$request.{b.location}.{b.field}"
            for b in tool.bindings
            if b.field and name in (b.field, b.name) and b.location != "cookie"
        ]
        if name in answer and not (sent and is_own_reference(name)):
            matched[binding.name] = f"$response.body#{format_pointer((name,))}"
        elif sent:
            matched[binding.name] = sent[0]
    return ToolCallTemplate(tool=called.name, arguments=matched)


def reference_inputs(tool: Tool, compensation: Compensation) -> tuple[str, ...]:
    """Return string inputs that the orchestrator may fill with the id of the call.

    The cancel or the probe reads them back, and their name means a reference that the caller
    chooses. For a required input this must be plain: `invoice_reference` names something that
    exists already.
    """
    read = {input_read(e, tool) for t in compensation.templates for e in expressions_of(t)}
    found: list[str] = []
    for name, schema in sorted(tool.properties.items()):
        mentions_it = not _REFERENCE_WORDS.isdisjoint(_WORDS.findall(_snake(name)))
        is_ours = is_own_reference(name) or (mentions_it and name not in tool.required_inputs)
        longest, pattern = schema.get("maxLength"), schema.get("pattern")
        is_long = not isinstance(longest, int) or longest >= _ROOM_FOR_CALL_ID
        is_plain = {"enum", "const", "format"}.isdisjoint(schema) and "string" in types_of(schema)
        if not (is_ours and is_plain and is_long and name in read and name not in tool.pii_fields):
            continue
        with suppress(ValueError):
            if not isinstance(pattern, str) or matches_pattern(pattern, _SAMPLE_CALL_ID):
                found.append(name)
    return tuple(found)


def is_lost_with_its_answer(tool: Tool, compensation: Compensation, cancel: Tool) -> bool:
    """Return True if nothing can cancel a call whose answer was lost.

    This is so if the request does not fill the inputs that the cancel requires, no probe finds the
    resource by the request, and the call cannot be sent again because it has no key.
    """
    if tool.idempotency_key is not None:
        return False
    if compensation.probe is not None and not reads_only_response(compensation.probe):
        return False
    if reads_only_response(compensation.cancel):
        return True
    known = {
        name
        for name, value in compensation.cancel.arguments.items()
        if all(e.message != "response" for e in parse_filling(value).expressions)
    }
    alternatives = alternatives_of(cancel.input_schema) or [()]
    is_met = known.issuperset(cancel.required_inputs)
    return not is_met or not any(map(known.issuperset, alternatives))


def is_own_reference(name: str) -> bool:
    """Return True if a name means the caller's own reference, e.g. client_reference."""
    return _OWN_REFERENCE.fullmatch(_snake(name)) is not None


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return spaced.replace("-", "_").lower()


def _duration(setting: DocumentNode) -> timedelta:
    """Read seconds, or an ISO 8601 duration of days and less: months have no fixed length."""
    value = setting.value
    return _DURATION.validate_python(value if isinstance(value, str) else float(str(value)))


_SETTINGS: Final[Mapping[str, Callable[[DocumentNode], object]]] = {
    "fee": read_fee,
    "timeout": _duration,
    "max-attempts": lambda setting: setting.value,
    "window": _duration,
    "on-failure": lambda setting: setting.value,
}
"""Reader of each setting; Compensation has a field of that name, with a default."""
