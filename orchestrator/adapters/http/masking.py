"""Hide sent personal values and credentials wherever a provider repeats them.

Only the letters and digits of values are compared, after Unicode's compatibility forms, case and
accents are removed, in the text as received and after each of up to six rounds of decoding. The run
time is linear in the text.
"""

import html
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple
from unicodedata import decimal, normalize

from pydantic import JsonValue

from orchestrator.adapters.http.transport import causes_of
from orchestrator.core.pii import Handle

_SHORT: Final = 3
_LONG: Final = 8
_LONG_NUMBER: Final = 6
_DEPTH: Final = 6
"""Rounds of decoding; each halves a run of backslashes."""
_CHUNK: Final = 1_024
"""Characters whose positions are computed together, and only where a value is found."""
_RUN: Final = 64

_NO_LETTERS: Final = re.compile(r"[\W_\u115f\u1160\u3164\uffa0]+")
"""Skipped: everything but letters and digits, and letters that Unicode calls ignorable."""
_LOOSE: Final = re.compile(r"[\\'\"`\u115f\u1160\u3164\uffa0]|(?![\w\s])[^\x21-\x7e]")
"""Ignored inside a short value: quotes, backslashes, marks and invisible characters."""
_DIGIT: Final = re.compile(r"(?![0-9])\d")
_HEX: Final = "[0-9a-fA-F]"


def _bytes_of(mark: str) -> str:
    """Return a pattern for one character of UTF-8, or one byte, after the first mark."""
    more = f"{mark}[89abAB]{_HEX}"
    return (
        f"(?:[c-dC-D]{_HEX}{more}|[eE]{_HEX}(?:{more}){{2}}|[fF][0-7](?:{more}){{3}}|{_HEX}{{2}})"
    )


_PAIR: Final = rf"[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
_ESCAPE: Final = re.compile(
    rf"%(?:5[cC](?:%5[cC])*|25(?:%25)*|u{_HEX}{{4}}|{_bytes_of('%')})"
    rf"|\\(?:\\(?:\\\\)*|u(?:{_PAIR}|{_HEX}{{4}}|\{{{_HEX}{{1,6}}\}})|U{_HEX}{{8}}"
    rf"|x{_bytes_of(re.escape(chr(92)) + 'x')}"
    r"|3[0-7]{2}(?:\\2[0-7]{2}){1,3}|[0-3][0-7]{2}|[nrtfvb0])"
    rf"|&(?:#[0-9]{{1,16}};?|#[xX]{_HEX}{{1,16}};?|[a-zA-Z][a-zA-Z0-9]{{1,31}};)"
)


class Hidden(NamedTuple):
    """A value to hide, and its stand-in."""

    value: str
    stand_in: str
    name: str = ""
    """The name of its field, under which even a value of one character is hidden."""


def hide_personal(handle: Handle, value: str) -> Hidden:
    """Return a personal value, hidden behind the handle by which the call named it."""
    return Hidden(value, str(handle), handle.field)


def hide_secret(name: str, value: str) -> Hidden:
    """Return a credential, hidden behind its name."""
    return Hidden(value, f"[secret {name}]")


class Mask:
    """Replaces hidden values in text and in JSON.

    A value of eight or more letters or digits is found anywhere, also inside a longer word and with
    other characters between its own; a value of six or seven is found as separate words. A shorter
    value is found as a word as it is written, except for quotes and invisible characters: as a part
    of other words it would hide half of the text. A value of one or two characters is found only as
    the whole value of its own field's name. docs/security.md describes it.
    """

    def __init__(self, hidden: Iterable[Hidden]) -> None:
        self._hidden = [entry for entry in hidden if entry.value]
        self._forms = [form for entry in self._hidden for form in _forms(entry)]
        self._letters = [form.letters for form in self._forms if form.letters]
        self._literal = [form.written for form in self._forms if not form.letters]

    def text(self, text: str) -> str:
        """Return the text with stand-ins."""
        if not self._may_be_in(text):
            return text
        matches: list[_Match] = []
        layer: _Layer | None = _Layer(text)
        for _ in range(_DEPTH + 1):
            if layer is None:
                break
            for form in self._forms:
                matches += form.found_in(layer)
            layer = layer.decoded()
        parts, end = [], 0
        for match in _merged(matches):
            parts += [text[end : match.start], match.stand_in]
            end = match.end
        return "".join([*parts, text[end:]])

    def cut(self, text: str, most: int) -> str:
        """Return the beginning of a text, masked first: half of a value would not be found.

        Every text of a provider is shortened here.
        """
        return self.text(text)[:most]

    def json(self, value: JsonValue, *, name: str = "") -> JsonValue:
        """Return the value with stand-ins in strings, keys and long numbers; `name` is its key."""
        if not self._hidden:
            return value
        if isinstance(value, dict):
            return {self.text(key): self.json(held, name=key) for key, held in value.items()}
        if isinstance(value, list):
            return [self.json(element, name=name) for element in value]
        if value is None or isinstance(value, bool):
            return value
        text = str(value)
        for entry in self._hidden:
            if entry.value == text and (entry.name == name or len(text) >= _LONG_NUMBER):
                return entry.stand_in
        if isinstance(value, str):
            return self.text(value)
        masked = self.text(text) if len(text) >= _LONG_NUMBER else text
        return value if masked == text else masked

    def is_absent_from(self, error: BaseException) -> bool:
        """Return True if the texts of an exception and its causes contain no hidden value."""
        return all(self.text(str(cause)) == str(cause) for cause in causes_of(error))

    def _may_be_in(self, text: str) -> bool:
        """Return False if nothing can be found, as in most of the short texts of an answer."""
        if _is_escaped(text):
            return bool(self._forms)
        letters = _letters(text)
        # A loop instead of a generator, for speed: an answer has ten thousands of texts.
        for wanted in self._letters:
            if wanted in letters:
                return True
        return any(wanted in text for wanted in self._literal)


class _Match(NamedTuple):
    """A part of a text to replace; of two that overlap, the longer one names the whole."""

    start: int
    end: int
    stand_in: str
    letters: int


def _merged(matches: Iterable[_Match]) -> Iterator[_Match]:
    current: _Match | None = None
    for match in sorted(matches):
        if current is None or match.start >= current.end:
            if current is not None:
                yield current
            current = match
            continue
        longer = max(current, match, key=lambda one: one.letters)
        end = max(current.end, match.end)
        current = _Match(current.start, end, longer.stand_in, longer.letters)
    if current is not None:
        yield current


_Escape = tuple[int, int, int]
"""The end of an escape after decoding, and its start and end before."""


class _Layer:
    """A text after some rounds of decoding, its letters, and a map to the original text."""

    def __init__(
        self,
        text: str,
        inner: "_Layer | None" = None,
        starts: Sequence[int] = (),
        escapes: Sequence[_Escape] = (),
    ) -> None:
        letters = [_letters(text[at : at + _CHUNK]) for at in range(0, len(text), _CHUNK)]
        self.text = text
        self.letters = "".join(letters)
        self._ends = list(accumulate(map(len, letters)))
        self._places: dict[int, list[int]] = {}
        self._inner = inner
        self._starts = starts
        self._escapes = escapes

    def decoded(self) -> "_Layer | None":
        """Return the text after one more round; None if there is nothing to decode."""
        text = self.text
        if not _is_escaped(text):
            return None
        parts: list[str] = []
        starts: list[int] = []
        escapes: list[_Escape] = []
        end = size = 0
        for found in _ESCAPE.finditer(text):
            meant = _unescaped(found.group())
            if meant == found.group():
                continue
            start, old_end = found.span()
            parts += [text[end:start], meant]
            size += start - end
            starts.append(size)
            size, end = size + len(meant), old_end
            escapes.append((size, start, end))
        if not escapes:
            return None
        return _Layer("".join([*parts, text[end:]]), self, starts, escapes)

    def place(self, index: int) -> int:
        """Return the position in the text of the letter at an index."""
        chunk = bisect_right(self._ends, index)
        if chunk not in self._places:
            first = chunk * _CHUNK
            self._places[chunk] = [
                at
                for at, character in enumerate(self.text[first : first + _CHUNK], first)
                for _ in _letters_of(character)
            ]
        return self._places[chunk][index - (self._ends[chunk - 1] if chunk else 0)]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the original text that a part of this text comes from."""
        if self._inner is None:
            return start, end
        return self._inner.origin(self._before(start)[0], self._before(end - 1)[1])

    def _before(self, at: int) -> tuple[int, int]:
        """Return the part of the previous text that the character at a position comes from."""
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return at, at + 1
        end, old_start, old_end = self._escapes[index]
        if at < end:
            return old_start, old_end
        return old_end + at - end, old_end + at - end + 1


def _is_escaped(text: str) -> bool:
    return "%" in text or "&" in text or "\\" in text


class _Form(NamedTuple):
    """A form of a value, and how closely a text must match it."""

    letters: str
    stand_in: str
    written: str = ""
    """The written value; '' for an encoding, where only the letters count."""
    lead: str = ""
    tail: str = ""
    """The value's characters before the first and after the last letter."""
    is_long: bool = False

    def found_in(self, layer: _Layer) -> Iterator[_Match]:
        """Yield the positions of the form in the original text."""
        if not self.letters:
            at = layer.text.find(self.written)
            while at >= 0:
                end = at + len(self.written)
                if self.is_long or _is_word(layer.text, at, end):
                    yield self._match(layer, at, end)
                at = layer.text.find(self.written, end)
            return
        at = layer.letters.find(self.letters)
        while at >= 0:
            start, end = layer.place(at), layer.place(at + len(self.letters) - 1) + 1
            if self._is_at(layer.text, start, end):
                if self.lead and layer.text.endswith(self.lead, 0, start):
                    start -= len(self.lead)
                if self.tail and layer.text.startswith(self.tail, end):
                    end += len(self.tail)
                yield self._match(layer, start, end)
                at += len(self.letters)
            else:
                at += 1
            at = layer.letters.find(self.letters, at)

    def _match(self, layer: _Layer, start: int, end: int) -> _Match:
        return _Match(*layer.origin(start, end), self.stand_in, len(self.letters))

    def _is_at(self, text: str, start: int, end: int) -> bool:
        if len(self.letters) >= _LONG:
            return True
        is_word = _is_word(text, start, end)
        if is_word and (len(self.letters) >= _LONG_NUMBER or not self.written):
            return True
        return (is_word or self.is_long) and _tight(text[start:end]) == self.written


def _forms(entry: Hidden) -> Iterator[_Form]:
    """Yield the value as it is, decoded like a text, in hexadecimal and in base64."""
    layer: _Layer | None = _Layer(entry.value)
    for _ in range(_DEPTH + 1):
        if layer is None:
            break
        text, is_long = layer.text, len(layer.text) >= _LONG
        if len(text) >= _SHORT and len(layer.letters) < 2:
            yield _Form("", entry.stand_in, text, is_long=is_long)
        elif len(text) >= _SHORT:
            start, end = layer.place(0), layer.place(len(layer.letters) - 1) + 1
            tight, lead, tail = _tight(text[start:end]), text[:start], text[end:]
            yield _Form(layer.letters, entry.stand_in, tight, lead, tail, is_long)
        layer = layer.decoded()
    data = entry.value.encode("utf-8", "surrogatepass")
    if len(data) > _SHORT:
        written = [data.hex(), b64encode(data).decode().rstrip("=")]
        for shift, first in enumerate((0, 2, 3)):
            # The characters that the bytes determine at each alignment.
            shifted = b64encode(bytes(shift) + data).decode()
            written.append(shifted[first : (shift + len(data)) * 8 // 6])
        encodings = dict.fromkeys(map(_letters, written))
        yield from (_Form(e, entry.stand_in) for e in encodings if len(e) >= _LONG_NUMBER)


def _letters(text: str) -> str:
    """Return letters and digits alone, without case, accents and width variants.

    The letters of a text are those of its parts, one after the other.
    """
    if text.isascii():
        return _NO_LETTERS.sub("", text).lower()
    return _NO_LETTERS.sub("", _decomposed(text).casefold())


_letters_of = lru_cache(maxsize=4_096)(_letters)


def _decomposed(text: str) -> str:
    """Return the compatibility decomposition; marks are ordered within a few characters only.

    Ordering a whole run of marks would take quadratic time.
    """
    parts = range(0, len(text), _RUN)
    plain = "".join([normalize("NFKD", text[at : at + _RUN]) for at in parts])
    return _DIGIT.sub(lambda found: str(decimal(found[0])), plain)


def _tight(text: str) -> str:
    """Return a short text in its compared form: without quotes, and with one kind of space."""
    folded = _decomposed(text).casefold()
    return re.sub(r"[\s+]", " ", _LOOSE.sub("", folded))


def _is_word(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


@lru_cache(maxsize=4_096)
def _unescaped(escape: str) -> str:
    """Return the characters that an escape of a URL, of HTML or of a program stands for."""
    if escape[0] == "&":
        return html.unescape(escape if escape.endswith(";") else f"{escape};")
    if escape.startswith("\\\\"):
        return escape[: len(escape) // 2]
    if escape[1] in "uU":
        digits = re.sub(r"[\\%uU{}]", "", escape)
        if escape[1] == "u" and len(digits) == 8:
            return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass")
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else escape
    if escape[0] == "\\" and escape[1] != "x":
        if len(escape) == 2:
            return "\n"
        data = bytes(int(digits, 8) for digits in escape[1:].split("\\"))
    else:
        data = bytes.fromhex(re.sub(r"%|\\x", "", escape))
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
