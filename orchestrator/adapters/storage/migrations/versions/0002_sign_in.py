"""The tables of sign-in: API tokens, and sessions that were ended before their time."""

import sqlalchemy as sa
from alembic import op

from orchestrator.adapters.storage.schema import UtcMoment

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create both tables. Releases of the first revision do not miss them."""
    op.create_table(
        "api_tokens",
        sa.Column("token_id", sa.String(32), primary_key=True),
        sa.Column("secret_digest", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("sees_all", sa.Boolean, nullable=False),
        sa.Column("created_by", sa.String(200), nullable=False),
        sa.Column("created_at", UtcMoment, nullable=False),
        sa.Column("expires_at", UtcMoment, nullable=False),
        sa.Column("revoked_at", UtcMoment),
    )
    op.create_table(
        "sign_outs",
        sa.Column("session", sa.String(80), primary_key=True),
        sa.Column("at", UtcMoment, nullable=False),
        sa.Column("until", UtcMoment, nullable=False),
        sa.Index("sign_outs_by_end", "until"),
    )
