"""Texts and numbers that a schema describes, plausible under the name they stand under."""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from orchestrator.sandbox.bounded_patterns import texts_matching
from orchestrator.sandbox.currency_amount import DEFAULT_CURRENCY, MONEY_NAMES
from orchestrator.sandbox.provider_call import timestamp
from orchestrator.sandbox.scenes import Scene
from orchestrator.sandbox.served_schemas import Schema

ATTEMPTS = 20
_LONGEST = 5_000_000
_LONG = 1_000
_CODE = string.ascii_lowercase + string.digits
_PLAIN_WORDS = ("green", "north", "harbour", "garden", "river", "stone", "central", "morning")
_EXAMPLE_NETS = ("192.0.2", "198.51.100", "203.0.113")
_SOME_DAY = datetime(2030, 1, 1, tzinfo=UTC)


def strings(
    schema: Schema, scene: Scene, name: str, words: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Texts that may conform, the likeliest first."""
    rng = scene.rng
    scene.effort.spend(int(schema.get("minLength", 0)) // _LONG)
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
    yield from _sentences(schema, rng, name)
    yield "".join(rng.choices(_CODE, k=min(int(schema.get("maxLength", 12)), _LONG)))


def examples(schema: Schema) -> list[Any]:
    """What the schema itself gives as values: its examples, and its default."""
    single = [schema["example"]] if "example" in schema else []
    default = [schema["default"]] if "default" in schema else []
    several = schema.get("examples")
    return [*(several if isinstance(several, list) else []), *single, *default]


def identifiers(schema: Schema, rng: Random, name: str) -> Iterator[str]:
    """Texts that can name a thing: of its format, else in the style of the schema's example."""
    yield from _formatted(str(schema.get("format")), Scene(rng, _SOME_DAY, _SOME_DAY), name)
    if "pattern" in schema:
        yield from texts_matching(schema["pattern"], rng, attempts=ATTEMPTS)
    styles = (re.match(r"([A-Za-z]+[_-])", str(example)) for example in examples(schema))
    prefix = next((style[1] for style in styles if style), name.removesuffix("_id")[:3] + "_")
    code = "".join(rng.choices(_CODE, k=10))
    if any(isinstance(example, str) and example.isdecimal() for example in examples(schema)):
        yield str(rng.randrange(10**5, 10**9))
    yield prefix + code
    yield code[: int(schema.get("maxLength", 10))]
    yield "".join(rng.choices(_CODE, k=min(int(schema.get("minLength", 12)), _LONGEST)))


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
        case "byte":
            yield base64.b64encode(" ".join(rng.sample(_PLAIN_WORDS, 2)).encode()).decode()
        case "ipv4":
            yield f"{rng.choice(_EXAMPLE_NETS)}.{rng.randint(1, 254)}"
        case "ipv6":
            yield f"2001:db8::{rng.randint(1, 0xFFFF):x}"
        case "hostname":
            yield f"{'-'.join(rng.sample(_PLAIN_WORDS, 2))}.example.com"
        case "duration":
            yield f"PT{rng.randint(1, 9) * 15}M"


def _moment(scene: Scene, name: str) -> datetime:
    if name.startswith("expire"):
        # Whole days: the same search within a day gives the very same offers.
        return scene.now.replace(hour=23, minute=59, second=0) + timedelta(days=1)
    is_past = name.endswith("_at") and not scene.is_request
    if is_past and not name.startswith(("depart", "arriv", "start", "end", "send")):
        return scene.now
    later = timedelta(days=1) if name.startswith(("end", "valid_until")) else timedelta()
    return scene.day.replace(hour=scene.rng.randint(7, 18), minute=0, second=0) + later


def _sentences(schema: Schema, rng: Random, name: str) -> Iterator[str]:
    words = " ".join(rng.sample(_PLAIN_WORDS, 2))
    text = f"{name.replace('_', ' ')} {words}".strip()
    most = int(schema.get("maxLength", len(text)))
    yield text[:most].strip().ljust(int(schema.get("minLength", 0)), "x")


def integers(schema: Schema, rng: Random, name: str) -> Iterator[int]:
    """Whole numbers that may conform."""
    low, high = _bounds(schema, name, 1)
    step = max(1, int(schema.get("multipleOf", 1)))
    least, most = -(-int(low) // step), int(high) // step
    yield from (rng.randint(least, max(least, most)) * step for _ in range(ATTEMPTS))
    yield from (int(low), int(high))


def numbers(schema: Schema, rng: Random, name: str) -> Iterator[float]:
    """Numbers that may conform."""
    low, high = _bounds(schema, name, 0.01)
    step = schema.get("multipleOf")
    for _ in range(ATTEMPTS):
        drawn = rng.uniform(low, high)
        yield round(drawn, 2)
        if step:
            yield round(drawn / step) * step
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
