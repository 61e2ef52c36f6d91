"""What a contract leaves to cancel with when most of it is missing, or does not answer."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.rollback_activities import RollbackActivities
from orchestrator.adapters.storage.catalog_store import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.core.errors import TransportFailed
from orchestrator.messages import names
from orchestrator.messages.rollback import CompensateInput
from orchestrator.saga.ledger import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import MemoryGrants, fake_obligation

if TYPE_CHECKING:
    from tests.unit.activities.conftest import Compensate

Shop = Callable[..., Catalog]
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CALL_ID = "m.1-shop.2"
ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
CANCELLED = ToolOutcome(kind="succeeded", status=200, body={"status": "cancelled"})
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
GONE = ToolOutcome(kind="rejected", status=410, reason="HTTP 410", declared=True)
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")
LOST = TransportFailed("find_order", "timed out", may_have_arrived=True)


def eur(amount: str) -> Money:
    """An amount."""
    return Money(amount=Decimal(amount), currency="EUR")


def unclear(catalog: Catalog, **more: Any) -> Obligation:
    """An order whose outcome is unknown."""
    obligation = fake_obligation(
        CALL_ID,
        tool="order_book",
        cancel_tool="cancel_order",
        catalog_digest=catalog.digest,
        arguments={"book_id": "b7", "client_reference": CALL_ID},
    )
    return obligation.model_copy(update=more)


@pytest.mark.parametrize("answer", [BUSY, LOST], ids=["busy", "lost"])
async def test_a_probe_without_a_clear_answer_is_asked_again(
    compensate: Compensate, shop: Shop, scripted: Any, answer: ToolOutcome | Exception
) -> None:
    """Nothing is cancelled on a guess."""
    client = scripted({"find_order": [answer]})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, unclear(shop()))

    assert raised.value.type == names.PROVIDER_BUSY
    assert client.called == ["find_order"]


@pytest.mark.parametrize("status", [400, 401, 402, 409, 422])
async def test_a_repeated_call_that_is_refused_stays_unclear(
    compensate: Compensate, shop: Shop, scripted: Any, status: int
) -> None:
    """Whatever refuses it now, it says nothing of what the first one did."""
    refused = ToolOutcome(kind="rejected", status=status, reason="no", declared=True)
    client = scripted({"order_book": [refused]})

    outcome = await compensate(client, unclear(shop(probe=False, by_reference=False)))

    assert outcome.state == "parked"
    assert "unknown" in outcome.note
    assert client.called == ["order_book"]


async def test_a_repeated_call_without_a_clear_answer_is_made_again(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """It is safe to repeat for as long as the attempts last."""
    client = scripted({"order_book": [BUSY]})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, unclear(shop(probe=False, by_reference=False)))

    assert raised.value.type == "ProviderBusy"


async def test_a_cancel_that_does_not_find_what_the_probe_found_is_parked(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """Once it was seen, it counts as committed: a 404 after that is for an operator."""
    client = scripted({"find_order": [ORDERED], "cancel_order": [MISSING]})

    outcome = await compensate(client, unclear(shop()))

    assert outcome.state == "parked"


async def test_without_a_reference_in_the_request_the_key_tells(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """Neither probe nor cancel can be filled, so the same call is made again, and cancelled."""
    client = scripted({"order_book": [ORDERED], "cancel_order": [CANCELLED]})

    outcome = await compensate(client, unclear(shop(), arguments={"book_id": "b7"}))

    assert outcome.state == "cancelled"
    assert client.called == ["order_book", "cancel_order"]


async def test_a_call_that_no_tool_takes_back_is_parked(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The operator reads that nothing is declared; nothing is sent."""
    client = scripted({})

    # Any tool without a compensation will do: the lookup declares none.
    outcome = await compensate(client, unclear(shop(), tool="find_order", cancel_tool=None))

    assert outcome.state == "parked"
    assert outcome.note == "no tool is declared that undoes find_order"
    assert client.calls == []


async def test_a_cancel_is_filled_from_the_answer_before_it_was_cut(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The ledger keeps a short answer, and all that its cancel needs of the long one."""
    client = scripted({"cancel_order": [CANCELLED]})
    committed = unclear(
        shop(),
        state=ObligationState.COMMITTED,
        response={"order_id": "o1…"},
        undo_arguments={"order_id": "o123"},
    )

    await compensate(client, committed)

    assert client.calls[0][1]["order_id"] == "o123"


async def test_a_refund_and_a_fee_are_noted(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """What came back, and what did not, is kept for the person who reads the ledger."""
    refunded = CANCELLED.model_copy(update={"refund": eur("12.50"), "fee": eur("87.50")})
    client = scripted({"cancel_order": [refunded]})
    committed = unclear(shop(), state=ObligationState.COMMITTED, response={"order_id": "o1"})

    outcome = await compensate(client, committed)

    assert outcome.note == "refunded 12.50 EUR, fee 87.50 EUR"
    assert (outcome.refund, outcome.fee) == (eur("12.50"), eur("87.50"))


async def test_a_catalog_that_is_not_here_is_asked_for_again(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """Another worker may hold it: the attempt fails, nothing is given up."""
    client = scripted({})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, unclear(shop(), catalog_digest="0" * 64))

    assert raised.value.type == "CatalogNotFound"
    assert not raised.value.non_retryable


BY_THE_LEG = CancelCall(
    call_id="m.1-shop.3",
    tool="cancel_order",
    arguments={"order_id": "o1"},
    names={"order_id": "o1"},
    idempotency_key="m.1-shop.3",
    written_at=NOW,
)


@pytest.mark.parametrize("answer", [CANCELLED, GONE], ids=["done", "gone"])
async def test_a_legs_unclear_cancel_is_repeated_under_its_own_key(
    compensate: Compensate, shop: Shop, scripted: Any, answer: ToolOutcome
) -> None:
    """Then it is done, now or before; a cancel with another key would be a second one."""
    client = scripted({"cancel_order": [answer]})
    committed = unclear(shop(), state=ObligationState.COMMITTED, cancel_call=BY_THE_LEG)

    outcome = await compensate(client, committed)

    assert outcome.state == "cancelled"
    assert client.calls == [("cancel_order", {"order_id": "o1"}, "m.1-shop.3")]


async def test_a_legs_cancel_that_is_refused_in_the_end_leaves_the_contracts(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """What the planner asked for was wrong; what the contract says is tried all the same."""
    wrong = ToolOutcome(kind="rejected", status=400, reason="no such field")
    client = scripted({"cancel_order": [wrong, CANCELLED]})
    committed = unclear(
        shop(),
        state=ObligationState.COMMITTED,
        response={"order_id": "o1"},
        cancel_call=BY_THE_LEG,
    )

    outcome = await compensate(client, committed)

    assert outcome.state == "cancelled"
    assert [key for _, _, key in client.calls] == ["m.1-shop.3", f"{CALL_ID}.cancel"]


@pytest.mark.parametrize(
    ("sent", "answer", "probed", "state"),
    [
        (True, MISSING, MISSING, "cancelled"),
        (True, MISSING, ORDERED, "parked"),
        (True, GONE, ORDERED, "cancelled"),
        (False, MISSING, ORDERED, "parked"),
        (False, GONE, ORDERED, "parked"),
        (False, GONE, MISSING, "cancelled"),
    ],
    ids=["probe finds nothing", "probe finds it", "410", "no cancel", "410", "410 of what is gone"],
)
async def test_not_found_after_an_unanswered_cancel_is_looked_into(
    compensate: Compensate,
    shop: Shop,
    scripted: Any,
    sent: bool,
    answer: ToolOutcome,
    probed: ToolOutcome | None,
    state: str,
) -> None:
    """A gateway in trouble says 404 too: what stands must not be noted as cancelled."""
    client = scripted({"cancel_order": [answer], "find_order": [probed] if probed else []})
    committed = unclear(
        shop(tells_gone=True),
        state=ObligationState.COMMITTED,
        response={"order_id": "o1"},
        cancel_sent=sent,
    )

    assert (await compensate(client, committed)).state == state


@pytest.mark.parametrize(("method", "state"), [("delete", "cancelled"), ("post", "parked")])
async def test_without_a_probe_only_a_repeated_delete_may_find_nothing(
    compensate: Compensate, shop: Shop, scripted: Any, method: str, state: str
) -> None:
    """HTTP says of DELETE that the first one did it; of POST it says nothing."""
    client = scripted({"cancel_order": [MISSING]})
    committed = unclear(
        shop(probe=False, cancel_method=method),
        state=ObligationState.COMMITTED,
        response={"order_id": "o1"},
        cancel_sent=True,
    )

    assert (await compensate(client, committed)).state == state


async def test_what_others_may_share_finds_no_call_of_ours(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """A cancel by the book would find another's order, or none: the key tells which is ours."""
    client = scripted({"order_book": [ORDERED], "cancel_order": [CANCELLED]})
    shared = unclear(shop(probe=False, by_book=True))

    outcome = await compensate(client, shared)

    assert outcome.state == "cancelled"
    assert client.called == ["order_book", "cancel_order"]


@pytest.mark.parametrize(
    ("answer", "counts", "arrived"),
    [
        (ToolOutcome(kind="unknown", status=500), True, True),
        (ToolOutcome(kind="unknown", status=503, retry_after_s=9), False, True),
        (ToolOutcome(kind="unknown", status=429, retry_after_s=9), False, False),
        (LOST, True, True),
        (TransportFailed("cancel_order", "refused", may_have_arrived=False), False, False),
    ],
    ids=["error", "unavailable", "too many", "lost", "never left"],
)
async def test_an_unclear_cancel_says_what_is_known_of_it(
    compensate: Compensate,
    shop: Shop,
    scripted: Any,
    answer: ToolOutcome | Exception,
    counts: bool,
    arrived: bool,
) -> None:
    """Whether it is one of the contract's attempts, and whether it may have been carried out."""
    client = scripted({"cancel_order": [answer]})
    committed = unclear(shop(), state=ObligationState.COMMITTED, response={"order_id": "o1"})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, committed)
    (failure,) = raised.value.details

    assert (failure.counts, failure.arrived) == (counts, arrived)
    assert failure.retry_after_s == getattr(answer, "retry_after_s", None)


async def test_an_unanswered_question_is_no_cancel(
    compensate: Compensate, shop: Shop, scripted: Any
) -> None:
    """The probe was lost, so nothing was cancelled: gone would still mean that it never was."""
    client = scripted({"find_order": [LOST]})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, unclear(shop()))

    assert not raised.value.details[0].arrived


async def test_a_call_is_noted_as_taken_back_before_anything_is_asked(
    compensate: Compensate, shop: Shop, scripted: Any, grants: MemoryGrants
) -> None:
    """Though the provider does not answer: whoever sends the call now has forgotten its end."""
    obligation = unclear(shop())

    with pytest.raises(ApplicationError):
        await compensate(scripted({"find_order": [LOST]}), obligation)

    assert grants.is_taken_back(obligation.obligation_id)


async def test_a_full_disk_keeps_nothing_from_being_cancelled(
    compensate: Compensate,
    shop: Shop,
    scripted: Any,
    grants: MemoryGrants,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The note is for servers that forget; the cancel is for everybody."""

    def full(call_id: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", call_id)

    monkeypatch.setattr(grants, "take_back", full)
    client = scripted({"find_order": [LOST]})

    with pytest.raises(ApplicationError) as raised:
        await compensate(client, unclear(shop()))

    assert raised.value.type == names.PROVIDER_BUSY
    assert len(client.calls) == 1


async def test_what_no_rollback_of_its_mission_wants_back_is_not_taken_back(
    store: CatalogStore, shop: Shop, scripted: Any
) -> None:
    """Somebody made the obligation up, and schedules the activity himself: nothing is sent."""
    client = scripted({"cancel_order": [CANCELLED]})
    activities = RollbackActivities(store, client.as_client, cast(Client, None), MemoryGrants())
    wanted = CompensateInput(obligation=unclear(shop()))

    with pytest.raises(ApplicationError) as refused:
        await ActivityEnvironment().run(activities.compensate, wanted)

    assert (refused.value.type, refused.value.non_retryable) == ("CallUnowned", True)
    assert client.calls == []
