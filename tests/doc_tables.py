"""Tables of the documentation that commands print: `python -m tests.doc_tables` writes them.

A table stands between `<!-- COMMAND -->` and `<!-- end -->`, where COMMAND is what prints it.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from orchestrator.cli.watching import event_type_table
from orchestrator.runtime import settings_table, telemetry_table

_ROOT: Final = Path(__file__).parents[1]
_TABLE: Final = re.compile(r"^<!-- (orchestrator [^\n]+) -->\n(.*?)^<!-- end -->", re.M | re.S)
TABLES: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "orchestrator settings --markdown": ("settings.md", settings_table.markdown_table),
    "orchestrator telemetry --markdown": ("observing.md", telemetry_table.markdown_table),
    "orchestrator mission event-types --markdown": ("observing.md", event_type_table),
}
"""The page of each table, and the function that makes it."""


def page_with_tables(page: str) -> tuple[str, str]:
    """Return the text of a page as it is, and as it has to be."""
    text = (_ROOT / "docs" / page).read_text(encoding="utf-8")

    def printed(found: re.Match[str]) -> str:
        command = found[1]
        where, table = TABLES[command]
        assert where == page, f"{command} belongs into {where}"
        return f"<!-- {command} -->\n{table()}\n<!-- end -->"

    return text, _TABLE.sub(printed, text)


def commands_of(page: str) -> set[str]:
    """Return the commands whose tables a page has."""
    text = (_ROOT / "docs" / page).read_text(encoding="utf-8")
    return {found[1] for found in _TABLE.finditer(text)}


def main() -> None:
    """Write every table into its page."""
    for page in sorted({page for page, _ in TABLES.values()}):
        (_ROOT / "docs" / page).write_text(page_with_tables(page)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
