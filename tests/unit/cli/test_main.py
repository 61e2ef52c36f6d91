"""The command tree: what its help lists, and what that costs."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.cli.main import COMMANDS, load_command

_HEAVY = {"httpx", "numpy", "pydantic", "rich", "temporalio"}
_WORK = {"httpx", "numpy", "openapi_core", "pydantic_settings", "sqlalchemy", "temporalio"}
_OF_PLANNERS = {"dateparser", "numpy", "phonenumbers", "requests"}
_HELP = """
import sys
from orchestrator.cli import main
try:
    main()
finally:
    print(sorted(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


def _run(*words: str | bytes) -> subprocess.CompletedProcess[str]:
    command: list[str | bytes] = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_loads_no_command() -> None:
    """It lists every command, and imports none of what they need."""
    shown = _run("-c", _HELP, "--help")

    assert [name for name in COMMANDS if f" {name} " not in shown.stdout] == []
    assert [name for name in _HEAVY if f"'{name}'" in shown.stderr] == []
    assert "'typer'" in shown.stderr


_ENDS = """
import atexit, sys
from orchestrator.cli import run
module = sys.modules["orchestrator.cli.main"]
main = module.main
def registering():
    atexit.register(print, "registered")
    main()
module.main = registering
class Kept:
    def __del__(self):
        print("torn down")
kept = Kept()
run()
"""


def test_a_command_about_a_mission_loads_nothing_that_reads_goals() -> None:
    """What asks a server and prints the answer pays for no router, dates or phone numbers."""
    loads = "import orchestrator.cli.mission_commands, orchestrator.client.mission_client, sys"
    loaded = set(_run("-c", f"{loads}; print(*sys.modules)").stdout.split())

    assert "orchestrator.cli.mission_commands" in loaded
    assert _OF_PLANNERS & loaded == set()


@pytest.mark.parametrize(
    ("words", "code"), [(["settings"], 0), (["tools", "list", "--specs", "missing"], 2)]
)
def test_the_process_ends_with_its_code_and_without_teardown(words: list[str], code: int) -> None:
    """What other code registered for the end still runs, and all output arrives."""
    ran = _run("-c", _ENDS, *words)

    assert ran.returncode == code
    assert "torn down" not in ran.stdout
    assert ran.stdout.endswith("registered\n")
    assert len(ran.stdout.splitlines()) > (1 if code == 0 else 0)


def _below(command: Any) -> Iterator[Any]:
    inner = getattr(command, "commands", None) or {}
    for one in inner.values():
        yield from _below(one)
    if not inner:
        yield command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command(name: str) -> None:
    """Its first line is that of the table, and each command shows an example."""
    command = load_command(name)
    paragraph = command.help.partition("\n\n")[0]

    assert " ".join(paragraph.split()) == COMMANDS[name]
    assert "--install-completion" not in {o for p in command.params for o in p.opts}
    assert [one.name for one in _below(command) if "Example: " not in one.help] == []


@pytest.mark.parametrize("words", [["mission", "list"], ["tools", "list"], ["worker"]])
def test_help_of_a_command_loads_no_library_of_its_work(words: list[str]) -> None:
    """Importing them takes longer than all else that a help text needs."""
    shown = _run("-c", _HELP, *words, "--help")

    assert shown.returncode == 0
    assert [name for name in _WORK if f"'{name}'" in shown.stderr] == []


def test_bytes_that_are_no_text_are_refused_in_a_line() -> None:
    ran = _run("-m", "orchestrator", "mission", "show", b"\xff")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("orchestrator: an argument is not UTF-8")
    assert ran.stderr.count("\n") == 1
