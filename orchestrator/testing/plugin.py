"""Pytest plugin: an installation for your documents, and fixtures of rollback tests.

Pytest loads this module in every run where the product is installed, so heavy imports wait for the
first use of a fixture. Any plugin for coroutines works, as the installation has its own event loop.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.sandbox import SandboxClient
    from orchestrator.testing.installation import Installation

_SPECS = "orchestrator_specs"
_OVERLAYS = "orchestrator_overlays"
_SEED_OPTION = "--chaos-seed"
_SEED_INPUT = "orchestrator_chaos_seed"
_SEED = pytest.StashKey[int]()
_SEED_USED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the seed and the documents."""
    group = parser.getgroup("orchestrator", "rollback tests of the orchestrator")
    group.addoption(
        _SEED_OPTION, type=int, default=None, help="seed of everything random in rollback tests"
    )
    parser.addini(_SPECS, "OpenAPI files, or folders of them, for rollback tests", type="paths")
    parser.addini(_OVERLAYS, "overlays over these documents, in their order", type="paths")


def pytest_configure(config: pytest.Config) -> None:
    """Draw one seed for all processes of the run."""
    given: int | None = config.getoption(_SEED_OPTION)
    handed: dict[str, int] = getattr(config, "workerinput", {})
    drawn = handed.get(_SEED_INPUT, random.randrange(10**6))
    config.stash[_SEED] = drawn if given is None else given
    config.stash[_SEED_USED] = False


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: pytest.Item) -> None:
    """Pass the seed to a worker process of pytest-xdist."""
    node.workerinput[_SEED_INPUT] = node.config.stash[_SEED]  # type: ignore[attr-defined]  # xdist's own kind of node


def pytest_report_header(config: pytest.Config) -> str | None:
    """Show the seed if rollback tests are configured."""
    if config.getoption(_SEED_OPTION) is None and not config.getini(_SPECS):
        return None
    return f"chaos seed: {config.stash[_SEED]}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Show how to repeat a failure."""
    if config.stash[_SEED_USED] and terminalreporter.stats.get("failed"):
        terminalreporter.line(f"repeat with the same chaos: {_SEED_OPTION} {config.stash[_SEED]}")


@pytest.fixture(scope="session")
def chaos_seed(pytestconfig: pytest.Config) -> int:
    """Seed of everything random in this run: --chaos-seed, or drawn."""
    pytestconfig.stash[_SEED_USED] = True
    return pytestconfig.stash[_SEED]


@pytest.fixture(scope="session")
def orchestrator_specs(pytestconfig: pytest.Config) -> tuple[Path, ...]:
    """Your documents: the ini option orchestrator_specs; override it to choose others."""
    listed = tuple(Path(path) for path in pytestconfig.getini(_SPECS))
    if not listed:
        raise pytest.UsageError(
            f"no documents: set {_SPECS} in the pytest section of your configuration, or override "
            f"the fixture {_SPECS}"
        )
    return listed


@pytest.fixture(scope="session")
def orchestrator_overlays(pytestconfig: pytest.Config) -> tuple[Path, ...]:
    """Their overlays: the ini option orchestrator_overlays; override it to choose others."""
    return tuple(Path(path) for path in pytestconfig.getini(_OVERLAYS))


@pytest.fixture(scope="session")
def orchestrator_stack(
    orchestrator_specs: tuple[Path, ...],
    orchestrator_overlays: tuple[Path, ...],
    chaos_seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    """Temporal, a sandbox that serves your documents, and a worker, for the whole run."""
    from orchestrator.catalog.catalog import load_documents
    from orchestrator.testing.installation import installed_in_background

    documents = load_documents(*orchestrator_specs, overlays=orchestrator_overlays)
    folder = tmp_path_factory.mktemp("orchestrator")
    with installed_in_background(documents, folder, seed=chaos_seed) as running:
        yield running


@pytest.fixture
def mission_client(orchestrator_stack: Installation) -> MissionClient:
    """Client that starts missions, decides on their cards and rolls them back."""
    return orchestrator_stack.mission_client


@pytest.fixture
def start_script(orchestrator_stack: Installation) -> Callable[..., Awaitable[MissionHandle]]:
    """Function that starts a mission with the given steps: see `Installation.start_script`."""
    return orchestrator_stack.start_script


@pytest.fixture
def sandbox(orchestrator_stack: Installation) -> Iterator[SandboxClient]:
    """Client of the providers that plans faults and reads the ledger; faults end with the test."""
    import httpx

    from orchestrator.sandbox import SandboxClient

    url = orchestrator_stack.sandbox_url
    # The test's event loop may be closed before this fixture is.
    yield SandboxClient(url, keeps_connections=False)
    httpx.delete(f"{url}/_sandbox/faults", trust_env=False).raise_for_status()


@pytest.fixture
def assert_nothing_left(sandbox: SandboxClient) -> Callable[[MissionHandle], Awaitable[None]]:
    """Function that awaits the end of a mission and fails if it left anything at a provider."""
    from orchestrator.testing.installation import assert_nothing_left as assertion

    async def check(mission: MissionHandle) -> None:
        await assertion(sandbox, mission)

    return check
