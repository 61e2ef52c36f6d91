"""A planner's cancel: free for what its mission made, asked about and granted for anything else."""

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
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
from orchestrator.confirmation.models import Grant
from orchestrator.confirmation.policy import ConfirmationPolicy, StandingApproval
from orchestrator.core.errors import TransportFailed
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, Obligation, ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.saga.own_cancels import cancellable, obligations_named
from tests.fakes import MemoryGrants, fake_obligation
from tests.unit.activities.environments import of_mission

Shop = Callable[..., Catalog]
S = ObligationState
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CALL = "m.2-regret.1"
CANCELLED = ToolOutcome(kind="succeeded", status=200, body={"status": "cancelled"})
EMMA: JsonObject = {
    "order_id": "o1",
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


@pytest.fixture
def holds(desk: "Desk") -> Callable[[Ledger], None]:
    """Sets the ledger that the mission's workflow holds."""

    def hold(ledger: Ledger) -> None:
        desk.ledger = ledger

    return hold


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

    async def prepare(self, arguments: JsonObject, **more: Any) -> PreparedCall:
        wanted = PrepareInput(
            call_id=CALL,
            mission_id="m",
            leg_id="2-regret",
            tool="cancel_order",
            arguments=arguments,
            catalog_digest=self.catalog.digest,
            now=NOW,
            policy=self.policy,
            ledger=cancellable(self.ledger),
            **more,
        )
        activities = PrepareActivities(
            self.store,
            self.client.as_client,
            authority=Authority(self.policy),
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
        environment = of_mission()
        environment.info = dataclasses.replace(
            environment.info, attempt=attempt, activity_id=activity_id, workflow_run_id=run_id
        )
        activities = ToolActivities(
            self.store,
            self.client.as_client,
            self.grants,
        )
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
    assert prepared.card is not None
    first = next(iter(prepared.card.sections()))
    assert first.title == "Mind"
    return {line.label: line.value for line in first.lines}


def approved(prepared: PreparedCall) -> ToolCall:
    """The call with the grant that its card's approval gives."""
    assert prepared.card is not None
    assert prepared.call is not None
    grant = Grant(
        confirmation_id=prepared.card.confirmation_id,
        digest=prepared.card.digest,
        approver="ann",
        granted_at=NOW,
    )
    return prepared.call.model_copy(update={"grant": grant})


async def test_a_cancel_of_ones_own_asks_nobody(desk: Desk, holds: Callable[..., None]) -> None:
    """It leaves nothing, says what it means, and goes out as noted, at a later attempt too."""
    holds(Ledger(obligations=(order(),)))
    prepared = await desk.prepare({"order_id": "o1"})
    assert prepared.call is not None
    holds(Ledger(obligations=(order(),)).cancelling(noted({"order_id": "o1"})))

    assert prepared.card is None
    assert prepared.obligation is None
    assert prepared.cancel is not None
    assert prepared.cancel.names == {"order_id": "o1"}
    assert prepared.cancel.idempotency_key == CALL
    assert await desk.send(prepared.call) == "succeeded"
    assert await desk.send(prepared.call, attempt=2) == "succeeded"
    assert desk.client.called == ["cancel_order"] * 2


@pytest.mark.parametrize(
    ("ledger", "arguments", "whose"),
    [
        (Ledger(), {"order_id": "o1"}, "This mission did not make it"),
        (
            Ledger(obligations=(order(order_id="o2", client_reference="m.1-shop.1"),)),
            {"order_id": "o1"},
            "This mission did not make it",
        ),
        (
            Ledger(obligations=(order(state=S.CANCELLED),)),
            {"order_id": "o1"},
            "Nothing of this mission stands under that name any more: "
            "Order book (m.1-shop.1) is cancelled",
        ),
        (
            Ledger(obligations=(order(state=S.VOID),)),
            {"client_reference": "m.1-shop.1"},
            "Nothing of this mission stands under that name any more: "
            "Order book (m.1-shop.1) is void",
        ),
        (
            Ledger(obligations=(order(1, order_id="o1"), order(2, order_id="o1"))),
            {"order_id": "o1"},
            "It may mean any of several things that this mission made: "
            "Order book (m.1-shop.1), Order book (m.1-shop.2)",
        ),
        (
            Ledger(obligations=(order(state=S.INTENDED, client_reference="m.1-shop.1"),)),
            {"order_id": "o1"},
            "Whether it is Order book (m.1-shop.1) is not known yet",
        ),
        (
            Ledger(obligations=(order(client_reference="theirs"),)),
            {"client_reference": "theirs"},
            "It names Order book (m.1-shop.1) only by what others may share: client_reference",
        ),
        (
            Ledger(obligations=(order(),)),
            {"order_id": "o1", "book_id": "b1"},
            "It says more than the cancel of Order book (m.1-shop.1) needs: book_id",
        ),
    ],
    ids=[
        "nothing",
        "another",
        "cancelled",
        "void",
        "two",
        "unanswered",
        "shared",
        "more than its name",
    ],
)
async def test_anything_else_is_asked_about(
    desk: Desk, holds: Callable[..., None], ledger: Ledger, arguments: JsonObject, whose: str
) -> None:
    """The card says whose it is; nothing of it leaves without the grant, and that is used once."""
    holds(ledger)
    prepared = await desk.prepare(arguments)
    assert prepared.card is not None
    assert prepared.call is not None
    assert prepared.cancel is not None
    naked = prepared.call.model_copy(update={"card_type": None})
    holds(ledger.cancelling(prepared.cancel))

    assert (prepared.card.card_type, prepared.call.card_type) == (CANCELLATION,) * 2
    assert warnings(prepared)["Whose"] == whose
    assert (
        warnings(prepared)["After that"]
        == prepared.card.cancellation
        == "nothing reverses a cancel"
    )
    assert await desk.send(prepared.call) == "GrantMissing"
    assert await desk.send(naked) == "rejected"
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
    "held",
    [
        Ledger(obligations=(order(),)),
        Ledger(obligations=(order(), order(2, order_id="o2"))).cancelling(
            noted({"order_id": "o2"})
        ),
        Ledger(obligations=(order(),)).cancelling(noted({"order_id": "o1"}, tool="other")),
        Ledger(obligations=(order(state=S.CANCELLED),)).cancelling(noted({"order_id": "o1"})),
    ],
    ids=["never noted", "other arguments", "another tool", "settled meanwhile"],
)
async def test_what_was_free_is_looked_at_again_before_it_is_sent(
    desk: Desk, holds: Callable[..., None], held: Ledger
) -> None:
    """A call that its mission has not written down, or that means nothing now, never leaves.

    Nothing about it is in doubt then, unless an earlier attempt may have left.
    """
    holds(Ledger(obligations=(order(),)))
    prepared = await desk.prepare({"order_id": "o1"})
    assert prepared.call is not None
    holds(held)

    assert await desk.send(prepared.call) == "rejected"
    assert await desk.send(prepared.call, attempt=2) == "unknown"
    assert desk.client.called == []


async def test_an_id_that_another_mission_was_answered_with_cancels_nothing(
    desk: Desk, holds: Callable[..., None]
) -> None:
    """Although the own mission was answered with it too: the other's booking stands."""
    own = order().model_copy(update={"answered_ids": {"order_id": "o1"}})
    theirs = own.model_copy(update={"mission_id": "n", "obligation_id": "n.1-shop.1"})
    desk.grants.settle(theirs.key, Ledger(obligations=(theirs,)))
    holds(Ledger(obligations=(own,)))
    prepared = await desk.prepare({"order_id": "o1"})
    assert prepared.call is not None
    holds(Ledger(obligations=(own,)).cancelling(noted({"order_id": "o1"})))

    assert await desk.send(prepared.call) == "rejected"
    assert desk.client.called == []


async def test_an_approved_cancel_of_anothers_is_in_the_ledger_as_what_nothing_cancels(
    desk: Desk, holds: Callable[..., None]
) -> None:
    """It is kept like any consequence; a cancel of one's own, asked about or not, is none."""
    holds(Ledger())
    foreign = await desk.prepare({"order_id": "o1"})
    holds(Ledger(obligations=(order(),)))
    own = await desk.prepare({"order_id": "o1", "book_id": "b1"})

    assert foreign.obligation is not None
    assert (foreign.obligation.obligation_id, foreign.obligation.cancel_tool) == (CALL, None)
    assert foreign.obligation.arguments == {"order_id": "o1"}
    assert not foreign.obligation.spends
    assert own.card is not None
    assert own.obligation is None


async def test_the_card_shows_what_the_probe_finds(desk: Desk, holds: Callable[..., None]) -> None:
    """It is asked where cancel and probe take the same thing; the price is the thing's own."""
    holds(Ledger())

    prepared = await desk.prepare({"client_reference": "theirs"})
    assert prepared.card is not None
    shown = {line.label: line.value for s in prepared.card.sections() for line in s.lines}

    assert desk.client.calls == [("find_order", {"client_reference": "theirs"}, None)]
    assert (shown["Title"], shown["City"], shown["Its price"]) == ("Emma", "Oslo", "12.50 EUR")
    assert prepared.card.price is None
    assert "What it is" not in shown


async def test_without_a_probe_it_shows_what_was_found_before(
    desk: Desk, holds: Callable[..., None]
) -> None:
    """The id alone cannot be asked about; an earlier answer had it."""
    holds(Ledger())
    listed = Observation(step=1, tool="list", outcome="succeeded", body={"orders": [EMMA]})

    prepared = await desk.prepare({"order_id": "o1"}, observations=(listed,))
    assert prepared.card is not None
    shown = {line.label: line.value for s in prepared.card.sections() for line in s.lines}

    assert desk.client.called == []
    assert shown["City"] == "Oslo"


@pytest.mark.parametrize(
    "answer",
    [
        TransportFailed("find_order", "no answer", may_have_arrived=True),
        RuntimeError("a defect"),
        ToolOutcome(kind="rejected", status=404),
        ToolOutcome(kind="succeeded", status=200, body=["what"]),
        ToolOutcome(kind="succeeded", status=200, body={"client_reference": "x", "title": "No"}),
    ],
    ids=["no answer", "defect", "not found", "no object", "about another"],
)
async def test_a_card_is_drawn_whatever_the_probe_does(
    desk: Desk, holds: Callable[..., None], scripted: Any, answer: Any
) -> None:
    """It says that what is cancelled could not be read."""
    holds(Ledger())
    desk.client = scripted({"find_order": [answer]})

    prepared = await desk.prepare({"client_reference": "theirs"})

    assert warnings(prepared)["What it is"] == "could not be read"


async def test_a_slow_probe_is_not_waited_for(
    desk: Desk, holds: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card has seconds, and providers may take minutes."""
    holds(Ledger())
    monkeypatch.setattr(cancel_review, "_PROBE_S", 0.05)

    async def never(*_: Any, **__: Any) -> ToolOutcome:
        await asyncio.sleep(60)
        raise AssertionError

    monkeypatch.setattr(desk.client, "call", never)

    prepared = await desk.prepare({"client_reference": "theirs"})

    assert warnings(prepared)["What it is"] == "could not be read"


async def test_what_a_person_changed_into_ones_own_stays_with_the_person(
    desk: Desk, holds: Callable[..., None]
) -> None:
    """The amended call has a card too, and says that it is the mission's own."""
    holds(Ledger(obligations=(order(),)))

    prepared = await desk.prepare({"order_id": "o1"}, decided_by_people=True)

    assert warnings(prepared)["Whose"].startswith("This mission made it")
    assert prepared.obligation is None


async def test_a_standing_approval_may_cover_cancels(
    desk: Desk, holds: Callable[..., None]
) -> None:
    """By their card type, like any call, and only where the plan orders it."""
    holds(Ledger())
    order = Order(tools=("cancel_order",))
    orders = {"goal": "cancel o1", "orders": (order,), "covered": (order,)}

    def policy(card_type: str) -> MissionPolicy:
        rule = StandingApproval(name="standing", card_types=(card_type,))
        return MissionPolicy(confirmation=ConfirmationPolicy(standing=(rule,)))

    desk.policy = policy(CANCELLATION)
    covered = await desk.prepare({"order_id": "o1"}, **orders)
    unordered = await desk.prepare({"order_id": "o1"}, goal="cancel o1")
    desk.policy = policy("structured-order")
    other = await desk.prepare({"order_id": "o1"}, **orders)

    assert covered.standing_approver == "policy:standing"
    assert other.standing_approver is None
    assert unordered.standing_approver is None
    assert unordered.unordered
