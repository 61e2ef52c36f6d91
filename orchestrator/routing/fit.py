"""How well a request's values fill a tool's required inputs."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

from pydantic import JsonValue

from orchestrator.intent import Slot, SlotKind
from orchestrator.routing.cards import CapabilityCard
from orchestrator.routing.words import stem, tokens

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
UNTYPED: Final = frozenset({"name", "quoted"})
"""Kinds of slots whose words may as well say what is asked."""
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


def missing_inputs(
    card: CapabilityCard, *, known: Collection[str] = (), slots: Sequence[Slot] = ()
) -> tuple[str, ...]:
    """Required inputs that neither the request nor what is known can fill, in the schema's order.

    A value fills one input of its kind; money fills an amount and its currency. Inputs with a
    default or with listed values, and free text, are never missing.
    """
    left = Counter(slot.kind for slot in slots)
    missing: list[str] = []
    for name in card.required:
        schema = card.inputs.get(name, {})
        if name in known or "default" in schema or "const" in schema or "enum" in schema:
            continue
        kinds = slot_kinds(name, schema)
        used = next((kind for kind in kinds if left[kind] > 0), None)
        if used is None and (kinds or _is_structured(schema)):
            missing.append(name)
        elif used is not None and used != "amount":
            left[used] -= 1
    return tuple(missing)


def schema_fit(
    card: CapabilityCard, *, known: Collection[str] = (), slots: Sequence[Slot] = ()
) -> float:
    """The share of required inputs that can be filled, 0 to 1; 1 when nothing is required."""
    if not card.required:
        return 1.0
    return 1.0 - len(missing_inputs(card, known=known, slots=slots)) / len(card.required)


def slot_use(card: CapabilityCard, slots: Sequence[Slot]) -> float:
    """The share of the request's typed values that some input of the tool takes, 0 to 1.

    Names and quoted words, which any text input takes, do not count; 0 when nothing counts.
    """
    kinds = [slot.kind for slot in slots if slot.kind not in UNTYPED]
    if not kinds:
        return 0.0
    taken = {k for name, schema in card.inputs.items() for k in slot_kinds(name, schema)}
    return sum(kind in taken for kind in kinds) / len(kinds)


def _is_structured(schema: Mapping[str, JsonValue]) -> bool:
    return schema.get("type") in ("integer", "number", "object", "array")
