"""Tables of the documentation are generated; pages that the code names exist."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.doc_tables import TABLES, page_with_tables, tables_of

_ROOT: Final = Path(__file__).parents[2]
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
