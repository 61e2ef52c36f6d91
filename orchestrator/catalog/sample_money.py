"""A sample of what a schema describes, as far as money goes: to see what the reader makes of it."""

from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.money_units import property_of, views
from orchestrator.catalog.stated_prices import names_currency
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of

_MOST_LEVELS: Final = 6
_CODE: Final = "EUR"


def sample_money(schema: JsonObject | None, *, whole: bool) -> JsonValue:
    """A body in which every property is there, each with the plainest value that it may have.

    Whether a number is money is the reader's to say. `whole` gives a text that may be an amount no
    decimals, as what counts cents has none.
    """
    root = schema or {}
    return _Sample(root, whole).of("", views(root, root), 0)


class _Sample:
    """One sample: the schema that references lead into, and how texts are written."""

    def __init__(self, root: JsonObject, whole: bool) -> None:
        self._root = root
        self._whole = whole

    def of(self, name: str, held_by: tuple[JsonObject, ...], level: int) -> JsonValue:
        """The value of a property of that name."""
        if level > _MOST_LEVELS:
            return None
        names = list(dict.fromkeys(name for view in held_by for name in properties_of(view)))
        if names:
            inner = ((n, property_of(held_by, n, self._root)) for n in names)
            return {n: self.of(n, own, level + 1) for n, own in inner}
        for view in held_by:
            if isinstance(items := view.get("items"), dict):
                return [self.of(name, views(items, self._root), level + 1)]
        return self._scalar(name, held_by)

    def _scalar(self, name: str, held_by: tuple[JsonObject, ...]) -> JsonValue:
        types = {kind for view in held_by for kind in _types(view) if isinstance(kind, str)}
        if names_currency(name):
            return next((code for view in held_by for code in _codes(view)), _CODE)
        if types & {"number", "integer"}:
            return 1
        return ("1" if self._whole else "1.50") if "string" in types else None


def _types(view: JsonObject) -> list[JsonValue]:
    listed = view.get("type")
    return listed if isinstance(listed, list) else [listed]


def _codes(view: JsonObject) -> list[str]:
    listed = view.get("enum")
    found = [*(listed if isinstance(listed, list) else []), view.get("const"), view.get("default")]
    return [code for code in found if isinstance(code, str)]
