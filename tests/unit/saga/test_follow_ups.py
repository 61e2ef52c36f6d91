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
    told: dict[str, Any] = {"arguments": sent, "body": body, "cancel_inputs": filled}
    return follow_ups(catalog, tool, call_id="trip.1-x.2", at=AT, **told)


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
def test_an_answer_feeds_its_document(shipped: Catalog, name: str, body: Any, wanted: str) -> None:
    assert wanted in [one.tool for one in _after(shipped, name, body)]


@pytest.mark.parametrize("body", [None, [], "text", {}, {"status": "open"}, {"events": []}])
def test_an_answer_that_names_nothing_feeds_nothing(shipped: Catalog, body: Any) -> None:
    """A state or an amount that several things share connects no two tools."""
    assert _after(shipped, "calendar_list_events", body) == ()


TEXT = {"type": "string"}


def operation(
    name: str, *given: str, query: tuple[str, ...] = (), body: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    """An operation with inputs in its path, query and body, and keywords of ours."""
    places = [(n, "path") for n in given] + [(n, "query") for n in query]
    sent = {"type": "object", "properties": dict.fromkeys(body, TEXT)}
    taken = {"requestBody": {"content": {"application/json": {"schema": sent}}}} if body else {}
    return {
        "operationId": name,
        "summary": name,
        "x-orchet-tool": True,
        "parameters": [
            {"name": n, "in": place, "required": place == "path", "schema": TEXT}
            for n, place in places
        ],
        "responses": {"200": {"description": "", "content": {"application/json": {"schema": {}}}}},
        **taken,
        **{f"x-orchet-{keyword.replace('_', '-')}": value for keyword, value in more.items()},
    }


def catalog_of(**paths: dict[str, Any]) -> Catalog:
    document: Any = {"openapi": "3.1.0", "info": {"title": "CRM", "version": "1"}}
    document |= {"servers": [{"url": "http://127.0.0.1:8700"}], "paths": paths}
    return Catalog.from_documents({"crm": document})


@pytest.mark.parametrize(("one_path", "count"), [("customers", 1), ("invoices", 0)])
def test_a_bare_id_is_that_of_its_own_path(one_path: str, count: int) -> None:
    """An id of a customer is no id of an invoice, though both documents call it `id`."""
    paths = {
        "/customers": {"get": operation("list_customers")},
        f"/{one_path}/{{id}}": {"get": operation("get_one", "id")},
    }
    catalog = catalog_of(**paths)

    assert len(_after(catalog, "list_customers", [{"id": "c1"}])) == count


def _billing() -> Catalog:
    """Plans with charges, and coupons: `code` names all three, `coupon_code` only one."""
    drop_charge = operation("drop_charge", "code", "charge_code")
    paths = {
        "/plans": {"post": operation("make_plan", body=("code",))},
        "/plans/{code}": {"delete": operation("drop_plan", "code")},
        "/plans/{code}/charges": {"post": operation("make_charge", "code", body=("label",))},
        "/plans/{code}/charges/{charge_code}": {"delete": drop_charge},
        "/coupons": {"post": operation("make_coupon", body=("code",))},
        "/coupons/{code}": {"delete": operation("drop_coupon", "code")},
        "/coupons/{coupon_code}/uses": {"get": operation("list_uses", "coupon_code")},
    }
    return catalog_of(**paths)


X, CHARGE = {"code": "x"}, {"code": "p", "charge_code": "c"}


@pytest.mark.parametrize(
    ("name", "sent", "body", "wanted"),
    [
        ("make_coupon", X, {"coupon": X}, {"drop_coupon": X}),
        ("make_plan", X, X, {"drop_plan": X, "make_charge": X}),
        (
            "make_charge",
            {"code": "p", "label": "l"},
            {**CHARGE, "code": "c"},
            {"drop_charge": CHARGE},
        ),
        (
            "make_coupon",
            X,
            {**X, "coupon_code": "x"},
            {"drop_coupon": X, "list_uses": {"coupon_code": "x"}},
        ),
    ],
)
def test_a_name_that_kinds_share_is_an_id_of_the_same_kind_only(
    name: str, sent: dict[str, Any], body: Any, wanted: dict[str, Any]
) -> None:
    """The code of a coupon deletes no plan, though both paths call it `code`."""
    found = [(one.tool, one.inputs) for one in _after(_billing(), name, body, sent)]

    assert sorted(found) == sorted(wanted.items())


def _desk() -> Catalog:
    """Customers who are added, and their visits; each has its cancel."""

    def pair(thing: str) -> dict[str, Any]:
        given, free = f"{thing}_id", dict[str, Any](requires_confirmation=False)
        args = {given: f"$response.body#/{given}"}
        add: dict[str, Any] = {"cancels": f"drop_{thing}", "compensation_args": args}
        drop: dict[str, Any] = {"cancel_for": f"add_{thing}"}
        return {
            f"/{thing}s": {"post": operation(f"add_{thing}", body=("label",), **add, **free)},
            f"/{thing}s/{{{given}}}": {"delete": operation(f"drop_{thing}", given, **drop, **free)},
        }

    paths = pair("customer") | pair("visit")
    visit = {"type": "object", "properties": {"customer_id": TEXT}}
    schema = {"type": "object", "properties": {"visit": visit}}
    paths["/visits"]["post"]["requestBody"]["content"]["application/json"]["schema"] = schema
    return catalog_of(**paths)


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ({"visit": {"customer_id": "c1"}}, ["drop_visit"]),
        ({"visit": {}}, ["drop_visit", "drop_customer"]),
    ],
)
def test_what_was_there_before_is_not_cancelled(sent: dict[str, Any], wanted: list[str]) -> None:
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
