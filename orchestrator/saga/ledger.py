"""The ledger of a mission: its obligations and its legs' own cancels, in order.

Everything here is total and pure: workflows call it, so its answers are replayed for ever.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import reduce

from orchestrator.core.budget import Spend, SpendingLimit
from orchestrator.core.record import JsonObject, Record
from orchestrator.saga.obligation import (
    CancelCall,
    IdsKey,
    Obligation,
    ObligationState,
    RollbackOrder,
    digest_of_ids,
    ids_key,
)
from orchestrator.saga.outcome import ToolOutcome


class Ledger(Record):
    """The ordered obligations of a mission or a leg, and the cancels that its legs made."""

    obligations: tuple[Obligation, ...] = ()
    cancels: tuple[CancelCall, ...] = ()

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Return the ids of the calls that made its obligations and of its cancels."""
        made = (one.obligation_id for one in self.obligations)
        return (*made, *(one.call_id for one in self.cancels))

    @property
    def workflow_id(self) -> str:
        """Return the workflow that owns the saga; empty if the ledger is empty or of a mission."""
        return next((o.workflow_id for o in self.obligations if o.workflow_id), "")

    def written(self, *newer: Obligation) -> "Ledger":
        """Return the ledger with more obligations, which replace those of the same ids."""
        kept = {o.obligation_id: o for o in (*self.obligations, *newer)}
        return self.model_copy(update={"obligations": tuple(kept.values())})

    def cancelling(self, cancel: CancelCall) -> "Ledger":
        """Return the ledger with a cancel call or its outcome, and the effect on its target.

        An obligation changes only if it is the only one that the call can mean.
        """
        others = tuple(c for c in self.cancels if c.call_id != cancel.call_id)
        noted = self.model_copy(update={"cancels": (*others, cancel)})
        meant = [o for o in self.obligations if cancel.means(o)]
        return noted.written(meant[0].met(cancel)) if len(meant) == 1 else noted

    def sending(self, obligation: Obligation | None, cancel: CancelCall | None) -> "Ledger":
        """Return the ledger with a call's possible effect and cancel, before the call is sent."""
        noted = self if cancel is None else self.cancelling(cancel)
        return noted if obligation is None else noted.written(obligation)

    def doubted(self, obligation: Obligation | None, outcome: ToolOutcome) -> ToolOutcome:
        """Return a call's outcome; unclear if its answer has the ids of another obligation."""
        if obligation is None or outcome.kind != "succeeded":
            return outcome
        own = obligation.obligation_id
        other = self.namesake(obligation.cancel_tool, outcome.answered_ids, of=own)
        if other is None:
            return outcome
        reason = f"its answer gives the id that {other.obligation_id} was answered with"
        return outcome.model_copy(update={"kind": "unknown", "reason": reason})

    def answered(
        self,
        obligation: Obligation | None,
        cancel: CancelCall | None,
        outcome: ToolOutcome,
        *,
        at: datetime,
        limit: SpendingLimit | None = None,
    ) -> "Ledger":
        """Return the ledger with the outcome of a call that was written with `sending`."""
        ledger = self
        if obligation is not None:
            written = ledger.obligation(obligation.obligation_id)
            # An amount in the answer to a cancel is a refund and no price.
            came = (
                outcome
                if cancel is None
                else outcome.model_copy(update={"price": None, "named": ()})
            )
            ledger = ledger.written(written.answered(came, at=at).compared(limit, came.named))
        if cancel is not None:
            ledger = ledger.cancelling(ledger.cancel(cancel.call_id).answered(outcome, at=at))
        return ledger

    def obligation(self, obligation_id: str) -> Obligation:
        """Return the obligation with this id; KeyError: there is none."""
        return {o.obligation_id: o for o in self.obligations}[obligation_id]

    def cancel(self, call_id: str) -> CancelCall:
        """Return a leg's own cancel call by its id; KeyError: there is none."""
        return {c.call_id: c for c in self.cancels}[call_id]

    @property
    def spent(self) -> Spend:
        """The cost of the obligations that still stand."""
        costs = (o.cost for o in self.obligations)
        unpriced = sum(o.is_unpriced for o in self.obligations)
        return reduce(Spend.plus, costs, Spend(unpriced=unpriced))

    @property
    def set_aside(self) -> Spend:
        """The amounts reserved of a budget in addition to what was spent."""
        aside = (one for o in self.obligations for one in (o.set_aside, o.fee_aside))
        return reduce(Spend.plus, aside, Spend())

    def namesake(self, cancel_tool: str | None, ids: JsonObject, *, of: str) -> "Obligation | None":
        """Return the first other live obligation that was answered with these ids, or None."""
        if not ids:
            return None
        name, others = ids_key(cancel_tool, ids), (o for o in self.live() if o.obligation_id != of)
        return next((o for o in others if ids_key(o.cancel_tool, o.answered_ids) == name), None)

    def repeated_by(self, new: Obligation) -> Obligation | None:
        """Return the first other obligation that may stand and has the essence of a new one."""
        same = (o for o in self.live() if new.essence and o.essence == new.essence)
        return next((o for o in same if o.obligation_id != new.obligation_id), None)

    def claimed_ids(self) -> Iterator[tuple[str, str]]:
        """Yield the digests of the providers' ids of live obligations, each with its mission."""
        yield from ((o.answered_name, o.mission_id) for o in self.live() if o.answered_ids)

    def freed_ids(self) -> Iterator[tuple[str, str]]:
        """Yield the digests of ids that are free again, with the mission; '' after own cancels."""
        over = (ObligationState.CANCELLED, ObligationState.VOID)
        yield from (
            (o.answered_name, o.mission_id)
            for o in self.obligations
            if o.state in over and o.answered_ids
        )
        done = (c for c in self.cancels if c.outcome == "succeeded" and c.names)
        yield from ((digest_of_ids(c.tool, c.names), "") for c in done)

    def without(self, obligation_id: str) -> "Ledger":
        """Return the ledger without the obligation of one call."""
        kept = tuple(o for o in self.obligations if o.obligation_id != obligation_id)
        return self.model_copy(update={"obligations": kept})

    def live(self) -> tuple[Obligation, ...]:
        """Return the obligations that may still exist at providers, in the order written."""
        return tuple(o for o in self.obligations if o.is_live)

    def ordered_back(self, order: RollbackOrder) -> "Ledger":
        """Return the ledger with a rollback order on each live obligation that has none."""
        due = [o for o in self.live() if o.rollback is None]
        return self.written(*(o.model_copy(update={"rollback": order}) for o in due))

    def compensated(self) -> tuple[Obligation, ...]:
        """Return the cancelled obligations, in the order written."""
        return tuple(o for o in self.obligations if o.state is ObligationState.CANCELLED)

    def compensation_order(self) -> tuple[Obligation, ...]:
        """Return the live obligations in cancel order: last committed first, across all legs.

        An obligation with an unknown outcome counts from when it was written. Equal times are
        ordered by id, so that every replay gives the same order.
        """
        order = sorted(self.live(), key=lambda o: (o.committed_at or o.written_at, o.obligation_id))
        return tuple(reversed(order))

    @staticmethod
    def merged(ledgers: Iterable["Ledger"]) -> "Ledger":
        """Return all obligations of several ledgers, by the time they were written.

        A cancel by one leg of another leg's obligation takes effect here, where both are known.
        """
        every = tuple(ledgers)
        obligations = [o for ledger in every for o in ledger.obligations]
        cancels = [c for ledger in every for c in ledger.cancels]
        merged = Ledger().written(
            *sorted(obligations, key=lambda o: (o.written_at, o.obligation_id))
        )
        for cancel in sorted(cancels, key=lambda c: (c.written_at, c.call_id)):
            merged = merged.cancelling(cancel)
        # A cancel by the ids of an earlier obligation would cancel that one.
        first: dict[IdsKey, Obligation] = {}
        namesakes = []
        for one in merged.live():
            if one.answered_ids:
                owner = first.setdefault(ids_key(one.cancel_tool, one.answered_ids), one)
                if owner.obligation_id != one.obligation_id:
                    namesake = {"namesake": owner.obligation_id}
                    namesakes.append(one.model_copy(update=namesake))
        return merged.written(*namesakes)

    @staticmethod
    def united(ledgers: Iterable["Ledger"]) -> "Ledger":
        """Return one ledger of a mission from several records of it: runs, branches, the store.

        If two records of one call differ, the settled one counts, unless the call was sent again
        after it ended without an effect; of two settled ones the later counts, and a void one only
        if no other record says that the obligation exists. A reset may have sent another call under
        the same id: both stay in the ledger, the earlier one under a new id.
        """
        every = tuple(ledgers)
        sent: dict[tuple[str, str], Obligation] = {}
        for one in (o for ledger in every for o in ledger.obligations):
            identity = one.obligation_id, _content(one)
            sent[identity] = _prevailing(sent.get(identity, one), one)
        cancels: dict[str, CancelCall] = {}
        for call in (c for ledger in every for c in ledger.cancels):
            known = cancels.get(call.call_id, call)
            cancels[call.call_id] = call if known.outcome == "unknown" else known
        newest: dict[str, Obligation] = {}
        aside: dict[str, Obligation] = {}
        for one in sorted(sent.values(), key=lambda o: o.written_at):
            earlier = newest.get(one.obligation_id)
            newest[one.obligation_id] = one
            if earlier is not None and earlier.is_live:
                own_id = f"{earlier.obligation_id}-{_content(earlier)[:8]}"
                aside[own_id] = earlier.model_copy(update={"obligation_id": own_id})
        kept = {**aside, **newest}
        united = Ledger(obligations=tuple(kept.values()), cancels=tuple(cancels.values()))
        return Ledger.merged([united])


def _content(obligation: Obligation) -> str:
    asked = [obligation.tool, obligation.arguments]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _prevailing(one: Obligation, other: Obligation) -> Obligation:
    if (one.state is ObligationState.INTENDED) is (other.state is ObligationState.INTENDED):
        return max(one, other, key=_weight)
    intended, settled = (one, other) if one.state is ObligationState.INTENDED else (other, one)
    over = settled.settled_at or settled.written_at
    return intended if not settled.is_live and intended.written_at > over else settled


def _weight(one: Obligation) -> tuple[bool, datetime, bool, int]:
    at = one.settled_at or one.written_at
    return one.state is not ObligationState.VOID, at, one.cancel_sent, len(one.cancel_inputs)
