import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.cli import main
from orchestrator.client.payloads import payload_keys_of
from orchestrator.codec_server import serving
from orchestrator.core.payload_errors import KEYS_VARIABLE
from orchestrator.settings import Settings

pytestmark = pytest.mark.unit


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["orchestrator", *words])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_key_is_added_behind_and_then_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    settings = Settings(payload_keys_file=file)
    assert run(monkeypatch, "payload-keys", "new", "k1", str(file)) == 0
    assert payload_keys_of(settings).ids == ("k1",)
    assert run(monkeypatch, "payload-keys", "new", "k2", str(file)) == 0
    assert payload_keys_of(settings).ids == ("k1", "k2")
    assert run(monkeypatch, "payload-keys", "use", "k2", str(file)) == 0
    assert payload_keys_of(settings).ids == ("k2", "k1")
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "words", [("new", "k1"), ("new", "a b"), ("new", ""), ("use", "k9")], ids=" ".join
)
def test_a_file_of_keys_is_not_spoilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    file = tmp_path / "keys"
    run(monkeypatch, "payload-keys", "new", "k1", str(file))
    before = file.read_bytes()
    assert run(monkeypatch, "payload-keys", *words, str(file)) == 2
    assert file.read_bytes() == before


async def test_a_codec_server_tells_who_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """On standard error, a line for each request, and nothing of what was in it."""
    served: list[Any] = []
    monkeypatch.setattr(serving, "serve", lambda app, *_, **__: served.append(app))
    run(monkeypatch, "payload-keys", "new", "k1", str(tmp_path / "keys"))
    monkeypatch.setenv(f"{KEYS_VARIABLE}_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("ORCHESTRATOR_CODEC_TOKEN", "planted-token")
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    try:
        run(monkeypatch, "codec-server")
        capsys.readouterr()
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=served[0]), base_url="http://codec"
        ) as http:
            body = {"payloads": [{"metadata": {}, "data": "WmVwaHlyaW5l"}]}
            for token in ("planted-token", "another-token"):
                bearer = {"Authorization": f"Bearer {token}"}
                await http.post("/decode", json=body, headers=bearer)
    finally:
        root.handlers[:], root.level = before
    said = capsys.readouterr().err
    assert "decode: 1 payloads for a holder of the token" in said
    assert "decode refused" in said
    assert not any(secret in said for secret in ("token-", "planted", "Zephyrine", "WmVw"))


def test_a_codec_server_that_would_let_everybody_in_does_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "codec-server") == 2
    assert f"{KEYS_VARIABLE}: it holds no key" in capsys.readouterr().err
    run(monkeypatch, "payload-keys", "new", "k1", str(tmp_path / "keys"))
    monkeypatch.setenv(f"{KEYS_VARIABLE}_FILE", str(tmp_path / "keys"))
    assert run(monkeypatch, "codec-server") == 2
    assert "ORCHESTRATOR_CODEC_TOKEN is not set" in capsys.readouterr().err
    assert run(monkeypatch, "codec-server", "--jwks", "https://login.example.com/keys") == 2
    assert "--audience" in capsys.readouterr().err
