"""Workers: what they are wired from, and what they declare of their build."""

import logging
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from temporalio.common import VersioningBehavior

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import UsageError
from orchestrator.planning.models import AgentProfile
from orchestrator.routing.profile import PROXY_LIMIT_S
from orchestrator.runtime.defaults import default_routers
from orchestrator.runtime.worker import log_build, served_queues, worker_deployment
from orchestrator.settings import Settings


@pytest.mark.parametrize(("timeout_ms", "band"), [(0.0001, "fail_open"), (60_000, "crisp")])
def test_how_long_a_routing_may_take_is_set(
    shipped: Catalog, tmp_path: Path, timeout_ms: float, band: str
) -> None:
    """In milliseconds; with too few of them every tool is forwarded."""
    routers = default_routers(Settings(state_dir=tmp_path, routing_timeout_ms=timeout_ms))

    assert routers(shipped).route("weather in London").band == band


def test_a_step_waits_a_second_for_its_routing(
    shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine so busy that each stage takes 60 ms, it has its few tools all the same."""
    ticks = count(0.0, 0.06)
    monkeypatch.setattr("orchestrator.runtime.defaults.time.monotonic", lambda: next(ticks))
    router = default_routers(Settings(state_dir=tmp_path))(shipped)

    assert router.route("weather in London").band != "fail_open"
    assert router.route("weather in London", limit_s=PROXY_LIMIT_S).band == "fail_open"


def test_threads_that_ask_at_once_share_one_router(tmp_path: Path) -> None:
    """A catalog's router is built once, however many steps are its first."""
    routers = default_routers(Settings(state_dir=tmp_path))
    catalog = Catalog.from_functions(
        [{"name": f"ferry_find_{n}", "description": "Find a ferry."} for n in range(300)]
    )
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(routers, [catalog] * 4))

    assert all(router is found[0] for router in found)


@pytest.mark.parametrize(
    ("wanted", "served"),
    [
        ((), ["own", "books", "legal"]),
        (("legal",), ["own", "legal"]),
        (("none",), ["own"]),
        (("own",), ["own"]),
        (("bokos",), None),
    ],
)
def test_a_worker_serves_the_agents_queues_of_its_settings(
    tmp_path: Path, wanted: tuple[str, ...], served: list[str] | None
) -> None:
    """In addition to its own queue; of all agents unless it is said.

    A misspelt queue would leave its agent without a worker.
    """
    settings = Settings(state_dir=tmp_path, task_queue="own", agent_queues=wanted)
    agents = [AgentProfile(name=name, task_queue=name) for name in ("books", "legal")]
    agents.append(AgentProfile(name="any"))

    if served is None:
        with pytest.raises(UsageError):
            served_queues(settings, agents)
    else:
        assert list(served_queues(settings, agents)) == served


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
