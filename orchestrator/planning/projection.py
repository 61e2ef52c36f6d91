"""Projects answers by their schemas: objects retain only properties that the document names.

Any other property that a provider sends has no declared meaning: no planner needs it, and it could
hide text for a model that no reader of the document expects. An object without named properties
stays whole: its keys are data.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.patterns import matches_pattern
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import IN_PLACE, properties_of, subschemas
from orchestrator.planning.models import Fact, Observation, StepContext

Seen = TypeVar("Seen", Observation, Fact)
_Schemas: TypeAlias = tuple[JsonObject, ...]

_APPLIED: Final = tuple(keyword for keyword in IN_PLACE if keyword != "not")
_NAMING: Final = ("properties", "patternProperties", "additionalProperties")
_ANYTHING: Final[JsonObject] = {}
_ANY_OBJECT: Final[Sequence[JsonValue]] = (True, {}, {"type": "object"})
_MOST_SCHEMAS: Final = 200
"""Maximum number of schemas for one value, because alternatives may nest without end."""


def shown_to_models(context: StepContext, catalog: Catalog) -> StepContext:
    """Return a step's context whose answers contain only properties that their documents name."""
    known: dict[str, _Projection] = {}

    def of(seen: Seen) -> Seen:
        tool = catalog.tools.get(seen.tool)
        if tool is None or tool.output_schema is None:
            return seen
        projection = known.setdefault(seen.tool, _Projection(tool.output_schema))
        body = projection.of(seen.body)
        return seen if body == seen.body else seen.model_copy(update={"body": body})

    seen, facts = tuple(map(of, context.observations)), tuple(map(of, context.facts))
    if seen == context.observations and facts == context.facts:
        return context
    return context.model_copy(update={"observations": seen, "facts": facts})


def projected(body: JsonValue, schema: JsonObject) -> JsonValue:
    """Return the parts of an answer that its schema names, at every depth.

    Example: `projected({"id": "B7", "note_to_ai": "..."}, schema)` is `{"id": "B7"}` if the schema
    has the property `id`.
    """
    return _Projection(schema).of(body)


@dataclass(frozen=True)
class _Named:
    """The parts of one value that its schemas name."""

    parts: tuple[JsonObject, ...]
    """The schemas, and those that they apply to the same value: alternatives and conditions."""
    properties: Mapping[str, _Schemas]
    by_pattern: tuple[JsonObject, ...]
    """The parts that name properties by patterns."""
    is_whole: bool
    """True if the schemas name no keys, or accept objects of any kind."""


class _Projection:
    """Projects answers by one schema, whose references lead to its own definitions."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._known: dict[tuple[int, ...], tuple[_Schemas, _Named]] = {}
        """Parts by the ids of schemas, which stay referenced: answers repeat schemas."""

    def of(self, value: JsonValue, schemas: _Schemas | None = None) -> JsonValue:
        """Return the named parts of a value by these schemas; by default, of the whole answer."""
        schemas = schemas or (self._root,)
        if isinstance(value, list):
            parts = self._named(schemas).parts
            inner = [tuple(s for p in parts for s in _items(n, p)) for n in range(len(value))]
            return [self.of(o, s or (_ANYTHING,)) for o, s in zip(value, inner, strict=True)]
        if not isinstance(value, dict) or (named := self._named(schemas)).is_whole:
            return value
        found = {name: self._of_property(name, named) for name in value}
        return {name: self.of(value[name], inner) for name, inner in found.items() if inner}

    def _named(self, schemas: _Schemas) -> _Named:
        key = tuple(map(id, schemas))
        if key not in self._known:
            parts = tuple(self._in_place(schemas))
            properties: dict[str, _Schemas] = {}
            for part in parts:
                for name, schema in properties_of(part).items():
                    properties[name] = (*properties.get(name, ()), schema)
            # Nothing names the keys of the objects, or a schema accepts objects of any kind.
            named = any(part.get(keyword) for part in parts for keyword in _NAMING)
            branches = (one for schema in schemas for one in subschemas(schema, ("anyOf", "oneOf")))
            is_whole = not named or any(branch in _ANY_OBJECT for branch in branches)
            by_pattern = tuple(part for part in parts if part.get("patternProperties"))
            self._known[key] = schemas, _Named(parts, properties, by_pattern, is_whole)
        return self._known[key][1]

    def _in_place(self, schemas: _Schemas) -> Iterator[JsonObject]:
        waiting = list(schemas)
        for _ in range(_MOST_SCHEMAS):
            if not waiting:
                return
            part = resolve(waiting.pop(), self._root)
            yield part
            waiting += [inner for inner in subschemas(part, _APPLIED) if isinstance(inner, dict)]

    def _of_property(self, name: str, named: _Named) -> _Schemas:
        """Return the schemas of a property; empty if none names it."""
        found = named.properties.get(name, ())
        for part in named.by_pattern:
            found = (*found, *_by_pattern(name, part))
        return found or tuple(schema for part in named.parts for schema in _of_others(part))


def _by_pattern(name: str, schema: JsonObject) -> Iterator[JsonObject]:
    patterns = schema.get("patternProperties")
    for pattern, inner in patterns.items() if isinstance(patterns, Mapping) else ():
        with suppress(ValueError):  # a pattern that no engine can decide names nothing
            if matches_pattern(pattern, name):
                yield inner if isinstance(inner, dict) else _ANYTHING


def _of_others(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield the schemas of unnamed keys, if the document says that there are any."""
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        inner = schema.get(keyword)
        if inner is True:
            yield _ANYTHING
        elif isinstance(inner, dict):
            yield inner


def _items(number: int, schema: JsonObject) -> Iterator[JsonObject]:
    first = schema.get("prefixItems")
    if isinstance(first, list) and number < len(first):
        inner = first[number]
        yield inner if isinstance(inner, dict) else _ANYTHING
    elif isinstance(inner := schema.get("items"), dict):
        yield inner
