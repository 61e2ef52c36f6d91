"""The build of a worker, by its settings."""

import logging
from typing import Any

import pytest
from temporalio.common import VersioningBehavior

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
def test_a_worker_with_a_build_pins_what_it_runs(settings: Settings, version: str) -> None:
    """Sweeps and runs of schedules as well; a deployment has its task queue's name or its own.

    Without a build it declares none: the server refuses every task that says more.
    """
    config = worker_deployment(settings)

    assert config is not None
    assert config.use_worker_versioning
    assert config.default_versioning_behavior is VersioningBehavior.PINNED
    assert config.version.to_canonical_string() == version
    assert worker_deployment(Settings(task_queue="eu.1")) is None


@pytest.mark.parametrize(
    "named",
    [
        {"task_queue": "eu.1"},
        *({"deployment": name} for name in ("eu.missions", "eu:missions", "__missions")),
    ],
)
def test_a_name_that_the_server_would_refuse_is_refused_in_a_sentence(named: Any) -> None:
    """Polling with it would fail again and again, in the log alone."""
    with pytest.raises(UsageError, match="set ORCHESTRATOR_DEPLOYMENT to a name"):
        worker_deployment(Settings(build_id="1", **named))


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
