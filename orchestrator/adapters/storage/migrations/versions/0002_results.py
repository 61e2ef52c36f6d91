"""Results of missions, kept for longer than their histories; earlier releases do without."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "results",
        sa.Column("mission_id", sa.Text, nullable=False),
        sa.Column("status", sa.String(40), nullable=False),
        sa.Column("started_at", _MOMENT, nullable=False),
        sa.Column("closed_at", _MOMENT, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False),
        sa.Column("piece", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("mission_id", name="pk_results"),
    )
    op.create_index("results_by_start", "results", ["started_at"])
