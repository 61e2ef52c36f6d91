"""What a probe says of one obligation: that it stands, that it is gone, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.compensation_contract import is_own_reference
from orchestrator.catalog.conditions import all_hold, parse_conditions
from orchestrator.catalog.declared_statuses import GONE, declares_gone
from orchestrator.catalog.expressions import Expression, input_read, parse_filling
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome

_DEEPEST = 6
"""Levels of an answer in which the thing that is asked about is looked for."""


@dataclass(frozen=True)
class ProbeAnswer:
    """What a probe says of an obligation."""

    says: Literal["held", "gone", "nothing", "another", "refused"]
    """`nothing`: it settles nothing, but may when asked again. `another`: nothing shows that it
    speaks of this obligation. `refused`: the probe itself was."""
    why: str = ""
    body: JsonValue = None
    """The whole answer."""
    found: JsonValue = None
    """What of it is about the obligation."""


@dataclass(frozen=True)
class OwnNames:
    """What nothing but one obligation goes by."""

    named: Mapping[str, JsonValue]
    """By the names that an answer may have for it: the reference that the request carried, its
    key, and the ids that its provider gave it."""
    is_asked_by: bool
    """Whether the probe is asked for one of them."""


def tells_gone(catalog: Catalog, contract: Compensation) -> bool:
    """Whether the document says how an answer of the probe shows that nothing is there."""
    if contract.probe is None:
        return False
    probe = catalog.tools.get(contract.probe.tool)
    return bool(contract.gone_when) or (probe is not None and declares_gone(catalog, probe))


def read_probe(outcome: ToolOutcome, own: OwnNames, contract: Compensation) -> ProbeAnswer:
    """What an answer of the probe says; an answer about something else says nothing."""
    why = outcome.reason or f"HTTP {outcome.status}"
    if outcome.kind == "succeeded":
        return _read_success(outcome, own, contract)
    if outcome.kind == "rejected" and outcome.status in GONE:
        if outcome.declared:
            return ProbeAnswer("gone", why)
        return ProbeAnswer("nothing", f"{why}, in a form that its document does not declare")
    return ProbeAnswer("refused" if outcome.kind == "rejected" else "nothing", why)


def _read_success(outcome: ToolOutcome, own: OwnNames, contract: Compensation) -> ProbeAnswer:
    body, conditions = outcome.body, parse_conditions(contract.gone_when)
    found, differs = _named_in(body, own.named)
    if differs is not None:
        return ProbeAnswer("nothing", f"it answers about another {differs} than was asked for")
    gone, at_fault = all_hold(conditions, status=outcome.status, headers={}, body=body)
    if conditions and gone is None:
        return ProbeAnswer("nothing", f"whether {at_fault} cannot be told from its answer")
    if conditions and gone:
        return ProbeAnswer("gone", f"it answers that {' and '.join(contract.gone_when)}")
    if found is None and not own.is_asked_by:
        return ProbeAnswer("another", "nothing in it says that it is about this call")
    return ProbeAnswer("held", body=body, found=body if found is None else found)


def own_names(catalog: Catalog, tool: Tool, *, asked: JsonObject, known: JsonObject) -> OwnNames:
    """What an obligation alone goes by, as far as it is known.

    Args:
        catalog: the tool's.
        tool: the obligation's, which declares a probe.
        asked: the inputs of the probe.
        known: the inputs of the cancel.
    """
    contract = tool.compensation
    if contract is None or contract.probe is None:
        return OwnNames({}, is_asked_by=False)
    by_asking = _own_of(catalog, tool, contract.probe, asked)
    return OwnNames(
        {**_own_of(catalog, tool, contract.cancel, known), **by_asking}, bool(by_asking)
    )


def _own_of(
    catalog: Catalog, tool: Tool, template: ToolCallTemplate, filled: JsonObject
) -> dict[str, JsonValue]:
    """Of one call what is the obligation's own, by every name that the contract has for it."""
    named: dict[str, JsonValue] = {}
    called = catalog.tools.get(template.tool)
    for name, written in template.arguments.items():
        read, value = parse_filling(written).expressions, filled.get(name)
        if len(read) != 1 or not _can_be_compared(value) or not _is_own(read[0], tool):
            continue
        fields = [b.field for b in called.bindings if b.name == name] if called else []
        last = read[0].path[-1:] if read[0].source != "header" else ()
        named |= dict.fromkeys([name, *filter(None, fields), *last], value)
    return named


def _can_be_compared(value: JsonValue) -> bool:
    """Whether it is one id or reference; what stands for a personal value is not."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_plain and value != "" and not is_handle(value)


def _is_own(read: Expression, tool: Tool) -> bool:
    """Whether nothing else goes by what an expression reads."""
    if read.message == "response":
        return True
    header = tool.idempotency_header
    if read.source == "header" and header and read.path[0].lower() == header.lower():
        return True
    name = input_read(read, tool)
    return name is not None and (name in tool.reference_inputs or is_own_reference(read.path[-1]))


def _named_in(body: JsonValue, own: Mapping[str, JsonValue]) -> tuple[JsonValue, str | None]:
    """The object of an answer that goes by what is ours; else the name by which it is another's."""
    other: str | None = None
    level: list[JsonValue] = [body]
    for _ in range(_DEEPEST):
        inner: list[JsonValue] = []
        for held in level:
            named = [n for n in own if isinstance(held, dict) and held.get(n) is not None]
            if isinstance(held, dict) and any(_is_same(held[n], own[n]) for n in named):
                return held, None
            # What is inside of another's thing is another's.
            other = other or next(iter(named), None)
            inner += [] if named else _held(held)
        level = inner
    return None, other


def _held(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _is_same(answered: JsonValue, known: JsonValue) -> bool:
    """Whether two ids are one: numbers are often written as text."""
    return str(answered) == str(known)
