"""Any story of legs, their own cancels, rollbacks and operators leaves a ledger that adds up."""

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState, Resolution
from orchestrator.saga.outcome import (
    CompensationFailure,
    CompensationOutcome,
    OutcomeKind,
    ToolOutcome,
)
from tests.fakes import fake_obligation

S = ObligationState
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FINAL = (S.VOID, S.CANCELLED, S.ACCEPTED)
kinds = st.sampled_from(OutcomeKind.__args__)  # type: ignore[attr-defined]
legs = st.sampled_from(["a", "b"])


class Story(RuleBasedStateMachine):
    """Two legs book and cancel at a provider that this machine keeps the truth of.

    `held` is what the provider holds; the ledger may know less than that, but never the opposite.
    """

    sent = Bundle("sent")
    booked = Bundle("booked")
    cancelling = Bundle("cancelling")

    @initialize()
    def begin(self) -> None:
        self.clock = NOW
        self.steps = 0
        self.legs = {"a": Ledger(), "b": Ledger()}
        self.taken_over = Ledger()
        self.rolled_back = False
        self.held: set[str] = set()
        self.final: dict[str, ObligationState] = {}

    # -- the legs ---------------------------------------------------------------------------------

    @rule(target=sent, leg=legs)
    def write(self, leg: str) -> str:
        """Write an obligation ahead of its call."""
        if self.rolled_back:
            return multiple()  # type: ignore[return-value]
        self.steps += 1
        call_id = f"m.{leg}.{self.steps}"
        self.legs[leg] = self.legs[leg].written(
            fake_obligation(
                call_id,
                cancel_inputs={"client_reference": call_id},
                written_at=self._tick(),
                deadline=self.clock,
            )
        )
        return call_id

    @rule(target=booked, call_id=consumes(sent), kind=kinds, happened=st.booleans())
    def answer(self, call_id: str, kind: OutcomeKind, happened: bool) -> str:
        """Its call comes to something; unknown may have happened or not."""
        if self.rolled_back:
            return multiple()  # type: ignore[return-value]
        if kind == "succeeded" or (kind == "unknown" and happened):
            self.held.add(call_id)
        outcome = ToolOutcome(
            kind=kind, cancel_inputs={"booking_id": f"b{call_id}"} if kind == "succeeded" else {}
        )
        leg = call_id.split(".")[1]
        before = self.legs[leg].obligation(call_id)
        if before.is_live and before.state is S.INTENDED:
            self.legs[leg] = self.legs[leg].written(before.answered(outcome, at=self._tick()))
        return call_id

    @rule(target=cancelling, leg=legs, call_id=booked, by_id=st.booleans())
    def send_cancel(self, leg: str, call_id: str, by_id: bool) -> tuple[str, str, str]:
        """A planner cancels, from either leg, by either name."""
        if self.rolled_back:
            return multiple()  # type: ignore[return-value]
        self.steps += 1
        names = {"booking_id": f"b{call_id}"} if by_id else {"client_reference": call_id}
        cancel = CancelCall(
            call_id=f"m.{leg}.{self.steps}",
            tool="cancel",
            arguments=dict(names),
            names=dict(names),
            written_at=self._tick(),
        )
        self.legs[leg] = self.legs[leg].cancelling(cancel)
        return leg, cancel.call_id, call_id

    @rule(sent_cancel=consumes(cancelling), kind=kinds, happened=st.booleans())
    def answer_cancel(
        self, sent_cancel: tuple[str, str, str], kind: OutcomeKind, happened: bool
    ) -> None:
        """The provider cancels what it holds, and what it does not hold it refuses to cancel."""
        leg, cancel_id, call_id = sent_cancel
        if self.rolled_back:
            return
        if kind == "succeeded" and call_id not in self.held:
            kind = "rejected"
        if kind == "succeeded" or (kind == "unknown" and happened):
            self.held.discard(call_id)
        cancel = self.legs[leg].cancel(cancel_id)
        self.legs[leg] = self.legs[leg].cancelling(
            cancel.answered(ToolOutcome(kind=kind), at=self._tick())
        )

    # -- the rollback -----------------------------------------------------------------------------

    @rule(refused=st.booleans(), kind=st.sampled_from(["park", "continue"]), answered=st.booleans())
    def compensate_next(self, refused: bool, kind: str, answered: bool) -> None:
        """A rollback takes the next one in order, and the provider says yes, no or nothing."""
        self.rolled_back = True
        ledger = self._ledger()
        pending = [o for o in ledger.compensation_order() if o.state is not S.PARKED]
        if not pending:
            return
        next_one = pending[0].model_copy(update={"on_failure": kind})
        assert all(
            (next_one.committed_at or next_one.written_at) >= (o.committed_at or o.written_at)
            for o in pending
        )
        self._take_over(self._tried(next_one, refused=refused, answered=answered))

    def _tried(self, one: Obligation, *, refused: bool, answered: bool) -> Obligation:
        if not answered:
            return one.compensation_failed(CompensationFailure(reason="HTTP 503"))
        if refused:
            return one.compensated(
                CompensationOutcome(state="parked", note="too late"), at=self._tick()
            )
        state: str = "cancelled" if one.obligation_id in self.held else "void"
        self.held.discard(one.obligation_id)
        return one.compensated(
            CompensationOutcome.model_validate({"state": state}), at=self._tick()
        )

    @rule(resolution=st.sampled_from(Resolution.__args__))  # type: ignore[attr-defined]
    def resolve(self, resolution: Resolution) -> None:
        """An operator decides on whatever is parked first; `cancelled` is done by hand first."""
        parked = [o for o in self._ledger().obligations if o.state is S.PARKED]
        if not parked:
            return
        if resolution == "cancelled":
            self.held.discard(parked[0].obligation_id)
        self._take_over(parked[0].resolved(resolution, at=self._tick(), operator="ops"))

    # -- what always holds ------------------------------------------------------------------------

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """What a provider holds is live, or was accepted by an operator or a contract."""
        known = {o.obligation_id: o for o in self._ledger().obligations}
        for call_id in self.held:
            assert known[call_id].is_live or known[call_id].state is S.ACCEPTED

    @invariant()
    def what_is_settled_stays_so(self) -> None:
        """Whatever is merged again, in whatever order, a final state is final."""
        for one in self._ledger().obligations:
            if one.state in FINAL:
                assert self.final.setdefault(one.obligation_id, one.state) is one.state
        assert all(self._ledger().obligation(o).state is state for o, state in self.final.items())

    @invariant()
    def merging_does_not_depend_on_the_order_of_legs(self) -> None:
        """The rollback may read the legs in any order."""
        ledgers = list(self.legs.values())
        assert Ledger.merged(ledgers) == Ledger.merged(ledgers[::-1])

    def _ledger(self) -> Ledger:
        return Ledger.merged(self.legs.values()).written(*self.taken_over.obligations)

    def _take_over(self, one: Obligation) -> None:
        self.taken_over = self.taken_over.written(one)

    def _tick(self) -> datetime:
        self.clock += timedelta(seconds=1)
        return self.clock


TestStory = Story.TestCase
TestStory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
