"""All that the Temporal UI shows of workflows: search attributes, current details and summaries.

Current details are asked for, so no history grows by them. What each page says stands in
mission_page.py, leg_page.py and rollback_page.py. Where a mission or a rollback is started from
outside of a workflow, its summary comes with the message that starts it.
"""

from collections.abc import Sequence
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal import search_attributes as sa
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages.leg import LegInput, LegWaiting
    from orchestrator.messages.news import wait_of
    from workflows.leg_page import leg_page
    from workflows.mission_page import MissionPage
    from workflows.rollback_page import RollbackPage

# -- what is shown, and searched by ---------------------------------------------------------------


def show_mission(page: MissionPage) -> None:
    """Make where a mission stands what it is searched by, and what its page says."""
    requester = page.result.requester
    workflow.upsert_search_attributes(
        [
            sa.STATUS.value_set(page.searched_as),
            _several(sa.WAITING_FOR, page.waits_for),
            _several(sa.TOOL, page.tools),
            *([sa.REQUESTER.value_set(requester)] if sa.searchable(requester) else []),
        ]
    )
    draw_mission(page)


def draw_mission(page: MissionPage) -> None:
    """Make where a mission stands what its page says."""
    workflow.set_current_details(page.markdown())


def show_leg_status(status: str, waiting: LegWaiting) -> None:
    """Make where a leg stands, and what it waits for, what it is searched by."""
    wait = wait_of(waiting)
    workflow.upsert_search_attributes(
        [
            sa.STATUS.value_set(str(status)),
            _several(sa.WAITING_FOR, [wait.waits_for] if wait else []),
            _several(sa.TOOL, [wait.tool] if wait and wait.tool else []),
            sa.CARD_TYPE.value_set(wait.card_type)
            if wait and wait.card_type
            else sa.CARD_TYPE.value_unset(),
        ]
    )


def draw_leg(leg: LegInput, waiting: LegWaiting) -> None:
    """Make where a leg stands what its page says."""
    workflow.set_current_details(leg_page(leg, waiting))


def show_rollback(page: RollbackPage) -> None:
    """Make where a rollback stands what it is searched by, and what its page says."""
    workflow.upsert_search_attributes(
        [
            sa.STATUS.value_set(str(page.status)),
            _several(sa.WAITING_FOR, page.waits_for),
            _several(sa.TOOL, page.tools),
            sa.PARKED.value_set(len(page.report.parked)),
        ]
    )
    draw_rollback(page)


def draw_rollback(page: RollbackPage) -> None:
    """Make where a rollback stands what its page says."""
    workflow.set_current_details(page.markdown())


def _several(
    key: SearchAttributeKey[Sequence[str]], values: Sequence[str]
) -> SearchAttributeUpdate[Any]:
    """A list of values; without any, the attribute is gone."""
    return key.value_set([str(value) for value in values]) if values else key.value_unset()


# -- summaries of children, activities and timers -------------------------------------------------


def summary(template: str, **named: object) -> str:
    """One of the summaries below, filled in with text that is shown as it is."""
    return markdown_summary(template.format(**named))


LEG = "{agent}: {goal}"
PIN_CATALOG = "pin the catalog"
SPLIT_GOAL = "split the goal into legs"
PREVIEW_PLAN = "plan, and do nothing"
REVIEW_PLAN = "put the plan before a person"
CHECK_PLAN = "check the approval of the plan"
PLAN_HAND_OVER = "plan what is handed over to {agent}: {goal}"
SELECT_TOOLS = "step {step}: select tools"
PLAN_STEP = "step {step}: plan, {forwarded} of {size} tools"
DISCOVER_TOOLS = "discover {query!r}"
AWAIT_KEY = "wait for a worker that has the key of its messages"
READ_KEPT = "wait for a worker that has what the leg has seen"
THINK = "step {step}: select, plan and prepare"
AWAIT_STATE = "wait for a worker that has what the mission needs"
UNTIL_STATE = "until it is looked for again"
UNTIL_TAKEN = "until its provider takes calls again"
LISTEN = "hear what came while this task was thinking"
PREPARE_CALL = "prepare {tool}"
PREPARE_OVERCHARGE = "ask about the overcharge of {tool}"
INVOKE_TOOL = "{tool}"
INVOKE_APPROVED = "{tool}, approved by {approver}"
COLLECT_LEGS = "collect the ledgers of all legs"
READ_ROLLBACK = "read what the rollback came to"
COMPENSATE = "undo {tool} with {cancel_tool}: {what}"
FIND_STRANDED = "find what was stopped"
RECOVER_MISSION = "recover {mission_id}"
MISSION_DEADLINE = "the mission's deadline"
LEG_TIME = "the time that the leg may take"
REMINDER = "reminder {number}: nobody has decided on {tool} yet"
CONFIRMATION_EXPIRES = "the card for {tool} expires"
CHECK_MODEL = "look up the model {model}"
MODEL_RETRY = "until the model is asked again: {reason}"
QUESTION_EXPIRES = "the question expires: {question}"
UNTIL_RETRY = "until {tool} is tried again: {what}"
UNTIL_SETTLED = "until {tool} can no longer arrive: {what}"
