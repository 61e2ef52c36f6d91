"""Hides what was sent of a person or a credential wherever a provider repeats it."""

import html
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

from orchestrator.adapters.http.transport_errors import causes_of
from orchestrator.core.pii import Handle

_SHORT = 3
_LONG = 8
_LONG_NUMBER = 6
_LONGEST_READ = 300
"""Longer values are found only in their commonest forms: to make a pattern of each character takes
its time."""
_CHARACTER = re.compile(r"\\+|[^\\]", re.DOTALL)
_BACKSLASHES = r"(?:\\|%5c){1,16}"


class Hidden(NamedTuple):
    """A value that must not be seen, and what stands in its place."""

    value: str
    stand_in: str
    name: str = ""
    """The field it belongs to: under this name even one character is hidden."""


def hide_personal(handle: Handle, value: str) -> Hidden:
    """A personal value, hidden behind the handle by which the call named it."""
    return Hidden(value, str(handle), handle.field)


def hide_secret(name: str, value: str) -> Hidden:
    """A credential, hidden behind its name."""
    return Hidden(value, f"[secret {name}]")


class Mask:
    """Replaces hidden values in text and in JSON.

    A value of eight characters or more is found anywhere, also inside a longer word, in any case
    and however it is quoted: percent-encoded, for HTML, JSON or a program, in part or twice. One of
    three to seven is found as a word of its own: as a part of other words it would hide half of
    what is said. One of one or two characters is found only where it is all there is under its own
    field's name.
    """

    def __init__(self, hidden: Iterable[Hidden]) -> None:
        self._hidden = [entry for entry in hidden if entry.value]
        forms = {form: entry.stand_in for entry in self._hidden for form in _forms(entry.value)}
        ordered = sorted(forms, key=len, reverse=True)
        self._stand_ins = [forms[form] for form in ordered]
        values = {entry.value for entry in self._hidden}
        groups = [_group(form, in_any_quotes=form in values) for form in ordered]
        self._pattern = re.compile("|".join(groups), re.IGNORECASE)

    def text(self, text: str) -> str:
        """The text with stand-ins."""
        if not self._stand_ins:
            return text
        return self._pattern.sub(lambda found: self._stand_ins[(found.lastindex or 1) - 1], text)

    def json(self, value: JsonValue, *, name: str = "") -> JsonValue:
        """The value with stand-ins in every string, key and long number; `name` is its own key."""
        if not self._hidden:
            return value
        if isinstance(value, dict):
            return {self.text(key): self.json(held, name=key) for key, held in value.items()}
        if isinstance(value, list):
            return [self.json(element, name=name) for element in value]
        if value is None or isinstance(value, bool):
            return value
        return self._scalar(value, name)

    def is_absent_from(self, error: BaseException) -> bool:
        """Whether neither an exception nor what caused it holds a hidden value in its text."""
        return all(self.text(str(cause)) == str(cause) for cause in causes_of(error))

    def _scalar(self, value: str | int | float, name: str) -> JsonValue:
        text = str(value)
        for entry in self._hidden:
            if entry.value == text and (entry.name == name or len(text) >= _LONG_NUMBER):
                return entry.stand_in
        return self.text(value) if isinstance(value, str) else value


def _forms(value: str) -> Iterator[str]:
    """The value as text of several kinds would carry it."""
    if len(value) < _SHORT:
        return
    yield value
    yield quote(value, safe="")
    yield quote_plus(value)
    yield html.escape(value)
    yield json.dumps(value)[1:-1]


def _group(form: str, *, in_any_quotes: bool) -> str:
    escaped = re.escape(form)
    if in_any_quotes and len(form) <= _LONGEST_READ:
        escaped = f"(?:{escaped}|{_in_any_quotes(form)})"
    if len(form) >= _LONG:
        return f"({escaped})"
    return rf"((?<![^\W_]){escaped}(?![^\W_]))"


def _in_any_quotes(form: str) -> str:
    """A pattern of the form however it was quoted, each character of it by itself.

    A provider quotes what it repeats in ways of its own: some characters of it and not others, as
    its language writes a string, twice over.
    """
    return "".join(_character(found) for found in _CHARACTER.findall(form))


@lru_cache(maxsize=4096)
def _character(character: str) -> str:
    if character.isascii() and character.isalnum():
        return character
    if character[0] == "\\":
        return _BACKSLASHES
    code = ord(character)
    units = character.encode("utf-16-be", "surrogatepass").hex()
    written = [
        "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass")),
        f"&#0*{code};",
        f"&#x0*{code:x};",
        _BACKSLASHES + _BACKSLASHES.join(f"u{units[i : i + 4]}" for i in range(0, len(units), 4)),
        f"{_BACKSLASHES}(?:x{code:02x}|U{code:08x})",
        re.escape(html.escape(character)),
        r"[\s+]" if character.isspace() else rf"\\{{0,8}}{re.escape(character)}",
    ]
    return f"(?:{'|'.join(written)})"
