"""The encrypted vault: what it keeps, for whom, and through which accidents."""

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from orchestrator.adapters.storage.pii_vault import FilePiiVault, VaultKey, new_key
from orchestrator.core.errors import PiiMissing, UsageError
from orchestrator.testing import MemoryPii


@pytest.fixture(params=["file", "memory"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> FilePiiVault | MemoryPii:
    return FilePiiVault(tmp_path) if request.param == "file" else MemoryPii()


def test_what_is_put_can_be_got_until_it_is_forgotten(vault: FilePiiVault | MemoryPii) -> None:
    """The whole life of a value; the double behaves like the real one."""
    vault.put("name", "Ada")
    vault.put("email", "ada@example.com")
    vault.put("name", "Ada Lovelace")
    assert vault.get("name") == "Ada Lovelace"
    assert vault.fields() == ("email", "name")

    forgotten = [vault.forget("name"), vault.forget("name")]

    assert forgotten == [True, False]
    assert vault.fields() == ("email",)
    with pytest.raises(PiiMissing, match="holds no name"):
        vault.get("name")


@pytest.mark.parametrize(("field", "value"), [("a b", "x"), ("name", "")])
def test_bad_entries_are_refused(vault: FilePiiVault | MemoryPii, field: str, value: str) -> None:
    """By every vault alike."""
    with pytest.raises(UsageError):
        vault.put(field, value)

    assert vault.fields() == ()


def test_nothing_on_disk_is_readable(tmp_path: Path) -> None:
    """Neither by its text nor by another user."""
    directory = tmp_path / "vault"
    FilePiiVault(directory).put("name", "Ada Lovelace")

    files = [path for path in directory.iterdir() if path.name != "pii.lock"]
    assert {path.name for path in files} == {"pii.key", "pii.vault"}
    assert not any(b"Ada" in path.read_bytes() for path in files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_second_vault_sees_what_the_first_stored(tmp_path: Path) -> None:
    """A worker sees what the command line put, without a restart."""
    reader = FilePiiVault(tmp_path)
    assert reader.fields() == ()
    FilePiiVault(tmp_path).put("name", "Ada")

    assert reader.get("name") == "Ada"


def test_a_lost_key_is_told_and_nothing_is_overwritten(tmp_path: Path) -> None:
    """A new key would make what is stored unreadable for good."""
    vault = FilePiiVault(tmp_path)
    vault.put("name", "Ada")
    stored = (tmp_path / "pii.vault").read_bytes()
    (tmp_path / "pii.key").unlink()

    with pytest.raises(UsageError, match="restore the key"):
        vault.put("email", "x")

    assert (tmp_path / "pii.vault").read_bytes() == stored
    assert not (tmp_path / "pii.key").exists()


_PUT_MANY = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from orchestrator.adapters.storage.pii_vault import FilePiiVault
vault = FilePiiVault(Path(sys.argv[1]))
for number in range(20):
    vault.put(sys.argv[2] + str(number), "value")
"""


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    """Both begin with no key, and write at once: every value is there afterwards."""
    commands = [[sys.executable, "-c", _PUT_MANY, str(tmp_path), prefix] for prefix in "ab"]
    writers = [subprocess.Popen(command) for command in commands]

    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(FilePiiVault(tmp_path).fields()) == 40


def test_a_value_that_was_replaced_is_still_what_it_was(vault: FilePiiVault | MemoryPii) -> None:
    """A handle with a version means one value; the same value has the same version."""
    vault.put("name", "Ada")
    ada = vault.current("name")
    vault.put("name", "Grace")
    grace = vault.current("name")
    vault.put("name", "Ada")
    assert ada is not None
    assert grace is not None
    held = [vault.find(handle) for handle in (ada, grace)]

    assert [found.value for found in held if found is not None] == ["Ada", "Grace"]
    assert vault.current("name") == ada
    vault.forget("name")
    assert (vault.find(ada), vault.find(grace)) == (None, None)


def test_values_of_missions_are_theirs_alone(tmp_path: Path) -> None:
    """Two missions, the owner and one more request under the same id: nobody replaces anybody."""
    vault = FilePiiVault(tmp_path)
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


def test_the_same_value_for_two_missions_has_two_versions(tmp_path: Path) -> None:
    """From what stands in histories nobody learns that two missions are about one person."""
    vault = FilePiiVault(tmp_path)
    found = {str(vault.handles_of(scope, {"name": "Ada"})["name"]) for scope in ("a", "b", "")}

    assert len(found) == 3
    assert not any("Ada" in text for text in found)


def test_without_the_key_no_value_can_be_tried(tmp_path: Path) -> None:
    """A phone number has few digits: a hash that anybody can compute would tell it."""
    found = {FilePiiVault(tmp_path / n).handles_of("", {"name": "Ada"})["name"] for n in "ab"}

    assert len(found) == 2


def test_what_two_requests_brought_stays_until_both_are_refused(tmp_path: Path) -> None:
    """The one that was accepted needs it."""
    vault = FilePiiVault(tmp_path)
    for claim in ("1", "2", "1"):
        vault.bring("m", {"name": "Ada"}, claim=claim)
    handle = vault.handles_of("m", {"name": "Ada"})["name"]
    vault.release("m", claim="1")
    assert vault.find(handle) is not None
    vault.release("m", claim="2")

    assert vault.find(handle) is None


def test_superseded_values_can_be_dropped(tmp_path: Path) -> None:
    """Those that were replaced before a moment; never the current one."""
    vault = FilePiiVault(tmp_path)
    vault.put("name", "Ada")
    vault.put("name", "Grace")

    assert vault.drop_superseded(datetime(2020, 1, 1, tzinfo=UTC)) == 0
    assert vault.drop_superseded(datetime.now(UTC) + timedelta(days=1)) == 1
    assert vault.get("name") == "Grace"


def test_a_vault_of_the_last_release_is_read(tmp_path: Path) -> None:
    """One value of each field, even one called `layout`; written, it has the new form."""
    key = Fernet.generate_key()
    (tmp_path / "pii.key").write_bytes(key)
    flat = {"name": "Ada", "layout": "2"}
    (tmp_path / "pii.vault").write_bytes(Fernet(key).encrypt(json.dumps(flat).encode()))
    vault = FilePiiVault(tmp_path)
    before = vault.current("name")
    vault.put("email", "ada@example.com")

    assert before is not None
    assert vault.current("name") == before
    assert vault.fields() == ("email", "layout", "name")
    assert vault.get("layout") == "2"


def test_the_key_may_be_elsewhere(tmp_path: Path) -> None:
    """In a variable or in a file; none is made beside the vault then."""
    text = new_key()
    (tmp_path / "key").write_text(f"{text}\n")
    by_value = FilePiiVault(tmp_path / "pii", VaultKey("ORCHESTRATOR_PII_KEY", text))
    by_file = FilePiiVault(tmp_path / "pii", VaultKey("..._FILE", path=tmp_path / "key"))
    by_value.put("name", "Ada")

    assert by_file.get("name") == "Ada"
    assert not (tmp_path / "pii" / "pii.key").exists()
    assert text not in repr(VaultKey("ORCHESTRATOR_PII_KEY", text))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (VaultKey("ORCHESTRATOR_PII_KEY", "short"), "orchestrator pii new-key"),
        (VaultKey("ORCHESTRATOR_PII_KEY", new_key()), "does not open"),
        (VaultKey("ORCHESTRATOR_PII_KEY_FILE", path=Path("no/such")), "cannot be read"),
    ],
)
def test_a_wrong_key_is_told_and_not_shown(tmp_path: Path, key: VaultKey, told: str) -> None:
    """In one sentence that names the variable."""
    FilePiiVault(tmp_path).put("name", "Ada")

    vault = FilePiiVault(tmp_path, key)
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
