"""Arguments made from schemas: every shipped tool accepts them."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator import Catalog
from orchestrator.catalog.arguments import check_arguments
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.settings import bundled_specs
from orchestrator.testing import make_arguments, make_up_person

PART = {"type": "string"}
FOREIGN = Path(__file__).parents[2] / "documents" / "foreign"


@pytest.fixture(scope="module")
def documents() -> Catalog:
    return Catalog.load(bundled_specs(), FOREIGN)


def one_tool(schema: dict[str, Any], kind: str = "application/json", **media: Any) -> Catalog:
    operation = {
        "operationId": "make_thing",
        "x-orchet-tool": True,
        "requestBody": {"required": True, "content": {kind: {"schema": schema, **media}}},
        "responses": {"200": {"description": "made"}},
    }
    document: Any = {"openapi": "3.1.0", "paths": {"/things": {"post": operation}}}
    return Catalog.from_documents({"things": document})


def object_of(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": properties}


def test_every_tool_accepts_its_made_arguments(documents: Catalog) -> None:
    for tool in documents.tools.values():
        made = make_arguments(documents, tool, seed="1")

        filled = {**dict.fromkeys(tool.reference_inputs, "m.1-leg.1"), **made}
        assert check_arguments(documents, tool, filled) == (), tool.name
        assert make_arguments(documents, tool, seed="1") == made, tool.name


def test_optional_inputs_are_left_out() -> None:
    """A form cannot express an empty object; what cannot be made is named."""
    catalog = one_tool(object_of("a", a=object_of(x=PART), b=PART))

    assert make_arguments(catalog, catalog.tool("make_thing")) == {"a": {}}
    catalog = one_tool(object_of("code", code={**PART, "pattern": "^a$", "minLength": 5}))
    with pytest.raises(ArgumentsInvalid, match="'code': give it an example"):
        make_arguments(catalog, catalog.tool("make_thing"))
    inner = object_of(x=PART)
    catalog = one_tool(object_of("a", a=inner, b=inner), "application/x-www-form-urlencoded")
    made: Any = make_arguments(catalog, catalog.tool("make_thing"))
    assert (list(made), list(made["a"])) == (["a"], ["x"])


def test_examples_come_first() -> None:
    """That of the request before that of a property; a last day is after the first."""
    city, street = ({**PART, "example": one} for one in ("Rome", "Via Appia"))
    schema = object_of("city", "street", city=city, street=street)
    catalog = one_tool(schema, example={"city": "Porto"})
    made = make_arguments(catalog, catalog.tool("make_thing"))

    assert made == {"city": "Porto", "street": "Via Appia"}
    day = {**PART, "format": "date"}
    leaves, arrives = ({**day, "description": one} for one in ("Last day", "First day"))
    catalog = one_tool(object_of("arrives", "leaves", leaves=leaves, arrives=arrives))
    made = make_arguments(catalog, catalog.tool("make_thing"))
    assert str(made["arrives"]) < str(made["leaves"])


def test_different_seeds_give_different_ids(documents: Catalog) -> None:
    """An id that the caller chooses and a cancel reads differs between calls."""
    tool = documents.tool("gym-join")
    made = [make_arguments(documents, tool, seed=seed)["id"] for seed in "ab"]

    assert made[0] != made[1]


def test_a_person_is_made_up_for_every_personal_field(documents: Catalog) -> None:
    """The vault of a test has a valid value for each personal field."""
    person = make_up_person(documents)

    assert {field for tool in documents.tools.values() for field in tool.pii_fields} == set(person)
    assert len(person["memberNumber"]) >= 6


INTEGER = {"type": "integer"}
BODIES: dict[str, dict[str, Any]] = {
    "$request.body#/number": object_of(number=PART),
    "$request.body#/order/number": object_of(order=object_of(number=INTEGER), amount=INTEGER),
    "$request.body#/0/id": {
        "type": "array",
        "items": object_of("id", id=PART),
        "example": [{"id": "always-the-same"}],
    },
}


def cancelled_by(reading: str) -> Catalog:
    content = {"application/json": {"schema": BODIES[reading]}}
    create = {
        "operationId": "make",
        "x-orchet-tool": True,
        "x-orchet-cancels": "drop",
        "x-orchet-compensation-args": {"key": reading},
        "requestBody": {"required": True, "content": content},
        "responses": {"200": {"description": "made"}},
    }
    key = {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
    drop = {
        "operationId": "drop",
        "x-orchet-tool": True,
        "x-orchet-cancel-for": "make",
        "x-orchet-requires-confirmation": False,
        "parameters": [key],
        "responses": {"204": {"description": "gone"}},
    }
    paths = {"/things": {"post": create}, "/things/{key}": {"delete": drop}}
    document: Any = {"openapi": "3.1.0", "paths": paths}
    return Catalog.from_documents({"things": document})


def read_back(reading: str, made: Any) -> Any:
    steps = reading.partition("#/")[2].split("/")
    found = made.get("body", made)
    for step in steps:
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


@pytest.mark.parametrize("reading", BODIES)
def test_inputs_of_a_cancel_differ_between_calls(reading: str) -> None:
    """They are made though they are optional, nested, or in an item of a list."""
    tools = cancelled_by(reading)
    made = [make_arguments(tools, tools.tool("make"), seed=str(seed)) for seed in range(3)]

    assert len({read_back(reading, arguments) for arguments in made}) == 3


@pytest.mark.parametrize(
    ("required", "wanted"), [(["name"], 3), ([], 0)], ids=["chosen", "left to the provider"]
)
def test_a_chosen_name_differs_between_calls(required: list[str], wanted: int) -> None:
    """A provider makes one thing of each name; an optional name is not chosen for it."""
    reading = "$request.body#/number"
    document = dict(cancelled_by(reading).documents["things"])
    make: Any = document["paths"]["/things"]["post"]  # type: ignore[index, call-overload]
    schema = object_of(*required, name={**PART, "example": "always-the-same"})
    content = {"application/json": {"schema": schema}}
    make["requestBody"]["content"] = content
    make["responses"]["200"]["content"] = content
    make["x-orchet-compensation-args"] = {"key": "$response.body#/name"}
    tools = Catalog.from_documents({"things": document})
    made = [make_arguments(tools, tools.tool("make"), seed=str(seed)) for seed in range(3)]

    assert len({arguments["name"] for arguments in made if "name" in arguments}) == wanted
