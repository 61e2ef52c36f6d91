"""What a worker is wired from."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.deadline import PROXY_LIMIT_S
from orchestrator.routing.router import Router
from orchestrator.runtime.defaults import default_routers
from orchestrator.runtime.worker import prepare
from orchestrator.settings import Settings


class Circle:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        """Refer to itself."""
        self.itself = self


@pytest.mark.usefixtures("thawed")
def test_a_full_collection_passes_routers_by(tmp_path: Path) -> None:
    """It would stop everything for longer than a routing may take; garbage is no part of that."""
    routers = default_routers(Settings(state_dir=tmp_path))
    routers(Catalog.from_functions([{"name": "ferry_find", "description": "Find a ferry."}]))
    first, garbage = gc.get_freeze_count(), weakref.ref(Circle())

    routers(Catalog.from_functions([{"name": "spa_book", "description": "Book a spa."}]))

    assert first > len(gc.get_objects())
    assert garbage() is None


@pytest.mark.usefixtures("frozen")
def test_a_worker_has_its_router_before_the_first_mission(
    shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the catalog as missions are pinned to it, which is the one of the store."""
    store = Store(tmp_path).catalogs
    routers = default_routers(Settings(state_dir=tmp_path))

    prepare(shipped, store, routers)
    monkeypatch.setattr("orchestrator.runtime.defaults.Router", None)
    selection = routers(store.get(shipped.digest)).route("what is the weather in Oslo")

    assert "weather_get_forecast" in selection.tools


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize(("timeout_ms", "band"), [(0.0001, "fail_open"), (60_000, "crisp")])
def test_how_long_a_routing_may_take_is_set(
    shipped: Catalog, tmp_path: Path, timeout_ms: float, band: str
) -> None:
    """In milliseconds; with too few of them every tool is forwarded."""
    routers = default_routers(Settings(state_dir=tmp_path, routing_timeout_ms=timeout_ms))

    assert routers(shipped).route("weather in London").band == band


@pytest.mark.usefixtures("frozen")
def test_a_step_waits_a_second_for_its_routing(
    shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine so busy that each stage takes 60 ms, it has its few tools all the same."""
    ticks = count(0.0, 0.06)
    monkeypatch.setattr("orchestrator.runtime.defaults.time.monotonic", lambda: next(ticks))
    router = default_routers(Settings(state_dir=tmp_path))(shipped)

    assert router.route("weather in London").band != "fail_open"
    assert router.route("weather in London", limit_s=PROXY_LIMIT_S).band == "fail_open"


@pytest.mark.usefixtures("frozen")
def test_what_cannot_be_prepared_is_left_to_the_first_mission(
    shipped: Catalog, tmp_path: Path
) -> None:
    """A folder that cannot be written, or a catalog that cannot be indexed, stops no worker."""

    def broken(catalog: Catalog) -> Router:
        raise MemoryError

    (tmp_path / "file").touch()

    prepare(shipped, Store(tmp_path / "file").catalogs, broken)
    prepare(shipped, Store(tmp_path).catalogs, broken)

    assert Store(tmp_path).catalogs.get(shipped.digest)


@pytest.mark.usefixtures("frozen")
def test_threads_that_ask_at_once_share_one_router(tmp_path: Path) -> None:
    """A catalog's router is built once, however many steps are its first."""
    routers = default_routers(Settings(state_dir=tmp_path))
    catalog = Catalog.from_functions(
        [{"name": f"ferry_find_{n}", "description": "Find a ferry."} for n in range(300)]
    )

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(routers, [catalog] * 4))

    assert all(router is found[0] for router in found)
