"""The choice among found things that a person is asked for."""

from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.thing_choices import choice_of_one


def found(booking_id: str, hotel: str) -> Item:
    """A booking of a hotel."""
    fields: JsonObject = {"booking_id": booking_id, "hotel": hotel}
    return Item(fields=fields, own=frozenset(fields))


def test_what_reads_alike_is_told_apart_by_its_id() -> None:
    """Where words tell two apart, no id is shown."""
    schema: JsonObject = {"type": "string"}
    wanted = Parameter("booking_id", schema, schema, True, ("booking", "id"), Kind.IDENTIFIER)
    same, again, other = found("b1", "Lodge"), found("b2", "Lodge"), found("b3", "Ritz")

    (asked,) = choice_of_one([wanted], [same, again, other])

    options = asked.schema["oneOf"]
    assert isinstance(options, list)
    assert [o["title"] for o in options if isinstance(o, dict)] == [
        "Lodge (b1)",
        "Lodge (b2)",
        "Ritz",
    ]
