"""`orchestrator tools call` as a process of its own, against providers on real sockets."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from orchestrator.catalog.source import document_names
from orchestrator.runtime.demo import LEAVING
from orchestrator.sandbox import FaultRule, RunningSandbox, load_documents, running_sandbox
from orchestrator.settings import bundled_specs
from tests.commands import Ran, run_apart

FORECAST = ("weather_get_forecast", "--input", "city=Oslo", "--input", f"date={LEAVING}")


Call = Callable[..., Awaitable[Ran]]


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[RunningSandbox]:
    """The ten providers, on a free port."""
    async with running_sandbox(load_documents([bundled_specs()])) as running:
        yield running


@pytest.fixture
def call(sandbox: RunningSandbox, tmp_path: Path) -> Call:
    """Runs `orchestrator tools call ...` against the sandbox."""
    port = sandbox.base_url.rpartition(":")[2]
    environment = {
        **os.environ,
        "ORCHESTRATOR_SERVER_VARIABLES": json.dumps(
            {name: {"port": port} for name in document_names([bundled_specs()])}
        ),
        "ORCHESTRATOR_STATE_DIR": str(tmp_path),
        "ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
        "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY": "planted-key-7f3a90c2d1",
    }

    async def run(*arguments: str, **variables: str) -> Ran:
        return await run_apart(
            "tools", "call", *arguments, environment={**environment, **variables}
        )

    return run


async def test_the_answer_is_shown_as_json(call: Call) -> None:
    """The body alone on standard output, nothing beside it."""
    ran = await call(*FORECAST)

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert (ran.json["city"], ran.json["date"]) == ("Oslo", LEAVING)


async def test_json_is_the_whole_outcome(call: Call) -> None:
    """For scripts: what it came to, and the body inside of it."""
    ran = await call(*FORECAST, "--json")

    assert ran.exit_code == 0
    assert (ran.json["tool"], ran.json["kind"], ran.json["status"]) == (
        "weather_get_forecast",
        "succeeded",
        200,
    )
    assert ran.json["body"]["city"] == "Oslo"
    assert ran.json["contract_breach"] is None


async def test_a_credential_is_sent_and_not_shown(call: Call) -> None:
    """A provider that wants a key gets the configured one."""
    ran, without = await asyncio.gather(
        call("expense_list_categories", "--json"),
        call("expense_list_categories", ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY=""),
    )

    assert (ran.exit_code, ran.json["kind"]) == (0, "succeeded")
    assert "planted-key" not in ran.stdout + ran.stderr
    assert without.exit_code == 1
    assert "ORCHESTRATOR_SECRET_EXPENSES__EXPENSES_KEY" in without.stderr


async def test_an_id_of_digits_stays_a_text(call: Call, sandbox: RunningSandbox) -> None:
    """`booking_id=0123` reaches the provider with its zero; a refusal is exit 1 and its reason."""
    ran = await call("flight_get_booking", "--input", "booking_id=0123")

    assert ran.exit_code == 1
    assert ran.json["status"] == 404
    assert ran.stderr.startswith("rejected: HTTP 404")
    assert "0123" in ran.stderr


async def test_a_side_effect_is_never_sent(call: Call, sandbox: RunningSandbox) -> None:
    """Refused before the wire: the provider saw no request at all."""
    before = len(sandbox.ledger.requests())

    ran = await call("message_send", "--input", "channel_id=C1", "--input", "text=hi")

    assert ran.exit_code == 2
    assert "orchestrator mission start" in ran.stderr
    assert len(sandbox.ledger.requests()) == before


async def test_an_outcome_that_is_unknown_is_exit_1(call: Call, sandbox: RunningSandbox) -> None:
    """A provider in trouble, an answer that is too slow, and nobody at the address."""
    sandbox.faults.replace(
        [
            FaultRule(operation_id="weather_get_forecast", kind="status_before", times=1),
            FaultRule(operation_id="weather_get_current", kind="latency", delay_s=3.0),
        ]
    )
    busy = await call(*FORECAST, "--json")
    slow, nobody = await asyncio.gather(
        call("weather_get_current", "--input", "city=Oslo", "--timeout", "0.5"),
        call(*FORECAST, ORCHESTRATOR_SERVER_VARIABLES='{"weather": {"port": "1"}}'),
    )

    assert (busy.exit_code, busy.json["kind"], busy.json["status"]) == (1, "unknown", 503)
    assert (slow.exit_code, slow.stdout) == (1, "")
    assert slow.stderr.startswith("unknown: no complete answer")
    assert (nobody.exit_code, nobody.stdout) == (1, "")
    assert nobody.stderr == "unknown: the connection was refused or failed\n"
