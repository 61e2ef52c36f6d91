"""What a worker declares of its build."""

import pytest
from temporalio.common import VersioningBehavior

from orchestrator.core.errors import UsageError
from orchestrator.runtime.worker import worker_deployment
from orchestrator.settings import Settings


def test_a_worker_without_a_build_declares_none() -> None:
    """The server refuses every task that says more."""
    assert worker_deployment(Settings(task_queue="q")) is None


def test_a_worker_with_a_build_pins_what_it_runs() -> None:
    """Sweeps and runs of schedules as well."""
    config = worker_deployment(Settings(task_queue="q", build_id="1"))
    assert config is not None
    assert config.use_worker_versioning
    assert config.default_versioning_behavior is VersioningBehavior.PINNED
    assert config.version.to_canonical_string() == "q.1"


@pytest.mark.parametrize("name", ["eu.missions", "eu:missions", "__missions"])
def test_a_name_that_the_server_would_refuse_is_refused_in_a_sentence(name: str) -> None:
    """Polling with it would fail again and again, in the log alone."""
    with pytest.raises(UsageError, match="set ORCHESTRATOR_DEPLOYMENT to a name"):
        worker_deployment(Settings(deployment=name, build_id="1"))
