"""Escapes text from outside sources for a terminal, a JSON document or Markdown.

A provider's text may hold invisible characters that change the display: terminal commands, marks
that reverse the direction of writing, zero-width spaces. Wherever text is shown, each of these
appears as its escape, so that a reader sees that something was there.
"""

import json
import re
from collections.abc import Callable
from unicodedata import category
from urllib.parse import urlsplit

_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Unicode calls default ignorable (DerivedCoreProperties.txt) although they are
letters or marks by category: fillers and variation selectors, which can hide text too."""

_MARK = "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_STACKED = re.compile(f"(?<={_MARK}{{4}}){_MARK}+")
"""Accents beyond the fourth on one letter: no language uses them, and they reach other lines."""

_PICTURE = "[\u2190-\u27ff\u2900-\u2bff\U0001f000-\U0001faff]"
_EMOJI = re.compile(f"{_PICTURE}\ufe0f?(?:\u200d{_PICTURE}\ufe0f?)*")
"""A picture, or several joined ones: the only place where a joiner is not escaped."""

_BLANKS = re.compile(r"[ \t\r\n]+")
_MARKUP = re.compile(
    r"[#$&*<>\[\\\]`{|}~]"  # punctuation that starts markup in some dialect, at any position
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word an underscore is a plain character
    # Characters that turn a bare address into a link. Not the @: the Temporal UI shows its
    # backslash.
    r"|:(?=/)|(?<!\d):(?=\S)|(?<!\d)\.(?=\S)|\.(?=[^\s\d])"
)
_LONGEST_SUMMARY = 200
_SUMMARY_BYTES = 400
"""Bytes of an encoded summary that are used: every workflow, activity and timer stores one in its
history."""


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 error", "2 errors", "1,200 errors"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def visible(text: str) -> str:
    r"""Return text on one line, with hidden characters and line ends escaped.

    `visible("1 EUR\x1b[2J")` is `1 EUR\\x1b[2J`; `visible("a\nb")` is `a\\nb`.
    """
    return _shown(text, _escape)


def visible_block(text: str) -> str:
    """Return text with hidden characters escaped, but with its line ends and tabs."""
    return _shown(text, lambda character: character if character in "\n\t" else _escape(character))


def visible_json(document: str) -> str:
    """Return the JSON document with hidden characters in its strings as JSON escapes."""
    return _shown(document, lambda character: character if character == "\n" else _utf16(character))


def markdown_text(text: str) -> str:
    """Return text on one line that Markdown renders literally: no markup, HTML or links."""
    shown = visible(_BLANKS.sub(" ", text)).strip()
    return _MARKUP.sub(r"\\\g<0>", shown) if _MARKUP.search(shown) else shown


def markdown_summary(text: str) -> str:
    """Return the start of a text as Markdown, short enough for each event of a history."""
    for length in range(_LONGEST_SUMMARY, 0, -1):
        summary = markdown_text(text[:length])
        if len(json.dumps(summary, ensure_ascii=False).encode()) <= _SUMMARY_BYTES:
            return summary
    return ""


def markdown_code(text: str) -> str:
    """Return a code span of this text that the text cannot end: backticks become apostrophes."""
    return f"`{visible(text).replace('`', chr(39))}`"


def address_shown(text: str) -> str:
    """Return a setting's text; if it is an address, without the parts that may be secret.

    Of a URL, user info and query are left out.
    """
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or "…"
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return f"{text.partition('://')[0]}://…"
    query = "?…" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme}://{host}{port}{parts.path}{query}{fragment}"


def _shown(text: str, escape: Callable[[str], str]) -> str:
    text = _STACKED.sub(lambda marks: "".join(map(escape, marks.group())), text)
    if text.isprintable() and _IGNORED.search(text) is None:
        return text
    if "\n" in text and escape("\n") == "\n":  # a line at a time: most lines have nothing to hide
        return "\n".join([_shown(line, escape) for line in text.split("\n")])
    parts, end = [], 0
    for emoji in _EMOJI.finditer(text):
        parts += [_revealed(text[end : emoji.start()], escape), emoji.group()]
        end = emoji.end()
    return "".join([*parts, _revealed(text[end:], escape)])


def _revealed(text: str, escape: Callable[[str], str]) -> str:
    return "".join(escape(character) if _is_hidden(character) else character for character in text)


def _is_hidden(character: str) -> bool:
    # Not printable: controls, formats, surrogates, private use, unassigned, separators.
    if not character.isprintable():
        return category(character) != "Zs"
    return _IGNORED.match(character) is not None


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _utf16(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
