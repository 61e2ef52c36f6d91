"""The tables of notices."""

from alembic import op

from orchestrator.adapters.storage.schema import disabled_channels, notice_deliveries

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create both tables; earlier releases leave them alone."""
    for table in (notice_deliveries, disabled_channels):
        table.create(op.get_bind())
