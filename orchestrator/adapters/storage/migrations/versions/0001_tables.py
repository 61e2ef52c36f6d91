"""The tables of the first release.

Until that release is tagged they are created from the current metadata, without the tables of later
revisions; then they are frozen here, table by table, and no revision is edited after its release.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

from orchestrator.adapters.storage.schema import READABLE_BY, facts, metadata

revision = "0001"
down_revision = None
_LATER: Final = frozenset({"api_tokens", "sign_outs", "notice_deliveries", "disabled_channels"})
"""The tables that later revisions create."""


def upgrade() -> None:
    """Create every table, and record the oldest release that can use them."""
    tables = [table for table in metadata.sorted_tables if table.name not in _LATER]
    metadata.create_all(op.get_bind(), tables=tables)
    op.execute(sa.insert(facts).values(name=READABLE_BY, value=revision))
