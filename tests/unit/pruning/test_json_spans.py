"""What is not replaced stays to the letter."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pruning.json_spans import elements, members, replaced

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=5), st.sampled_from([None, 2]))
def test_spans_hold_what_they_tell(document: dict[str, Any], indent: int | None) -> None:
    """However it is written."""
    text = f" {json.dumps(document, indent=indent)}\n"

    found = members(text)

    assert {one.name: one.span.value for one in found} == document
    for one in found:
        assert json.loads(text[one.span.start : one.span.end]) == one.span.value
        if isinstance(one.span.value, list):
            assert [e.value for e in elements(text, one.span)] == one.span.value


def test_only_what_is_replaced_changes() -> None:
    """Digits, escapes and names that stand twice are as they came."""
    text = '{"a": 1.0e2, "tools" : [ {"x": "\\ud83d"}, 2 ], "a":\t-0.0}'
    tools = members(text)[1].span

    assert replaced(text, {(tools.start, tools.end): "[2]"}) == (
        '{"a": 1.0e2, "tools" : [2], "a":\t-0.0}'
    )


@pytest.mark.parametrize(
    "text", ["", "{", '{"a":1,}', "[1]", '{"a":1} x', '{"a" 1}', "{1:2}", '{"a":tru}', "null"]
)
def test_anything_but_an_object_is_refused(text: str) -> None:
    """With the place."""
    with pytest.raises(ValueError, match=r"char|Expecting|value"):
        members(text)
