"""Read a probe's answer about one obligation: it stands, it is gone, or nothing is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from orchestrator.catalog.call_templates import input_read, is_version
from orchestrator.catalog.catalog import GONE, Catalog, declares_gone
from orchestrator.catalog.compensation_contract import is_own_reference
from orchestrator.catalog.expressions import (
    Condition,
    all_hold,
    parse_conditions,
    parse_filling,
    value_read,
)
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow
from orchestrator.json_schema.walker import COMPOSITIONS, properties_of, required_of, subschemas
from orchestrator.saga.answer_names import DEEPEST, Shown, can_be_compared, named_in
from orchestrator.saga.outcome import ToolOutcome


@dataclass(frozen=True)
class ProbeAnswer:
    """A probe's answer about an obligation."""

    says: Literal["held", "gone", "nothing", "another", "refused"]
    """The result: held or gone, or one of three that settle nothing.

    `nothing`: the answer settles nothing, but a later one may. `another`: nothing shows that the
    answer is about this obligation. `refused`: the probe itself was refused.
    """
    why: str = ""
    body: JsonValue = None
    """The whole answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    found: JsonValue = None
    """The part of the answer about the obligation."""
    names_it: bool = False
    """It repeats a name of the obligation alone: the call has arrived, whatever followed."""


@dataclass(frozen=True)
class OwnNames:
    """The names that belong to one obligation alone."""

    named: Mapping[str, JsonValue]
    """By names that an answer may use: the request's reference and key, and the provider's ids."""
    is_asked_by: bool
    """True if the probe is asked for one of them."""
    is_promised: bool = False
    """True if the probe's document promises one of them in its answers."""


def can_verify_gone(catalog: Catalog, contract: Compensation) -> bool:
    """Return True if the document says how an answer of the probe shows that nothing is there."""
    if contract.probe is None:
        return False
    probe = catalog.tools.get(contract.probe.tool)
    return bool(contract.gone_when) or (probe is not None and declares_gone(catalog, probe))


def read_probe(outcome: ToolOutcome, own: OwnNames, contract: Compensation) -> ProbeAnswer:
    """Read an answer of the probe; an answer about something else says nothing."""
    why, body = outcome.why, outcome.body
    if outcome.kind == "rejected" and outcome.status in GONE:
        if outcome.declared:
            return ProbeAnswer("gone", why)
        return ProbeAnswer("nothing", f"{why}, in a form that its document does not declare")
    if outcome.kind != "succeeded":
        return ProbeAnswer("refused" if outcome.kind == "rejected" else "nothing", why)
    conditions = parse_conditions(contract.gone_when)
    ours, differs = named_in(body, own.named)
    if differs is not None:
        return ProbeAnswer("nothing", f"it answers about another {differs} than was asked for")
    standing: Shown | None = None
    for shown in ours or [Shown((), body)]:
        here = [_of_ours(one, shown.path, body) for one in conditions]
        gone, at_fault = all_hold(here, status=outcome.status, headers={}, body=body)
        if conditions and gone is None:
            return ProbeAnswer("nothing", f"whether {at_fault} does not follow from its answer")
        standing = standing or (None if conditions and gone else shown)
    if standing is None:
        why = f"it answers that {' and '.join(contract.gone_when)}"
        return ProbeAnswer("gone", why, names_it=bool(ours))
    if not ours and not own.is_asked_by:
        return ProbeAnswer("another", "nothing in it says that it is about this call")
    if not ours and not conditions:
        read = [
            expression.path
            for value in contract.cancel.arguments.values()
            for expression in parse_filling(value).expressions
            if expression.message == "response" and expression.source == "body"
        ]
        shows_it = not read or any(_at(body, path) not in (None, "", [], {}) for path in read)
        if own.is_promised or not shows_it:
            return ProbeAnswer("nothing", "it shows nothing that is about this call")
    return ProbeAnswer(
        "held", body=body, headers=outcome.headers, found=standing.value, names_it=bool(ours)
    )


def _of_ours(condition: Condition, path: Sequence[str], body: JsonValue) -> Condition:
    """Return the condition, read from our element of a list if it names one by its place."""
    if condition.reading is None:
        return condition
    read: list[str] = []
    for step, ours in zip(condition.reading.path, path, strict=False):
        in_list = step != ours and isinstance(_at(body, read), list)
        if step != ours and not in_list:
            break
        read.append(ours)
    rest = condition.reading.path[len(read) :]
    return replace(condition, reading=replace(condition.reading, path=(*read, *rest)))


def _at(body: JsonValue, path: Sequence[str]) -> JsonValue:
    try:
        return follow(body, path)
    except LookupError:
        return None


def own_names(catalog: Catalog, tool: Tool, *, asked: JsonObject, known: JsonObject) -> OwnNames:
    """Return the known names that belong to an obligation alone."""
    contract = tool.compensation
    if contract is None or contract.probe is None:
        return OwnNames({}, is_asked_by=False)
    by_asking = _own_of(catalog, tool, contract.probe, asked)
    named = {**_own_of(catalog, tool, contract.cancel, known), **by_asking}
    probe = catalog.tools.get(contract.probe.tool)
    promised = set(_promised(probe.output_schema if probe is not None else None))
    return OwnNames(named, bool(by_asking), is_promised=not promised.isdisjoint(named))


def _promised(schema: JsonValue, *, levels: int = DEEPEST, listed: bool = False) -> Iterator[str]:
    """Yield the properties that an answer is promised to have.

    In a list these are all possible properties of its elements: an answer that shows the obligation
    shows an element.
    """
    if not isinstance(schema, dict) or levels < 0:
        return
    required = required_of(schema)
    for name, inner in properties_of(schema).items():
        if listed or name in required:
            yield name
        yield from _promised(inner, levels=levels - 1, listed=listed)
    yield from _promised(schema.get("items"), levels=levels - 1, listed=True)
    for part in subschemas(schema, COMPOSITIONS):
        yield from _promised(part, levels=levels - 1, listed=listed)


def _own_of(
    catalog: Catalog, tool: Tool, template: ToolCallTemplate, filled: JsonObject
) -> dict[str, JsonValue]:
    """Return the values of a call that are the obligation's own, by every name in the contract."""
    named: dict[str, JsonValue] = {}
    called = catalog.tools.get(template.tool)
    for name, written in template.arguments.items():
        read, value = parse_filling(written).expressions, value_read(written, filled.get(name))
        if len(read) != 1 or is_version(name) or not can_be_compared(value):
            continue
        one = read[0]
        is_key = len(one.path) == 1 and tool.reads_key(one.source, one.path[0])
        if one.message != "response" and not is_key:
            given = input_read(one, tool)
            if given is None:
                continue
            if given not in tool.reference_inputs and not is_own_reference(one.path[-1]):
                continue
        fields = [b.field for b in called.bindings if b.name == name] if called else []
        last = read[0].path[-1:] if read[0].source != "header" else ()
        named |= dict.fromkeys([name, *filter(None, fields), *last], value)
    return named
