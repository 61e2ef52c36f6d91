"""Every name that crosses the Temporal boundary; no other module spells one."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final, Literal

from orchestrator.core.call_ref import step_label

MISSION_WORKFLOW: Final = "MissionWorkflow"
ROLLBACK_WORKFLOW: Final = "RollbackWorkflow"
SWEEP_WORKFLOW: Final = "SweepWorkflow"
PLAN_WORKFLOW: Final = "PlanWorkflow"
SESSION_WORKFLOW: Final = "SessionWorkflow"
SESSION_CALL_WORKFLOW: Final = "SessionCallWorkflow"
NOTICES_WORKFLOW: Final = "NoticesWorkflow"
NOTICE_WORKFLOW: Final = "NoticeWorkflow"
SESSION_SAGA: Final = "session"
"""The name of the saga of a session."""
OF_MISSIONS: Final = (MISSION_WORKFLOW, ROLLBACK_WORKFLOW)
"""The workflows whose ids contain the id of their mission."""

PIN_CATALOG: Final = "pin_catalog"
SPLIT_GOAL: Final = "split_goal"
THINK: Final = "think"
READ_KEPT: Final = "read_kept"
AWAIT_STATE: Final = "await_state"
DISCOVER_TOOLS: Final = "discover_tools"
OFFER_TOOLS: Final = "offer_tools"
PREPARE_CALL: Final = "prepare_call"
INVOKE_TOOL: Final = "invoke_tool"
OBSERVE_CALL: Final = "observe_call"
COLLECT_LEDGER: Final = "collect_ledger"
COMPENSATE: Final = "cancel_obligation"
READ_ROLLBACK: Final = "read_rollback"
CONCLUDE_MISSION: Final = "conclude_mission"
PREPARE_OVERCHARGE: Final = "prepare_overcharge"
PREVIEW_PLAN: Final = "preview_plan"
REVIEW_PLAN: Final = "review_plan"
FIND_STRANDED: Final = "find_stranded"
RECOVER_MISSION: Final = "recover_mission"
CHECK_MODEL: Final = "check_model"
PLAN_HAND_OVER: Final = "plan_hand_over"
AWAIT_KEY: Final = "await_payload_key"
READ_NOTICES: Final = "read_notices"
DELIVER_NOTICE: Final = "deliver_notice"
NOTE_UNDELIVERED: Final = "note_undelivered"

DECIDE_UPDATE: Final = "decide"
REVOKE_UPDATE: Final = "revoke_again"
ANSWER_UPDATE: Final = "answer"
RESOLVE_UPDATE: Final = "resolve"
RESUME_UPDATE: Final = "resume"
BEGIN_UPDATE: Final = "begin"
OUTCOME_UPDATE: Final = "outcome"
END_UPDATE: Final = "end"
OFFER_UPDATE: Final = "offer"
WATCH_SIGNAL: Final = "watch"
CALL_SETTLED_SIGNAL: Final = "call_settled"
SESSION_SERVICE: Final = "OrchestratorSessions"
"""The Nexus service of sessions."""
TERMS_MEMO: Final = "terms"
"""The digest of a session's terms, so that a comparison needs no worker."""
OUTCOME_MEMO: Final = "outcome."
"""Prefix of the memo keys for calls of a session that have an outcome. The call id follows."""
WAITS_MEMO: Final = "waits."
"""Prefix of the memo keys for waits. The leg id follows, or nothing for a wait of the mission
itself."""
OBSERVED_MEMO: Final = "observed."
"""Prefix of the memo key of an observed mission or saga; its id follows."""
PARKED_MEMO: Final = "parked"
"""The memo key for a rollback's report, reduced to its parked obligations."""
ROLLBACK_SETTLED_SIGNAL: Final = "rollback_settled"

MISSION_ID_ATTRIBUTE: Final = "OrchetMissionId"
STATUS_ATTRIBUTE: Final = "OrchetStatus"
AGENT_ATTRIBUTE: Final = "OrchetAgent"
TOOL_ATTRIBUTE: Final = "OrchetTool"
WAITING_FOR_ATTRIBUTE: Final = "OrchetWaitingFor"
PARKED_ATTRIBUTE: Final = "OrchetParked"
REQUESTER_ATTRIBUTE: Final = "OrchetRequester"
MODE_ATTRIBUTE: Final = "OrchetMode"
"""`observed` for a workflow whose calls are not guarded; others have none."""
SEARCH_ATTRIBUTES: Final[Mapping[str, Literal["Keyword", "KeywordList", "Int"]]] = {
    MISSION_ID_ATTRIBUTE: "Keyword",
    STATUS_ATTRIBUTE: "Keyword",
    AGENT_ATTRIBUTE: "KeywordList",
    TOOL_ATTRIBUTE: "KeywordList",
    WAITING_FOR_ATTRIBUTE: "KeywordList",
    PARKED_ATTRIBUTE: "Int",
    REQUESTER_ATTRIBUTE: "Keyword",
    MODE_ATTRIBUTE: "Keyword",
}
"""Search attributes of workflows with their types. None is ever encrypted: they hold ids, statuses,
the orchestrator's own names, and the requester that the start of a mission states.

A server on SQL has room for three lists in a namespace; these use all three."""
LEFT_TO_ROLLBACK: Final = "left_to_rollback"
"""The search status of a mission that is over while its rollback still holds parked obligations:
these can be resolved later, and a closed workflow cannot change."""

# Workflows use Temporal's meter, which accepts no dots where it serves Prometheus itself.
REMINDERS_METRIC: Final = "orchestrator_confirmation_reminders"
DECISIONS_METRIC: Final = "orchestrator_confirmation_decisions"
CONFIRMATION_WAIT: Final = "orchestrator_confirmation_wait"
MISSION_DURATION: Final = "orchestrator_mission_duration"
LEG_DURATION: Final = "orchestrator_leg_duration"
ROLLBACK_DURATION: Final = "orchestrator_rollback_duration"
OBLIGATIONS_METRIC: Final = "orchestrator_rollback_obligations"

MISSION_FAILED: Final = "MissionFailed"
MISSION_INCOMPLETE: Final = "MissionIncomplete"
"""The legs have ended, and a part of the goal is not served; effects stand."""
ROLLBACK_REFUSED: Final = frozenset({"MissionStillRuns", "MissionUnknown", "RollbackMisnamed"})
"""Failures of a rollback that was never to be: it cancelled nothing."""
PROVIDER_BUSY: Final = "ProviderBusy"
MODEL_TROUBLE: Final = "ModelTrouble"


def saga_id(name: str, workflow_id: str, first_run_id: str) -> str:
    """Return the id of a saga in a user's workflow, the counterpart of a mission id.

    The id has the name and a digest of the workflow's id and first run, so that a reused workflow
    id has other sagas, and a reader who knows the workflow can verify its sagas.
    """
    digest = hashlib.sha256(f"{workflow_id}\n{first_run_id}".encode()).hexdigest()
    return f"{name}-{digest[:16]}"


def is_saga_of(mission_id: str, workflow_id: str, first_run_id: str) -> bool:
    """Return True if an id belongs to a saga of this workflow."""
    name, _, _ = mission_id.rpartition("-")
    return bool(name and first_run_id) and mission_id == saga_id(name, workflow_id, first_run_id)


def may_be_saga(mission_id: str) -> bool:
    """Return True if an id has the form of a saga's id."""
    return re.fullmatch(r"[a-z][a-z0-9_-]{0,29}-[0-9a-f]{16}", mission_id) is not None


def saga_attribute(mission_id: str) -> str:
    """Return the search attribute value of a workflow with this saga."""
    return f"saga:{mission_id}"


def leg_workflow_id(mission_id: str, leg_id: str) -> str:
    """Return the id of a leg; a mission id has no dot, so the two parts can be separated."""
    return f"{mission_id}.{leg_id}"


def rollback_workflow_id(mission_id: str) -> str:
    """Return the workflow id of a mission's rollback: derived, so that only one runs at a time."""
    return f"{mission_id}.rollback"


def mission_of(workflow_id: str) -> str:
    """Return the id of the mission that a workflow, a leg or a rollback belongs to."""
    return workflow_id.partition(".")[0]


def session_wait_id(session_id: str, call_id: str) -> str:
    """Return the workflow id of the wait for a call of a session, for a Nexus operation."""
    return f"{session_id}.{call_id}.wait"


def sweep_schedule_id(task_queue: str) -> str:
    """Return the id of the sweep schedule; each task queue has one, run by its own workers."""
    return f"orchestrator-sweep-{task_queue}"


def notices_workflow_id(task_queue: str) -> str:
    """Return the id of the workflow that announces the cards of a task queue."""
    return f"orchestrator-notices-{task_queue}"


def notice_workflow_id(notices_id: str, notice_id: str, route: int, again: str = "") -> str:
    """Return the id of the workflow that delivers a notice by a route: once, unless replayed."""
    replayed = f":replay-{again}" if again else ""
    return f"{notices_id}:{notice_id}:{route}{replayed}"


def call_id(mission_id: str, leg_id: str, step: int, part: int = 0) -> str:
    """Return the id of a tool call, its idempotency key, its card and its obligation."""
    return f"{leg_workflow_id(mission_id, leg_id)}.{step_label(step, part)}"


def confirmation_id(call_id: str, asked: int) -> str:
    """Return the id of the card that asks about a call for the nth time."""
    return call_id if asked == 1 else f"{call_id}-{asked}"


def overcharge_id(call_id: str, asked: int) -> str:
    """Return the id of the card that asks for the nth time whether to keep an overcharge."""
    return confirmation_id(f"{call_id}-overcharge", asked)


def plan_question_id(mission_id: str, asked: int) -> str:
    """Return the id of the nth question of a mission about its plan."""
    return f"{mission_id}.plan-{asked}"


def plan_card_id(mission_id: str, asked: int) -> str:
    """Return the id of the nth card that asks for approval of a mission's plan."""
    return f"{mission_id}.plan-approval-{asked}"


def hold_id(asked_in: str, number: int = 0) -> str:
    """Return the id of a question before a rollback: the nth of a mission, or that of a call."""
    return f"{asked_in}.hold-{number}" if number else f"{asked_in}-hold"


def plan_workflow_id(digest: str) -> str:
    """Return the workflow id of a plan preview, which no mission, leg or rollback can have."""
    return f"plan:{digest[:32]}"


def input_id(call_id: str, asked: int) -> str:
    """Return the id of the nth question that a server asks during a call."""
    return confirmation_id(f"{call_id}-input", asked)


def model_pause_id(call_id: str) -> str:
    """Return the id of the pause of a leg whose model could not be asked in this step."""
    return f"{call_id}-model"


def leg_of(asked: str) -> str:
    """Return the leg id of a card, question, pause or call; empty: the mission's own."""
    _, _, rest = asked.partition(".")
    leg_id, dot, _ = rest.rpartition(".")
    return leg_id if dot else ""


def is_of_plan(asked: str, mission_id: str) -> bool:
    """Return True if a card or a question is about the plan of this mission."""
    return asked.startswith((f"{mission_id}.plan-",)) and not leg_of(asked)


def leg_of_confirmation(confirmation_id: str) -> str:
    """Return the workflow id of the leg or mission that a confirmation or question belongs to."""
    return confirmation_id.rpartition(".")[0]
