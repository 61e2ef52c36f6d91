"""A mission's page in the Temporal UI: its status, its waits and its effects."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import as_markdown
    from orchestrator.core import command_lines
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegResult, LegStatus, LegWaiting
    from orchestrator.messages.mission import MissionResult, MissionStatus
    from orchestrator.messages.observed import OBSERVED
    from orchestrator.messages.open_waits import LegWait, WaitKind, wait_of
    from orchestrator.messages.receipts import Cancelled
    from orchestrator.messages.step import StepRecord
    from orchestrator.saga.obligation import ObligationState
    from orchestrator.workflows import markdown_page as md


_STEPS = 12
"""The most steps of a leg that the page lists one by one."""


@dataclass(frozen=True)
class MissionPage:
    """The values of a mission's page and of its search attributes."""

    result: MissionResult
    waiting: Mapping[str, LegWaiting] = field(default_factory=dict)
    """The waits of legs under way, by leg id."""

    @property
    def searched_as(self) -> str:
        """Return the status to search by; for a mission that is over, one that stays true.

        A closed workflow cannot change its attributes any more: only the rollback can say when
        nothing is parked.
        """
        status = self.result.status
        if status is MissionStatus.PARKED and self.result.finished_at is not None:
            return names.LEFT_TO_ROLLBACK
        if status is MissionStatus.RUNNING:
            kinds = {wait.waits_for for _, wait in self.waits}
            return next((str(_AS[kind]) for kind in _AS if kind in kinds), status.value)
        return status.value

    @property
    def waits(self) -> list[tuple[str, LegWait]]:
        """Return the waits of the mission or its legs, with the leg ids, in leg order."""
        if self.result.stalled:
            title = f"held up: {self.result.stalled}"[:200]
            return [("", LegWait(waits_for=WaitKind.STORE, title=title))]
        if self.result.status in _ASKS and (wait := wait_of(self.result.plan_waits)) is not None:
            return [("", wait)]
        if self.result.status is not MissionStatus.RUNNING:
            return []
        legs = [(leg.leg_id, self.waiting.get(leg.leg_id)) for leg in self.result.legs]
        open_waits = [(leg_id, wait_of(one)) for leg_id, one in legs if one is not None]
        return [(leg_id, wait) for leg_id, wait in open_waits if wait is not None]

    @property
    def waits_for(self) -> list[WaitKind]:
        """Return the kinds of waits, without duplicates."""
        if self.result.status is MissionStatus.ROLLING_BACK and not self.result.stalled:
            return [WaitKind.PROVIDER]
        return sorted({wait.waits_for for _, wait in self.waits})

    @property
    def agents(self) -> list[str]:
        """Return the agents of the legs, without duplicates, while the mission runs.

        Not only the agents of legs under way: each change of a search attribute is an event.
        """
        if self.result.status is not MissionStatus.RUNNING:
            return []
        return sorted({leg.agent for leg in self.result.legs})

    def markdown(self) -> str:
        """Return the whole page, for the Temporal UI."""
        mission = self.result
        over, said = mission.over_budget, mission.goal_became
        lines = [
            *([f"**{OBSERVED}**", ""] if mission.observed else []),
            f"**{mission.status}**: {_standing(self)}{over and f'; it {over}'}",
            "",
            f"**Goal** {md.text(mission.goal)}",
            *([f"**Said otherwise** {md.text(said)}"] if said else []),
            f"**Asked for by** {md.text(mission.requester) or 'nobody named'}",
            f"**Money** {md.spent(mission.spend, mission.budget)}",
            *([f"**Models** {mission.usage}"] if mission.usage.requests else []),
        ]
        if mission.plan_made_by.model:
            lines.append(f"**Plan** {md.text(mission.plan_made_by.sentence)}")
        lines += [f"**Hold** {md.text(str(one))}" for one in mission.holds]
        lines += [f"**Rule** {md.text(one.sentence)}" for one in mission.again]
        if mission.error is not None:
            lines.append(f"**First error** {md.text(mission.error)}")
        if mission.summary:
            lines.append(f"**Result** {md.text(mission.summary)}")
        if mission.unchecked:
            lines.append(f"**Unchecked** {md.text(mission.unchecked)}")
        lines += _about_plan(mission.plan_waits)
        for leg in mission.legs:
            lines += md.section(f"Found by {md.text(leg.leg_id)}", md.table_lines(leg.table))
        waits = [line for leg_id, wait in self.waits for line in self._wait_lines(leg_id, wait)]
        kinds = {wait.waits_for for _, wait in self.waits}
        whom = _WHOM.get(next(iter(kinds)), "a person") if len(kinds) == 1 else "a person"
        lines += ["", f"### Waits for {whom}", "", *waits] if waits else []
        lines += md.section("Legs", [line for leg in mission.legs for line in _leg_lines(leg)])
        lines += md.section("Not done", [f"- {md.text(str(one))}" for one in mission.unserved])
        aside = [*mission.set_aside, *(f"no leg served {text!r}" for text in mission.uncovered)]
        lines += md.section("Set aside", [f"- {md.text(one)}" for one in aside])
        ledger = [md.obligation_line(one) for one in mission.ledger.obligations]
        lines += md.section("Ledger", ledger)
        lines += md.section("Cancelled", [_cancelled_line(one) for one in mission.cancelled])
        lines += _rollback(mission)
        return md.page(lines, mission_id=mission.mission_id)

    def _wait_lines(self, leg_id: str, wait: LegWait) -> list[str]:
        if wait.waits_for is WaitKind.STORE:
            return [f"{md.text(leg_id or 'it')} is {md.text(wait.title)}; it goes on by itself", ""]
        takes = [f"- {md.text(line)}" for line in wait.takes]
        if wait.waits_for is WaitKind.MODEL:
            row = f"**{md.text(leg_id)}** {md.text(wait.title)}"
            return [row, *takes, *(f"- {md.command(line)}" for line in wait.commands), ""]
        is_card = wait.waits_for is WaitKind.CONFIRMATION
        facts = [
            *([str(wait.price)] if wait.price is not None else []),
            *([md.command(wait.tool)] if wait.tool else []),
            *([f"until {md.moment(wait.expires_at)}"] if wait.expires_at is not None else []),
        ]
        what = "Decide" if is_card or wait.waits_for is WaitKind.HOLD else "Answer"
        card = self.waiting[leg_id].card if leg_id in self.waiting else None
        return [
            f"**{what}** {md.text(wait.title)}: {', '.join(facts)}",
            *(as_markdown(card).splitlines() if card is not None else []),
            *takes,
            *(["", md.text(wait.otherwise), ""] if wait.otherwise else []),
            *(md.command(line) for line in wait.commands),
            "",
        ]

    @property
    def tools(self) -> list[str]:
        """Return the tools whose calls wait for somebody, without duplicates."""
        return sorted({wait.tool for _, wait in self.waits if wait.tool})


_AS: Mapping[WaitKind, LegStatus] = {
    WaitKind.CONFIRMATION: LegStatus.AWAITING_CONFIRMATION,
    WaitKind.ANSWER: LegStatus.AWAITING_ANSWER,
    WaitKind.MODEL: LegStatus.AWAITING_MODEL,
}
_ASKS = frozenset(
    {MissionStatus.AWAITING_ANSWER, MissionStatus.AWAITING_CONFIRMATION, MissionStatus.ON_HOLD}
)
_ENDED_BADLY = frozenset({MissionStatus.FAILED, MissionStatus.CANCELLED})
_STANDING: Mapping[str, str] = {
    MissionStatus.PLANNING: "its goal is split into legs",
    MissionStatus.AWAITING_ANSWER: "nothing was done; what of its goal is in doubt is asked about",
    MissionStatus.AWAITING_CONFIRMATION: "nothing was done; its plan waits to be approved",
    MissionStatus.ON_HOLD: "it failed; a person decides on what stands before it is cancelled",
    MissionStatus.ROLLING_BACK: "what it did is cancelled, without asking anybody",
    MissionStatus.SUCCEEDED: "it is over, and what it did stands",
    MissionStatus.INCOMPLETE: "it is over; what it did stands, and part of its goal was not done",
    MissionStatus.FAILED: "it is over; it had left nothing to cancel",
    MissionStatus.ROLLED_BACK: "it is over; all that it had done was cancelled",
    MissionStatus.PARKED: "it is over; its rollback could not cancel everything",
    MissionStatus.CANCELLED: "a person cancelled it; all that it had done was cancelled",
}


def _standing(page: MissionPage) -> str:
    if page.result.observed and page.result.status in _ENDED_BADLY:
        return "it is over, and nothing of it was cancelled"
    if page.result.status is not MissionStatus.RUNNING:
        return _STANDING.get(page.result.status, "it is over")
    waits = [wait.waits_for for _, wait in page.waits]
    counts = [(waits.count(kind), kind) for kind in sorted(set(waits))]
    parts = [f"{count} {kind}{'s' if count > 1 else ''}" for count, kind in counts]
    return f"waits for {' and '.join(parts)}" if parts else "its legs work; it waits for nobody"


def _about_plan(own: LegWaiting) -> list[str]:
    if own.card is not None:
        return ["", *as_markdown(own.card).splitlines()]
    if own.question is None:
        return []
    if (hold := own.question.hold) is not None:
        stands = [f"- {md.text(str(one))}" for one in hold.standing]
        why_not = f"It cannot be repaired: {md.text(hold.no_repair)}"
        lines = md.section("On hold: what stands", stands)
        return [*lines, "", why_not] if hold.no_repair else lines
    return ["", "### About its plan", "", md.text(own.question.question)]


_WHOM: Mapping[WaitKind, str] = {
    WaitKind.MODEL: "its model",
    WaitKind.STORE: "what its workers keep",
}


def _leg_lines(leg: LegResult) -> list[str]:
    line = f"- **{leg.status}** {md.text(leg.leg_id)} ({md.text(leg.agent)}): {md.text(leg.goal)}"
    why = leg.error or leg.stalled
    lines = [f"{line} → {md.text(why)}" if why else line]
    for change in leg.model_changes:
        by = f", decided by {md.text(change.by)}" if change.by else ""
        named = md.text(change.model or "the worker's default")
        lines.append(
            f"- {md.text(leg.leg_id)} {md.moment(change.at)} on with **{named}**{by}: "
            f"{md.text(change.why)}"
        )
    before = leg.steps_before + max(0, len(leg.steps) - _STEPS)
    if before:
        lines.append(f"- {md.text(leg.leg_id)}: {before} steps before these")
    return lines + [f"- {md.text(leg.leg_id)} {_step(step)}" for step in leg.steps[-_STEPS:]]


def _step(step: StepRecord) -> str:
    tools = f"{len(step.tools_forwarded)} of {step.catalog_size} tools"
    if step.usage is not None and step.usage.requests:
        tools = f"{tools}; {step.usage}"
    why = f": {md.text(step.error)}" if step.error else ""
    did = f"{step.step_id}: {step.did}" if step.step_id else step.did
    return f"{step.label}. {md.text(did)} → **{md.text(step.outcome)}**{why} ({tools})"


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
    """Return a link to the rollback: the page of a closed mission does not change."""
    if not mission.ledger.obligations:
        return []
    rollback_id = names.rollback_workflow_id(mission.mission_id)
    page = md.link(rollback_id, rollback_id)
    shown = md.command(command_lines.show_rollback(mission.mission_id))
    if any(one.rollback is not None for one in mission.ledger.obligations):
        left = [o for o in mission.ledger.obligations if o.state is ObligationState.PARKED]
        waits = f"{len(left)} wait there for an operator" if left else "nothing waits there"
        return ["", "### Rollback", "", f"{page}: {waits}; {shown}"]
    if mission.finished_at is None:
        return []
    over = f"The above is as it was when the mission ended, {md.moment(mission.finished_at)}."
    return ["", "### Rollback", "", f"{over} A rollback that somebody orders later is {page}."]
