"""The tables of the first release.

Until that release is tagged they are created from the current metadata; then they are frozen here,
table by table, and no revision is edited after its release.
"""

import sqlalchemy as sa
from alembic import op

from orchestrator.adapters.storage.schema import READABLE_BY, facts, metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table, and record the oldest release that can use them."""
    metadata.create_all(op.get_bind())
    op.execute(sa.insert(facts).values(name=READABLE_BY, value=revision))
