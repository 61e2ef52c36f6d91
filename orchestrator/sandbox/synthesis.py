"""Makes plausible values from JSON schemas; the same seed and hints give the same value."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from orchestrator.sandbox.bounded_patterns import texts_matching
from orchestrator.sandbox.currency_amount import DEFAULT_CURRENCY, MONEY_NAMES
from orchestrator.sandbox.provider_call import timestamp
from orchestrator.sandbox.served_schemas import Schema, SchemaBook

_DEEPEST = 8
_PLENTY = 1_000
_MOST = 5_000
_LONG = 1_000
_CODE = string.ascii_lowercase + string.digits
_ATTEMPTS = 20
_PLAIN_WORDS = ("green", "north", "harbour", "garden", "river", "stone", "central", "morning")
# An order like this reads as a thing that was just made and still stands.
_STANDING_STATES = ("confirmed", "booked", "active", "reserved", "accepted", "sent", "submitted")
_ALWAYS_TRUE = ("healthy", "ok", "success", "allowed", "available")
_CANCEL = ("cancel", "refund", "void", "revert", "recall", "withdraw", "delete", "remove", "releas")
_GONE = (*_CANCEL, "reject", "declin", "fail", "expir", "error", "draft", "deliver", "reimburs")


class UnsupportedSchema(ValueError):
    """No value could be made; the schema needs an example."""


@dataclass
class Effort:
    """How many values were made for one answer; a long text counts for several."""

    values: int = 0

    @property
    def is_large(self) -> bool:
        """Whether no more should be made than has to be."""
        return self.values > _PLENTY

    def spend(self, values: int) -> None:
        """Count values.

        Raises:
            UnsupportedSchema: they are more than an answer may have.
        """
        self.values += values
        if self.values > _MOST:
            raise UnsupportedSchema(f"more than {_MOST:,} values would have to be made")


@dataclass(frozen=True)
class Scene:
    """What one answer is made from.

    Attributes:
        rng: the only source of chance.
        now: the moment of the call.
        day: the day the request is about; dates are near it.
        hints: values by property name, taken over where they fit the schema.
        omit: names of optional properties to leave out.
        wrappers: properties that hold the thing itself, so that the hints speak of what is inside.
        is_request: what is made are arguments: examples come first, and at every depth only what
            is required.
        effort: what was made so far.
    """

    rng: Random
    now: datetime
    day: datetime
    hints: Mapping[str, Any] = field(default_factory=dict)
    omit: Callable[[str], bool] = lambda name: False
    wrappers: Collection[str] = ()
    is_request: bool = False
    effort: Effort = field(default_factory=Effort)

    def inside(self) -> Scene:
        """The scene of a nested object: of the hints only the currency still means the same."""
        kept = {key: value for key, value in self.hints.items() if key == "currency"}
        inside = Scene(self.rng, self.now, self.day, kept, effort=self.effort)
        return replace(inside, omit=self.omit, is_request=True) if self.is_request else inside


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
        resolved = self._book.resolve(schema)
        hint = scene.hints.get(name)
        if hint is not None and self._book.is_valid(resolved, hint):
            return hint
        candidates = self._candidates(resolved, scene, name, depth)
        return self._first_valid(resolved, candidates, name)

    def object(self, schema: Schema, scene: Scene, *, depth: int = 0) -> dict[str, Any]:
        """One object with every property that the scene does not omit."""
        resolved = self._book.resolve(schema)
        required = self._required(resolved)
        made: dict[str, Any] = {}
        for name, inner in self._book.properties(resolved).items():
            is_enough = depth > _DEEPEST or scene.effort.is_large
            if name not in required and (scene.omit(name) or is_enough):
                continue
            below = scene if depth == 0 else scene.inside()
            made[name] = self.value(inner, below, name=name, depth=depth + 1)
        return made

    def identifier(self, schema: Schema, rng: Random, *, name: str) -> str | int:
        """An id in the style of the schema's example: "bkg_4f81c0" gives "bkg_" and more.

        Raises:
            UnsupportedSchema: nothing that was tried conforms.
        """
        resolved = self._book.resolve(schema)
        numbers = (rng.randrange(10**5, 10**9) for _ in range(_ATTEMPTS))
        codes = _identifiers(resolved, rng, name)
        candidates = numbers if self._book.type_of(resolved) == "integer" else codes
        made: str | int = self._first_valid(resolved, candidates, name)
        return made

    def status(self, schema: Schema, *, is_cancelled: bool) -> Any:
        """The word of an enum that says the thing stands, or is cancelled; None for none."""
        states = [state for state in self._book.resolve(schema).get("enum", []) if state]
        if is_cancelled:
            return next((state for word in _CANCEL for state in states if word in state), None)
        best = [state for state in _STANDING_STATES if state in states]
        fresh = [state for state in states if not any(word in state for word in _GONE)]
        kept = [state for state in states if not state.startswith("cancel")]
        return next(iter([*best, *fresh, *kept]), None)

    def _required(self, schema: Schema) -> set[str]:
        alternative = self._book.alternative(schema)
        beside = self._required(alternative) if alternative else set()
        return set(schema.get("required", [])) | beside

    def _first_valid(self, schema: Schema, candidates: Iterator[Any], name: str) -> Any:
        for candidate in candidates:
            if self._book.is_valid(schema, candidate):
                return candidate
        raise UnsupportedSchema(f"no value found for {name or 'the answer'!r}: give it an example")

    def _candidates(self, schema: Schema, scene: Scene, name: str, depth: int) -> Iterator[Any]:
        if scene.is_request:
            yield from _examples(schema)
        if "const" in schema:
            yield schema["const"]
        if "enum" in schema:
            yield from scene.rng.sample(schema["enum"], len(schema["enum"]))
        alternative = self._book.alternative(schema)
        if alternative and self._book.type_of(schema) is None:
            yield self.value(alternative, scene, name=name, depth=depth)
        yield from self._typed(schema, scene, name, depth)
        yield from _examples(schema)

    def _typed(self, schema: Schema, scene: Scene, name: str, depth: int) -> Iterator[Any]:
        match self._book.type_of(schema):
            case "object":
                yield self.object(schema, scene, depth=0 if name in scene.wrappers else depth)
            case "array":
                yield self._array(schema, scene, name, depth)
            case "string":
                yield from self._strings(schema, scene, name)
            case "integer":
                if name == "id" or name.endswith("_id"):
                    yield scene.rng.randrange(10**5, 10**9)
                yield from _integers(schema, scene.rng, name)
            case "number":
                yield from _numbers(schema, scene.rng, name)
            case "boolean":
                yield name in _ALWAYS_TRUE or scene.rng.random() < 0.7
            case "null" | None:
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
        for _ in range(count * _ATTEMPTS):
            item = self.value(schema.get("items", {}), below, name=singular, depth=depth + 1)
            if not schema.get("uniqueItems") or item not in items:
                items.append(item)
            if len(items) == count:
                break
        return items

    def _strings(self, schema: Schema, scene: Scene, name: str) -> Iterator[str]:
        rng = scene.rng
        scene.effort.spend(int(schema.get("minLength", 0)) // _LONG)
        yield from _formatted(str(schema.get("format")), scene, name)
        if name == "id" or name.endswith("_id"):
            yield from _identifiers(schema, rng, name)
        if "currency" in name:
            yield DEFAULT_CURRENCY
        if name in self._words:
            yield from rng.sample(self._words[name], len(self._words[name]))
        yield from (text for text in _examples(schema) if isinstance(text, str))
        if "pattern" in schema:
            yield from texts_matching(schema["pattern"], rng, attempts=_ATTEMPTS)
        yield from _sentences(schema, rng, name)


def _examples(schema: Schema) -> list[Any]:
    single = [schema["example"]] if "example" in schema else []
    default = [schema["default"]] if "default" in schema else []
    return [*schema.get("examples", []), *single, *default]


def _identifiers(schema: Schema, rng: Random, name: str) -> Iterator[str]:
    if schema.get("format") == "uuid":
        yield str(UUID(int=rng.getrandbits(128), version=4))
    if "pattern" in schema:
        yield from texts_matching(schema["pattern"], rng, attempts=_ATTEMPTS)
    styles = (re.match(r"([A-Za-z]+[_-])", str(example)) for example in _examples(schema))
    prefix = next((style[1] for style in styles if style), name.removesuffix("_id")[:3] + "_")
    code = "".join(rng.choices(_CODE, k=10))
    yield prefix + code
    yield code[: int(schema.get("maxLength", 10))]
    yield "".join(rng.choices(_CODE, k=min(int(schema.get("minLength", 12)), _MOST * _LONG)))


def _formatted(kind: str, scene: Scene, name: str) -> Iterator[str]:
    rng = scene.rng
    match kind:
        case "date":
            yield scene.day.date().isoformat()
        case "date-time":
            yield timestamp(_moment(scene, name))
        case "time":
            yield f"{rng.randint(7, 21):02}:{rng.choice((0, 15, 30, 45)):02}:00Z"
        case "uuid":
            yield str(UUID(int=rng.getrandbits(128), version=4))
        case "email":
            yield f"{rng.choice(('alex', 'kim', 'sam', 'robin'))}@example.com"
        case "uri" | "url" | "uri-reference":
            yield f"https://example.com/{''.join(rng.choices(_CODE, k=8))}"
        case "duration":
            yield f"PT{rng.randint(1, 9) * 15}M"


def _moment(scene: Scene, name: str) -> datetime:
    if name.startswith("expire"):
        # Whole days: the same search within a day gives the very same offers.
        return scene.now.replace(hour=23, minute=59, second=0) + timedelta(days=1)
    if name.endswith("_at") and not name.startswith(("depart", "arriv", "start", "end", "send")):
        return scene.now
    later = timedelta(days=1) if name.startswith(("end", "valid_until")) else timedelta()
    return scene.day.replace(hour=scene.rng.randint(7, 18), minute=0, second=0) + later


def _sentences(schema: Schema, rng: Random, name: str) -> Iterator[str]:
    words = " ".join(rng.sample(_PLAIN_WORDS, 2))
    text = f"{name.replace('_', ' ')} {words}".strip()
    most = int(schema.get("maxLength", len(text)))
    yield text[:most].strip().ljust(int(schema.get("minLength", 0)), "x")


def _integers(schema: Schema, rng: Random, name: str) -> Iterator[int]:
    low, high = _bounds(schema, name, 1)
    step = max(1, int(schema.get("multipleOf", 1)))
    least, most = -(-int(low) // step), int(high) // step
    yield from (rng.randint(least, max(least, most)) * step for _ in range(_ATTEMPTS))
    yield from (int(low), int(high))


def _numbers(schema: Schema, rng: Random, name: str) -> Iterator[float]:
    low, high = _bounds(schema, name, 0.01)
    for _ in range(_ATTEMPTS):
        yield round(rng.uniform(low, high), 2)
    yield from (low, high)


def _bounds(schema: Schema, name: str, step: float) -> tuple[float, float]:
    """Declared limits, and where one is missing, what is usual under that name."""
    is_money = name in MONEY_NAMES or "price" in name
    usual = (20.0, 300.0) if is_money else (1.0, 100.0)
    low, high = _limit(schema, "Minimum", step), _limit(schema, "Maximum", -step)
    if low is None:
        low = usual[0] if high is None or high >= usual[0] else high - usual[1]
    elif is_money and low < usual[0] and (high is None or high >= usual[0]):
        low = usual[0]
    if high is None:
        high = max(usual[1], low + usual[1])
    return float(low), float(high)


def _limit(schema: Schema, name: str, step: float) -> Any:
    """The declared limit, a step inside of it where it is exclusive; None for none."""
    limit, exclusive = schema.get(name.lower()), schema.get(f"exclusive{name}")
    # OpenAPI 3.0 writes exclusive limits as true beside the limit, 3.1 as the limit itself.
    if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
        return exclusive + step
    return limit + step if exclusive is True and limit is not None else limit
