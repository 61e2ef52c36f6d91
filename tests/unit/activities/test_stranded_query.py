"""What a sweep looks for: every end that leaves a mission no moment, of each kind of workflow."""

import re
from datetime import UTC, datetime

from activities.sweep_activities import stranded_query
from orchestrator.messages import names
from orchestrator.messages.rollback import FindStrandedInput

BROKEN_OFF = {"Terminated", "TimedOut", "Failed", "Canceled"}


def looked_for(query: str) -> dict[str, set[str]]:
    """The ends that are looked for, by type of workflow."""
    found: dict[str, set[str]] = {}
    clause = r"WorkflowType (?:=|IN) \(?([^()]*?)\)? AND ExecutionStatus IN \(([^)]*)\)"
    for types, statuses in re.findall(clause, query):
        for kind in re.findall(r"'(\w+)'", types):
            found[kind] = set(re.findall(r"'(\w+)'", statuses))
    return found


def test_every_end_that_leaves_something_behind_is_looked_for() -> None:
    """A mission ends itself when it fails; a leg that failed may be of a deleted mission."""
    assert looked_for(stranded_query(FindStrandedInput())) == {
        names.MISSION_WORKFLOW: {"Terminated", "TimedOut"},
        names.LEG_WORKFLOW: BROKEN_OFF,
        names.ROLLBACK_WORKFLOW: BROKEN_OFF,
    }


def test_a_later_sweep_begins_where_the_last_one_stopped() -> None:
    """What was closed before is not looked up again."""
    since = datetime(2026, 11, 22, 12, tzinfo=UTC)

    query = stranded_query(FindStrandedInput(closed_after=since))

    assert query.endswith(f" AND CloseTime > '{since.isoformat()}'")
