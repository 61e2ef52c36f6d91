"""How the benchmark talks to programs that are their own server: ids in, a JSON line out.

Stands for the web handler such an app would have; not counted as anybody's lines.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator


async def lines() -> AsyncIterator[str]:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield line.decode().strip()


def say(**event: str) -> None:
    print(json.dumps(event), flush=True)  # noqa: T201 -- what it is for


def hold(m: str, card: str) -> bool:
    """Missions called hold-... have nobody who decides on the flight."""
    return m.startswith("hold-") and card == "flight"
