"""Used grants, sent calls and cancelled calls, in a database."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import Final

import sqlalchemy as sa

from orchestrator.adapters.storage.protocols import A_DAY, Claim, SentCall, StandingSpend
from orchestrator.adapters.storage.schema import (
    cancelled_calls,
    grants,
    owned_ids,
    sent_calls,
    standing_spends,
)
from orchestrator.adapters.storage.store_database import StoreDatabase, digest_of
from orchestrator.core.budget import Money
from orchestrator.core.errors import GrantRefused
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState

_SENT = sent_calls.c
_OWNED = owned_ids.c
_SPENT = standing_spends.c
_COUNTING: Final = 0x73746E64
"""The lock under which one call at a time is counted."""
_MILLION: Final = 10**6
_SUMS: Final = sa.select(
    *(
        sa.func.coalesce(sa.func.sum(part), 0)
        for part in (_SPENT.millionths // _MILLION, _SPENT.millionths % _MILLION)
    )
)
"""Units, and the millionths beyond them: a sum of all millionths may exceed what a column holds."""
_MOST: Final = Decimal(9 * 10**12)
"""More than this of one currency counts as this: a database's number holds no more millionths."""


class SqlGrants:
    """A `GrantBook`: a row for each used grant and each sent call, unique by primary keys.

    Exactly one of several concurrent processes gets a grant, and holds it: the row is committed
    before the call is sent.
    """

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def send(self, call: SentCall) -> Claim:
        """See `GrantBook.send`; committed before this returns."""
        now = call.at or datetime.now(UTC)
        with self._database.write() as connection:
            if call.spend is not None:
                self._count(connection, call, call.spend, now)
            used: tuple[str | None, ...] = ()
            claimed = self._database.insert_new(grants).returning(grants.c.digest)
            for digest in call.grants:
                row = {"digest": digest, "used_by": call.user, "used_at": now}
                before = None
                if connection.execute(claimed, row).first() is None:
                    query = sa.select(grants.c.used_by).where(grants.c.digest == digest)
                    before = connection.execute(query).scalar_one()
                used = (*used, before)
            if call.ledger == Ledger():
                return Claim(used)
            sent = {
                "call_digest": digest_of(call.call_id),
                "mission_id": call.mission_id,
                "sent_by": call.user,
                "noted_at": now,
                "ledger": _written(call.ledger),
                "concluded": False,
            }
            made = self._database.insert_new(sent_calls).returning(_SENT.call_digest)
            if connection.execute(made, sent).first() is not None:
                return Claim(used)
            noted = sa.select(_SENT.sent_by, _SENT.ledger, _SENT.concluded)
            noted = noted.where(_SENT.call_digest == sent["call_digest"])
            earlier = connection.execute(noted).one()
            known = Ledger() if earlier.concluded else _read(earlier.ledger)
            return Claim(used, earlier.sent_by, known)

    def _count(
        self, connection: sa.Connection, call: SentCall, spend: StandingSpend, now: datetime
    ) -> None:
        """Count a call once, even if it is sent several times."""
        self._database.lock(connection, _COUNTING)
        price = {"currency": spend.price.currency, "millionths": _millionths(spend.price)}
        for rule in spend.rules:
            full = _refusal(connection, StandingSpend((rule,), spend.price), now)
            row = {"rule": rule.name, "call_digest": digest_of(call.call_id), "at": now, **price}
            made = self._database.insert_new(standing_spends).returning(_SPENT.rule)
            if connection.execute(made, row).first() is not None and full is not None:
                raise GrantRefused(call.call_id, full)

    def refusal(self, spend: StandingSpend) -> str | None:
        """See `GrantBook.refusal`."""
        with self._database.read() as connection:
            return _refusal(connection, spend, datetime.now(UTC))

    def settle(self, call_id: str, ledger: Ledger) -> None:
        """See `GrantBook.settle`; if a loss of power loses the outcome, the call is unclear."""
        digest, now = digest_of(call_id), datetime.now(UTC)
        change = sa.update(sent_calls).where(_SENT.call_digest == digest)
        with self._database.write(durable=False) as connection:
            connection.execute(change.values(noted_at=now, ledger=_written(ledger)))
            for made in ledger.obligations:
                spent = _SPENT.call_digest == digest
                if made.state is ObligationState.VOID:
                    connection.execute(sa.delete(standing_spends).where(spent))
                elif made.price is not None:
                    counted = sa.update(standing_spends).where(
                        spent, _SPENT.currency == made.price.currency
                    )
                    connection.execute(counted.values(millionths=_millionths(made.price)))
            for name, mission_id in ledger.freed_ids():
                freed = sa.delete(owned_ids).where(_OWNED.id_digest == name)
                by = _OWNED.mission_id == mission_id
                connection.execute(freed.where(by) if mission_id else freed)
            for name, mission_id in ledger.claimed_ids():
                row = {"id_digest": name, "mission_id": mission_id}
                connection.execute(self._database.insert_new(owned_ids), row)

    def owner_of(self, obligation: Obligation) -> str:
        """See `GrantBook.owner_of`."""
        query = sa.select(_OWNED.mission_id).where(_OWNED.id_digest == obligation.answered_name)
        owners = [row.mission_id for row in self._database.fetch(query)]
        return next((one for one in owners if one != obligation.mission_id), "")

    def note_cancel(self, call_id: str) -> None:
        """See `GrantBook.note_cancel`; committed before the cancel is sent."""
        row = {"call_digest": digest_of(call_id), "at": datetime.now(UTC)}
        self._database.run(self._database.insert_new(cancelled_calls), row)

    def is_cancelled(self, call_id: str) -> bool:
        """See `GrantBook.is_cancelled`."""
        query = sa.select(sa.literal(1)).where(cancelled_calls.c.call_digest == digest_of(call_id))
        return bool(self._database.fetch(query))

    def ledger(self, mission_id: str, *, concluded: bool = False) -> Ledger:
        """See `GrantBook.ledger`."""
        query = sa.select(_SENT.ledger).where(_SENT.mission_id == mission_id)
        if not concluded:
            query = query.where(~_SENT.concluded)
        return Ledger.united(_read(row.ledger) for row in self._database.fetch(query))

    def unfinished(self, *, after: str, most: int) -> Sequence[str]:
        """See `GrantBook.unfinished`."""
        query = (
            sa.select(_SENT.mission_id)
            .where(~_SENT.concluded, _SENT.mission_id > after)
            .distinct()
            .order_by(_SENT.mission_id)
            .limit(most)
        )
        return tuple(row.mission_id for row in self._database.fetch(query))

    def last_noted(self, mission_id: str) -> datetime | None:
        """See `GrantBook.last_noted`."""
        query = sa.select(sa.func.max(_SENT.noted_at)).where(_SENT.mission_id == mission_id)
        last: datetime | None = self._database.fetch(query)[0][0]
        return last

    def note_running(self, mission_ids: Sequence[str]) -> None:
        """See `GrantBook.note_running`."""
        running = _SENT.mission_id.in_(mission_ids) & ~_SENT.concluded
        change = sa.update(sent_calls).where(running).values(noted_at=datetime.now(UTC))
        self._database.run(change, durable=False)

    def conclude(self, mission_id: str, *, but: Sequence[str] = (), durable: bool = False) -> None:
        """See `GrantBook.conclude`."""
        change = sa.update(sent_calls).where(_SENT.mission_id == mission_id)
        if but:
            change = change.where(_SENT.call_digest.not_in([digest_of(call_id) for call_id in but]))
        self._database.run(change.values(concluded=True), durable=durable)

    def missions(self) -> Mapping[str, datetime]:
        """Return the concluded missions whose obligations are stored, and when they were noted."""
        query = (
            sa.select(_SENT.mission_id, sa.func.max(_SENT.noted_at))
            .where(_SENT.concluded, _SENT.ledger != _NOTHING)
            .group_by(_SENT.mission_id)
        )
        return {mission_id: at for mission_id, at in self._database.fetch(query)}

    def purge(self, *mission_ids: str) -> None:
        """Remove the obligations of concluded missions; their calls remain recorded as sent."""
        for mission_id in mission_ids:
            change = sa.update(sent_calls).where(_SENT.mission_id == mission_id, _SENT.concluded)
            self._database.run(change.values(ledger=_NOTHING))


def _refusal(connection: sa.Connection, spend: StandingSpend, now: datetime) -> str | None:
    for rule in spend.rules:
        spent = _SUMS.where(_SPENT.rule == rule.name, _SPENT.currency == spend.price.currency)
        total, in_a_day = (
            Decimal(int(whole)) + Decimal(int(rest)) / _MILLION
            for query in (spent, spent.where(_SPENT.at > now - A_DAY))
            for whole, rest in connection.execute(query)
        )
        if (full := rule.refusal(spend.price, total, in_a_day)) is not None:
            return full
    return None


def _millionths(money: Money) -> int:
    return int((min(money.amount, _MOST) * _MILLION).to_integral_value(ROUND_CEILING))


def _written(ledger: Ledger) -> bytes:
    return ledger.model_dump_json().encode()


def _read(kept: bytes) -> Ledger:
    return Ledger.model_validate_json(kept)


_NOTHING = _written(Ledger())
