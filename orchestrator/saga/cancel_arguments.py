"""Arguments of cancel tools, filled by contracts, and the obligations that a planner's mean.

A contract fills them from the call and its answer. A cancel that a planner makes identifies its
obligation by the same inputs.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.call_templates import fill_template, is_version
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import listed_expression, parse_filling, value_read
from orchestrator.catalog.prices import states_price, takes_money
from orchestrator.catalog.tool import Compensation, Effect, Tool, ToolCallTemplate
from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef, StatedCancel
from orchestrator.core.record import JsonObject
from orchestrator.saga.obligation import CancelCall, Obligation

_BEGINS_WITH_A_NUMBER = re.compile(r"\s*[-+]?[.,]?\d")


def cancel_arguments(
    tool: Tool,
    arguments: JsonObject,
    *,
    idempotency_key: str | None,
    response_body: JsonValue = None,
    response_headers: Mapping[str, str] = {},
    called: Tool | None = None,
) -> JsonObject:
    """Return the inputs of the tool's cancel, as far as this call and its answer fill them.

    `called` is the cancel tool, whose path says which part of an address is an id.
    """
    if tool.compensation is None:
        return {}
    return fill_template(
        tool.compensation.cancel,
        tool=tool,
        arguments=arguments,
        idempotency_key=idempotency_key,
        response_body=response_body,
        response_headers=response_headers,
        called=called,
    )


def answered_arguments(tool: Tool, body: JsonValue, headers: Mapping[str, str] = {}) -> JsonObject:
    """Return the inputs of the tool's cancel that its answer alone fills, without empty ones."""
    filled = cancel_arguments(
        tool, {}, idempotency_key=None, response_body=body, response_headers=headers
    )
    template = tool.compensation.cancel.arguments if tool.compensation is not None else {}
    return {
        name: value
        for name, value in filled.items()
        if value not in (None, "", [], {})
        and parse_filling(template[name]).expressions
        and not is_version(name)
    }


def names_in(catalog: Catalog, cancel: Tool, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a cancel that identify its obligation; empty if they do not.

    They are the inputs that the contract fills from a call. Alone they must make a valid cancel: a
    currency that two bookings share identifies neither. A call that states an amount to cancel, in
    an input that the contract does not fill, identifies none either: a part is not the whole. Nor
    does one of several calls that cancel together.
    """
    forward = catalog.tools.get(cancel.cancel_for or "")
    if forward is None or forward.compensation is None or forward.compensation.then:
        return {}
    template = forward.compensation.cancel
    filled = {n for n, value in template.arguments.items() if parse_filling(value).expressions}
    given = {name: value for name, value in arguments.items() if name in filled}
    names = {name: value for name, value in given.items() if not is_version(name)}
    others = [value for name, value in arguments.items() if name not in template.arguments]
    constants = {n: v for n, v in template.arguments.items() if n not in filled}
    if any(map(_says_how_much, others)):
        return {}
    return {} if check_arguments(catalog, cancel, {**constants, **given}) else names


def answered_inputs(catalog: Catalog, cancel: Tool) -> frozenset[str]:
    """Return the inputs of a cancel that its contract fills, at least in part, from the answer."""
    forward = catalog.tools.get(cancel.cancel_for or "")
    if forward is None or forward.compensation is None:
        return frozenset()
    return frozenset(
        name
        for name, value in forward.compensation.cancel.arguments.items()
        if any(read.message == "response" for read in parse_filling(value).expressions)
    )


def names_in_answers(catalog: Catalog, cancel: Tool, arguments: JsonObject) -> JsonObject:
    """Return the identifying arguments of a cancel by the property names of answers.

    The contract that fills `booking` from `$response.body#/id` says that answers call it `id`.
    """
    forward = catalog.tools.get(cancel.cancel_for or "")
    if forward is None or forward.compensation is None:
        return {}
    named: JsonObject = {}
    for name, template in forward.compensation.cancel.arguments.items():
        if name not in arguments or arguments[name] in (None, "", [], {}) or is_version(name):
            continue
        read = parse_filling(template).expressions
        if read:
            named[name] = arguments[name]
        if len(read) == 1 and read[0].source == "body" and read[0].path:
            named[read[0].path[-1]] = value_read(template, arguments[name])
    return named


def probe_for(
    catalog: Catalog, cancel: Tool, arguments: JsonObject
) -> tuple[Tool, JsonObject] | None:
    """Return the declared probe that shows a cancel's subject, and its inputs, or None.

    Two inputs that the contract fills by the same expression have the same value.
    """
    forward = catalog.tools.get(cancel.cancel_for or "")
    if forward is None or forward.compensation is None or forward.compensation.probe is None:
        return None
    template, probe = forward.compensation.cancel, forward.compensation.probe
    tool = catalog.tools.get(probe.tool)
    if tool is None or tool.is_side_effect:
        return None
    known = {
        listed_expression(value) or str(value): value_read(value, arguments[name])
        for name, value in template.arguments.items()
        if name in arguments and parse_filling(value).expressions
    }
    filled = {
        name: known[str(value)] if parse_filling(value).expressions else value
        for name, value in probe.arguments.items()
        if not parse_filling(value).expressions or str(value) in known
    }
    is_asked_of_it = any(str(value) in known for value in probe.arguments.values())
    return (tool, filled) if is_asked_of_it and not check_arguments(catalog, tool, filled) else None


def _says_how_much(value: JsonValue) -> bool:
    """Return True for a possible amount or list of parts; words and switches are neither."""
    if isinstance(value, str):
        return _BEGINS_WITH_A_NUMBER.match(value) is not None
    return value is not None and not isinstance(value, bool)


def tool_of(catalog: Catalog, obligation: Obligation) -> Tool:
    """Return the tool of an obligation, cancelled as its workflow declares if it does."""
    tool = catalog.tool(obligation.tool)
    return tool if obligation.contract is None else cancelled_by(tool, obligation.contract)


def cancelled_by(tool: Tool, stated: StatedCancel) -> Tool:
    """Return a tool with the cancel that a written workflow states."""
    template = ToolCallTemplate(tool=stated.tool, arguments=stated.arguments)
    contract = Compensation(cancel=template)
    return tool.model_copy(update={"compensation": contract, "effect": Effect.OBLIGATION})


def draft_obligation(
    call: CallRef,
    tool: Tool,
    arguments: JsonObject,
    *,
    now: datetime,
    essence: str = "",
    verify_cancel: bool = True,
    fee: Money | None = None,
    agreed: JsonObject | None = None,
    has_price: bool = False,
) -> Obligation:
    """Return the ledger entry of a side-effect call, with the cancel arguments of its request.

    The leg sets the times when it writes the entry; `essence` is equal for calls that repeat it,
    `verify_cancel` is the mission's policy, `fee` the possible cost of cancelling, `agreed` the
    days of the request, `has_price` True if more than the document says that the call costs
    something.
    """
    contract = tool.compensation
    limits: dict[str, Any] = {}
    if contract is not None:
        limits["cancel_timeout"] = contract.timeout
        limits["cancel_max_attempts"] = contract.max_attempts
        limits["cancel_window"] = contract.window
        limits["on_failure"] = contract.on_failure
    key = tool.key_of(call.key)
    return Obligation(
        obligation_id=call.call_id,
        origin=call.origin,
        mission_id=call.mission_id,
        leg_id=call.leg_id,
        tool=call.tool,
        cancel_tool=contract.cancel.tool if contract else None,
        catalog_digest=call.catalog_digest,
        arguments=arguments,
        essence=essence,
        idempotency_key=key,
        title=tool.title,
        agreed=agreed or {},
        spends=takes_money(tool),
        has_price=has_price or states_price(tool),
        cancel_inputs=cancel_arguments(tool, arguments, idempotency_key=key),
        verify_cancel=verify_cancel,
        fee=fee,
        written_at=now,
        deadline=now,
        **limits,
    )


def draft_cancel(
    call: CallRef, catalog: Catalog, arguments: JsonObject, *, now: datetime
) -> CancelCall:
    """Return the ledger entry of a leg's own call of a cancel tool."""
    tool = catalog.tool(call.tool)
    return CancelCall(
        call_id=call.call_id,
        tool=call.tool,
        arguments=arguments,
        names=names_in(catalog, tool, arguments),
        idempotency_key=tool.key_of(call.key),
        written_at=now,
    )
