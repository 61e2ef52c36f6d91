"""Commands run as a person runs them, each in a process of its own, and what they printed."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.forked import Command, Forked


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
    timeout_s: float = 120.0,
    folder: Path | None = None,
) -> Ran:
    """Run `orchestrator ...` to its end, with this environment and no other, in that folder.

    Raises:
        TimeoutError: it had not ended in time; it is killed.
    """
    with TemporaryDirectory() as printed:
        stdout, stderr = Path(printed, "stdout"), Path(printed, "stderr")
        process = Forked.start(
            Command(arguments, environment, stdout=stdout, stderr=stderr, folder=folder)
        )
        try:
            async with asyncio.timeout(timeout_s):
                exit_code = await process.wait()
        finally:
            process.kill()
            await process.wait()
        return Ran(exit_code, *(file.read_bytes().decode() for file in (stdout, stderr)))
