"""Which thing an answer is about, by the names that the contract has for it."""

from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.saga.answer_names import given_back, names_another

TEXT = {"type": "string", "maxLength": 200}


def _operation(name: str, inputs: dict[str, str], **more: Any) -> dict[str, Any]:
    """An operation with those inputs, each in the query, the path or the body."""
    fields = {n: TEXT for n, where in inputs.items() if where == "body"}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": fields}}}}
    placed = [
        {"name": n, "in": where, "required": where == "path", "schema": TEXT}
        for n, where in inputs.items()
        if where != "body"
    ]
    done = {"description": "done", "content": {"application/json": {"schema": {}}}}
    return {
        "operationId": name,
        "summary": f"{name}.",
        "x-orchet-tool": True,
        "parameters": placed,
        **({"requestBody": body} if fields else {}),
        "responses": {"200": done},
        **more,
    }


def lockers(
    cancel_path: str = "/cancel", cancel_input: str = "parcel_id", *, read: str = "parcel_id"
) -> Catalog:
    """A locker is reserved with a reference of ours, and let go by what its provider calls it."""
    book = {
        "x-orchet-cancels": "locker_release",
        "x-orchet-compensation-args": {cancel_input: f"$response.body#/{read}"},
        "x-orchet-compensation-probe": {
            "operationId": "locker_find",
            "args": {"client_reference": "$request.body#/client_reference"},
        },
    }
    where = "path" if "{" in cancel_path else "body"
    release = {"x-orchet-cancel-for": "locker_reserve"}
    inputs = {"client_reference": "body", "size": "body"}
    paths = {
        "/reserve": {"post": _operation("locker_reserve", inputs, **book)},
        cancel_path: {"post": _operation("locker_release", {cancel_input: where}, **release)},
        "/find": {"get": _operation("locker_find", {"client_reference": "query"})},
    }
    document: Any = {
        "openapi": "3.1.0",
        "info": {"title": "Lockers", "version": "1"},
        "servers": [{"url": "https://lockers.example"}],
        "paths": paths,
    }
    return Catalog.from_documents({"lockers": document})


@pytest.mark.parametrize(
    ("body", "another"),
    [
        ({"parcel_id": "p1", "client_reference": "m.1-leg.1"}, None),
        ({"parcel_id": "p1"}, None),
        ({"parcel_id": "p1", "client_reference": None}, None),
        ({"parcel_id": "p1", "client_reference": "m.2-leg.1"}, "client_reference"),
        ({"parcel": {"parcel_id": "p1", "client_reference": "theirs"}}, "client_reference"),
        ({"parcel_id": "p1", "beside": [{"client_reference": "theirs"}]}, None),
        ([{"client_reference": "theirs"}], "client_reference"),
        ([{"client_reference": "theirs"}, {"client_reference": "m.1-leg.1"}], None),
        ({"client_reference": {"mine": 1}}, None),
        ("text", None),
    ],
)
def test_a_call_is_about_the_reference_it_was_sent(body: JsonValue, another: str | None) -> None:
    """What an answer calls by that name; what it lists beside is not what it is about."""
    known = lockers()
    given = given_back(known, known.tool("locker_reserve"))

    assert given == {"client_reference": "client_reference"}
    assert names_another(given, {"client_reference": "m.1-leg.1", "size": "S"}, body) == another


def test_what_is_compared_with_nothing() -> None:
    """The provider's own name, which the contract reads of the answer, and what a search finds."""
    known, own = lockers(), lockers(read="client_reference")

    assert given_back(own, own.tool("locker_reserve")) == {}
    assert given_back(known, known.tool("locker_find")) == {}


@pytest.mark.parametrize(
    ("path", "name", "body", "another"),
    [
        ("/cancel", "parcel_id", {"state": "released", "parcel_id": "p1"}, None),
        ("/cancel", "parcel_id", {"state": "released"}, None),
        ("/cancel", "parcel_id", {"state": "released", "parcel_id": "p2"}, "parcel_id"),
        ("/cancel", "parcel_id", {"parcel_id": "p1", "still": [{"parcel_id": "p2"}]}, None),
        ("/parcels/{id}", "id", {"id": "p2"}, "id"),
        ("/parcels/{id}/refund", "id", {"id": "refund-7"}, None),
        ("/parcels/{parcel_id}/refund", "parcel_id", {"parcel_id": "p2"}, "parcel_id"),
        ("/parcels/{parcelId}/refund", "parcelId", {"parcelId": "p2"}, "parcelId"),
    ],
)
def test_a_cancel_is_about_its_thing(
    path: str, name: str, body: JsonValue, another: str | None
) -> None:
    """A path that goes on may answer with a thing of its own, which has an id as well."""
    known = lockers(path, name)
    given = given_back(known, known.tool("locker_release"))

    assert names_another(given, {name: "p1"}, body) == another
