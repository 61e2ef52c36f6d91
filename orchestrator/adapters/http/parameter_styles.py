"""Write values as OpenAPI's parameter styles prescribe (after RFC 6570), percent-encoded."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote

from pydantic import JsonValue

_Encode = Callable[[str], str]
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_RESERVED = ":/?@!$'()*;"
"""Characters that `allowReserved` does not encode.

They are RFC 3986's reserved characters without a meaning in a query. A comma is not encoded either
where it separates nothing.
"""
_AMBIGUOUS = {
    ("path", "label", True): (".", "a dot"),
    ("query", "spaceDelimited", False): (" ", "a space"),
    ("query", "pipeDelimited", False): ("|", "a pipe"),
    ("header", "simple", False): (",", "a comma"),
    ("header", "simple", True): (",", "a comma"),
}
"""Delimiters that are not encoded inside an element, by location, style and explode.

The values are the character and its name. In the other styles a delimiter in an element is encoded.
"""


def scalar_text(value: JsonValue) -> str:
    """Return a value as plain text: `true`, `3`, `2.5`, `Lisbon`; lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        # 2.0 is a valid integer in JSON Schema; a server that parses text expects 2.
        return str(int(value))
    return json.dumps(value, separators=(",", ":"))


def unwritable_part(value: JsonValue, *, location: str, style: str, explode: bool) -> str | None:
    """Return the name of a character in a list or object that its style cannot carry, or None.

    The receiver would silently read other elements than were sent. The `location` of a form's field
    is `body`; it is written like a query.
    """
    written_like = "query" if location in ("cookie", "body") else location
    if any(mark in key for key in _bracketed_keys(value, style, explode) for mark in "[]"):
        return "a bracket"
    found = _AMBIGUOUS.get((written_like, style, explode))
    if found is None or not isinstance(value, (list, dict)):
        return None
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    if written_like == "header" and explode and isinstance(value, dict) and "=" in "".join(value):
        return "an equals sign"
    delimiter, name = found
    return name if any(delimiter in scalar_text(part) for part in parts) else None


def _bracketed_keys(value: JsonValue, style: str, explode: bool) -> Iterator[str]:
    """Yield the names of properties that are written in brackets."""
    if style == "deepObject":
        yield from _keys(value)
    elif style == "form" and explode and isinstance(value, (dict, list)):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _keys(held)


def _keys(value: JsonValue) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        yield from value if isinstance(value, dict) else ()
        for held in value.values() if isinstance(value, dict) else value:
            yield from _keys(held)


def path_segment(name: str, value: JsonValue, *, style: str, explode: bool) -> str:
    """Return the text for `{name}` in a path.

    Args:
        name: of the parameter; only the matrix style writes it.
        value: to write; '' for an empty list or object.
        style: simple, label, matrix, or json for a parameter with `content`.
        explode: True if elements and properties are written separately.
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


def query_parts(
    name: str, value: JsonValue, *, style: str, explode: bool, reserved: bool = False
) -> list[str]:
    """Return the `name=value` parts of a query string or form.

    Nesting that OpenAPI does not define is written in brackets, as most servers read it: an
    exploded list of objects, an object in an exploded object, a list in `deepObject`.

    Args:
        name: of the parameter.
        value: to write; no parts for an empty list or object.
        style: form, spaceDelimited, pipeDelimited, deepObject, or json for a parameter with
            `content`.
        explode: True if elements and properties become separate parts.
        reserved: True if the document has `allowReserved`.
    """
    write = partial(quote, safe=f"~,{_RESERVED}", errors="replace") if reserved else encode
    if style == "json" or not isinstance(value, (list, dict)):
        text = json_text(value) if style == "json" else scalar_text(value)
        return [f"{encode(name)}={write(text)}"]
    if style == "deepObject":
        return list(_bracketed(name, value, write))
    if explode and isinstance(value, dict):
        return [part for key, held in value.items() for part in _bracketed(key, held, write)]
    if explode:
        return [
            part
            for index, held in enumerate(value)
            for part in _bracketed(
                f"{name}[{index}]" if isinstance(held, (dict, list)) else name, held, write
            )
        ]
    if not value:
        return []
    # The delimiters inside elements stay encoded, even with `allowReserved`.
    joined = _joined(value, _DELIMITERS.get(style, ","), explode, encode)
    return [f"{encode(name)}={joined}"]


def header_text(value: JsonValue, *, style: str, explode: bool) -> str:
    """Return a header's value in the simple style; headers are not percent-encoded."""
    return json_text(value) if style == "json" else _joined(value, ",", explode, str)


def json_text(value: JsonValue) -> str:
    """Return compact JSON in ASCII, or raise ValueError: a number is not finite."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def encode(text: str) -> str:
    """Percent-encode all but RFC 3986's unreserved characters."""
    return quote(text, safe="~", errors="replace")


def _bracketed(prefix: str, value: JsonValue, write: _Encode) -> Iterator[str]:
    """Yield a part for each scalar, its path in brackets: `items[0][price]=5`."""
    if isinstance(value, (dict, list)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for step, held in pairs:
            yield from _bracketed(f"{prefix}[{step}]", held, write)
    else:
        yield f"{encode(prefix)}={write(scalar_text(value))}"


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
