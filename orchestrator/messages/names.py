"""Every name and message that crosses the Temporal boundary; no other module spells one."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from orchestrator.core.call_ref import step_label

MISSION_WORKFLOW: Final = "MissionWorkflow"
LEG_WORKFLOW: Final = "LegWorkflow"
ROLLBACK_WORKFLOW: Final = "RollbackWorkflow"
SWEEP_WORKFLOW: Final = "SweepWorkflow"
PLAN_WORKFLOW: Final = "PlanWorkflow"
SCHEDULED_MISSION_WORKFLOW: Final = "ScheduledMissionWorkflow"
OF_MISSIONS: Final = (MISSION_WORKFLOW, LEG_WORKFLOW, ROLLBACK_WORKFLOW)
"""The workflows whose ids say which mission they belong to."""

PIN_CATALOG: Final = "pin_catalog"
SPLIT_GOAL: Final = "split_goal"
SELECT_TOOLS: Final = "select_tools"
THINK: Final = "think"
READ_KEPT: Final = "read_kept"
AWAIT_STATE: Final = "await_state"
PLAN_STEP: Final = "plan_step"
DISCOVER_TOOLS: Final = "discover_tools"
PREPARE_CALL: Final = "prepare_call"
INVOKE_TOOL: Final = "invoke_tool"
COLLECT_LEGS: Final = "collect_legs"
COMPENSATE: Final = "undo_obligation"
READ_ROLLBACK: Final = "read_rollback"
PREPARE_OVERCHARGE: Final = "prepare_overcharge"
PREVIEW_PLAN: Final = "preview_plan"
REVIEW_PLAN: Final = "review_plan"
FIND_STRANDED: Final = "find_stranded"
RECOVER_MISSION: Final = "recover_mission"
CHECK_MODEL: Final = "check_model"
PLAN_HAND_OVER: Final = "plan_hand_over"
AWAIT_KEY: Final = "await_payload_key"

DECIDE_UPDATE: Final = "decide"
ANSWER_UPDATE: Final = "answer"
TAKE_ON_UPDATE: Final = "take_on"
PLAN_UPDATE: Final = "plan"
RESOLVE_UPDATE: Final = "resolve"
RESUME_UPDATE: Final = "resume"
RESULT_QUERY: Final = "result"
LEGS_QUERY: Final = "legs"
LEG_TERMS_QUERY: Final = "leg_terms"
ACCEPTED_QUERY: Final = "accepted"
BUDGET_LEFT_QUERY: Final = "budget_left"
UNPRICED_QUERY: Final = "unpriced"
RESERVED_QUERY: Final = "reserved"
WAITING_QUERY: Final = "waiting"
REPORT_QUERY: Final = "report"
PROGRESS_QUERY: Final = "progress"
RUN_REPLAYED: Final = (
    "a query had moved this run past its last workflow task; it is replayed from its history"
)
"""Why a worker fails a workflow task, and a query that came with it: either is done again."""
ROLLBACK_SETTLED_SIGNAL: Final = "rollback_settled"
RESERVE_SIGNAL: Final = "reserve_budget"
RESERVED_SIGNAL: Final = "budget_reserved"
LEG_WAITS_SIGNAL: Final = "leg_waits"
OVERCHARGED_SIGNAL: Final = "overcharged"
HOLD_SIGNAL: Final = "hold_spending"
FOUND_SIGNAL: Final = "found_tools"
SHARE_SIGNAL: Final = "share_limits"
SHARED_SIGNAL: Final = "limits_shared"
HAND_OVER_SIGNAL: Final = "hand_over"
HANDED_OVER_SIGNAL: Final = "handed_over"
HANDING_OVER_QUERY: Final = "handing_over"

MISSION_ID_ATTRIBUTE: Final = "OrchetMissionId"
STATUS_ATTRIBUTE: Final = "OrchetStatus"
AGENT_ATTRIBUTE: Final = "OrchetAgent"
TOOL_ATTRIBUTE: Final = "OrchetTool"
CARD_TYPE_ATTRIBUTE: Final = "OrchetCardType"
WAITING_FOR_ATTRIBUTE: Final = "OrchetWaitingFor"
PARKED_ATTRIBUTE: Final = "OrchetParked"
REQUESTER_ATTRIBUTE: Final = "OrchetRequester"
SEARCH_ATTRIBUTES: Final[Mapping[str, Literal["Keyword", "KeywordList", "Int"]]] = {
    MISSION_ID_ATTRIBUTE: "Keyword",
    STATUS_ATTRIBUTE: "Keyword",
    AGENT_ATTRIBUTE: "Keyword",
    TOOL_ATTRIBUTE: "KeywordList",
    CARD_TYPE_ATTRIBUTE: "Keyword",
    WAITING_FOR_ATTRIBUTE: "KeywordList",
    PARKED_ATTRIBUTE: "Int",
    REQUESTER_ATTRIBUTE: "Keyword",
}
"""What workflows are searched by, with the type of each. None is ever encrypted: ids, statuses and
names of our own, and of the requester what the start of a mission says.

A server on SQL has room for three lists in a namespace; these take two of them.
"""
LEFT_TO_ROLLBACK: Final = "left_to_rollback"
"""The status by which a mission is found that is over while its rollback still holds what is
parked: that can be resolved, and what is over cannot change."""

# Workflows measure with Temporal's meter, which takes no dots where it serves Prometheus itself.
REMINDERS_METRIC: Final = "orchestrator_confirmation_reminders"
DECISIONS_METRIC: Final = "orchestrator_confirmation_decisions"
CONFIRMATION_WAIT: Final = "orchestrator_confirmation_wait"
MISSION_DURATION: Final = "orchestrator_mission_duration"
LEG_DURATION: Final = "orchestrator_leg_duration"
ROLLBACK_DURATION: Final = "orchestrator_rollback_duration"
OBLIGATIONS_METRIC: Final = "orchestrator_rollback_obligations"

MISSION_FAILED: Final = "MissionFailed"
MISSION_INCOMPLETE: Final = "MissionIncomplete"
"""Its legs have ended, and a part of its goal is not served; what it did stands."""
LEG_FAILED: Final = "LegFailed"
PROVIDER_BUSY: Final = "ProviderBusy"
MODEL_TROUBLE: Final = "ModelTrouble"
TASK_LOST: Final = "TaskLost"

_SCHEDULED: Final = "scheduled:"
_DUE: Final = re.compile(
    rf"{_SCHEDULED}([A-Za-z0-9][A-Za-z0-9_-]{{0,62}})-(\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
)


def leg_workflow_id(mission_id: str, leg_id: str) -> str:
    """The workflow id of a leg; a mission id has no dot, so the parts can be told apart."""
    return f"{mission_id}.{leg_id}"


def rollback_workflow_id(mission_id: str) -> str:
    """The workflow id of a mission's rollback: derived, so that it can't run twice at once."""
    return f"{mission_id}.rollback"


def mission_of(workflow_id: str) -> str:
    """The mission that a workflow belongs to: itself, or that of a leg or a rollback."""
    return workflow_id.partition(".")[0]


def sweep_schedule_id(task_queue: str) -> str:
    """The id of the schedule that sweeps; each task queue has its own, run by its own workers."""
    return f"orchestrator-sweep-{task_queue}"


def schedule_workflow_id(schedule_id: str) -> str:
    """The id of a schedule of missions on the server, and the beginning of those of its runs."""
    return f"{_SCHEDULED}{schedule_id}"


def schedule_id_of(workflow_id: str) -> str | None:
    """The schedule of missions that has this id on the server; None: it is another schedule."""
    return workflow_id.removeprefix(_SCHEDULED) if workflow_id.startswith(_SCHEDULED) else None


def due_mission_id(workflow_id: str) -> str | None:
    """The mission that a run of a schedule starts: the server puts the time behind the run's id.

    None: no schedule of missions has such runs.
    """
    found = _DUE.fullmatch(workflow_id)
    if found is None:
        return None
    schedule_id, time = found.groups()
    return f"{schedule_id}-{re.sub(r'[-:]', '', time)}"


def call_id(mission_id: str, leg_id: str, step: int, part: int = 0) -> str:
    """The id of one tool call: its idempotency key, and the id of its card and its obligation."""
    return f"{leg_workflow_id(mission_id, leg_id)}.{step_label(step, part)}"


def confirmation_id(call_id: str, asked: int) -> str:
    """The id of the card on which a call is asked about for the nth time."""
    return call_id if asked == 1 else f"{call_id}-{asked}"


def overcharge_id(call_id: str, asked: int) -> str:
    """The id of the card on which it is asked for the nth time whether to keep what cost more."""
    return confirmation_id(f"{call_id}-overcharge", asked)


def plan_question_id(mission_id: str, asked: int) -> str:
    """The id of the nth question that a mission itself asks about its plan."""
    return f"{mission_id}.plan-{asked}"


def plan_card_id(mission_id: str, asked: int) -> str:
    """The id of the nth card on which a mission has its plan approved."""
    return f"{mission_id}.plan-approval-{asked}"


def plan_workflow_id(digest: str) -> str:
    """The workflow id under which a plan is only shown: no mission, leg or rollback can have it."""
    return f"plan:{digest[:32]}"


def model_pause_id(call_id: str) -> str:
    """The id of the pause of a leg whose model could not be asked in that step."""
    return f"{call_id}-model"


def model_question_id(call_id: str, asked: int) -> str:
    """The id of the nth question about a model whose answers are of no use."""
    return confirmation_id(f"{call_id}-answers", asked)


def leg_of_confirmation(confirmation_id: str) -> str:
    """The workflow id of the leg, or of the mission, that a confirmation or a question is of."""
    return confirmation_id.rpartition(".")[0]
