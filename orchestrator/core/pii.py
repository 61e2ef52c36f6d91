"""Handles of personal fields: what stands for a value everywhere but on the wire."""

import re
from collections.abc import Callable, Collection

from pydantic import JsonValue

from orchestrator.core.errors import UsageError

PII_PREFIX = "pii:"
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


def is_field_name(field: str) -> bool:
    """Whether a personal field may be called so: a letter, then letters, digits, `_`, `.`, `-`."""
    return _FIELD.fullmatch(field) is not None


def check_entry(field: str, value: str) -> None:
    """Refuse what no vault may hold.

    Raises:
        UsageError: the name cannot be a field's, or the value is empty.
    """
    if not is_field_name(field):
        raise UsageError(
            f"{field!r} cannot name a personal field; "
            "use a letter, then letters, digits, underscores, dots or hyphens"
        )
    if not value:
        raise UsageError(f"the value of {field} is empty; to remove it, forget the field")


def handle_for(field: str) -> str:
    """The handle of a field: `pii:traveler_id`."""
    return f"{PII_PREFIX}{field}"


def is_handle(value: object) -> bool:
    """Whether this is a handle and nothing else; text that merely contains one is not."""
    return field_of(value) is not None


def field_of(value: object) -> str | None:
    """The field that a handle stands for; None when the value is no handle."""
    if not isinstance(value, str) or not value.startswith(PII_PREFIX):
        return None
    field = value.removeprefix(PII_PREFIX)
    return field if is_field_name(field) else None


def handles_in(value: JsonValue) -> frozenset[str]:
    """The fields of all handles that stand alone as a string anywhere in a value."""
    if isinstance(value, dict):
        return frozenset().union(*map(handles_in, value.values()))
    if isinstance(value, list):
        return frozenset().union(*map(handles_in, value))
    field = field_of(value)
    return frozenset() if field is None else frozenset({field})


def replace_handles(text: str, fields: Collection[str], value_of: Callable[[str], str]) -> str:
    """A text with the handles of these fields replaced wherever they occur in it.

    A provider's own id may hold a personal value; masked, it is text around a handle, and must
    become the id again when it goes back.
    """
    if PII_PREFIX not in text or not fields:
        return text
    # Longest first: `pii:name_kana` is not `pii:name` and a rest.
    names = "|".join(re.escape(field) for field in sorted(fields, key=len, reverse=True))
    return re.sub(f"{PII_PREFIX}({names})", lambda found: value_of(found[1]), text)
