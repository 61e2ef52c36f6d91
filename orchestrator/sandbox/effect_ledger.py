"""The independent record of every request that arrived and every effect, in SQLite."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

DEFAULT_CURRENCY = "EUR"
# Ordered by trust: a total comes before the price of one part.
MONEY_NAMES = ("total_price", "total_amount", "total", "price", "amount", "charge", "fare", "cost")
_CENT = Decimal("0.01")


class CurrencyAmount(NamedTuple):
    """An exact amount with two decimals, and its ISO 4217 currency."""

    amount: Decimal
    currency: str = DEFAULT_CURRENCY

    def times(self, count: int) -> CurrencyAmount:
        """Return the amount multiplied by a count."""
        return CurrencyAmount(self.amount * count, self.currency)

    def to_json(self) -> dict[str, Any]:
        """Return {amount, currency}; the amount is a number with at most two decimals."""
        return {"amount": float(self.amount), "currency": self.currency}


def money(amount: Any, currency: str | None = None) -> CurrencyAmount:
    """Return an amount rounded to cents, half up.

    Raises:
        decimal.InvalidOperation: amount is not a number.
    """
    exact = Decimal(str(amount)).quantize(_CENT, rounding=ROUND_HALF_UP)
    return CurrencyAmount(exact, currency or DEFAULT_CURRENCY)


def find_money(body: Any) -> CurrencyAmount | None:
    """Return an object's amount: {amount, currency} or a number, under a usual name."""
    if not isinstance(body, Mapping):
        return None
    for name in MONEY_NAMES:
        found = _read(body.get(name), body.get("currency"))
        if found:
            return found
    others = (_read(value, None) for value in body.values() if isinstance(value, Mapping))
    return next((found for found in others if found), None)


def raise_money(body: Any, factor: Decimal) -> None:
    """Multiply the amount of an object in place."""
    if not isinstance(body, dict):
        return
    for name in MONEY_NAMES:
        found = _read(body.get(name), body.get("currency"))
        if found:
            dearer = float(money(found.amount * factor).amount)
            is_pair = isinstance(body[name], Mapping)
            body[name] = {**body[name], "amount": dearer} if is_pair else dearer
            return
    for value in body.values():
        if isinstance(value, Mapping) and _read(value, None) is not None:
            raise_money(value, factor)
            return


def _read(value: Any, currency: Any) -> CurrencyAmount | None:
    if isinstance(value, Mapping):
        value, currency = value.get("amount"), value.get("currency") or currency
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return money(value, currency if isinstance(currency, str) else None)


EffectKind = Literal["create", "update", "cancel"]
EffectStatus = Literal["live", "cancelled"]
_TABLES = """
CREATE TABLE IF NOT EXISTS requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, provider TEXT NOT NULL,
    operation TEXT NOT NULL, idempotency_key TEXT, request_id TEXT, client_reference TEXT,
    status INTEGER, fault TEXT, replayed INTEGER NOT NULL, arguments TEXT);
CREATE TABLE IF NOT EXISTS effects (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, provider TEXT NOT NULL,
    operation TEXT NOT NULL, kind TEXT NOT NULL, resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL, client_reference TEXT, idempotency_key TEXT, request_id TEXT,
    amount TEXT, currency TEXT, status TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS effects_by_resource ON effects (provider, resource_id);
CREATE TABLE IF NOT EXISTS resources (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, property TEXT NOT NULL,
    resource_id TEXT NOT NULL, operation TEXT NOT NULL, client_reference TEXT,
    facts TEXT NOT NULL, UNIQUE (provider, property, resource_id));
CREATE INDEX IF NOT EXISTS resources_by_reference ON resources (provider, client_reference);
CREATE TABLE IF NOT EXISTS notes (
    provider TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL,
    value TEXT NOT NULL, PRIMARY KEY (provider, kind, name, key));
"""


@dataclass(frozen=True)
class Cause:
    """The origin of a request: its headers and the client reference."""

    idempotency_key: str | None = None
    request_id: str | None = None
    client_reference: str | None = None


@dataclass(frozen=True)
class ProviderEffect:
    """A change that a provider made.

    A create is live until it is cancelled. An update or a cancel is an event: its status is the
    state in which it left the resource. `at` is ISO 8601 in UTC; `amount` is in `currency`.
    """

    seq: int
    at: str
    provider: str
    operation: str
    kind: EffectKind
    resource_type: str
    resource_id: str
    client_reference: str | None
    idempotency_key: str | None
    request_id: str | None
    amount: Decimal | None
    currency: str | None
    status: EffectStatus

    def to_json(self) -> dict[str, Any]:
        """Return the effect as JSON; the amount becomes a number."""
        amount = None if self.amount is None else float(self.amount)
        return {**asdict(self), "amount": amount}


@dataclass(frozen=True)
class RequestRecord:
    """A request that arrived; status is None when it got no answer.

    Its arguments are those of path, query and body, named as in the document, with defaults; None
    when the request was refused before they were read.
    """

    seq: int
    at: str
    provider: str
    operation: str
    idempotency_key: str | None
    request_id: str | None
    client_reference: str | None
    status: int | None
    fault: str | None
    replayed: bool
    arguments: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Duplicate:
    """Two or more creates from one call: the harm that idempotency keys prevent."""

    cause: str
    effects: tuple[ProviderEffect, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the duplicate as JSON, including its effects."""
        return {"cause": self.cause, "effects": [effect.to_json() for effect in self.effects]}


class EffectLedger:
    """Every request and effect, optionally of one mission.

    A request belongs to the mission "m" when its idempotency key or request id starts with "m.".

    Example:
        >>> with EffectLedger() as ledger:
        ...     ledger.live()
        []
    """

    def __init__(self, path: Path | str = ":memory:") -> None:
        self.database = Database(path)

    def effects(
        self, mission_id: str | None = None, *, where: str = "1 = 1"
    ) -> list[ProviderEffect]:
        """Return all effects, oldest first, or those that fulfil a condition in SQL."""
        mission, values = _of_mission(mission_id)
        sql = f"SELECT * FROM effects WHERE {where} AND {mission} ORDER BY seq"
        effects = []
        for row in self.database.run(sql, *values):
            amount = None if row["amount"] is None else Decimal(row["amount"])
            effects.append(ProviderEffect(**{**dict(row), "amount": amount}))
        return effects

    def live(self, mission_id: str | None = None) -> list[ProviderEffect]:
        """Return the live obligations: creates that nobody cancelled."""
        return self.effects(mission_id, where="kind = 'create' AND status = 'live'")

    def duplicates(self, mission_id: str | None = None) -> list[Duplicate]:
        """Return the calls that had their effect more than once, whether cancelled since or not."""
        caused: dict[str, list[ProviderEffect]] = {}
        for effect in self.effects(mission_id, where="kind = 'create'"):
            cause = effect.idempotency_key or effect.request_id
            if cause:
                caused.setdefault(cause, []).append(effect)
        return [Duplicate(cause, tuple(made)) for cause, made in caused.items() if len(made) > 1]

    def requests(self, mission_id: str | None = None) -> list[RequestRecord]:
        """Return all requests that reached an operation, oldest first, refused ones included."""
        where, values = _of_mission(mission_id)
        rows = self.database.run(f"SELECT * FROM requests WHERE {where} ORDER BY seq", *values)
        records = []
        for row in rows:
            sent = json.loads(row["arguments"]) if row["arguments"] else None
            read = {**dict(row), "replayed": bool(row["replayed"]), "arguments": sent}
            records.append(RequestRecord(**read))
        return records

    def record_effect(
        self,
        *,
        at: str,
        provider: str,
        operation: str,
        kind: EffectKind,
        resource_type: str,
        resource_id: str,
        cause: Cause,
        money: CurrencyAmount | None,
    ) -> None:
        """Add one effect; called in the transaction of the effect."""
        amount, currency = (str(money.amount), money.currency) if money else (None, None)
        status: EffectStatus = "cancelled" if kind == "cancel" else "live"
        self._insert(
            "effects",
            at=at,
            provider=provider,
            operation=operation,
            kind=kind,
            resource_type=resource_type,
            resource_id=resource_id,
            **asdict(cause),
            amount=amount,
            currency=currency,
            status=status,
        )

    def mark_cancelled(self, *, provider: str, resource_id: str, operation: str | None) -> None:
        """Close the creates of a resource: those of one operation, or all when it is None."""
        self.database.run(
            "UPDATE effects SET status = 'cancelled' WHERE kind = 'create' AND provider = ?"
            " AND resource_id = ? AND (? IS NULL OR operation = ?)",
            *(provider, resource_id, operation, operation),
        )

    def record_request(
        self,
        *,
        at: str,
        provider: str,
        operation: str,
        cause: Cause,
        status: int | None,
        fault: str | None,
        replayed: bool,
        arguments: dict[str, Any] | None = None,
    ) -> None:
        """Add one request with the status that the caller received (None: no answer)."""
        self._insert(
            "requests",
            at=at,
            provider=provider,
            operation=operation,
            **asdict(cause),
            status=status,
            fault=fault,
            replayed=replayed,
            arguments=None if arguments is None else json.dumps(arguments),
        )

    def _insert(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"
        self.database.run(sql, *values.values())

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _of_mission(mission_id: str | None) -> tuple[str, Sequence[str | int]]:
    if mission_id is None:
        return "1 = 1", ()
    prefix = f"{mission_id}."
    # substr rather than LIKE: a mission id may hold % or _.
    where = "(substr(idempotency_key, 1, ?) = ? OR substr(request_id, 1, ?) = ?)"
    return where, (len(prefix), prefix, len(prefix), prefix)


class Database:
    """A SQLite file, or memory; usable from any thread, one transaction at a time.

    Each transaction is committed before its answer is sent, and the write-ahead log survives a
    killed process, so the file holds every answer that was sent.
    """

    def __init__(self, path: Path | str = ":memory:") -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA busy_timeout = 5000")
        self._connection.executescript(_TABLES)

    @contextmanager
    def transaction(self, *, is_kept: bool = True) -> Iterator[None]:
        """Commit everything inside, or roll back if it raises or `is_kept` is False."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT" if is_kept else "ROLLBACK")

    def run(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Run one statement and return its rows."""
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the file; later use raises sqlite3.ProgrammingError."""
        with self._lock:
            self._connection.close()
