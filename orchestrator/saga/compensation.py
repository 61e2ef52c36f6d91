"""How one obligation is taken back, decided from its contract, its state and what providers answer.

`compensation` does no I/O: it is a generator that yields the next call to a provider, is sent what
the call came to, and returns the outcome.
"""

from collections.abc import Generator
from dataclasses import dataclass

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.call_templates import fill_template
from orchestrator.catalog.catalog import GONE, Catalog
from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject, same_id
from orchestrator.saga.contradictions import still_as_made
from orchestrator.saga.ledger import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import (
    CompensationFailure,
    CompensationOutcome,
    ToolOutcome,
    is_not_worked_on,
)
from orchestrator.saga.probe_answer import ProbeAnswer, own_names, read_probe, tells_gone

_UNAVAILABLE = 503
_GONE_AFTER = "gone after a cancel that was not answered clearly"

Settled = CompensationOutcome | CompensationFailure
"""What one attempt comes to: an outcome, or why it settled nothing."""


@dataclass(frozen=True)
class CompensationCall:
    """A call to make next."""

    tool: Tool
    arguments: JsonObject
    call_id: str
    idempotency_key: str | None
    cancels: bool = False
    after_cancel: bool = False
    """A cancel went before it in the same attempt, and may have done its work."""

    def unclear(self, outcome: ToolOutcome) -> CompensationFailure:
        """What the attempt came to after an answer that settles nothing."""
        deferred = outcome.deferred or is_not_worked_on(outcome.status)
        return CompensationFailure(
            reason=outcome.reason or f"HTTP {outcome.status}",
            # A provider that asks to come back uses up no attempt.
            counts=not deferred and outcome.status != _UNAVAILABLE,
            arrived=self.after_cancel or (self.cancels and not deferred),
            retry_after_s=outcome.retry_after_s,
        )

    def unanswered(self, error: TransportFailed) -> CompensationFailure:
        """What the attempt came to after no answer."""
        return CompensationFailure(
            reason=str(error),
            counts=error.may_have_arrived,
            arrived=self.after_cancel or (self.cancels and error.may_have_arrived),
        )


def cancel_key(idempotency_key: str) -> str:
    """The idempotency key of the call that takes back the one with this key: never the same."""
    return f"{idempotency_key}.cancel"


def compensation(
    catalog: Catalog, tool: Tool, obligation: Obligation
) -> Generator[CompensationCall, ToolOutcome, Settled]:
    """One attempt to take an obligation back, as a conversation with its provider.

    What is sent in was answered, with a status of success or a refusal: an attempt ends with the
    first call that was not.

    Args:
        catalog: the one that the obligation was made with.
        tool: the obligation's.
        obligation: live, and not parked.
    """
    if tool.compensation is None:
        return _parked(_why_nothing_undoes(tool, obligation))
    return (yield from _Attempt(catalog, tool, tool.compensation, obligation).run())


def _why_nothing_undoes(tool: Tool, obligation: Obligation) -> str:
    if not tool.irreversible:
        return f"no tool is declared that undoes {tool.name}"
    if obligation.state is ObligationState.COMMITTED:
        return f"nothing undoes {tool.name}: its document declares it irreversible"
    return (
        f"nothing undoes {tool.name}, which its document declares irreversible; whether it took "
        "effect is unknown"
    )


_Call = Generator[CompensationCall, ToolOutcome, ToolOutcome]
_Outcome = Generator[CompensationCall, ToolOutcome, Settled]
_Asked = Generator[CompensationCall, ToolOutcome, ProbeAnswer | None]


@dataclass
class _Attempt:
    catalog: Catalog
    tool: Tool
    contract: Compensation
    obligation: Obligation
    cancelled: bool = False
    """A cancel was sent in this attempt."""
    sent_again: bool = False
    """A cancel was sent with what its probe shows, after one that was refused."""

    def run(self) -> _Outcome:
        said = None
        if self.obligation.cancel_sent and self._can_tell_gone:
            # An earlier cancel may have done its work: looking comes before another one.
            said = yield from self._ask()
            if said is not None and said.says == "gone":
                return _cancelled(_GONE_AFTER)
        sent = self.obligation.cancel_call
        if sent is not None:
            settled = yield from self._cancel_as_the_leg_did(sent)
            if settled is not None:
                return settled
        if self.obligation.state is ObligationState.COMMITTED:
            return (yield from self._cancel(self.obligation))
        return (yield from self._clear_up(said))

    def _cancel_as_the_leg_did(
        self, sent: CancelCall
    ) -> Generator[CompensationCall, ToolOutcome, Settled | None]:
        """A leg's own unclear cancel, repeated under its own key; None when that was refused.

        A cancel with another key beside it would be a second one.
        """
        tool, note = self.catalog.tool(sent.tool), f"cancelled by {sent.call_id}"
        outcome = yield from self._call(
            tool, sent.arguments, key=sent.idempotency_key, call_id=sent.call_id, cancels=True
        )
        if outcome.kind != "rejected":
            return (yield from self._done(tool, outcome, note=note))
        return _cancelled(note) if (yield from self._is_gone(tool, outcome)) else None

    def _clear_up(self, said: ProbeAnswer | None) -> _Outcome:
        """Take back a call whose outcome is unknown and that can no longer arrive.

        First ask (the probe), then cancel by what the request said, and only then repeat the call
        under its own key: that one may make the very booking that it asks for.
        """
        said = said or (yield from self._ask())
        if said is not None and said.says == "held":
            return (yield from self._cancel(self._shown(said)))
        if said is not None and said.says == "gone":
            return self._never_came(said.why, shows_it=said.names_it)
        if said is not None and said.says == "nothing" and self._can_tell_gone:
            return self._unclear(f"{self._probe_name} settles nothing: {said.why}")
        has_key = self.obligation.idempotency_key is not None
        if self._can_cancel(self.obligation) and (self._names_the_call() or not has_key):
            return (yield from self._cancel(self.obligation))
        if not has_key:
            return _parked(
                "whether it took effect is unknown, and nothing in its contract can tell"
            )
        return (yield from self._cancel_repeated((yield from self._repeat())))

    def _cancel_repeated(self, repeated: ToolOutcome) -> _Outcome:
        """Take back what the call, sent again under its own key, answers.

        A refusal says nothing of what an earlier attempt did. An answer that breaks its contract
        proves nothing, but what it calls its booking can be cancelled.
        """
        why = f"whether it took effect is unknown: {repeated.reason}"
        if repeated.kind == "rejected":
            return _parked(why)
        answered = {"response": repeated.body, "response_headers": repeated.headers}
        known = self.obligation.model_copy(update=answered)
        if repeated.kind == "succeeded":
            committed = known.model_copy(update={"state": ObligationState.COMMITTED})
            return (yield from self._cancel(committed))
        if self._can_cancel(known) and self._reads_the_answer(known):
            return (yield from self._cancel(known))
        return self._unclear(why)

    def _shown(self, said: ProbeAnswer) -> Obligation:
        """The obligation with what its probe shows of it: it is known to be committed now."""
        state = {"state": ObligationState.COMMITTED, "undo_arguments": {}}
        answered = {"response": said.body, "response_headers": dict(said.headers)}
        whole = self.obligation.model_copy(update={**state, **answered})
        inner = self._filled(
            self.contract.cancel, whole.model_copy(update={"response": said.found})
        )
        return whole.model_copy(update={"undo_arguments": inner})

    def _never_came(self, why: str, *, shows_it: bool = False) -> Settled:
        """What it comes to that the provider does not hold it, for all that is known never did.

        It may come to light late: nothing is void before it was missing for as long as its
        document says that this takes. An answer that shows it, as over, needs no other.
        """
        if self.obligation.accepted:
            return self._unclear(f"it was accepted, and may still come to be: {why}")
        if not shows_it and self.obligation.missing_for < self.contract.settles_after:
            return CompensationFailure(
                reason=f"not found so far, and looked for again: {why}",
                counts=False,
                arrived=self.cancelled,
                settles_after=self.contract.settles_after,
            )
        return CompensationOutcome(state="void", note="the provider does not hold it")

    def _cancel(self, obligation: Obligation, *, again: str = "") -> _Outcome:
        key = cancel_key(obligation.obligation_id)
        tool = self.catalog.tool(self.contract.cancel.tool)
        arguments = self._cancel_arguments(obligation)
        if not self._names_anything(arguments):
            return _parked(f"{tool.name} was not called: nothing would tell it what to cancel")
        if self._names_a_namesake(obligation, arguments):
            return _parked(
                f"{tool.name} was not called: what it would name is {obligation.namesake}, which "
                "was answered with the same id"
            )
        # What is sent anew, with other arguments, is another call to its provider.
        outcome = yield from self._call(
            tool, arguments, key=key + again, call_id=key + again, cancels=True
        )
        if outcome.kind == "rejected":
            return (yield from self._refused(tool, obligation, outcome, sent=arguments))
        if outcome.kind == "succeeded" and self.contract.then:
            return (yield from self._completed(tool, arguments, outcome, key + again))
        return (yield from self._done(tool, outcome, note=""))

    def _completed(
        self, tool: Tool, arguments: JsonObject, outcome: ToolOutcome, key: str
    ) -> _Outcome:
        """What a cancel of several calls comes to after its first: the last answer decides."""
        for number, step in enumerate(self.contract.then, 2):
            filled = fill_template(
                step,
                tool=tool,
                arguments=arguments,
                idempotency_key=key,
                response_body=outcome.body,
                response_headers=outcome.headers,
            )
            asked, tool, arguments = tool, self.catalog.tool(step.tool), filled
            if check_arguments(self.catalog, tool, filled):
                return _parked(
                    f"the answer of {asked.name} does not fill {tool.name}: not cancelled"
                )
            call_id = f"{key}.{number}"
            outcome = yield from self._call(
                tool, filled, key=call_id, call_id=call_id, cancels=True
            )
            if outcome.kind != "succeeded":
                break
        if outcome.kind != "rejected":
            return (yield from self._done(tool, outcome, note=""))
        said = yield from self._ask()
        why = outcome.reason or f"HTTP {outcome.status}"
        if said is not None and said.says == "gone":
            return self._over(tool, why)
        named = ", ".join(f"{name} {value}" for name, value in arguments.items())
        return _parked(f"only asked for, not cancelled: {tool.name} ({named}) was refused: {why}")

    def _refused(
        self, tool: Tool, obligation: Obligation, outcome: ToolOutcome, *, sent: JsonObject
    ) -> _Outcome:
        """What a refused cancel comes to: it may be refused for what is over already.

        HTTP settles a 410, and a DELETE that finds nothing of what it names. Else the probe says
        whether it is over; or what it shows differs from what was sent, as a version that moved
        does, and the cancel is sent once more with that.
        """
        why = outcome.reason or f"HTTP {outcome.status}"
        is_missing = outcome.status in GONE
        if is_missing and outcome.declared and self._may_be_void(obligation):
            return self._never_came(why)
        if self._http_says_gone(tool, outcome, repeated=self.obligation.cancel_sent):
            return self._over(tool, why)
        said = (yield from self._ask()) if self._can_tell_gone or not is_missing else None
        if said is not None and said.says == "gone":
            if obligation.state is not ObligationState.COMMITTED:
                return self._never_came(said.why, shows_it=said.names_it)
            return self._over(tool, why)
        if is_missing and not outcome.declared:
            return self._unclear(f"{tool.name} answers {why}, in a form that it does not declare")
        if said is not None and said.says == "held" and not self.sent_again:
            shown = self._shown(said)
            fresh = {**sent, **self._cancel_arguments(shown)}
            if fresh != sent:
                self.sent_again = True
                shown = shown.model_copy(update={"undo_arguments": fresh})
                return (yield from self._cancel(shown, again=".again"))
        return _parked(f"{tool.name} was refused: {why}")

    def _over(self, tool: Tool, why: str) -> Settled:
        """What it comes to that nothing was left to cancel."""
        before = f"it was over already: {tool.name} was refused ({why})"
        return _cancelled(_GONE_AFTER if self.obligation.cancel_sent else before)

    def _done(self, tool: Tool, outcome: ToolOutcome, *, note: str) -> _Outcome:
        """What a cancel comes to that was answered with a status of success.

        It is done when the answer honours its contract and the probe, where one can tell, finds
        nothing more; or when the answer is no such thing, and the probe says so all the same.
        """
        honoured, can_tell = outcome.kind == "succeeded", self._can_tell_gone
        if honoured and can_tell and not self.obligation.verify_cancel:
            return _cancelled(
                _joined(note, f"{self._probe_name} was not asked, by policy"), outcome
            )
        if honoured and not can_tell:
            return self._believed(tool, outcome, note=note)
        said = (yield from self._ask()) if can_tell else None
        if said is not None and said.says == "gone":
            return _cancelled(note, outcome if honoured else None)
        if honoured and (said is None or said.says == "another"):
            return _cancelled(_joined(note, "its probe could not be asked"), outcome)
        if not honoured or said is None:
            return self._unclear(outcome.reason or f"HTTP {outcome.status}", outcome)
        finds = "it still stands" if said.says == "held" else said.why
        return self._unclear(f"{tool.name} says that it is done, but by {self._probe_name} {finds}")

    def _believed(self, tool: Tool, outcome: ToolOutcome, *, note: str) -> Settled:
        """What a cancel comes to whose own answer is all there is, and honours its contract."""
        if tool.success_when:
            return _cancelled(note, outcome)
        before = still_as_made(
            self.obligation.response, outcome.body, self._cancel_arguments(self.obligation)
        )
        if before is not None:
            return self._unclear(f"{tool.name} is not believed: {before}", outcome)
        if outcome.body in (None, "", {}, []):
            note = _joined(note, "not verified: its answer is empty")
        return _cancelled(note, outcome)

    def _is_gone(
        self, cancel: Tool, outcome: ToolOutcome
    ) -> Generator[CompensationCall, ToolOutcome, bool]:
        """Whether a cancel that finds nothing means that one before it did its work."""
        if outcome.status not in GONE:
            return False
        if self._can_tell_gone:
            said = yield from self._ask()
            return said is not None and said.says == "gone"
        return self._http_says_gone(cancel, outcome, repeated=True)

    def _http_says_gone(self, cancel: Tool, outcome: ToolOutcome, *, repeated: bool) -> bool:
        """Whether HTTP makes sure that what is not found is over.

        A gateway in trouble says 404 too, and never 410 (RFC 9110, section 15.5.11), which of
        another method than DELETE may mean the method. Where no probe can tell, a repeated DELETE
        that finds nothing has worked (section 9.3.5), and so has one of that very thing, by the id
        that its provider answered, which its document declares, or one that was answered with
        success before.
        """
        if outcome.status not in GONE:
            return False
        if outcome.status == 410 and outcome.declared and repeated:
            return True
        if self._can_tell_gone or cancel.method != "DELETE":
            return False
        is_that_thing = cancel.path.rstrip("/").endswith("}")
        answered = self.obligation.cancel_answered
        is_sure = answered or outcome.status == 410 or outcome.declared
        is_own = answered or bool(self.obligation.answered_ids)
        return (outcome.declared and repeated) or (is_that_thing and is_sure and is_own)

    def _ask(self) -> _Asked:
        """What the probe says; None without one, or when the request says too little to ask."""
        if self.contract.probe is None:
            return None
        arguments = self._filled(self.contract.probe, self.obligation)
        tool = self.catalog.tool(self.contract.probe.tool)
        if check_arguments(self.catalog, tool, arguments):
            return None
        call_id = f"{self.obligation.obligation_id}.probe"
        outcome = yield from self._call(tool, arguments, key=None, call_id=call_id)
        known = self._cancel_arguments(self.obligation)
        return read_probe(
            outcome, own_names(self.catalog, self.tool, asked=arguments, known=known), self.contract
        )

    def _repeat(self) -> _Call:
        known = self.obligation
        return self._call(
            self.tool, known.arguments, key=known.idempotency_key, call_id=known.obligation_id
        )

    def _call(
        self,
        tool: Tool,
        arguments: JsonObject,
        *,
        key: str | None,
        call_id: str,
        cancels: bool = False,
    ) -> _Call:
        sent_key = tool.key_of(key) if key is not None else None
        before = self.cancelled
        self.cancelled |= cancels
        return (yield CompensationCall(tool, arguments, call_id, sent_key, cancels, before))

    def _unclear(self, why: str, outcome: ToolOutcome | None = None) -> CompensationFailure:
        """An attempt that was answered and settled nothing: another one may."""
        wait = outcome.retry_after_s if outcome is not None else None
        answered = outcome is not None and outcome.is_unproved and not outcome.accepted
        return CompensationFailure(
            reason=why, arrived=self.cancelled, answered=answered, retry_after_s=wait
        )

    @property
    def _probe_name(self) -> str:
        return self.contract.probe.tool if self.contract.probe is not None else "no probe"

    @property
    def _can_tell_gone(self) -> bool:
        return tells_gone(self.catalog, self.contract)

    def _can_cancel(self, obligation: Obligation) -> bool:
        """Whether what is known fills the cancel, and names something in it."""
        cancel, filled = self.contract.cancel.tool, self._cancel_arguments(obligation)
        invalid = check_arguments(self.catalog, self.catalog.tool(cancel), filled)
        return self._names_anything(filled) and not invalid

    def _names_anything(self, arguments: JsonObject) -> bool:
        """Whether a cancel holds anything that was read from the call or its answer."""
        template = self.contract.cancel.arguments
        return any(n in arguments and parse_filling(v).expressions for n, v in template.items())

    def _names_a_namesake(self, obligation: Obligation, arguments: JsonObject) -> bool:
        """Whether a cancel would name what an earlier obligation was answered with as well."""
        shared = obligation.answered_ids if obligation.namesake else {}
        return bool(shared) and all(
            name in arguments and same_id(arguments[name], value) for name, value in shared.items()
        )

    def _names_the_call(self) -> bool:
        """Whether the cancel says which call it is about, by a reference or key of its own.

        What else the request holds may fit the bookings of others: not finding it proves nothing.
        """
        known = self.obligation
        own = [known.arguments.get(name) for name in self.tool.reference_inputs]
        named = [value for value in (*own, known.idempotency_key) if value is not None]
        return any(value in named for value in self._cancel_arguments(known).values())

    def _may_be_void(self, obligation: Obligation) -> bool:
        """Whether it never came to be, when its provider does not find what the cancel names."""
        unknown = obligation.state is not ObligationState.COMMITTED
        return unknown and self._names_the_call() and not self._reads_the_answer(obligation)

    def _reads_the_answer(self, obligation: Obligation) -> bool:
        """Whether its cancel is filled by something that an answer to the call said."""
        filled = self._cancel_arguments(obligation)
        return any(
            name in filled and any(e.message == "response" for e in parse_filling(v).expressions)
            for name, v in self.contract.cancel.arguments.items()
        )

    def _cancel_arguments(self, obligation: Obligation) -> JsonObject:
        """The inputs of the cancel; what was read of the answer before it was cut comes first."""
        return {**self._filled(self.contract.cancel, obligation), **obligation.undo_arguments}

    def _filled(self, template: ToolCallTemplate, obligation: Obligation) -> JsonObject:
        return fill_template(
            template,
            tool=self.tool,
            arguments=obligation.arguments,
            idempotency_key=obligation.idempotency_key,
            response_body=obligation.response,
            response_headers=obligation.response_headers,
            called=self.catalog.tool(template.tool),
        )


def _cancelled(note: str, outcome: ToolOutcome | None = None) -> CompensationOutcome:
    if outcome is None:
        return CompensationOutcome(state="cancelled", note=note)
    refund, fee = outcome.refund, outcome.fee
    paid = _joined(f"refunded {refund}" if refund else "", f"fee {fee}" if fee else "")
    note = _joined(paid.replace(";", ","), note)
    return CompensationOutcome(state="cancelled", note=note, refund=refund, fee=fee)


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _parked(note: str) -> CompensationOutcome:
    return CompensationOutcome(state="parked", note=note)
