"""Handles of personal fields."""

import pytest

from orchestrator.core.errors import UsageError
from orchestrator.core.pii import (
    Handle,
    as_written,
    bare_personal,
    check_entry,
    field_of,
    handle_for,
    handle_of,
    handles_in,
    handles_within,
    is_handle,
    replace_handles,
    shown_without_version,
)
from orchestrator.core.record import JsonObject


def test_handles_and_bare_values_are_found_at_any_depth() -> None:
    """A handle stands alone as a string and names its field; it is no bare value."""
    assert handle_for("traveler_id") == "pii:traveler_id"
    assert field_of("pii:traveler_id") == "traveler_id"
    assert handles_in({"a": ["pii:x", {"b": "pii:y"}], "c": "see pii:z"}) == {"x", "y"}
    value: JsonObject = {"a": [{"name": "Ada"}, {"name": PINNED}], "name": None, "mail": "pii: x"}
    assert bare_personal(value, {"name", "mail"}) == ("name", "mail")


@pytest.mark.parametrize(
    "value", ["pii:", "pii:a b", "for pii:name", "PII:name", 7, None, ["pii:a"]]
)
def test_other_values_are_no_handles(value: object) -> None:
    """Only a string that is a handle and nothing else is one."""
    assert not is_handle(value)


def test_the_longest_field_wins_inside_text() -> None:
    """`pii:name_kana` is not `pii:name` and a rest; another handle is text."""
    values = {Handle("name"): "Ada", Handle("name_kana"): "エイダ"}
    text = "pii:name_kana, pii:name! pii:other"
    replaced = replace_handles(text, ("name", "name_kana"), values.__getitem__)

    assert replaced == "エイダ, Ada! pii:other"


PINNED = f"pii:name@{'0f' * 16}"


def test_a_pinned_handle_is_one_whole() -> None:
    """Also where more of a version could follow; people and planners read no version."""
    handle = Handle("name", "0f" * 16)

    assert handle_of(PINNED) == handle
    assert str(handle) == PINNED
    assert handles_within([{"id": f"x-{PINNED}abc"}], {"name"}) == (handle,)
    assert replace_handles(f"x-{PINNED}abc", {"name"}, lambda h: f"<{h.field}>") == "x-<name>abc"
    assert shown_without_version(f"id x-{PINNED}-3") == "id x-pii:name-3"
    assert as_written({"a": [PINNED, "b"], "n": 7}) == {"a": ["pii:name", "b"], "n": 7}


@pytest.mark.parametrize("text", ["pii:name@", "pii:name@0f", "pii:name@" + "0G" * 16])
def test_half_a_version_is_no_handle(text: str) -> None:
    """It would mean the current value, which is another one."""
    assert handle_of(text) is None


@pytest.mark.parametrize(("field", "value"), [("a b", "x"), ("", "x"), ("name", "")])
def test_what_no_vault_may_hold_is_refused(field: str, value: str) -> None:
    """A name that could not be written as a handle, and a value that is none."""
    with pytest.raises(UsageError):
        check_entry(field, value)
