"""At most one effect for each step, whatever is lost and retried: real client, real provider."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, cast

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.rollback_activities import RollbackActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.storage.store import Store
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Grant
from orchestrator.core.compensation_limits import SETTLES_AFTER
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.rollback import CompensateInput
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.runtime.demo import DINING
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from orchestrator.saga.own_cancels import obligations_named
from orchestrator.sandbox import FaultRule, RunningSandbox, load_documents, running_sandbox
from orchestrator.sandbox.faults import FaultKind
from orchestrator.settings import bundled_specs
from tests.fakes import MemoryGrants, MemoryPii, MemorySecrets
from tests.unit.activities.environments import of_mission, of_rollback

T = TypeVar("T")
CREATE, CANCEL = "calendar_create_event", "calendar_cancel_event"
CALL_ID = "m.1-calendar.2"
NOW = datetime.now(UTC)
LOST: tuple[FaultKind, ...] = ("status_before", "status_after", "drop_before", "drop_after")
STORIES = [
    pytest.param(forward, backward, id=f"{'+'.join(forward)} then {'+'.join(backward)}")
    for forward, backward in zip(
        itertools.product(LOST, repeat=2),
        itertools.cycle(itertools.permutations(LOST, 2)),
        strict=False,
    )
]
"""Every pair of ways to lose the call twice, each with another for its cancel."""


@dataclass(frozen=True)
class Event:
    """One event of a calendar: the activities that make it and take it back, and the provider."""

    sandbox: RunningSandbox
    preparation: PrepareActivities
    called: ToolActivities
    rollback: RollbackActivities
    catalog: Catalog

    async def prepare(
        self, tool: str, arguments: JsonObject, *, step: int, ledger: Ledger | None = None
    ) -> PreparedCall:
        """A call as its leg prepares it, approved where it must be."""
        wanted = PrepareInput(
            call_id=f"m.1-calendar.{step}",
            mission_id="m",
            leg_id="1-calendar",
            tool=tool,
            arguments=arguments,
            catalog_digest=self.catalog.digest,
            now=NOW,
            ledger=ledger or Ledger(),
        )
        prepared = await of_mission().run(self.preparation.prepare_call, wanted)
        assert isinstance(prepared, PreparedCall)
        assert prepared.call is not None
        if prepared.card is None:
            return prepared
        grant = Grant(
            confirmation_id=wanted.call_id,
            digest=prepared.card.digest,
            approver="ann",
            granted_at=NOW,
        )
        call = prepared.call.model_copy(update={"grant": grant})
        return prepared.model_copy(update={"call": call})

    async def creation(self) -> tuple[ToolCall, Obligation]:
        """The call that makes the event, approved, and what it leaves."""
        made = await self.prepare(CREATE, {"title": "Dinner", "start_date": DINING}, step=2)
        assert made.call is not None
        assert made.obligation is not None
        return made.call, made.obligation

    def lose(self, operation: str, *kinds: FaultKind) -> None:
        """Each of these happens to an operation once, in this order, from now on."""
        self.sandbox.faults.replace(
            [FaultRule(operation_id=operation, kind=kind, times=1) for kind in kinds]
        )

    async def send(self, call: ToolCall, *, attempt: int = 1) -> ToolOutcome | None:
        """One attempt; None when it came to nothing clear."""
        environment = of_mission(attempt=attempt)
        return await _unless_unclear(environment.run(self.called.invoke_tool, call))

    async def compensate(self, obligation: Obligation) -> CompensationOutcome | None:
        """One attempt; None when it came to nothing clear."""
        wanted = CompensateInput(obligation=obligation)
        environment = of_rollback(obligation.mission_id)
        return await _unless_unclear(environment.run(self.rollback.compensate, wanted))

    def effects(self) -> list[str]:
        """What happened at the provider, in order."""
        return [effect.kind for effect in self.sandbox.ledger.effects("m")]

    def keys(self, operation: str) -> set[str | None]:
        """The keys that requests of an operation carried."""
        requests = self.sandbox.ledger.requests("m")
        return {r.idempotency_key for r in requests if r.operation == operation}


async def _unless_unclear(attempt: Awaitable[T]) -> T | None:
    try:
        return await attempt
    except ApplicationError as error:
        assert not error.non_retryable or error.type == names.PROVIDER_BUSY
        return None


@pytest.fixture
async def event(tmp_path: Path) -> AsyncIterator[Event]:
    """A calendar served on a real socket, and what calls it."""
    document = bundled_specs() / "calendar.yaml"
    store, catalog = Store(tmp_path).catalogs, Catalog.load(document)
    store.put(catalog)
    async with (
        running_sandbox(load_documents([document])) as sandbox,
        ToolClient(
            secrets=MemorySecrets(),
            pii=MemoryPii(),
            server_variables={"calendar": {"host": "127.0.0.1", "port": str(sandbox.port)}},
            allowed_private_hosts=("127.0.0.1",),
        ) as tools,
    ):
        yield Event(
            sandbox,
            PrepareActivities(store, tools),
            ToolActivities(store, tools, MemoryGrants()),
            RollbackActivities(store, tools, cast(Client, None), MemoryGrants()),
            catalog,
        )


@pytest.mark.parametrize(("forward", "backward"), STORIES)
async def test_lost_calls_and_lost_cancels_have_one_effect_each(
    event: Event, forward: tuple[FaultKind, ...], backward: tuple[FaultKind, ...]
) -> None:
    """Twice lost and then answered; twice lost again on the way back, and then taken back."""
    call, obligation = await event.creation()
    event.lose(CREATE, *forward)
    made = [await event.send(call, attempt=attempt) for attempt in (1, 2, 3)]
    assert made[-1] is not None
    committed = obligation.answered(made[-1], at=NOW)
    event.lose(CANCEL, *backward)
    outcomes = [await event.compensate(committed) for _ in range(3)]

    assert [outcome is None for outcome in made] == [True, True, False]
    assert [outcome and outcome.state for outcome in outcomes] == [None, None, "cancelled"]
    assert event.effects() == ["create", "cancel"]
    assert event.keys(CREATE) == {CALL_ID}
    assert event.keys(CANCEL) == {f"{CALL_ID}.cancel"}


@pytest.mark.parametrize("kind", LOST)
async def test_a_call_that_stays_unclear_is_cancelled_if_it_happened(
    event: Event, kind: FaultKind
) -> None:
    """The provider is asked, and what it holds is cancelled; what it never holds is void."""
    call, obligation = await event.creation()
    event.lose(CREATE, kind)
    made = await event.send(call)
    at_once = await event.compensate(obligation)
    later = obligation.model_copy(update={"missing_for": SETTLES_AFTER})
    rolled_back_later = at_once or await event.compensate(later)
    happened = kind.endswith("after")

    assert made is None
    assert (at_once is not None) is happened
    assert rolled_back_later is not None
    assert rolled_back_later.state == ("cancelled" if happened else "void")
    assert event.effects() == (["create", "cancel"] if happened else [])


@pytest.mark.parametrize("kind", LOST)
async def test_a_legs_own_cancel_that_is_lost_is_carried_out_once(
    event: Event, kind: FaultKind
) -> None:
    """The rollback repeats that call under its key, so that there is no second cancel beside it."""
    call, obligation = await event.creation()
    made = await event.send(call)
    assert made is not None
    assert isinstance(made.body, dict)
    held = Ledger(obligations=(obligation.answered(made, at=NOW),))
    cancel = await event.prepare(CANCEL, {"event_id": made.body["event_id"]}, step=3, ledger=held)
    assert cancel.call is not None
    assert cancel.cancel is not None
    named = obligations_named(held, cancel.cancel)
    noted = cancel.call.model_copy(update={"cancels": cancel.cancel, "named": named})
    event.lose(CANCEL, kind)
    lost = await event.send(noted)
    (unclear,) = held.cancelling(cancel.cancel).obligations
    rolled_back_later = await event.compensate(unclear)

    assert lost is None
    assert rolled_back_later is not None
    assert rolled_back_later.state == "cancelled"
    assert event.effects() == ["create", "cancel"]
    assert event.keys(CANCEL) == {"m.1-calendar.3"}
