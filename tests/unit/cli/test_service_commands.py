"""What services are started on: documents with the overlays that are named, and extras."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.serve_commands import serve_mcp
from orchestrator.core.errors import UsageError
from tests.commands import Ran


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a worker or a sandbox was given, in place of running it."""
    given: list[Any] = []

    async def connect(**_: Any) -> None:
        return None

    async def work(settings: Any, **_: Any) -> None:
        given.append(settings)

    monkeypatch.setattr("orchestrator.client.connection.connect_temporal", connect)
    monkeypatch.setattr("orchestrator.runtime.worker.run_worker", work)
    monkeypatch.setattr("orchestrator.sandbox.run", lambda *a, **more: given.append((a, more)))
    return given


def test_a_worker_takes_overlays(
    run: Callable[..., Ran], served: list[Any], ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_OVERLAYS", "theirs.yaml")

    assert run("worker", "--overlay", str(ours)).exit_code == 0
    (settings,) = served
    assert settings.overlays == (ours,)


def test_a_sandbox_serves_documents_with_their_overlays(
    run: Callable[..., Ran], served: list[Any], crm: Path, ours: Path
) -> None:
    """So that it keeps the contracts that they add; without any they are as they stand."""
    assert run("sandbox", "--specs", str(crm), "--overlay", str(ours)).exit_code == 0
    assert run("sandbox", "--specs", str(crm)).exit_code == 0
    (_, overlaid), (_, plain) = served
    operation = overlaid["documents"]["crm"]["paths"]["/customers/{id}"]["get"]
    assert operation["x-orchet-tool"] is True
    assert "x-orchet-tool" not in plain["documents"]["crm"]["paths"]["/customers/{id}"]["get"]


def test_what_a_sandbox_would_serve_is_shown_without_serving(
    run: Callable[..., Ran], served: list[Any], crm: Path
) -> None:
    """Where each document would be, and what would be remembered of it."""
    shown = run("sandbox", "--show", "--port", "8123", "--specs", str(crm))

    assert (shown.exit_code, served) == (0, [])
    assert shown.stdout.splitlines()[:2] == [
        "crm: http://127.0.0.1:8123/crm",
        "  served: 1 operation; not served: none",
    ]
    (document,) = run("sandbox", "--show", "--specs", str(crm), "--json").json["documents"]
    assert document["operations"] == 1


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)

    with pytest.raises(UsageError, match=r"orchestrator-missions\[mcp\]"):
        serve_mcp(local_user="ann@example.com")
