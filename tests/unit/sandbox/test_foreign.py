"""The generic provider on documents of other shapes than ours, over HTTP in this process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.sandbox import (
    EffectLedger,
    FaultPlan,
    FaultRule,
    Playbook,
    create_app,
    load_documents,
    redirected,
)

FOREIGN = Path(__file__).parents[2] / "documents" / "foreign"
TOKEN = {"Authorization": "Bearer t0ken"}
Opens = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def opened(ledger: EffectLedger) -> Opens:
    @asynccontextmanager
    async def serve(
        name: str, *, faults: FaultPlan | None = None, **changes: Any
    ) -> AsyncIterator[httpx.AsyncClient]:
        documents = load_documents([FOREIGN / f"{name}.yaml"])
        for path, change in changes.items():
            documents[name]["paths"]["/" + path] = change
        app = create_app(
            redirected(documents, "http://127.0.0.1"),
            ledger=ledger,
            faults=faults,
            playbook=Playbook(),
            is_stocked=True,
        )
        transport = httpx.ASGITransport(app=app)
        url = f"http://127.0.0.1/{name}"
        async with httpx.AsyncClient(transport=transport, base_url=url, headers=TOKEN) as http:
            yield http

    return serve


PLACE = "/clubs/east/memberships/3f2b6f0e-57a3-4a5e-9d0e-0c9fb1b1b1a1"
PATH = "clubs/{club}/memberships/{id}"
JOIN = {"plan": "full", "starts": "2027-01-01"}
LOAN = {"isbn": "9781234567897", "memberNumber": "M-1009", "weeks": 2, "externalRef": "ours-1"}


@pytest.mark.parametrize("breach", ["html", "error", "no_reference", "says_no"])
async def test_an_answer_without_a_body_is_never_a_broken_one(
    opened: Opens, ledger: EffectLedger, breach: Any
) -> None:
    """A 204 that did nothing could only lie: no caller can notice, and no document prevent it."""
    lies = FaultRule(operation_id="returnBook", kind="breach_before", breach=breach)
    async with opened("library", faults=FaultPlan(rules=[lies])) as http:
        lent = (await http.post("/loans", json=LOAN)).json()
        returned = await http.delete(f"/loans/{lent['loan']['id']}")

    assert returned.status_code == 204
    assert ledger.live() == []


async def test_a_probe_finds_a_thing_by_what_its_request_said(opened: Opens) -> None:
    """A reference of any name leads to the thing, and an unknown one to none."""
    async with opened("library") as http:
        lent = (await http.post("/loans", json=LOAN)).json()
        found = await http.get("/loans/by-ref/ours-1")
        missed = await http.get("/loans/by-ref/ours-2")

    assert found.json()["loan"]["id"] == lent["loan"]["id"]
    assert missed.status_code == 404


async def test_an_id_inside_an_answer_names_it(opened: Opens, ledger: EffectLedger) -> None:
    """{"loan": {"id": ...}}; a DELETE without a key finds nothing the second time."""
    async with opened("library") as http:
        lent = (await http.post("/loans", json=LOAN)).json()
        answers = [await http.delete(f"/loans/{lent['loan']['id']}") for _ in range(2)]

    assert [a.status_code for a in answers] == [204, 404]
    assert [e.kind for e in ledger.effects()] == ["create", "cancel"]
    assert ledger.live() == []


async def test_the_caller_names_what_a_put_makes(opened: Opens, ledger: EffectLedger) -> None:
    """PUT /memberships/{id} makes that resource, and the PATCH that cancels it finds it."""
    merge = {"Content-Type": "application/merge-patch+json"}
    async with opened("gym") as http:
        joined = await http.put(PLACE, json=JOIN)
        left = await http.patch(PLACE, content='{"status": "ended"}', headers=merge)

    assert joined.json()["id"] == PLACE.rpartition("/")[2]
    assert left.status_code == 200
    assert (joined.json()["status"], left.json()["status"]) == ("running", "ended")
    assert ledger.live() == []


def gym_operations() -> dict[str, Any]:
    operations: dict[str, Any] = load_documents([FOREIGN / "gym.yaml"])["gym"]["paths"][f"/{PATH}"]
    return operations


async def test_a_cancel_answers_the_state_that_it_is_sent(opened: Opens) -> None:
    """A PATCH sets what its body says (RFC 5789), whether or not the word means an end."""
    operations = gym_operations()
    dormant = {"type": "object", "properties": {"status": {"enum": ["running", "dormant"]}}}
    media = {"application/json": {"schema": dormant}}
    for operation, status in (("put", "201"), ("patch", "200")):
        operations[operation]["responses"][status]["content"] = media
    operations["patch"]["requestBody"]["content"] = media
    async with opened("gym", **{PATH: operations}) as http:
        await http.put(PLACE, json=JOIN)
        left = await http.patch(PLACE, json={"status": "dormant"})

    assert left.json()["status"] == "dormant"


async def test_a_cancel_that_is_sent_no_state_answers_an_end(opened: Opens) -> None:
    operations = gym_operations()
    operations["delete"] = operations.pop("patch")
    del operations["delete"]["requestBody"]
    async with opened("gym", **{PATH: operations}) as http:
        joined = await http.put(PLACE, json=JOIN)
        left = await http.delete(PLACE)

    assert (joined.json()["status"], left.json()["status"]) == ("running", "ended")


async def test_a_header_names_what_the_cancel_reads(opened: Opens, ledger: EffectLedger) -> None:
    """$response.header.X-Order in the contract: the answer carries it, a repeated one too."""
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    number = {"name": "number", "in": "path", "required": True, "schema": {"type": "string"}}
    done = {"responses": {"202": {"description": "done"}}}
    args = {"number": "$response.header.X-Order"}
    order = {"operationId": "order", "x-orchet-cancels": "drop", "parameters": [key], **done}
    drop = {"operationId": "drop", "x-orchet-cancel-for": "order", "parameters": [number], **done}
    changes = {
        "orders": {"post": {**order, "x-orchet-compensation-args": args}},
        "orders/{number}": {"delete": drop},
    }
    async with opened("gym", **changes) as http:
        answers = [await http.post("/orders", headers={"Idempotency-Key": "m.1"}) for _ in range(2)]
        named = {answer.headers["X-Order"] for answer in answers}
        dropped = await http.delete(f"/orders/{named.pop()}")

    assert named == set()
    assert dropped.status_code == 202
    assert ledger.live() == []


@pytest.mark.parametrize(("declared", "status"), [("409", 409), ("422", 422)])
async def test_a_chosen_name_is_taken_until_its_thing_is_cancelled(
    opened: Opens, ledger: EffectLedger, declared: str, status: int
) -> None:
    """A POST that names what the same operation made before is refused, as providers do."""
    text = {"type": "string"}
    shelf = {
        "application/json": {
            "schema": {"type": "object", "required": ["name"], "properties": {"name": text}}
        }
    }
    named = [{"name": "name", "in": "path", "required": True, "schema": text}]
    post = {
        "operationId": "addShelf",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": True,
        "x-orchet-cancels": "dropShelf",
        "x-orchet-compensation-args": {"name": "$response.body#/name"},
        "requestBody": {"required": True, "content": shelf},
        "responses": {
            "201": {"description": "Made.", "content": shelf},
            declared: {"description": "Refused."},
        },
    }
    delete = {
        "operationId": "dropShelf",
        "x-orchet-tool": True,
        "x-orchet-requires-confirmation": False,
        "x-orchet-cancel-for": "addShelf",
        "parameters": named,
        "responses": {"204": {"description": "Gone."}},
    }
    paths = {"shelves": {"post": post}, "shelves/{name}": {"delete": delete}}
    async with opened("library", **paths) as http:
        calls = [await http.post("/shelves", json={"name": name}) for name in ("a", "a", "b")]
        await http.delete("/shelves/a")
        again = await http.post("/shelves", json={"name": "a"})

    assert [call.status_code for call in (*calls, again)] == [201, status, 201, 201]
    assert [effect.resource_id for effect in ledger.live()] == ["b", "a"]
