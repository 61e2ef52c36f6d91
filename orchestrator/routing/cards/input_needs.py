"""What a tool's inputs want, and how well a request's values fill them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import JsonValue, TypeAdapter

from orchestrator.catalog.file_inputs import is_file
from orchestrator.language.intent import SlotKind
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem, tokens

_LISTS: Final = WordLists("parameters")
_IDENTIFYING: Final = _LISTS.word_set("identifying")
_KINDS: Final = TypeAdapter(dict[str, tuple[SlotKind, ...]])


def _kinds_by(key: str) -> dict[str, tuple[SlotKind, ...]]:
    return _KINDS.validate_python({k: v.split() for k, v in _LISTS.table(key).items()})


_KINDS_BY_WORD: Final = _kinds_by("kinds_by_word")
_KINDS_BY_FORMAT: Final = _kinds_by("kinds_by_format")
UNTYPED: Final = frozenset({"name", "quoted"})
"""Kinds of slots whose words may as well say what is asked."""
_STRUCTURED: Final = ("integer", "number", "object", "array")


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
    Nobody types a file.
    """
    needs: list[Need] = []
    for name in required:
        schema = inputs.get(name, {})
        if "default" in schema or "const" in schema or "enum" in schema:
            continue
        kinds = slot_kinds(name, schema)
        if kinds or schema.get("type") in _STRUCTURED or is_file(schema):
            needs.append(Need(name, kinds))
    return tuple(needs)


def unmet(
    needs: Iterable[Need], *, known: Collection[str] = (), kinds: Iterable[SlotKind] = ()
) -> tuple[str, ...]:
    """The names of the needs that values of these kinds, and what is known, leave open, in order.

    A value fills one input of its kind; money fills an amount and its currency.
    """
    left = list(kinds)
    missing: list[str] = []
    for name, wanted in needs:
        if name in known:
            continue
        kind = next((kind for kind in wanted if kind in left), None)
        if kind is None:
            missing.append(name)
        elif kind != "amount":
            left.remove(kind)
    return tuple(missing)


def share_filled(
    needs: Sequence[Need], required: int, *, known: Collection[str], kinds: Iterable[SlotKind]
) -> float:
    """The share of required inputs that can be filled, 0 to 1; 1 when nothing is required.

    Args:
        needs: those that a request has to fill.
        required: how many inputs are required, the others included.
        known: names of the values that are there already.
        kinds: of the values in the request.
    """
    if not needs:
        return 1.0
    return 1.0 - len(unmet(needs, known=known, kinds=kinds)) / required
