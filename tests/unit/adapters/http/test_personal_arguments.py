"""Personal values are pinned when a call is prepared, and revealed when it is sent."""

import time

import pytest

from orchestrator.adapters.http.personal_arguments import (
    pin_arguments,
    read_values,
    reveal_arguments,
)
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid, PiiMissing, StoreUnavailable
from orchestrator.core.pii import Handle
from orchestrator.core.record import JsonObject
from tests.fakes import MemoryPii, MemorySecrets, fake_tool
from tests.unit.adapters.http.one_operation import answering, called, catalog_of


def test_a_later_value_is_not_sent_for_an_earlier_one() -> None:
    """The owner's and the mission's alike; a handle without a version means the current one.

    Prepared again, after an amendment or a second asking, it means whom it meant before.
    """
    vault = MemoryPii({"name": "Ada"})
    ada = vault.current("name")
    assert ada is not None
    vault.put("name", "Grace")
    own = vault.brought("m", {"name": "Alice"})["name"]
    vault.brought("m", {"name": "Bob"})
    sent = read_values("book", [ada, own, Handle("name")], vault, mission_id="m")
    again = pin_arguments({"who": str(ada)}, [ada], vault, mission_id="m", brought=[own])

    assert sent == {ada: "Ada", own: "Alice", Handle("name"): "Grace"}
    assert again.arguments == {"who": str(ada)}


def test_what_cannot_be_sent_says_why() -> None:
    """Never stored, gone, or another mission's."""
    vault = MemoryPii()
    foreign = vault.brought("other", {"name": "Bob"})["name"]
    with pytest.raises(PiiMissing, match="orchestrator pii NAME"):
        read_values("book", [Handle("name")], vault, mission_id="m")
    with pytest.raises(PiiMissing, match="no longer holds"):
        read_values("book", [Handle("name", "0" * 32)], vault, mission_id="m")
    for mission_id in ("m", ""):
        with pytest.raises(ArgumentsInvalid, match="another mission"):
            read_values("book", [foreign], vault, mission_id=mission_id)


NUMBER: JsonObject = {"type": "integer"}


def taking(schema: JsonObject) -> Tool:
    """A tool with one input, and definitions."""
    person: JsonObject = {"type": "object", "properties": {"pin": NUMBER}}
    definitions: JsonObject = {"Pin": NUMBER, "A/b": NUMBER, "Person": person}
    inputs: JsonObject = {"type": "object", "properties": {"pin": schema}, "$defs": definitions}
    return fake_tool("call", input_schema=inputs)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NUMBER, 1984),
        ({"type": "string"}, "1984"),
        ({}, "1984"),
        ({"$ref": "#/$defs/Pin"}, 1984),
        ({"$ref": "#/$defs/A~1b"}, 1984),
        ({"allOf": [{"$ref": "#/$defs/Pin"}], "minimum": 1}, 1984),
        ({"anyOf": [NUMBER, {"type": "null"}]}, 1984),
        ({"anyOf": [NUMBER, {"type": "string"}]}, "1984"),
    ],
)
def test_a_handle_becomes_a_value_of_the_type_that_is_asked_for(
    schema: JsonObject, value: int | str
) -> None:
    """Through references and compositions too; text, where text is taken."""
    revealed = reveal_arguments(taking(schema), {"pin": "pii:pin"}, {Handle("pin"): "1984"})

    assert revealed == {"pin": value}


def test_handles_inside_of_objects_and_lists_are_revealed() -> None:
    """Each by the schema of its own property; what is no handle stays."""
    tool = taking({"type": "array", "items": {"$ref": "#/$defs/Person"}})
    people: JsonObject = {"pin": [{"pin": "pii:pin", "name": "Ada"}, {"note": "is pii:pin"}]}
    revealed = reveal_arguments(tool, people, {Handle("pin"): "1984"})

    assert revealed == {"pin": [{"pin": 1984, "name": "Ada"}, {"note": "is 1984"}]}


async def test_a_slow_vault_lets_nothing_leave_after_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time that reading its values takes is a part of the call's time."""
    vault = MemoryPii({"name": "Ada"})
    find = vault.current

    def current(field: str) -> Handle | None:
        time.sleep(0.3)
        return find(field)

    monkeypatch.setattr(vault, "current", current)
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": schema}}}
    catalog = catalog_of({"x-orchet-pii-required": ["name"], "requestBody": body}, method="post")
    http = answering()  # it would fail any request

    async with ToolClient(secrets=MemorySecrets({}), pii=vault, http=http) as tools:
        with pytest.raises(StoreUnavailable):
            await called(tools, catalog, arguments={"name": "pii:name"}, timeout_s=0.2)
