"""The documents state facts: links lead somewhere, commands parse, named tests exist."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.adapters.secrets import SecretStore
from orchestrator.core.errors import SecretMissing
from tests.doc_tables import TABLES, page_with_tables, tables_of
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


def _text(document: str) -> str:
    return (_ROOT / document).read_text(encoding="utf-8")


def _commands(document: str) -> list[list[str]]:
    """Return each `orchestrator ...` line of shell blocks as words, without comments and `&`."""
    text = "".join(_BASH.findall(_text(document))).replace("\\\n", "")
    split = (shlex.split(line, comments=True) for line in text.splitlines())
    words = [[word for word in line if word != "&"] for line in split]
    return [w[w.index("orchestrator") :] for w in words if "orchestrator" in w[:2]]


def test_links_anchors_and_paths_lead_to_files() -> None:
    """Each names something that is in the project, and a heading that the page has."""
    links = [(one, link) for one in _DOCUMENTS for link in _LINK.findall(_text(one))]
    broken = [one for one in links if not ((_ROOT / one[0]).parent / one[1]).exists()]
    assert broken == []
    pages = [
        ((_ROOT / one).parent / page if page else _ROOT / one, anchor)
        for one in _DOCUMENTS
        for page, anchor in _ANCHOR.findall(_text(one))
    ]
    assert [p for p in pages if p[0].is_file() and p[1] not in _anchors(p[0])] == []
    named = [(one, path) for one in _DOCUMENTS for path in _PATH.findall(_text(one))]
    assert [(one, path) for one, path in named if not (_ROOT / path).exists()] == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings as GitHub derives them."""
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_every_room_is_in_the_architecture() -> None:
    """The table of rooms names each that there is, and the first file to read in it."""
    text = _text("docs/architecture.md")

    assert [room for room in floors(_ROOT) if f"`{room}" not in text] == []


def test_commands_parse(parse_command: Callable[[list[str]], None]) -> None:
    """Every command that a document tells people to type is one that the CLI takes."""
    for document in _DOCUMENTS:
        for command in _commands(document):
            parse_command(command)
    assert len(_commands("README.md")) > 8


def test_every_extension_is_in_the_contract() -> None:
    """docs/contract.md names each keyword of the published schema."""
    schema = json.loads(_text("specs/x-orchet.schema.json"))
    keywords = {*schema["properties"], *schema["$defs"]["document"]["properties"]}
    text = _text("docs/contract.md")

    assert sorted(keyword for keyword in keywords if f"`{keyword}`" not in text) == []


def test_each_guarantee_has_its_test() -> None:
    """The guarantees have 25 rows or more, and each names a test that exists."""
    rows = [
        line
        for line in _text("docs/concepts.md").partition("\n## Guarantees\n")[2].splitlines()
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


_SECURITY = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")


def _shown(folder: Path) -> SecretStore:
    (block,) = re.findall(r"^```python\n(.*?)^```", _SECURITY, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    store: SecretStore = names["FolderSecrets"](folder)
    return store


def test_the_shown_store_gives_what_it_holds(tmp_path: Path) -> None:
    """By name, and what it lacks in the error that calls expect of a store."""
    (tmp_path / "payments__token").write_text("t0ken\n")

    assert _shown(tmp_path).get("payments__token") == "t0ken"
    with pytest.raises(SecretMissing, match="payments__other"):
        _shown(tmp_path).get("payments__other")


_PAGE: Final = re.compile(r"docs/[\w/-]+\.md")
_SPEAKING: Final = ("orchestrator", "workflows", "activities", "deploy", "Makefile")


@pytest.mark.parametrize("page", sorted({page for page, _ in TABLES.values()}))
def test_the_tables_of_a_page_are_generated(page: str) -> None:
    """`make docs` writes them."""
    is_now, should_be = page_with_tables(page)

    assert is_now == should_be
    assert tables_of(page) == {name for name, (where, _) in TABLES.items() if where == page}


def test_pages_that_the_code_names_exist() -> None:
    """Errors, help texts and manifests lead to pages of the documentation."""
    files = [
        path
        for name in _SPEAKING
        for path in (_ROOT / name, *(_ROOT / name).rglob("*"))
        if path.is_file() and path.suffix in ("", ".py", ".yaml", ".json", ".sh")
    ]
    named = {
        (page, str(path.relative_to(_ROOT)))
        for path in files
        for page in _PAGE.findall(path.read_text(encoding="utf-8"))
    }

    assert len(named) > 5
    assert sorted(pair for pair in named if not (_ROOT / pair[0]).exists()) == []
