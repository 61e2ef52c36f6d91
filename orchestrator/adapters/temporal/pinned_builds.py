"""The worker build that a workflow is pinned to, as the server reports it."""

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import VersioningBehavior
from temporalio.api.workflow.v1 import WorkflowExecutionVersioningInfo

Version = tuple[str, str]
"""A deployment name and a build id."""


def pinned_version(info: WorkflowExecutionVersioningInfo) -> Version | None:
    """Return the build that a workflow is pinned to; None if it moves to the current build."""
    moved = info.versioning_override
    if moved.HasField("pinned"):
        return named_version(moved.pinned.version)
    is_pinned = info.behavior == VersioningBehavior.VERSIONING_BEHAVIOR_PINNED
    return named_version(info.deployment_version) if is_pinned and not moved.auto_upgrade else None


def named_version(version: WorkerDeploymentVersion) -> Version | None:
    """Return a version that the server reports; None if it is empty."""
    return (version.deployment_name, version.build_id) if version.build_id else None
