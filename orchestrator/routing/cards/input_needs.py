"""What a tool's inputs want: which kinds of value can fill one, and which nobody types."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import JsonValue

from orchestrator.language.intent import SlotKind
from orchestrator.language.words import stem, tokens

_IDENTIFYING_WORDS = """
    id ids uuid guid key ref reference token handle slug latitude longitude lat lon lng
"""
_IDENTIFYING: Final = frozenset(_IDENTIFYING_WORDS.split())
_KINDS_BY_WORD: Final[dict[str, tuple[SlotKind, ...]]] = {
    "date": ("date",),
    "day": ("date",),
    "start": ("date", "time"),
    "end": ("date", "time"),
    "time": ("time",),
    "email": ("email",),
    "city": ("place", "origin"),
    "location": ("place", "origin"),
    "place": ("place", "origin"),
    "country": ("place", "origin"),
    "region": ("place", "origin"),
    "address": ("place", "origin"),
    "destination": ("place",),
    "origin": ("origin", "place"),
    "amount": ("amount", "quantity"),
    "price": ("amount", "quantity"),
    "budget": ("amount", "quantity"),
    "currency": ("amount",),
    "name": ("name", "quoted", "place"),
}
_STRUCTURED: Final = ("integer", "number", "object", "array")
_KINDS_BY_FORMAT: Final[dict[str, tuple[SlotKind, ...]]] = {
    "date": ("date",),
    "date-time": ("date",),
    "time": ("time",),
    "email": ("email",),
}


@lru_cache(maxsize=1 << 16)
def identifies(name: str) -> bool:
    """Whether an input of that name wants what nobody types: offer_id, movieId, latitude."""
    words = tokens(name)
    return bool(words) and words[-1] in _IDENTIFYING


def noun_of(name: str) -> str:
    """The stem of what an identifying input identifies: "movi" of movie_id; "" of a bare id."""
    words = tokens(name)[:-1]
    return stem(words[-1]) if words else ""


def slot_kinds(name: str, schema: Mapping[str, JsonValue]) -> tuple[SlotKind, ...]:
    """The kinds of value that can fill an input; empty when free text or nothing certain can."""
    return _slot_kinds(name, str(schema.get("format", "")), str(schema.get("type", "")))


@lru_cache(maxsize=1 << 16)
def _slot_kinds(name: str, value_format: str, value_type: str) -> tuple[SlotKind, ...]:
    if identifies(name):
        return ("identifier",)
    if value_format in _KINDS_BY_FORMAT:
        return _KINDS_BY_FORMAT[value_format]
    for word in reversed(tokens(name)):
        if word in _KINDS_BY_WORD:
            return _KINDS_BY_WORD[word]
    return ("quantity", "amount") if value_type in ("integer", "number") else ()


class Need(NamedTuple):
    """A required input that a request has to fill: the kinds of value that can."""

    name: str
    kinds: tuple[SlotKind, ...]


def needs_of(
    required: Sequence[str], inputs: Mapping[str, Mapping[str, JsonValue]]
) -> tuple[Need, ...]:
    """The required inputs that a request has to fill, in order.

    Inputs with a default or with listed values, and free text, are no needs: a planner fills them.
    """
    needs: list[Need] = []
    for name in required:
        schema = inputs.get(name, {})
        if "default" in schema or "const" in schema or "enum" in schema:
            continue
        kinds = slot_kinds(name, schema)
        if kinds or schema.get("type") in _STRUCTURED:
            needs.append(Need(name, kinds))
    return tuple(needs)
