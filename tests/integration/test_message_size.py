"""What is too large for a mission is refused in one sentence, before anything is sent or stored."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.runtime.devserver import Stack
from tests.commands import Ran

LARGE = "x" * 3_000_000
WEATHER = "What is the weather in Oslo tomorrow?"
TOO_LARGE: dict[str, tuple[tuple[str, ...], str]] = {
    "start": (("mission", "start", WEATHER, "--input", f"traveler_name={LARGE}"), "3.0 MB large"),
    "goal": (("mission", "start", "x" * 4_001), "at most 4000 characters"),
    "inputs": (
        ("mission", "start", WEATHER, *(f"--input=n{n}={n}" for n in range(10_000))),
        "10,000 inputs, and at most 1,000",
    ),
    "answer": (("mission", "answer", "m-1.1-x.2", f"city={LARGE}"), "3.0 MB large"),
    "amend": (("confirm", "amend", "m-1.1-x.2", f"city={LARGE}"), "3.0 MB large"),
    "reject": (("confirm", "reject", "m-1.1-x.2", "--reason", LARGE), "3.0 MB large"),
    "resolve": (("rollback", "resolve", "m-1.1-x.2", "retry", "--note", LARGE), "3.0 MB large"),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_what_is_too_large_is_one_sentence(
    case: str, here: Callable[..., Ran], stack: Stack
) -> None:
    """With its size and the limit, and exit code 2; the vault is as it was."""
    command, told = TOO_LARGE[case]
    vault = Store(stack.settings.state_dir).vault
    before = {field: vault.get(field) for field in vault.fields()}

    ran = here(*command)

    assert ran.exit_code == 2
    assert ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith("orchestrator: ")
    assert told in line
    assert len(line) < 300
    assert {field: vault.get(field) for field in vault.fields()} == before
