"""What requests and answers of each API say."""

from typing import Any

import pytest

from orchestrator.pruning.model_apis import api_named, api_of, api_of_tools
from orchestrator.pruning.model_request import Conversation

CHAT, RESPONSES, MESSAGES = map(api_named, ("chat", "responses", "messages"))
FUNCTION = {"type": "function", "function": {"name": "a"}}
CALLED = {"type": "function_call", "name": "a"}
USED = {"type": "tool_use", "name": "a"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "chat"),
        ("/openai/v1/responses", "responses"),
        ("/v1/messages/", "messages"),
        ("/v1/messages/batches", ""),
        ("/v1/responses/r1", ""),
        ("/v1/models", ""),
    ],
)
def test_a_path_tells_the_api(path: str, name: str) -> None:
    """By its end; requests to other paths are passed on untouched."""
    api = api_of(path)

    assert (api.name if api else "") == name


TURNS = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Plan my trip to Oslo"},
    {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "find_flights"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "[]"},
    {"role": "user", "content": [{"type": "text", "text": "and the weather?"}, {"type": "image"}]},
    {"role": "assistant", "tool_calls": [{"id": "2", "custom": {"name": "forecast"}}]},
    {"role": "tool", "tool_call_id": "2", "content": '{"error": "no such city"}'},
]


def test_a_chat_tells_its_last_request_its_goal_and_what_was_called() -> None:
    """The last first."""
    assert CHAT.conversation({"messages": TURNS}) == Conversation(
        request="and the weather?",
        goal="Plan my trip to Oslo",
        before="Plan my trip to Oslo",
        instructions="You help.",
        called=("forecast", "find_flights"),
        last_error='{"error": "no such city"}',
    )


def test_responses_tell_the_same_from_items() -> None:
    """And the id of the answer that they go on from."""
    items = [
        {"role": "user", "content": "Plan my trip to Oslo"},
        {"type": "function_call", "name": "find_flights", "call_id": "1", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "Error: timed out"},
    ]

    assert RESPONSES.conversation({"input": items, "previous_response_id": "r0"}) == Conversation(
        request="Plan my trip to Oslo",
        goal="Plan my trip to Oslo",
        called=("find_flights",),
        last_error="Error: timed out",
        follows="r0",
    )
    assert RESPONSES.conversation({"input": "Hello"}).request == "Hello"


def test_messages_tell_the_same_from_blocks() -> None:
    """A turn of results alone is none of the user's."""
    turns = [
        {"role": "user", "content": "Plan my trip to Oslo"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find_flights"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": True}],
        },
    ]

    assert MESSAGES.conversation({"messages": turns}) == Conversation(
        request="Plan my trip to Oslo",
        goal="Plan my trip to Oslo",
        called=("find_flights",),
        last_error="it failed",
    )


@pytest.mark.parametrize(
    ("api", "choice", "names"),
    [
        (CHAT, FUNCTION, {"a"}),
        (CHAT, {"type": "custom", "custom": {"name": "a"}}, {"a"}),
        (CHAT, {"type": "allowed_tools", "allowed_tools": {"tools": [FUNCTION]}}, {"a"}),
        (CHAT, "auto", set()),
        (RESPONSES, {"type": "function", "name": "a"}, {"a"}),
        (RESPONSES, {"type": "allowed_tools", "tools": [{"name": "a"}, {"type": "mcp"}]}, {"a"}),
        (MESSAGES, {"type": "tool", "name": "a"}, {"a"}),
        (MESSAGES, {"type": "any"}, set()),
    ],
)
def test_a_choice_names_tools(api: Any, choice: Any, names: set[str]) -> None:
    """They stay."""
    found = api.choice({"tool_choice": choice})

    assert (found.names, found.is_none) == (names, False)


def test_none_of_the_tools_may_be_called() -> None:
    """Then there is nothing to choose."""
    assert CHAT.choice({"function_call": "none"}).is_none
    assert MESSAGES.choice({"tool_choice": {"type": "none"}}).is_none
    assert all(api.choice({"tool_choice": "none"}).is_none for api in (CHAT, RESPONSES))


@pytest.mark.parametrize(
    ("api", "answer", "called"),
    [
        (CHAT, {"choices": [{"message": {"tool_calls": [{"function": {"name": "a"}}]}}]}, ["a"]),
        (CHAT, {"choices": [{"delta": {"tool_calls": [{"custom": {"name": "a"}}]}}]}, ["a"]),
        (RESPONSES, {"output": [CALLED]}, ["a"]),
        (RESPONSES, {"type": "response.output_item.added", "item": CALLED}, ["a"]),
        (MESSAGES, {"content": [USED, {"type": "text"}]}, ["a"]),
        (MESSAGES, {"type": "content_block_start", "content_block": USED}, ["a"]),
    ],
)
def test_an_answer_tells_what_it_calls(api: Any, answer: Any, called: list[str]) -> None:
    """Whole, or an event of its stream."""
    assert [name for name in api.calls(answer) if name] == called


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"name": "a", "input_schema": {}}, "messages"),
        (FUNCTION, "chat"),
        ({"type": "function", "name": "a"}, "responses"),
    ],
)
def test_the_form_of_a_tool_tells_the_api(tool: Any, name: str) -> None:
    """For callers who do not say it."""
    assert api_of_tools([tool]).name == name


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("value", [None, 1, "x", [1], [[]], {"a": 1}, [{"role": 1, "content": 2}]])
def test_nothing_that_is_said_otherwise_fails(api: Any, value: Any) -> None:
    """Requests are the callers', and may hold anything."""
    body = {"messages": value, "input": value, "tool_choice": value, "tools": value}

    answer = {"choices": value, "output": value, "content": value, "item": value, "delta": value}

    assert not api.choice(body).is_none
    assert not api.conversation(body).called
    assert not [name for name in api.calls(answer) if name]
    assert "".join(api.said(answer)) in ("", value)
