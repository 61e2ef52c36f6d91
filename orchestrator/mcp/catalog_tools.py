"""The tools of the catalog, each as a guarded tool of its own.

A call is a mission of that one call: it has the card, the ledger, the page and the record of any
mission, it survives this process, and `roll_back_mission` cancels it at any later time. The `_meta`
of a tool says how a call is cancelled: `recovery` in the form of SEP-3172, an open proposal for
annotations, which today's SDKs drop there; and the keywords of our contract, which say more.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from mcp import types
from pydantic import JsonValue

from orchestrator.catalog.call_templates import input_read
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import Expression, parse_filling
from orchestrator.catalog.tool import Compensation, Effect, Tool, ToolCallTemplate
from orchestrator.core.pii import handle_for, is_handle
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible, visible_json
from orchestrator.json_schema.references import format_pointer
from orchestrator.mcp.exchange import Exchange
from orchestrator.mcp.mission_answers import MissionAnswer
from orchestrator.mcp.mission_tools import MISSION_TOOLS, Outcome, followed, hints, refused
from orchestrator.messages.mission import LONGEST_GOAL, MissionRequest
from orchestrator.planning.llm.offered_schema import given_arguments
from orchestrator.planning.llm.offered_tools import offered_names
from orchestrator.planning.llm.prompt import reason_input, tool_description, tool_parameters
from orchestrator.planning.models import OneCall
from orchestrator.web import actions, sight
from orchestrator.web.api_operations import id_of_key
from orchestrator.web.problem_details import ProblemError

_WAIT_S: Final = 20.0
_CALL: Final = "call"
"""Prefix of the ids of missions that are one call of a client."""
_KEY_INPUTS: Final = ("idempotency_key", "idempotency_key_of_call")
"""Names of the input for the key; the second where a tool has an input of the first's name."""


class CatalogTools:
    """The tools of one catalog, by the names that clients use."""

    def __init__(self, catalog: Catalog) -> None:
        """Take the catalog; the names of the mission tools stay theirs."""
        named = offered_names(catalog.tools.values())
        self._tools = {name: one for name, one in named.items() if name not in MISSION_TOOLS}
        wire = {tool.name: name for name, tool in self._tools.items()}
        self.listed = [_listed(name, tool, wire) for name, tool in self._tools.items()]

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, catalog: Catalog) -> "CatalogTools":
        """Return the tools of a catalog, described once."""
        return cls(catalog)

    async def call(self, exchange: Exchange, name: str, arguments: JsonObject) -> Outcome:
        """Make a call, and return its answer, or what it waits for.

        Raises:
            ProblemError: there is no such tool, or a personal value was given in the open.
        """
        tool = self._tools.get(name)
        if tool is None:
            detail = f"there is no tool {visible(name[:80])!r}"
            raise ProblemError(HTTPStatus.NOT_FOUND, detail, code="ToolUnknown")
        if exchange.resumed.mission_id:  # it began before its person was led to a card
            outcome: Outcome = await exchange.settled(exchange.resumed.mission_id, _WAIT_S)
        else:
            request = _request(exchange, tool, dict(arguments))
            handle = await actions.start(exchange.service, exchange.person, request)
            outcome = await followed(exchange, handle, _WAIT_S)
        if isinstance(outcome, MissionAnswer):
            return await answer_of_call(exchange, outcome)
        return outcome


def _request(exchange: Exchange, tool: Tool, given: JsonObject) -> MissionRequest:
    key = given.pop(_key_input(tool), "") or exchange.key
    reason = str(given.pop(reason_input(tool), "") or "") if tool.is_side_effect else ""
    if not isinstance(key, str):
        raise refused(f"{_key_input(tool)} is a text")
    arguments = given_arguments(tool.input_schema, given)
    for name in tool.pii_fields:
        if name in arguments and not is_handle(arguments[name]):
            raise refused(
                f"{name} is personal: leave it out, or give its handle {handle_for(name)!r}; the "
                "person stores the value with: orchestrator pii NAME"
            )
    for name in set(tool.pii_fields) & set(tool.required_inputs):
        arguments.setdefault(name, handle_for(name))
    goal = f"{tool.title}: {reason}" if reason else tool.title
    return MissionRequest(
        goal=goal[:LONGEST_GOAL],
        call=OneCall(tool=tool.name, arguments=arguments),
        mission_id=id_of_key(exchange.person, _CALL, key or secrets.token_hex(16)),
        read_only=not tool.is_side_effect,
    )


def is_call(mission_id: str) -> bool:
    """Return True if a mission is one call of a client."""
    return mission_id.startswith(f"{_CALL}-")


async def answer_of_call(exchange: Exchange, answer: MissionAnswer) -> types.CallToolResult:
    """Return the provider's answer if the call was made, else why not, or what it waits for."""
    meta: JsonObject = {"mission_id": answer.mission_id, "status": answer.status}
    bodies: list[JsonValue] = []
    if answer.over and not answer.failed:
        view = await sight.seen_view(exchange.service, exchange.person, answer.mission_id)
        legs = view.result.legs if view.result is not None else ()
        bodies = [fact.body for leg in legs for fact in leg.facts]
    if not bodies:  # a person may have skipped the call, and nothing failed
        return types.CallToolResult(
            content=[types.TextContent(text=answer.markdown())],
            structured_content={**meta, "waits": [w.model_dump(mode="json") for w in answer.waits]},
            is_error=answer.over,
            meta=meta,
        )
    body = bodies[-1]
    return types.CallToolResult(
        content=[types.TextContent(text=visible_json(json.dumps(body, ensure_ascii=False)))],
        structured_content=body if isinstance(body, dict) else {"result": body},
        meta=meta,
    )


# -- descriptions ---------------------------------------------------------------------------------


def _listed(name: str, tool: Tool, wire: Mapping[str, str]) -> types.Tool:
    """Return a tool as clients list it."""
    schema = tool_parameters(tool)
    properties = {**schema.get("properties", {})}  # type: ignore[dict-item]
    if tool.is_side_effect:
        properties[_key_input(tool)] = {
            "type": "string",
            "description": "the same key makes one call, however often it is sent",
        }
    return types.Tool(
        name=name,
        title=tool.title,
        description=tool_description(tool),
        input_schema={**schema, "type": "object", "properties": properties},
        annotations=_annotations(tool),
        meta=dict(_declared(tool, wire)) or None,
    )


def _key_input(tool: Tool) -> str:
    return next(name for name in _KEY_INPUTS if name not in tool.properties)


def _annotations(tool: Tool) -> types.ToolAnnotations:
    """Return the hints of an effect: what a declared tool cancels destroys nothing."""
    if tool.effect is Effect.READ:
        return hints(reads=True)
    is_cancel = tool.effect is Effect.CANCEL
    return hints(destroys=tool.effect is not Effect.OBLIGATION, again=is_cancel)


def _declared(tool: Tool, wire: Mapping[str, str]) -> Iterator[tuple[str, JsonValue]]:
    """Yield what the contract says about confirming and cancelling a call."""
    if tool.card_type is not None:
        yield "x-orchet-requires-confirmation", tool.card_type
    if tool.irreversible:
        yield "x-orchet-irreversible", True
    if tool.cancel_for is not None:
        yield "x-orchet-cancel-for", wire.get(tool.cancel_for, tool.cancel_for)
    pair = tool.compensation
    if pair is None:
        return
    cancel = _in_terms_of(tool, pair.cancel, wire)
    yield "x-orchet-cancels", wire.get(pair.cancel.tool, pair.cancel.tool)
    if cancel is not None:
        yield "x-orchet-compensation-args", cancel["parameters"]
        if not pair.then:  # the proposal has one operation, and a part of a cancel is none
            yield "recovery", _recovery(tool, cancel)
    if pair.probe is not None and (probe := _in_terms_of(tool, pair.probe, wire)) is not None:
        named = {"operationId": probe["operationId"], "args": probe["parameters"]}
        yield "x-orchet-compensation-probe", named
    yield from _limits(pair)


def _recovery(tool: Tool, cancel: JsonObject) -> JsonObject:
    """Return a pair as SEP-3172 proposes, without references that only the orchestrator fills."""
    ours = {f"$request.body#{format_pointer((name,))}" for name in tool.reference_inputs}
    parameters = cancel["parameters"]
    named = parameters.items() if isinstance(parameters, dict) else ()
    kept: JsonObject = {name: value for name, value in named if value not in ours}
    operation: JsonObject = {"operationId": cancel["operationId"], "parameters": kept}
    return {"strategy": "compensation", "compensatingOperation": operation}


def _limits(pair: Compensation) -> Iterator[tuple[str, JsonValue]]:
    yield "x-orchet-compensation-timeout", pair.timeout.total_seconds()
    yield "x-orchet-compensation-max-attempts", pair.max_attempts
    if pair.window is not None:
        yield "x-orchet-compensation-window", pair.window.total_seconds()


def _in_terms_of(
    tool: Tool, template: ToolCallTemplate, wire: Mapping[str, str]
) -> JsonObject | None:
    """Return a call with expressions over a client's arguments and result; None if it has others.

    The arguments of an MCP call are the body of its request, and its structured content that of
    the response: the header of an answer reaches no client.
    """
    parameters: JsonObject = {}
    for name, value in template.arguments.items():
        parts = parse_filling(value).parts
        if len(parts) != 1 or (value != parts[0] and not isinstance(value, str)):
            return None
        (part,) = parts
        if isinstance(part, Expression):
            read = input_read(part, tool)
            if part.message == "response" and part.source == "body":
                parameters[name] = value
            elif read is not None:
                parameters[name] = f"$request.body#{format_pointer((read,))}"
            else:
                return None
        else:
            parameters[name] = part
    return {"operationId": wire.get(template.tool, template.tool), "parameters": parameters}
