"""The kinds of fields that a question has, and their choices, read from JSON Schemas."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.core.record import JsonObject, Record

FieldKind = Literal[
    "choice", "flag", "date", "time", "moment", "money", "whole", "number", "several", "email",
    "priced", "object", "text",
]  # fmt: skip


class FieldChoice(Record):
    """One of the values that a field takes, and what it stands for."""

    value: JsonValue
    label: str
    about: str = ""


_TYPES: Final[dict[str, FieldKind]] = {
    "boolean": "flag",
    "integer": "whole",
    "number": "number",
    "array": "several",
    "object": "object",
}
_FORMATS: Final[dict[str, FieldKind]] = {
    "date": "date",
    "date-time": "moment",
    "time": "time",
    "email": "email",
    "idn-email": "email",
}
_MONEY: Final = frozenset({"amount", "currency"})


def kind_of(schema: JsonObject) -> FieldKind:
    """Return how a field is read, by its type and format."""
    declared = schema.get("type")
    named = [str(n) for n in declared if n != "null"] if isinstance(declared, list) else [declared]
    if named == ["object"] or (named == [None] and "properties" in schema):
        properties = schema.get("properties")
        if isinstance(properties, dict) and set(properties) == _MONEY:
            return "money"
        return "priced" if text_with_money(schema) else "object"
    if len(named) == 1 and (found := _TYPES.get(str(named[0]))) is not None:
        return found
    return _FORMATS.get(str(schema.get("format")), "text") if named == ["string"] else "text"


def text_with_money(schema: JsonObject) -> str:
    """Return the one text that an object requires next to an amount and its currency; "" if none.

    Example: `description`, of what an expense report lists.
    """
    listed, properties = schema.get("required"), schema.get("properties")
    needed = {str(name) for name in listed} if isinstance(listed, list) else set()
    if len(needed) != 3 or not needed > _MONEY or not isinstance(properties, dict):
        return ""
    (name,) = needed - _MONEY
    other = properties.get(name)
    is_text = isinstance(other, dict) and other.get("type") == "string" and not choices_of(other)
    return name if is_text else ""


def choices_of(schema: JsonObject) -> tuple[FieldChoice, ...]:
    """Return what the enum of a schema lists, or the constants among its alternatives."""
    listed = schema.get("enum")
    if isinstance(listed, list):
        return tuple(
            FieldChoice(value=value, label=_readable(value))
            for value in listed
            if value is not None
        )
    return tuple(_constant(branch) for branch in _branches(schema) if "const" in branch)


def _constant(branch: JsonObject) -> FieldChoice:
    title, about = branch.get("title"), branch.get("description")
    return FieldChoice(
        value=branch["const"],
        label=title if isinstance(title, str) and title else _readable(branch["const"]),
        about=about.split(". ")[0].strip(" .\n")[:200] if isinstance(about, str) else "",
    )


def takes_other_texts(schema: JsonObject) -> bool:
    """Return true if a field takes texts in addition to its choices."""
    if "enum" in schema:
        return False
    return any("const" not in b and b.get("type") == "string" for b in _branches(schema))


def _branches(schema: JsonObject) -> Iterator[JsonObject]:
    for keyword in ("oneOf", "anyOf"):
        held = schema.get(keyword)
        yield from (b for b in held if isinstance(b, dict)) if isinstance(held, list) else ()


def _readable(value: JsonValue) -> str:
    """A value that a machine named, in words: `premium_economy` is "premium economy"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    apart = text.replace("_", " ").strip()
    return apart if apart and " " not in text else text


def open_choice(options: Mapping[str, str], *, other: str = "") -> JsonObject:
    """The schema of a text field with options that are shown, and that takes other texts, too.

    Args:
        options: the values to choose from, with what each stands for.
        other: what any other text is taken for; empty: no other text is taken.

    Example: `open_choice({"go on": "do this", "stop": "leave it"}, other="what you want instead")`
    """
    named: list[JsonValue] = [
        {"const": value, **({"description": about} if about else {})}
        for value, about in options.items()
    ]
    if not other:
        return {"type": "string", "oneOf": named}
    free: JsonObject = {"type": "string", "minLength": 1, "description": other}
    return {"type": "string", "description": other, "anyOf": [*named, free]}
