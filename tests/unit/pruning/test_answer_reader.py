"""What an answer calls is read while it passes; what is not replaced stays to the letter."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.json_spans import elements, members, replaced
from orchestrator.pruning.model_apis import api_named

CHAT = api_named("chat")
CALL: dict[str, Any] = {"choices": [{"delta": {"tool_calls": [{"function": {"name": "a"}}]}}]}
MORE: dict[str, Any] = {"choices": [{"delta": {"tool_calls": [{"function": {"name": None}}]}}]}
STREAM = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in (CALL, MORE)) + "data: [DONE]\n"


@given(st.lists(st.integers(1, 20)))
def test_a_stream_is_read_in_any_pieces(sizes: list[int]) -> None:
    """Network packets end anywhere."""
    reader, rest = AnswerReader(CHAT, is_stream=True), STREAM.encode()
    for size in sizes:
        reader.feed(rest[:size])
        rest = rest[size:]
    reader.feed(rest)
    reader.finish()

    assert reader.called == ["a"]


@pytest.mark.parametrize(
    ("coding", "packed", "called"),
    [
        ("identity", bytes, ["a"]),
        ("gzip", gzip.compress, ["a"]),
        ("br", bytes, []),
        ("gzip", bytes, []),
    ],
)
def test_a_content_coding_is_cancelled(coding: str, packed: Any, called: list[str]) -> None:
    """Of one that is not known, or that was not used, nothing is read and nothing fails."""
    reader = AnswerReader(CHAT, is_stream=True, coding=coding)
    reader.feed(packed(STREAM.encode()))
    reader.finish()

    assert reader.called == called


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ("I don't have a tool for that.", True),
        ("There is no function that books tables.", True),
        ("I'm unable to help without the right tools.", True),
        ("The best tool for this is a hammer.", False),
        ("No. The weather tool says that it rains.", False),
        ("", False),
    ],
)
def test_it_is_heard_that_a_tool_is_missing(said: str, lacks: bool) -> None:
    """Where none was called."""
    reader = AnswerReader(CHAT, is_stream=False)
    reader.feed(json.dumps({"choices": [{"message": {"content": said}}]}).encode())
    reader.finish()

    assert reader.misses_a_tool is lacks


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[1]", b"null", b'{"choices": 3}'])
def test_any_other_answer_tells_nothing(answer: bytes) -> None:
    """And is no failure of ours."""
    reader = AnswerReader(CHAT, is_stream=False)
    reader.feed(answer)
    reader.finish()

    assert not reader.called
    assert not reader.misses_a_tool


def test_an_answer_without_end_is_let_pass() -> None:
    """Nothing of it is kept."""
    reader = AnswerReader(CHAT, is_stream=True)
    for _ in range(60):
        reader.feed(b"x" * 100_000)
    reader.feed(f"\n{STREAM}".encode())

    assert not reader.called


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
