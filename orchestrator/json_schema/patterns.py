"""Patterns of JSON Schema: ECMA-262 regular expressions, matched in bounded time.

regress parses them, because it implements the standard; jsonschema-rs matches them, because it is
bounded: one pass over the text or, for look-arounds and back references, a number of steps. A match
that exceeds the bound is undecided, which is neither a match nor a mismatch.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import jsonschema_rs
import regress

from orchestrator.json_schema.ecma_translation import Translated, Untranslatable, translate

_LONGEST: Final = 10_000
"""Most characters of a pattern; parsing much longer ones exhausts a thread's stack."""
_WORK: Final = 50_000_000
"""Most work of one match: pattern length times text length times backtracking steps."""
_STEPS: Final = (10_000, 1_000, 100)
"""Backtracking limits for look-arounds; longer texts get lower ones."""
_COUNTED: Final = re.compile(
    r"\^(\[[^\]]*\]|\\[pP]\{[^}]*\}|\\x\{[0-9a-f]+\}|[0-9A-Za-z])\{([0-9]+),([0-9]*)\}\??\$"
)
"""A repetition of one kind of character alone, which is counted instead of compiled."""


class PatternUndecided(ValueError):
    """A pattern whose match cannot be decided in bounded time."""

    def __init__(self, pattern: str, reason: str) -> None:
        """Take the pattern and the reason; the text is not quoted."""
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
        PatternUndecided: the pattern, or the pattern with this text, exceeds what is bounded.
    """
    return _read(pattern).matches(text)


def is_pattern(pattern: str) -> bool:
    """Return True if the text is a regular expression, as far as it is parsed."""
    try:
        _read(pattern)
    except PatternUndecided:
        return True
    except ValueError:
        return False
    return True


def undecided_reason(pattern: str) -> str | None:
    """Return why no text can be matched against a pattern; None when texts can."""
    try:
        matches_pattern(pattern, "")
    except PatternUndecided as undecided:
        return undecided.reason
    return None


def detour_reason(pattern: str) -> str | None:
    """Return why a match may need more than one pass over the text; None when it does not."""
    read = _read(pattern).translated
    if not read.is_regular:
        return "it looks around or refers back"
    return "it repeats a repetition" if read.repeats_repetition else None


@dataclass(frozen=True)
class _Pattern:
    """A parsed pattern."""

    written: str
    translated: Translated
    text: str
    """Pattern for the engine, without the count when only the length is limited."""
    least: int = 0
    most: int | None = None

    def matches(self, text: str) -> bool:
        if len(text) < self.least or (self.most is not None and len(text) > self.most):
            return False
        weight = self.translated.weight if self.text == self.translated.text else 1
        length = len(text) + 1
        # At each position a look-around may scan the text, and a nested one may scan it again.
        if weight * length ** (1 + self.translated.depth) > _WORK:
            raise PatternUndecided(self.written, "the text is too long for it")
        if self.translated.is_regular:
            return self._engine(None).is_valid(text)
        steps = _WORK // (weight * length)
        allowed = next((most for most in _STEPS if most <= steps), _STEPS[-1])
        for error in self._engine(allowed).iter_errors(text):
            if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded):
                raise PatternUndecided(self.written, "it takes too many steps for the text")
            return False
        return True

    def _engine(self, steps: int | None) -> jsonschema_rs.Draft202012Validator:
        made = _engine(self.text, steps)
        if made is None:
            raise PatternUndecided(self.written, "it is too large")
        return made


@lru_cache(maxsize=1_024)
def _read(pattern: str) -> _Pattern:
    if len(pattern) > _LONGEST:
        raise PatternUndecided(pattern, f"it has more than {_LONGEST:,} characters")
    try:
        translated = translate(pattern, is_unicode=_is_unicode(pattern))
    except Untranslatable as error:
        raise PatternUndecided(pattern, f"it has {error}") from None
    counted = _COUNTED.fullmatch(translated.text)
    if counted is None:
        return _Pattern(pattern, translated, translated.text)
    most = int(counted[3]) if counted[3] else None
    return _Pattern(pattern, translated, f"^{counted[1]}*$", int(counted[2]), most)


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
    """Compile a translated pattern; None when it is too large."""
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
