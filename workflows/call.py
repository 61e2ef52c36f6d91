"""One tool call of a leg: prepared, paid for, confirmed and sent; what came of it is recorded."""

from collections.abc import Sequence

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import Grant, Reject, Respond, Verdict
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import CallTool
    from workflows import calls
    from workflows.approval import Approvals, NotConfirmed
    from workflows.asked_calls import AskedCalls, CallRefused
    from workflows.failures import LegLost, LegSkipped
    from workflows.leg_limits import LegLimits, LimitSpent
    from workflows.overcharges import Overcharges
    from workflows.progress import Progress
    from workflows.questions import Questions
    from workflows.reservations import Reservations
    from workflows.sending import is_in_doubt, read_at_once, send


class Caller:
    """Makes the tool calls of one leg: one at a time, and those that only read at once."""

    def __init__(
        self,
        progress: Progress,
        limits: LegLimits,
        reservations: Reservations,
        approvals: Approvals,
        questions: Questions,
    ) -> None:
        self._progress = progress
        self._limits = limits
        self._reservations = reservations
        self._approvals = approvals
        self._questions = questions
        self._asked = AskedCalls(progress)
        self._overcharges = Overcharges(progress, approvals, self._asked)

    @property
    def keeps_what_was_to_go(self) -> bool:
        """Whether the last that people were asked was to undo something, and they refused."""
        return self._asked.last_was_refused_cancel()

    async def call(self, wanted: CallTool, prepared: PreparedCall | None = None) -> None:
        """Make one call; one that cannot or may not be made is told to the planner.

        Args:
            wanted: as its planner decided on it.
            prepared: the same, where it was prepared already.

        Raises:
            LegLost: the leg has no call left, nobody confirmed this one in time, people have had
                enough of it, whether it took effect is unknown, or it cost more than was approved
                and that was not settled.
            LegSkipped: a person left the leg out.
        """
        await self._limits.check_call()
        await self._carry_out(wanted, prepared or await self._prepared(wanted))

    async def call_all(self, wanted: Sequence[CallTool]) -> None:
        """Make several calls that only read, at once; each passes what a single one passes.

        What asks a person first follows after the others, one at a time.

        Raises:
            LegLost: as for a single call.
        """
        await self._limits.check_call()
        parts = {part: await self._first_look(part, one) for part, one in enumerate(wanted)}
        reads: dict[int, PreparedCall] = {}
        for part, one in parts.items():
            if _asks_nobody(one) and (not reads or await self._has_call_left()):
                self._progress.count_call(wanted[part].tool, part)
                reads[part] = one
        await read_at_once(reads, self._progress)
        for part, one in parts.items():
            if part not in reads:
                self._progress.begin_part(part)
                await self._carry_out_late(wanted[part], one)

    async def _carry_out_late(self, wanted: CallTool, prepared: PreparedCall) -> None:
        """A call beside others that were made: where none is left, that ends no leg yet."""
        if await self._has_call_left():
            await self._carry_out(wanted, prepared)
        else:
            self._not_sent(wanted, "dropped", "the leg has no call left")

    async def _has_call_left(self) -> bool:
        try:
            await self._limits.check_call()
        except LimitSpent:
            return False
        return True

    async def _first_look(self, part: int, wanted: CallTool) -> PreparedCall:
        self._progress.begin_part(part)
        return await calls.prepare_call(
            self._progress, wanted.tool, wanted.arguments, reason=wanted.reason
        )

    async def _carry_out(self, wanted: CallTool, prepared: PreparedCall) -> None:
        if prepared.missing_personal or prepared.obstacles:
            await self._questions.ask_to_provide(wanted.tool, prepared)
            prepared = await self._prepared(wanted)
        if prepared.call is None:
            self._not_sent(wanted, "invalid", "; ".join(prepared.problems))
            return
        if prepared.side_effect and (full := self._progress.lack_of_room()):
            self._not_sent(wanted, "refused", full)
            return
        try:
            self._asked.check(prepared)
            permitted = await self._permitted(prepared, wanted.reason)
        except CallRefused as refused:
            self._not_sent(wanted, "refused", str(refused), **refused.seen)
            return
        except NotConfirmed as expired:
            self._progress.record(f"call {wanted.tool}", "expired", str(expired))
            raise
        except (LegLost, LegSkipped) as ended:
            self._progress.record(f"call {wanted.tool}", "refused", str(ended))
            raise
        outcome = await send(permitted, self._progress)
        self._asked.settle(permitted, outcome)
        why = outcome.reason or outcome.contract_breach
        self._progress.record(f"call {wanted.tool}", outcome.kind, why, at=outcome.answered_at)
        if is_in_doubt(permitted, outcome):
            raise LegLost(
                f"whether {wanted.tool} took effect is unknown ({outcome.reason}); "
                "rollback finds out"
            )
        await self._overcharges.settle(permitted)

    async def _prepared(self, wanted: CallTool) -> PreparedCall:
        """The call, once all is there that it needs: personal values, credentials, a host."""
        while True:
            prepared = await calls.prepare_call(
                self._progress, wanted.tool, wanted.arguments, reason=wanted.reason
            )
            if not (prepared.missing_personal or prepared.obstacles):
                return prepared
            await self._questions.ask_to_provide(wanted.tool, prepared)

    async def _permitted(self, prepared: PreparedCall, reason: str) -> PreparedCall:
        """The call as it may be made: as people have amended it, and with its grant.

        Raises:
            CallRefused: it may not be made.
            NotConfirmed: nobody decided in time.
        """
        await self._reserve(prepared)
        permitted = await self._confirmed(prepared, reason)
        refusal = await self._reservations.once_free(permitted)
        if refusal is not None:
            raise CallRefused(refusal)
        return permitted

    async def _confirmed(self, prepared: PreparedCall, reason: str) -> PreparedCall:
        if prepared.card is None:
            return prepared
        verdict, decided = await self._approvals.decide_on(prepared, reason)
        if not isinstance(verdict, Grant):
            raise _refusal(verdict, decided)
        if decided.price != prepared.price:
            await self._reserve(decided)
        assert decided.call is not None
        call = decided.call.model_copy(update={"grant": verdict})
        return decided.model_copy(update={"call": call})

    async def _reserve(self, prepared: PreparedCall) -> None:
        refusal = await self._reservations.reserve(prepared)
        if refusal is not None:
            raise CallRefused(refusal)

    def _not_sent(self, wanted: CallTool, outcome: str, reason: str, **seen: object) -> None:
        """Tell the planner, who may decide on something else."""
        self._progress.observe(wanted, outcome=outcome, error=reason, **seen)
        self._progress.record(f"call {wanted.tool}", outcome, reason)


def _asks_nobody(prepared: PreparedCall) -> bool:
    """Whether a call only reads, and may be made as it is."""
    waits = prepared.card or prepared.spends
    return prepared.call is not None and not (prepared.side_effect or waits)


def _refusal(verdict: Verdict, call: PreparedCall) -> CallRefused | LegLost | LegSkipped:
    """What follows when a person does not let a call be made, as they choose."""
    match verdict:
        case Reject(then="skip", approver=by, reason=why):
            return LegSkipped(f"left out: {by} rejected {call.title!r}: {why}")
        case Reject(then="undo", approver=by, reason=why):
            return LegLost(f"{by} rejected {call.title!r} and wants all undone: {why}")
        case Reject(approver=by, reason=why):
            return CallRefused(f"{by} rejected it: {why}", by=by, hint=why)
        case Respond(approver=by, text=text):
            return CallRefused(f"{by} sent it back: {text}", by=by, hint=text, sent_back=True)
