"""Make the tool calls of a leg: prepare, reserve budget, confirm, send and record each one."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import Grant, Reject, Respond, Verdict
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import CallTool
    from orchestrator.workflows import calls
    from orchestrator.workflows.approval import Approvals, NotConfirmed
    from orchestrator.workflows.asked_calls import BY_PEOPLE, AskedCalls, CallRefused
    from orchestrator.workflows.failures import LegFailed, LegSkipped
    from orchestrator.workflows.mission_limits import LegLimits, LimitSpent
    from orchestrator.workflows.overcharges import Overcharges
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.questions import Questions
    from orchestrator.workflows.sending import is_in_doubt, observe, read_at_once, send


class Caller:
    """Makes the tool calls of one leg: one at a time, and read-only calls concurrently."""

    def __init__(
        self, progress: Progress, limits: LegLimits, approvals: Approvals, questions: Questions
    ) -> None:
        self._progress = progress
        self._limits = limits
        self._approvals = approvals
        self._questions = questions
        self._asked = AskedCalls(progress)
        self._overcharges = Overcharges(progress, approvals, self._asked)

    @property
    def keeps_effects(self) -> bool:
        """True if people refused the last card and that card was for a cancel."""
        asked = self._progress.state.asked
        return bool(asked) and asked[-1].cancels and asked[-1].fate in BY_PEOPLE

    async def call(self, wanted: CallTool, prepared: PreparedCall | None = None) -> None:
        """Make one call; a call that cannot or may not be made is reported to the planner.

        Raises:
            LegFailed: the leg has no call left, nobody confirmed the call in time, too many
                proposals were unsuccessful, the effect of the call is unknown, or the call cost
                more than was approved and the overcharge was not settled.
            LegSkipped: a person left the leg out.
        """
        acting = self._progress.state.acting
        if acting is not None and acting.sent is not None:
            await self._continue(wanted, acting.sent)
            return
        if not self._is_resumed:
            self._limits.check(calls=True)
        if self._progress.leg.observe:
            await self._observe(wanted)
            return
        if (shown := self._approvals.resumed) is not None:
            prepared = shown.call  # the call whose card the previous run opened, and no other
        elif prepared is None or self._progress.repeated(prepared):
            prepared = await self._prepared(wanted)
        await self._carry_out(wanted, prepared)

    async def call_all(self, wanted: Sequence[CallTool]) -> None:
        """Make several read-only calls concurrently; each passes the checks of a single call.

        Calls that need a person's decision follow after the others, one at a time.
        """
        if self._progress.leg.observe:
            self._limits.check(calls=True)
            for part, call in enumerate(wanted):
                if part not in self._done():
                    self._progress.begin_part(part)
                    await self._observe(call)
                    self._progress.act_further(done=(*self._done(), part))
            return
        acting = self._progress.state.acting
        if acting is not None and acting.sent is not None:
            part = self._progress.state.part
            await self._continue(wanted[part], acting.sent)
            self._progress.act_further(done=(*acting.done, part), sent=None)
        if acting is None or not (acting.done or acting.parts):
            await self._read_first(wanted)
        acting = self._progress.state.acting
        for part, prepared in sorted(acting.parts.items()) if acting is not None else ():
            if part in self._done():
                continue
            self._progress.begin_part(part)
            if self._is_resumed or self._has_call_left():
                await self._carry_out(wanted[part], prepared)
            else:
                self._not_sent(wanted[part], "dropped", "the leg has no call left")
            self._progress.act_further(done=(*self._done(), part), sent=None)

    async def _read_first(self, wanted: Sequence[CallTool]) -> None:
        self._limits.check(calls=True)
        parts: dict[int, PreparedCall] = {}
        for part, call in enumerate(wanted):
            self._progress.begin_part(part)
            parts[part] = await calls.prepare_call(
                self._progress, call.tool, call.arguments, reason=call.reason
            )
        reads: dict[int, PreparedCall] = {}
        for part, one in parts.items():
            asks = one.call is None or one.side_effect or one.card or one.spends
            if not asks and (not reads or self._has_call_left()):
                self._progress.count_call(wanted[part].tool, part)
                reads[part] = one
        done = await read_at_once(reads, self._progress)
        left = {part: one for part, one in parts.items() if part not in done}
        self._progress.act_further(done=done, parts=left)

    def _done(self) -> tuple[int, ...]:
        acting = self._progress.state.acting
        return () if acting is None else acting.done

    @property
    def _is_resumed(self) -> bool:
        """True if the previous run checked and reserved this call, and opened its card."""
        return self._approvals.resumed is not None

    def _has_call_left(self) -> bool:
        try:
            self._limits.check(calls=True)
        except LimitSpent:
            return False
        return True

    async def _carry_out(self, wanted: CallTool, prepared: PreparedCall) -> None:
        # A read does not replace a failed call with an effect.
        failed = self._progress.state.unmade
        if prepared.side_effect or failed is None or failed.tool == wanted.tool:
            self._progress.update(unmade=wanted)
        if prepared.missing_personal or prepared.obstacles:
            await self._questions.ask_to_provide(wanted.tool, prepared)
            prepared = await self._prepared(wanted)
        elif self._questions.resumed is not None:
            self._questions.withdraw()  # somebody has provided it without an answer
        if prepared.call is None:
            self._not_sent(wanted, "invalid", "; ".join(prepared.problems))
            return
        is_resumed = self._is_resumed
        if not is_resumed and prepared.side_effect and (full := self._progress.full_reason()):
            self._not_sent(wanted, "refused", full)
            return
        try:
            if not is_resumed:
                self._asked.check(prepared)
                await self._reserve(prepared)
            permitted = await self._permitted(prepared, wanted)
        except CallRefused as refused:
            self._not_sent(wanted, "refused", str(refused), **refused.seen)
            return
        except NotConfirmed as expired:
            self._progress.record(f"call {wanted.tool}", "expired", str(expired))
            raise
        except (LegFailed, LegSkipped) as ended:
            self._progress.record(f"call {wanted.tool}", "refused", str(ended))
            raise
        # A leg that is cancelled meanwhile, and repaired, goes on after this call.
        self._progress.act_further(sent=permitted)
        await self._send(wanted, permitted)

    async def _continue(self, wanted: CallTool, sent: PreparedCall) -> None:
        acting = self._progress.state.acting
        if acting is not None and acting.wanted is not None:
            await self._send(wanted, sent)
        else:
            await self._overcharges.settle(sent)

    async def _send(self, wanted: CallTool, permitted: PreparedCall) -> None:
        outcome = await send(permitted, self._progress, self._questions)
        self._asked.settle(permitted, outcome)
        why = outcome.reason or outcome.contract_breach
        self._progress.record(f"call {wanted.tool}", outcome.kind, why, at=outcome.answered_at)
        if is_in_doubt(permitted, outcome):
            raise LegFailed(
                f"whether {wanted.tool} took effect is unknown ({outcome.reason}); "
                "rollback finds out"
            )
        await self._overcharges.settle(permitted)

    async def _observe(self, wanted: CallTool) -> None:
        """Make a call without its guards; an unclear outcome is no reason to end the leg."""
        progress = self._progress
        if full := progress.full_reason():
            self._not_sent(wanted, "refused", full)
            return
        progress.count_call(wanted.tool)
        observed, cancelled = await observe(wanted, progress)
        came = "succeeded" if observed.is_answered else observed.outcome.kind
        progress.record(f"call {wanted.tool}", came, observed.outcome.reason)
        if cancelled:
            raise asyncio.CancelledError

    async def _prepared(self, wanted: CallTool) -> PreparedCall:
        while True:
            prepared = await calls.prepare_call(
                self._progress, wanted.tool, wanted.arguments, reason=wanted.reason
            )
            if not (prepared.missing_personal or prepared.obstacles):
                return prepared
            await self._questions.ask_to_provide(wanted.tool, prepared)

    async def _permitted(self, prepared: PreparedCall, wanted: CallTool) -> PreparedCall:
        """Return the call as it may be made: as amended by people, and with its grant.

        It is in the ledger before anything else runs, so that no call repeats it unnoticed.
        """
        while True:
            permitted = prepared
            if prepared.card is not None:
                verdict, permitted = await self._approvals.decide_on(prepared, wanted.reason)
                if not isinstance(verdict, Grant):
                    raise _refusal(verdict, permitted)
                if permitted.price != prepared.price:
                    await self._reserve(permitted)
                if permitted.call is None:
                    raise CallRefused("; ".join(permitted.problems))
                call = permitted.call.model_copy(update={"grant": verdict})
                permitted = permitted.model_copy(update={"call": call})
            refusal = await self._progress.budget.once_free(self._progress.leg, permitted)
            if refusal is not None:
                raise CallRefused(refusal)
            grant = permitted.call.grant if permitted.call is not None else None
            if not self._approvals.rules.stands(grant, workflow.now()):
                continue
            if self._progress.repeated(permitted) is None:
                return permitted
            # The next card says which effect the call repeats since it was permitted.
            if permitted.card is not None:
                prepared = await self._approvals.renewed(permitted.card.round)
                continue
            prepared = await self._prepared(wanted)
            if prepared.call is None:
                raise CallRefused("; ".join(prepared.problems))

    async def _reserve(self, prepared: PreparedCall) -> None:
        refusal = await self._progress.budget.reserve(self._progress.leg, prepared)
        if refusal is not None:
            raise CallRefused(refusal)

    def _not_sent(self, wanted: CallTool, outcome: str, reason: str, **seen: object) -> None:
        self._progress.observe(wanted, outcome=outcome, error=reason, **seen)
        self._progress.record(f"call {wanted.tool}", outcome, reason)


def _refusal(verdict: Verdict, call: PreparedCall) -> CallRefused | LegFailed | LegSkipped:
    match verdict:
        case Reject(then="skip", approver=by, reason=why):
            return LegSkipped(f"left out: {by} rejected {call.title!r}: {why}")
        case Reject(then="rollback", approver=by, reason=why):
            return LegFailed(f"{by} rejected {call.title!r} and wants everything cancelled: {why}")
        case Reject(approver=by, reason=why):
            return CallRefused(f"{by} rejected it: {why}", by=by, hint=why)
        case Respond(approver=by, text=text):
            return CallRefused(f"{by} sent it back: {text}", by=by, hint=text, sent_back=True)
