"""Workers that die at one point, and their replacement; in processes of their own."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

_LIVES = """
    import os, sys
    from pathlib import Path
    from orchestrator.chaos.process_pool import keep_alive
    from orchestrator.chaos.scenarios.points import KillPoint
    from orchestrator.chaos.kill_points import KillPoints

    def point(when, at):
        return KillPoint(part=".1-shop", when=when, at=at, what="something")

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
        points.at_task(f"{name}.1-shop", 5)
        points.at_activity(f"{name}.2-other", "3", "before")
        points.at_activity(f"{name}.1-shop", "3", "before")
        say("passed")
        points.at_task(f"{name}.1-shop", 8)
        points.at_activity(f"{name}.1-shop", "3", "after")
        say("lived")

    keep_alive(serve, ["task", "before", "after", "never"], started=lambda: None)
"""


def test_a_worker_dies_once_at_its_point_and_is_replaced(tmp_path: Path) -> None:
    """At the first task that sees the event, before or after an activity: there, and only once."""
    code = [sys.executable, "-c", textwrap.dedent(_LIVES), str(tmp_path)]
    ran = subprocess.run(code, capture_output=True, text=True, timeout=60, check=True)
    said = [line.split() for line in ran.stdout.splitlines()]
    lives = {name: [word for who, word in said if who == name] for name, _ in said}

    assert lives == {
        "task": ["born", "passed", "born", "passed", "lived"],
        "before": ["born", "born", "passed", "lived"],
        "after": ["born", "passed", "born", "passed", "lived"],
        "never": ["born", "passed", "lived"],
    }
    assert {struck.name for struck in tmp_path.iterdir()} == {"task", "before", "after"}


def test_a_pool_that_is_asked_to_stop_has_no_more_children() -> None:
    """SIGTERM reaches the child, and nobody takes its place."""
    code = (
        "import os, time; from orchestrator.chaos.process_pool import keep_alive\n"
        "def serve(name): os.write(1, b'born\\n'); time.sleep(60)\n"
        "keep_alive(serve, ['queue'], started=lambda: None)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as pool:
        assert pool.stdout is not None
        first = pool.stdout.readline()
        pool.send_signal(signal.SIGTERM)
        rest = pool.stdout.read()

        assert (first, rest) == (b"born\n", b"")
    assert pool.returncode == 0
