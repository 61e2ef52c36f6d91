"""Commands run as a person runs them, in a process of their own, and what they printed."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[Any]:
        """Standard output, which must be one JSON document a line and nothing else."""
        return [json.loads(line) for line in self.stdout.splitlines()]


async def run_apart(
    *arguments: str,
    environment: Mapping[str, str],
    timeout_s: float = 60.0,
    folder: Path | None = None,
) -> Ran:
    """Run `orchestrator ...` to its end, with this environment and no other, in that folder.

    Raises:
        TimeoutError: it had not ended in time; it is killed.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "orchestrator", *arguments),
        env=dict(environment),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            stdout, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Ran(process.returncode, stdout.decode(), stderr.decode())
