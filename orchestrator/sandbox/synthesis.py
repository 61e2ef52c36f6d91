"""Makes plausible values from JSON schemas; the same seed and hints give the same value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from orchestrator.sandbox.bounded_patterns import texts_matching
from orchestrator.sandbox.made_values import (
    ATTEMPTS,
    examples,
    identifiers,
    integers,
    numbers,
    strings,
)
from orchestrator.sandbox.scenes import Scene, UnsupportedSchema
from orchestrator.sandbox.served_operations import TROUBLES
from orchestrator.sandbox.served_schemas import Schema, SchemaBook

__all__ = ["Scene", "Synthesizer", "UnsupportedSchema"]

_DEEPEST = 5
_DEEP = 40
"""Schemas within one another: beyond this nothing more is begun."""
_OTHER_KINDS = ("string", "integer", "boolean", "object", "array", "null")
# An order like this reads as a thing that was just made and still stands.
_STANDING_STATES = ("confirmed", "booked", "active", "reserved", "accepted", "sent", "submitted")
_ALWAYS_TRUE = ("healthy", "ok", "success", "allowed", "available")
_CANCEL = ("cancel", "refund", "void", "revert", "recall", "withdraw", "delete", "remove", "releas")
_GONE = (*_CANCEL, "reject", "declin", "fail", "expir", "error", "draft", "deliver", "reimburs")


class Synthesizer:
    """Makes values for the schemas of one document."""

    def __init__(self, book: SchemaBook, words: Mapping[str, Sequence[str]]) -> None:
        self._book = book
        self._words = words

    def value(self, schema: Schema, scene: Scene, *, name: str = "", depth: int = 0) -> Any:
        """One value that conforms to the schema.

        Raises:
            UnsupportedSchema: nothing that was tried conforms.
        """
        scene.effort.spend(1)
        if depth > _DEEP:
            raise _nothing_for(name)
        resolved = self._book.resolve(schema)
        hint = scene.hints.get(name)
        if hint is not None and self._book.is_valid(resolved, hint):
            return hint
        candidates = self._candidates(resolved, scene, name, depth)
        return self._first_valid(resolved, candidates, name)

    def object(self, schema: Schema, scene: Scene, *, depth: int = 0) -> dict[str, Any]:
        """One object with every property that the scene does not omit.

        Raises:
            UnsupportedSchema: nothing that was tried conforms.
        """
        resolved = self._book.resolve(schema)
        first: dict[str, Any] | None = None
        fault: UnsupportedSchema | None = None
        for variant in self._book.variants(resolved):
            try:
                for made in self._objects(variant, scene, depth):
                    if self._book.is_valid(resolved, made):
                        return made
                    first = made if first is None else first
            except UnsupportedSchema as error:
                fault = fault or error
        if first is None:
            raise fault or UnsupportedSchema("no value found for the answer: give it an example")
        # What it says of itself contradicts itself: as much as can be said is still worth most.
        return first

    def _objects(self, schema: Schema, scene: Scene, depth: int) -> Iterator[dict[str, Any]]:
        """Objects with as much as can be made, and with as little as is required."""
        yield self._object(schema, scene, depth, is_scarce=False)
        yield self._object(schema, scene, depth, is_scarce=True)

    def _object(
        self, schema: Schema, scene: Scene, depth: int, *, is_scarce: bool
    ) -> dict[str, Any]:
        listed = schema.get("required", [])
        required = set(listed) if isinstance(listed, list) else set()
        properties = schema.get("properties", {})
        made: dict[str, Any] = {}
        for name, inner in properties.items():
            is_wanted = name in required
            is_enough = depth > _DEEPEST or scene.effort.is_large or is_scarce
            if not is_wanted and (is_enough or scene.omit(name) or self._is_unsaid(inner, scene)):
                continue
            if name.casefold() in TROUBLES and self._leaves_empty(name, inner, scene):
                if is_wanted:
                    made[name] = []
                continue
            below = scene if depth == 0 else scene.inside()
            try:
                made[name] = self.value(inner, below, name=name, depth=depth + 1)
            except UnsupportedSchema:
                if is_wanted:
                    raise
        for name in required - set(properties):
            made[name] = self.value(_beside(schema), scene.inside(), name=name, depth=depth + 1)
        return self._filled_up(schema, made, scene, depth)

    def _leaves_empty(self, name: str, schema: Schema, scene: Scene) -> bool:
        """True if an answer lists troubles there, of which a success has none."""
        if scene.is_request or name in scene.hints:
            return False
        listed = self._book.resolve(schema)
        return self._book.type_of(listed) == "array" and not listed.get("minItems")

    def _is_unsaid(self, schema: Schema, scene: Scene) -> bool:
        """Whether a property has no business in this direction."""
        resolved = self._book.resolve(schema)
        return resolved.get("readOnly" if scene.is_request else "writeOnly") is True

    def _filled_up(
        self, schema: Schema, made: dict[str, Any], scene: Scene, depth: int
    ) -> dict[str, Any]:
        """With as many more members as the schema wants, under the names that it lets them have."""
        missing = int(schema.get("minProperties", 0)) - len(made)
        if missing <= 0:
            return made
        patterns = schema.get("patternProperties") or {}
        pattern, inner = next(iter(patterns.items()), ("", _beside(schema)))
        attempts = ATTEMPTS + missing
        names = (
            texts_matching(pattern, scene.rng, attempts=attempts)
            if pattern
            else (f"name_{number}" for number in range(missing))
        )
        for name in names:
            if len(made) < int(schema["minProperties"]) and name not in made:
                made[name] = self.value(inner, scene.inside(), name=name, depth=depth + 1)
        return made

    def identifier(self, schema: Schema, rng: Random, *, name: str) -> str | int:
        """An id in the style of the schema's example: "bkg_4f81c0" gives "bkg_" and more.

        Raises:
            UnsupportedSchema: nothing that was tried conforms.
        """
        kinds = self._book.variants(schema)
        named = (kind for kind in kinds if self._book.type_of(kind) in ("string", "integer"))
        resolved = next(named, kinds[0])
        numbers = (rng.randrange(10**5, 10**9) for _ in range(ATTEMPTS))
        codes = identifiers(resolved, rng, name)
        candidates = numbers if self._book.type_of(resolved) == "integer" else codes
        made: str | int = self._first_valid(resolved, candidates, name)
        return made

    def status(
        self, schema: Schema, *, is_cancelled: bool, gone: Collection[str] = frozenset()
    ) -> Any:
        """The word of an enum that says the thing stands, or is cancelled; None for none.

        Args:
            schema: of the property that says it.
            is_cancelled: which of both is wanted.
            gone: the words of which the document says that they mean cancelled.
        """
        listed = self._book.resolve(schema).get("enum", [])
        states = {state: state.casefold() for state in listed if isinstance(state, str) and state}
        if is_cancelled:
            said = [state for state in states if state in gone]
            worded = (state for word in _CANCEL for state in states if word in states[state])
            return next(iter([*said, *worded]), None)
        left = [state for state in states if state not in gone]
        best = [state for word in _STANDING_STATES for state in left if states[state] == word]
        fresh = [state for state in left if not any(word in states[state] for word in _GONE)]
        kept = [state for state in left if not states[state].startswith("cancel")]
        return next(iter([*best, *fresh, *kept]), None)

    def _first_valid(self, schema: Schema, candidates: Iterator[Any], name: str) -> Any:
        for candidate in candidates:
            if self._book.is_valid(schema, candidate):
                return candidate
        raise _nothing_for(name)

    def _candidates(self, schema: Schema, scene: Scene, name: str, depth: int) -> Iterator[Any]:
        if scene.is_request:
            yield from examples(schema)
        variants = self._book.variants(schema)
        if depth > 0:
            # A thing that is named in place of told is shorter, and as true.
            variants = tuple(sorted(variants, key=self._is_compound))
        for variant in variants:
            with suppress(UnsupportedSchema):
                yield from self._plain(variant, scene, name, depth)
        yield from examples(schema)

    def _is_compound(self, schema: Schema) -> bool:
        return self._book.type_of(schema) in ("object", "array")

    def _plain(self, schema: Schema, scene: Scene, name: str, depth: int) -> Iterator[Any]:
        """Values of a schema without alternatives."""
        if "const" in schema:
            yield schema["const"]
        if "enum" in schema:
            values = [value for value in schema["enum"] if value is not None]
            yield from scene.rng.sample(values, len(values))
            yield from schema["enum"]
            return
        kind = self._book.type_of(schema)
        yield from self._typed(kind, schema, scene, name, depth)
        others = schema.get("type") if isinstance(schema.get("type"), list) else _OTHER_KINDS
        if kind is None or isinstance(schema.get("type"), list):
            for other in others or ():
                with suppress(UnsupportedSchema):
                    yield from self._typed(other, schema, scene, name, depth)
        if schema.get("nullable"):
            yield None

    def _typed(
        self, kind: str | None, schema: Schema, scene: Scene, name: str, depth: int
    ) -> Iterator[Any]:
        match kind:
            case "object":
                at = 0 if name in scene.wrappers else depth
                yield from self._objects(schema, scene, at)
            case "array":
                yield self._array(schema, scene, name, depth)
            case "string":
                yield from strings(schema, scene, name, self._words)
            case "integer":
                if name == "id" or name.endswith("_id"):
                    yield scene.rng.randrange(10**5, 10**9)
                yield from integers(schema, scene.rng, name)
            case "number":
                yield from numbers(schema, scene.rng, name)
            case "boolean":
                yield name in _ALWAYS_TRUE or scene.rng.random() < 0.7
            case "null":
                yield None

    def _array(self, schema: Schema, scene: Scene, name: str, depth: int) -> list[Any]:
        is_enough = depth > _DEEPEST or scene.effort.is_large
        least = int(schema.get("minItems", 0 if is_enough else 1))
        most = min(int(schema.get("maxItems", 3)), max(least, 3))
        if is_enough or "items" not in schema:
            most = least
        below = scene if depth <= 1 else scene.inside()
        count = scene.rng.randint(min(least, most), most)
        singular = name.removesuffix("s")
        items: list[Any] = []
        for _ in range(count * ATTEMPTS):
            item = self.value(schema.get("items", {}), below, name=singular, depth=depth + 1)
            if not schema.get("uniqueItems") or item not in items:
                items.append(item)
            if len(items) == count:
                break
        return items


def _beside(schema: Schema) -> Schema:
    """The schema of members that no property describes."""
    found = schema.get("additionalProperties")
    return found if isinstance(found, Mapping) else {}


def _nothing_for(name: str) -> UnsupportedSchema:
    return UnsupportedSchema(f"no value found for {name or 'the answer'!r}: give it an example")
