"""Follow-up actions: what an answer makes possible, and never more than it says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.pii import is_handle
from orchestrator.saga.cancel_arguments import cancel_arguments
from orchestrator.saga.follow_ups import MOST, follow_ups
from orchestrator.saga.outcome import FollowUp

AT = datetime(2026, 11, 29, 8, tzinfo=UTC)
BOOKED = {"booking_id": "B1", "status": "confirmed", "client_reference": "own", "passengers": 1}


def _after(
    catalog: Catalog, name: str, body: Any, arguments: dict[str, Any] | None = None
) -> tuple[FollowUp, ...]:
    tool, sent = catalog.tool(name), arguments or {}
    filled = cancel_arguments(tool, sent, idempotency_key="k", response_body=body)
    return follow_ups(
        catalog,
        tool,
        call_id="trip.1-x.2",
        arguments=sent,
        body=body,
        cancel_inputs=filled,
        at=AT,
    )


def test_the_declared_cancel_comes_first_with_its_arguments_and_window(shipped: Catalog) -> None:
    """It is what a rollback would call, until the provider's window closes."""
    first, *others = _after(shipped, "flight_book_offer", BOOKED, {"client_reference": "own"})

    assert (first.kind, first.tool) == ("cancel", "flight_cancel_booking")
    assert first.inputs == {"booking_id": "B1", "client_reference": "own"}
    assert first.until == AT + timedelta(days=1)
    assert [(one.tool, one.inputs) for one in others] == [
        ("flight_get_booking", {"booking_id": "B1"})
    ]


def test_a_listing_feeds_consequences_whose_personal_inputs_are_handles(shipped: Catalog) -> None:
    """The first things of a list, each by its own id; no personal value stands in an input."""
    offers = {"offers": [{"offer_id": f"o{n}"} for n in range(9)]}

    found = _after(shipped, "flight_search_offers", offers)

    booked = [one.inputs for one in found if one.tool == "flight_book_offer"]
    assert [inputs["offer_id"] for inputs in booked] == ["o0", "o1", "o2"]
    assert all(is_handle(inputs["traveler_id"]) for inputs in booked)
    assert len(found) <= MOST


@pytest.mark.parametrize(
    ("name", "body", "wanted"),
    [
        ("payment_list_invoices", {"invoices": [{"invoice_id": "i1"}]}, "payment_pay_invoice"),
        ("weather_get_forecast", {"city": "Oslo", "date": "2026-12-05"}, "weather_list_alerts"),
        ("file_upload_file", {"upload_id": "u1", "file_id": "f1"}, "file_delete_file"),
    ],
)
def test_an_answer_feeds_the_tools_of_its_document(
    shipped: Catalog, name: str, body: Any, wanted: str
) -> None:
    """By the names that both declare."""
    assert wanted in [one.tool for one in _after(shipped, name, body)]


@pytest.mark.parametrize("body", [None, [], "text", {}, {"status": "open"}, {"events": []}])
def test_an_answer_that_names_nothing_feeds_nothing(shipped: Catalog, body: Any) -> None:
    """A state or an amount that several things share connects no two tools."""
    assert _after(shipped, "calendar_list_events", body) == ()


def _document(one_path: str) -> dict[str, Any]:
    """Return a document with customers that are made, read and archived under a bare `{id}`."""
    parameter = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    answer = {"200": {"description": "Done.", "content": {"application/json": {"schema": {}}}}}

    def operation(name: str, **more: Any) -> dict[str, Any]:
        said = {"operationId": name, "summary": name, "x-orchet-tool": True, "responses": answer}
        return {**said, **more}

    return {
        "openapi": "3.1.0",
        "info": {"title": "CRM", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:8700"}],
        "paths": {
            "/customers": {"get": operation("list_customers")},
            f"/{one_path}/{{id}}": {"get": operation("get_one", parameters=parameter)},
        },
    }


@pytest.mark.parametrize(("one_path", "count"), [("customers", 1), ("invoices", 0)])
def test_a_bare_id_is_that_of_its_own_path(one_path: str, count: int) -> None:
    """An id of a customer is no id of an invoice, though both documents call it `id`."""
    catalog = Catalog.from_documents({"crm.json": _document(one_path)})

    assert len(_after(catalog, "list_customers", [{"id": "c1"}])) == count


def _billing() -> Catalog:
    """Plans with charges, and coupons: `code` names all three, `coupon_code` only one."""
    text = {"type": "string"}
    answer = {"200": {"description": "Done.", "content": {"application/json": {"schema": {}}}}}

    def operation(name: str, *given: str, body: tuple[str, ...] = ()) -> dict[str, Any]:
        sent = {"type": "object", "properties": dict.fromkeys(body, text)}
        more = {"requestBody": {"content": {"application/json": {"schema": sent}}}} if body else {}
        named = [{"name": n, "in": "path", "required": True, "schema": text} for n in given]
        said = {"operationId": name, "summary": name, "x-orchet-tool": True, "responses": answer}
        return {**said, **more, "parameters": named}

    paths: Any = {
        "/plans": {"post": operation("make_plan", body=("code",))},
        "/plans/{code}": {"delete": operation("drop_plan", "code")},
        "/plans/{code}/charges": {"post": operation("make_charge", "code", body=("label",))},
        "/plans/{code}/charges/{charge_code}": {
            "delete": operation("drop_charge", "code", "charge_code")
        },
        "/coupons": {"post": operation("make_coupon", body=("code",))},
        "/coupons/{code}": {"delete": operation("drop_coupon", "code")},
        "/coupons/{coupon_code}/uses": {"get": operation("list_uses", "coupon_code")},
    }
    info: Any = {"title": "Billing", "version": "1"}
    servers: Any = [{"url": "http://127.0.0.1:8700"}]
    return Catalog.from_documents(
        {"billing": {"openapi": "3.1.0", "info": info, "servers": servers, "paths": paths}}
    )


@pytest.mark.parametrize(
    ("name", "sent", "body", "wanted"),
    [
        ("make_coupon", {"code": "x"}, {"coupon": {"code": "x"}}, [("drop_coupon", {"code": "x"})]),
        (
            "make_plan",
            {"code": "x"},
            {"code": "x"},
            [("drop_plan", {"code": "x"}), ("make_charge", {"code": "x"})],
        ),
        (
            "make_charge",
            {"code": "p", "label": "l"},
            {"code": "c", "charge_code": "c"},
            [("drop_charge", {"code": "p", "charge_code": "c"})],
        ),
        (
            "make_coupon",
            {"code": "x"},
            {"code": "x", "coupon_code": "x"},
            [("drop_coupon", {"code": "x"}), ("list_uses", {"coupon_code": "x"})],
        ),
    ],
)
def test_a_name_that_kinds_share_is_an_id_of_the_same_kind_only(
    name: str, sent: dict[str, Any], body: Any, wanted: list[tuple[str, dict[str, Any]]]
) -> None:
    """The code of a coupon deletes no plan, though both paths call it `code`."""
    found = _after(_billing(), name, body, sent)

    assert sorted((one.tool, one.inputs) for one in found) == wanted


def _desk() -> Catalog:
    """Customers who are added, and their visits; each has its cancel."""
    text = {"type": "string"}
    answer = {"200": {"description": "Done.", "content": {"application/json": {"schema": {}}}}}

    def post(name: str, cancel: str, given: str, **properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": properties}
        return {
            "operationId": name,
            "summary": name,
            "x-orchet-tool": True,
            "x-orchet-requires-confirmation": False,
            "x-orchet-cancels": cancel,
            "x-orchet-compensation-args": {given: f"$response.body#/{given}"},
            "requestBody": {"content": {"application/json": {"schema": schema}}},
            "responses": answer,
        }

    def delete(name: str, maker: str, given: str) -> dict[str, Any]:
        return {
            "operationId": name,
            "summary": name,
            "x-orchet-tool": True,
            "x-orchet-requires-confirmation": False,
            "x-orchet-cancel-for": maker,
            "parameters": [{"name": given, "in": "path", "required": True, "schema": text}],
            "responses": answer,
        }

    visit = {"type": "object", "properties": {"customer_id": text}}
    paths: Any = {
        "/customers": {"post": post("add_customer", "drop_customer", "customer_id", label=text)},
        "/customers/{customer_id}": {
            "delete": delete("drop_customer", "add_customer", "customer_id")
        },
        "/visits": {"post": post("add_visit", "drop_visit", "visit_id", visit=visit)},
        "/visits/{visit_id}": {"delete": delete("drop_visit", "add_visit", "visit_id")},
    }
    info: Any = {"title": "Desk", "version": "1"}
    servers: Any = [{"url": "http://127.0.0.1:8700"}]
    return Catalog.from_documents(
        {"desk": {"openapi": "3.1.0", "info": info, "servers": servers, "paths": paths}}
    )


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ({"visit": {"customer_id": "c1"}}, ["drop_visit"]),
        ({"visit": {}}, ["drop_visit", "drop_customer"]),
    ],
)
def test_what_was_there_before_is_not_offered_to_be_cancelled(
    sent: dict[str, Any], wanted: list[str]
) -> None:
    """A visit of a known customer does not suggest deleting the customer; a new one may."""
    found = _after(_desk(), "add_visit", {"visit_id": "v1", "customer_id": "c1"}, sent)

    assert [one.tool for one in found] == wanted


_PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30))
_BODIES = st.recursive(
    _PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["id", "offer_id", "booking_id", "city", "price", "offers"]), inner
        ),
    ),
    max_leaves=12,
)


@given(body=_BODIES)
def test_what_is_listed_can_be_called(shipped: Catalog, body: Any) -> None:
    """For any answer: bounded, ids unique, and inputs that the tool's own contract takes."""
    found = _after(shipped, "flight_search_offers", body)

    assert len(found) <= MOST
    assert len({one.id for one in found}) == len(found)
    for one in found:
        assert not check_arguments(shipped, shipped.tool(one.tool), one.inputs)
