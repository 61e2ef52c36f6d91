"""`orchestrator mission export --file`, `key` and `codec-server`."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.adapters.storage.sql_observations import MissionFiles
from orchestrator.adapters.storage.store import Store
from orchestrator.client.payloads import payload_keys_of
from orchestrator.core.errors import KEYS_VARIABLE
from orchestrator.proxy import server
from orchestrator.settings import Settings
from tests.commands import Ran

Run = Callable[..., Ran]


def test_a_file_is_written_once_and_for_its_own_mission(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its owner may read it; an existing file stays, and another mission has none."""
    monkeypatch.setenv("ORCHESTRATOR_STATE_DIR", str(tmp_path))
    with Store(tmp_path) as store:
        kept = MissionFiles(store.observations).keep("m-1", b"%PDF\xff", name="label.pdf")
    out = tmp_path / "label.pdf"

    def export(mission: str, to: str) -> int:
        return run("mission", "export", mission, "--file", kept.handle, "--out", to).exit_code

    assert export("m-1", "label.pdf") == 0
    assert out.read_bytes() == b"%PDF\xff"
    assert out.stat().st_mode & 0o077 == 0
    out.write_bytes(b"mine")
    assert export("m-1", "label.pdf") == 2
    assert out.read_bytes() == b"mine"
    assert export("m-2", "other.pdf") == 2
    assert not (tmp_path / "other.pdf").exists()


# -- payload keys ----------------------------------------------------------------------------------


def new_key(key_id: str) -> tuple[str, ...]:
    return ("payload", "keys", "--id", key_id)


def test_a_key_is_added_after_those_in_use(run: Run, tmp_path: Path) -> None:
    """A new key decrypts first, so that all processes have it before it encrypts."""
    file = tmp_path / "keys"
    settings = Settings(payload_keys_file=file)
    ids = []
    for words in (new_key("k1"), new_key("k2")):
        assert run("key", *words).exit_code == 0
        ids.append(payload_keys_of(settings).ids)
    assert ids == [("k1",), ("k1", "k2")]
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("words", [new_key("k1"), new_key("a b"), new_key("")])
def test_a_refused_key_leaves_the_file(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    run("key", *new_key("k1"))
    before = (tmp_path / "keys").read_bytes()

    assert run("key", *words).exit_code == 2
    assert (tmp_path / "keys").read_bytes() == before


async def test_a_codec_server_logs_its_callers(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A line for each request on standard error, without its content."""
    served: list[Any] = []
    monkeypatch.setattr(server, "serve_app", lambda app, *_, **__: served.append(app))
    run("key", *new_key("k1"))
    monkeypatch.setenv(f"{KEYS_VARIABLE}_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("ORCHESTRATOR_CODEC_TOKEN", "planted-token")
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    try:
        run("codec-server")
        transport = httpx.ASGITransport(app=served[0])
        async with httpx.AsyncClient(transport=transport, base_url="http://codec") as http:
            body = {"payloads": [{"metadata": {}, "data": "WmVwaHlyaW5l"}]}
            for token in ("planted-token", "another-token"):
                bearer = {"Authorization": f"Bearer {token}"}
                await http.post("/decode", json=body, headers=bearer)
    finally:
        root.handlers[:], root.level = before
    printed = capsys.readouterr().err

    assert "decode: 1 payloads" in printed
    assert "decode refused" in printed
    assert not any(secret in printed for secret in ("token-", "planted", "Zephyrine", "WmVw"))


def test_a_codec_server_open_to_everybody_does_not_start(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without keys, without a token, or with access tokens for any audience."""
    keyless = run("codec-server")
    run("key", *new_key("k1"))
    monkeypatch.setenv(f"{KEYS_VARIABLE}_FILE", str(tmp_path / "keys"))
    refused = [
        (keyless, KEYS_VARIABLE),
        (run("codec-server"), "ORCHESTRATOR_CODEC_TOKEN"),
        (run("codec-server", "--jwks", "https://login.example.com/keys"), "--audience"),
    ]

    for ran, named in refused:
        assert ran.exit_code == 2
        assert named in ran.stderr


def test_a_url_in_a_file_variable_is_unquoted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_STORE_FILE", "postgresql://me:pa55word@db/missions")
    ran = run("pii")

    assert ran.exit_code == 2
    assert "ORCHESTRATOR_STORE takes a URL" in ran.stderr
    assert "pa55word" not in ran.stderr
