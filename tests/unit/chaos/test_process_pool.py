"""Children of a pool end with it, also one that does not listen."""

import signal
import subprocess
import sys
import time

POOL = """
import os, signal, time
from orchestrator.chaos.process_pool import keep_alive

def serve(name):
    if name == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(1, f"{name}\\n".encode())
    time.sleep(60)

keep_alive(serve, ["deaf", "good"], started=lambda: None)
"""


def test_a_child_that_does_not_listen_is_killed() -> None:
    """Before whoever stops the pool loses patience, and leaves the child to itself."""
    with subprocess.Popen([sys.executable, "-c", POOL], stdout=subprocess.PIPE, text=True) as pool:
        assert pool.stdout is not None
        begun = {pool.stdout.readline().strip() for _ in range(2)}
        began = time.monotonic()
        pool.send_signal(signal.SIGTERM)
        # Its end of the pipe is closed by the last of them.
        more = pool.stdout.read()
        took_s = time.monotonic() - began

    assert (begun, more, pool.returncode) == ({"deaf", "good"}, "", 0)
    assert took_s < 30
