"""`orchestrator mcp serve` without its extra."""

from __future__ import annotations

import sys

import pytest

from orchestrator.cli.serve_commands import serve_mcp
from orchestrator.core.errors import UsageError


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to install."""
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)

    with pytest.raises(UsageError, match=r"orchestrator-missions\[mcp\]"):
        serve_mcp(local_user="ann@example.com")
