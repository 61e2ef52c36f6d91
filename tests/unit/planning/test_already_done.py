"""A thing that says it is as an order would make it is not made so again."""

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.already_done import state_reached


@pytest.mark.parametrize(
    ("finder", "tool", "item", "state"),
    [
        ("payment_list_invoices", "payment_pay_invoice", {"invoice_status": "paid"}, "paid"),
        ("payment_list_invoices", "payment_pay_invoice", {"invoice_status": "open"}, ""),
        ("payment_list_invoices", "payment_pay_invoice", {"vendor_name": "paid"}, ""),
        ("flight_list_bookings", "flight_cancel_booking", {"status": "cancelled"}, "cancelled"),
        ("payment_list_invoices", "message_send", {"invoice_status": "paid"}, ""),
    ],
)
def test_a_state_that_the_document_lists_tells(
    shipped: Catalog, finder: str, tool: str, item: dict[str, str], state: str
) -> None:
    """In the words of the tool's own verb; a free text says nothing of it."""
    assert state_reached({**item}, shipped.tool(tool), shipped.tool(finder)) == state
