"""Answers that prove nothing about a call, and successes of cancels, checked by a probe."""

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.call_templates import fill_template
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import all_hold, parse_conditions
from orchestrator.catalog.prices import charged_price, named_amounts
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission_policy import FIRST_PAUSE, LONGEST_PAUSE
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.cancel_arguments import answered_inputs, cancel_arguments, probe_for
from orchestrator.saga.contradictions import contradiction, ended_state, still_as_made
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.probe_answer import (
    ProbeAnswer,
    can_verify_gone,
    own_names,
    read_probe,
)

_SHOWN: Final = 200
_LEAST_S: Final = 0.5
"""Shortest time, in seconds, that is enough for a probe."""


@dataclass(frozen=True)
class _Question:
    """A probe to ask about one call, and the answer that settles the call."""

    made_by: Tool
    probe: Tool
    arguments: JsonObject
    known: JsonObject
    wanted: Literal["held", "gone"]


@dataclass(frozen=True)
class AnsweredCall:
    """A call that was sent, with the client for its probe; `until` is by `time.monotonic`."""

    tools: ToolClient
    catalog: Catalog
    tool: Tool
    call: ToolCall
    until: float

    async def cleared_up(self, outcome: ToolOutcome) -> ToolOutcome:
        """Return the outcome after the probe; the same outcome if the probe settles nothing.

        For an accepted call, the probe is repeated until it shows the call as done or as over; any
        other call is probed once.
        """
        question = self._question()
        if question is None:
            return outcome
        pause = FIRST_PAUSE.total_seconds() if outcome.accepted else 0.0
        while True:
            await asyncio.sleep(pause)
            if self._left_s < _LEAST_S:
                break
            said = await self._asked(question)
            over = self._failed(said) if said is not None else None
            if over is not None and outcome.accepted:
                reason = f"accepted, and then not done: by {question.probe.name} {over}"
                return outcome.model_copy(update={"reason": reason, "accepted": False})
            is_done = said is not None and said.says == question.wanted and over is None
            if said is not None and is_done and self._settles(outcome, said, question):
                return self._proved(outcome, said)
            if not outcome.accepted:
                break
            pause = min(2 * pause, LONGEST_PAUSE.total_seconds())
        return outcome

    async def verified(self, done: ToolOutcome) -> ToolOutcome:
        """Return the outcome of a cancel that its provider answered with success.

        The probe is repeated while it shows what was to be cancelled, as the cancel may show late.
        If it still shows it in the end, or if the probe cannot be asked and the answer contradicts
        itself, the outcome is unknown.
        """
        made = next(iter(self.call.named), None)
        question = self._question() if made is None or made.verify_cancel else None
        contract = question.made_by.compensation if question is not None else None
        if contract is not None and contract.then:
            return done  # one of several calls that cancel together: the next one follows
        if question is not None and contract and can_verify_gone(self.catalog, contract):
            said = await self._asked(question)
            pause = FIRST_PAUSE.total_seconds()
            while said is not None and said.says == "held" and self._left_s > pause + _LEAST_S:
                await asyncio.sleep(pause)
                said = await self._asked(question)
                pause = min(2 * pause, LONGEST_PAUSE.total_seconds())
            if said is not None and said.says == "gone":
                return done
            if said is not None and said.says == "held":
                why = f"it says that it is done, but by {question.probe.name} it still stands"
                return done.model_copy(update={"kind": "unknown", "reason": why})
        if self.tool.success_when:
            return done
        response = made.response if made is not None else None
        denied = still_as_made(response, done.body, self.call.arguments)
        if denied is None:
            return done
        why = f"it is not believed: {denied}"
        return done.model_copy(update={"kind": "unknown", "reason": why, "doubted": True})

    async def settled(self, refused: ToolOutcome) -> ToolOutcome | None:
        """Return the outcome of a refused call whose earlier attempt was unclear.

        A probe that finds nothing proves nothing: the earlier attempt may still be on its way. If
        the probe shows this very call, the attempt has arrived and the call stands or has failed.
        None: unclear.
        """
        question = self._question()
        if question is None or self._left_s < _LEAST_S:
            return None
        said = await self._asked(question)
        if said is None:
            return None
        if said.says == question.wanted:
            return self._proved(refused, said)
        return refused if said.says == "gone" and said.names_it else None

    @property
    def _left_s(self) -> float:
        return self.until - time.monotonic()

    def _failed(self, said: ProbeAnswer) -> str | None:
        """Return the reason why a probe shows a call as failed; None if it shows no failure."""
        if self.tool.effect is Effect.CANCEL:
            return None
        if said.says == "gone":
            return said.why if said.names_it else None
        if self.tool.success_when:
            return ended_state(self.tool, said.body)
        return contradiction(self.tool, _SHOWN, said.body)

    def _settles(self, outcome: ToolOutcome, said: ProbeAnswer, question: _Question) -> bool:
        """Return True if the probe's answer turns an answer that proves nothing into a success.

        A call whose own answer is a failure by its document does not become a success because the
        thing exists. An accepted call has not succeeded while it is shown in the state in which it
        was accepted, or while the condition of its document does not hold for the probe's answer.
        """
        if self.tool.effect is Effect.CANCEL:
            return True
        conditions = parse_conditions(self.tool.success_when)
        if not outcome.accepted:
            return not (outcome.doubted and conditions)
        held, _ = all_hold(conditions, status=_SHOWN, headers=said.headers, body=said.body)
        known = {**question.known, **question.arguments, **outcome.cancel_inputs}
        return held is not False and (
            bool(conditions and held) or still_as_made(outcome.body, said.body, known) is None
        )

    def _question(self) -> _Question | None:
        tool, arguments = self.tool, self.call.arguments
        if tool.effect is Effect.CANCEL:
            for made in self.call.named:
                arguments = {**made.cancel_inputs, **arguments}
            found = probe_for(self.catalog, tool, arguments)
            made_by = self.catalog.tools.get(tool.cancel_for or "")
            if found is None or made_by is None:
                return None
            return _Question(made_by, *found, known=arguments, wanted="gone")
        if tool.compensation is None or tool.compensation.probe is None:
            return None
        template, key = tool.compensation.probe, tool.key_of(self.call.key)
        probe = self.catalog.tool(template.tool)
        asked = fill_template(
            template,
            tool=tool,
            arguments=arguments,
            idempotency_key=key,
            response_body=None,
            response_headers={},
            called=probe,
        )
        known = cancel_arguments(tool, arguments, idempotency_key=key)
        return _Question(tool, probe, asked, known, "held")

    async def _asked(self, question: _Question) -> ProbeAnswer | None:
        made_by = question.made_by
        assert made_by.compensation is not None
        own = own_names(self.catalog, made_by, asked=question.arguments, known=question.known)
        with contextlib.suppress(OrchestratorError):
            outcome = await self.tools.call(
                self.catalog,
                question.probe,
                question.arguments,
                call_id=f"{self.call.call_id}.probe",
                idempotency_key=None,
                timeout_s=self._left_s,
                mission_id=self.call.mission_id,
            )
            return read_probe(outcome, own, made_by.compensation)
        return None

    def _proved(self, outcome: ToolOutcome, said: ProbeAnswer) -> ToolOutcome:
        tool, arguments = self.tool, self.call.arguments
        update: dict[str, object] = {"kind": "succeeded", "accepted": False}
        update |= {"reason": None, "contract_breach": None}
        if tool.effect is Effect.CANCEL:
            return outcome.model_copy(update=update)
        key = tool.key_of(self.call.key)
        filled: JsonObject = {}
        for body in (said.body, said.found):
            filled |= cancel_arguments(tool, arguments, idempotency_key=key, response_body=body)
        contract = tool.compensation
        cancel = self.catalog.tools.get(contract.cancel.tool) if contract is not None else None
        answered = answered_inputs(self.catalog, cancel) if cancel is not None else frozenset()
        update |= {
            "body": said.body,
            "price": charged_price(tool, arguments, said.body),
            "named": named_amounts(tool, arguments, said.body),
            "cancel_inputs": filled,
            "answered_ids": {name: filled[name] for name in filled if name in answered},
        }
        return outcome.model_copy(update=update)
