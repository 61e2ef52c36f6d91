"""The build of the workers that a workflow stays with, as the server tells it."""

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import VersioningBehavior
from temporalio.api.workflow.v1 import WorkflowExecutionVersioningInfo

Version = tuple[str, str]
"""A deployment, and a build of it."""


def pinned_version(info: WorkflowExecutionVersioningInfo) -> Version | None:
    """The build that a workflow stays with; None when it goes to whatever build is current."""
    moved = info.versioning_override
    if moved.HasField("pinned"):
        return named_version(moved.pinned.version)
    is_pinned = info.behavior == VersioningBehavior.VERSIONING_BEHAVIOR_PINNED
    return named_version(info.deployment_version) if is_pinned and not moved.auto_upgrade else None


def named_version(version: WorkerDeploymentVersion) -> Version | None:
    """A version as the server writes it; None: it is none."""
    return (version.deployment_name, version.build_id) if version.build_id else None
