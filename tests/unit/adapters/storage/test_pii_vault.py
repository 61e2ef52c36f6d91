"""The encrypted vault: what it keeps, for whom, and through which accidents."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.adapters.storage.pii_vault import FilePiiVault
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

    vault.forget("name")
    vault.forget("name")

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
