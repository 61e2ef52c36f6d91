"""Patterns of JSON Schema: ECMA-262 regular expressions, matched in bounded time.

regress parses them, because it implements the standard; jsonschema-rs matches them, because it is
bounded: one pass over the text or, for look-arounds, a number of steps. Between the two, a
translation gives each sign its meaning: the output is so plain that the translation of
jsonschema-rs passes it through unchanged. A match that exceeds the bound is undecided, which is
neither a match nor a mismatch; so is a pattern with back references.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import jsonschema_rs
import regress

_QUANTIFIER: Final = re.compile(r"(?:([*+?])|\{([0-9]+)(?:(,)([0-9]*))?\})(\??)")
_GROUP: Final = re.compile(r"\((?:\?(?:([:=!]|<[=!])|<[^>=!][^>]*>))?")
_HEX: Final = re.compile(
    r"x([0-9a-fA-F]{2})|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}"
)
_PROPERTY: Final = re.compile(r"[pP]\{[^}]*\}")
_SPACE: Final = (
    r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
    r"\x{feff}"
)
_SETS: Final = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": _SPACE,
    "D": r"\x{0}-\x{2f}\x{3a}-\x{10ffff}",
    "W": r"\x{0}-\x{2f}\x{3a}-\x{40}\x{5b}-\x{5e}\x{60}\x{7b}-\x{10ffff}",
    "S": (
        r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}"
        r"\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}"
        r"\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}"
    ),
}
"""Written out, because the engines read a negated set differently depending on its context."""
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_LAST: Final = 0x10FFFF
_ANYTHING, _NOTHING = rf"[\x{{0}}-\x{{{_LAST:x}}}]", rf"[^\x{{0}}-\x{{{_LAST:x}}}]"
_ANY_BUT_LINE_ENDS: Final = r"[^\x{a}\x{d}\x{2028}\x{2029}]"
_WORD: Final = f"[{_SETS['w']}]"
_BOUNDARIES: Final = {
    r"\b": (r"(?-u:\b)", f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"),
    r"\B": (r"(?-u:\B)", f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"),
}
"""Boundaries of ASCII words: for the linear engine, and for the one that looks around."""
_APART: Final = "(?=)"
"""Separates repetitions: the look-around engine would otherwise match "1" with `1+a*1+`."""
_MANY: Final = 10**6
"""More repetitions than any engine compiles."""


PatternFault = Literal["malformed", "undecided", "slow"]


class Untranslatable(ValueError):
    """A construct that has another meaning in every bounded engine."""


@dataclass
class _Frame:
    """An open group, or the whole pattern."""

    prefix: str = ""
    weight: int = 0

    @property
    def looks(self) -> bool:
        """True for a look-around."""
        return self.prefix not in ("", "(", "(?:")


class _Translation:
    """A pattern on its way to Rust's engines: read with the flag u, or as browsers without it."""

    def __init__(self, pattern: str, is_unicode: bool) -> None:
        self._pattern, self._is_unicode = pattern, is_unicode
        self._at = 0
        self._written: list[str] = []
        self._open = [_Frame()]
        self._has_names = "(?<" in pattern
        self._is_regular = True
        self._depth = 0

    def run(self) -> "_Pattern":
        while self._at < len(self._pattern):
            piece = self._piece()
            if piece is None:
                continue
            frame = self._open[-1]
            text, weight = piece
            least, most, repeated = self._quantifier()
            frame.weight += weight * max(1, most if most is not None else least + 1)
            frame.weight = min(frame.weight, _MANY * _MANY)
            self._written += (text, repeated, *([_APART] if repeated else []))
        (whole,) = self._open
        # The engine is known only after the whole pattern.
        is_regular = self._is_regular
        shown = {sign: either[not is_regular] for sign, either in _BOUNDARIES.items()}
        shown |= {_APART: ""} if is_regular else {}
        text, weight = (
            "".join(shown.get(part, part) for part in self._written),
            max(whole.weight, 1),
        )
        counted = _COUNTED.fullmatch(text)
        if counted is None:
            return _Pattern(self._pattern, text, weight, is_regular, self._depth)
        least, most = int(counted[2]), int(counted[3]) if counted[3] else None
        text = f"^{counted[1]}*$"
        return _Pattern(self._pattern, text, 1, is_regular, self._depth, least, most)

    def _piece(self) -> tuple[str, int] | None:
        """Read the next part, which a quantifier may follow, and the characters that it consumes.

        None if it only structures its neighbours.
        """
        sign = self._pattern[self._at]
        if sign == "(":
            found = _GROUP.match(self._pattern, self._at)
            if found is None or (found[0] == "(" and self._pattern[found.end() :].startswith("?")):
                raise Untranslatable("a group with modifiers")
            self._at = found.end()
            frame = _Frame(prefix=f"(?{found[1]}" if found[1] else "(")
            self._is_regular &= found[1] in (None, ":")
            self._open.append(frame)
            self._depth = max(self._depth, sum(looking.looks for looking in self._open))
            self._written.append(frame.prefix)
            return None
        self._at += 1
        if sign == ")":
            frame = self._open.pop()
            if frame.looks and _QUANTIFIER.match(self._pattern, self._at):
                raise Untranslatable("a look-around that is repeated")
            return ")", frame.weight
        if sign == "[":
            is_negated = self._pattern.startswith("^", self._at)
            self._at += is_negated
            kept = self._members()
            if not kept:
                return _ANYTHING if is_negated else _NOTHING, 1
            return f"[{'^' if is_negated else ''}{kept}]", 1
        if sign == "|":
            self._written.append("|")
            return None
        if sign in "^$":
            return sign, 0
        if sign == ".":
            return _ANY_BUT_LINE_ENDS, 1
        if sign != "\\":
            return _literal(ord(sign)), 1
        sign = self._pattern[self._at]
        if sign in "bB" or sign in _SETS:
            self._at += 1
            return f"\\{sign}" if sign in "bB" else f"[{_SETS[sign]}]", 1
        if self._is_unicode and (found := _PROPERTY.match(self._pattern, self._at)):
            self._at = found.end()
            return f"\\{found[0]}", 1
        if sign in "123456789" or (sign == "k" and (self._is_unicode or self._has_names)):
            raise Untranslatable("a reference to a group")
        return _literal(self._character()), 1

    def _quantifier(self) -> tuple[int, int | None, str]:
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return 1, 1, ""
        self._at = found.end()
        if found[1]:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[1]]
            return least, most, found[1] + found[5]
        least = _number(found[2])
        above = _number(found[4]) if found[4] else None
        most = above if found[3] else least
        return least, most, f"{{{least},{'' if most is None else most}}}{found[5]}"

    def _character(self) -> int:
        sign = self._pattern[self._at]
        if (found := _HEX.match(self._pattern, self._at)) and (self._is_unicode or not found[5]):
            self._at = found.end()
            if found[2]:
                high, low = int(found[2], 16), int(found[3], 16)
                return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            return int(found[1] or found[4] or found[5], 16)
        if sign in "0123456789" and self._taken(re.compile("[0-9]+")) != "0":
            raise Untranslatable("an octal escape")
        if sign == "0":
            return 0
        self._at += 1
        if sign == "c":
            letter = self._taken(re.compile("[A-Za-z]?"))
            if not letter:
                raise Untranslatable("a control escape without a letter")
            return ord(letter) % 32
        return _CONTROLS.get(sign, ord(sign))

    def _taken(self, expected: re.Pattern[str]) -> str:
        found = expected.match(self._pattern, self._at)
        assert found is not None
        self._at = found.end()
        return found[0]

    def _members(self) -> str:
        """Read the members of a class up to its end, in Rust's syntax."""
        parts: list[str] = []
        while self._pattern[self._at] != "]":
            first = last = self._class_atom()
            is_range = self._pattern[self._at] == "-" and self._pattern[self._at + 1] != "]"
            if is_range:
                self._at += 1
                last = self._class_atom()
            if isinstance(first, int) and isinstance(last, int):
                parts += _range(first, last)
            else:
                # Without the flag u a set cannot end a range, so the dash is a literal.
                ends = (first, last, ord("-")) if is_range else (first,)
                parts += (end if isinstance(end, str) else _literal(end) for end in ends)
        self._at += 1
        return "".join(parts)

    def _class_atom(self) -> int | str:
        """Read one member of a class: a code point, or a set in Rust's syntax."""
        sign = self._pattern[self._at]
        self._at += 1
        if sign != "\\":
            return ord(sign)
        sign = self._pattern[self._at]
        if sign == "b":
            self._at += 1
            return 8
        if sign in _SETS:
            self._at += 1
            return _SETS[sign]
        if self._is_unicode and (found := _PROPERTY.match(self._pattern, self._at)):
            self._at = found.end()
            return f"\\{found[0]}"
        return self._character()


def _literal(code: int) -> str:
    return "".join(_range(code, code)) or _NOTHING


def _range(first: int, last: int) -> list[str]:
    """Write a range of code points in Rust's syntax; surrogates occur in no text."""
    if 0xD800 <= first <= 0xDFFF:
        first = 0xE000
    if 0xD800 <= last <= 0xDFFF:
        last = 0xD7FF
    if first > last:
        return []
    if first == last:
        letter = chr(first)
        is_plain = letter.isascii() and letter.isalnum()
        return [letter if is_plain else rf"\x{{{first:x}}}"]
    return [rf"\x{{{first:x}}}-\x{{{last:x}}}"]


def _number(digits: str) -> int:
    return int(digits) if len(digits) <= 6 else _MANY


_LONGEST: Final = 10_000
"""The maximum length of a pattern; parsing much longer ones exhausts a thread's stack."""
_WORK: Final = 50_000_000
"""The maximum work of one match: pattern length times text length times backtracking steps."""
_STEPS: Final = (10_000, 1_000, 100)
"""Backtracking limits for look-arounds; longer texts get lower ones."""
_COUNTED: Final = re.compile(
    r"\^(\[[^\]]*\]|\\[pP]\{[^}]*\}|\\x\{[0-9a-f]+\}|[0-9A-Za-z])\{([0-9]+),([0-9]*)\}\??\$"
)
"""A repetition of one kind of character alone, which is counted instead of compiled."""


class PatternUndecided(ValueError):
    """A pattern whose match cannot be decided in bounded time."""

    def __init__(self, pattern: str, reason: str) -> None:
        """Store the pattern and the reason; the text is not quoted."""
        self.pattern = pattern
        self.reason = reason
        shown = pattern if len(pattern) <= 80 else f"{pattern[:77]}..."
        super().__init__(f"the pattern {shown} cannot be decided in bounded time: {reason}")


def matches_pattern(pattern: str, text: str) -> bool:
    r"""Return True if the pattern is found anywhere in the text.

    >>> matches_pattern(r"^\p{L}+$", "Ægir")
    True

    Raises:
        ValueError: it is no regular expression.
        PatternUndecided: the pattern, or the pattern with this text, exceeds the limits.
    """
    return _read(pattern).matches(text)


def pattern_fault(pattern: str) -> tuple[PatternFault, str] | None:
    """Return the fault of a pattern with its reason; None if a linear engine decides it.

    One that is `slow` looks around: a match may need more than one pass over the text.
    """
    try:
        is_regular = _read(pattern).is_regular
        matches_pattern(pattern, "")
    except PatternUndecided as undecided:
        return "undecided", undecided.reason
    except ValueError as error:
        return "malformed", str(error)
    return None if is_regular else ("slow", "it may take far longer than one pass over the text")


@dataclass(frozen=True)
class _Pattern:
    """A parsed pattern."""

    written: str
    text: str
    """In the syntax of Rust's engines, without the count when only the length is limited."""
    weight: int
    """The maximum number of consumed characters, counting an endless repetition once."""
    is_regular: bool
    """True without look-arounds: one pass over the text decides it."""
    depth: int
    """Nesting depth of look-arounds."""
    least: int = 0
    most: int | None = None

    def matches(self, text: str) -> bool:
        if len(text) < self.least or (self.most is not None and len(text) > self.most):
            return False
        length = len(text) + 1
        # At each position a look-around may scan the text, and a nested one may scan it again.
        if self.weight * length ** (1 + self.depth) > _WORK:
            raise PatternUndecided(self.written, "the text is too long for it")
        most_steps = _WORK // (self.weight * length)
        steps = next((most for most in _STEPS if most <= most_steps), _STEPS[-1])
        engine = _engine(self.text, None if self.is_regular else steps)
        if engine is None:
            raise PatternUndecided(self.written, "it is too large")
        if self.is_regular:
            return engine.is_valid(text)
        for error in engine.iter_errors(text):
            if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded):
                raise PatternUndecided(self.written, "it takes too many steps for the text")
            return False
        return True


@lru_cache(maxsize=1_024)
def _read(pattern: str) -> _Pattern:
    if len(pattern) > _LONGEST:
        raise PatternUndecided(pattern, f"it has more than {_LONGEST:,} characters")
    try:
        return _Translation(pattern, _is_unicode(pattern)).run()
    except Untranslatable as error:
        raise PatternUndecided(pattern, f"it has {error}") from None


def _is_unicode(pattern: str) -> bool:
    """Return True if the pattern is well-formed with the flag u, False if only without.

    Raises:
        ValueError: it is well-formed in neither way.
    """
    try:
        regress.Regex(pattern, "u")
        return True
    except regress.RegressError:
        # Needless escapes such as \@ are errors in a Unicode pattern and common in documents.
        try:
            regress.Regex(pattern)
        except regress.RegressError as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return False


@lru_cache(maxsize=128)
def _engine(text: str, steps: int | None) -> jsonschema_rs.Draft202012Validator | None:
    """Compile a translated pattern; None if it is too large."""
    options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
    options = (
        jsonschema_rs.RegexOptions()
        if steps is None
        else jsonschema_rs.FancyRegexOptions(backtrack_limit=steps)
    )
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": text}, pattern_options=options)
    except jsonschema_rs.ValidationError:
        return None
