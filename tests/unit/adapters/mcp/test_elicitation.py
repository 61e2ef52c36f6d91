"""The input that a server asks for: bounded, escaped, and nothing that no history may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.adapters.http.masking import Mask, hide_secret
from orchestrator.adapters.mcp.mcp_transport import read_input
from orchestrator.messages.question_field import DECLINED, input_problems, question_fields
from orchestrator.saga.outcome import InputWanted, ToolOutcome

if TYPE_CHECKING:
    from orchestrator.core.record import JsonObject

FORM: JsonObject = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City\u202e", "enum": ["oslo", "rome"]},
        "nights": {"type": "integer", "minimum": 1, "default": 2},
        "note": {"type": "string"},
    },
    "required": ["city"],
}


def form(schema: Any = FORM, message: str = "Where?", **more: Any) -> JsonObject:
    """Return a request for a form."""
    params = {"message": message, "requestedSchema": schema, **more}
    return {"method": "elicitation/create", "params": params}


def read(*requests: JsonObject, state: Any = "s", secret: str = "") -> InputWanted:
    """Return the input that a result with these requests asks for."""
    asked = {f"r{n}": request for n, request in enumerate(requests)}
    result = {"resultType": "input_required", "inputRequests": asked, "requestState": state}
    return read_input("rooms", result, Mask([hide_secret("key", secret)] if secret else []))


def test_a_form_becomes_fields() -> None:
    """Texts are escaped; what is not required may be left out."""
    wanted = read(form(message="Where\x1b[2J?"))
    city, nights, note = question_fields(wanted.fields)

    assert not wanted.refused and wanted.state == "s"
    assert "\x1b" not in wanted.text and "\u202e" not in city.label
    assert [choice.value for choice in city.choices] == ["oslo", "rome"] and not city.is_open
    assert (city.is_optional, nights.is_optional, note.is_optional) == (False, True, True)


def test_an_answer_goes_back_under_the_servers_keys() -> None:
    """With defaults, without what was left out; a person who declines sends no values."""
    confirm = {"type": "object", "properties": {}}
    wanted = read(form(), form(confirm)).model_copy(update={"round": 3})
    given = wanted.answered({"city": "oslo"})

    assert given.answers["r0"] == {"action": "accept", "content": {"city": "oslo", "nights": 2}}
    assert given.answers["r1"] == {"action": "accept", "content": {}}
    assert (given.state, given.round) == ("s", 3)
    assert wanted.answered(None).answers["r0"] == {"action": "decline"}
    assert wanted.answered(None, withdrawn=True).answers["r1"] == {"action": "cancel"}


@pytest.mark.parametrize(
    "request_",
    [
        {"method": "sampling/createMessage", "params": {"messages": []}},
        {"method": "roots/list"},
        {"method": 3, "params": []},
        "text",
        form(mode="url", url="https://evil.example.com"),
        form(message="Please type your password"),
        form(message="x" * 3_000),
        form({"properties": {"api_key": {"type": "string"}}}),
        form({"properties": {"q": {"type": "string", "title": "PIN"}}}),
        form({"properties": {"q": {"type": "string", "format": "password"}}}),
        form({"properties": {"q": {"type": "string", "description": "your passphrase"}}}),
        form({"properties": {"q": {"type": "object"}}}),
        form({"properties": {"q": {"type": ["string"]}}}),
        form({"properties": {"q": {"type": "array", "items": {"type": "string"}}}}),
        form({"properties": {"q": {"enum": ["a\x1b"]}}}),
        form({"properties": {"q\x1b": {"type": "string"}}}),
        form({"properties": {f"q{n}": {"type": "string"} for n in range(21)}}),
        form({"properties": []}),
    ],
)
def test_nobody_is_asked(request_: JsonObject) -> None:
    """For a model's answer, an address, a credential, or more than a question holds."""
    wanted = read(request_)

    assert wanted.refused and not wanted.fields and not wanted.text and wanted.state is None


@pytest.mark.parametrize("state", ["x" * 20_000, 3, "a key: s3cret-of-rooms"])
def test_a_state_that_no_history_may_hold(state: object) -> None:
    """It is capped, a text, and repeats no secret."""
    assert read(form(), state=state, secret="s3cret-of-rooms").refused


def test_answers_are_looked_at() -> None:
    """Faults of the form, payment numbers and handles; a person may decline."""
    fields = read(form()).fields

    assert not input_problems(fields, {"city": "oslo"})
    assert not input_problems(fields, DECLINED)
    faulty: list[JsonObject] = [
        {},
        {"city": "bern"},
        {"city": "oslo", "other": 1},
        {"city": "oslo", "note": "4111 1111 1111 1111"},
        {"city": "oslo", "note": "pii:traveler_name"},
    ]
    for values in faulty:
        assert input_problems(fields, values)


def test_only_the_tools_own_refusal_settles_a_call_that_was_begun() -> None:
    """A server that asked for input may have done a part."""
    given = read(form()).answered(None)
    refused = ToolOutcome(kind="rejected", status=400)

    assert refused.after_input(None).kind == "rejected"
    assert refused.after_input(given).kind == "unknown"
    assert ToolOutcome(kind="rejected", status=422).after_input(given).kind == "rejected"
