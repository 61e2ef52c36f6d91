"""Real sockets: dropped connections, control endpoints, one process per run."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from orchestrator.sandbox import (
    DocumentError,
    EffectLedger,
    FaultRule,
    RunningSandbox,
    SandboxClient,
    run,
    running_sandbox,
)
from orchestrator.sandbox.faults import FaultKind

ROOT = Path(__file__).parents[3]
KEY = {"Idempotency-Key": "m1.leg.1", "X-Request-Id": "m1.leg.1"}
DROPPED = (httpx.RemoteProtocolError, httpx.ReadError)


@pytest.fixture
async def sandbox(shop: dict[str, Any]) -> AsyncIterator[RunningSandbox]:
    async with running_sandbox({"shop": shop}) as running:
        yield running


@pytest.fixture
async def http(sandbox: RunningSandbox) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=sandbox.base_url, trust_env=False) as client:
        yield client


@pytest.fixture
async def control(sandbox: RunningSandbox) -> AsyncIterator[SandboxClient]:
    async with SandboxClient(sandbox.base_url) as client:
        yield client


async def order(http: httpx.AsyncClient, book_id: str) -> httpx.Response:
    body = {"book_id": book_id, "client_reference": "m1.leg.1"}
    return await http.post("/shop/orders", json=body, headers=KEY)


async def test_drop_before_commit_did_nothing(
    http: httpx.AsyncClient, book_id: str, control: SandboxClient
) -> None:
    """The connection breaks and nothing happened; the same key then does it."""
    rule = FaultRule(operation_id="order_place", kind="drop_before", times=1)
    await control.set_faults([rule])

    with pytest.raises(DROPPED):
        await order(http, book_id)
    before = await control.live("m1")
    again = await order(http, book_id)

    assert before == []
    assert again.status_code == 201
    assert "Idempotent-Replayed" not in again.headers
    assert len(await control.live("m1")) == 1


async def test_drop_after_commit_did_it(
    http: httpx.AsyncClient, book_id: str, control: SandboxClient
) -> None:
    """The connection breaks as well, but the order exists and can be cancelled."""
    rule = FaultRule(operation_id="order_place", kind="drop_after", times=1)
    await control.set_faults([rule])

    with pytest.raises(DROPPED):
        await order(http, book_id)
    (effect,) = await control.live("m1")
    again = await order(http, book_id)
    cancelled = await http.post("/shop/cancellations", json={"client_reference": "m1.leg.1"})

    assert again.json()["order_id"] == effect["resource_id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert cancelled.status_code == 200
    assert await control.live("m1") == []
    assert await control.duplicates("m1") == []
    statuses = [request["status"] for request in await control.requests("m1")]
    assert statuses == [None, 201]


@pytest.mark.parametrize("kind", ["truncate", "cut_chunk"])
async def test_a_body_that_breaks_off_did_it(
    kind: FaultKind, http: httpx.AsyncClient, book_id: str, control: SandboxClient
) -> None:
    """The status is a success, the body never ends, and the order exists."""
    await control.set_faults([FaultRule(operation_id="order_place", kind=kind, times=1)])

    with pytest.raises(DROPPED, match="closed connection"):
        await order(http, book_id)
    again = await order(http, book_id)

    assert again.headers["Idempotent-Replayed"] == "true"
    assert [request["status"] for request in await control.requests("m1")] == [None, 201]


async def test_dropped_connection_leaves_the_others_alone(
    sandbox: RunningSandbox, http: httpx.AsyncClient, control: SandboxClient
) -> None:
    """Only the request with the fault loses its connection."""
    await control.set_faults([FaultRule(operation_id="order_get", kind="drop_before")])
    searches = [http.get("/shop/books", params={"author": f"A{n}"}) for n in range(8)]
    lost = http.get("/shop/orders/ord_x")

    *answers, dropped = await asyncio.gather(*searches, lost, return_exceptions=True)

    statuses = [a.status_code for a in answers if isinstance(a, httpx.Response)]
    assert statuses == [200] * 8
    assert isinstance(dropped, DROPPED)


async def test_latency_delays_the_answer(http: httpx.AsyncClient, control: SandboxClient) -> None:
    """A caller who waits less than the delay gives up; one who waits longer is answered."""
    await control.set_faults([FaultRule(kind="latency", delay_s=0.2)])

    with pytest.raises(httpx.ReadTimeout):
        await http.get("/shop/orders", timeout=httpx.Timeout(5, read=0.05))
    answer = await http.get("/shop/orders", timeout=30)

    assert answer.status_code == 200


async def test_concurrent_calls_with_one_key_have_one_effect(
    http: httpx.AsyncClient, book_id: str, control: SandboxClient
) -> None:
    """Ten callers race with one key: one order, ten equal answers."""
    answers = await asyncio.gather(*(order(http, book_id) for _ in range(10)))

    assert len({answer.text for answer in answers}) == 1
    assert len(await control.live("m1")) == 1


async def test_client_sees_what_the_ledger_has(
    sandbox: RunningSandbox, http: httpx.AsyncClient, book_id: str, control: SandboxClient
) -> None:
    """Over HTTP the ledger equals its file."""
    await order(http, book_id)

    assert await control.health()
    assert await control.ledger() == [effect.to_json() for effect in sandbox.ledger.effects()]
    assert await control.live("m2") == []


async def test_faults_are_set_shown_and_cleared(control: SandboxClient) -> None:
    """The rules can be read back with how often each struck."""
    await control.set_faults([FaultRule(kind="rate_limit", times=3)], seed=11)
    planned = await control.faults()
    await control.clear_faults()

    assert planned["seed"] == 11
    (rule,) = planned["rules"]
    assert (rule["kind"], rule["times"], rule["fired"]) == ("rate_limit", 3, 0)
    assert (await control.faults())["rules"] == []


@pytest.mark.parametrize("body", [b"[{", b'[{"kind": "explode"}]', b'{"seed": "x"}', b"7"])
async def test_rules_that_are_none_are_refused(http: httpx.AsyncClient, body: bytes) -> None:
    """A bad plan is answered with 422 and changes nothing."""
    answer = await http.put("/_sandbox/faults", content=body)

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert (await http.get("/_sandbox/faults")).json()["rules"] == []


async def test_taken_port_is_an_os_error(sandbox: RunningSandbox, shop: dict[str, Any]) -> None:
    """A second server on the port fails at once."""
    with pytest.raises(OSError, match="in use"):
        async with running_sandbox({"shop": shop}, port=sandbox.port):
            pass


async def test_port_is_free_after_the_block(shop: dict[str, Any]) -> None:
    """Nothing listens once the block has ended."""
    async with running_sandbox({"shop": shop}) as running:
        port = running.port

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_missing_folder_is_refused() -> None:
    """The error names the folder."""
    with pytest.raises(DocumentError, match="nowhere"):
        run(["nowhere"], port=0)


_SERVE = """
import sys
from orchestrator.sandbox import run
run([sys.argv[1]], port=0, db=sys.argv[2],
    on_ready=lambda sandbox: print(sandbox.base_url, flush=True))
"""


async def test_killed_sandbox_keeps_what_it_answered(shop: dict[str, Any], tmp_path: Path) -> None:
    """After kill -9 the file holds every order that was confirmed, and its key."""
    specs, db = tmp_path / "shop.yaml", tmp_path / "ledger.db"
    specs.write_text(yaml.safe_dump(shop), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _SERVE,
        str(specs),
        str(db),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
            found = (await http.get("/shop/books", params={"author": "Eco"})).json()["books"]
            confirmed = (await order(http, found[0]["book_id"])).json()
    finally:
        process.kill()
        await process.wait()

    async with running_sandbox({"shop": shop}, ledger=(ledger := EffectLedger(db))) as again:
        async with httpx.AsyncClient(base_url=again.base_url, trust_env=False) as http:
            repeated = await order(http, found[0]["book_id"])
        live = ledger.live("m1")
    ledger.close()

    assert repeated.json() == confirmed
    assert [effect.resource_id for effect in live] == [confirmed["order_id"]]
