"""Review of a planner's own cancels: those that people must approve, and what each would cancel."""

import asyncio
import contextlib
from typing import Final, cast

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.card_types import CANCELLATION, DEFAULT_CARD
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import plain_answer
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.confirmation.build import AskedCancel, items_holding
from orchestrator.core.errors import GrantMissing
from orchestrator.core.record import JsonObject
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.planning.trimming import trim_body
from orchestrator.saga.cancel_arguments import (
    answered_inputs,
    draft_cancel,
    names_in_answers,
    probe_for,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.own_cancels import doubt_about, obligations_named

_PROBE_S: Final = 3.0
"""Seconds for a card's probe; without an answer, the card is shown all the same."""


class CancelReview:
    """Compares cancels with their missions' effects, as the mission's workflow states them."""

    def __init__(self, tools: ToolClient) -> None:
        self._tools = tools

    async def asked(self, wanted: PrepareInput, catalog: Catalog, tool: Tool) -> AskedCancel | None:
        """Return the facts about a cancel for a person; None if nobody needs to be asked."""
        if tool.effect is not Effect.CANCEL:
            return None
        cancel = draft_cancel(wanted, catalog, wanted.arguments, now=wanted.now)
        ledger = _own(wanted.ledger.obligations, wanted.mission_id)
        doubt = doubt_about(ledger, cancel, answered_inputs(catalog, tool))
        own = len(obligations_named(ledger, cancel)) == 1
        if doubt is None and wanted.decided_by_people:
            doubt = "This mission made it; a person who was asked has changed what is cancelled"
        if doubt is None:
            return None
        known = catalog.tools
        answers = [plain_answer(known.get(o.tool), o.body) for o in wanted.observations]
        named = names_in_answers(catalog, tool, wanted.arguments).items()
        probed = await self._probed(wanted, catalog, tool)
        found = tuple(items_holding(list(named), answers if probed is None else [probed]))
        if probed is not None:
            found = found or (probed,)
        return AskedCancel(doubt, found=found, leaves_a_consequence=not own)

    def check(self, catalog: Catalog, tool: Tool, call: ToolCall) -> None:
        """Refuse an unapproved cancel unless it clearly belongs to its own mission.

        Raises:
            GrantMissing: the cancel does not name exactly one live obligation of its mission.
        """
        if tool.effect is not Effect.CANCEL or call.card_type == CANCELLATION:
            return
        noted = call.cancels
        doubt: str | None = "its mission's ledger does not hold this call"
        if noted is not None and (noted.tool, noted.arguments) == (call.tool, call.arguments):
            own = _own(call.named, call.mission_id)
            doubt = doubt_about(own, noted, answered_inputs(catalog, tool))
        if doubt is not None:
            raise GrantMissing(call.call_id, f"{tool.name} needs a confirmation: {doubt}")

    async def _probed(
        self, wanted: PrepareInput, catalog: Catalog, tool: Tool
    ) -> JsonObject | None:
        probe = probe_for(catalog, tool, wanted.arguments)
        if probe is None:
            return None
        asked, arguments = probe
        # Suppress every error, also of a provider that misbehaves: the person is asked in any case.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_PROBE_S):
                outcome = await self._tools.call(
                    catalog,
                    asked,
                    arguments,
                    call_id=f"{wanted.call_id}.probe",
                    idempotency_key=None,
                    timeout_s=_PROBE_S,
                    mission_id=wanted.mission_id,
                )
            body = trim_body(outcome.body)
            if outcome.kind != "succeeded" or not isinstance(body, dict):
                return None
            if any(name in body and body[name] != value for name, value in arguments.items()):
                return None  # the answer is about another reference
            return cast("JsonObject", plain_answer(asked, body))
        return None


def approved_as(tool: Tool, call: ToolCall) -> str | None:
    """Return the type of the card that a call needs; None if it needs no approval."""
    if tool.effect is Effect.CANCEL and call.card_type == CANCELLATION:
        return CANCELLATION
    # The contract requires no approval, but a person was asked because the price was unknown, or
    # because a written workflow says so: the call keeps that card type.
    is_asked = call.card_type == DEFAULT_CARD or call.grant is not None
    return call.card_type if tool.card_type is None and is_asked else tool.card_type


def _own(obligations: tuple[Obligation, ...], mission_id: str) -> Ledger:
    return Ledger(obligations=tuple(o for o in obligations if o.mission_id == mission_id))
