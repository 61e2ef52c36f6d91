"""Handles of personal fields."""

import pytest

from orchestrator.core.errors import UsageError
from orchestrator.core.pii import (
    check_entry,
    field_of,
    handle_for,
    handles_in,
    is_handle,
    replace_handles,
)


def test_a_handle_names_its_field() -> None:
    """What handle_for writes, field_of reads."""
    assert handle_for("traveler_id") == "pii:traveler_id"
    assert field_of("pii:traveler_id") == "traveler_id"


@pytest.mark.parametrize(
    "value", ["pii:", "pii:a b", "for pii:name", "PII:name", 7, None, ["pii:a"]]
)
def test_other_values_are_no_handles(value: object) -> None:
    """Only a string that is a handle and nothing else is one."""
    assert not is_handle(value)


def test_handles_are_found_at_any_depth() -> None:
    """Those that stand alone as a string."""
    assert handles_in({"a": ["pii:x", {"b": "pii:y"}], "c": "see pii:z"}) == {"x", "y"}


def test_the_longest_field_wins_inside_text() -> None:
    """`pii:name_kana` is not `pii:name` and a rest."""
    values = {"name": "Ada", "name_kana": "エイダ"}

    assert replace_handles("pii:name_kana, pii:name!", values, values.__getitem__) == "エイダ, Ada!"


def test_other_fields_stay_as_they_are() -> None:
    """A handle that is not among the fields is text."""
    assert replace_handles("pii:other", {"name"}, lambda _: "x") == "pii:other"


@pytest.mark.parametrize(("field", "value"), [("a b", "x"), ("", "x"), ("name", "")])
def test_what_no_vault_may_hold_is_refused(field: str, value: str) -> None:
    """A name that could not be written as a handle, and a value that is none."""
    with pytest.raises(UsageError):
        check_entry(field, value)
