"""All that the Temporal UI shows of workflows: search attributes, current details and summaries.

Current details are asked for, so no history grows by them. Where a mission or a rollback is started
from outside of a workflow, its summary comes with the message that starts it.
"""

from collections.abc import Iterable

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.markdown import as_markdown
    from orchestrator.core.shown_text import markdown_code, markdown_summary, markdown_text
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegWaiting
    from orchestrator.messages.mission import MissionResult
    from orchestrator.messages.rollback import RollbackReport

_STATUS = SearchAttributeKey.for_keyword(names.STATUS_ATTRIBUTE)
_MISSION_ID = SearchAttributeKey.for_keyword(names.MISSION_ID_ATTRIBUTE)

# -- what is shown, and searched by ---------------------------------------------------------------


def attributes_of(mission_id: str, status: str) -> TypedSearchAttributes:
    """The search attributes that a leg or a rollback of a mission starts with."""
    return TypedSearchAttributes(
        [SearchAttributePair(_MISSION_ID, mission_id), SearchAttributePair(_STATUS, str(status))]
    )


def show_status(status: str) -> None:
    """Make the status of this workflow one that it can be searched by."""
    workflow.upsert_search_attributes([_STATUS.value_set(str(status))])


def show_details(markdown: str) -> None:
    """Show this as the current details of this workflow."""
    workflow.set_current_details(markdown)


# -- current details, as Markdown -----------------------------------------------------------------


def mission_details(mission: MissionResult) -> str:
    """A mission: its status, its legs, and the first error."""
    lines = [
        f"- {markdown_text(leg.leg_id)} ({markdown_text(leg.agent)}): {leg.status}, "
        f"{markdown_text(leg.goal)}"
        for leg in mission.legs
    ]
    if mission.error is not None:
        lines += ["", f"first error: {markdown_text(mission.error)}"]
    return _details(mission.status, mission.goal, lines)


def leg_details(leg: LegInput, waiting: LegWaiting) -> str:
    """A leg: its status, its steps, and what it waits for a person to do."""
    lines = [
        f"{s.step}. {markdown_text(s.did)} → {markdown_text(s.outcome)} "
        f"({len(s.tools_forwarded)} of {s.catalog_size} tools)"
        for s in leg.state.steps
    ]
    if waiting.card is not None:
        lines += ["", "waits for a decision:", "", as_markdown(waiting.card)]
    if waiting.question is not None:
        lines += ["", f"asks: {markdown_text(waiting.question.question)}"]
    return _details(leg.state.status, leg.leg.goal, lines)


def rollback_details(status: str, reason: str, report: RollbackReport) -> str:
    """A rollback: its status, why it was started, and where each obligation stands."""
    lines = [
        f"- {markdown_text(o.tool)} {markdown_code(o.obligation_id)}: {o.state} "
        f"{markdown_text(o.note)}"
        for o in report.ledger.obligations
    ]
    lines += [f"- {markdown_text(note)}" for note in report.notes]
    return _details(status, reason, lines)


def _details(status: str, title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"**{status}**: {markdown_text(title)}", "", *lines])


# -- summaries of children, activities and timers -------------------------------------------------


def summary(template: str, **named: object) -> str:
    """One of the summaries below, filled in with text that is shown as it is."""
    return markdown_summary(template.format(**named))


LEG = "{agent}: {goal}"
PIN_CATALOG = "pin the catalog"
SPLIT_GOAL = "split the goal into legs"
SELECT_TOOLS = "step {step}: select tools"
PLAN_STEP = "step {step}: plan, {forwarded} of {size} tools"
DISCOVER_TOOLS = "discover {query!r}"
PREPARE_CALL = "prepare {tool}"
INVOKE_TOOL = "{tool}"
COLLECT_LEGS = "collect the ledgers of all legs"
READ_ROLLBACK = "read what the rollback came to"
COMPENSATE = "undo {tool} with {cancel_tool}"
FIND_STRANDED = "find what was stopped"
RECOVER_MISSION = "recover {mission_id}"
MISSION_DEADLINE = "the mission's deadline"
REMINDER = "reminder {number} of the confirmation"
CONFIRMATION_EXPIRES = "confirmation expires"
QUESTION_EXPIRES = "question expires"
UNTIL_RETRY = "until {tool} is tried again"
UNTIL_SETTLED = "until {tool} can no longer arrive"
