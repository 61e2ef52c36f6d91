import time
from pathlib import Path

import pytest

from orchestrator.adapters.temporal import payload_keys
from orchestrator.adapters.temporal.payload_keys import (
    PayloadKeys,
    new_payload_key,
    read_payload_keys,
)
from orchestrator.core.errors import PayloadLocked, UsageError

pytestmark = pytest.mark.unit
OLD, NEW = new_payload_key(), new_payload_key()


@pytest.mark.parametrize("between", [",", "\n", " ", ",\n  "])
def test_the_first_key_encrypts(between: str) -> None:
    keys = PayloadKeys.of_text(f"# two of them\nnew:{NEW}{between}old:{OLD}")
    assert keys.ids == ("new", "old")
    encrypting = keys.encrypting()
    assert encrypting is not None and encrypting[0] == "new"


def test_without_keys_nothing_is_encrypted() -> None:
    assert PayloadKeys().encrypting() is None


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (NEW, "place 1 has no id"),
        (f"a b:{NEW}", "place 1 has no id"),
        (f"ü:{NEW}", "place 1 has no id"),
        (f"a:{NEW},a:{OLD}", "'a' is there twice"),
        ("a:hello", "what 'a' names is not 32 bytes"),
        ("a:", "what 'a' names is not 32 bytes"),
        (f"a:{NEW[:20]}", "what 'a' names is not 32 bytes"),
    ],
    ids=range(7),  # keys are random, and names of tests the same in each process
)
def test_what_is_no_key_is_told_without_quoting_it(written: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as fault:
        read_payload_keys(written, "HERE")
    assert NEW not in str(fault.value) and NEW[:20] not in str(fault.value)


def test_keys_show_nowhere() -> None:
    assert NEW not in repr(PayloadKeys.of_text(f"a:{NEW}"))


def test_a_missing_key_is_looked_for_in_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"old:{OLD}")
    keys = PayloadKeys.of_file(file)
    file.write_text(f"new:{NEW}\nold:{OLD}")
    with pytest.raises(PayloadLocked, match="only 'old' is known here"):
        keys.decrypting("new")
    monkeypatch.setattr(time, "monotonic", lambda: keys._looked_at + payload_keys._LOOK_AGAIN_S)
    keys.decrypting("new")
    assert keys.ids == ("new", "old")


def test_a_file_that_is_spoilt_later_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"old:{OLD}")
    keys = PayloadKeys.of_file(file)
    file.write_text("")
    monkeypatch.setattr(time, "monotonic", lambda: keys._looked_at + payload_keys._LOOK_AGAIN_S)
    with pytest.raises(PayloadLocked):
        keys.decrypting("new")
    assert keys.ids == ("old",)


@pytest.mark.parametrize("content", [None, "", "# nothing\n"])
def test_a_file_without_keys_is_refused_at_once(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "keys").write_text(content)
    with pytest.raises(UsageError):
        PayloadKeys.of_file(tmp_path / "keys")
