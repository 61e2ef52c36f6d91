"""Which inputs of a cancel say what it cancels, read from the contract alone."""

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Compensation, Effect, InputBinding, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject
from orchestrator.saga.cancel_arguments import answered_arguments, cancel_arguments, names_in

TEMPLATE: JsonObject = {
    "payment_id": "$response.body#/payment_id",
    "client_reference": "$request.body#/client_reference",
    "currency": "$response.body#/price/currency",
    "If-Match": "$response.body#/etag",
    "notify": False,
}


@pytest.fixture
def catalog() -> Catalog:
    """A payment, and its cancel by id or by reference."""
    inputs: JsonObject = {
        "type": "object",
        "properties": {
            **{name: {"type": "string"} for name in ("payment_id", "client_reference")},
            "currency": {"type": "string"},
            "reason": {"type": "string"},
            "notify": {"type": "boolean"},
            "If-Match": {"type": "string"},
            "amount": {},
        },
        "anyOf": [{"required": ["payment_id"]}, {"required": ["client_reference"]}],
    }
    pay = Tool(
        name="pay",
        document="payments",
        domain="payments",
        input_schema={"type": "object"},
        bindings=(
            InputBinding(name="client_reference", location="body", field="client_reference"),
        ),
        effect=Effect.OBLIGATION,
        compensation=Compensation(cancel=ToolCallTemplate(tool="unpay", arguments=TEMPLATE)),
    )
    unpay = Tool(
        name="unpay",
        document="payments",
        domain="payments",
        input_schema=inputs,
        effect=Effect.CANCEL,
        cancel_for="pay",
    )
    return Catalog({}, {"pay": pay, "unpay": unpay})


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"payment_id": "p1"}, {"payment_id": "p1"}),
        ({"payment_id": "p1", "If-Match": "v1"}, {"payment_id": "p1"}),
        ({"If-Match": "v1"}, {}),
        ({"client_reference": "r1", "notify": True}, {"client_reference": "r1"}),
        ({"payment_id": "p1", "reason": "ill since Monday"}, {"payment_id": "p1"}),
        ({"payment_id": "p1", "currency": "EUR"}, {"payment_id": "p1", "currency": "EUR"}),
        ({"currency": "EUR", "reason": "p1"}, {}),
        ({"payment_id": "p1", "amount": 40}, {}),
        ({"payment_id": "p1", "amount": "40.00 EUR"}, {}),
        ({"payment_id": "p1", "amount": {"amount": 40}}, {}),
    ],
)
def test_a_cancel_names_by_what_the_contract_fills(
    catalog: Catalog, arguments: JsonObject, names: JsonObject
) -> None:
    """Ids and references name; a currency alone does not; a part of it is another matter."""
    assert names_in(catalog, catalog.tool("unpay"), arguments) == names


def test_a_cancel_of_nothing_in_the_catalog_names_nothing(catalog: Catalog) -> None:
    """A DELETE without a pair, for instance."""
    alone = catalog.tool("unpay").model_copy(update={"cancel_for": None})

    assert names_in(catalog, alone, {"payment_id": "p1"}) == {}


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (None, {}),
        ({"payment_id": "p1"}, {"payment_id": "p1"}),
        (
            {"payment_id": "p1", "price": {"currency": "EUR"}},
            {"payment_id": "p1", "currency": "EUR"},
        ),
    ],
)
def test_a_call_and_its_answer_fill_what_they_can(
    catalog: Catalog, body: JsonValue, more: JsonObject
) -> None:
    """Before the answer that is the reference alone."""
    filled = cancel_arguments(
        catalog.tool("pay"),
        {"client_reference": "r1"},
        idempotency_key="k",
        response_body=body,
    )

    assert filled == {"client_reference": "r1", "notify": False, **more}


def test_a_version_is_no_id_that_was_answered(catalog: Catalog) -> None:
    """Two things may have the same one; it is sent with the cancel all the same."""
    pay = catalog.tool("pay")
    answer: JsonValue = {"payment_id": "p1", "etag": "v1"}

    assert answered_arguments(pay, answer) == {"payment_id": "p1"}
    sent = cancel_arguments(pay, {}, idempotency_key=None, response_body=answer)
    assert sent["If-Match"] == "v1"
