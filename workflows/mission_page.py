"""A mission as the Temporal UI shows it: where it stands, what it waits for, what it has done."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.markdown import as_markdown
    from orchestrator.core import command_lines
    from orchestrator.core.budget import Money, Spend
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegResult, LegStatus, LegWaiting
    from orchestrator.messages.mission import MissionResult, MissionStatus
    from orchestrator.messages.news import LegNews, LegWait, WaitKind, wait_of
    from orchestrator.messages.receipts import Cancelled, Receipt
    from orchestrator.saga.ledger import Obligation, ObligationState
    from workflows import markdown_page as md


_LONGEST = 200


@dataclass(frozen=True)
class MissionPage:
    """What a mission's page and its search attributes are made of."""

    result: MissionResult
    budget: Money | None = None
    news: Mapping[str, LegNews] = field(default_factory=dict)
    """Of legs that have not ended, by leg id."""

    @property
    def searched_as(self) -> str:
        """The status by which it is found: of a mission that is over, one that stays true.

        What is over cannot change any more: only its rollback can say when nothing is parked.
        """
        is_left = self.result.status is MissionStatus.PARKED and self.result.finished_at is not None
        return names.LEFT_TO_ROLLBACK if is_left else self.result.status.value

    @property
    def waits(self) -> list[tuple[str, LegWait]]:
        """What it or its legs wait for, with the ids of the legs, in their order."""
        if self.result.held_up:
            return [
                (
                    "",
                    LegWait(
                        waits_for=WaitKind.STORE, title=f"held up: {self.result.held_up}"[:_LONGEST]
                    ),
                )
            ]
        if self.result.status in _ASKS and (wait := wait_of(self.result.plan_waits)) is not None:
            return [("", wait)]
        if self.result.status is not MissionStatus.RUNNING:
            return []
        legs = [(leg.leg_id, self.news.get(leg.leg_id)) for leg in self.result.legs]
        return [(leg_id, news.wait) for leg_id, news in legs if news is not None and news.wait]

    @property
    def waits_for(self) -> list[WaitKind]:
        """What or whom it waits for, each once."""
        if self.result.status is MissionStatus.ROLLING_BACK and not self.result.held_up:
            return [WaitKind.PROVIDER]
        return sorted({wait.waits_for for _, wait in self.waits})

    @property
    def searched_by(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """All that it is found by and that changes."""
        return (self.searched_as, tuple(self.waits_for), tuple(self.tools))

    def markdown(self) -> str:
        """All of it, for the Temporal UI."""
        return _markdown(self)

    @property
    def tools(self) -> list[str]:
        """The tools whose calls wait for somebody, each once."""
        return sorted({wait.tool for _, wait in self.waits if wait.tool})


def _markdown(page: MissionPage) -> str:
    mission = page.result
    lines = [
        f"**{mission.status}**: {_standing(page)}",
        "",
        f"**Goal** {md.text(mission.goal)}",
        *([f"**Said otherwise** {md.text(mission.goal_became)}"] if mission.goal_became else []),
        f"**Asked for by** {md.text(mission.requester) if mission.requester else 'nobody named'}",
        f"**Money** {md.spent(_spend(page), page.budget)}",
        *([f"**Models** {mission.usage}{_but_legs(page)}"] if mission.usage.requests else []),
    ]
    if mission.plan_made_by.model:
        lines.append(f"**Plan** {md.text(mission.plan_made_by.told)}")
    lines += [f"**Again** {md.text(one.told)}" for one in mission.replanned]
    if mission.error is not None:
        lines.append(f"**First error** {md.text(mission.error)}")
    if mission.summary:
        lines.append(f"**Result** {md.text(mission.summary)}")
    lines += _about_plan(mission.plan_waits)
    for leg in mission.legs:
        lines += md.section(f"Found by {md.text(leg.leg_id)}", md.table_lines(leg.table))
    lines += _waits(page)
    lines += md.section("Legs", [_leg_line(page, leg) for leg in mission.legs])
    lines += md.section("Not done", [f"- {md.text(str(one))}" for one in mission.unserved])
    aside = [*mission.set_aside, *(f"no leg served {text!r}" for text in mission.uncovered)]
    lines += md.section("Set aside", [f"- {md.text(one)}" for one in aside])
    lines += _ledger(page)
    lines += md.section("Cancelled", [_cancelled_line(one) for one in mission.cancelled])
    lines += _rollback(mission)
    return md.page(lines, mission_id=mission.mission_id)


_ASKS = frozenset({MissionStatus.AWAITING_ANSWER, MissionStatus.AWAITING_CONFIRMATION})
_STANDING: Mapping[str, str] = {
    MissionStatus.PLANNING: "its goal is split into legs",
    MissionStatus.AWAITING_ANSWER: "nothing was done; what of its goal is in doubt is asked about",
    MissionStatus.AWAITING_CONFIRMATION: "nothing was done; its plan waits to be approved",
    MissionStatus.ROLLING_BACK: "what it did is taken back, without asking anybody",
    MissionStatus.SUCCEEDED: "it is over, and what it did stands",
    MissionStatus.INCOMPLETE: "it is over; what it did stands, and part of its goal was not done",
    MissionStatus.FAILED: "it is over; it had left nothing to take back",
    MissionStatus.ROLLED_BACK: "it is over; all that it had done was taken back",
    MissionStatus.PARKED: "it is over; its rollback could not take everything back",
    MissionStatus.CANCELLED: "a person cancelled it; all that it had done was taken back",
}


def _standing(page: MissionPage) -> str:
    """Its status in a sentence."""
    if page.result.status is not MissionStatus.RUNNING:
        return _STANDING.get(page.result.status, "it is over")
    waits = [wait.waits_for for _, wait in page.waits]
    counts = [(waits.count(kind), kind) for kind in sorted(set(waits))]
    parts = [f"{count} {kind}{'s' if count > 1 else ''}" for count, kind in counts]
    return f"waits for {' and '.join(parts)}" if parts else "its legs work; it waits for nobody"


def _spend(page: MissionPage) -> Spend:
    """What stands, and what legs under way have spent."""
    under_way = [page.news[leg.leg_id].spend for leg in _under_way(page)]
    return Spend.total([page.result.spend, *under_way])


def _but_legs(page: MissionPage) -> str:
    """That legs under way tell what their models take once they are over."""
    return ", without the legs under way" if _under_way(page) else ""


def _under_way(page: MissionPage) -> list[LegResult]:
    return [leg for leg in page.result.legs if leg.leg_id in page.news]


def _about_plan(own: LegWaiting) -> list[str]:
    """What it asks about its plan, whole."""
    if own.card is not None:
        return ["", *as_markdown(own.card).splitlines()]
    return ["", "### About its plan", "", md.text(own.question.question)] if own.question else []


def _waits(page: MissionPage) -> list[str]:
    lines = [line for leg_id, wait in page.waits for line in _wait_lines(page, leg_id, wait)]
    kinds = {wait.waits_for for _, wait in page.waits}
    whom = _WHOM.get(next(iter(kinds)), "a person") if len(kinds) == 1 else "a person"
    return ["", f"### Waits for {whom}", "", *lines] if lines else []


_WHOM: Mapping[WaitKind, str] = {
    WaitKind.MODEL: "its model",
    WaitKind.STORE: "what its workers keep",
}


def _wait_lines(page: MissionPage, leg_id: str, wait: LegWait) -> list[str]:
    mission_id = page.result.mission_id
    asks = names.leg_workflow_id(mission_id, leg_id) if leg_id else mission_id
    if wait.waits_for is WaitKind.STORE:
        return [f"{md.text(leg_id or 'it')} is {md.text(wait.title)}; it goes on by itself", ""]
    if wait.waits_for is WaitKind.MODEL:
        return _model_lines(asks, leg_id, wait)
    is_card = wait.waits_for is WaitKind.CONFIRMATION
    facts = [
        *([str(wait.price)] if wait.price is not None else []),
        *([md.command(wait.tool)] if wait.tool else []),
        *([f"until {md.moment(wait.expires_at)}"] if wait.expires_at is not None else []),
    ]
    what = "Decide" if is_card else "Answer"
    read = md.link("read the card first" if is_card else "read it in its leg", asks)
    return [
        f"**{what}** {md.text(wait.title)}: {', '.join([*facts, read])}",
        *(f"- {md.text(line)}" for line in wait.takes),
        *(["", md.text(wait.otherwise), ""] if wait.otherwise else []),
        *(md.command(line) for line in wait.commands),
        "",
    ]


def _model_lines(asks: str, leg_id: str, wait: LegWait) -> list[str]:
    """A leg that waits for its model: it goes on by itself when that is back."""
    told = f"**{md.text(leg_id)}** {md.text(wait.title)} ({md.link('all of it', asks)})"
    facts = [f"- {md.text(line)}" for line in wait.takes]
    return [told, *facts, *(f"- {md.command(line)}" for line in wait.commands), ""]


def _leg_line(page: MissionPage, leg: LegResult) -> str:
    news = page.news.get(leg.leg_id)
    status = leg.status if news is None else news.status
    leg_id = names.leg_workflow_id(page.result.mission_id, leg.leg_id)
    was_started = status != LegStatus.WAITING and (leg.steps or status != LegStatus.CANCELLED)
    shown = md.link(leg.leg_id, leg_id) if was_started else md.text(leg.leg_id)
    line = f"- **{status}** {shown} ({md.text(leg.agent)}): {md.text(leg.goal)}"
    return f"{line} → {md.text(leg.error)}" if leg.error else line


def _ledger(page: MissionPage) -> list[str]:
    """Every consequence: as the ledger has it, and as legs under way tell of theirs."""
    obligations = page.result.ledger.obligations
    told = [receipt for leg in _under_way(page) for receipt in page.news[leg.leg_id].receipts]
    noted = {o.obligation_id for o in obligations}
    lines = [md.obligation_line(o) for o in obligations]
    lines += [_receipt_line(receipt) for receipt in told if receipt.call_id not in noted]
    return md.section("Ledger", lines)


def _receipt_line(receipt: Receipt) -> str:
    parts = [
        f"**{ObligationState.COMMITTED}** {md.text(receipt.title or receipt.tool)}",
        md.command(receipt.tool),
        *([str(receipt.price)] if receipt.price is not None else []),
        *([f"at the provider {named}"] if (named := md.references(receipt.reference)) else []),
        *([f"approved by {md.text(receipt.confirmed_by)}"] if receipt.confirmed_by else []),
    ]
    return f"- {', '.join(parts)}"


def _cancelled_line(cancelled: Cancelled) -> str:
    parts = [
        md.text(cancelled.title or cancelled.tool),
        f"by {'rollback' if cancelled.by_rollback else 'its own leg'} with "
        f"{md.command(cancelled.tool)}",
        *([md.references(cancelled.reference)] if cancelled.reference else []),
        *([f"decided by {md.text(by)}"] if (by := cancelled.confirmed_by) else []),
        *([md.moment(cancelled.at)] if cancelled.at is not None else []),
    ]
    return f"- {', '.join(parts)}"


def _rollback(mission: MissionResult) -> list[str]:
    """Where its rollback can be read: always, for a mission that is over says no later word."""
    if not mission.ledger.obligations:
        return []
    page = md.rollback_link(mission.mission_id)
    shown = md.command(command_lines.show_rollback(mission.mission_id))
    if any(_is_taken_back(o) for o in mission.ledger.obligations):
        left = [o for o in mission.ledger.obligations if o.state is ObligationState.PARKED]
        waits = f"{len(left)} wait there for an operator" if left else "nothing waits there"
        return ["", "### Rollback", "", f"{page}: {waits}; {shown}"]
    if mission.finished_at is None:
        return []
    over = f"The above is as it was when the mission ended, {md.moment(mission.finished_at)}."
    return ["", "### Rollback", "", f"{over} A rollback that somebody orders later is {page}."]


def _is_taken_back(obligation: Obligation) -> bool:
    return obligation.rollback is not None
