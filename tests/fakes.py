"""Fake tools, legs and obligations, and stores in memory.

All stores but secrets and catalogs are those of workers, over a database in memory.
"""

import contextlib
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from orchestrator.adapters.storage.protocols import catalog_missing, observation_missing
from orchestrator.adapters.storage.schema import metadata
from orchestrator.adapters.storage.sql_grants import SqlGrants
from orchestrator.adapters.storage.sql_observations import SqlObservations
from orchestrator.adapters.storage.sql_routing import SqlTraces
from orchestrator.adapters.storage.sql_vault import SqlVault, VaultKey, new_key
from orchestrator.adapters.storage.store_database import StoreDatabase, url_of
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.declared_prices import CompensationFee
from orchestrator.catalog.tool import (
    Compensation,
    Effect,
    IdempotencyKey,
    Tool,
    ToolCallTemplate,
)
from orchestrator.core.budget import Money
from orchestrator.core.errors import SecretMissing
from orchestrator.core.pii import Handle
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import (
    AgentProfile,
    LegPlan,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.orders import Order

KEY = IdempotencyKey(location="header", field="Idempotency-Key")
_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)


def fake_tool(
    name: str,
    *,
    cancel_tool: str | None = None,
    cancel_arguments: JsonObject | None = None,
    cancels: str | None = None,
    card_type: str | None = None,
    effect: Effect | None = None,
    idempotent: bool = True,
    max_attempts: int = 3,
    on_failure: Literal["park", "continue"] = "park",
    input_schema: JsonObject | None = None,
    personal: Iterable[str] = (),
    fee: Money | None = None,
) -> Tool:
    """Return a tool for a `FakeWorld`.

    ```python
    fake_tool("find_flights")                                      # reads
    fake_tool("book_flight", cancel_tool="cancel_flight")          # leaves an obligation
    fake_tool("pay", cancel_tool="refund", card_type="structured-payment")  # confirmed first
    fake_tool("post_note", effect=Effect.WRITE)                    # cannot be cancelled
    ```

    Args:
        name: the operationId.
        cancel_tool: the operationId of the cancel tool; it need not be in the world.
        cancel_arguments: the cancel tool's inputs, as runtime expressions.
        cancels: the operationId of the tool that this one cancels.
        card_type: the type of the card that must be approved; None: no approval.
        effect: by default an obligation with `cancel_tool`, a cancel with `cancels`, else a read.
        idempotent: True if it takes an idempotency key, and so may be called again.
        max_attempts: the maximum attempts of its cancel.
        on_failure: the consequence of a failed last attempt.
        input_schema: by default any object.
        personal: inputs whose values come from the vault.
        fee: the maximum price of its cancel tool.
    """
    compensation = None
    if cancel_tool is not None:
        compensation = Compensation(
            cancel=ToolCallTemplate(tool=cancel_tool, arguments=cancel_arguments or {}),
            max_attempts=max_attempts,
            on_failure=on_failure,
            fee=None if fee is None else CompensationFee(amount=fee),
        )
    return Tool(
        name=name,
        document="fake",
        domain="fake",
        summary=name.replace("_", " ").capitalize(),
        input_schema=input_schema or {"type": "object", "additionalProperties": True},
        effect=effect or _effect(cancel_tool, cancels),
        cancel_for=cancels,
        card_type=card_type,
        compensation=compensation,
        pii_fields=tuple(personal),
        idempotency_key=KEY if idempotent else None,
    )


def _effect(cancel_tool: str | None, cancels: str | None) -> Effect:
    if cancel_tool is not None:
        return Effect.OBLIGATION
    return Effect.CANCEL if cancels is not None else Effect.READ


def fake_leg(
    leg_id: str,
    *,
    after: Iterable[str] = (),
    agent: AgentProfile | None = None,
    orders: Iterable[Order] = (),
) -> LegPlan:
    """Return a leg of a plan, by default for an agent of the leg's name and without orders."""
    return LegPlan(
        leg_id=leg_id,
        goal=f"do {leg_id}",
        agent=agent or AgentProfile(name=leg_id),
        depends_on=tuple(after),
        orders=tuple(orders),
    )


def fake_obligation(call_id: str = "m.1-leg.1", **stated: Any) -> Obligation:
    """Return the obligation of a call of `book`, which `cancel` cancels; it is intended.

    ```python
    fake_obligation(state=ObligationState.COMMITTED, response={"booking_id": "b1"})
    fake_obligation("trip.2-car.7", tool="rent_car", cancel_tool=None)
    ```

    Args:
        call_id: the id, made of mission, leg and step.
        stated: fields with other values.
    """
    mission_id, leg_id, _ = call_id.split(".")
    fields = {
        "obligation_id": call_id,
        "mission_id": mission_id,
        "leg_id": leg_id,
        "tool": "book",
        "cancel_tool": "cancel",
        "catalog_digest": "d",
        "arguments": {},
        "idempotency_key": call_id,
        "written_at": _WRITTEN,
        "deadline": _WRITTEN,
    }
    return Obligation.model_validate({**fields, **stated})


def states_of(ledger: Ledger) -> dict[str, str]:
    """Return the state of each obligation by tool, in the order written."""
    return {o.tool: o.state.value for o in ledger.obligations}


def own_id(name: str) -> str:
    """Return a mission id that no other test, and no earlier try of this one, has used."""
    return f"{name}-{secrets.token_hex(3)}"


class _MemoryDatabase(StoreDatabase):
    """A database of this process, on whose one connection threads take turns."""

    def __init__(self) -> None:
        super().__init__(url_of("sqlite://"), prepare=_create_tables)
        self._turn = threading.RLock()

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with self._turn, super().read() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sa.Connection]:
        with self._turn, super().write(durable=durable) as connection:
            yield connection

    def _made(self) -> sa.Engine:
        options = {"check_same_thread": False}
        return sa.create_engine(self.url, poolclass=sa.StaticPool, connect_args=options)


def _create_tables(database: StoreDatabase) -> None:
    with database.write() as connection:
        metadata.create_all(connection)


class MemorySecrets:
    """Secrets from a mapping: `MemorySecrets({"payments__token": "t0ken"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def get(self, name: str) -> str:
        """Return a secret.

        Raises:
            SecretMissing: the mapping does not contain it.
        """
        try:
            return self._values[name]
        except KeyError:
            raise SecretMissing(name, "it in MemorySecrets") from None


class MemoryPii(SqlVault):
    """A vault in memory: `MemoryPii({"traveler_id": "T-1009"})`."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        key = VaultKey("MemoryPii", new_key())
        super().__init__(_MemoryDatabase(), key_file=Path(), key=key)
        for field, value in (values or {}).items():
            self.put(field, value)

    def brought(self, mission_id: str, values: Mapping[str, str]) -> dict[str, Handle]:
        """Store the values that a request brings for its mission; return their handles."""
        self.bring(mission_id, values, claim="request")
        return self.handles_of(mission_id, values)


class MemoryGrants(SqlGrants):
    """Used grants, sent calls and cancelled calls, in memory."""

    def __init__(self) -> None:
        super().__init__(_MemoryDatabase())


class MemoryCatalogs:
    """Catalogs in memory."""

    lost: bool = False
    """True while no catalog can be found."""

    def __init__(self) -> None:
        self._kept: dict[str, Catalog] = {}

    def put(self, catalog: Catalog, *, mission_id: str = "") -> None:
        """Store a catalog."""
        self._kept[catalog.digest] = catalog

    def get(self, digest: str) -> Catalog:
        """Return the catalog of that digest.

        Raises:
            CatalogNotFound: the catalog is not stored, or `lost` is set.
        """
        if self.lost or digest not in self._kept:
            raise catalog_missing(digest)
        return self._kept[digest]

    def in_memory(self, digest: str) -> Catalog | None:
        """Return the catalog of that digest, unless they are lost."""
        return None if self.lost else self._kept.get(digest)

    def reread(self, digest: str) -> Catalog:
        """Return the catalog of that digest."""
        return self.get(digest)


class MemoryTraces(SqlTraces):
    """Records of selections in memory."""

    def __init__(self) -> None:
        super().__init__(_MemoryDatabase())


class MemoryObservations(SqlObservations):
    """A store of observations in memory that can be lost or full."""

    lost = False
    """True while nothing can be found."""
    is_full = False
    """True while nothing can be stored."""

    def __init__(self) -> None:
        super().__init__(_MemoryDatabase())

    def put(self, mission_id: str, key: str, piece: bytes) -> bool:
        """Store a piece and return True if it was new."""
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().put(mission_id, key, piece)

    def get(self, mission_id: str, key: str) -> bytes:
        """Return a stored piece.

        Raises:
            ObservationMissing: the piece was not stored, or is lost.
        """
        if self.lost:
            raise observation_missing(mission_id, "memory")
        return super().get(mission_id, key)
