"""What goes to a terminal, and to logs and tracebacks, whoever made the text."""

import io
import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

import orchestrator.cli
from orchestrator.cli.clean_errors import CleanFormatter
from orchestrator.cli.output import CleanConsole, block, indented, line, print_json

RAW = "a\x1b[2J\u202eb"
CLEAN = r"a\x1b[2J\u202eb"


def printed(*shown: object, width: int = 80) -> str:
    file = io.StringIO()
    console = CleanConsole(
        file=file, force_terminal=True, width=width, color_system="standard", highlight=False
    )
    console.print(*shown)
    return file.getvalue()


@pytest.mark.parametrize("shown", [RAW, Text(RAW), line(RAW), block(RAW)])
def test_hidden_characters_are_shown(shown: object) -> None:
    """In strings, and in a rich text that nobody cleaned."""
    assert CLEAN in printed(shown)
    assert "\x1b[2J" not in printed(shown)


def test_a_string_is_one_line_and_no_markup() -> None:
    """Also as a cell, a heading or a spinner; folded, no line begins at the margin."""
    table = Table("[bold]h")
    table.add_row("a\n[link=https://evil.example]b[/] :smile:")
    shown = printed(table)

    assert r"a\n[link=https://evil.example]b[/] :smile:" in shown
    assert "[bold]h" in shown
    assert CleanConsole().status("[red]x\n").renderable is not None
    assert "[red]x" in printed(CleanConsole().status("[red]x").renderable)
    assert printed(line(("red", "red"))) == "\x1b[31mred\x1b[0m\n"
    shown = printed(indented(block("word " * 60 + "\nPrice 1 EUR")), width=40)
    assert all(row.startswith("  ") for row in shown.splitlines() if row.strip())


def test_no_command_writes_markup() -> None:
    """It would be printed as it is: styles are given with `line` and its kin."""
    cli = Path(orchestrator.cli.__file__).parent
    texts = {file.name: file.read_text(encoding="utf-8") for file in cli.glob("*.py")}
    written = re.compile(r"rich\.markup|\[/|\[(bold|dim|red|green|yellow|cyan)\b")

    assert [name for name, text in texts.items() if written.search(text)] == []


def test_json_is_valid_with_half_a_character(capsys: pytest.CaptureFixture[str]) -> None:
    """A provider's answer may hold one half of a pair of surrogates."""
    print_json({"text": "\ud83d\x9b\u202e"})

    assert json.loads(capsys.readouterr().out) == {"text": "\ud83d\x9b\u202e"}


def test_a_log_record_is_one_line() -> None:
    try:
        raise ValueError(RAW)
    except ValueError:
        record = logging.LogRecord("x", 30, "f", 1, "no %s", (f"{RAW}\nfake",), sys.exc_info())
    first, *rest = CleanFormatter().format(record).splitlines()

    assert first == rf"no {CLEAN}\nfake"
    assert rest[-1] == f"ValueError: {CLEAN}"


def test_a_traceback_and_a_log_without_a_handler_are_clean() -> None:
    code = (
        "import sys, logging\n"
        "from orchestrator.cli import main, clean_errors\n"
        "clean_errors.install_clean_hooks()\n"
        f"logging.getLogger('x').warning({RAW!r})\n"
        f"raise ValueError({RAW!r})\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert "\x1b" not in ran.stderr
    assert ran.stderr.count(CLEAN) == 2


@pytest.mark.parametrize(
    "value", [[], [{}], [{"a": "x\ny", "b": [1, {"c": []}]}, {"d": None}], {"a": [1, 2]}]
)
def test_a_list_is_written_as_one_document(value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    print_json(value)

    assert capsys.readouterr().out == json.dumps(value, indent=2) + "\n"
