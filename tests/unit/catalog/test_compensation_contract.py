"""Rollback contracts read from a document."""

import copy
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.catalog.compensation_contract import is_own_reference
from orchestrator.catalog.compile import compile_documents
from orchestrator.catalog.lint import lint
from orchestrator.catalog.tool import Compensation
from orchestrator.core.budget import Money

PREFIX = "x-orchet-compensation-"


def forward(shop: dict[str, Any]) -> dict[str, Any]:
    """The creating operation."""
    operation: dict[str, Any] = shop["paths"]["/orders"]["post"]
    return operation


def compensation(shop: dict[str, Any]) -> Compensation:
    found = compile_documents({"shop": shop}).tools["shop_place_order"].compensation
    assert found is not None
    return found


def test_the_declared_args_and_probe_are_read(shop: dict[str, Any]) -> None:
    """Constants are passed as written; without args the inputs are matched by name."""
    found = compensation(shop)
    body = shop["paths"]["/cancel"]["post"]["requestBody"]["content"]["application/json"]
    body["schema"]["properties"]["notify"] = {"type": "boolean"}
    forward(shop)[PREFIX + "args"]["notify"] = False
    with_constant = compensation(shop)
    del forward(shop)[PREFIX + "args"]

    read = {
        "order_id": "$response.body#/order_id",
        "client_reference": "$request.body#/client_reference",
    }
    assert (found.cancel.tool, found.cancel.arguments) == ("shop_cancel_order", read)
    assert found.probe is not None
    assert found.probe.tool == "shop_find_order"
    assert with_constant.cancel.arguments == {**read, "notify": False}
    assert compensation(shop).cancel.arguments == read


def test_silence_means_the_defaults(shop: dict[str, Any]) -> None:
    """Thirty seconds, ten attempts, no window, park; a declared setting replaces them."""
    found = compensation(shop)
    half_a_minute = timedelta(seconds=30)

    assert (found.timeout, found.max_attempts) == (half_a_minute, 10)
    assert (found.window, found.on_failure) == (None, "park")
    assert found.settles_after == half_a_minute
    forward(shop).update({PREFIX + "max-attempts": 3, PREFIX + "on-failure": "continue"})
    forward(shop)[PREFIX + "probe"]["settles-after"] = "PT2M"
    found = compensation(shop)
    assert (found.max_attempts, found.on_failure) == (3, "continue")
    assert found.settles_after == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (5, timedelta(seconds=5)),
        (2.5, timedelta(seconds=2.5)),
        ("PT10S", timedelta(seconds=10)),
        ("PT1.5S", timedelta(seconds=1.5)),
        ("P1DT2H", timedelta(days=1, hours=2)),
        ("P2W", timedelta(weeks=2)),
    ],
)
def test_times_are_seconds_or_iso_8601(
    shop: dict[str, Any], written: Any, wanted: timedelta
) -> None:
    """Timeout and window take both forms."""
    forward(shop)[PREFIX + "timeout"] = written
    forward(shop)[PREFIX + "window"] = written

    assert (compensation(shop).timeout, compensation(shop).window) == (wanted, wanted)


@pytest.mark.parametrize(
    ("keyword", "value", "inside"),
    [
        ("timeout", 0, ""),
        ("timeout", "10 s", ""),
        ("timeout", "PT", ""),
        ("timeout", True, ""),
        ("window", "P1M", ""),
        ("max-attempts", 0, ""),
        ("max-attempts", 1.5, ""),
        ("max-attempts", True, ""),
        ("on-failure", "ignore", ""),
        ("fee", 25, ""),
        ("fee", {"amount": 25}, ""),
        ("fee", {"share": 0.1, "amount": 25, "currency": "EUR"}, ""),
        ("fee", {"amount": -1, "currency": "EUR"}, "/amount"),
        ("fee", {"amount": "25", "currency": "EUR"}, "/amount"),
        ("fee", {"amount": 25, "currency": "XYZ"}, "/currency"),
        ("fee", {"share": 0}, "/share"),
        ("fee", {"share": 1.5}, "/share"),
        ("probe", {"operationId": "nobody"}, "/operationId"),
        ("args", {"order_id": "$response.order_id"}, "/order_id"),
        ("args", {"order_id": None}, "/order_id"),
    ],
)
def test_other_settings_are_refused_where_they_stand(
    shop: dict[str, Any], keyword: str, value: Any, inside: str
) -> None:
    """Months have no fixed length; nothing is guessed, and the error points at the wrong part."""
    forward(shop)[PREFIX + keyword] = value

    (skipped,) = compile_documents({"shop": shop}).skipped

    assert skipped.operation == "shop_place_order"
    assert skipped.pointer == f"/paths/~1orders/post/{PREFIX}{keyword}{inside}"


def test_a_fee_is_a_sum_or_a_share_of_the_price(shop: dict[str, Any]) -> None:
    """0.1 is a tenth, exactly; of a price that nobody knows a share is unknown."""
    price = Money(amount=Decimal("181.40"), currency="EUR")
    forward(shop)[PREFIX + "fee"] = {"amount": 25, "currency": "EUR"}
    a_sum = compensation(shop).fee
    forward(shop)[PREFIX + "fee"] = {"share": 0.1}
    a_share = compensation(shop).fee

    assert a_sum is not None and a_share is not None
    assert str(a_sum.of(None)) == str(a_sum.of(price)) == "25.00 EUR"
    assert a_share.of(price) == Money(amount=Decimal("18.140"), currency="EUR")
    assert a_share.of(None) is None


def test_a_cancel_may_take_several_calls(shop: dict[str, Any]) -> None:
    """The first is filled from the call, each other from the answer to the one before."""
    confirm = copy.deepcopy(shop["paths"]["/cancel"]["post"])
    shop["paths"]["/confirm"] = {"post": {**confirm, "operationId": "shop_confirm"}}
    step = {"operationId": "shop_confirm", "args": {"order_id": "$response.body#/order_id"}}
    forward(shop)["x-orchet-cancels"] = ["shop_cancel_order", step]

    found = compensation(shop)

    assert found.cancel.tool == "shop_cancel_order"
    assert [(one.tool, one.arguments) for one in found.then] == [
        ("shop_confirm", {"order_id": "$response.body#/order_id"})
    ]
    assert not [f for f in lint({"shop": shop}) if f.severity == "error"]


def test_a_probe_named_alone_is_filled_from_the_request(shop: dict[str, Any]) -> None:
    """A probe is asked when there is no answer, so none is read."""
    forward(shop)[PREFIX + "probe"] = "shop_find_order"

    probe = compensation(shop).probe

    assert probe is not None
    assert probe.arguments == {"client_reference": "$request.body#/client_reference"}


def references(shop: dict[str, Any]) -> tuple[str, ...]:
    return compile_documents({"shop": shop}).tools["shop_place_order"].reference_inputs


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"type": "string", "enum": ["a"]},
        {"type": "string", "format": "uuid"},
        {"type": "string", "maxLength": 20},
        {"type": "string", "pattern": "^[0-9]+$"},
    ],
)
def test_an_input_that_cannot_hold_the_id_of_a_call_is_no_reference(
    shop: dict[str, Any], schema: dict[str, Any]
) -> None:
    """Filling it would only make the provider refuse the call."""
    body = forward(shop)["requestBody"]["content"]["application/json"]["schema"]
    body["properties"]["client_reference"] = schema

    assert references(shop) == ()


def test_an_input_that_means_something_else_is_no_reference(shop: dict[str, Any]) -> None:
    """What means a reference may be filled; an existing invoice, or a personal value, may not."""
    body = forward(shop)["requestBody"]["content"]["application/json"]["schema"]
    for name in ("shelf_id", "invoice_reference"):
        body["properties"][name] = {"type": "string"}
        forward(shop)[PREFIX + "args"][name] = f"$request.body#/{name}"
    body["required"].append("invoice_reference")

    assert references(shop) == ("client_reference",)
    forward(shop)["x-orchet-pii-required"] = ["client_reference"]
    assert references(shop) == ()


def test_names_tell_the_callers_own_reference() -> None:
    """The resource's own ids are not the caller's to make up."""
    own = ["client_reference", "clientReference", "reference", "request_id", "external-id"]
    others = ["order_id", "invoice_reference", "preference"]

    assert [name for name in (*own, *others) if is_own_reference(name)] == own
