"""How notices were delivered, in a database: ids and states, and no text of any card."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.adapters.storage.schema import disabled_channels, notice_deliveries
from orchestrator.adapters.storage.store_database import StoreDatabase, digest_of
from orchestrator.messages.notice import DeliveryState, DisabledChannel, Notice, NoticeRecord

_OF: Final = notice_deliveries.c
_OFF: Final = disabled_channels.c
_LONGEST_ERROR: Final = 400
_IDS_AT_ONCE: Final = 500


class SqlNotices:
    """A row for each notice and channel."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._insert = database.insert_new(notice_deliveries)

    def attempt(self, notice: Notice, channel: str) -> NoticeRecord:
        """Count an attempt; return the record before it, with `attempts` of 0 for the first."""
        now = datetime.now(UTC)
        row = {
            "notice_id": notice.notice_id,
            "channel": channel,
            "event": notice.event,
            "mission_id": notice.mission_id,
            "wait_id": notice.wait_id,
            "digest": notice.digest,
            "state": "waiting",
            "attempts": 0,
            "error": "",
            "receipt": "",
            "first_at": now,
            "last_at": now,
        }
        with self._database.write() as connection:
            connection.execute(self._insert, row)
            its = _its(notice.notice_id, channel)
            found = connection.execute(sa.select(notice_deliveries).where(its)).one()
            counted = sa.update(notice_deliveries).where(its)
            connection.execute(counted.values(attempts=found.attempts + 1, last_at=now))
        return _record(found)

    def end(
        self,
        notice_id: str,
        channel: str,
        state: DeliveryState,
        *,
        error: str = "",
        receipt: str | None = None,
    ) -> None:
        """Note the outcome of an attempt; a delivered notice stays delivered."""
        values: dict[str, Any] = {
            "state": state,
            "error": error[:_LONGEST_ERROR],
            "last_at": datetime.now(UTC),
        }
        if receipt is not None:
            values["receipt"] = receipt
        update = sa.update(notice_deliveries).where(_its(notice_id, channel)).values(values)
        if state != "delivered":
            update = update.where(_OF.state != "delivered")
        self._database.run(update)

    def one(self, notice_id: str, channel: str) -> NoticeRecord | None:
        """Return one record."""
        query = sa.select(notice_deliveries).where(_its(notice_id, channel))
        rows = self._database.fetch(query)
        return _record(rows[0]) if rows else None

    def of_waits(self, wait_ids: Sequence[str]) -> dict[str, tuple[NoticeRecord, ...]]:
        """Return the records of cards and questions, by their ids, oldest first."""
        found: dict[str, list[NoticeRecord]] = {one: [] for one in wait_ids}
        for start in range(0, len(wait_ids), _IDS_AT_ONCE):
            some = wait_ids[start : start + _IDS_AT_ONCE]
            query = sa.select(notice_deliveries).where(_OF.wait_id.in_(some))
            for row in self._database.fetch(query.order_by(_OF.first_at, _OF.notice_id)):
                found[row.wait_id].append(_record(row))
        return {wait_id: tuple(records) for wait_id, records in found.items()}

    def shown(self, channel: str, wait_id: str) -> list[NoticeRecord]:
        """Return the records of a card that a channel shows, oldest first."""
        query = sa.select(notice_deliveries).where(
            _OF.wait_id == wait_id, _OF.channel == channel, _OF.receipt != ""
        )
        return [_record(row) for row in self._database.fetch(query.order_by(_OF.first_at))]

    def listed(
        self, *, state: DeliveryState | None = None, since: datetime | None = None, most: int = 200
    ) -> list[NoticeRecord]:
        """Return records, the newest first."""
        query = sa.select(notice_deliveries).order_by(_OF.last_at.desc(), _OF.notice_id)
        if state is not None:
            query = query.where(_OF.state == state)
        if since is not None:
            query = query.where(_OF.last_at >= since)
        return [_record(row) for row in self._database.fetch(query.limit(most))]

    def named(self, notice_id: str) -> list[NoticeRecord]:
        """Return the records of one notice, by channel."""
        query = sa.select(notice_deliveries).where(_OF.notice_id == notice_id)
        return [_record(row) for row in self._database.fetch(query.order_by(_OF.channel))]

    def remove_before(self, moment: datetime) -> int:
        """Remove the records that have not changed since then; return how many."""
        return self._database.run(sa.delete(notice_deliveries).where(_OF.last_at < moment))

    # -- disabled channels ------------------------------------------------------------------------

    def disable(self, channel: str, address: str, why: str) -> None:
        """Note that the receiver at an address wants no further notice."""
        row = {
            "channel": channel,
            "address_digest": digest_of(address),
            "since": datetime.now(UTC),
            "why": why[:_LONGEST_ERROR],
        }
        self._database.run(self._database.insert_new(disabled_channels), row)

    def enable(self, channel: str) -> None:
        """Let a channel be used again."""
        self._database.run(sa.delete(disabled_channels).where(_OFF.channel == channel))

    def disabled(self, channel: str, address: str) -> DisabledChannel | None:
        """Return since when a channel is disabled; None if it is not, or has a new address."""
        query = sa.select(disabled_channels).where(
            _OFF.channel == channel, _OFF.address_digest == digest_of(address)
        )
        rows = self._database.fetch(query)
        return _disabled(rows[0]) if rows else None

    def all_disabled(self) -> list[DisabledChannel]:
        """Return every disabled channel."""
        query = sa.select(disabled_channels).order_by(_OFF.channel)
        return [_disabled(row) for row in self._database.fetch(query)]


def _its(notice_id: str, channel: str) -> sa.ColumnElement[bool]:
    return sa.and_(_OF.notice_id == notice_id, _OF.channel == channel)


def _record(row: Any) -> NoticeRecord:
    return NoticeRecord.model_validate(dict(row._mapping))


def _disabled(row: Any) -> DisabledChannel:
    return DisabledChannel(channel=row.channel, since=row.since, why=row.why)
