"""Workers that die at one point, and the pool that replaces them; in own processes."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

_LIVES = """
    import os, sys
    from pathlib import Path
    from orchestrator.chaos.child_pool import keep_alive
    from orchestrator.chaos.scenarios.points import KillPoint
    from orchestrator.chaos.killable_workers import KillPoints

    def point(when, at):
        return KillPoint(part=".rollback", when=when, at=at, what="something")

    points = {
        "task": point("task", "6"),
        "before": point("before", "3"),
        "after": point("after", "3"),
        "never": point("task", "99"),
    }
    points = KillPoints(points, Path(sys.argv[1]))

    def serve(name):
        say = lambda word: os.write(1, f"{name} {word}\\n".encode())
        say("born")
        points.at_task(name, 7)
        points.at_task(f"{name}.rollback", 5)
        points.at_activity(f"{name}.other", "3", "before")
        points.at_activity(f"{name}.rollback", "3", "before")
        say("passed")
        points.at_task(f"{name}.rollback", 8)
        points.at_activity(f"{name}.rollback", "3", "after")
        say("lived")

    keep_alive(serve, ["task", "before", "after", "never"], started=lambda: None)
"""


def test_a_worker_dies_once_at_its_point_and_is_replaced(tmp_path: Path) -> None:
    """At the first task that sees the event, before or after an activity: there, and only once."""
    code = [sys.executable, "-c", textwrap.dedent(_LIVES), str(tmp_path)]
    ran = subprocess.run(code, capture_output=True, text=True, check=True)
    said = [line.split() for line in ran.stdout.splitlines()]
    lives = {name: [word for who, word in said if who == name] for name, _ in said}

    assert lives == {
        "task": ["born", "passed", "born", "passed", "lived"],
        "before": ["born", "born", "passed", "lived"],
        "after": ["born", "passed", "born", "passed", "lived"],
        "never": ["born", "passed", "lived"],
    }
    assert {struck.name for struck in tmp_path.iterdir()} == {"task", "before", "after"}


POOL = """
import os, signal, time
from orchestrator.chaos.child_pool import keep_alive

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
        try:
            begun = {pool.stdout.readline().strip() for _ in range(2)}
            began = time.monotonic()
            pool.send_signal(signal.SIGTERM)
            # Its end of the pipe is closed by the last of them.
            more = pool.stdout.read()
            took_s = time.monotonic() - began
        except BaseException:
            pool.kill()  # or leaving the block waits for it without end
            raise

    assert (begun, more, pool.returncode) == ({"deaf", "good"}, "", 0)
    assert took_s < 30
