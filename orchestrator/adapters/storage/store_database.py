"""The database, SQLite or PostgreSQL: connections, transactions, errors and migrations."""

import contextlib
import hashlib
import importlib.resources
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from orchestrator.adapters.storage.files import private_file, private_folder
from orchestrator.adapters.storage.schema import HEAD, READABLE_BY, facts
from orchestrator.core.errors import StoreRefused, StoreUnavailable

_POSTGRESQL: Final = "postgresql+psycopg"
_SCHEMES: Final = {
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    _POSTGRESQL: _POSTGRESQL,
    "sqlite": "sqlite+pysqlite",
}
_MIGRATING: Final = 0x6F726368
"""The lock under which one process at a time migrates."""
_VERSION: Final = "alembic_version"
_CONNECT_S: Final = 5
_ANSWER_S: Final = 10.0
"""Seconds for one statement: most take milliseconds, the slowest waits for a migration."""
_IDENTITY: Final = "identity"
"""The fact that identifies a store."""
_BUSY_S: Final = 10
"""Seconds that a writer waits for another writer of the same SQLite file."""
_REST_S: Final = 1.0
"""Seconds without a new attempt after a server was unreachable, so that callers do not queue."""
_NOT_LET_IN: Final = ("28", "3D", "42501")
"""SQLSTATEs of a wrong password, a missing database and missing rights: waiting does not help."""
_NEVER_IN: Final = {"username": ":/", "host": "@/", "database": ":/@="}
"""Delimiters that no shown part of a URL may contain.

A URL that contains one is misread, and its password may be in any part.
"""


def url_of(text: str) -> URL:
    """Return the database URL that a setting names.

    Raises:
        StoreRefused: it names none; the error quotes nothing of the setting.
    """
    try:
        url = sa.make_url(text.strip())
        driver = _SCHEMES[url.drivername]
    except (SQLAlchemyError, KeyError, ValueError):
        raise _refused("the URL", "it names no PostgreSQL or SQLite database") from None
    if url.drivername.startswith("sqlite"):
        is_misread = bool(url.username or url.host or "://" in (url.database or ""))
    else:
        parts = ((getattr(url, part) or "", never) for part, never in _NEVER_IN.items())
        is_misread = any(set(text) & set(never) for text, never in parts)
    if is_misread:
        raise _refused("the URL", "its parts cannot be distinguished")
    if driver == _POSTGRESQL and not url.database:
        raise _refused(place_of(url), "it names no database")
    return url.set(drivername=driver)


def _refused(place: str, reason: str) -> StoreRefused:
    wanted = "it should be postgresql://USER:PASSWORD@HOST/DATABASE"
    return StoreRefused(f"ORCHESTRATOR_STORE: {place}: {reason}; {wanted}")


def is_url(text: str) -> bool:
    """Return True if a text is meant as the URL of a store, valid or not, and not as a path."""
    scheme, colon, _ = text.strip().partition(":")
    return "://" in text or (bool(colon) and scheme in _SCHEMES)


def file_url(path: Path) -> URL:
    """Return the URL of the SQLite database in a file."""
    return URL.create(_SCHEMES["sqlite"], database=str(path))


def place_of(url: URL) -> str:
    """Return the display name of a database, without password and parameters."""
    if url.drivername.startswith("sqlite"):
        return url.database or "in memory"
    return URL.create(
        "postgresql", url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string()


class StoreDatabase:
    """A database that several threads and processes read and write at once.

    Nothing is opened before the first use, which prepares the tables. Each raises StoreUnavailable
    or StoreRefused if the database cannot be used.
    """

    def __init__(
        self, url: URL, *, prepare: Callable[["StoreDatabase"], None] | None = None
    ) -> None:
        self.url = url
        self.place = place_of(url)
        self.is_file = url.drivername.startswith("sqlite")
        self._prepare = prepare
        self._engine: sa.Engine | None = None
        self._lock = threading.RLock()
        self._is_prepared = False
        self._away = (0.0, "")
        """The time until which no connection is attempted, and the reason."""

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection for reading; each statement sees earlier commits."""
        level: dict[str, Any] = {} if self.is_file else {"isolation_level": "AUTOCOMMIT"}
        with self._translated(), self._prepared().connect() as connection:
            yield connection.execution_options(**level)

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sa.Connection]:
        """Open a transaction: all of it is committed when the block ends, or nothing.

        If it is not durable, a loss of power may lose it. If the connection is lost during the
        commit, the outcome is unknown.
        """
        with self._translated(), self._prepared().connect() as connection:
            if self.is_file:
                level = "FULL" if durable else "NORMAL"
                connection.connection.cursor().execute(f"PRAGMA synchronous = {level}")
            with connection.execution_options(writes=True).begin():
                if not self.is_file and not durable:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield connection

    def fetch(
        self, query: sa.Select[Any], values: Mapping[str, object] | None = None
    ) -> Sequence[Any]:
        """Return the rows of one query."""
        with self.read() as connection:
            return connection.execute(query, values).all()

    def run(
        self,
        statement: sa.UpdateBase,
        values: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
        *,
        durable: bool = True,
    ) -> int:
        """Commit one statement; return how many rows it changed."""
        with self.write(durable=durable) as connection:
            changed: int = connection.execute(statement, values).rowcount
            return changed

    def insert_new(self, table: sa.Table) -> Any:
        """Return an INSERT that does nothing, and returns no row, if the row exists."""
        insert = sqlite.insert if self.is_file else postgresql.insert
        return insert(table).on_conflict_do_nothing()

    def put(self, table: sa.Table, *changing: str, keys: Sequence[str] = ()) -> Any:
        """Return an INSERT that updates these columns of an existing row with the same keys.

        Keys are the columns of a unique constraint; by default the primary key.
        """
        made = (sqlite.insert if self.is_file else postgresql.insert)(table)
        return made.on_conflict_do_update(
            index_elements=list(keys) or [column.name for column in table.primary_key],
            set_={name: made.excluded[name] for name in changing},
        )

    def lock(self, connection: sa.Connection, number: int) -> None:
        """Take an exclusive lock, named by a number, until the transaction ends."""
        if not self.is_file:  # SQLite allows one writer at a time
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))

    def identity(self) -> str:
        """Return the id of this store, which is created once and stored in its tables."""
        query = sa.select(facts.c.value).where(facts.c.name == _IDENTITY)
        if not (found := self.fetch(query)):
            self.run(self.insert_new(facts), {"name": _IDENTITY, "value": uuid.uuid4().hex})
            found = self.fetch(query)
        identity: str = found[0].value
        return identity

    def open(self) -> None:
        """Prepare the tables now."""
        with self._translated():
            self._prepared()

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    # -- connections ------------------------------------------------------------------------------

    def _prepared(self) -> sa.Engine:
        until, reason = self._away
        if time.monotonic() < until:
            raise StoreUnavailable(self.place, reason)
        with self._lock:
            if self._engine is None:
                self._engine = self._made()
                weakref.finalize(self, self._engine.dispose)
            if not self._is_prepared:
                self._is_prepared = True  # `_prepare` uses this object
                try:
                    if self._prepare is not None:
                        self._prepare(self)
                except BaseException:
                    self._is_prepared = False
                    raise
            return self._engine

    def _made(self) -> sa.Engine:
        if not self.is_file:
            engine = sa.create_engine(
                self.url,
                pool_pre_ping=True,  # drops connections from before a restart of the server
                pool_recycle=600,
                pool_timeout=_CONNECT_S,
                max_overflow=15,
                connect_args={
                    "connect_timeout": _CONNECT_S,
                    "tcp_user_timeout": _CONNECT_S * 2000,
                    # A machine that dies in the middle of an answer sends nothing, not even an
                    # error: without these its caller waits for as long as the system allows.
                    "keepalives_idle": _CONNECT_S,
                    "keepalives_interval": _CONNECT_S,
                    "keepalives_count": 2,
                    "application_name": "orchestrator",
                    # Poolers that assign another connection to each transaction lose prepared
                    # statements.
                    "prepare_threshold": None,
                },
            )
            sa.event.listen(
                engine,
                "do_connect",
                lambda _, __, given, options: _answering_connection().connect(*given, **options),
            )
            return engine
        path = Path(self.url.database or "")
        private_folder(path.parent)
        # SQLite gives its other files the mode of this one.
        private_file(path)
        engine = sa.create_engine(
            self.url,
            poolclass=sa.QueuePool,
            max_overflow=15,
            connect_args={"timeout": _BUSY_S, "check_same_thread": False},
        )
        sa.event.listen(engine, "connect", _set_up_file)
        sa.event.listen(engine, "begin", _begin_in_file)
        return engine

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except DBAPIError as error:
            # Quote nothing of the statement: its parameters are stored values.
            said = " ".join(str(error.orig).split())
            if self.url.password:
                said = said.replace(str(self.url.password), "***")
            state = str(getattr(error.orig, "sqlstate", None) or "")
            if state.startswith(_NOT_LET_IN):
                raise _refused(self.place, said) from error
            if isinstance(error, OperationalError) and not self.is_file:
                self._away = (time.monotonic() + _REST_S, said)
            raise StoreUnavailable(self.place, said) from error
        except (sa.exc.TimeoutError, OSError) as error:
            reason = getattr(error, "strerror", None) or "all its connections are in use"
            raise StoreUnavailable(self.place, reason) from error


@cache
def _answering_connection() -> Any:
    """Return a connection class that gives up on a server that hangs.

    A machine that is stopped, or whose disk hangs, holds its connections open and answers nothing:
    no setting of the server, nor of TCP, ends that.
    """
    import psycopg  # only where the store is PostgreSQL

    class AnsweringConnection(psycopg.Connection[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return super().wait(gen, interval, timeout or _ANSWER_S)
            except psycopg.errors._WaitTimeout as late:
                self.pgconn.finish()  # a late answer would be read as that of the next statement
                why = f"it has not answered within {_ANSWER_S:g} s"
                raise psycopg.OperationalError(why) from late

    return AnsweringConnection


def _set_up_file(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin explicitly
    for pragma in ("journal_mode = WAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_in_file(connection: sa.Connection) -> None:
    # A transaction that begins to write later fails at once if another one has written meanwhile.
    # Reads need no transaction: each statement must see earlier commits.
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


# -- migrations -----------------------------------------------------------------------------------


def migrate(database: StoreDatabase) -> None:
    """Migrate the tables to the newest revision of this release, unless a newer one is usable.

    The migration is one transaction of one process at a time: a process that dies changes nothing.

    Raises:
        StoreRefused: a newer release changed them so that this one cannot use them.
    """
    with database.read() as connection:
        found = version_of(connection)
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        rows = database.fetch(sa.select(facts.c.value).where(facts.c.name == READABLE_BY))
        if rows and rows[0].value <= HEAD:
            return
        raise StoreRefused(
            f"the store {database.place} is of a newer release (schema {found}, this one knows "
            f"{HEAD}); install that release here, or restore the store as it was before",
            code="StoreNewer",
        )
    # Imported here, because it takes a quarter of a second and is rarely needed; and before the
    # transaction, in which other processes wait.
    from alembic import command
    from alembic.config import Config

    config = Config()
    folder = importlib.resources.files("orchestrator.adapters.storage") / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with database.write() as connection:
        database.lock(connection, _MIGRATING)
        if version_of(connection) != HEAD:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def version_of(connection: sa.Connection) -> str | None:
    """Return the revision of the tables; None if there are none."""
    if not sa.inspect(connection).has_table(_VERSION):
        return None
    found: str | None = connection.execute(
        sa.select(sa.column("version_num")).select_from(sa.table(_VERSION))
    ).scalar()
    return found


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal, by which rows are found without the text."""
    return hashlib.sha256(text.encode()).hexdigest()
