"""Servers that are started later, and started again: their ports, and the command of ours."""

import socket
import subprocess
from pathlib import Path

import pytest

from orchestrator.runtime.devserver import Ports, ourselves


def test_ports_that_are_free_are_never_those_of_outgoing_connections() -> None:
    """Linux gives those out from 32768, others from 49152; ours differ from each other."""
    for _ in range(50):
        ports = Ports.free()
        chosen = {ports.temporal, ports.ui, ports.sandbox}

        assert len(chosen) == 3
        assert all(1024 < port < 32_768 for port in chosen)


def test_a_port_that_somebody_listens_on_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another is looked for."""
    first = Ports.free()
    others = Ports.free()
    offered = iter([first.temporal, first.ui, first.ui, first.sandbox, others.sandbox])
    monkeypatch.setattr(
        "orchestrator.runtime.devserver.secrets.choice", lambda ports: next(offered)
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first.temporal))
        taken.listen()
        found = Ports.free()

    assert found == Ports(first.ui, first.sandbox, others.sandbox)


def test_a_file_with_our_name_is_not_run_in_our_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a user's may hold `orchestrator.py`: the parts of an installation start there."""
    (tmp_path / "orchestrator.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)

    ran = subprocess.run([*ourselves(), "--help"], capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")
