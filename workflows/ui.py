"""All that the Temporal UI shows of workflows: search attributes, current details and summaries.

Current details are asked for, so no history grows by them. Where a mission or a rollback is started
from outside of a workflow, its summary comes with the message that starts it.
"""

from collections.abc import Iterable

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.markdown import as_markdown
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput, LegWaiting
    from orchestrator.messages.mission import MissionResult
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.planning.models import LegPlan, StepContext
    from orchestrator.routing.selection import Selection
    from orchestrator.saga.ledger import Obligation

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
    lines = [f"- {leg.leg_id} ({leg.agent}): {leg.status}, {leg.goal}" for leg in mission.legs]
    if mission.error is not None:
        lines += ["", f"first error: {mission.error}"]
    return _details(mission.status, mission.goal, lines)


def leg_details(leg: LegInput, waiting: LegWaiting) -> str:
    """A leg: its status, its steps, and what it waits for a person to do."""
    lines = [
        f"{s.step}. {s.did} → {s.outcome} ({len(s.tools_forwarded)} of {s.catalog_size} tools)"
        for s in leg.state.steps
    ]
    if waiting.card is not None:
        lines += ["", "waits for a decision:", "", as_markdown(waiting.card)]
    if waiting.question is not None:
        lines += ["", f"asks: {waiting.question.question}"]
    return _details(leg.state.status, leg.leg.goal, lines)


def rollback_details(status: str, reason: str, report: RollbackReport) -> str:
    """A rollback: its status, why it was started, and where each obligation stands."""
    lines = [
        f"- {o.tool} `{o.obligation_id}`: {o.state} {o.note}" for o in report.ledger.obligations
    ]
    return _details(status, reason, lines)


def _details(status: str, title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"**{status}**: {title}", "", *lines])


# -- summaries of children, activities and timers -------------------------------------------------

PIN_CATALOG = "pin the catalog"
SPLIT_GOAL = "split the goal into legs"
COLLECT_LEGS = "collect the ledgers of all legs"
FIND_STRANDED = "find what was stopped"
MISSION_DEADLINE = "the mission's deadline"
CONFIRMATION_EXPIRES = "confirmation expires"
QUESTION_EXPIRES = "question expires"


def leg(plan: LegPlan) -> str:
    """A leg of a mission."""
    return f"{plan.agent.name}: {plan.goal}"[:200]


def select_tools(context: StepContext) -> str:
    """Selecting the tools of a step."""
    return f"step {context.step}: select tools"


def plan_step(context: StepContext, selection: Selection) -> str:
    """Planning a step."""
    forwarded, size = len(selection.tools), selection.catalog_size
    return f"step {context.step}: plan, {forwarded} of {size} tools"


def discover(query: str) -> str:
    """Searching the catalog."""
    return f"discover {query!r}"


def prepare(tool: str) -> str:
    """Checking and completing a call."""
    return f"prepare {tool}"


def invoke(tool: str) -> str:
    """Sending a call."""
    return tool


def recover(mission_id: str) -> str:
    """Examining a mission that was stopped."""
    return f"recover {mission_id}"


def compensate(obligation: Obligation) -> str:
    """One attempt to take an obligation back."""
    return f"undo {obligation.tool} with {obligation.cancel_tool or 'nothing declared'}"


def reminder(number: int) -> str:
    """A timer of an open card."""
    return f"reminder {number} of the confirmation"


def until_retry(obligation: Obligation) -> str:
    """The pause between two attempts to take an obligation back."""
    return f"until {obligation.tool} is tried again"


def until_settled(obligation: Obligation) -> str:
    """The wait for a call that may still be on its way."""
    return f"until {obligation.tool} can no longer arrive"
