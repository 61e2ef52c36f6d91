"""The file that `orchestrator dev` leaves for other terminals."""

import os
import shlex
import subprocess

from orchestrator.runtime.devserver import SANDBOX_SECRETS, Stack


def _sourced(stack: Stack, **more: str) -> dict[str, str]:
    """The environment of a shell that sourced the file."""
    command = f". {shlex.quote(str(stack.exports))} && env -0"
    shell = subprocess.run(
        ["sh", "-c", command],
        env={"PATH": os.environ["PATH"], **more},
        capture_output=True,
        check=True,
        text=True,
    )
    return dict(line.split("=", 1) for line in shell.stdout.split("\0") if line)


async def test_another_worker_gets_what_the_first_one_has(stack: Stack) -> None:
    """Addresses, settings and the sandbox's credentials: a new worker can finish any mission."""
    given = {**SANDBOX_SECRETS, **stack.environment}

    assert _sourced(stack).items() >= given.items()


async def test_a_credential_that_was_set_is_kept(stack: Stack) -> None:
    """What the operator has exported for a real provider is not replaced."""
    name = next(iter(SANDBOX_SECRETS))

    assert _sourced(stack, **{name: "real"})[name] == "real"
