"""Consequences in the store: noted before they leave, settled after, and never sent twice."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.storage.protocols import CatalogStore, SentCall
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import StoreUnavailable
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.tool_call import ToolCall
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryGrants, fake_obligation
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import failure_of, made_call

Shop = Callable[..., Catalog]
S = ObligationState
CALL = "m.1-shop.2"
ARGUMENTS: JsonObject = {"order_id": "o1", "client_reference": CALL}
DONE = ToolOutcome(kind="succeeded", status=200, body={"order_id": "o1"})
BUSY = ToolOutcome(kind="unknown", status=503, reason="HTTP 503")
REFUSED = ToolOutcome(kind="rejected", status=422, reason="no", declared=True)


class Desk:
    """Sends orders that need no card, with a book of its own."""

    def __init__(self, store: CatalogStore, catalog: Catalog, client: Any) -> None:
        free = catalog.tool("order_book").model_copy(update={"card_type": None})
        changed = Catalog(catalog.documents, {**catalog.tools, free.name: free})
        store.put(changed)
        self.grants = MemoryGrants()
        self._catalog = changed
        self._client = client
        self._store = store

    def call(self, book: str = "b7", **more: Any) -> ToolCall:
        arguments: JsonObject = {"book_id": book, "client_reference": CALL}
        obligation = fake_obligation(CALL, tool="order_book", arguments=arguments)
        about = {"catalog_digest": self._catalog.digest, "arguments": arguments, **more}
        return made_call(CALL, tool="order_book", obligation=obligation, **about)

    async def send(self, call: ToolCall, *, run_id: str = "1", **info: Any) -> ToolOutcome:
        environment = of_mission("m", workflow_run_id=run_id, **info)
        activities = ToolActivities(self._store, self._client.as_client, self.grants)
        outcome = await environment.run(activities.invoke_tool, call)
        assert isinstance(outcome, ToolOutcome)
        return outcome

    @property
    def state(self) -> ObligationState:
        """Of the call, as the book has it."""
        (noted,) = self.grants.ledger("m").obligations
        return noted.state


OpenDesk = Callable[..., Desk]


@pytest.fixture
def desk(store: CatalogStore, shop: Shop, scripted: Any) -> OpenDesk:
    """Makes a desk whose provider answers so."""

    def make(*answers: Any, key: bool = True) -> Desk:
        script = {"order_book": list(answers), "find_order": [BUSY]}
        return Desk(store, shop(key=key), scripted(script))

    return make


async def test_a_consequence_is_noted_before_it_leaves_and_settled_after(
    desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a grant as with one."""
    selling = desk(DONE)
    seen: list[ObligationState] = []
    call = selling._client.call

    async def watched(*args: Any, **more: Any) -> ToolOutcome:
        seen.append(selling.state)
        outcome: ToolOutcome = await call(*args, **more)
        return outcome

    monkeypatch.setattr(selling._client, "call", watched)
    await selling.send(selling.call())

    assert seen == [S.INTENDED]
    assert selling.state is S.COMMITTED


async def test_what_came_of_it_is_noted(desk: OpenDesk) -> None:
    """A call without a clear answer stays intended."""
    refusing, busy = desk(REFUSED), desk(BUSY)
    await refusing.send(refusing.call())
    await failure_of(busy.send(busy.call()))

    assert (refusing.state, busy.state) == (S.VOID, S.INTENDED)


async def test_a_store_that_takes_no_outcome_changes_nothing_of_it(
    desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider did the work; a rollback from the store finds out."""
    selling = desk(DONE)

    def fails(call_id: str, ledger: Ledger) -> None:
        raise StoreUnavailable("store.db", call_id)

    monkeypatch.setattr(selling.grants, "settle", fails)

    assert (await selling.send(selling.call())).kind == "succeeded"
    assert selling.state is S.INTENDED


async def test_after_a_reset_the_same_call_goes_out_under_its_key_alone(desk: OpenDesk) -> None:
    """Its provider knows it by that; another call of that id, or one without a key, is refused."""
    keyed, keyless = desk(DONE), desk(DONE, key=False)
    await keyed.send(keyed.call())
    await keyless.send(keyless.call())

    assert (await keyed.send(keyed.call(), run_id="2")).kind == "succeeded"
    for again, call in ((keyed, keyed.call("b8")), (keyless, keyless.call())):
        refused = await failure_of(again.send(call, run_id="2"))
        assert (refused.type, refused.non_retryable) == ("GrantUsed", True)
    assert keyless._client.called == ["order_book"]
    assert keyless.state is S.COMMITTED


async def test_a_refusal_after_a_reset_settles_nothing_of_what_was_sent_before(
    desk: OpenDesk,
) -> None:
    """The branch before may have had its effect; another run's attempt knows only its own."""
    selling = desk(BUSY, REFUSED)
    await failure_of(selling.send(selling.call()))

    unclear = await failure_of(selling.send(selling.call(), run_id="2"))

    assert unclear.non_retryable
    assert selling.state is S.INTENDED


async def test_a_call_that_was_held_back_is_sent_later(desk: OpenDesk) -> None:
    """By its own run, or by the one in which that continues, where nothing came of it before."""
    deferred = ToolOutcome(kind="unknown", status=429, reason="HTTP 429", retry_after_s=5)
    selling = desk(deferred, deferred, DONE, key=False)
    first = await selling.send(selling.call())
    void = selling.state
    second = await selling.send(selling.call(postponed=1), activity_id="2")
    third = await selling.send(selling.call(postponed=2), run_id="2")

    assert (first.deferred, second.deferred, third.kind) == (True, True, "succeeded")
    assert (void, selling.state) == (S.VOID, S.COMMITTED)


async def test_a_concluded_call_stays_sent(desk: OpenDesk) -> None:
    """Nobody knows any more whether it is the same."""
    selling = desk(DONE)
    await selling.send(selling.call())
    selling.grants.conclude("m")

    assert (await failure_of(selling.send(selling.call(), run_id="2"))).type == "GrantUsed"


async def test_what_only_reads_is_not_noted(store: CatalogStore, shop: Shop, scripted: Any) -> None:
    """It leaves nothing."""
    grants, client = MemoryGrants(), scripted({"find_order": [DONE]})
    read = made_call(CALL, tool="find_order", catalog_digest=shop().digest)
    activities = ToolActivities(store, client.as_client, grants)
    await of_mission("m").run(activities.invoke_tool, read)

    assert grants.last_noted("m") is None


@pytest.mark.parametrize(
    "info",
    [{"workflow_type": names.SWEEP_WORKFLOW}, {"workflow_id": "other"}],
    ids=["another type", "another mission"],
)
async def test_a_call_of_another_workflow_is_refused_before_anything(
    desk: OpenDesk, info: dict[str, Any]
) -> None:
    """It is not even noted."""
    selling = desk(DONE)
    refused = await failure_of(selling.send(selling.call(), **info))

    assert (refused.type, refused.non_retryable) == ("CallUnowned", True)
    assert selling.grants.last_noted("m") is None


async def test_what_was_cancelled_is_noted_as_such(
    compensate: Any, shop: Shop, scripted: Any, grants: MemoryGrants
) -> None:
    """If the mission is deleted, nothing of it is left to roll back."""
    catalog = shop()
    made = fake_obligation(
        CALL,
        tool="order_book",
        cancel_tool="cancel_order",
        catalog_digest=catalog.digest,
        arguments={"book_id": "b7", "client_reference": CALL},
        cancel_inputs=ARGUMENTS,
        state=S.COMMITTED,
        committed_at=datetime(2026, 11, 29, tzinfo=UTC),
    )
    grants.send(SentCall(CALL, "m", "u", (), Ledger(obligations=(made,))))
    client = scripted({"cancel_order": [DONE], "find_order": [REFUSED]})
    outcome = await compensate(client, made.model_copy(update={"verify_cancel": False}))

    assert outcome.state == "cancelled"
    assert grants.ledger("m").live() == ()
