"""Owns what all tests share: a clean environment, markers from folders, and Temporal servers.

The servers are the binaries that the locked packages put beside the interpreter: nothing is
downloaded when the tests run.
"""

import asyncio
import gc
import ipaddress
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from orchestrator.adapters.storage.store import Store
from orchestrator.runtime.registration import INDEXED
from orchestrator.testing.installation import running_temporal
from orchestrator.testing.postgres import PostgresServer
from tests.distribution import SLOW, FilesByKind, file_of, in_order

_TESTS: Final = Path(__file__).parent
_BIN: Final = Path(sys.executable).parent
_SUFFIX: Final = ".exe" if os.name == "nt" else ""
_MARKED_FOLDERS: Final = ("unit", "workflow", "replay", "integration", "chaos")
_LIVE_FOLDERS: Final = ("workflow", "integration", "chaos")
"""Their tests run against servers and processes, which a crowded machine can starve for seconds."""
_TIME_SKIPPING: Final = "time-skipping"
_LOCAL: Final = "local"
_OPTION: Final = "--workflow-environment"
_FOREIGN_VARIABLES: Final = ("ORCHESTRATOR_", "TEMPORAL_")
_OF_PROVIDERS: Final = ("_API_KEY", "_BASE_URL")

# A thread of the SDK's core that still finishes a call while the interpreter shuts down aborts the
# process (temporalio/sdk-python issue 300). Time in seconds for the last call to be over.
_CORE_SETTLES_S: Final = 0.1
_LEFTOVERS_END_S: Final = 10

# `make browser` brings what drives the browser, which no other target installs.
collect_ignore = [] if find_spec("playwright") else ["browser"]


# All that collecting makes stays: looking for garbage meanwhile takes a third of its time, and each
# later look would go through it again.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and not among what was collected."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
async def ended_tasks() -> AsyncIterator[None]:
    """End the tasks that tests have left, so that none of them can hold up the end of the run.

    A test that its timer interrupts may leave a task that ignores its cancellation, for which the
    runner of the event loop would wait without end.
    """
    yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        _, stubborn = await asyncio.wait(left, timeout=_LEFTOVERS_END_S)
        for task in stubborn:
            task.print_stack(file=sys.__stderr__)
            asyncio.tasks._unregister_task(task)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the choice of the server that workflow tests run on."""
    parser.addoption(
        _OPTION,
        default=None,
        metavar="local|time-skipping|HOST:PORT",
        help="server of workflow_env; default: local in tests/integration and tests/chaos, "
        "time-skipping elsewhere",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a server choice that is none, before anything runs."""
    choice = config.getoption(_OPTION)
    if choice not in (None, _LOCAL, _TIME_SKIPPING) and not _is_address(choice):
        raise pytest.UsageError(
            f"{_OPTION} {choice!r} is neither {_LOCAL}, {_TIME_SKIPPING} nor HOST:PORT"
        )


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Take back what a service that a test ran in this process has set for its own process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(autouse=True, scope="session")
def only_loopback() -> None:
    """Refuse connections of this process to anything but this machine: real models are none."""
    sys.addaudithook(refuse_others)


def refuse_others(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook that lets nobody connect to another machine.

    Raises:
        ConnectionRefusedError: the address is one of another machine.
    """
    if event != "socket.connect" or not isinstance(arguments[1], tuple):
        return
    host = str(arguments[1][0])
    if not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
        raise ConnectionRefusedError(f"a test may not connect to {host}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test with the name of its folder, and slow ones; order the files of a wide run.

    A test over a live server that fails runs once more, and the run reports it as rerun: two
    failures in a row are a fault of the code, one may be a server that got no processor.
    """
    for item in items:
        folder = _folder(item.path)
        if folder in _MARKED_FOLDERS:
            item.add_marker(folder)
        if folder in _LIVE_FOLDERS:
            item.add_marker(pytest.mark.flaky(reruns=1))
        if file_of(item.nodeid) in SLOW:
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesByKind | None:
    """Let processes keep to one kind of files, where the files are to stay whole."""
    return FilesByKind(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of the machine from every test."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN_VARIABLES) or name.endswith(_OF_PROVIDERS):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL, started once for each process that runs tests which need it."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def store_template(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with the tables of a store, to be copied: sooner done than made."""
    url = postgres.create_database()
    with Store(tmp_path_factory.mktemp("template"), url=url):
        return url.rpartition("/")[2]


@pytest.fixture
def postgres_url(postgres: PostgresServer, store_template: str) -> str:
    """An empty store on PostgreSQL, of this test alone."""
    return postgres.create_database(store_template)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    """Where a store is: a file of its state directory, as by default, and a server."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
async def time_skipping_env() -> AsyncIterator[WorkflowEnvironment]:
    """The test server that skips time: one for all tests, since its clock is one for all.

    It keeps search attributes but has no visibility: listing workflows needs `local_env`.
    """
    env = await WorkflowEnvironment.start_time_skipping(
        data_converter=pydantic_data_converter,
        test_server_existing_path=str(_BIN / f"temporal-test-server{_SUFFIX}"),
    )
    async with env:
        await _register_search_attributes(env.client)
        yield env
    await asyncio.sleep(_CORE_SETTLES_S)


@pytest.fixture(scope="session")
async def local_env(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[WorkflowEnvironment]:
    """The real dev server in memory, on a free port, without its Web UI."""
    async with running_temporal(tmp_path_factory.mktemp("temporal")) as client:
        yield WorkflowEnvironment.from_client(client)
    await asyncio.sleep(_CORE_SETTLES_S)


@pytest.fixture(scope="session")
async def remote_env(pytestconfig: pytest.Config) -> WorkflowEnvironment:
    """The server at the HOST:PORT that the command line names."""
    client = await Client.connect(
        str(pytestconfig.getoption(_OPTION)), data_converter=pydantic_data_converter
    )
    await _register_search_attributes(client)
    return WorkflowEnvironment.from_client(client)


@pytest.fixture
def workflow_env(request: pytest.FixtureRequest) -> WorkflowEnvironment:
    """The server that the command line chose, else the one that suits the test's folder."""
    env = request.getfixturevalue(_env_fixture(request))
    assert isinstance(env, WorkflowEnvironment)
    return env


def _env_fixture(request: pytest.FixtureRequest) -> str:
    choice = request.config.getoption(_OPTION) or _default_server(request.path)
    return {_LOCAL: "local_env", _TIME_SKIPPING: "time_skipping_env"}.get(choice, "remote_env")


def _default_server(test_file: Path) -> str:
    return _LOCAL if _folder(test_file) in ("integration", "chaos") else _TIME_SKIPPING


def _folder(test_file: Path) -> str:
    return test_file.relative_to(_TESTS).parts[0] if test_file.is_relative_to(_TESTS) else ""


def _is_address(choice: str) -> bool:
    host, _, port = choice.rpartition(":")
    return bool(host) and port.isdecimal()


async def _register_search_attributes(client: Client) -> None:
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=INDEXED)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
