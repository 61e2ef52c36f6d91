"""The tables of a store: one schema for SQLite and PostgreSQL, changed by `migrations` alone."""

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    and_,
)

HEAD: Final = "0001"
"""The revision of these tables; a test compares it with the newest of `migrations`."""
READABLE_BY: Final = "readable_by"
"""The fact that names the oldest revision whose releases can use the tables as they are now."""
_DIGEST: Final = String(64)
_NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")


class UtcMoment(TypeDecorator[datetime]):
    """A moment in UTC; stored without a zone in SQLite, which has none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Add the zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

facts = Table(
    "store_facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

catalogs = Table(
    "catalogs",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("used_at", UtcMoment, nullable=False),
)

catalog_pins = Table(
    "catalog_pins",
    metadata,
    Column("digest", ForeignKey(catalogs.c.digest), primary_key=True),
    Column("mission_id", Text, primary_key=True),
    Column("pinned_at", UtcMoment, nullable=False),
)

grants = Table(
    "grants",
    metadata,
    Column("digest", _DIGEST, primary_key=True),
    Column("used_by", Text, nullable=False),
    Column("used_at", UtcMoment, nullable=False),
)

sent_calls = Table(
    "sent_calls",
    metadata,
    Column("call_digest", _DIGEST, primary_key=True),
    Column("mission_id", Text, nullable=False),
    Column("sent_by", Text, nullable=False),
    Column("ledger", LargeBinary, nullable=False),
    Column("concluded", Boolean, nullable=False),
    Column("noted_at", UtcMoment, nullable=False),
    Index("sent_calls_by_mission", "mission_id"),
)

standing_spends = Table(
    "standing_spends",
    metadata,
    Column("rule", String(80), primary_key=True),
    Column("call_digest", _DIGEST, primary_key=True),
    Column("currency", String(3), nullable=False),
    Column("millionths", _NUMBER, nullable=False),
    Column("at", UtcMoment, nullable=False),
    Index("standing_spends_by_call", "call_digest"),
)

cancelled_calls = Table(
    "cancelled_calls",
    metadata,
    Column("call_digest", _DIGEST, primary_key=True),
    Column("at", UtcMoment, nullable=False),
)

owned_ids = Table(
    "owned_ids",
    metadata,
    Column("id_digest", _DIGEST, primary_key=True),
    Column("mission_id", Text, nullable=False),
)

observations = Table(
    "observations",
    metadata,
    Column("mission_id", Text, primary_key=True),
    Column("key_digest", _DIGEST, primary_key=True),
    Column("piece", LargeBinary, nullable=False),
    Column("kept_at", UtcMoment, nullable=False),
    Index("observations_by_age", "mission_id", "kept_at"),
)

personal_values = Table(
    "personal_values",
    metadata,
    Column("number", _NUMBER, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("field", String(100), nullable=False),
    Column("version", String(64), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("stored_at", UtcMoment, nullable=False),
    Column("superseded_at", UtcMoment),
    UniqueConstraint("field", "version"),
    Index("personal_values_by_scope", "scope"),
)
_owner_has_one: Final = and_(
    personal_values.c.scope == "", personal_values.c.superseded_at.is_(None)
)
Index(
    "personal_values_current",
    personal_values.c.field,
    unique=True,
    sqlite_where=_owner_has_one,
    postgresql_where=_owner_has_one,
)

personal_claims = Table(
    "personal_claims",
    metadata,
    Column(
        "value_number", ForeignKey(personal_values.c.number, ondelete="CASCADE"), primary_key=True
    ),
    Column("claim", String(128), primary_key=True),
)

selections = Table(
    "selections",
    metadata,
    Column("number", _NUMBER, primary_key=True),
    Column("source", String(16), nullable=False),
    Column("mission_id", Text, nullable=False),
    Column("leg_id", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("record", Text, nullable=False),
    Column("called", Text),
    UniqueConstraint("source", "mission_id", "leg_id", "step"),
    sqlite_autoincrement=True,
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("token_id", String(32), primary_key=True),
    Column("secret_digest", _DIGEST, nullable=False),
    Column("subject", String(200), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("sees_all", Boolean, nullable=False),
    Column("created_by", String(200), nullable=False),
    Column("created_at", UtcMoment, nullable=False),
    Column("expires_at", UtcMoment, nullable=False),
    Column("revoked_at", UtcMoment),
)

sign_outs = Table(
    "sign_outs",
    metadata,
    Column("session", String(80), primary_key=True),
    Column("at", UtcMoment, nullable=False),
    Column("until", UtcMoment, nullable=False),
    Index("sign_outs_by_end", "until"),
)

notice_deliveries = Table(
    "notice_deliveries",
    metadata,
    Column("notice_id", String(80), primary_key=True),
    Column("channel", String(40), primary_key=True),
    Column("event", String(32), nullable=False),
    Column("mission_id", Text, nullable=False),
    Column("wait_id", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("receipt", Text, nullable=False),
    Column("first_at", UtcMoment, nullable=False),
    Column("last_at", UtcMoment, nullable=False),
    Index("notice_deliveries_by_wait", "wait_id"),
    Index("notice_deliveries_by_age", "last_at"),
)

disabled_channels = Table(
    "disabled_channels",
    metadata,
    Column("channel", String(40), primary_key=True),
    # The digest of its address: a channel with another address is another receiver.
    Column("address_digest", _DIGEST, primary_key=True),
    Column("since", UtcMoment, nullable=False),
    Column("why", Text, nullable=False),
)
