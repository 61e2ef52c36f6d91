"""The compensation of one obligation, decided from contract, state and providers' answers.

`compensation` does no I/O: it is a generator that yields the next call to a provider, is sent the
outcome of that call, and returns the outcome of the whole.
"""

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, cast

from pydantic import JsonValue

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.call_templates import EACH, fill_template, is_version, reads_only_response
from orchestrator.catalog.catalog import GONE, Catalog, version_reader
from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.budget import Money
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject, same_id
from orchestrator.saga.contradictions import ended_state, named_ids, still_as_made
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import (
    CompensationFailure,
    CompensationOutcome,
    ToolOutcome,
    is_not_worked_on,
)
from orchestrator.saga.probe_answer import (
    OwnNames,
    ProbeAnswer,
    can_verify_gone,
    own_names,
    read_probe,
)

_UNAVAILABLE = 503
_MOVED = frozenset({409, 412, 428})
"""Refusals of a request that names another version than the current one, or none."""
_WORST: Final[tuple[Literal["parked", "cancelled", "void"], ...]] = ("parked", "cancelled", "void")
_GONE_AFTER = "gone after a cancel that was not answered clearly"

Settled = CompensationOutcome | CompensationFailure
"""The result of one attempt: an outcome, or the reason why it settled nothing."""


@dataclass(frozen=True)
class CompensationCall:
    """The next call to make."""

    tool: Tool
    arguments: JsonObject
    call_id: str
    idempotency_key: str | None
    cancels: bool = False
    after_cancel: bool = False
    """A cancel was sent before this call in the same attempt, and may have taken effect."""

    def unclear(self, outcome: ToolOutcome) -> CompensationFailure:
        """Return the failure after an answer that settles nothing."""
        deferred = outcome.deferred or is_not_worked_on(outcome.status)
        asks = ", not a rollback" if outcome.asks is not None else ""
        return CompensationFailure(
            reason=f"{outcome.why}{asks}",
            # A provider that asks to come back uses up no attempt.
            counts=not deferred and outcome.status != _UNAVAILABLE,
            arrived=self.after_cancel or (self.cancels and not deferred),
            final=outcome.wanted is not None,
            retry_after_s=outcome.retry_after_s,
        )

    def unanswered(self, error: TransportFailed) -> CompensationFailure:
        """Return the failure after a call without an answer."""
        return CompensationFailure(
            reason=str(error),
            counts=error.may_have_arrived,
            arrived=self.after_cancel or (self.cancels and error.may_have_arrived),
        )


def cancel_key(idempotency_key: str) -> str:
    """Return the key of the cancel of the call with this key; the two keys always differ."""
    return f"{idempotency_key}.cancel"


def compensation(
    catalog: Catalog,
    tool: Tool,
    obligation: Obligation,
    *,
    owner: str = "",
    now: datetime | None = None,
) -> Generator[CompensationCall, ToolOutcome, Settled]:
    """Make one attempt to cancel an obligation, as a conversation with its provider.

    Each outcome that is sent in was answered, with a status of success or a refusal: an attempt
    ends with the first call that was not answered. `owner` is another mission, to which the ids in
    the answer belong; without `now` it is long after the call.
    """
    if tool.compensation is None:
        if not tool.irreversible:
            return _parked(f"no tool is declared that cancels {tool.name}")
        if obligation.state is ObligationState.COMMITTED:
            why = f"nothing cancels {tool.name}: its document declares it irreversible"
            return _parked(why)
        why = f"nothing cancels {tool.name}, which its document declares irreversible; "
        return _parked(f"{why}whether it took effect is unknown")
    return (yield from _Attempt(catalog, tool, tool.compensation, obligation, owner, now).run())


_Call = Generator[CompensationCall, ToolOutcome, ToolOutcome]
_Outcome = Generator[CompensationCall, ToolOutcome, Settled]
_Probed = Generator[CompensationCall, ToolOutcome, ProbeAnswer | None]


@dataclass
class _Attempt:
    catalog: Catalog
    tool: Tool
    contract: Compensation
    obligation: Obligation
    owner: str = ""
    now: datetime | None = None
    cancelled: bool = False
    """True once a cancel was sent in this attempt."""
    sent_again: bool = False
    """True once a refused cancel was sent again with the values that its probe shows."""

    def run(self) -> _Outcome:
        probed = None
        if self.obligation.cancel_sent and self._can_verify_gone:
            # An earlier cancel may have taken effect: the probe comes before another cancel.
            probed = yield from self._probe()
            if probed is not None and probed.says == "gone":
                return self._gone_by_probe(probed, _GONE_AFTER)
            if self.obligation.missing_for > timedelta(0) and self._may_settle:
                return self._probe_later("it still stands after a cancel")
        sent = self.obligation.cancel_call
        if sent is not None:
            settled = yield from self._cancel_as_the_leg_did(sent)
            if settled is not None:
                return settled
        if self.obligation.state is ObligationState.COMMITTED:
            return (yield from self._cancel(self.obligation))
        return (yield from self._cancel_unknown(probed))

    def _cancel_as_the_leg_did(
        self, sent: CancelCall
    ) -> Generator[CompensationCall, ToolOutcome, Settled | None]:
        """Repeat a leg's own unclear cancel under its own key; None if that was refused.

        Another key would make it a second cancel.
        """
        tool, note = self.catalog.tool(sent.tool), f"cancelled by {sent.call_id}"
        outcome = yield from self._call(
            tool, sent.arguments, key=sent.idempotency_key, call_id=sent.call_id, cancels=True
        )
        key = sent.idempotency_key or cancel_key(self.obligation.key)
        if self.contract.then and self._has_next(tool, sent.arguments, outcome, key):
            return (yield from self._complete(tool, sent.arguments, outcome, key, sent.call_id))
        if outcome.kind != "rejected":
            return (yield from self._settle_success(tool, outcome, note=note))
        return _cancelled(note) if (yield from self._is_gone(tool, outcome)) else None

    def _cancel_unknown(self, probed: ProbeAnswer | None) -> _Outcome:
        """Cancel a call whose outcome is unknown and that can no longer arrive.

        First ask the probe, then cancel by the values of the request, and only then repeat the call
        under its own key: the repeated call may make the very booking that it asks for.
        """
        probed = probed or (yield from self._probe())
        if probed is not None and probed.says == "held":
            return (yield from self._cancel(self._as_probed(probed)))
        if probed is not None and probed.says == "gone":
            return self._void_if_missing(probed.why, shows_it=probed.names_it)
        if probed is not None and probed.says == "nothing" and self._can_verify_gone:
            return self._unclear(f"{self._probe_name} settles nothing: {probed.why}")
        has_key = self.obligation.idempotency_key is not None
        if self._can_cancel(self.obligation) and self._names_the_call():
            return (yield from self._cancel(self.obligation))
        if not has_key:
            return _parked("whether it took effect is unknown, and its contract has no way to ask")
        known = self.obligation
        repeated = yield from self._call(
            self.tool, known.arguments, key=known.idempotency_key, call_id=known.obligation_id
        )
        return (yield from self._cancel_repeated(repeated))

    def _cancel_repeated(self, repeated: ToolOutcome) -> _Outcome:
        """Cancel the booking in the answer to the call, which was sent again under its own key.

        A refusal does not show what an earlier attempt did. An answer that breaks its contract
        proves nothing, but the ids in it can be cancelled.
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

    def _as_probed(self, probed: ProbeAnswer) -> Obligation:
        """Return the obligation with its probe's values: it is now known to be committed."""
        state = {"state": ObligationState.COMMITTED, "cancel_inputs": {}}
        answered = {"response": probed.body, "response_headers": dict(probed.headers)}
        whole = self.obligation.model_copy(update={**state, **answered})
        inner = self._filled(
            self.contract.cancel, whole.model_copy(update={"response": probed.found})
        )
        return whole.model_copy(update={"cancel_inputs": inner})

    def _void_if_missing(self, why: str, *, shows_it: bool = False) -> Settled:
        """Return the outcome if the provider has no booking and, as far as known, never had.

        The booking may appear late: nothing is void before it was missing for as long as the
        document says that this takes. If an answer shows the booking as over, no other look is
        needed.
        """
        if self.obligation.accepted:
            return self._unclear(f"it was accepted, and may still take effect: {why}")
        if not shows_it and self._may_settle:
            return self._probe_later(f"not found so far: {why}")
        return CompensationOutcome(state="void", note="the provider does not hold it")

    @property
    def _may_settle(self) -> bool:
        """True while the provider's answer may still change by itself."""
        return self.obligation.missing_for < self.contract.settles_after

    def _probe_later(self, why: str) -> CompensationFailure:
        """Return the failure after which nothing is sent and the provider is only asked again."""
        return CompensationFailure(
            reason=f"{why}; the probe is asked again",
            counts=False,
            arrived=self.cancelled or self.obligation.cancel_sent,
            settles_after=self.contract.settles_after,
        )

    def _cancel(
        self, obligation: Obligation, *, again: str = "", is_shown: bool = False
    ) -> _Outcome:
        key = cancel_key(obligation.key) + again
        call_id = cancel_key(obligation.obligation_id) + again
        tool = self.catalog.tool(self.contract.cancel.tool)
        arguments = self._cancel_arguments(obligation)
        if not _names_anything(self.contract.cancel, arguments):
            return _parked(f"{tool.name} was not called: no input identifies what to cancel")
        if self._names_a_shared_id(obligation, arguments):
            if obligation.namesake:
                return self._park_shared_id(tool, obligation.namesake)
            if self.owner and not is_shown:
                return (yield from self._cancel_if_ours(tool))
        each = self._each(arguments)
        if not each:
            return _parked(f"{tool.name} was not called: its answer does not pair its inputs")
        settled = []
        for number, one in enumerate(each):
            # A cancel with other arguments is another call to its provider.
            of = f".e{number}" if number else ""
            settled.append((yield from self._cancel_one(obligation, one, key + of, call_id + of)))
        return _worst_of(settled)

    def _cancel_one(
        self, obligation: Obligation, arguments: JsonObject, key: str, call_id: str
    ) -> _Outcome:
        tool = self.catalog.tool(self.contract.cancel.tool)
        outcome = yield from self._call(tool, arguments, key=key, call_id=call_id, cancels=True)
        if self.contract.then and self._has_next(tool, arguments, outcome, key):
            return (yield from self._complete(tool, arguments, outcome, key, call_id))
        if outcome.kind == "rejected":
            return (yield from self._settle_refusal(tool, obligation, outcome, sent=arguments))
        return (yield from self._settle_success(tool, outcome, note=""))

    def _each(self, arguments: JsonObject) -> list[JsonObject]:
        """Return the arguments of each call of a cancel that takes one element of a batch.

        Empty if the values of the elements cannot be paired.
        """
        tool, template = self.catalog.tool(self.contract.cancel.tool), self.contract.cancel
        listed = [
            name
            for name, value in template.arguments.items()
            if any(EACH in e.path for e in parse_filling(value).expressions)
            and isinstance(arguments.get(name), list)
            and "array" not in str(tool.properties.get(name, {}).get("type"))
        ]
        if not listed:
            return [arguments]
        columns = [cast("list[JsonValue]", arguments[name]) for name in listed]
        if len({len(column) for column in columns}) > 1:
            return []
        rows = zip(*columns, strict=True)
        return [{**arguments, **dict(zip(listed, row, strict=True))} for row in rows]

    def _has_next(self, tool: Tool, arguments: JsonObject, outcome: ToolOutcome, key: str) -> bool:
        """Return True if the next call of a cancel follows: this answer may not be the end."""
        if outcome.kind == "succeeded":
            return True
        if not _is_success(outcome) or not (outcome.kind == "rejected" or outcome.accepted):
            return False
        step = self.contract.then[0]
        filled = self._next(step, tool, arguments, outcome, key)
        is_valid = not check_arguments(self.catalog, self.catalog.tool(step.tool), filled)
        return is_valid and _names_anything(step, filled)

    def _next(
        self,
        step: ToolCallTemplate,
        tool: Tool,
        arguments: JsonObject,
        outcome: ToolOutcome,
        key: str,
    ) -> JsonObject:
        return fill_template(
            step,
            tool=tool,
            arguments=arguments,
            idempotency_key=key,
            response_body=outcome.body,
            response_headers=outcome.headers,
        )

    def _park_shared_id(self, tool: Tool, other: str) -> CompensationOutcome:
        return _parked(f"{tool.name} was not called: its provider gave the same id to {other}")

    def _cancel_if_ours(self, tool: Tool) -> _Outcome:
        """Cancel another mission's ids only if a probe shows this mission's booking.

        The probe is asked by the values of the request: asked by the id, it would show the other
        booking.
        """
        probe = self.contract.probe
        is_asked = probe is not None and not reads_only_response(probe)
        shared = self.obligation.answered_ids
        probed = (yield from self._probe(but=shared)) if is_asked else None
        if probed is not None and probed.says == "held":
            return (yield from self._cancel(self._as_probed(probed), is_shown=True))
        if probed is not None and probed.says == "gone":
            return self._void_if_missing(probed.why, shows_it=probed.names_it)
        return self._park_shared_id(tool, f"mission {self.owner}")

    def _complete(
        self, tool: Tool, arguments: JsonObject, outcome: ToolOutcome, key: str, call_id: str
    ) -> _Outcome:
        """Send the other calls of a cancel after its first; the last answer decides."""
        for number, step in enumerate(self.contract.then, 2):
            filled = self._next(step, tool, arguments, outcome, key)
            asked, tool, arguments = tool, self.catalog.tool(step.tool), filled
            if check_arguments(self.catalog, tool, filled):
                return _parked(
                    f"the answer of {asked.name} does not fill {tool.name}: not cancelled"
                )
            outcome = yield from self._call(
                tool, filled, key=f"{key}.{number}", call_id=f"{call_id}.{number}", cancels=True
            )
            if outcome.kind != "succeeded":
                break
        if outcome.kind != "rejected":
            return (yield from self._settle_success(tool, outcome, note=""))
        probed = yield from self._probe()
        if probed is not None and probed.says == "gone":
            return self._already_over(tool, outcome.why)
        named = f"{tool.name} ({', '.join(f'{n} {v}' for n, v in arguments.items())})"
        return _parked(f"only requested, not cancelled: {named} was refused: {outcome.why}")

    def _settle_refusal(
        self, tool: Tool, obligation: Obligation, outcome: ToolOutcome, *, sent: JsonObject
    ) -> _Outcome:
        """Settle a refused cancel: the refusal may mean that the booking is over already.

        HTTP settles a 410, and a DELETE that does not find its target. Otherwise the probe shows
        whether the booking is over. If the probe shows other values than were sent, such as a newer
        version, the cancel is sent once more with those values.
        """
        why = outcome.why
        is_missing, is_success = outcome.status in GONE, _is_success(outcome)
        if (
            is_missing
            and outcome.declared
            and obligation.state is not ObligationState.COMMITTED
            and self._names_the_call()
            and not self._reads_the_answer(obligation)
        ):
            return self._void_if_missing(why)
        if self._http_says_gone(tool, outcome, repeated=self.obligation.cancel_sent):
            return self._already_over(tool, why)
        probed = (yield from self._probe()) if self._can_verify_gone or not is_missing else None
        if (
            outcome.status in _MOVED
            and probed is not None
            and probed.says in ("nothing", "refused")
        ):
            return self._unclear(f"{tool.name} was refused: {why}; {probed.why}")
        is_version_read = probed is None and outcome.status in _MOVED
        if is_version_read:
            probed = yield from self._probe_version(tool, sent)
        if probed is not None and probed.says == "gone":
            if obligation.state is not ObligationState.COMMITTED:
                return self._void_if_missing(probed.why, shows_it=probed.names_it)
            return self._gone_by_probe(probed, self._already_over(tool, why).note)
        if is_missing and not outcome.declared:
            return self._unclear(f"{tool.name} answers {why}, in a form that it does not declare")
        if probed is not None and probed.says == "held" and not self.sent_again:
            shown = self._as_probed(probed)
            fresh = {**sent, **self._cancel_arguments(shown)}
            if is_version_read:
                # The version was read at the resource's own path: nothing else may differ.
                headers = {one.name for one in tool.bindings if one.location == "header"}
                fresh = {**fresh, **{n: v for n, v in sent.items() if n not in headers}}
            if fresh != sent and len(self._each(fresh)) == 1:
                self.sent_again = True
                shown = shown.model_copy(update={"cancel_inputs": fresh})
                return (yield from self._cancel(shown, again=".again"))
        if probed is not None and probed.says == "held" and self._can_verify_gone:
            ended = ended_state(self.tool, probed.found)
            if ended is not None and self.obligation.state is not ObligationState.COMMITTED:
                note = f"it never took effect: by {self._probe_name} {ended}; {tool.name}: {why}"
                return CompensationOutcome(state="void", note=note)
            is_perhaps_done = is_success or (self.obligation.cancel_sent and not is_missing)
            if is_perhaps_done and self._may_settle:
                maybe = f"{tool.name} was refused, perhaps because an earlier one worked: {why}"
                return self._probe_later(maybe)
        named = named_ids(outcome.body) if is_success else ""
        why = _joined(why, f"it answers {named}" if named else "")
        return _parked(f"{tool.name} was refused: {why}")

    def _probe_version(self, cancel: Tool, sent: JsonObject) -> _Probed:
        """Return what a GET of a conditional cancel's own path shows; None if there is none."""
        reader = version_reader(self.catalog.tools.values(), cancel)
        if reader is None or self.sent_again:
            return None
        named = {name: value for name, value in sent.items() if name in reader.properties}
        if check_arguments(self.catalog, reader, named):
            return None
        call_id = f"{self.obligation.obligation_id}.version"
        outcome = yield from self._call(reader, named, key=None, call_id=call_id)
        return read_probe(outcome, OwnNames({}, is_asked_by=True), self.contract)

    def _gone_by_probe(self, probed: ProbeAnswer, note: str) -> Settled:
        """Return the outcome if a probe finds nothing after a cancel without a clear answer.

        Shortly after the call the probe may not find the booking yet.
        """
        since = self.obligation.committed_at or self.obligation.deadline
        is_new = self.now is not None and self.now < since + self.contract.settles_after
        if is_new and self._may_settle and not probed.names_it:
            return self._probe_later(f"not found, perhaps not yet: {probed.why}")
        return _cancelled(note)

    def _already_over(self, tool: Tool, why: str) -> CompensationOutcome:
        before = f"it was over already: {tool.name} was refused ({why})"
        return _cancelled(_GONE_AFTER if self.obligation.cancel_sent else before)

    def _settle_success(self, tool: Tool, outcome: ToolOutcome, *, note: str) -> _Outcome:
        """Settle a cancel that was answered with a status of success.

        The cancel is done if the answer honours its contract and the probe, if there is one, finds
        nothing more; or if the answer breaks the contract, and the probe still shows that it is
        done.
        """
        honoured, is_verifiable = outcome.kind == "succeeded", self._can_verify_gone
        if honoured and not is_verifiable:
            return self._settle_unverified(tool, outcome, note=note)
        if honoured and not self.obligation.verify_cancel:
            unasked = _joined(note, f"{self._probe_name} was not asked, by policy")
            return self._settle_unverified(tool, outcome, note=unasked)
        probed = (yield from self._probe()) if is_verifiable else None
        if probed is not None and probed.says == "gone":
            return _cancelled(note, outcome) if honoured else self._gone_by_probe(probed, note)
        if honoured and (probed is None or probed.says == "another"):
            unasked = _joined(note, "its probe could not be asked")
            return self._settle_unverified(tool, outcome, note=unasked)
        if not honoured or probed is None:
            why = outcome.why
        else:
            finds = "it still stands" if probed.says == "held" else probed.why
            why = f"{tool.name} says that it is done, but by {self._probe_name} {finds}"
        stands = probed is not None and probed.says == "held"
        if stands and (honoured or outcome.accepted) and self._may_settle:
            # A finished cancel may show late, and an accepted one is carried out later.
            return self._probe_later(why)
        return self._unclear(why, None if honoured else outcome)

    def _settle_unverified(self, tool: Tool, outcome: ToolOutcome, *, note: str) -> Settled:
        if tool.success_when:
            return _cancelled(note, outcome)
        before = still_as_made(
            self.obligation.response, outcome.body, self._cancel_arguments(self.obligation)
        )
        if before is not None:
            doubted = outcome.model_copy(update={"doubted": True})
            return self._unclear(f"{tool.name} is not believed: {before}", doubted)
        if outcome.body in (None, "", {}, []):
            note = _joined(note, "not verified: its answer is empty")
        return _cancelled(note, outcome)

    def _is_gone(
        self, cancel: Tool, outcome: ToolOutcome
    ) -> Generator[CompensationCall, ToolOutcome, bool]:
        """Return True if a cancel that finds nothing means that an earlier one took effect."""
        if outcome.status not in GONE:
            return False
        if self._can_verify_gone:
            probed = yield from self._probe()
            return probed is not None and probed.says == "gone"
        return self._http_says_gone(cancel, outcome, repeated=True)

    def _http_says_gone(self, cancel: Tool, outcome: ToolOutcome, *, repeated: bool) -> bool:
        """Return True if HTTP proves that what is not found is over.

        A gateway in trouble answers 404 too, but never 410 (RFC 9110, section 15.5.11); to another
        method than DELETE a 410 may refer to the method. Without a probe, a repeated DELETE that
        finds nothing has worked (section 9.3.5). So has a DELETE of exactly this resource, by an
        id that its provider answered, if the document declares the refusal; and one after a DELETE
        that was answered with success.
        """
        if outcome.status not in GONE:
            return False
        if outcome.status == 410 and outcome.declared and repeated:
            return True
        if self._can_verify_gone or cancel.method != "DELETE":
            return False
        is_that_thing = cancel.path.rstrip("/").endswith("}")
        answered = self.obligation.cancel_answered
        is_sure = answered or outcome.status == 410 or outcome.declared
        is_own = answered or bool(self.obligation.answered_ids)
        return (outcome.declared and repeated) or (is_that_thing and is_sure and is_own)

    def _probe(self, *, but: Collection[str] = ()) -> _Probed:
        """Return the probe's answer; None if there is no probe or its inputs are unknown.

        The answer is compared with the names of the obligation, without the inputs in `but`.
        """
        if self.contract.probe is None:
            return None
        arguments = self._filled(self.contract.probe, self.obligation)
        tool = self.catalog.tool(self.contract.probe.tool)
        if check_arguments(self.catalog, tool, arguments):
            return None
        call_id = f"{self.obligation.obligation_id}.probe"
        outcome = yield from self._call(tool, arguments, key=None, call_id=call_id)
        filled = self._cancel_arguments(self.obligation)
        known = {name: value for name, value in filled.items() if name not in but}
        return read_probe(
            outcome, own_names(self.catalog, self.tool, asked=arguments, known=known), self.contract
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
        """Return the failure of an answered attempt that settled nothing: another one may."""
        wait = outcome.retry_after_s if outcome is not None else None
        answered = outcome is not None and outcome.is_unproved and not outcome.accepted
        return CompensationFailure(
            reason=why,
            arrived=self.cancelled,
            answered=answered,
            doubted=outcome is not None and outcome.doubted,
            retry_after_s=wait,
        )

    @property
    def _probe_name(self) -> str:
        return self.contract.probe.tool if self.contract.probe is not None else "no probe"

    @property
    def _can_verify_gone(self) -> bool:
        return can_verify_gone(self.catalog, self.contract)

    def _can_cancel(self, obligation: Obligation) -> bool:
        cancel, filled = self.contract.cancel.tool, self._cancel_arguments(obligation)
        tool, each = self.catalog.tool(cancel), self._each(filled)
        return _names_anything(self.contract.cancel, filled) and not any(
            check_arguments(self.catalog, tool, one) for one in each or [filled]
        )

    def _names_a_shared_id(self, obligation: Obligation, arguments: JsonObject) -> bool:
        shared = obligation.answered_ids if obligation.namesake or self.owner else {}
        return bool(shared) and all(
            name in arguments and same_id(arguments[name], value) for name, value in shared.items()
        )

    def _names_the_call(self) -> bool:
        """Return True if the cancel identifies its call by the call's own reference or key.

        So does the address of a PUT. Other values of the request may match the bookings of others:
        not finding them proves nothing.
        """
        known, cancelled = self.obligation, self._cancel_arguments(self.obligation).values()
        own = [known.arguments.get(name) for name in self.tool.reference_inputs]
        named = [value for value in (*own, known.idempotency_key) if value is not None]
        address = self.tool.address_inputs
        return any(value in named for value in cancelled) or (
            bool(address) and all(known.arguments.get(name) in cancelled for name in address)
        )

    def _reads_the_answer(self, obligation: Obligation) -> bool:
        filled = self._cancel_arguments(obligation)
        return any(
            name in filled and any(e.message == "response" for e in parse_filling(v).expressions)
            for name, v in self.contract.cancel.arguments.items()
        )

    def _cancel_arguments(self, obligation: Obligation) -> JsonObject:
        """Return the inputs of the cancel; values read from the full answer take precedence."""
        return {**self._filled(self.contract.cancel, obligation), **obligation.cancel_inputs}

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


def _names_anything(template: ToolCallTemplate, filled: JsonObject) -> bool:
    named = ((n, v) for n, v in template.arguments.items() if n in filled and not is_version(n))
    return any(parse_filling(value).expressions for _, value in named)


def _cancelled(note: str, outcome: ToolOutcome | None = None) -> CompensationOutcome:
    if outcome is None:
        return CompensationOutcome(state="cancelled", note=note)
    refund, fee = outcome.refund, outcome.fee
    paid = _joined(f"refunded {refund}" if refund else "", f"fee {fee}" if fee else "")
    note = _joined(paid.replace(";", ","), note)
    named = outcome.named
    return CompensationOutcome(state="cancelled", note=note, refund=refund, fee=fee, named=named)


def _worst_of(settled: Sequence[Settled]) -> Settled:
    ended = [one for one in settled if isinstance(one, CompensationOutcome)]
    failed = next((one for one in settled if isinstance(one, CompensationFailure)), None)
    if failed is not None or len(ended) == 1:
        return failed or ended[0]
    worst = next(state for state in _WORST if any(one.state == state for one in ended))
    notes = dict.fromkeys(one.note for one in ended if one.state == worst)
    return CompensationOutcome(
        state=worst,
        note=_joined(*notes),
        refund=_total(one.refund for one in ended),
        fee=_total(one.fee for one in ended),
        named=tuple(amount for one in ended for amount in one.named),
    )


def _total(amounts: Iterable[Money | None]) -> Money | None:
    """Return the sum; None if there is none, or none in one currency."""
    known = [amount for amount in amounts if amount is not None]
    if len({amount.currency for amount in known}) != 1:
        return None
    return Money(amount=sum((one.amount for one in known), Decimal(0)), currency=known[0].currency)


def _is_success(outcome: ToolOutcome) -> bool:
    return outcome.status is not None and 200 <= outcome.status < 300


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _parked(note: str) -> CompensationOutcome:
    return CompensationOutcome(state="parked", note=note)
