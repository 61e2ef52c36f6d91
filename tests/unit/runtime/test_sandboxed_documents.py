"""The documents that `dev` works on: written down anew each time, from the user's own."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.operations import UnreadFile
from orchestrator.core.errors import UsageError
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.runtime.sandboxed_documents import (
    OwnDocuments,
    last_written,
    note_sources,
    sandbox_credentials,
    sources_of,
    write_redirected,
)
from orchestrator.settings import Settings

EMPTY: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Empty", "version": "1"},
    "servers": [{"url": "https://real.example"}],
    "paths": {},
}


def test_what_was_written_for_other_documents_is_gone(tmp_path: Path) -> None:
    """A folder of documents that nobody asked for any more would be served with the others.

    A document that cannot be served is named, and nothing is written then.
    """
    with pytest.raises(UsageError, match="no paths in 'hollow'"):
        write_redirected({"hollow": {"openapi": "3.1.0"}}, tmp_path, port=8700)
    assert list(tmp_path.iterdir()) == []
    write_redirected({"old": EMPTY, "kept": EMPTY}, tmp_path, port=8700)
    folder = write_redirected({"kept": EMPTY, "new": EMPTY}, tmp_path, port=8700).folder

    assert sorted(file.name for file in folder.iterdir()) == ["kept.json", "new.json"]
    assert "real.example" not in (folder / "new.json").read_text()


def test_a_shell_that_has_read_env_sh_starts_from_the_users_own_files(tmp_path: Path) -> None:
    """What it names are those that were written; what changed since would never be seen."""
    own = OwnDocuments((Path("/mine/crm.yaml"),), (Path("/mine/tools.yaml"),))
    folder = write_redirected({"crm": EMPTY}, tmp_path, port=8700).folder
    note_sources(own, tmp_path)

    assert sources_of([folder], [], tmp_path) == own
    assert sources_of([Path("other")], [], tmp_path) == ((Path("other"),), ())


def test_what_cannot_be_read_any_more_is_there_as_it_was_written_last(tmp_path: Path) -> None:
    """Its missions go on; of other sources, and of what was never read, nothing is."""
    own = OwnDocuments((Path("/mine"),), ())
    write_redirected({"crm": EMPTY, "kept": EMPTY}, tmp_path, port=8700)
    broken = [UnreadFile(document=n, file=f"/mine/{n}.yaml", reason="r") for n in ("crm", "new")]
    assert last_written(own, broken, tmp_path) == {}
    note_sources(own, tmp_path)
    kept = last_written(own, broken, tmp_path)

    assert list(kept) == ["crm"]
    assert last_written(OwnDocuments((Path("/yours"),), ()), broken, tmp_path) == {}
    folder = write_redirected({"kept": EMPTY, **kept}, tmp_path, port=8700).folder
    assert sorted(file.stem for file in folder.iterdir()) == ["crm", "kept"]


def test_a_shell_is_held_to_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its address and port, and by no proxy that the machine may have set."""
    stack = Stack(tmp_path, (tmp_path,), Ports(1, 2, 3))
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    stack._write_exports()

    assert Settings().only_hosts == ("127.0.0.1:3",)
    assert "unset ORCHESTRATOR_PROXY" in stack.exports.read_text().splitlines()


def test_every_credential_of_a_document_gets_a_made_up_value() -> None:
    """Those of its schemes, and those that stand among the parameters of its tools."""
    said = "Your API key."
    key = {"name": "appid", "in": "query", "required": True, "description": said}
    read = {"operationId": "now", "x-orchet-tool": True, "parameters": [key]}
    schemes = {"securitySchemes": {"login": {"type": "http", "scheme": "basic"}}}
    document = {**EMPTY, "paths": {"/now": {"get": read}}, "components": schemes}

    assert sandbox_credentials({"weather": document}) == {
        "ORCHESTRATOR_SECRET_WEATHER__APPID": "sandbox",
        "ORCHESTRATOR_SECRET_WEATHER__LOGIN": "sandbox:sandbox",
    }
