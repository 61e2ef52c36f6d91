"""The first tables: catalogs, grants, observations, personal values, vectors and selections."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make them."""
    facts = op.create_table(
        "store_facts",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_store_facts"),
    )
    op.bulk_insert(facts, [{"name": "readable_by", "value": revision}])
    op.create_table(
        "taken_over",
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("source", name="pk_taken_over"),
    )
    _make_catalogs()
    _make_grants()
    _make_observations()
    _make_personal_values()
    _make_routing()


def _make_catalogs() -> None:
    op.create_table(
        "catalogs",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("used_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_catalogs"),
    )
    op.create_table(
        "catalog_pins",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("mission_id", sa.Text, nullable=False),
        sa.Column("pinned_at", _MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["catalogs.digest"], name="fk_catalog_pins_digest"),
        sa.PrimaryKeyConstraint("digest", "mission_id", name="pk_catalog_pins"),
    )


def _make_grants() -> None:
    op.create_table(
        "grants",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("used_by", sa.Text, nullable=False),
        sa.Column("used_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_grants"),
    )
    op.create_table(
        "taken_back",
        sa.Column("call_digest", sa.String(64), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("call_digest", name="pk_taken_back"),
    )


def _make_observations() -> None:
    op.create_table(
        "observations",
        sa.Column("mission_id", sa.Text, nullable=False),
        sa.Column("key_digest", sa.String(64), nullable=False),
        sa.Column("piece", sa.LargeBinary, nullable=False),
        sa.Column("kept_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("mission_id", "key_digest", name="pk_observations"),
    )
    op.create_index("observations_by_age", "observations", ["mission_id", "kept_at"])


def _make_personal_values() -> None:
    op.create_table(
        "personal_values",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("field", sa.String(100), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("stored_at", _MOMENT, nullable=False),
        sa.Column("superseded_at", _MOMENT),
        sa.PrimaryKeyConstraint("number", name="pk_personal_values"),
        sa.UniqueConstraint("field", "version", name="uq_personal_values_field"),
    )
    op.create_index("personal_values_by_scope", "personal_values", ["scope"])
    owners_current = sa.text("scope = '' AND superseded_at IS NULL")
    op.create_index(
        "personal_values_current",
        "personal_values",
        ["field"],
        unique=True,
        sqlite_where=owners_current,
        postgresql_where=owners_current,
    )
    op.create_table(
        "personal_claims",
        sa.Column("value_number", _NUMBER, nullable=False),
        sa.Column("claim", sa.String(128), nullable=False),
        sa.ForeignKeyConstraint(
            ["value_number"],
            ["personal_values.number"],
            name="fk_personal_claims_value_number",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("value_number", "claim", name="pk_personal_claims"),
    )


def _make_routing() -> None:
    op.create_table(
        "vectors",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_vectors"),
    )
    op.create_table(
        "selections",
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("mission_id", sa.Text, nullable=False),
        sa.Column("leg_id", sa.Text, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("called", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_selections"),
        sa.UniqueConstraint("source", "mission_id", "leg_id", "step", name="uq_selections_source"),
        sqlite_autoincrement=True,
    )
