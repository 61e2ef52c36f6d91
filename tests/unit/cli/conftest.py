"""What tests of the command line share: running it, and a document that is not ours."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.cli import main
from orchestrator.cli.output import progress
from orchestrator.client.mission_client import MissionClient
from tests.commands import Ran


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Ran]:
    """Runs `orchestrator ...` in this process, with the test's folder as the current one."""
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["orchestrator", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run_command


class Terminal(io.StringIO):
    """Text that says it comes from a terminal, or goes there."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run_typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs `orchestrator ...` as a person does who types an answer, or in a script: None.

    Gives the exit code, and what stood on standard error.
    """

    def run_command(*arguments: str, typed: str | None = None) -> tuple[int, str]:
        errors = Terminal() if typed is not None else io.StringIO()
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setattr(progress, "_file", errors)  # cancelled, it is standard error again
        monkeypatch.setattr(sys, "argv", ["orchestrator", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), errors.getvalue()

    return run_command


@pytest.fixture
def connect_to(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Lets commands speak to this object in place of a client of a server, and returns it."""

    def replace(client: Any) -> Any:
        async def connect(*_: object) -> Any:
            return client

        monkeypatch.setattr(MissionClient, "connect", connect)
        return client

    return replace


_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
_ANSWER = {"description": "Done.", "content": {"application/json": {"schema": _SCHEMA}}}


@pytest.fixture
def crm(tmp_path: Path) -> Path:
    """A document of somebody else, without a word of ours, in crm.yaml of the current folder."""
    document = {
        "openapi": "3.1.0",
        "info": {"title": "CRM", "version": "1"},
        "servers": [{"url": "https://crm.example"}],
        "paths": {
            "/customers/{id}": {
                "get": {
                    "operationId": "customer_get",
                    "summary": "Show a customer.",
                    "description": "Use this when a customer is named. Returns who it is.",
                    "parameters": [
                        {
                            "name": "id",
                            "in": "path",
                            "required": True,
                            "description": "The customer.",
                            "schema": {"type": "string", "maxLength": 20},
                        }
                    ],
                    "responses": {"200": _ANSWER},
                }
            }
        },
    }
    file = tmp_path / "crm.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return file


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """An overlay that makes a tool of its one operation, in ours.yaml."""
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "Ours", "version": "1"},
        "extends": "crm.yaml",
        "actions": [
            {"target": "$.paths['/customers/{id}'].get", "update": {"x-orchet-tool": True}}
        ],
    }
    file = tmp_path / "ours.yaml"
    file.write_text(yaml.safe_dump(overlay), encoding="utf-8")
    return file
