"""A planner's cancel: free for what its mission made, asked about and granted for anything else."""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from orchestrator.activities import cancel_review
from orchestrator.activities.authority import Authority
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.catalog.card_types import CANCELLATION
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, ToolCall
from orchestrator.planning.models import Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.own_cancels import cancellable, obligations_named
from tests.fakes import MemoryGrants, fake_obligation
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import NOW, approved, call_of, card_of, left_by, wanted_call

Shop = Callable[..., Catalog]
S = ObligationState

CALL = "m.2-regret.1"
CANCELLED = ToolOutcome(kind="succeeded", status=200, body={"status": "cancelled"})
O1: JsonObject = {"order_id": "o1"}
EMMA: JsonObject = {
    **O1,
    "title": "Emma",
    "city": "Oslo",
    "price": {"amount": 12.5, "currency": "EUR"},
}


def order(number: int = 1, state: ObligationState = S.COMMITTED, **names: Any) -> Obligation:
    """An order of this mission, known by these names."""
    made = fake_obligation(
        f"m.1-shop.{number}",
        tool="order_book",
        title="Order book",
        cancel_tool="cancel_order",
        state=state,
        cancel_inputs=names or {"order_id": "o1", "client_reference": "m.1-shop.1"},
    )
    return made.model_copy(update={"settled_at": made.written_at})


def noted(arguments: JsonObject, **changed: Any) -> CancelCall:
    """The cancel as its leg writes it down before it is sent."""
    made = CancelCall(
        call_id=CALL, tool="cancel_order", arguments=arguments, names=arguments, written_at=NOW
    )
    return made.model_copy(update=changed)


@dataclasses.dataclass
class Desk:
    """Prepares and sends cancels of orders."""

    store: CatalogStore
    catalog: Catalog
    client: Any
    grants: MemoryGrants = dataclasses.field(default_factory=MemoryGrants)
    policy: MissionPolicy = dataclasses.field(default_factory=MissionPolicy)
    """The operator's, and that of missions."""
    ledger: Ledger = dataclasses.field(default_factory=Ledger)

    def hold(self, *obligations: Obligation, cancel: CancelCall | None = None) -> None:
        """Let the mission's workflow hold these, and have written this cancel down."""
        held = Ledger(obligations=obligations)
        self.ledger = held if cancel is None else held.cancelling(cancel)

    async def prepare(self, arguments: JsonObject | None = None, **more: Any) -> PreparedCall:
        """Prepare the cancel of order o1, or another."""
        wanted = wanted_call(
            CALL,
            tool="cancel_order",
            arguments=arguments or O1,
            catalog_digest=self.catalog.digest,
            policy=self.policy,
            ledger=cancellable(self.ledger),
            **more,
        )
        activities = PrepareActivities(
            self.store, self.client.as_client, authority=Authority(self.policy)
        )
        prepared = await of_mission().run(activities.prepare_call, wanted)
        assert isinstance(prepared, PreparedCall)
        return prepared

    async def send(
        self, call: ToolCall, *, attempt: int = 1, activity_id: str = "1", run_id: str = "run"
    ) -> str:
        """Send it as its mission does; return the kind of its outcome, or of the error."""
        noted = next((c for c in self.ledger.cancels if c.call_id == call.call_id), None)
        named = obligations_named(cancellable(self.ledger), noted) if noted is not None else ()
        call = call.model_copy(update={"cancels": noted, "named": named})
        environment = of_mission(attempt=attempt, activity_id=activity_id, workflow_run_id=run_id)
        activities = ToolActivities(self.store, self.client.as_client, self.grants)
        try:
            outcome = await environment.run(activities.invoke_tool, call)
        except ApplicationError as error:
            return str(error.type)
        return str(outcome.kind)


@pytest.fixture
def desk(store: CatalogStore, shop: Shop, scripted: Any) -> Desk:
    """A shop whose provider cancels whatever it is asked to, and finds the order of Emma."""
    found = ToolOutcome(kind="succeeded", status=200, body=EMMA)
    return Desk(store, shop(), scripted({"cancel_order": [CANCELLED], "find_order": [found]}))


def warnings(prepared: PreparedCall) -> dict[str, str]:
    first = next(iter(card_of(prepared).sections()))
    assert first.title == "Mind"
    return {line.label: line.value for line in first.lines}


def shown(prepared: PreparedCall) -> dict[str, str]:
    """All lines of the card."""
    sections = card_of(prepared).sections()
    return {line.label: line.value for section in sections for line in section.lines}


async def test_a_cancel_of_ones_own_asks_nobody(desk: Desk) -> None:
    """It leaves nothing, says what it means, and goes out as noted, at a later attempt too."""
    desk.hold(order())
    prepared = await desk.prepare()
    desk.hold(order(), cancel=noted(O1))

    assert (prepared.card, prepared.obligation) == (None, None)
    assert prepared.cancel is not None
    assert (prepared.cancel.names, prepared.cancel.idempotency_key) == (O1, CALL)
    assert await desk.send(call_of(prepared)) == "succeeded"
    assert await desk.send(call_of(prepared), attempt=2) == "succeeded"
    assert desk.client.called == ["cancel_order"] * 2


STANDING = ToolOutcome(
    kind="succeeded", status=200, body={**O1, "client_reference": "m.1-shop.1", "status": "placed"}
)
GONE = ToolOutcome(kind="rejected", status=404, reason="HTTP 404", declared=True)
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")


@pytest.mark.parametrize(
    ("found", "verifies", "answer", "kind"),
    [
        ([STANDING, GONE], True, CANCELLED, "succeeded"),
        ([STANDING], True, CANCELLED, "unknown"),
        ([BUSY], True, CANCELLED, "succeeded"),
        ([BUSY], True, ToolOutcome(kind="succeeded", body={"status": "pending"}), "unknown"),
        ([STANDING], False, CANCELLED, "succeeded"),
        ([STANDING], False, ToolOutcome(kind="succeeded", body={"status": "pending"}), "unknown"),
    ],
    ids=[
        "shows late",
        "stands",
        "unasked",
        "unasked and pending",
        "trusted",
        "trusted and pending",
    ],
)
async def test_a_cancel_of_ones_own_is_verified_as_a_rollbacks_is(
    desk: Desk,
    shop: Shop,
    scripted: Any,
    found: list[ToolOutcome],
    verifies: bool,
    answer: ToolOutcome,
    kind: str,
) -> None:
    """A provider that answers 200 may have done nothing: its probe decides, if it can tell."""
    desk.catalog = shop(can_verify_gone=True)
    desk.client = scripted({"cancel_order": [answer], "find_order": found})
    made = order().model_copy(update={"verify_cancel": verifies})
    desk.hold(made)
    prepared = await desk.prepare()
    desk.hold(made, cancel=noted(O1))

    sent = call_of(prepared).model_copy(update={"timeout_s": 1.5})

    assert await desk.send(sent) == kind
    assert ("find_order" in desk.client.called) is verifies


@pytest.mark.parametrize(
    ("held", "arguments", "whose"),
    [
        ((), O1, "This mission did not make it"),
        (
            (order(order_id="o2", client_reference="m.1-shop.1"),),
            O1,
            "This mission did not make it",
        ),
        ((order(state=S.CANCELLED),), O1, "Order book (m.1-shop.1) is cancelled"),
        (
            (order(state=S.VOID),),
            {"client_reference": "m.1-shop.1"},
            "Order book (m.1-shop.1) is void",
        ),
        (
            (order(1, order_id="o1"), order(2, order_id="o1")),
            O1,
            "several things that this mission made: "
            "Order book (m.1-shop.1), Order book (m.1-shop.2)",
        ),
        (
            (order(state=S.INTENDED, client_reference="m.1-shop.1"),),
            O1,
            "Whether it is Order book (m.1-shop.1) is not known yet",
        ),
        (
            (order(client_reference="theirs"),),
            {"client_reference": "theirs"},
            "only by what others may share: client_reference",
        ),
        (
            (order(),),
            {**O1, "book_id": "b1"},
            "more than the cancel of Order book (m.1-shop.1) needs: book_id",
        ),
    ],
    ids=["nothing", "another", "cancelled", "void", "two", "unanswered", "shared", "more"],
)
async def test_anything_else_is_asked_about(
    desk: Desk, held: tuple[Obligation, ...], arguments: JsonObject, whose: str
) -> None:
    """The card says whose it is; nothing of it leaves without the grant, and that is used once."""
    desk.hold(*held)
    prepared = await desk.prepare(arguments)
    card, call = card_of(prepared), call_of(prepared)
    desk.hold(*held, cancel=prepared.cancel)

    assert (card.card_type, call.card_type) == (CANCELLATION,) * 2
    assert warnings(prepared)["Whose"].endswith(whose)
    assert warnings(prepared)["After that"] == card.cancellation == "nothing reverses a cancel"
    assert await desk.send(call) == "GrantMissing"
    assert await desk.send(call.model_copy(update={"card_type": None})) == "rejected"
    assert desk.client.called.count("cancel_order") == 0
    assert await desk.send(approved(prepared)) == "succeeded"
    assert await desk.send(approved(prepared), attempt=2) == "succeeded"
    assert await desk.send(approved(prepared), activity_id="2") == "GrantUsed"
    assert desk.client.called.count("cancel_order") == 2

    # What its run knows was not sent may be sent by that run, each time once.
    again = approved(prepared).model_copy(update={"postponed": 1})
    assert await desk.send(again, activity_id="3", run_id="another") == "GrantUsed"
    assert await desk.send(again, activity_id="3") == "succeeded"
    assert await desk.send(again, activity_id="3", attempt=2) == "succeeded"
    assert await desk.send(again, activity_id="3") == "GrantUsed"
    assert await desk.send(again, activity_id="4") == "GrantUsed"
    assert desk.client.called.count("cancel_order") == 4


@pytest.mark.parametrize(
    ("held", "cancel"),
    [
        ((order(),), None),
        ((order(), order(2, order_id="o2")), noted({"order_id": "o2"})),
        ((order(),), noted(O1, tool="other")),
        ((order(state=S.CANCELLED),), noted(O1)),
    ],
    ids=["never noted", "other arguments", "another tool", "settled meanwhile"],
)
async def test_what_was_free_is_looked_at_again_before_it_is_sent(
    desk: Desk, held: tuple[Obligation, ...], cancel: CancelCall | None
) -> None:
    """A call that its mission has not written down, or that means nothing now, never leaves.

    Nothing about it is in doubt then, unless an earlier attempt may have left.
    """
    desk.hold(order())
    call = call_of(await desk.prepare())
    desk.hold(*held, cancel=cancel)

    assert await desk.send(call) == "rejected"
    assert await desk.send(call, attempt=2) == "unknown"
    assert desk.client.called == []


async def test_an_id_that_another_mission_was_answered_with_cancels_nothing(desk: Desk) -> None:
    """Although the own mission was answered with it too: the other's booking stands."""
    own = order().model_copy(update={"answered_ids": O1})
    theirs = own.model_copy(update={"mission_id": "n", "obligation_id": "n.1-shop.1"})
    desk.grants.settle(theirs.key, Ledger(obligations=(theirs,)))
    desk.hold(own)
    call = call_of(await desk.prepare())
    desk.hold(own, cancel=noted(O1))

    assert await desk.send(call) == "rejected"
    assert desk.client.called == []


async def test_an_approved_cancel_of_anothers_is_in_the_ledger_as_what_nothing_cancels(
    desk: Desk,
) -> None:
    """It is kept like any consequence; a cancel of one's own, asked about or not, is none."""
    foreign = left_by(await desk.prepare())
    desk.hold(order())
    own = await desk.prepare({**O1, "book_id": "b1"})

    assert (foreign.obligation_id, foreign.cancel_tool) == (CALL, None)
    assert (foreign.arguments, foreign.spends) == (O1, False)
    assert own.card is not None
    assert own.obligation is None


async def test_the_card_shows_what_the_probe_finds(desk: Desk) -> None:
    """It is asked where cancel and probe take the same thing; the price is the thing's own.

    The id alone cannot be asked about: what an earlier answer had of it is shown.
    """
    probed = await desk.prepare({"client_reference": "theirs"})
    lines = shown(probed)
    asked = [*desk.client.calls]
    listed = Observation(step=1, tool="list", outcome="succeeded", body={"orders": [EMMA]})
    read = await desk.prepare(observations=(listed,))

    assert asked == desk.client.calls == [("find_order", {"client_reference": "theirs"}, None)]
    assert (lines["Title"], lines["City"], lines["Its price"]) == ("Emma", "Oslo", "12.50 EUR")
    assert card_of(probed).price is None
    assert "What it is" not in lines
    assert shown(read)["City"] == "Oslo"


@pytest.mark.parametrize(
    "answer",
    [
        TransportFailed("find_order", "no answer", may_have_arrived=True),
        RuntimeError("a defect"),
        ToolOutcome(kind="rejected", status=404),
        ToolOutcome(kind="succeeded", status=200, body=["what"]),
        ToolOutcome(kind="succeeded", status=200, body={"client_reference": "x", "title": "No"}),
        None,
    ],
    ids=["no answer", "defect", "not found", "no object", "about another", "slow"],
)
async def test_a_card_is_drawn_whatever_the_probe_does(
    desk: Desk, scripted: Any, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    """It says that what is cancelled could not be read; a slow probe is not waited for."""
    desk.client = scripted({"find_order": [answer]})
    if answer is None:
        monkeypatch.setattr(cancel_review, "_PROBE_S", 0.05)
        monkeypatch.setattr(desk.client, "call", lambda *_, **__: asyncio.sleep(60))

    prepared = await desk.prepare({"client_reference": "theirs"})

    assert warnings(prepared)["What it is"] == "could not be read"


async def test_what_a_person_changed_into_ones_own_stays_with_the_person(desk: Desk) -> None:
    """The amended call has a card too, and says that it is the mission's own."""
    desk.hold(order())
    prepared = await desk.prepare(decided_by_people=True)

    assert warnings(prepared)["Whose"].startswith("This mission made it")
    assert prepared.obligation is None


async def test_a_standing_approval_may_cover_cancels(desk: Desk) -> None:
    """By their card type, like any call, and only where the plan orders it."""
    planned = (Order(tools=("cancel_order",)),)
    orders: dict[str, Any] = {"goal": "cancel o1", "orders": planned, "covered": planned}

    def policy(card_type: str) -> MissionPolicy:
        rule = StandingApproval(name="standing", card_types=(card_type,))
        return MissionPolicy(confirmation=ConfirmationPolicy(standing=(rule,)))

    desk.policy = policy(CANCELLATION)
    covered = await desk.prepare(**orders)
    unordered = await desk.prepare(goal="cancel o1")
    desk.policy = policy("structured-order")
    other = await desk.prepare(**orders)

    assert covered.standing_approver == "policy:standing"
    assert (other.standing_approver, unordered.standing_approver) == (None, None)
    assert unordered.unordered
