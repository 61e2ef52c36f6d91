"""One store: how it comes to be, what is told of one that cannot be used, and what it outlives."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from orchestrator.adapters.storage.schema import HEAD, metadata
from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.storage.store_database import (
    StoreDatabase,
    file_url,
    migrate,
    place_of,
    url_of,
    version_of,
)
from orchestrator.core.errors import (
    ObservationMissing,
    StateMissing,
    StoreRefused,
    StoreUnavailable,
)
from orchestrator.testing.postgres import PostgresServer
from tests.unit.adapters.storage.used_grants import use_grant

PASSWORD = "planted-pa55word"


@pytest.fixture
def database(store_url: str | None, tmp_path: Path) -> Iterator[StoreDatabase]:
    """An empty store's database."""
    url = file_url(tmp_path / "store.db") if store_url is None else url_of(store_url)
    made = StoreDatabase(url, prepare=migrate)
    yield made
    made.close()


def test_the_migrations_make_the_tables_that_the_queries_know(database: StoreDatabase) -> None:
    """On both engines; and the newest of them is the one that is looked for."""
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        differences = compare_metadata(context, metadata)
        version = version_of(connection)
    folder = Path(sys.modules[migrate.__module__].__file__ or "").parent / "migrations"

    assert differences == []
    assert version == HEAD == ScriptDirectory(str(folder)).get_current_head()


@pytest.mark.long
def test_many_begin_on_an_empty_store_at_once(postgres: PostgresServer, tmp_path: Path) -> None:
    """Its tables are made once, and each has them."""
    url = postgres.create_database()
    script = (
        "import sys; from pathlib import Path\n"
        "from orchestrator.adapters.storage.store import Store\n"
        "print(Store(Path(sys.argv[1]), url=sys.argv[2]).identity)"
    )
    commands = [[sys.executable, "-c", script, str(tmp_path / n), url] for n in "abc"]
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands]
    identities = {process.communicate()[0].strip() for process in running}

    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(identities) == 1
    assert identities != {""}


def _set(database: StoreDatabase, statement: str) -> None:
    with database.write() as connection:
        connection.execute(sa.text(statement))


def test_tables_of_a_newer_release_are_used_where_that_allows_it(database: StoreDatabase) -> None:
    """Else the error says what to do; what is newer is never changed back."""
    _set(database, "UPDATE alembic_version SET version_num = '0999'")
    known = StoreDatabase(database.url, prepare=migrate)
    with closing(known):
        known.open()
        _set(known, "UPDATE store_facts SET value = '0500' WHERE name = 'readable_by'")

    later = StoreDatabase(database.url, prepare=migrate)
    with closing(later), pytest.raises(StoreRefused, match=r"0999.*install that release"):
        later.open()


@pytest.mark.parametrize(
    "url",
    [
        "", "store.db", "https://me:planted-pa55word@db/missions", "postgresql://", "://",
        "postgresql://me:planted-pa55word@db:port/missions", "postgresql://me:planted-pa55word@db",
        "postgresql://me:you@db/postgresql://me:planted-pa55word@db/missions",
        "postgresql:///postgresql://me:planted-pa55word@db/missions",
        "postgresql://me:you@planted-pa55word@db/missions",
        "postgresql://me%3Aplanted-pa55word@db/missions", "postgresql:///me:planted-pa55word@db/x",
        "postgresql:///dbname=missions password=planted-pa55word",
        "sqlite:///postgresql://me:planted-pa55word@db/missions",
        "sqlite://postgresql://me:planted-pa55word@db/missions",
    ],
)  # fmt: skip
def test_what_is_no_url_is_refused_without_its_password(tmp_path: Path, url: str) -> None:
    """In a sentence that shows what it should be."""
    with pytest.raises(StoreRefused, match="postgresql://USER:PASSWORD@HOST/DATABASE") as refused:
        Store(tmp_path, url=url)

    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("/store_", "/no_such_"), "does not exist"),
        (("//missions:", "//missions:wrong-"), "password authentication failed"),
        (("@127.0.0.1:", "@127.0.0.1:1"), "cannot be used now"),
    ],
)
def test_a_server_that_lets_nobody_in_is_told(
    postgres_url: str, tmp_path: Path, changed: tuple[str, str], told: str
) -> None:
    """With where it was looked for, and no password."""
    store = Store(tmp_path, url=postgres_url.replace(*changed))
    password = postgres_url.split(":")[2].partition("@")[0]
    with pytest.raises(StateMissing, match=told) as away:
        store.open()

    assert password not in str(away.value)
    assert "127.0.0.1" in str(away.value)


def test_rights_that_are_missing_are_told(postgres: PostgresServer, tmp_path: Path) -> None:
    """A role that may not make tables: somebody else has to bring the store to this release."""
    fresh = postgres.create_database()
    postgres.execute(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    url = f"postgresql://guest:{PASSWORD}@{fresh.rpartition('@')[2]}"
    with pytest.raises(StoreRefused, match="permission denied") as refused:
        Store(tmp_path, url=url).open()

    assert PASSWORD not in str(refused.value)


def test_a_server_that_dies_loses_nothing_and_is_found_again(tmp_path: Path) -> None:
    """Every part says that the store is away, at once; when it is back they go on by themselves."""
    with PostgresServer() as server:
        store = Store(tmp_path, url=server.create_database())
        assert use_grant(store, "a" * 64, "leg 1") is None
        store.observations.put("m", "k", b"seen")
        server.kill()

        began = time.monotonic()
        for use in (
            lambda: use_grant(store, "b" * 64, "leg 1"),
            lambda: store.grants.is_cancelled("call"),
            lambda: store.catalogs.get("0" * 64),
            lambda: store.observations.put("m", "l", b"seen"),
            lambda: store.vault.current("name"),
        ):
            with pytest.raises(StoreUnavailable):
                use()
        with pytest.raises(ObservationMissing, match=r"127\.0\.0\.1"):
            store.observations.get("m", "k")
        assert time.monotonic() - began < 20

        server.start()
        assert _when_back(store) == "leg 1"
        assert store.observations.get("m", "k") == b"seen"
        store.close()


def test_a_server_that_hangs_is_given_up_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its connections and answers nothing: nobody waits for it for longer than is set."""
    monkeypatch.setattr("orchestrator.adapters.storage.store_database._ANSWER_S", 0.3)
    monkeypatch.setattr("orchestrator.adapters.storage.store_database._CONNECT_S", 2)
    with PostgresServer() as server:
        store = Store(tmp_path, url=server.create_database())
        assert use_grant(store, "a" * 64, "leg 1") is None
        store.check()
        server.hang()

        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            store.check()
        with pytest.raises(StoreUnavailable):
            use_grant(store, "b" * 64, "leg 1")
        assert time.monotonic() - began < 15

        server.go_on()
        assert _when_back(store) == "leg 1"
        store.check()
        store.close()


def _when_back(store: Store) -> str | None:
    until = time.monotonic() + 60
    while True:
        try:
            return use_grant(store, "a" * 64, "leg 2")
        except StoreUnavailable:
            assert time.monotonic() < until


def test_stores_are_told_apart(tmp_path: Path) -> None:
    """By what each keeps of itself, whoever opens it."""
    one = Store(tmp_path / "a").identity

    assert one == Store(tmp_path / "a").identity
    assert one != Store(tmp_path / "b").identity


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me%40here:p%3A%2F%40@[::1]:5432/missions", "postgresql:///missions",
        "postgresql://db.example/own%20missions", "sqlite:////var/lib/orchestrator/store.db",
        "sqlite:///C:\\store.db",
    ],
)  # fmt: skip
def test_what_is_well_written_is_a_store(url: str) -> None:
    """Whatever its user, its machine and its password are called.

    No password is part of its place, nor what a URL says behind its question mark.
    """
    assert url_of(url).database
    query = f"password={PASSWORD}&sslmode=require"
    place = url_of(f"postgres://me:{PASSWORD}@db.example:6432/missions?{query}")
    assert place_of(place) == "postgresql://me@db.example:6432/missions"
    assert PASSWORD not in repr(StoreDatabase(place).place)
