"""The build of a worker, by its settings."""

import logging

import pytest

from orchestrator.core.errors import UsageError
from orchestrator.runtime.worker import log_build, worker_deployment
from orchestrator.settings import Settings


@pytest.mark.parametrize(
    ("settings", "version"),
    [
        (Settings(task_queue="eu", build_id="0-2-0"), "eu.0-2-0"),
        (Settings(task_queue="eu.1", deployment="eu", build_id="0.2"), "eu.0.2"),
    ],
)
def test_a_deployment_has_the_name_of_its_task_queue_or_its_own(
    settings: Settings, version: str
) -> None:
    """Whose builds replace each other."""
    told = worker_deployment(settings)

    assert told is not None
    assert told.version.to_canonical_string() == version


def test_a_task_queue_whose_name_cannot_be_a_deployments_needs_one() -> None:
    """Before anything is polled; without a build, any name will do."""
    assert worker_deployment(Settings(task_queue="eu.1")) is None
    with pytest.raises(UsageError, match="ORCHESTRATOR_DEPLOYMENT"):
        worker_deployment(Settings(task_queue="eu.1", build_id="1"))


def test_the_log_says_how_a_build_is_made_current(caplog: pytest.LogCaptureFixture) -> None:
    """It would poll in silence otherwise, and get nothing."""
    with caplog.at_level(logging.INFO):
        log_build(Settings(task_queue="eu", build_id=""))
        assert caplog.messages == []
        log_build(Settings(task_queue="eu", build_id="2"))

    assert caplog.messages == [
        "polling as build 2 of the deployment eu; new missions come to it once it is current: "
        "temporal worker deployment set-current-version --deployment-name eu --build-id 2 --yes"
    ]
