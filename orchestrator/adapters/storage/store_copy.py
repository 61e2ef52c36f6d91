"""Copies one store to another, to move from files to a server.

Existing rows stay unchanged, so that an interrupted copy can be started again. Nothing is copied if
the target has a different row with the same key.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.adapters.storage import schema
from orchestrator.adapters.storage.personal_values import OWNER, VaultKey, fingerprint
from orchestrator.adapters.storage.sql_vault import KEY_FACT
from orchestrator.adapters.storage.store_database import StoreDatabase, version_of
from orchestrator.core.errors import StoreNewer, UsageError
from orchestrator.core.record import Record

_COMPARED_AT_ONCE: Final = 200
_CONTENTS_AT_ONCE: Final = 10
"""Batch size for rows with contents, which may have two million bytes each."""
_VALUE: Final = ("field", "version")
"""The key of a personal value in every store; its number is local to a store."""


class CopiedPart(Record):
    """The result for one kind of rows."""

    part: str
    copied: int
    present: int
    """The number of rows that existed before."""
    is_sealed: bool = False
    """True if reading the rows needs the vault's key."""


@dataclass(frozen=True)
class _Part:
    """Rows of one kind, as a query of the columns that are equal in every store."""

    name: str
    rows: sa.Select[Any]
    table: sa.Table
    keys: tuple[str, ...]
    """Columns that are unique in one store."""
    compared: tuple[str, ...] = ()
    """Columns in which rows with the same key must agree; the others are local to a store."""

    def only(self, *names: str) -> sa.Select[Any]:
        """Return a query of its rows, of these columns."""
        return self.rows.with_only_columns(*(self.rows.selected_columns[name] for name in names))

    def of(self, names: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> sa.Select[Any]:
        """Return a query of its rows with these keys, of these columns."""
        column = self.rows.selected_columns
        return self.only(*names).where(sa.tuple_(*(column[key] for key in self.keys)).in_(keys))


def _of(name: str, table: sa.Table, *compared: str, keys: Sequence[str] = ()) -> _Part:
    """Return the rows of a table, by unique columns or else its primary key."""
    own = set() if not keys else {column.name for column in table.primary_key}
    rows = sa.select(*(column for column in table.columns if column.name not in own))
    return _Part(
        name, rows, table, tuple(keys or (key.name for key in table.primary_key)), compared
    )


_values: Final = schema.personal_values
_claimed: Final = sa.select(
    _values.c.field, _values.c.version, schema.personal_claims.c.claim
).join_from(schema.personal_claims, _values)
_PARTS: Final = (
    _of("catalogs", schema.catalogs, "content"),
    _of("missions on catalogs", schema.catalog_pins),
    _of("used grants", schema.grants, "used_by"),
    _of("sent calls", schema.sent_calls, "mission_id", "sent_by"),
    _of("calls under standing approvals", schema.standing_spends, "currency", "millionths"),
    _of("cancelled calls", schema.cancelled_calls),
    _of("ids of things", schema.owned_ids),
    _of("observations", schema.observations, "piece"),
    _of("results", schema.results, "status", "started_at", "closed_at"),
    _of("personal values", _values, "scope", "superseded_at", keys=_VALUE),
    _Part("claims of personal values", _claimed, schema.personal_claims, keys=(*_VALUE, "claim")),
    _of("large payloads", schema.payloads),
    _of("vectors", schema.vectors),
    _of(
        "selections",
        schema.selections,
        "record",
        keys=("source", "mission_id", "leg_id", "step"),
    ),
)
"""Ordered by their references. Facts of a store about itself are not copied."""


def copy_store(
    source: StoreDatabase, target: StoreDatabase, *, key: VaultKey | None = None
) -> tuple[CopiedPart, ...]:
    """Copy missing rows, while nobody can write to the source.

    Args:
        source: the store to copy.
        target: the store to copy to; both have the tables of this release.
        key: the target's vault key. Values stay encrypted with the source's key.

    Raises:
        UsageError: both are one store, the key is not that of the source, or the target has a
            different row with a key of the source. Nothing was copied.
        StoreNewer: one of them may have data that this release does not know.
        StoreUnavailable, StoreRefused: one of them cannot be used.
    """
    if source.identity() == target.identity():
        raise UsageError(
            f"{source.place} and {target.place} are one store, or copies of one; name another"
        )
    with source.write() as reading:
        source.freeze(reading, [part.table for part in _PARTS])
        for database in (source, target):
            _check_version(database)
        sealed_by = _check_keys(source, target, reading, key)
        compared = [_compared(part, reading, target) for part in _PARTS]
        _check_alike(target, compared, [_second_currents(reading, target)])
        _note_key(target, sealed_by)
        for part in _PARTS:
            _copy(part, reading, target)
        after = [_compared(part, reading, target) for part in _PARTS]
        _check_alike(target, after, [_Compared(one.part, one.missing) for one in after])
    return tuple(
        CopiedPart(
            part=part.name,
            copied=one.missing,
            present=one.alike,
            is_sealed=part.table is _values,
        )
        for part, one in zip(_PARTS, compared, strict=True)
    )


@dataclass
class _Compared:
    part: str
    differing: int = 0
    missing: int = 0
    alike: int = 0


def _compared(part: _Part, reading: sa.Connection, target: StoreDatabase) -> _Compared:
    found = _Compared(part.name)
    names = (*part.keys, *part.compared)
    for rows in _batches(reading, part.only(*names)):
        held = _held(part, target, rows, names)
        for row in rows:
            other = held.get(row[: len(part.keys)])
            if other is None:
                found.missing += 1
            elif other == row:
                found.alike += 1
            else:
                found.differing += 1
    return found


def _held(
    part: _Part, target: StoreDatabase, rows: Sequence[tuple[Any, ...]], names: Sequence[str]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Return the target's rows with the keys of these rows, by key."""
    size = len(part.keys)
    query = part.of(names, [row[:size] for row in rows])
    return {row[:size]: row for row in map(tuple, target.fetch(query))}


def _copy(part: _Part, reading: sa.Connection, target: StoreDatabase) -> None:
    names = [str(column.key) for column in part.rows.selected_columns]
    at_once = _at_once(part.rows)
    for keys in list(_batches(reading, part.only(*part.keys), at_once)):
        held = _held(part, target, keys, part.keys)
        missing = [row for row in keys if row not in held]
        if not missing:
            continue
        rows = [row._asdict() for row in reading.execute(_as_written(part.of(names, missing)))]
        with target.write() as connection:
            if part.table is schema.personal_claims:
                rows = [_with_number(connection, row) for row in rows]
            connection.execute(target.insert_new(part.table), rows)


def _with_number(connection: sa.Connection, claim: dict[str, Any]) -> dict[str, Any]:
    """Return a claim with the target's number of its value."""
    mine = sa.and_(*(_values.c[name] == claim[name] for name in _VALUE))
    number = connection.execute(sa.select(_values.c.number).where(mine)).scalar_one()
    return {"value_number": number, "claim": claim["claim"]}


def _batches(
    reading: sa.Connection, query: sa.Select[Any], at_once: int = 0
) -> Iterator[list[tuple[Any, ...]]]:
    size = at_once or _at_once(query)
    found = reading.execute(_as_written(query).execution_options(yield_per=size))
    for rows in found.partitions():
        yield [tuple(row) for row in rows]


def _at_once(query: sa.Select[Any]) -> int:
    has_contents = any(isinstance(c.type, sa.LargeBinary) for c in query.selected_columns)
    return _CONTENTS_AT_ONCE if has_contents else _COMPARED_AT_ONCE


def _as_written(query: sa.Select[Any]) -> sa.Select[Any]:
    """Sort rows in the order in which they were written, if the table stores one."""
    tables = (table for table in query.get_final_froms() if "number" in table.c)
    return query.order_by(*(table.c.number for table in tables))


def _second_currents(reading: sa.Connection, target: StoreDatabase) -> _Compared:
    """Count the owner's fields with different current values."""
    of = _values.c
    current = sa.and_(of.scope == OWNER, of.superseded_at.is_(None))
    query = sa.select(of.field, of.version).where(current)
    ours = {field: version for field, version in reading.execute(query)}
    theirs = {field: version for field, version in target.fetch(query)}
    two = [field for field in ours.keys() & theirs.keys() if ours[field] != theirs[field]]
    return _Compared("current personal values", differing=len(two))


def _check_alike(target: StoreDatabase, *compared: Sequence[_Compared]) -> None:
    differing = [one for group in compared for one in group if one.differing]
    if differing:
        what = ", ".join(f"{one.part}: {one.differing}" for one in differing)
        raise UsageError(
            f"{target.place} holds something else under the same keys ({what}), and nothing is "
            "overwritten; name an empty database, or let the store that has gone on be the one "
            "that you keep"
        )


def _check_version(database: StoreDatabase) -> None:
    with database.read() as connection:
        found = version_of(connection)
    if found != schema.HEAD:
        raise StoreNewer(database.place, str(found), schema.HEAD)


def _check_keys(
    source: StoreDatabase, target: StoreDatabase, reading: sa.Connection, key: VaultKey | None
) -> str | None:
    """Return the fingerprint of the key of the source's values; None if it has none.

    Raises:
        UsageError: the target has another key, or the settings have another one.
    """
    sealed_by = _sealed_by(reading)
    if sealed_by is None:
        return None
    with target.read() as connection:
        theirs = _sealed_by(connection)
    if theirs not in (None, sealed_by):
        raise UsageError(
            f"the personal values in {target.place} are sealed by another key than those in "
            f"{source.place}; forget and purge those of one of them, or give an empty database"
        )
    if key is not None and fingerprint(key.read()) != sealed_by:
        raise UsageError(
            f"{key.name} is not the key that seals the personal values in {source.place}; set it "
            "to that key (of a SQLite store: pii/pii.key beside it)"
        )
    return sealed_by


def _sealed_by(connection: sa.Connection) -> str | None:
    if connection.execute(sa.select(_values.c.number).limit(1)).first() is None:
        return None
    query = sa.select(schema.facts.c.value).where(schema.facts.c.name == KEY_FACT)
    sealed_by: str | None = connection.execute(query).scalar()
    return sealed_by


def _note_key(target: StoreDatabase, sealed_by: str | None) -> None:
    if sealed_by is not None:
        target.run(target.put(schema.facts, "value"), {"name": KEY_FACT, "value": sealed_by})
