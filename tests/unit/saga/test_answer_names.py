"""Which thing an answer is about, by the names that the contract has for it."""

import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.saga.answer_names import given_back, names_another
from tests.unit.saga.test_follow_ups import catalog_of, operation


def lockers(
    cancel_path: str = "/cancel", cancel_input: str = "parcel_id", *, read: str = "parcel_id"
) -> Catalog:
    """A locker is reserved with a reference of ours, and let go by what its provider calls it."""
    given, body = ((cancel_input,), ()) if "{" in cancel_path else ((), (cancel_input,))
    probe = {"client_reference": "$request.body#/client_reference"}
    reserve = operation(
        "locker_reserve",
        body=("client_reference", "size"),
        cancels="locker_release",
        compensation_args={cancel_input: f"$response.body#/{read}"},
        compensation_probe={"operationId": "locker_find", "args": probe},
    )
    release = operation("locker_release", *given, body=body, cancel_for="locker_reserve")
    find = operation("locker_find", query=("client_reference",))
    paths = {"/reserve": {"post": reserve}, cancel_path: {"post": release}, "/find": {"get": find}}
    return catalog_of(**paths)


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
