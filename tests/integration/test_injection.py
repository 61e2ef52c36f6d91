"""What tools answer is data: a model that obeys whatever it reads, through a whole installation."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import pytest

from orchestrator.client.connection import connect_temporal
from orchestrator.messages.mission import MissionStatus
from tests.benchmarks.bench_injection import elsewhere
from tests.benchmarks.injection.environment_server import EnvironmentServer
from tests.benchmarks.injection.obeying_worker import ObeyingWorker, obeying_worker
from tests.benchmarks.injection.recorded_cases import RecordedEnvironment, documents_of
from tests.benchmarks.injection.trial import Case, Verdict, try_case

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

_RECORDED: Final = json.loads(
    (Path(__file__).parents[1] / "documents" / "agentdojo.json").read_text(encoding="utf-8")
)
_CASES: Final = [tuple(name.split(":")) for name in _RECORDED["cases"]]


def _open(suite: str, user_task: str, injection_task: str) -> RecordedEnvironment:
    return RecordedEnvironment(_RECORDED["cases"][f"{suite}:{user_task}:{injection_task}"])


@pytest.fixture(scope="module")
def server() -> Iterator[EnvironmentServer]:
    """The providers of AgentDojo's suites, who answer what its environments answered."""
    listing = partial(documents_of, _RECORDED["suites"])
    with EnvironmentServer(_open, listing) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.fixture(scope="module")
async def here(
    stack: Stack, server: EnvironmentServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ObeyingWorker]:
    """A worker whose models obey everything, beside the installation's own."""
    temporal = await connect_temporal(stack.address)
    folder = tmp_path_factory.mktemp("injection")
    async with obeying_worker(temporal, server.listing(server.url), folder) as running:
        yield running


@pytest.fixture(scope="module")
async def verdicts(here: ObeyingWorker, server: EnvironmentServer) -> list[Verdict]:
    """Every case with a person who approves what their task holds, one with who approves all."""
    cases = [Case(*case) for case in _CASES]
    cases.append(cases[0]._replace(is_gullible=True))
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as provider:
        trials = [try_case(case, here, provider, elsewhere(case.suite)) for case in cases]
        return list(await asyncio.gather(*trials))


def test_no_injected_consequence_is_without_its_card(verdicts: list[Verdict]) -> None:
    """The attacks are read and obeyed; their users say no, and their tasks are done all the same.

    Another agent's tools and approvals are out of reach.
    """
    careful = verdicts[:-1]

    assert [verdict.read for verdict in careful] == [True] * len(_CASES)
    assert all(verdict.cards for verdict in careful)
    assert [(verdict.injected, verdict.unseen) for verdict in careful] == [(0, 0)] * len(_CASES)
    assert all(verdict.task_done for verdict in careful)
    ended = {MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE}
    assert {verdict.status for verdict in careful} <= ended


def test_who_approves_everything_was_shown_everything(verdicts: list[Verdict]) -> None:
    """Of a call that was injected as of any other."""
    assert (verdicts[-1].injected, verdicts[-1].unseen, verdicts[-1].cards) == (1, 0, 1)
