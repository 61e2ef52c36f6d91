"""The rules of one mission for later calls: made with approvals, shared by its legs, revocable."""

from collections.abc import Callable, Iterable
from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import Approve, ConfirmationCard, Decision, Grant, rule_of
    from orchestrator.confirmation.policy import approver_problem
    from orchestrator.confirmation.same_again import (
        MOST_RULES,
        AgainRecord,
        FirstCall,
        RevokeAgain,
        why_not_again,
    )
    from orchestrator.core.errors import ConfirmationError
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.workflows.failures import refuse


class SameAgainRules:
    """The rules of a mission, by the confirmation on which each was made."""

    def __init__(self, records: Iterable[AgainRecord], changed: Callable[[], None]) -> None:
        """Take the rules of the previous run, and what is called after each shown change."""
        self._records = {one.rule.rule_id: one for one in records}
        self._changed = changed

    @property
    def records(self) -> tuple[AgainRecord, ...]:
        """Return the rules in the order in which they were made."""
        return tuple(self._records.values())

    def check(self, decision: Decision) -> None:
        """Refuse an approval that would make one rule too many.

        Raises:
            ApplicationError: typed SameAgainRefused.
        """
        makes_one = isinstance(decision, Approve) and decision.again is not None
        if makes_one and len(self._records) >= MOST_RULES:
            problem = f"a mission has at most {MOST_RULES} rules"
            named = decision.confirmation_id
            raise refuse(ConfirmationError(named, problem, code="SameAgainRefused"))

    def make(
        self, approve: Approve, card: ConfirmationCard, call: PreparedCall, at: datetime
    ) -> None:
        """Add the rule of an approval that `check` accepted, if it makes one."""
        if approve.again is None or call.call is None:
            return
        first = FirstCall(
            **call.call.ref,
            arguments=call.call.arguments,
            card_type=card.card_type,
            terms=call.call.approval_terms,
            cannot_be_cancelled=card.cannot_be_cancelled,
        )
        rule = rule_of(approve, card, first, at)
        self._records[rule.rule_id] = AgainRecord(rule=rule)
        self._changed()

    def grant_for(self, prepared: PreparedCall, at: datetime) -> Grant | None:
        """Return a grant for a call that one of the rules covers, and count the call.

        Each grant is for one call, with its own digest: the store lets it be used once.
        """
        card, call = prepared.card, prepared.call
        if card is None or call is None or card.again is None:
            return None
        is_odd = bool(prepared.unordered) or card.is_unfounded or card.exceeds_budget
        if is_odd or prepared.cancel is not None or card.round != 1:
            return None  # a person reads these whatever the rules say
        for record in self._records.values():
            rule = record.rule
            loses_cancel = card.cannot_be_cancelled and not rule.first.cannot_be_cancelled
            if record.revoked_at is not None or loses_cancel:
                continue
            refusal = why_not_again(
                rule,
                call,
                arguments=call.arguments,
                card_type=card.card_type,
                amounts=call.amounts,
                approvals_needed=max(call.approvals_needed, card.approvals_needed),
                free=card.again.free,
                left=record.left,
                at=at,
            )
            if refusal is not None:
                continue
            used = record.used + (call.amounts[0].amount if call.amounts else 0)
            self._records[rule.rule_id] = record.model_copy(
                update={"used": used, "calls": (*record.calls, call.call_id)}
            )
            self._changed()
            return Grant(
                confirmation_id=card.confirmation_id,
                digest=card.digest,
                approver=f"{rule.approver} (same again as {rule.rule_id})",
                granted_at=at,
                opened_at=card.opened_at,
                again=rule,
            )
        return None

    def stands(self, grant: Grant | None, at: datetime) -> bool:
        """Return False if a grant is by a rule that was revoked, or ended, before the call."""
        if grant is None or grant.again is None:
            return True
        record = self._records.get(grant.again.rule_id)
        is_over = record is None or record.revoked_at is not None
        return not is_over and at <= grant.again.again.until

    def check_revocation(self, wanted: RevokeAgain) -> None:
        """Refuse to revoke a rule that does not exist, or in nobody's name.

        Raises:
            ApplicationError: typed SameAgainUnknown or ApproverRefused.
        """
        record = self._records.get(wanted.rule_id)
        if record is None or record.revoked_at is not None:
            problem = "no rule is in force under this id"
            raise refuse(ConfirmationError(wanted.rule_id, problem, code="SameAgainUnknown"))
        if (unnamed := approver_problem(wanted.by, ())) is not None:
            raise refuse(ConfirmationError(wanted.rule_id, unnamed, code="ApproverRefused"))

    def revoke(self, wanted: RevokeAgain, at: datetime) -> AgainRecord:
        """Revoke a rule that `check_revocation` accepted; return it as it is now."""
        record = self._records[wanted.rule_id]
        if record.revoked_at is None:
            record = record.model_copy(
                update={"revoked_by": wanted.by, "revoked_at": at, "reason": wanted.reason}
            )
            self._records[wanted.rule_id] = record
            self._changed()
        return record
