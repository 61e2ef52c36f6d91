"""What a worker is wired from."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import UsageError
from orchestrator.planning.models import AgentProfile
from orchestrator.routing.profile import PROXY_LIMIT_S
from orchestrator.runtime.defaults import default_routers
from orchestrator.runtime.worker import served_queues
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
