"""`orchestrator store copy`, as an operator types it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.adapters.storage.vault_key import VaultKey
from tests.commands import Ran

Run = Callable[..., Ran]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory in use, the one that is set."""
    with Store(tmp_path / "state") as store:
        store.grants.claim("a" * 64, "leg 1")
        store.vault.put("traveler_name", "Zephyrine Oakhollow")
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_store_moves_to_a_server(
    run: Run, state: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its URL in a file; a password or a value is shown nowhere, and the key is asked for."""
    (state.parent / "store.url").write_text(f"{postgres_url}\n")
    password = postgres_url.split(":")[2].partition("@")[0]

    first = run("store", "copy", "--to", "store.url")
    key = state / "pii" / "pii.key"
    monkeypatch.setenv("ORCHESTRATOR_PII_KEY_FILE", str(key))
    monkeypatch.setenv("ORCHESTRATOR_STORE_FILE", "store.url")
    again = run("store", "copy", "--json")

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "used grants" in first.stdout
    assert "ORCHESTRATOR_PII_KEY_FILE" in first.stderr
    assert again.stderr == ""
    for said in (first, again):
        assert password not in said.stdout + said.stderr
        assert "Zephyrine" not in said.stdout + said.stderr
    parts = {part["part"]: part for part in json.loads(again.stdout)["parts"]}
    assert (parts["used grants"]["copied"], parts["used grants"]["present"]) == (0, 1)
    with Store(state.parent / "b", url=postgres_url, key=VaultKey("K", path=key)) as store:
        assert store.vault.get("traveler_name") == "Zephyrine Oakhollow"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "where to copy it is not said"),
        (("--from", "nowhere", "--to", "new"), "no store is in nowhere"),
        (("--from", "sqlite:///nowhere.db", "--to", "new"), "no store is in nowhere.db"),
        (("--to", "state"), "are one store"),
        (("--to", "secret"), "names no PostgreSQL or SQLite database"),
        (("--to", "https://me:pa55word@db/missions"), "names no PostgreSQL or SQLite database"),
        (("--to", "postgresql:me:pa55word@db/missions"), "names no PostgreSQL or SQLite"),
        (("--to", "postgresql://db/postgresql://me:pa55word@db/x"), "cannot be told from each"),
    ],
    ids=str,
)
def test_what_cannot_be_copied_is_a_sentence(
    run: Run, state: Path, words: tuple[str, ...], told: str
) -> None:
    (state.parent / "secret").write_text("pa55word")
    ran = run("store", "copy", *words)
    assert ran.exit_code == 2
    assert told in ran.stderr
    assert "pa55word" not in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_url_in_the_variable_of_its_file_is_refused_unquoted(
    run: Run, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the variable that it belongs in."""
    monkeypatch.setenv("ORCHESTRATOR_STORE_FILE", "postgresql://me:pa55word@db/missions")
    ran = run("store", "copy")
    assert ran.exit_code == 2
    assert "ORCHESTRATOR_STORE takes a URL" in ran.stderr
    assert "pa55word" not in ran.stderr
