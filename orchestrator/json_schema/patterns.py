"""Patterns of JSON Schema: ECMA-262's regular expressions, which are not Python's."""

from functools import lru_cache

import regress


def matches_pattern(pattern: str, text: str) -> bool:
    r"""Whether the pattern is found anywhere in the text.

    >>> matches_pattern(r"^\p{L}+$", "Ægir")
    True

    Raises:
        ValueError: it is no regular expression.
    """
    return _compiled(pattern).find(text) is not None


def is_pattern(pattern: str) -> bool:
    """Whether it is a regular expression."""
    try:
        _compiled(pattern)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> regress.Regex:
    try:
        return regress.Regex(pattern, "u")
    except regress.RegressError:
        # Needless escapes such as \@ are wrong in a Unicode pattern and common in documents.
        try:
            return regress.Regex(pattern)
        except regress.RegressError as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
