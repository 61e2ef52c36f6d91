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
