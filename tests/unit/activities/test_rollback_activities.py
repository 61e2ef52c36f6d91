"""What a contract leaves to cancel with when most of it is missing, or does not answer."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from orchestrator.activities.rollback_activities import RollbackActivities
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Money
from orchestrator.core.compensation_limits import SETTLES_AFTER
from orchestrator.core.errors import SecretMissing, TransportFailed
from orchestrator.messages import names
from orchestrator.messages.rollback import CompensateInput
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from tests.fakes import MemoryGrants, fake_obligation
from tests.unit.activities.made_calls import failure_of

if TYPE_CHECKING:
    from tests.unit.activities.conftest import Compensate

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CALL_ID = "m.1-shop.2"
REFERENCE = {"client_reference": CALL_ID}
ORDERED = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
CANCELLED = ToolOutcome(kind="succeeded", status=200, body={"status": "cancelled"})
MISSING = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
GONE = ToolOutcome(kind="rejected", status=410, reason="HTTP 410", declared=True)
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")
LOST = TransportFailed("find_order", "timed out", may_have_arrived=True)
REFUSED = ToolOutcome(kind="rejected", status=409, reason="too late to cancel")
KEY_ALONE: dict[str, Any] = {"probe": False, "by_reference": False}
SHARED: dict[str, Any] = {"probe": False, "by_book": True}
NO_REFERENCE: dict[str, Any] = {"arguments": {"book_id": "b7"}}
COMMITTED: dict[str, Any] = {"state": ObligationState.COMMITTED, "response": {"order_id": "o1"}}
LONG_MISSING: dict[str, Any] = {"missing_for": SETTLES_AFTER}
PROBE, CANCEL, AGAIN = "find_order", "cancel_order", "order_book"


def eur(amount: str) -> Money:
    """An amount."""
    return Money(amount=Decimal(amount), currency="EUR")


class Shop:
    """An order whose outcome is unknown, at a shop that answers from a script."""

    def __init__(self, compensate: Compensate, make: Callable[..., Catalog], scripted: Any) -> None:
        self._compensate, self._make, self._scripted = compensate, make, scripted
        self.client = scripted({})
        self.offers()

    def offers(self, **contract: Any) -> None:
        """Offer the ways to cancel that this contract has."""
        self.catalog = self._make(**contract)

    def answers(self, **script: Any) -> None:
        """Answer each tool so, the last of several answers for ever."""
        self.client = self._scripted(
            {tool: [*one] if isinstance(one, list) else [one] for tool, one in script.items()}
        )

    def order(self, **more: Any) -> Obligation:
        """The obligation of the order."""
        obligation = fake_obligation(
            CALL_ID,
            tool="order_book",
            cancel_tool="cancel_order",
            catalog_digest=self.catalog.digest,
            arguments={"book_id": "b7", **REFERENCE},
        )
        return obligation.model_copy(update=more)

    async def compensate(self, **order: Any) -> CompensationOutcome:
        return await self._compensate(self.client, self.order(**order))


@pytest.fixture
def shop(compensate: Compensate, shop: Callable[..., Catalog], scripted: Any) -> Shop:
    """A shop that has every way to cancel, and answers nothing yet."""
    return Shop(compensate, shop, scripted)


async def test_what_a_provider_calls_another_missions_is_not_cancelled(
    shop: Shop, grants: MemoryGrants
) -> None:
    """That mission is over and its booking stands: an answer was replayed."""
    answered = {"answered_ids": {"order_id": "o1"}, "cancel_tool": "cancel_order"}
    theirs = fake_obligation("n.1-shop.2", mission_id="n", **answered)
    grants.settle(theirs.key, Ledger(obligations=(theirs,)))
    shop.offers(probe=False)
    shop.answers(cancel_order=CANCELLED)
    outcome = await shop.compensate(**COMMITTED, **answered)

    assert (outcome.state, shop.client.calls) == ("parked", [])
    assert "mission n" in outcome.note


async def test_a_refund_and_a_fee_are_noted(shop: Shop) -> None:
    """What came back, and what did not, is kept for the person who reads the ledger.

    The ledger keeps a short answer, and all that its cancel needs of the long one.
    """
    amounts = {"refund": eur("12.50"), "fee": eur("87.50")}
    shop.answers(cancel_order=CANCELLED.model_copy(update=amounts))
    cut = {"response": {"order_id": "o1…"}, "cancel_inputs": {"order_id": "o123"}}

    outcome = await shop.compensate(**{**COMMITTED, **cut})

    assert shop.client.calls[0][1]["order_id"] == "o123"
    assert outcome.note == "refunded 12.50 EUR, fee 87.50 EUR"
    assert (outcome.refund, outcome.fee) == (eur("12.50"), eur("87.50"))


async def test_a_catalog_that_is_not_here_is_asked_for_again(shop: Shop) -> None:
    """Another worker may hold it: the attempt fails, nothing is given up."""
    raised = await failure_of(shop.compensate(catalog_digest="0" * 64))

    assert (raised.type, raised.non_retryable) == ("CatalogNotFound", False)


@pytest.mark.parametrize(
    ("contract", "order", "script", "state", "called"),
    [
        ({}, COMMITTED, {CANCEL: CANCELLED}, "cancelled", [CANCEL]),
        ({}, COMMITTED, {CANCEL: MISSING}, "parked", [CANCEL]),
        ({}, COMMITTED, {CANCEL: REFUSED, PROBE: ORDERED}, "parked", [CANCEL, PROBE]),
        ({}, {}, {PROBE: ORDERED, CANCEL: CANCELLED}, "cancelled", [PROBE, CANCEL]),
        ({}, {}, {PROBE: ORDERED, CANCEL: MISSING}, "parked", [PROBE, CANCEL]),
        ({}, LONG_MISSING, {PROBE: MISSING}, "void", [PROBE]),
        ({}, {}, {PROBE: REFUSED, CANCEL: CANCELLED}, "cancelled", [PROBE, CANCEL]),
        ({"probe": False}, {}, {CANCEL: CANCELLED}, "cancelled", [CANCEL]),
        ({"probe": False}, LONG_MISSING, {CANCEL: MISSING}, "void", [CANCEL]),
        (KEY_ALONE, {}, {AGAIN: ORDERED, CANCEL: CANCELLED}, "cancelled", [AGAIN, CANCEL]),
        (SHARED, {}, {AGAIN: ORDERED, CANCEL: CANCELLED}, "cancelled", [AGAIN, CANCEL]),
        ({}, NO_REFERENCE, {AGAIN: ORDERED, CANCEL: CANCELLED}, "cancelled", [AGAIN, CANCEL]),
        ({**KEY_ALONE, "key": False}, {"idempotency_key": None}, {}, "parked", []),
        ({}, {"tool": "find_order", "cancel_tool": None}, {}, "parked", []),
    ],
    ids=[
        "committed: by its id",
        "committed and not found",
        "a refused cancel, and the probe still shows it",
        "unknown, and the probe finds it",
        "found by the probe, then not by the cancel",
        "unknown, and the probe finds nothing for long",
        "a probe that refuses says nothing",
        "by reference without a probe",
        "by reference, and nothing is there for long",
        "by nothing but the key: the same call again",
        "by what others share: the same call again",
        "without a reference in the request",
        "without probe, reference and key",
        "no tool cancels it",
    ],
)
async def test_each_way_of_a_contract_leads_to_its_end(
    shop: Shop, contract: Any, order: Any, script: Any, state: str, called: list[str]
) -> None:
    """Probe, cancel, and the same call under its own key, in the order of decision 1."""
    shop.offers(**contract)
    shop.answers(**script)

    assert (await shop.compensate(**order)).state == state
    assert shop.client.called == called


@pytest.mark.parametrize("answer", [BUSY, LOST], ids=["busy", "lost"])
@pytest.mark.parametrize(
    ("contract", "tool"), [({}, PROBE), (KEY_ALONE, AGAIN)], ids=["probe", "same call"]
)
async def test_a_question_without_a_clear_answer_is_asked_again(
    shop: Shop, contract: dict[str, Any], tool: str, answer: ToolOutcome | Exception
) -> None:
    """Nothing is cancelled on a guess."""
    shop.offers(**contract)
    shop.answers(**{tool: answer})

    assert (await failure_of(shop.compensate())).type == names.PROVIDER_BUSY
    assert shop.client.called == [tool]


async def test_a_missing_credential_parks(shop: Shop) -> None:
    """Trying again fixes no configuration: an operator has to look."""
    shop.answers(cancel_order=SecretMissing("shop_key", "ORCHESTRATOR_SECRET_X"))
    outcome = await shop.compensate(**COMMITTED)

    assert outcome.state == "parked"
    assert "shop_key" in outcome.note


@pytest.mark.parametrize(
    ("contract", "order", "first"),
    [
        ({}, COMMITTED, (CANCEL, {"order_id": "o1", **REFERENCE}, f"{CALL_ID}.cancel")),
        ({"probe": False}, {}, (CANCEL, REFERENCE, f"{CALL_ID}.cancel")),
        (KEY_ALONE, {}, (AGAIN, {"book_id": "b7", **REFERENCE}, CALL_ID)),
    ],
    ids=["by its id", "by reference", "same call"],
)
async def test_a_cancel_and_a_repeated_call_have_keys_of_their_own(
    shop: Shop, contract: dict[str, Any], order: dict[str, Any], first: Any
) -> None:
    """The cancel gets the id from the answer; without an id, only the reference."""
    shop.offers(**contract)
    shop.answers(cancel_order=CANCELLED, order_book=ORDERED)
    await shop.compensate(**order)

    assert shop.client.calls[0] == first


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
    shop: Shop, answer: ToolOutcome
) -> None:
    """Then it is done, now or before; a cancel with another key would be a second one."""
    shop.answers(cancel_order=answer)
    outcome = await shop.compensate(state=ObligationState.COMMITTED, cancel_call=BY_THE_LEG)

    assert outcome.state == "cancelled"
    assert shop.client.calls == [("cancel_order", {"order_id": "o1"}, "m.1-shop.3")]


async def test_a_legs_cancel_that_is_refused_in_the_end_leaves_the_contracts(shop: Shop) -> None:
    """What the planner asked for was wrong; what the contract says is tried all the same."""
    wrong = ToolOutcome(kind="rejected", status=400, reason="no such field")
    shop.answers(cancel_order=[wrong, CANCELLED])
    outcome = await shop.compensate(**COMMITTED, cancel_call=BY_THE_LEG)

    assert outcome.state == "cancelled"
    assert [key for _, _, key in shop.client.calls] == ["m.1-shop.3", f"{CALL_ID}.cancel"]


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
    shop: Shop, sent: bool, answer: ToolOutcome, probed: ToolOutcome, state: str
) -> None:
    """A gateway in trouble says 404 too: what stands must not be noted as cancelled."""
    shop.offers(can_verify_gone=True)
    shop.answers(cancel_order=answer, find_order=probed)

    assert (await shop.compensate(**COMMITTED, cancel_sent=sent)).state == state


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
    shop: Shop, answer: ToolOutcome | Exception, counts: bool, arrived: bool
) -> None:
    """Whether it is one of the contract's attempts, and whether it may have been carried out."""
    shop.answers(cancel_order=answer)
    (failure,) = (await failure_of(shop.compensate(**COMMITTED))).details

    assert (failure.counts, failure.arrived) == (counts, arrived)
    asked = getattr(answer, "retry_after_s", None) or 0.0
    assert asked <= (failure.retry_after_s or 0.0) <= 1.2 * asked


async def test_a_call_is_noted_as_taken_back_before_anything_is_asked(
    shop: Shop, grants: MemoryGrants
) -> None:
    """Though the provider does not answer: whoever sends the call now has forgotten its end.

    The probe was lost, so nothing was cancelled: gone would still mean that it never was.
    """
    shop.answers(find_order=LOST)
    unanswered = await failure_of(shop.compensate())

    assert not unanswered.details[0].arrived
    assert grants.is_cancelled(CALL_ID)


async def test_a_full_disk_keeps_nothing_from_being_cancelled(
    shop: Shop, grants: MemoryGrants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note is for servers that forget; the cancel is for everybody."""

    def full(call_id: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", call_id)

    monkeypatch.setattr(grants, "note_cancel", full)
    shop.answers(find_order=LOST)

    assert (await failure_of(shop.compensate())).type == names.PROVIDER_BUSY
    assert len(shop.client.calls) == 1


async def test_what_no_rollback_of_its_mission_wants_back_is_not_taken_back(
    store: CatalogStore, shop: Shop
) -> None:
    """Somebody made the obligation up, and schedules the activity himself: nothing is sent."""
    shop.answers(cancel_order=CANCELLED)
    activities = RollbackActivities(
        store, shop.client.as_client, cast(Client, None), MemoryGrants()
    )
    wanted = CompensateInput(obligation=shop.order())
    refused = await failure_of(ActivityEnvironment().run(activities.compensate, wanted))

    assert (refused.type, refused.non_retryable) == ("CallUnowned", True)
    assert shop.client.calls == []
