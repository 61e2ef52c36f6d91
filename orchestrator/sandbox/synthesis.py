"""Generates plausible values from JSON schemas; equal seeds and hints give equal values."""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from orchestrator.sandbox.effect_ledger import DEFAULT_CURRENCY, MONEY_NAMES
from orchestrator.sandbox.playbook import timestamp
from orchestrator.sandbox.schema_validators import texts_matching
from orchestrator.sandbox.served_operations import ERROR_LISTS
from orchestrator.sandbox.served_schemas import Schema, SchemaBook

_MOST = 5_000
_DEEP = 40
"""Levels of schemas below which nothing more is generated."""
# A state in this list means that the resource was just created and is live.
_STANDING_STATES = ("confirmed", "booked", "active", "reserved", "accepted", "sent", "submitted")
_CANCEL = ("cancel", "refund", "void", "revert", "recall", "withdraw", "delete", "remove", "releas")
# Whole words only: "suspended" and "extended" do not mean an end.
_ENDED = frozenset({"ended", "closed", "terminated", "revoked", "archived", "inactive"})
_GONE = (*_CANCEL, "reject", "declin", "fail", "expir", "error", "draft", "deliver", "reimburs")
ATTEMPTS = 20
_LONG = 1_000
_CODE = string.ascii_lowercase + string.digits
_PLAIN_WORDS = ("green", "north", "harbour", "garden", "river", "stone", "central", "morning")


class UnsupportedSchema(ValueError):
    """No value could be generated; the schema needs an example."""


@dataclass
class Effort:
    """The number of values generated for one answer; a long text counts as several."""

    values: int = 0

    def spend(self, values: int) -> None:
        """Count values.

        Raises:
            UnsupportedSchema: the answer has more values than allowed.
        """
        self.values += values
        if self.values > _MOST:
            raise UnsupportedSchema(f"more than {_MOST:,} values would have to be made")


@dataclass(frozen=True)
class Scene:
    """The inputs of one answer.

    Attributes:
        rng: the only random source.
        now: the moment of the call.
        day: the day of the request; dates are near it.
        hints: values by property name, used where they fit the schema.
        omit: selects optional properties to leave out, by name.
        wrappers: properties that wrap the resource, so that the hints apply inside them.
        done: names of flags that say that the operation did its work.
        is_request: arguments are made: examples come first, and at every depth only required
            properties.
        effort: the values made so far.
    """

    rng: Random
    now: datetime
    day: datetime
    hints: Mapping[str, Any] = field(default_factory=dict)
    omit: Callable[[str], bool] = lambda name: False
    wrappers: Collection[str] = ()
    done: Collection[str] = ()
    is_request: bool = False
    effort: Effort = field(default_factory=Effort)

    def is_enough(self, depth: int) -> bool:
        """Return True if only required values should be generated from now on."""
        return depth > 5 or self.effort.values > 1_000

    def inside(self) -> Scene:
        """The scene of a nested object, where only the currency hint keeps its meaning."""
        kept = {key: value for key, value in self.hints.items() if key == "currency"}
        inside = Scene(self.rng, self.now, self.day, kept, done=self.done, effort=self.effort)
        return replace(inside, omit=self.omit, is_request=True) if self.is_request else inside


class Synthesizer:
    """Generates values for the schemas of one document."""

    def __init__(self, book: SchemaBook, words: Mapping[str, Sequence[str]]) -> None:
        self._book = book
        self._words = words

    def value(self, schema: Schema, scene: Scene, *, name: str = "", depth: int = 0) -> Any:
        """Return one value that conforms to the schema.

        Raises:
            UnsupportedSchema: no candidate conforms.
        """
        scene.effort.spend(1)
        if depth > _DEEP:
            raise _nothing_for(name)
        resolved = self._book.resolve(schema)
        hint = scene.hints.get(name)
        if hint is not None and self._book.is_valid(resolved, hint):
            return hint

        def candidates() -> Iterator[Any]:
            if scene.is_request:
                yield from examples(resolved)
            variants = self._book.variants(resolved)
            if depth > 0:
                # A reference by id is shorter than a nested object, and equally valid.
                parted = ("object", "array")
                variants = tuple(sorted(variants, key=lambda v: self._book.type_of(v) in parted))
            for variant in variants:
                with suppress(UnsupportedSchema):
                    yield from self._plain(variant, scene, name, depth)
            yield from examples(resolved)

        return self._first_valid(resolved, candidates(), name)

    def object(self, schema: Schema, scene: Scene) -> dict[str, Any]:
        """Return one object with every property that the scene does not omit.

        Raises:
            UnsupportedSchema: no candidate conforms.
        """
        resolved = self._book.resolve(schema)
        first: dict[str, Any] | None = None
        fault: UnsupportedSchema | None = None
        for variant in self._book.variants(resolved):
            try:
                for is_scarce in (False, True):
                    made = self._object(variant, scene, 0, is_scarce=is_scarce)
                    if self._book.is_valid(resolved, made):
                        return made
                    first = made if first is None else first
            except UnsupportedSchema as error:
                fault = fault or error
        if first is None:
            raise fault or UnsupportedSchema("no value found for the answer: give it an example")
        # The schema contradicts itself: an object with as many values as possible is best.
        return first

    def _object(
        self, schema: Schema, scene: Scene, depth: int, *, is_scarce: bool
    ) -> dict[str, Any]:
        listed = schema.get("required", [])
        required = set(listed) if isinstance(listed, list) else set()
        properties = schema.get("properties", {})
        other_direction = "readOnly" if scene.is_request else "writeOnly"
        made: dict[str, Any] = {}
        for name, inner in properties.items():
            is_wanted = name in required
            if not is_wanted and (is_scarce or scene.is_enough(depth) or scene.omit(name)):
                continue
            resolved = self._book.resolve(inner)
            is_plain = not scene.is_request and name not in scene.hints
            is_empty = self._book.type_of(resolved) == "array" and not resolved.get("minItems")
            if is_plain and is_empty and name.casefold() in ERROR_LISTS:
                # A success has no errors.
                made |= {name: []} if is_wanted else {}
                continue
            is_fault = name == "error" and is_plain
            if not is_wanted and (is_fault or resolved.get(other_direction) is True):
                continue
            below = scene if depth == 0 else scene.inside()
            try:
                made[name] = self.value(inner, below, name=name, depth=depth + 1)
            except UnsupportedSchema:
                if is_wanted:
                    raise
        extra = schema.get("additionalProperties")
        more: Schema = extra if isinstance(extra, Mapping) else {}
        for name in required - set(properties):
            made[name] = self.value(more, scene.inside(), name=name, depth=depth + 1)
        least = int(schema.get("minProperties", 0))
        missing = least - len(made)
        if missing <= 0:
            return made
        patterns = schema.get("patternProperties") or {}
        pattern, inner = next(iter(patterns.items()), ("", more))
        names: Iterable[str] = (f"name_{number}" for number in range(missing))
        if pattern:
            names = texts_matching(pattern, scene.rng, attempts=ATTEMPTS + missing)
        for name in names:
            if len(made) < least and name not in made:
                made[name] = self.value(inner, scene.inside(), name=name, depth=depth + 1)
        return made

    def identifier(self, schema: Schema, rng: Random, *, name: str) -> str | int:
        """Return an id in the style of the schema's example: "bkg_" and more for "bkg_4f81c0".

        Raises:
            UnsupportedSchema: no candidate conforms.
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
        """Return the value of an enum that means live or cancelled, or None.

        Args:
            schema: the schema of the property with the state.
            is_cancelled: the wanted meaning.
            gone: the values that the document declares as cancelled.
        """
        listed = self._book.resolve(schema).get("enum", [])
        states = {state: state.casefold() for state in listed if isinstance(state, str) and state}
        if is_cancelled:
            declared = [state for state in states if state in gone]
            worded = (state for word in _CANCEL for state in states if word in states[state])
            return next(iter([*declared, *worded]), None)
        left = [state for state in states if state not in gone]
        best = [state for word in _STANDING_STATES for state in left if states[state] == word]
        fresh = [
            state
            for state in left
            if not (_is_ended(states[state]) or any(word in states[state] for word in _GONE))
        ]
        kept = [state for state in left if not states[state].startswith("cancel")]
        return next(iter([*best, *fresh, *kept]), None)

    def ended(self, schema: Schema) -> Any:
        """Return the value of an enum that means an end, or None."""
        listed = self._book.resolve(schema).get("enum", [])
        return next((s for s in listed if isinstance(s, str) and _is_ended(s.casefold())), None)

    def _first_valid(self, schema: Schema, candidates: Iterator[Any], name: str) -> Any:
        for candidate in candidates:
            if self._book.is_valid(schema, candidate):
                return candidate
        raise _nothing_for(name)

    def _plain(self, schema: Schema, scene: Scene, name: str, depth: int) -> Iterator[Any]:
        if "const" in schema:
            yield schema["const"]
        if "enum" in schema:
            values = [value for value in schema["enum"] if value is not None]
            yield from scene.rng.sample(values, len(values))
            yield from schema["enum"]
            return
        kind, declared = self._book.type_of(schema), schema.get("type")
        yield from self._typed(kind, schema, scene, name, depth)
        others: Sequence[str] = declared if isinstance(declared, list) else ()
        if kind is None and not others:
            others = ("string", "integer", "boolean", "object", "array", "null")
        for other in others:
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
                yield self._object(schema, scene, at, is_scarce=False)
                yield self._object(schema, scene, at, is_scarce=True)
            case "array":
                is_enough = scene.is_enough(depth)
                least = int(schema.get("minItems", 0 if is_enough else 1))
                most = min(int(schema.get("maxItems", 3)), max(least, 3))
                if is_enough or "items" not in schema:
                    most = least
                below = scene if depth <= 1 else scene.inside()
                count = scene.rng.randint(min(least, most), most)
                singular, inner = name.removesuffix("s"), schema.get("items", {})
                items: list[Any] = []
                for _ in range(count * ATTEMPTS):
                    item = self.value(inner, below, name=singular, depth=depth + 1)
                    if not schema.get("uniqueItems") or item not in items:
                        items.append(item)
                    if len(items) == count:
                        break
                yield items
            case "string":
                yield from strings(schema, scene, name, self._words)
            case "integer":
                if name == "id" or name.endswith("_id"):
                    yield scene.rng.randrange(10**5, 10**9)
                yield from integers(schema, scene.rng, name)
            case "number":
                yield from numbers(schema, scene.rng, name)
            case "boolean":
                is_true = name in ("healthy", "ok", "success", "allowed", "available")
                is_said = is_true or name.casefold() in scene.done
                yield is_said or scene.rng.random() < 0.7
            case "null":
                yield None


def _is_ended(state: str) -> bool:
    return not _ENDED.isdisjoint(re.split(r"[^a-z]+", state))


def _nothing_for(name: str) -> UnsupportedSchema:
    return UnsupportedSchema(f"no value found for {name or 'the answer'!r}: give it an example")


def strings(
    schema: Schema, scene: Scene, name: str, words: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield texts that may conform, the likeliest first."""
    rng, least = scene.rng, int(schema.get("minLength", 0))
    scene.effort.spend(least // _LONG)
    yield from _formatted(str(schema.get("format")), scene, name)
    if name == "id" or name.endswith("_id"):
        yield from identifiers(schema, rng, name)
    if "currency" in name:
        yield DEFAULT_CURRENCY
    if name in words:
        yield from rng.sample(words[name], len(words[name]))
    yield from (text for text in examples(schema) if isinstance(text, str))
    if "pattern" in schema:
        yield from texts_matching(schema["pattern"], rng, attempts=ATTEMPTS)
    text = f"{name.replace('_', ' ')} {' '.join(rng.sample(_PLAIN_WORDS, 2))}".strip()
    yield text[: int(schema.get("maxLength", len(text)))].strip().ljust(least, "x")
    yield "".join(rng.choices(_CODE, k=min(int(schema.get("maxLength", 12)), _LONG)))


def examples(schema: Schema) -> list[Any]:
    """Return the schema's own examples and default."""
    single = [schema["example"]] if "example" in schema else []
    default = [schema["default"]] if "default" in schema else []
    several = schema.get("examples")
    return [*(several if isinstance(several, list) else []), *single, *default]


def identifiers(schema: Schema, rng: Random, name: str) -> Iterator[str]:
    """Yield texts that can be ids: in the format, else in the style of the schema's example."""
    some_day = datetime(2030, 1, 1, tzinfo=UTC)
    yield from _formatted(str(schema.get("format")), Scene(rng, some_day, some_day), name)
    if "pattern" in schema:
        yield from texts_matching(schema["pattern"], rng, attempts=ATTEMPTS)
    styles = (re.match(r"([A-Za-z]+[_-])", str(example)) for example in examples(schema))
    prefix = next((style[1] for style in styles if style), name.removesuffix("_id")[:3] + "_")
    code = "".join(rng.choices(_CODE, k=10))
    if any(isinstance(example, str) and example.isdecimal() for example in examples(schema)):
        yield str(rng.randrange(10**5, 10**9))
    yield prefix + code
    yield code[: int(schema.get("maxLength", 10))]
    yield "".join(rng.choices(_CODE, k=min(int(schema.get("minLength", 12)), 5_000_000)))


def _formatted(kind: str, scene: Scene, name: str) -> Iterator[str]:
    rng = scene.rng
    match kind:
        case "date":
            yield scene.day.date().isoformat()
        case "date-time":
            is_past = name.endswith("_at") and not scene.is_request
            if name.startswith("expire"):
                # Whole days, so that the same search within a day gives the same offers.
                end = scene.now.replace(hour=23, minute=59, second=0)
                yield timestamp(end + timedelta(days=1))
            elif is_past and not name.startswith(("depart", "arriv", "start", "end", "send")):
                yield timestamp(scene.now)
            else:
                days = 1 if name.startswith(("end", "valid_until")) else 0
                moment = scene.day.replace(hour=rng.randint(7, 18), minute=0, second=0)
                yield timestamp(moment + timedelta(days=days))
        case "time":
            yield f"{rng.randint(7, 21):02}:{rng.choice((0, 15, 30, 45)):02}:00Z"
        case "uuid":
            yield str(UUID(int=rng.getrandbits(128), version=4))
        case "email":
            yield f"{rng.choice(('alex', 'kim', 'sam', 'robin'))}@example.com"
        case "uri" | "url" | "uri-reference":
            yield f"https://example.com/{''.join(rng.choices(_CODE, k=8))}"
        case "byte":
            yield base64.b64encode(" ".join(rng.sample(_PLAIN_WORDS, 2)).encode()).decode()
        case "ipv4":
            net = rng.choice(("192.0.2", "198.51.100", "203.0.113"))
            yield f"{net}.{rng.randint(1, 254)}"
        case "ipv6":
            yield f"2001:db8::{rng.randint(1, 0xFFFF):x}"
        case "hostname":
            yield f"{'-'.join(rng.sample(_PLAIN_WORDS, 2))}.example.com"
        case "duration":
            yield f"PT{rng.randint(1, 9) * 15}M"


def integers(schema: Schema, rng: Random, name: str) -> Iterator[int]:
    """Yield whole numbers that may conform."""
    low, high = _bounds(schema, name, 1)
    step = max(1, int(schema.get("multipleOf", 1)))
    least, most = -(-int(low) // step), int(high) // step
    yield from (rng.randint(least, max(least, most)) * step for _ in range(ATTEMPTS))
    yield from (int(low), int(high))


def numbers(schema: Schema, rng: Random, name: str) -> Iterator[float]:
    """Yield numbers that may conform."""
    low, high = _bounds(schema, name, 0.01)
    step = schema.get("multipleOf")
    for _ in range(ATTEMPTS):
        drawn = rng.uniform(low, high)
        yield round(drawn, 2)
        if step:
            yield round(drawn / step) * step
    yield from (low, high)


def _bounds(schema: Schema, name: str, step: float) -> tuple[float, float]:
    is_money = name in MONEY_NAMES or "price" in name
    usual = (20.0, 300.0) if is_money else (1.0, 100.0)
    limits: list[Any] = []
    for side, inward in (("Minimum", step), ("Maximum", -step)):
        limit, exclusive = schema.get(side.lower()), schema.get(f"exclusive{side}")
        # OpenAPI 3.0 writes exclusive limits as true next to the limit, 3.1 as the limit itself.
        if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
            limit = exclusive + inward
        elif exclusive is True and limit is not None:
            limit = limit + inward
        limits.append(limit)
    low, high = limits
    if low is None:
        low = usual[0] if high is None or high >= usual[0] else high - usual[1]
    elif is_money and low < usual[0] and (high is None or high >= usual[0]):
        low = usual[0]
    if high is None:
        high = max(usual[1], low + usual[1])
    return float(low), float(high)
