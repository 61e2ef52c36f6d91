"""The build id that a worker declares to the server.

Every workflow is pinned: it stays on the build on which it began until it ends. An ended workflow
is read from its history, which needs no build.
"""

from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import WorkerDeploymentConfig

from orchestrator.core.errors import UsageError


def deployment_config(deployment: str, build_id: str | None) -> WorkerDeploymentConfig | None:
    """Return the deployment config of a worker; None if it has no build id.

    Raises:
        UsageError: the server accepts no deployment of that name.
    """
    if build_id is None:
        return None
    if set(deployment) & set(".:") or deployment.startswith("__"):
        raise UsageError(
            f"a deployment cannot be called {deployment!r}: set ORCHESTRATOR_DEPLOYMENT to a name "
            "without '.' and ':', and without '__' before it (unset, it is the task queue's)"
        )
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment, build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )
