"""Compensating one obligation: every way its contract leaves, in the order of decision 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.compensation_limits import SETTLES_AFTER
from orchestrator.core.errors import SecretMissing, TransportFailed
from orchestrator.messages import names
from orchestrator.saga.ledger import Obligation, ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import fake_obligation

if TYPE_CHECKING:
    from tests.unit.activities.conftest import Compensate

Shop = Callable[..., Catalog]
ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
CANCELLED = ToolOutcome(kind="succeeded", status=200, body={"status": "cancelled"})
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
REFUSED = ToolOutcome(kind="rejected", status=409, reason="too late to cancel")
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")
REFERENCE = "m.1-shop.2"
LONG_MISSING = {"missing_for": SETTLES_AFTER}


def ordered(catalog: Catalog, state: ObligationState) -> Obligation:
    """An order of a book, known to be committed or with its outcome unknown."""
    keyed = catalog.tool("order_book").idempotency_key is not None
    return fake_obligation(
        REFERENCE,
        tool="order_book",
        cancel_tool="cancel_order",
        catalog_digest=catalog.digest,
        arguments={"book_id": "b7", "client_reference": REFERENCE},
        idempotency_key=REFERENCE if keyed else None,
        state=state,
        response={"order_id": "o1"} if state is ObligationState.COMMITTED else None,
    )


async def test_a_committed_order_is_cancelled_by_its_id(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The cancel gets the id from the answer, and a key of its own."""
    client = scripted({"cancel_order": [CANCELLED]})

    outcome = await compensate(client, ordered(shop(), ObligationState.COMMITTED))

    assert outcome.state == "cancelled"
    arguments = {"order_id": "o1", "client_reference": REFERENCE}
    assert client.calls == [("cancel_order", arguments, f"{REFERENCE}.cancel")]


async def test_a_committed_order_that_is_not_found_is_parked(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """It was known to be there: a 404 is no proof that it is gone."""
    client = scripted({"cancel_order": [MISSING]})

    outcome = await compensate(client, ordered(shop(), ObligationState.COMMITTED))

    assert outcome.state == "parked"


async def test_a_refused_cancel_is_parked_with_the_reason(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The operator reads why the provider refused what its probe still shows."""
    client = scripted({"cancel_order": [REFUSED], "find_order": [ORDERED]})

    outcome = await compensate(client, ordered(shop(), ObligationState.COMMITTED))

    assert outcome.state == "parked"
    assert "too late to cancel" in outcome.note


@pytest.mark.parametrize(
    "answer", [BUSY, TransportFailed("cancel_order", "timed out", may_have_arrived=True)]
)
async def test_an_unclear_cancel_is_tried_again(
    compensate: Compensate, shop: Shop, scripted: Any, answer: ToolOutcome | Exception
) -> None:
    """A cancel without a clear answer raises, so that it is repeated under its key."""
    client = scripted({"cancel_order": [answer]})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, ordered(shop(), ObligationState.COMMITTED))

    assert raised.value.type == names.PROVIDER_BUSY


async def test_a_missing_credential_parks(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """Trying again in a second mends no configuration: an operator has to look."""
    client = scripted({"cancel_order": [SecretMissing("shop_key", "ORCHESTRATOR_SECRET_X")]})

    outcome = await compensate(client, ordered(shop(), ObligationState.COMMITTED))

    assert outcome.state == "parked"
    assert "shop_key" in outcome.note


async def test_an_unknown_order_that_the_probe_finds_is_cancelled_by_its_id(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The probe's answer stands in for the one that was lost."""
    client = scripted({"find_order": [ORDERED], "cancel_order": [CANCELLED]})

    outcome = await compensate(client, ordered(shop(), ObligationState.INTENDED))

    assert outcome.state == "cancelled"
    assert client.called == ["find_order", "cancel_order"]
    assert client.calls[1][1]["order_id"] == "o1"


async def test_an_unknown_order_that_the_probe_does_not_find_is_void(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """Nothing is cancelled that was never there, once it had time to come to light."""
    client = scripted({"find_order": [MISSING]})
    sought = ordered(shop(), ObligationState.INTENDED)

    outcome = await compensate(client, sought.model_copy(update=LONG_MISSING))

    assert outcome.state == "void"
    assert client.called == ["find_order"]


async def test_without_a_probe_it_is_cancelled_by_reference(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The cancel gets the reference that the order was sent with, and no id."""
    client = scripted({"cancel_order": [CANCELLED]})

    outcome = await compensate(client, ordered(shop(probe=False), ObligationState.INTENDED))

    assert outcome.state == "cancelled"
    assert client.calls[0][1] == {"client_reference": REFERENCE}


async def test_a_cancel_by_reference_that_finds_nothing_is_void(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The order never came to be, once it had time to come to light."""
    client = scripted({"cancel_order": [MISSING]})
    sought = ordered(shop(probe=False), ObligationState.INTENDED)

    outcome = await compensate(client, sought.model_copy(update=LONG_MISSING))

    assert outcome.state == "void"


async def test_a_probe_that_refuses_leads_to_the_next_way(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """A probe that is forbidden says nothing about the order: the cancel by reference does."""
    client = scripted({"find_order": [REFUSED], "cancel_order": [CANCELLED]})

    outcome = await compensate(client, ordered(shop(), ObligationState.INTENDED))

    assert outcome.state == "cancelled"
    assert client.called == ["find_order", "cancel_order"]


async def test_with_nothing_but_a_key_the_same_call_tells(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The order is sent again under its own key, and what it answers is cancelled."""
    catalog = shop(probe=False, by_reference=False)
    client = scripted({"order_book": [ORDERED], "cancel_order": [CANCELLED]})

    outcome = await compensate(client, ordered(catalog, ObligationState.INTENDED))

    assert outcome.state == "cancelled"
    assert client.calls[0] == (
        "order_book",
        {"book_id": "b7", "client_reference": REFERENCE},
        REFERENCE,
    )


async def test_with_nothing_to_go_by_it_is_parked(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """No probe, no reference, no key: nothing is sent, an operator finds out."""
    catalog = shop(probe=False, by_reference=False, key=False)
    client = scripted({})

    outcome = await compensate(client, ordered(catalog, ObligationState.INTENDED))

    assert outcome.state == "parked"
    assert client.calls == []
