"""Values written as OpenAPI's parameter styles prescribe (after RFC 6570), percent-encoded."""

import json
from collections.abc import Callable, Iterator
from urllib.parse import quote

from pydantic import JsonValue

_Encode = Callable[[str], str]
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_AMBIGUOUS = {
    ("path", "label", True): (".", "a dot"),
    ("query", "spaceDelimited", False): (" ", "a space"),
    ("query", "pipeDelimited", False): ("|", "a pipe"),
    ("header", "simple", False): (",", "a comma"),
    ("header", "simple", True): (",", "a comma"),
}
"""Delimiters that look alike whether they divide elements or stand in one: location, style and
explode to the character and its name. In the other styles a delimiter in an element is encoded."""


def scalar_text(value: JsonValue) -> str:
    """A value as plain text: `true`, `3`, `2.5`, `Lisbon`; lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        # 2.0 is a valid integer in JSON Schema; a server that parses text expects 2.
        return str(int(value))
    return json.dumps(value, separators=(",", ":"))


def unwritable_part(value: JsonValue, *, location: str, style: str, explode: bool) -> str | None:
    """The name of a character in a list or object that its style cannot carry; None: it can.

    The receiver would find other elements than were sent, and nobody would notice. A `location` of
    `body` is that of a form's field, which is written like a query.
    """
    written_like = "query" if location in ("cookie", "body") else location
    found = _AMBIGUOUS.get((written_like, style, explode))
    if found is None or not isinstance(value, (list, dict)):
        return None
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    if written_like == "header" and explode and isinstance(value, dict) and "=" in "".join(value):
        return "an equals sign"
    delimiter, name = found
    return name if any(delimiter in scalar_text(part) for part in parts) else None


def path_segment(name: str, value: JsonValue, *, style: str, explode: bool) -> str:
    """What takes the place of `{name}` in a path.

    Args:
        name: of the parameter; only the matrix style writes it.
        value: to write; an empty list or object gives nothing at all.
        style: simple, label, matrix, or json for a parameter with `content`.
        explode: whether elements and properties stand apart.
    """
    if style != "json" and value in ([], {}):
        return ""
    if style == "label":
        return "." + _joined(value, "." if explode else ",", explode, encode)
    if style == "matrix":
        return _matrix(name, value, explode)
    if style == "json":
        return encode(json_text(value))
    return _joined(value, ",", explode, encode)


def query_parts(name: str, value: JsonValue, *, style: str, explode: bool) -> list[str]:
    """The `name=value` parts of a query string or form.

    Args:
        name: of the parameter.
        value: to write; an empty list or object gives no part at all.
        style: form, spaceDelimited, pipeDelimited, deepObject, or json for a parameter with
            `content`.
        explode: whether elements and properties become parts of their own.
    """
    if style == "json":
        return [_part(name, json_text(value))]
    if style == "deepObject" and isinstance(value, dict):
        return list(_deep(name, value))
    if not isinstance(value, (list, dict)):
        return [_part(name, scalar_text(value))]
    if not value:
        return []
    if explode:
        pairs = value.items() if isinstance(value, dict) else [(name, held) for held in value]
        return [_part(key, scalar_text(held)) for key, held in pairs]
    joined = _joined(value, _DELIMITERS.get(style, ","), explode, encode)
    return [f"{encode(name)}={joined}"]


def header_text(value: JsonValue, *, style: str, explode: bool) -> str:
    """A header's value in the simple style; headers are not percent-encoded."""
    return json_text(value) if style == "json" else _joined(value, ",", explode, str)


def json_text(value: JsonValue) -> str:
    """Compact JSON in ASCII.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def encode(text: str) -> str:
    """Percent-encode all but RFC 3986's unreserved characters."""
    return quote(text, safe="~", errors="replace")


def _part(name: str, text: str) -> str:
    return f"{encode(name)}={encode(text)}"


def _deep(prefix: str, value: JsonValue) -> Iterator[str]:
    """`filter[color]=red`; what is deeper gets further brackets, as most servers read it."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _deep(f"{prefix}[{key}]", held)
    elif isinstance(value, list):
        for held in value:
            yield from _deep(prefix, held)
    else:
        yield _part(prefix, scalar_text(value))


def _joined(value: JsonValue, delimiter: str, explode: bool, write: _Encode) -> str:
    if isinstance(value, list):
        return delimiter.join(write(scalar_text(held)) for held in value)
    if isinstance(value, dict):
        between = "=" if explode else delimiter
        return delimiter.join(
            f"{write(key)}{between}{write(scalar_text(held))}" for key, held in value.items()
        )
    return write(scalar_text(value))


def _matrix(name: str, value: JsonValue, explode: bool) -> str:
    if explode and isinstance(value, list):
        return "".join(_matrix(name, held, explode) for held in value)
    if explode and isinstance(value, dict):
        return "".join(_matrix(key, held, explode) for key, held in value.items())
    text = _joined(value, ",", explode, encode)
    return f";{encode(name)}={text}" if text else f";{encode(name)}"
