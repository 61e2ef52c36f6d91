"""The ten lines of README.md run against a real installation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.runtime.demo import day_in
from orchestrator.runtime.devserver import Stack


async def test_the_ten_lines_run(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They start a mission, approve its card and print its result; only the day is another."""
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^asyncio\.run\(main\(\)\)\n```", text, re.M | re.S)
    names: dict[str, Any] = {}
    exec(re.sub(r"\d{4}-\d\d-\d\d", day_in(30), code), names)

    await names["main"]()

    assert capsys.readouterr().out.startswith("succeeded ")
