"""The documents state facts: links lead somewhere, commands parse, named tests exist."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from orchestrator.cli.watching import event_type_table
from tests.structure import floors

_ROOT: Final = Path(__file__).parents[2]
_DOCUMENTS: Final = sorted(
    str(path.relative_to(_ROOT))
    for pattern in ("*.md", "docs/**/*.md", "specs/*.md")
    for path in _ROOT.glob(pattern)
)
_LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#]+)")
_ANCHOR: Final = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
_HEADING: Final = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)
_PATH: Final = re.compile(r"`((?:orchestrator|workflows|activities|specs|docs|tests)/[\w./-]+)`")
_TEST: Final = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_BASH: Final = re.compile(r"^```bash\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def _commands(document: str) -> list[list[str]]:
    """Each `orchestrator ...` line of the shell blocks, as words; comments and `&` left out."""
    text = "".join(_BASH.findall((_ROOT / document).read_text(encoding="utf-8")))
    split = (shlex.split(line, comments=True) for line in text.splitlines())
    words = [[word for word in line if word != "&"] for line in split]
    return [w[w.index("orchestrator") :] for w in words if "orchestrator" in w[:2]]


@pytest.mark.parametrize("document", _DOCUMENTS)
def test_links_lead_to_files(document: str) -> None:
    """Every relative link of a document names something that is in the project."""
    folder = (_ROOT / document).parent
    links = _LINK.findall((_ROOT / document).read_text(encoding="utf-8"))

    assert [link for link in links if not (folder / link).exists()] == []


@pytest.mark.parametrize("document", _DOCUMENTS)
def test_anchors_lead_to_headings(document: str) -> None:
    """Every link to a section of a page names a heading that the page has."""
    folder = (_ROOT / document).parent
    links = _ANCHOR.findall((_ROOT / document).read_text(encoding="utf-8"))
    pages = [(folder / page if page else _ROOT / document, anchor) for page, anchor in links]

    assert [a for page, a in pages if page.is_file() and a not in _anchors(page)] == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings as GitHub derives them."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("document", _DOCUMENTS)
def test_paths_that_are_named_are_there(document: str) -> None:
    """A file or folder of the project that a document names in passing is where it says."""
    named = _PATH.findall((_ROOT / document).read_text(encoding="utf-8"))

    assert [path for path in named if not (_ROOT / path).exists()] == []


def test_every_room_is_in_the_architecture() -> None:
    """The table of rooms names each that there is, and the first file to read in it."""
    text = (_ROOT / "docs/architecture.md").read_text(encoding="utf-8")

    assert [room for room in floors(_ROOT) if f"`{room}" not in text] == []


def test_the_readme_shows_commands() -> None:
    """The check below has something to check."""
    assert len(_commands("README.md")) > 8


@pytest.mark.parametrize("document", _DOCUMENTS)
def test_commands_parse(document: str, parse_command: Callable[[list[str]], None]) -> None:
    """Every command that a document tells people to type is one that the CLI takes."""
    for command in _commands(document):
        parse_command(command)


def test_every_extension_is_in_the_contract() -> None:
    """docs/contract.md names each keyword of the published schema."""
    schema = json.loads((_ROOT / "specs/x-orchet.schema.json").read_text(encoding="utf-8"))
    keywords = {*schema["properties"], *schema["$defs"]["document"]["properties"]}
    text = (_ROOT / "docs/contract.md").read_text(encoding="utf-8")

    assert sorted(keyword for keyword in keywords if f"`{keyword}`" not in text) == []


def test_each_guarantee_has_its_test() -> None:
    """docs/guarantees.md has 25 rows or more, and each names a test that exists."""
    rows = [
        line
        for line in (_ROOT / "docs/guarantees.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and not line.startswith(("| what fails", "|---"))
    ]

    assert len(rows) >= 25
    assert [row for row in rows if not _has_test(row)] == []


def _has_test(row: str) -> bool:
    """True if the third cell names a test function and the file has it."""
    named = _TEST.fullmatch(row.split(" | ")[2])
    if named is None or not (path := _ROOT / named[1]).is_file():
        return False
    text = path.read_text(encoding="utf-8")
    return re.search(rf"^(async )?def {named[2]}\(", text, re.MULTILINE) is not None


def test_the_table_of_event_types_is_the_one_that_is_printed() -> None:
    """`orchestrator mission event-types --markdown` prints what docs/observing.md has."""
    assert event_type_table() in (_ROOT / "docs/observing.md").read_text(encoding="utf-8")
