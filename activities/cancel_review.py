"""A planner's own cancels: which are its mission's own affair, and what the others would cancel."""

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from typing import Final, cast

from pydantic import JsonValue
from temporalio.client import Client

from activities.legs import mission_ledger
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.card_types import CANCELLATION, DEFAULT_CARD
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import plain_answer, plain_bodies
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.confirmation.build import items_holding
from orchestrator.confirmation.cancellation import AskedCancel
from orchestrator.core.errors import GrantMissing
from orchestrator.core.record import JsonObject
from orchestrator.messages.tool_call import PrepareInput, ToolCall
from orchestrator.planning.trimming import trim_body
from orchestrator.saga.cancel_arguments import answered_inputs, names_in_answers, probe_for
from orchestrator.saga.draft import draft_cancel
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.own_cancels import doubt_about, obligations_named

_PROBE_S: Final = 3.0
"""How long a card waits for its probe: it is drawn without an answer as well."""


class CancelReview:
    """Compares cancels with the ledgers of running missions, which the server holds."""

    def __init__(self, tools: ToolClient, client: Client) -> None:
        self._tools = tools
        self._client = client

    async def asked(self, wanted: PrepareInput, catalog: Catalog, tool: Tool) -> AskedCancel | None:
        """What a person must know of this call; None when it is none of theirs.

        Where the server cannot be asked, this fails, and is done again: nothing is taken for the
        mission's own that was not found to be.
        """
        if tool.effect is not Effect.CANCEL:
            return None
        cancel = draft_cancel(wanted, catalog, wanted.arguments, now=wanted.now)
        ledger = await mission_ledger(self._client, wanted.mission_id)
        doubt = doubt_about(ledger, cancel, answered_inputs(catalog, tool))
        own = len(obligations_named(ledger, cancel)) == 1
        if doubt is None and wanted.decided_by_people:
            doubt = "This mission made it; a person who was asked has changed what is cancelled"
        if doubt is None:
            return None
        answers = plain_bodies(catalog, wanted.observations)
        found = await self._found(wanted, catalog, tool, answers)
        return AskedCancel(doubt, found=found, leaves_a_consequence=not own)

    async def check(self, catalog: Catalog, tool: Tool, call: ToolCall) -> None:
        """Refuse a cancel without an approval that is not, now, of its own mission's.

        It is compared as its leg wrote it down before it was sent, so that a later attempt finds
        what the first one found.

        Raises:
            GrantMissing: it does not name exactly one live obligation of its mission.
        """
        if tool.effect is not Effect.CANCEL or call.card_type == CANCELLATION:
            return
        ledger = await mission_ledger(self._client, call.mission_id)
        doubt = _doubt_about_noted(ledger, call, answered_inputs(catalog, tool))
        if doubt is not None:
            raise GrantMissing(call.call_id, f"{tool.name} needs a confirmation: {doubt}")

    async def _found(
        self, wanted: PrepareInput, catalog: Catalog, tool: Tool, answers: Sequence[JsonValue]
    ) -> tuple[JsonObject, ...]:
        """What providers say of the thing: when asked now, else in what the leg has seen."""
        named = names_in_answers(catalog, tool, wanted.arguments).items()
        answer = await self._probed(wanted, catalog, tool)
        if answer is not None:
            held = tuple(items_holding(list(named), [answer]))
            return held or (answer,)
        return tuple(items_holding(list(named), answers))

    async def _probed(
        self, wanted: PrepareInput, catalog: Catalog, tool: Tool
    ) -> JsonObject | None:
        """The probe's answer; None without one, for whatever reason: the card does not need it."""
        probe = probe_for(catalog, tool, wanted.arguments)
        if probe is None:
            return None
        asked, arguments = probe
        # Whatever comes of it, also what no provider should do: the person is asked all the same.
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
            found = _about(arguments, outcome)
            return cast("JsonObject", plain_answer(asked, found)) if found is not None else None
        return None


def approved_as(tool: Tool, call: ToolCall) -> str | None:
    """The type of the card that a call must have been approved on; None: nobody need be asked."""
    if tool.effect is Effect.CANCEL and call.card_type == CANCELLATION:
        return CANCELLATION
    # Its contract lets it ask nobody, and it was asked about for its price: it stays with that.
    is_unpriced = tool.card_type is None and call.card_type == DEFAULT_CARD
    return DEFAULT_CARD if is_unpriced else tool.card_type


def _about(asked: JsonObject, outcome: ToolOutcome) -> JsonObject | None:
    """What a probe tells of what it was asked for; an answer about another reference is none."""
    body = trim_body(outcome.body)
    if outcome.kind != "succeeded" or not isinstance(body, dict):
        return None
    about_another = any(name in body and body[name] != value for name, value in asked.items())
    return None if about_another else body


def _doubt_about_noted(ledger: Ledger, call: ToolCall, answered: Collection[str]) -> str | None:
    """Why a call, as its mission has noted it, is not plainly of its own; None when it is."""
    noted = next((c for c in ledger.cancels if c.call_id == call.call_id), None)
    if noted is None or (noted.tool, noted.arguments) != (call.tool, call.arguments):
        return "its mission's ledger does not hold this call"
    return doubt_about(ledger, noted, answered)
