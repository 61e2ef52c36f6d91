"""The formats that values are held to: those of JSON Schema, and those that OpenAPI adds."""

import base64
import binascii
import re
from copy import deepcopy
from typing import Final

from jsonschema import Draft202012Validator, FormatChecker

_BITS = {"int32": 31, "int64": 63}
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
_DURATION = re.compile(
    r"P(?=[\dT])(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)"
)


def _is_byte(value: object) -> bool:
    try:
        return (
            not isinstance(value, str) or bool(base64.b64decode(value, validate=True)) or not value
        )
    except (binascii.Error, ValueError):
        return False


def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or _URI.fullmatch(value) is not None


def _is_duration(value: object) -> bool:
    return not isinstance(value, str) or _DURATION.fullmatch(value) is not None


def _answered() -> FormatChecker:
    checker: FormatChecker = deepcopy(Draft202012Validator.FORMAT_CHECKER)
    checker.checks("byte")(_is_byte)
    for name, bits in _BITS.items():
        checker.checks(name)(
            lambda value, bits=bits: (
                not isinstance(value, int | float) or -(2**bits) <= value < 2**bits
            )
        )
    return checker


def _asked() -> FormatChecker:
    checker = _answered()
    checker.checks("uri")(_is_uri)
    checker.checks("duration")(_is_duration)
    return checker


ASKED: Final = _asked()
"""Of what is sent. `binary`, `password`, `float` and `double` ask nothing of a JSON value."""
ANSWERED: Final = _answered()
"""Of what comes back: a link or a duration that is written a little otherwise is none the less an
answer, and an order that was made must not seem unclear for it."""
