"""A workflow that does what no workflow may, by name."""

import datetime
import os
import random
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from temporalio import workflow

_DOES: Mapping[str, Callable[[], object]] = {
    "asks the time": lambda: datetime.datetime.now(),
    "asks the day": lambda: datetime.date.today(),
    "reads a clock": lambda: time.time(),
    "sleeps": lambda: time.sleep(0.001),
    "throws dice": lambda: random.random(),
    "makes an id": lambda: uuid.uuid4(),
    "reads a variable": lambda: os.getenv("HOME"),
    "opens a file": lambda: open("/dev/null"),  # noqa: SIM115
    "looks at a folder": lambda: Path("/").exists(),
    "reaches out": lambda: socket.create_connection(("127.0.0.1", 1)),
}
FORBIDDEN = tuple(_DOES)


@workflow.defn
class Forbidden:
    """Does one of them."""

    @workflow.run
    async def run(self, does: str) -> None:
        """Do it."""
        _DOES[does]()
