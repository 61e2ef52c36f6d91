"""Arguments are made from schemas, and every tool that ships accepts what is made for it."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator import Catalog
from orchestrator.catalog.arguments import check_arguments
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.settings import bundled_specs
from orchestrator.testing import make_arguments, make_up_person

FOREIGN = Path(__file__).parents[2] / "documents" / "foreign"
CATALOG = Catalog.load(bundled_specs(), FOREIGN)


def one_tool(schema: dict[str, Any], **media: Any) -> Catalog:
    """A catalog of one tool whose body has this schema."""
    operation = {
        "operationId": "make_thing",
        "x-orchet-tool": True,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, **media}},
        },
        "responses": {"200": {"description": "made"}},
    }
    paths = {"/things": {"post": operation}}
    return Catalog.from_documents({"things": {"openapi": "3.1.0", "paths": paths}})  # type: ignore[dict-item]  # plain JSON


@pytest.mark.parametrize("name", sorted(CATALOG.tools))
def test_every_tool_accepts_what_is_made_for_it(name: str) -> None:
    """What is made is valid, and the same for the same seed."""
    tool = CATALOG.tool(name)

    made = make_arguments(CATALOG, tool, seed="1")

    filled = {**dict.fromkeys(tool.reference_inputs, "m.1-leg.1"), **made}
    assert check_arguments(CATALOG, tool, filled) == ()
    assert make_arguments(CATALOG, tool, seed="1") == made


def test_what_is_optional_is_left_out() -> None:
    """Only what is required is made, at every depth."""
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": inner, "b": {"type": "string"}},
    }
    catalog = one_tool(schema)

    assert make_arguments(catalog, catalog.tool("make_thing")) == {"a": {}}


def test_a_form_is_sent_no_object_without_members() -> None:
    """There is no way to write one, so that what is required would be missing."""
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    schema = {"type": "object", "required": ["a"], "properties": {"a": inner, "b": inner}}
    operation = {
        "operationId": "make_thing",
        "x-orchet-tool": True,
        "requestBody": {
            "required": True,
            "content": {"application/x-www-form-urlencoded": {"schema": schema}},
        },
        "responses": {"200": {"description": "made"}},
    }
    paths = {"/things": {"post": operation}}
    catalog = Catalog.from_documents({"things": {"openapi": "3.1.0", "paths": paths}})  # type: ignore[dict-item]  # plain JSON

    made = make_arguments(catalog, catalog.tool("make_thing"))

    assert list(made) == ["a"]
    assert list(made["a"]) == ["x"]  # type: ignore[arg-type]  # an object


def test_examples_come_first() -> None:
    """The example of a request, then that of a property, then what can be made up."""
    schema = {
        "type": "object",
        "required": ["city", "street"],
        "properties": {
            "city": {"type": "string", "example": "Rome"},
            "street": {"type": "string", "example": "Via Appia"},
        },
    }
    catalog = one_tool(schema, example={"city": "Porto"})

    made = make_arguments(catalog, catalog.tool("make_thing"))

    assert made == {"city": "Porto", "street": "Via Appia"}


def test_no_two_seeds_name_the_same_thing() -> None:
    """An id that the caller makes up, and that a cancel reads back, is another each time."""
    tool = CATALOG.tool("gym-join")

    made = [make_arguments(CATALOG, tool, seed=seed)["id"] for seed in "ab"]

    assert made[0] != made[1]


def test_what_nobody_can_make_up_is_named() -> None:
    """A schema that no value fits is refused with the input that needs an example."""
    schema = {
        "type": "object",
        "required": ["code"],
        "properties": {"code": {"type": "string", "pattern": "^a$", "minLength": 5}},
    }
    catalog = one_tool(schema)

    with pytest.raises(ArgumentsInvalid, match="'code': give it an example"):
        make_arguments(catalog, catalog.tool("make_thing"))


def test_a_person_is_made_up_for_every_personal_field() -> None:
    """The vault of a test holds each field that a tool may ask for, as its schema wants it."""
    person = make_up_person(CATALOG)

    assert {field for tool in CATALOG.tools.values() for field in tool.pii_fields} == set(person)
    assert len(person["memberNumber"]) >= 6


def test_a_last_day_is_made_after_the_first() -> None:
    """A stay that ends on the day on which it begins would be asked about, and not called."""
    day: dict[str, str] = {"type": "string", "format": "date"}
    properties = {
        "leaves": {**day, "description": "Last day"},
        "arrives": {**day, "description": "First day"},
    }
    schema = {"type": "object", "required": ["arrives", "leaves"], "properties": properties}
    catalog = one_tool(schema)

    made = make_arguments(catalog, catalog.tool("make_thing"))

    assert str(made["arrives"]) < str(made["leaves"])
