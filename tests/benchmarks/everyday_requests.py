"""The everyday requests, and the catalogs that they are put to.

`everyday.jsonl` holds five older lists over the project's own documents: the rules of the router
were made on the first three. `everyday_fresh.jsonl` holds 444 requests in three parts, written down
before any rule followed them and dealt at random: rules may be made on `fit` and chosen on
`choose`; `judge` is looked at for its figures only, never line by line. They are over the
project's documents, over documents that are only tests here ("shops"), and over the functions of
`everyday_functions.jsonl`, which say as little of themselves as functions do.

Each line has what is asked, for each part of it the tools of which one will do (none: no tool can
do it), what sort of request it is, and what was known besides.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import Record
from orchestrator.routing.selection import RouteContext
from orchestrator.settings import bundled_specs

_HERE: Final = Path(__file__).parent
_DOCUMENTS: Final = _HERE.parent / "documents"
_SHOPS: Final = ("lockers.yaml", "foreign/gym.yaml", "foreign/library.yaml", "foreign/parcels.yaml")
BUNDLED: Final = "specs"
"""What the catalog of the project's own documents is called."""


class Everyday(Record):
    """One request; `tools` has one of each of these forwarded if it went well."""

    part: str
    catalog: str = BUNDLED
    category: str = ""
    request: str
    tools: tuple[tuple[str, ...], ...]
    context: RouteContext = Field(default=RouteContext())


def fresh() -> list[Everyday]:
    """The requests in three parts: fit, choose, judge."""
    return [Everyday.model_validate(line) for line in _lines("everyday_fresh.jsonl")]


def older() -> list[Everyday]:
    """The five older lists, as two parts: those that rules were made on, and the last two."""
    found = []
    for line in _lines("everyday.jsonl"):
        part = "older, last two lists" if line.pop("list") > 3 else "older, first three lists"
        found.append(Everyday.model_validate({"part": part, **line}))
    return found


def catalogs() -> Mapping[str, Catalog]:
    """The catalogs by the names that requests give them."""
    functions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in _lines("everyday_functions.jsonl"):
        functions[line.pop("catalog")].append(line)
    return {
        BUNDLED: Catalog.load(bundled_specs()),
        "shops": Catalog.load(*[_DOCUMENTS / name for name in _SHOPS]),
        **{name: Catalog.from_functions(tools) for name, tools in functions.items()},
    }


def _lines(name: str) -> list[dict[str, Any]]:
    text = (_HERE / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
