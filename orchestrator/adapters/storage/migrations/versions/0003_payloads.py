"""Large payloads, where the store keeps them; earlier releases do without."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "payloads",
        sa.Column("namespace", sa.String(200), nullable=False),
        sa.Column("workflow_id", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("kept_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "workflow_id", "sha256", name="pk_payloads"),
    )
