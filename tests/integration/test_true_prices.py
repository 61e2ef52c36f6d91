"""What a card and a ledger say of money is what is sent and charged: on documents of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import load_documents
from orchestrator.catalog.lint import lint
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.demo import LEAVING, RETURNING
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs
from orchestrator.testing import approve, eventually
from tests.forked import ForkedStack
from tests.integration.installations import standing

SERVER = {
    "url": "http://{host}:{port}/till",
    "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "8700"}},
}
KEY = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
AMOUNT = {
    "type": "integer",
    "minimum": 1,
    "description": "How much to charge, in the smallest currency unit.",
}
CURRENCY = {
    "type": "string",
    "pattern": "^[a-z]{3}$",
    "description": "Currency, as a three letter code in lowercase.",
}
CHARGE = {
    "type": "object",
    "required": ["charge_id", "amount", "currency"],
    "properties": {
        "charge_id": {"type": "string", "maxLength": 60},
        "amount": AMOUNT,
        "currency": CURRENCY,
        "client_reference": {"type": "string", "maxLength": 200},
    },
}


def _operation(name: str, summary: str, body: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    answer = {"description": "It.", "content": {"application/json": {"schema": CHARGE}}}
    return {
        "operationId": name,
        "tags": ["payments"],
        "summary": summary,
        "description": f"{summary} Use this when somebody says so. Returns it.",
        "x-orchet-tool": True,
        "parameters": [KEY],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"201": answer},
        **{f"x-orchet-{key.replace('_', '-')}": value for key, value in keywords.items()},
    }


REFERENCE = {"type": "string", "maxLength": 200, "description": "Your own reference."}
TILL = {
    "openapi": "3.1.0",
    "info": {"title": "Till", "version": "1"},
    "servers": [SERVER],
    "paths": {
        "/charges": {
            "post": _operation(
                "till_charge",
                "Charge an amount of money.",
                {
                    "type": "object",
                    "required": ["amount", "currency"],
                    "properties": {
                        "amount": AMOUNT,
                        "currency": CURRENCY,
                        "client_reference": REFERENCE,
                    },
                },
                requires_confirmation="structured-payment",
                cancels="till_refund",
                compensation_args={"client_reference": "$request.body#/client_reference"},
            )
        },
        "/refunds": {
            "post": _operation(
                "till_refund",
                "Refund a charge.",
                {
                    "type": "object",
                    "required": ["client_reference"],
                    "properties": {"client_reference": REFERENCE},
                },
                requires_confirmation=False,
                cancel_for="till_charge",
            )
        },
    },
}


def _renamed(node: Any, old: str, new: str) -> Any:
    """The document with a property called otherwise; without prices declared, whole examples."""
    if isinstance(node, list):
        return [new if item == old else _renamed(item, old, new) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {k: v for k, v in node.items() if k != "examples" or isinstance(v, list)}
    kept.pop("x-orchet-price", None)
    return {new if k == old else k: _renamed(v, old, new) for k, v in kept.items()}


def _declare(node: Any) -> None:
    """Say of every fare that it is the price."""
    for inner in node.values() if isinstance(node, dict) else node:
        if isinstance(inner, dict | list):
            _declare(inner)
    properties = node.get("properties", {}) if isinstance(node, dict) else {}
    if "fare" in properties:
        properties["fare"]["x-orchet-price"] = True


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A till that counts cents; cars, and rooms that say so, whose price is called a fare."""
    folder = tmp_path_factory.mktemp("documents")
    for name in ("cars", "hotels"):
        bundled = yaml.safe_load((bundled_specs() / f"{name}.yaml").read_text(encoding="utf-8"))
        renamed = _renamed(bundled, "price", "fare")
        if name == "hotels":
            _declare(renamed)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(renamed, sort_keys=False))
    (folder / "till.yaml").write_text(yaml.safe_dump(TILL, sort_keys=False))
    return folder


@pytest.fixture(scope="module")
async def own_stack(
    documents: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """An installation over these documents."""
    installation = ForkedStack(tmp_path_factory.mktemp("prices"), (documents,), Ports.free())
    async with standing(installation):
        yield installation


def _amounts(card: ConfirmationCard) -> dict[str, str]:
    """The amounts on a card beside its price, by their labels."""
    content: Any = card.content
    return {amount.label: str(amount.money) for amount in content.amounts}


async def _waiting(stack: Stack, goal: str, **more: Any) -> tuple[MissionHandle, ConfirmationCard]:
    mission = await (await stack.client()).start(MissionRequest(goal=goal, **more))

    async def opened() -> ConfirmationCard | None:
        return next(iter(await mission.confirmations()), None)

    card = await eventually(opened)
    assert card is not None
    return mission, card


async def test_a_charge_is_sent_in_cents_and_read_in_euros(own_stack: Stack) -> None:
    """What the card says is what is charged, and what the ledger holds."""
    mission, card = await _waiting(own_stack, "Charge 25 EUR")
    assert card.arguments["amount"] == 2500
    assert card.arguments["currency"] == "eur"
    assert str(card.price) == "25.00 EUR"
    assert {line.value for part in card.sections() for line in part.lines} >= {"25.00 EUR"}

    await approve(mission, card)
    result = await mission.result()
    (obligation,) = result.ledger.obligations
    assert str(obligation.price) == "25.00 EUR"


async def test_an_amount_finer_than_its_currency_is_asked_about(own_stack: Stack) -> None:
    """Neither rounded nor sent; the question says why."""
    mission = await (await own_stack.client()).start(MissionRequest(goal="Charge 25.005 EUR"))

    questions = await eventually(mission.questions)

    assert "25.005 EUR has more decimals than EUR has" in questions[0].question


async def test_two_prices_that_differ_are_no_price(own_stack: Stack) -> None:
    """The sandbox quotes an undeclared `price` beside the fare: the card shows both."""
    goal = f"Rent a compact car in Lisbon from {LEAVING} to {RETURNING}"
    mission, card = await _waiting(own_stack, goal)

    assert card.price is None
    assert {"Fare", "Price"} <= _amounts(card).keys()
    await mission.cancel()


async def test_the_declared_price_is_the_price(own_stack: Stack) -> None:
    """Whatever it is called, and whatever else stands beside it."""
    goal = f"Book a hotel in Lisbon from {LEAVING} to {RETURNING}"
    mission, card = await _waiting(own_stack, goal)

    assert card.price is not None
    assert str(card.price) not in _amounts(card).values()
    assert "Price" in _amounts(card)
    await mission.cancel()


@pytest.mark.parametrize(
    ("goal", "argument"),
    [
        ("Rent a compact car in Lisbon", "car_offer_id"),
        ("Book a hotel in Lisbon", "room_offer_id"),
    ],
)
async def test_a_limit_that_holds_no_price_is_asked_about_by_name(
    own_stack: Stack, goal: str, argument: str
) -> None:
    """It is never dropped: of two prices that differ, or in another currency; somebody chooses."""
    limited = f"{goal} from {LEAVING} to {RETURNING} for at most 300 JPY"
    mission = await (await own_stack.client()).start(MissionRequest(goal=limited))
    (question,) = await eventually(mission.questions)
    before = await mission.confirmations()
    field: Any = question.fields[argument]
    chosen = field["oneOf"][-1]["const"]

    await mission.answer(question.question_id, {argument: chosen})
    (card,) = await eventually(mission.confirmations)
    await mission.cancel()

    assert "300 JPY" in question.question
    assert before == []
    assert card.arguments[argument] == chosen


def test_the_linter_knows_which_of_the_documents_tell_their_price(documents: Path) -> None:
    """A fare is a price, and so are cents that are said to be some; a bare whole number is not."""
    told = load_documents(documents)
    assert [f.code for f in lint(told) if f.code.startswith("ORC06")] == []
    text = yaml.safe_dump(told["till"]).replace(" in the smallest currency unit", "")
    unread = {"till": yaml.safe_load(text)}

    (finding,) = [f for f in lint(unread) if f.code.startswith("ORC06")]

    assert finding.code == "ORC060"
    assert "x-orchet-minor-units" in finding.fix
