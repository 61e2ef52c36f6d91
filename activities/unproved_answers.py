"""Answers that prove nothing of a call: cleared up by a probe, as far as it can.

An accepted call is waited for; one whose answer breaks its contract, or whose repetition is
refused, is looked for once.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.call_templates import fill_template
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import charged_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from orchestrator.messages import call_limits
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.cancel_arguments import answered_inputs, cancel_arguments, probe_for
from orchestrator.saga.contradictions import contradiction
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.probe_answer import ProbeAnswer, own_names, read_probe

_LEAST_S: Final = 0.5
"""A probe that is left less time than this is not asked."""


@dataclass(frozen=True)
class _Question:
    """A probe to ask about one call, and the answer that settles the call."""

    made_by: Tool
    probe: Tool
    arguments: JsonObject
    known: JsonObject
    wanted: Literal["held", "gone"]


async def cleared_up(
    tools: ToolClient,
    catalog: Catalog,
    tool: Tool,
    call: ToolCall,
    outcome: ToolOutcome,
    *,
    until: float,
) -> ToolOutcome:
    """The outcome of a call after its probe was asked; the same where that settles nothing.

    Args:
        tools: what probes are called with.
        catalog: the tool's.
        tool: what was called.
        call: as it was sent.
        outcome: unknown, though it was answered with a status of success.
        until: by `time.monotonic`; how long an accepted call is waited for.
    """
    question = _question(catalog, tool, call)
    if question is None:
        return outcome
    for pause in _pauses() if outcome.accepted else (0.0,):
        await asyncio.sleep(pause)
        left = until - time.monotonic()
        if left < _LEAST_S:
            break
        said = await _asked(tools, catalog, call, question, timeout_s=left)
        if said is not None and said.says == question.wanted and _settles(tool, outcome, said):
            return _proved(catalog, tool, call, outcome, said)
    return outcome


def _settles(tool: Tool, outcome: ToolOutcome, said: ProbeAnswer) -> bool:
    """Whether what the probe shows makes a success of an answer that was doubted.

    That something is there is no success of a call whose own answer was called none by its
    document, nor of one that the probe shows as failed too.
    """
    if not outcome.doubted or tool.effect is Effect.CANCEL:
        return True
    return not tool.success_when and contradiction(tool, 200, said.body) is None


async def settled_by_probe(
    tools: ToolClient,
    catalog: Catalog,
    tool: Tool,
    call: ToolCall,
    refused: ToolOutcome,
    *,
    until: float,
) -> ToolOutcome | None:
    """What a call came to of which an earlier attempt was unclear, and this one refused.

    Its probe is asked once. That nothing is there proves nothing: the earlier attempt may be on its
    way still. Where the probe shows the very call, it has arrived: it stands, or came to nothing.

    Args:
        tools: what probes are called with.
        catalog: the tool's.
        tool: what was called.
        call: as it was sent.
        refused: this attempt's outcome.
        until: by `time.monotonic`; how long the probe may take.

    Returns:
        None: it stays unclear.
    """
    question, left = _question(catalog, tool, call), until - time.monotonic()
    if question is None or left < _LEAST_S:
        return None
    said = await _asked(tools, catalog, call, question, timeout_s=left)
    if said is None:
        return None
    if said.says == question.wanted:
        return _proved(catalog, tool, call, refused, said)
    return refused if said.says == "gone" and said.names_it else None


def _pauses() -> Iterator[float]:
    pause = call_limits.FIRST_PAUSE.total_seconds()
    while True:
        yield pause
        pause = min(2 * pause, call_limits.LONGEST_PAUSE.total_seconds())


def _question(catalog: Catalog, tool: Tool, call: ToolCall) -> _Question | None:
    """What to ask about a call; None where nothing can be asked."""
    if tool.effect is Effect.CANCEL:
        found = probe_for(catalog, tool, call.arguments)
        made_by = catalog.tools.get(tool.cancel_for or "")
        if found is None or made_by is None:
            return None
        return _Question(made_by, *found, known=call.arguments, wanted="gone")
    if tool.compensation is None or tool.compensation.probe is None:
        return None
    template, key = tool.compensation.probe, tool.key_of(call.call_id)
    asked = fill_template(
        template,
        tool=tool,
        arguments=call.arguments,
        idempotency_key=key,
        response_body=None,
        response_headers={},
        called=catalog.tool(template.tool),
    )
    known = cancel_arguments(tool, call.arguments, idempotency_key=key)
    return _Question(tool, catalog.tool(template.tool), asked, known, "held")


async def _asked(
    tools: ToolClient, catalog: Catalog, call: ToolCall, question: _Question, *, timeout_s: float
) -> ProbeAnswer | None:
    """What the probe says; None when it could not be asked now."""
    contract = question.made_by.compensation
    assert contract is not None
    own = own_names(catalog, question.made_by, asked=question.arguments, known=question.known)
    with contextlib.suppress(OrchestratorError):
        outcome = await tools.call(
            catalog,
            question.probe,
            question.arguments,
            call_id=f"{call.call_id}.probe",
            idempotency_key=None,
            timeout_s=timeout_s,
            mission_id=call.mission_id,
        )
        return read_probe(outcome, own, contract)
    return None


def _proved(
    catalog: Catalog, tool: Tool, call: ToolCall, outcome: ToolOutcome, said: ProbeAnswer
) -> ToolOutcome:
    """The outcome of a call that its probe has found to be done."""
    update: dict[str, object] = {"kind": "succeeded", "reason": None, "contract_breach": None}
    update["accepted"] = False
    if tool.effect is Effect.CANCEL:
        return outcome.model_copy(update=update)
    key = tool.key_of(call.call_id)
    filled: JsonObject = {}
    for body in (said.body, said.found):
        filled |= cancel_arguments(tool, call.arguments, idempotency_key=key, response_body=body)
    cancel = catalog.tools.get(tool.compensation.cancel.tool) if tool.compensation else None
    answered = answered_inputs(catalog, cancel) if cancel is not None else frozenset()
    return outcome.model_copy(
        update={
            **update,
            "body": said.body,
            "price": charged_price(tool, call.arguments, said.body),
            "undo_arguments": filled,
            "answered_ids": {name: filled[name] for name in filled if name in answered},
        }
    )
