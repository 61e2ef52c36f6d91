"""The build that a worker tells the server of, as its settings name it."""

import logging

from temporalio.worker import WorkerDeploymentConfig

from orchestrator.adapters.temporal.deployment_versions import deployment_config
from orchestrator.core import command_lines
from orchestrator.settings import Settings

_log = logging.getLogger(__name__)


def told_build(settings: Settings) -> WorkerDeploymentConfig | None:
    """What the server is told; None where no build is named.

    Raises:
        UsageError: the deployment has a name that the server would not take.
    """
    return deployment_config(settings.deployment or settings.task_queue, settings.build_id)


def log_build(settings: Settings) -> None:
    """Say what is still to be done: a build that polls and is not current gets no new missions."""
    if (told := told_build(settings)) is not None:
        version = told.version
        _log.info(
            "polling as build %s of the deployment %s; new missions come to it once it is "
            "current: %s",
            version.build_id,
            version.deployment_name,
            command_lines.set_current(version.deployment_name, version.build_id),
        )
