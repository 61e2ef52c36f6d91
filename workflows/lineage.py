"""Which workflow may be what: a leg is a child of its mission, a rollback has its mission's name.

Whoever may start workflows on the namespace can start these directly, with whatever input. Such a
run ends before its first command. Only the server says who a run's parent is; nobody can claim it.
"""

import re

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import LegUnowned, MissionMisnamed, RollbackMisnamed
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput
    from orchestrator.messages.mission import MISSION_ID_PATTERN
    from orchestrator.messages.rollback import RollbackInput
    from workflows.failures import refuse


def check_mission() -> None:
    """Refuse to be a mission in the place of a leg or of a rollback.

    Raises:
        ApplicationError: MissionMisnamed.
    """
    own_id = workflow.info().workflow_id
    if not re.fullmatch(MISSION_ID_PATTERN, own_id):
        raise refuse(MissionMisnamed(own_id))


def check_leg(leg: LegInput) -> None:
    """Refuse to be a leg that its mission did not start.

    Raises:
        ApplicationError: LegUnowned.
    """
    info = workflow.info()
    own_id = names.leg_workflow_id(leg.mission_id, leg.leg.leg_id)
    if info.parent is None or info.parent.workflow_id != leg.mission_id:
        raise refuse(LegUnowned(info.workflow_id, f"no mission {leg.mission_id!r} started it"))
    if info.workflow_id != own_id:
        raise refuse(LegUnowned(info.workflow_id, f"the id of that leg is {own_id}"))


def check_rollback(rollback: RollbackInput) -> None:
    """Refuse to be the rollback of a mission under another id, beside the one that there may be.

    Raises:
        ApplicationError: RollbackMisnamed.
    """
    own_id = names.rollback_workflow_id(rollback.mission_id)
    if workflow.info().workflow_id != own_id:
        raise refuse(RollbackMisnamed(rollback.mission_id, own_id))
