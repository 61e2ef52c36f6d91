"""The word lists are files that people can edit, and nobody pays for who needs none."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from orchestrator import language
from orchestrator.language.word_lists import WordLists

FILES: Final = sorted((Path(language.__file__).parent / "data").rglob("*"))
LISTS: Final = [path for path in FILES if path.is_file()]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_file_says_what_it_is_and_is_read(path: Path) -> None:
    """It opens with a comment, holds lists by their keys, and some module reads it."""
    text = path.read_text(encoding="utf-8")
    modules = Path(language.__file__).parents[1].rglob("*.py")

    assert path.suffix == ".yaml"
    assert text.startswith("# ")
    assert isinstance(yaml.safe_load(text), dict)
    assert any(f'WordLists("{path.stem}")' in m.read_text(encoding="utf-8") for m in modules)


def test_every_word_stays_a_word() -> None:
    """What YAML takes for a truth value is text here."""
    lists = WordLists("words")

    assert {"on", "off", "no", "yes"} <= lists.word_set("stop_words")


def test_messages_read_no_word_lists() -> None:
    """Who only sends and receives missions, a workflow for one, does not load them."""
    code = (
        "import sys, orchestrator.messages, orchestrator.planning.models;"
        "import orchestrator.routing.selection;"
        "sys.exit('orchestrator.language.word_lists' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
