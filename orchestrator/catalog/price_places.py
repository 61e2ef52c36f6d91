"""Where a runtime expression leads: to a value of a call or its answer, past its schemas."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.catalog.expressions import Expression
from orchestrator.catalog.money_units import property_of, views
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow


@dataclass(frozen=True)
class Place:
    """The steps to a value, from the arguments of a call or the body of its answer."""

    root: JsonObject
    """The schema of that whole; {} when there is none."""
    path: tuple[str, ...]

    def values(self, whole: JsonValue) -> list[JsonValue]:
        """What is found on the way, the whole first; as far as the steps lead."""
        found: list[JsonValue] = []
        for length in range(len(self.path) + 1):
            try:
                found.append(follow(whole, self.path[:length]))
            except LookupError:
                break
        return found

    def schemas(self) -> list[tuple[JsonObject, ...]]:
        """The schemas on the way, each as its views; none where no schema says anything."""
        steps = [views(self.root, self.root)]
        for name in self.path:
            steps.append(tuple(_inside(steps[-1], name, self.root)))
        return steps

    @property
    def leads_nowhere(self) -> bool:
        """Whether the schemas have no room for such a value, and some say what there is."""
        held_by: tuple[JsonObject, ...] = ()
        for held in self.schemas():
            if not held:
                return any("properties" in view or _is_plain(view) for view in held_by)
            held_by = held
        return False


def place_of(expression: Expression, tool: Tool) -> Place | None:
    """Where an expression leads; None when the tool has no such input, or for a header's answer."""
    if expression.message == "response":
        if expression.source != "body":
            return None
        return Place(tool.output_schema or {}, expression.path)
    name, *rest = expression.path or ("",)
    for binding in tool.bindings:
        if binding.location != expression.source:
            continue
        if expression.source == "body" and not binding.field:
            return Place(tool.input_schema, (binding.name, *expression.path))
        is_header = expression.source == "header" and binding.field.lower() == name.lower()
        if binding.field == name or is_header:
            return Place(tool.input_schema, (binding.name, *rest))
    return None


def _inside(held_by: tuple[JsonObject, ...], name: str, root: JsonObject) -> Iterator[JsonObject]:
    yield from property_of(held_by, name, root)
    for view in held_by:
        items = view.get("items")
        if name.isdigit() and isinstance(items, dict):
            yield from views(items, root)


def _is_plain(view: JsonObject) -> bool:
    return view.get("type") in ("boolean", "integer", "number", "string")
