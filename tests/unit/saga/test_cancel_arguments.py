"""Inputs of a cancel that say what it cancels, and what the ledger holds before a call is sent."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Compensation, Effect, InputBinding, ToolCallTemplate
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject
from orchestrator.saga.cancel_arguments import (
    answered_arguments,
    cancel_arguments,
    draft_obligation,
    names_in,
)
from tests.fakes import fake_tool

TEMPLATE: JsonObject = {
    "payment_id": "$response.body#/payment_id",
    "client_reference": "$request.body#/client_reference",
    "currency": "$response.body#/price/currency",
    "If-Match": "$response.body#/etag",
    "notify": False,
}


@pytest.fixture
def catalog() -> Catalog:
    inputs: JsonObject = {
        "type": "object",
        "properties": {
            **{name: {"type": "string"} for name in ("payment_id", "client_reference", "reason")},
            **{name: {"type": "string"} for name in ("currency", "If-Match")},
            "notify": {"type": "boolean"},
            "amount": {},
        },
        "anyOf": [{"required": ["payment_id"]}, {"required": ["client_reference"]}],
    }
    binding = InputBinding(name="client_reference", location="body", field="client_reference")
    pay = fake_tool("pay", cancel_tool="unpay", cancel_arguments=TEMPLATE)
    unpay = fake_tool("unpay", cancels="pay", input_schema=inputs)
    bound = pay.model_copy(update={"bindings": (binding,)})
    return Catalog({}, {"pay": bound, "unpay": unpay})


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
    without_a_pair = catalog.tool("unpay").model_copy(update={"cancel_for": None})
    assert names_in(catalog, without_a_pair, arguments) == {}


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
def test_call_and_answer_fill_what_they_can(
    catalog: Catalog, body: JsonValue, more: JsonObject
) -> None:
    """Before the answer that is the reference alone."""
    sent: JsonObject = {"client_reference": "r1"}
    filled = cancel_arguments(catalog.tool("pay"), sent, idempotency_key="k", response_body=body)

    assert filled == {"client_reference": "r1", "notify": False, **more}


def test_a_version_is_no_id_that_was_answered(catalog: Catalog) -> None:
    """Two things may have the same one; it is sent with the cancel all the same."""
    pay = catalog.tool("pay")
    answer: JsonValue = {"payment_id": "p1", "etag": "v1"}

    assert answered_arguments(pay, answer) == {"payment_id": "p1"}
    sent = cancel_arguments(pay, {}, idempotency_key=None, response_body=answer)
    assert sent["If-Match"] == "v1"


CALL = CallRef(
    call_id="m.1-trip.2", mission_id="m", leg_id="1-trip", tool="room_book", catalog_digest="c0ffee"
)


def test_the_ledger_entry_has_all_that_its_cancel_needs() -> None:
    """What was sent, under which key and catalog, and the retries that the contract gives."""
    template: JsonObject = {"room": "$request.body#/room_id", "id": "$response.body#/id"}
    contract = Compensation(
        cancel=ToolCallTemplate(tool="room_cancel", arguments=template),
        timeout=timedelta(seconds=7),
        max_attempts=4,
        on_failure="continue",
    )
    binding = InputBinding(name="room_id", location="body", field="room_id")
    booked = fake_tool("room_book", cancel_tool="room_cancel").model_copy(
        update={"bindings": (binding,), "compensation": contract}
    )
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    entry = draft_obligation(CALL, booked, {"room_id": "r1"}, now=now)
    bare = fake_tool("room_book", effect=Effect.WRITE, idempotent=False)
    without = draft_obligation(CALL, bare, {}, now=now)

    assert (entry.obligation_id, entry.idempotency_key) == ("m.1-trip.2", "m.1-trip.2")
    assert (entry.cancel_tool, entry.catalog_digest) == ("room_cancel", "c0ffee")
    assert (entry.arguments, entry.cancel_inputs) == ({"room_id": "r1"}, {"room": "r1"})
    assert (entry.cancel_timeout, entry.cancel_max_attempts) == (timedelta(seconds=7), 4)
    assert (entry.on_failure, entry.is_live) == ("continue", True)
    assert (without.idempotency_key, without.cancel_tool) == (None, None)
    assert without.on_failure == "park"
