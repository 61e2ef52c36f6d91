"""Tables of the documentation: `python -m tests.doc_tables` writes them.

A table stands between `<!-- table of NAME -->` and `<!-- end -->`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from orchestrator.adapters.telemetry.conventions import MEASUREMENTS, SPANS
from orchestrator.catalog.lint.finding import CODES
from orchestrator.messages.events import EVENT_TYPES, FEED_KINDS, Event, kind_of
from orchestrator.runtime.settings_table import setting_rows
from orchestrator.settings import Settings

_ROOT: Final = Path(__file__).parents[1]
_TABLE: Final = re.compile(r"^<!-- table of ([a-z ]+) -->\n(.*?)^<!-- end -->", re.M | re.S)


def _table(head: str, *rows: Iterable[str]) -> str:
    columns = head.split(", ")
    lines = [columns, ["---"] * len(columns), *map(list, rows)]
    written = ("|".join(f" {cell} " for cell in line) for line in lines)
    return "\n".join(f"|{line}|" for line in written).replace(" --- ", "---")


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def settings_table() -> str:
    """Return the variables with their defaults and meanings."""
    rows = setting_rows(Settings.model_construct())
    shown = ((r, "" if r.default == "unset" else f"`{r.default}`") for r in rows)
    return _table(
        "variable, default, what it is for",
        *((f"`{row.variable}`", default, row.meaning) for row, default in shown),
    )


def telemetry_table() -> str:
    """Return every span and measurement of missions."""
    return _table(
        "name, kind, attributes, is",
        *((f"`{one.name}`", "span", _code(one.attributes), one.means) for one in SPANS),
        *(
            (f"`{one.name}`", f"{one.kind}, {one.unit}", _code(one.attributes), one.means)
            for one in MEASUREMENTS
        ),
    )


def event_type_table() -> str:
    """Return the types of events with their fields."""
    return _table(
        "kind, means, fields, in the feed",
        *(
            (
                f"`{kind_of(one)}`",
                (one.__doc__ or "").partition("\n")[0].rstrip("."),
                _code(name for name in one.model_fields if name not in Event.model_fields),
                "yes" if kind_of(one) in FEED_KINDS else "",
            )
            for one in EVENT_TYPES
        ),
    )


def lint_table() -> str:
    """Return the codes of lint findings; an asterisk marks those that cannot be suppressed."""
    return _table(
        "code, severity, finding",
        *(
            (f"{name}{'*' if code.lasting else ''}", code.severity, code.finds)
            for name, code in CODES.items()
        ),
    )


TABLES: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "lint codes": ("contract.md", lint_table),
    "settings": ("operations.md", settings_table),
    "telemetry": ("observing.md", telemetry_table),
    "event types": ("observing.md", event_type_table),
}
"""The page of each table, and the function that makes it."""


def page_with_tables(page: str) -> tuple[str, str]:
    """Return the text of a page as it is, and as it has to be."""
    text = (_ROOT / "docs" / page).read_text(encoding="utf-8")

    def printed(found: re.Match[str]) -> str:
        where, table = TABLES[found[1]]
        assert where == page, f"the table of {found[1]} belongs into {where}"
        return f"<!-- table of {found[1]} -->\n{table()}\n<!-- end -->"

    return text, _TABLE.sub(printed, text)


def tables_of(page: str) -> set[str]:
    """Return the tables that a page has."""
    text = (_ROOT / "docs" / page).read_text(encoding="utf-8")
    return {found[1] for found in _TABLE.finditer(text)}


def main() -> None:
    """Write every table into its page."""
    for page in sorted({page for page, _ in TABLES.values()}):
        (_ROOT / "docs" / page).write_text(page_with_tables(page)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
