"""Bringing the tables of a store to the newest revision, by whichever process comes first."""

import importlib.resources
from typing import Final

import sqlalchemy as sa

from orchestrator.adapters.storage.schema import HEAD, facts
from orchestrator.adapters.storage.store_database import StoreDatabase
from orchestrator.core.errors import StoreNewer

READABLE_BY: Final = "readable_by"
"""The fact that names the oldest revision whose releases can use the tables as they are now."""
_LOCK: Final = 0x6F726368
_VERSION: Final = "alembic_version"


def migrate(database: StoreDatabase) -> None:
    """Have the tables that this release knows; those of a newer one may do as well.

    All in one transaction, one process at a time: one that dies leaves what was.

    Raises:
        StoreNewer: a newer release changed them so that this one cannot use them.
    """
    with database.read() as connection:
        found = version_of(connection)
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        _check_readable(database, found)
        return
    with database.write() as connection:
        database.lock(connection, _LOCK)
        if version_of(connection) != HEAD:
            _upgrade(connection)


def version_of(connection: sa.Connection) -> str | None:
    """The revision of the tables; None where there are none."""
    if not sa.inspect(connection).has_table(_VERSION):
        return None
    found: str | None = connection.execute(
        sa.select(sa.column("version_num")).select_from(sa.table(_VERSION))
    ).scalar()
    return found


def _check_readable(database: StoreDatabase, found: str) -> None:
    with database.read() as connection:
        query = sa.select(facts.c.value).where(facts.c.name == READABLE_BY)
        readable_by = connection.execute(query).scalar()
    if readable_by is None or readable_by > HEAD:
        raise StoreNewer(database.place, found, HEAD)


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command  # takes a quarter of a second, and is hardly ever needed
    from alembic.config import Config

    config = Config()
    folder = importlib.resources.files("orchestrator.adapters.storage") / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
