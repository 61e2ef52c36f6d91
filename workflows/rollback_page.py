"""A rollback's page in the Temporal UI: an operator's tasks, and the cancelled effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core import command_lines
    from orchestrator.messages.observed import OBSERVED
    from orchestrator.messages.open_waits import WaitKind
    from orchestrator.messages.rollback import RollbackReport, RollbackStatus
    from orchestrator.saga.obligation import Obligation, ObligationState
    from orchestrator.workflows import markdown_page as md


@dataclass(frozen=True)
class RollbackPage:
    """The values of a rollback's page and of its search attributes."""

    status: RollbackStatus
    report: RollbackReport
    next_try: tuple[str, datetime] | None = None
    """The id of the obligation that is tried next, and the time of the attempt."""

    @property
    def waits_for(self) -> list[WaitKind]:
        """Return the waits: for an operator if anything is parked, for providers while trying."""
        parked, live = self.report.parked, self.report.ledger.live()
        tries = len(live) > len(parked) or self.status is RollbackStatus.COLLECTING
        operator = [WaitKind.OPERATOR] if parked or self.report.blocked else []
        return [*operator, WaitKind.PROVIDER] if tries else operator

    @property
    def found_by(self) -> tuple[object, ...]:
        """Return the values of the search attributes, which are written when one changes."""
        return (self.status, self.waits_for, self.tools, len(self.report.parked))

    def markdown(self) -> str:
        """Return the whole page for the Temporal UI; an operator's tasks come first."""
        report = self.report
        obligations = report.ledger.obligations
        lines = [
            *([f"**{OBSERVED}**", ""] if any(one.observed for one in obligations) else []),
            f"**{self.status}**: {_standing(self)}",
            "",
            f"**Mission** {md.link(report.mission_id, report.mission_id)}",
            f"**Why** {md.text(str(report.order)) or 'no reason was given'}",
        ]
        if report.parked:
            lines += ["", "### Parked: an operator decides", ""]
            lines += [line for o in report.parked for line in _parked_lines(o)]
        live = [
            o for o in report.ledger.compensation_order() if o.state is not ObligationState.PARKED
        ]
        due, at = self.next_try or ("", None)
        rest = [
            f"{md.obligation_line(o)}; **next attempt {md.moment(at)}**"
            if at is not None and o.obligation_id == due
            else md.obligation_line(o)
            for o in live
        ]
        lines += md.section("Still to be cancelled, in this order", rest)
        for title, states in _OVER.items():
            over = [o for o in obligations if o.state in states]
            lines += md.section(title, [md.obligation_line(o) for o in over])
        lines += md.section("Left alone", [f"- {md.text(note)}" for note in report.notes])
        return md.page(lines, mission_id=report.mission_id)

    @property
    def tools(self) -> list[str]:
        """Return the tools of the parked obligations, without duplicates."""
        return sorted({o.tool for o in self.report.parked})


_OVER: Mapping[str, Sequence[ObligationState]] = {
    "Cancelled": (ObligationState.CANCELLED,),
    "Accepted: it stays": (ObligationState.ACCEPTED,),
    "Never came to be": (ObligationState.VOID,),
}


def _standing(page: RollbackPage) -> str:
    parked, live = len(page.report.parked), len(page.report.ledger.live())
    if page.status is RollbackStatus.COLLECTING:
        return "it reads what the legs of the mission left"
    if page.report.blocked:
        return f"it cannot begin, and tries again: {md.text(page.report.blocked)}"
    if page.status is RollbackStatus.PARKED:
        rest = f"; {live - parked} still to be cancelled" if live > parked else ""
        return f"{parked} could not be cancelled: an operator decides{rest}"
    if page.status is RollbackStatus.ROLLED_BACK:
        over = "nothing is left that an operator or a provider has to see to"
        alone = "; what is not the mission's own was left alone, see below"
        return over + (alone if page.report.notes else "")
    return f"{live - parked} to be cancelled, {parked} parked"


def _parked_lines(obligation: Obligation) -> list[str]:
    price = f", {obligation.price}" if obligation.price is not None else ""
    named = md.provider_names(obligation)
    cancel = obligation.cancel_tool
    key = obligation.idempotency_key
    resolve = command_lines.resolve_parked
    return [
        f"**{md.text(obligation.title or obligation.tool)}** "
        f"({md.command(obligation.tool)}){price}",
        f"why: {md.text(obligation.note) or 'not said'}",
        f"at the provider: {named or 'no id of it is known'}"
        + (f", sent under the key {md.command(key)}" if key else ""),
        f"its cancel tool: {md.command(cancel) if cancel else 'none is declared'}",
        "Look it up at the provider by these ids. Then type one of:",
        f"{md.command(resolve(obligation.obligation_id, 'retry'))} what was in the way is gone: "
        "try again",
        f"{md.command(resolve(obligation.obligation_id, 'cancelled'))} it does not stand, or was "
        "cancelled by other means",
        f"{md.command(resolve(obligation.obligation_id, 'accept'))} it stays, and somebody "
        "lives with it",
        "",
    ]
