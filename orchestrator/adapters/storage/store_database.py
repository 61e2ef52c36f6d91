"""One database, SQLite or PostgreSQL: connections, transactions, and errors in our words."""

import contextlib
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from orchestrator.adapters.storage.files import private_file, private_folder
from orchestrator.adapters.storage.schema import facts
from orchestrator.core.errors import StoreRefused, StoreUnavailable

_POSTGRESQL: Final = "postgresql+psycopg"
_SCHEMES: Final = {
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    _POSTGRESQL: _POSTGRESQL,
    "sqlite": "sqlite+pysqlite",
}
_CONNECT_S: Final = 5
_IDENTITY: Final = "identity"
"""The fact that tells one store from another."""
_BUSY_S: Final = 10
"""How long a writer waits for another one of the same SQLite file."""
_REST_S: Final = 1.0
"""How long a server that could not be reached is not asked again: callers must not queue for it."""
_NOT_LET_IN: Final = ("28", "3D", "42501")
"""SQLSTATEs of a wrong password, a missing database and missing rights: waiting mends none."""
_NEVER_IN: Final = {"username": ":/", "host": "@/", "database": ":/@="}
"""What parts a URL, and so stands in no part that is shown: one with another URL in it was read
amiss, and its password may be anywhere."""


def url_of(text: str) -> URL:
    """The database that a setting names.

    Raises:
        StoreRefused: it names none; the error holds nothing of what was set.
    """
    try:
        url = sa.make_url(text.strip())
        driver = _SCHEMES[url.drivername]
    except (SQLAlchemyError, KeyError, ValueError):
        raise StoreRefused("the URL", "it names no PostgreSQL or SQLite database") from None
    if _is_misread(url):
        raise StoreRefused("the URL", "its parts cannot be told from each other")
    if driver == _POSTGRESQL and not url.database:
        raise StoreRefused(place_of(url), "it names no database")
    return url.set(drivername=driver)


def is_url(text: str) -> bool:
    """Whether a text is meant as the URL of a store, well written or not, and not as a path."""
    scheme, colon, _ = text.strip().partition(":")
    return "://" in text or (bool(colon) and scheme in _SCHEMES)


def _is_misread(url: URL) -> bool:
    if url.drivername.startswith("sqlite"):
        return bool(url.username or url.host or "://" in (url.database or ""))
    return any(set(getattr(url, part) or "") & set(never) for part, never in _NEVER_IN.items())


def file_url(path: Path) -> URL:
    """The SQLite database in a file."""
    return URL.create(_SCHEMES["sqlite"], database=str(path))


def place_of(url: URL) -> str:
    """What a database is called before people: no password, and no parameter that may be one."""
    if url.drivername.startswith("sqlite"):
        return url.database or "in memory"
    return URL.create(
        "postgresql", url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string()


class StoreDatabase:
    """Reads and writes of several threads and processes at once.

    Nothing is opened before the first of them, which has the tables prepared.
    """

    def __init__(
        self, url: URL, *, prepare: Callable[["StoreDatabase"], None] | None = None
    ) -> None:
        """Take where it is, and what has to be done once before anything else is."""
        self.url = url
        self.place = place_of(url)
        self.is_file = url.drivername.startswith("sqlite")
        self._prepare = prepare
        self._engine: sa.Engine | None = None
        self._lock = threading.RLock()
        self._is_prepared = False
        self._away = (0.0, "")
        """Until when it is not asked again, and why not."""

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection for reading; each statement sees what has been committed before it.

        Raises:
            StoreUnavailable, StoreRefused: the database cannot be used.
        """
        level: dict[str, Any] = {} if self.is_file else {"isolation_level": "AUTOCOMMIT"}
        with self._told(), self._prepared().connect() as connection:
            yield connection.execution_options(**level)

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sa.Connection]:
        """A transaction: all of it is committed when the block ends, or nothing.

        Args:
            durable: whether it is on disk when this returns; else a loss of power may take it.

        Raises:
            StoreUnavailable, StoreRefused: the database cannot be used. If it went away while it
                committed, nobody knows whether it did.
        """
        with self._told(), self._prepared().connect() as connection:
            if self.is_file:
                level = "FULL" if durable else "NORMAL"
                connection.connection.cursor().execute(f"PRAGMA synchronous = {level}")
            with connection.execution_options(writes=True).begin():
                if not self.is_file and not durable:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield connection

    def insert_new(self, table: sa.Table) -> Any:
        """An INSERT that leaves a row alone that is there already, and then returns none."""
        insert = sqlite.insert if self.is_file else postgresql.insert
        return insert(table).on_conflict_do_nothing()

    def put(self, table: sa.Table, *changing: str, keys: Sequence[str] = ()) -> Any:
        """An INSERT that changes these columns of a row with the same keys, if there is one.

        Args:
            table: where.
            changing: names of its columns.
            keys: of the columns that only one row may hold alike; by default the primary key.
        """
        made = (sqlite.insert if self.is_file else postgresql.insert)(table)
        return made.on_conflict_do_update(
            index_elements=list(keys) or [column.name for column in table.primary_key],
            set_={name: made.excluded[name] for name in changing},
        )

    def lock(self, connection: sa.Connection, number: int) -> None:
        """Let nobody else into what this number stands for until the transaction is over."""
        if not self.is_file:  # a writer of a SQLite file is alone anyway
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))

    def freeze(self, connection: sa.Connection, tables: Sequence[sa.Table]) -> None:
        """Let nobody change these tables until the transaction is over; reading goes on."""
        if not self.is_file:  # a writer of a SQLite file is alone anyway
            names = ", ".join(table.name for table in tables)
            connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE MODE")

    def identity(self) -> str:
        """What no other store is called: written with the first use of its tables."""
        query = sa.select(facts.c.value).where(facts.c.name == _IDENTITY)
        with self.read() as connection:
            found: str | None = connection.execute(query).scalar()
        if found is not None:
            return found
        with self.write() as connection:
            row = {"name": _IDENTITY, "value": uuid.uuid4().hex}
            connection.execute(self.insert_new(facts), row)
            made: str = connection.execute(query).scalar_one()
        return made

    def open(self) -> None:
        """Prepare the tables now.

        Raises:
            StoreUnavailable, StoreRefused, StoreNewer: they cannot be used.
        """
        with self._told():
            self._prepared()

    def check(self) -> None:
        """Have it answer.

        Raises:
            StoreUnavailable, StoreRefused, StoreNewer: it does not.
        """
        with self.read() as connection:
            connection.execute(sa.select(sa.literal(1)))

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
                self._is_prepared = True  # what prepares it reads and writes through us
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
                pool_pre_ping=True,  # what was open when the server was restarted is not handed out
                pool_recycle=600,
                pool_timeout=_CONNECT_S,
                max_overflow=15,
                connect_args={
                    "connect_timeout": _CONNECT_S,
                    "tcp_user_timeout": _CONNECT_S * 2000,
                    # A machine that is gone in the middle of an answer sends nothing, not even an
                    # error: whoever waits for it would, for as long as the system has set.
                    "keepalives_idle": _CONNECT_S,
                    "keepalives_interval": _CONNECT_S,
                    "keepalives_count": 2,
                    "application_name": "orchestrator",
                    # Poolers that give each transaction another connection know no statements.
                    "prepare_threshold": None,
                },
            )
            sa.event.listen(engine, "do_connect", _connect)
            return engine
        path = Path(self.url.database or "")
        private_folder(path.parent)
        # SQLite gives the files that it makes beside this one the mode of this one.
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
    def _told(self) -> Iterator[None]:
        """Errors of the database in our words."""
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except DBAPIError as error:
            raise self._refusal(error) from error
        except (sa.exc.TimeoutError, OSError) as error:
            reason = getattr(error, "strerror", None) or "all its connections are in use"
            raise StoreUnavailable(self.place, reason) from error

    def _refusal(self, error: DBAPIError) -> StoreUnavailable | StoreRefused:
        # Nothing of the statement: its parameters are what is kept.
        said = " ".join(str(error.orig).split())
        if self.url.password:
            said = said.replace(str(self.url.password), "***")
        state = str(getattr(error.orig, "sqlstate", None) or "")
        if state.startswith(_NOT_LET_IN):
            return StoreRefused(self.place, said)
        if isinstance(error, OperationalError) and not self.is_file:
            self._away = (time.monotonic() + _REST_S, said)
        return StoreUnavailable(self.place, said)


def _connect(_: object, __: object, given: list[Any], options: dict[str, Any]) -> Any:
    from orchestrator.adapters.storage.answering_connection import AnsweringConnection

    return AnsweringConnection.connect(*given, **options)


def _set_up_file(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we say when a transaction begins
    for pragma in ("journal_mode = WAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_in_file(connection: sa.Connection) -> None:
    # A transaction that begins to write later fails at once when another one has written meanwhile.
    # What only reads needs none: each statement is to see what has been committed before it.
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
