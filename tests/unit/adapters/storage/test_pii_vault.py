"""The encrypted vault: what it keeps, for whom, and through which accidents."""

import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.adapters.storage.sql_vault import SqlVault, VaultKey, new_key
from orchestrator.adapters.storage.store import Store
from orchestrator.core.errors import PiiMissing, StateMissing, StoreRefused, UsageError
from orchestrator.testing.postgres import PostgresServer
from tests.fakes import MemoryPii
from tests.unit.adapters.storage.used_grants import OpenStore


def own_key() -> VaultKey:
    return VaultKey("ORCHESTRATOR_PII_KEY", new_key())


@pytest.fixture
def vault(store: Store) -> SqlVault:
    """An empty one."""
    return store.vault


Vault = SqlVault | MemoryPii


@pytest.fixture(params=["file", "server", "memory"])
def any_vault(request: pytest.FixtureRequest, tmp_path: Path) -> Vault:
    """The double too, which behaves like the real ones."""
    if request.param == "memory":
        return MemoryPii()
    if request.param == "file":
        return Store(tmp_path).vault
    url = request.getfixturevalue("postgres_url")
    return Store(tmp_path, url=url, key=own_key()).vault


def test_what_is_put_can_be_got_until_it_is_forgotten(any_vault: Vault) -> None:
    """The whole life of a value; the double behaves like the real one."""
    any_vault.put("name", "Ada")
    any_vault.put("email", "ada@example.com")
    any_vault.put("name", "Ada Lovelace")
    assert any_vault.get("name") == "Ada Lovelace"
    assert any_vault.fields() == ("email", "name")

    forgotten = [any_vault.forget("name"), any_vault.forget("name")]

    assert forgotten == [True, False]
    assert any_vault.fields() == ("email",)
    with pytest.raises(PiiMissing, match="holds no name"):
        any_vault.get("name")


@pytest.mark.parametrize(("field", "value"), [("a b", "x"), ("name", "")])
def test_bad_entries_are_refused(any_vault: Vault, field: str, value: str) -> None:
    """By every vault alike."""
    with pytest.raises(UsageError):
        any_vault.put(field, value)

    assert any_vault.fields() == ()


def test_nothing_on_disk_is_readable(tmp_path: Path) -> None:
    """Neither by its text nor by another user."""
    with Store(tmp_path / "state") as store:
        store.vault.put("name", "Ada Lovelace")
        store.vault.bring("m-1", {"name": "Grace Hopper"}, claim="1")
        files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
        kept = b"".join(path.read_bytes() for path in files)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in files}

    assert not [name for name in (b"Lovelace", b"Hopper") if name in kept]  # "Ada" comes by chance.
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "state" / "pii").stat().st_mode) == 0o700


def test_a_lost_key_is_told_and_nothing_is_overwritten(tmp_path: Path) -> None:
    """A new key would make what is stored unreadable for good; without it, it can be forgotten."""
    vault, key_file = Store(tmp_path).vault, tmp_path / "pii" / "pii.key"
    vault.put("name", "Ada")
    key = key_file.read_bytes()
    key_file.unlink()

    with pytest.raises(UsageError, match="restore the key"):
        vault.put("email", "x")
    assert not key_file.exists()
    key_file.write_bytes(key)
    assert vault.get("name") == "Ada"
    key_file.unlink()
    assert vault.forget("name")
    vault.put("email", "x")
    assert vault.get("email") == "x"


_PUT_MANY = """
import sys
from pathlib import Path
from orchestrator.adapters.storage.store import Store
vault = Store(Path(sys.argv[1])).vault
for number in range(20):
    vault.put(sys.argv[2] + str(number), "value")
"""


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    """Both begin with no key, and write at once: every value is there afterwards."""
    commands = [[sys.executable, "-c", _PUT_MANY, str(tmp_path), prefix] for prefix in "ab"]
    writers = [subprocess.Popen(command) for command in commands]

    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(Store(tmp_path).vault.fields()) == 40


def test_of_two_that_put_a_field_at_once_one_is_current(open_store: OpenStore) -> None:
    """And the other's value was current a moment before: a handle to it still means it.

    A worker sees what the command line put, without a restart.
    """
    vaults = [open_store().vault for _ in range(4)]
    assert vaults[1].fields() == ()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: vaults[n % 4].put("name", f"Ada {n}"), range(24)))

    contents = vaults[0].contents()
    assert len(contents.values) == 24
    assert [kept.value for kept in contents.values if not kept.superseded_at] == [
        vaults[1].get("name")
    ]


def test_no_value_reaches_a_server_in_the_open(
    postgres_url: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Whoever may read its tables learns fields, versions and missions, and no value.

    It needs a key that all machines have: one made here would open nothing elsewhere. What needs
    no key goes on without.
    """
    with Store(tmp_path, url=postgres_url, key=own_key()) as store:
        store.vault.put("name", "Ada Lovelace")

    rows = postgres.execute("SELECT * FROM personal_values", postgres_url.rpartition("/")[2])
    assert "name" in str(rows)
    assert "Lovelace" not in str(rows)
    with Store(tmp_path, url=postgres_url) as keyless:
        assert keyless.vault.current("email") is None
        with pytest.raises(UsageError, match="ORCHESTRATOR_PII_KEY_FILE"):
            keyless.vault.put("name", "Ada")
    assert not (tmp_path / "pii").exists()


def test_a_value_that_was_replaced_is_still_what_it_was(any_vault: Vault) -> None:
    """A handle with a version means one value; the same value has the same version."""
    any_vault.put("name", "Ada")
    ada = any_vault.current("name")
    any_vault.put("name", "Grace")
    grace = any_vault.current("name")
    any_vault.put("name", "Ada")
    assert ada is not None
    assert grace is not None
    held = [any_vault.find(handle) for handle in (ada, grace)]

    assert [found.value for found in held if found is not None] == ["Ada", "Grace"]
    assert any_vault.current("name") == ada
    any_vault.forget("name")
    assert (any_vault.find(ada), any_vault.find(grace)) == (None, None)


def test_values_of_missions_are_theirs_alone(vault: SqlVault) -> None:
    """Two missions, the owner and one more request under the same id: nobody replaces anybody."""
    vault.put("name", "Owner")
    names = {("a", "1"): "Alice", ("b", "1"): "Bob", ("a", "2"): "Carol"}
    handles = {}
    for (mission, claim), name in names.items():
        vault.bring(mission, {"name": name}, claim=claim)
        handles[mission, claim] = vault.handles_of(mission, {"name": name})["name"]
    vault.release("a", claim="2")
    vault.release("b", claim="of somebody else")

    left = {who: vault.find(handle) for who, handle in handles.items()}
    assert {who: (k.value, k.scope) if k else None for who, k in left.items()} == {
        ("a", "1"): ("Alice", "a"),
        ("b", "1"): ("Bob", "b"),
        ("a", "2"): None,
    }
    assert len(set(handles.values())) == 3
    assert vault.get("name") == "Owner"
    assert vault.purge("a") == ("name",)
    assert vault.find(handles["a", "1"]) is None
    assert vault.find(handles["b", "1"]) is not None


def test_the_same_value_for_two_missions_has_two_versions(vault: SqlVault, tmp_path: Path) -> None:
    """From what stands in histories nobody learns that two missions are about one person.

    A phone number has few digits: a hash that anybody can compute, without the key, would tell it.
    """
    found = {str(vault.handles_of(scope, {"name": "Ada"})["name"]) for scope in ("a", "b", "")}
    keyed = {Store(tmp_path / n).vault.handles_of("", {"name": "Ada"})["name"] for n in "ab"}

    assert (len(found), len(keyed)) == (3, 2)
    assert not any("Ada" in text for text in found)


def test_what_two_requests_brought_stays_until_both_are_refused(vault: SqlVault) -> None:
    """The one that was accepted needs it."""
    for claim in ("1", "2", "1"):
        vault.bring("m", {"name": "Ada"}, claim=claim)
    handle = vault.handles_of("m", {"name": "Ada"})["name"]
    vault.release("m", claim="1")
    assert vault.find(handle) is not None
    vault.release("m", claim="2")

    assert vault.find(handle) is None


def test_superseded_values_can_be_dropped(vault: SqlVault) -> None:
    """Those that were replaced before a moment; never the current one."""
    vault.put("name", "Ada")
    vault.put("name", "Grace")

    assert vault.drop_superseded(datetime(2020, 1, 1, tzinfo=UTC)) == 0
    assert vault.drop_superseded(datetime.now(UTC) + timedelta(days=1)) == 1
    assert vault.get("name") == "Grace"


def test_the_key_may_be_elsewhere(tmp_path: Path) -> None:
    """In a variable or in a file; none is made beside the vault then."""
    text = new_key()
    (tmp_path / "key").write_text(f"{text}\n")
    by_value = Store(tmp_path, key=VaultKey("ORCHESTRATOR_PII_KEY", text)).vault
    by_file = Store(tmp_path, key=VaultKey("..._FILE", path=tmp_path / "key")).vault
    by_value.put("name", "Ada")

    assert by_file.get("name") == "Ada"
    assert not (tmp_path / "pii" / "pii.key").exists()
    assert text not in repr(VaultKey("ORCHESTRATOR_PII_KEY", text))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (VaultKey("ORCHESTRATOR_PII_KEY", "short"), "orchestrator key vault"),
        (own_key(), "does not open"),
        (VaultKey("ORCHESTRATOR_PII_KEY_FILE", path=Path("no/such")), "cannot be read"),
    ],
)
def test_a_wrong_key_is_told_and_not_shown(tmp_path: Path, key: VaultKey, told: str) -> None:
    """In one sentence that names the variable."""
    Store(tmp_path).vault.put("name", "Ada")

    vault = Store(tmp_path, key=key).vault
    uses: list[Callable[[], object]] = [
        vault.fields,
        lambda: vault.put("name", "x"),
        lambda: vault.handles_of("", {"name": "x"}),
    ]
    for use in uses:
        with pytest.raises(UsageError, match=told) as refused:
            use()
        assert key.name in str(refused.value)
        assert not key.value or key.value not in str(refused.value)


def test_a_worker_is_kept_from_a_vault_that_its_key_does_not_open(tmp_path: Path) -> None:
    """At its start and on /readyz; a call that needs a value is left to another worker."""
    Store(tmp_path).vault.put("name", "Ada")
    store = Store(tmp_path, key=own_key())

    with pytest.raises(StoreRefused):
        store.check()
    with pytest.raises(StateMissing):
        store.vault.get("name")
    Store(tmp_path).check()
