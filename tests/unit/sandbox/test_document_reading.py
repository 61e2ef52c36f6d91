"""Third-party documents: defective operations are left out, the rest works and is remembered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from orchestrator.sandbox.app import memory_of
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.served_schemas import SchemaBook

Opener = Callable[..., Any]

TICKET = {
    "type": "object",
    "required": ["id", "subject"],
    "properties": {
        "id": {"type": "string", "readOnly": True},
        "subject": {"type": "string"},
        "secret": {"type": "string", "writeOnly": True},
        "state": {"type": "string", "format": "made-by-us"},
    },
}
SAID = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ticket"}}}}
ANSWER = {"200": {"description": "one", **SAID}}
KEY = {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
ALL = {"type": "array", "items": {"$ref": "#/components/schemas/Ticket"}}
LISTED = {"description": "all", "content": {"application/json": {"schema": ALL}}}
DONE = {"204": {"description": "done"}}


def desk(**paths: Any) -> dict[str, Any]:
    """Return a help desk with more paths in addition to its own."""
    own = {
        "/tickets": {
            "get": {"operationId": "tickets/list", "responses": {"200": LISTED}},
            "post": {"operationId": "tickets/open", "requestBody": SAID, "responses": ANSWER},
        },
        "/tickets/{key}": {
            "parameters": [KEY],
            "get": {"responses": ANSWER},
            "put": {"operationId": "tickets/change", "requestBody": SAID, "responses": ANSWER},
            "delete": {"operationId": "tickets/drop", "responses": DONE},
        },
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Desk", "version": "1", "x-logo": {"$ref": "nowhere.png"}},
        "tags": [{"name": "tickets", "description": None}],
        "paths": {**own, **paths},
        "components": {"schemas": {"Ticket": TICKET}},
    }


@pytest.mark.parametrize(
    ("operation", "pointer", "reason"),
    [
        ({"parameters": [{"$ref": "#/components/parameters/x"}]}, "/parameters/0/$ref", "nothing"),
        ({"parameters": [{"in": "query"}]}, "/parameters/0", "no parameter"),
        ({"requestBody": {"$ref": "other.yaml#/b"}}, "/requestBody/$ref", "leaves the document"),
        (
            {"responses": {"200": {"content": {"a/json": {"schema": {"properties": []}}}}}},
            "/responses/200/content/a~1json/schema/properties",
            "no object",
        ),
    ],
)
def test_one_bad_operation_costs_one_operation(
    operation: dict[str, Any], pointer: str, reason: str
) -> None:
    """The operation is left out with its place, reason and remedy; the rest is served."""
    document = read_document("desk", desk(**{"/bad": {"post": {"responses": {}, **operation}}}))

    (skipped,) = document.skipped
    assert skipped.pointer == f"/paths/~1bad/post{pointer}"
    assert reason in skipped.reason
    assert skipped.remedy
    assert len(document.operations) == 5


def test_flaws_that_no_call_meets_cost_nothing() -> None:
    """A null description of a tag, a reference in an extension and a custom format are accepted."""
    assert read_document("desk", desk()).skipped == ()


def test_the_memory_lists_operations_by_kind_and_action() -> None:
    """Operations are listed by kind of resource and by action."""
    (kind,) = memory_of(read_document("desk", desk()), "/desk").kinds

    assert kind.thing == "tickets"
    assert kind.operations == {
        "create": ["tickets/open"],
        "list": ["tickets/list"],
        "read": ["get_tickets_key"],
        "change": ["tickets/change"],
        "delete": ["tickets/drop"],
    }


async def test_a_resource_is_made_listed_read_changed_and_deleted(open_app: Opener) -> None:
    """The document needs no `x-orchet-` keyword, and its path may name the id in any way."""
    async with open_app(documents={"desk": desk()}) as http:
        made = (await http.post("/desk/tickets", json={"subject": "Lamp"})).json()
        changed = await http.put(f"/desk/tickets/{made['id']}", json={"subject": "Heater"})
        read = (await http.get(f"/desk/tickets/{made['id']}")).json()
        listed = (await http.get("/desk/tickets")).json()
        ended = await http.delete(f"/desk/tickets/{made['id']}")
        gone = await http.get(f"/desk/tickets/{made['id']}")
        never = await http.get("/desk/tickets/unheard-of")

    assert changed.status_code == 200
    assert read["subject"] == "Heater"
    assert [ticket["id"] for ticket in listed] == [made["id"]]
    assert "secret" not in read
    assert [ended.status_code, gone.status_code, never.status_code] == [204, 404, 404]


async def test_properties_that_are_taken_from_elsewhere_are_read(open_app: Opener) -> None:
    """Documents of many files write them so: twice in one schema, and in a circle."""
    parts = {
        "named": {"name": {"type": "string", "minLength": 1}},
        "sized": {"size": {"type": "integer"}, "inner": {"properties": {"$ref": "#/x-p/sized"}}},
        "lost": {"type": "object", "properties": {"$ref": "#/x-p/nowhere"}},
    }
    both = [{"properties": {"$ref": f"#/x-p/{name}"}} for name in ("named", "sized")]
    boxes = {"type": "object", "required": ["name", "size"], "allOf": both}
    told = {"200": {"content": {"application/json": {"schema": boxes}}}}
    lost = {"200": {"content": {"application/json": {"schema": {"$ref": "#/x-p/lost"}}}}}
    paths = {"/box": {"get": {"responses": told}}, "/lost": {"get": {"responses": lost}}}
    document = {**desk(**paths), "x-p": parts}

    async with open_app(documents={"desk": document}) as http:
        found = (await http.get("/desk/box")).json()

    assert isinstance(found["name"], str)
    assert isinstance(found["size"], int)
    assert [o.operation for o in read_document("desk", document).skipped] == ["GET /lost"]


async def test_a_discriminator_is_what_the_alternatives_say_themselves(open_app: Opener) -> None:
    """Their names stand for values only if they declare none."""
    named = {
        name: {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"enum": [name.lower()]}},
        }
        for name in ("OpenState", "ShutState")
    }
    branches = [{"$ref": f"#/components/schemas/{name}"} for name in named]
    state = {"oneOf": branches, "discriminator": {"propertyName": "kind"}}
    told = {"type": "object", "required": ["state"], "properties": {"state": state}}
    answer = {"200": {"content": {"application/json": {"schema": told}}}}
    document = desk(**{"/door": {"get": {"responses": answer}}})
    document["components"]["schemas"] |= named

    async with open_app(documents={"desk": document}) as http:
        found = (await http.get("/desk/door")).json()

    assert found["state"]["kind"] in ("openstate", "shutstate")


async def test_an_id_is_one_that_the_paths_take(open_app: Opener) -> None:
    """The answer says less about the id, but a validated cancel needs a valid one."""
    document = desk()
    format_of_key = {**KEY, "schema": {"type": "string", "format": "uuid"}}
    document["paths"]["/tickets/{key}"]["parameters"] = [format_of_key]

    async with open_app(documents={"desk": document}) as http:
        made = (await http.post("/desk/tickets", json={"subject": "Lamp"})).json()
        ended = await http.delete(f"/desk/tickets/{made['id']}")

    assert str(UUID(made["id"])) == made["id"]
    assert ended.status_code == 204


async def test_a_property_with_parts_is_not_an_id(open_app: Opener) -> None:
    """A property named like the path's parameter may be the resource with the id in it."""
    parts = {"ip": {"type": "string", "format": "ipv4"}, "locked": {"type": "boolean"}}
    address = {"type": "object", "required": list(parts), "properties": parts}
    told = {"type": "object", "properties": {"fixed_ip": address}, "required": ["fixed_ip"]}
    answer = {"content": {"application/json": {"schema": told}}}
    key = {**KEY, "name": "fixed_ip"}
    paths = {
        "/fixed_ips": {"post": {"responses": {"202": answer}}},
        "/fixed_ips/{fixed_ip}": {
            "parameters": [key],
            "get": {"responses": {"200": answer}},
            "delete": {"responses": DONE},
        },
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = (await http.post("/desk/fixed_ips")).json()["fixed_ip"]
        read = (await http.get(f"/desk/fixed_ips/{made['ip']}")).json()
        ended = await http.delete(f"/desk/fixed_ips/{made['ip']}")
        gone = await http.get(f"/desk/fixed_ips/{made['ip']}")

    assert read["fixed_ip"] == made
    assert [ended.status_code, gone.status_code] == [204, 404]


async def test_operations_of_one_path_are_distinguished(open_app: Opener) -> None:
    """The query in the path distinguishes them, or else the request body."""

    def taking(name: str, answers: str) -> dict[str, Any]:
        schema = {"type": "object", "required": [name], "additionalProperties": False}
        body = {**schema, "properties": {name: {"type": "string"}}}
        told = {"type": "object", "required": ["was"], "properties": {"was": {"enum": [answers]}}}
        return {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": body}}},
                "responses": {"200": {"content": {"application/json": {"schema": told}}}},
            }
        }

    paths = {
        "/send": taking("plain", "plain"),
        "/send#link": taking("link", "link"),
        "/send?beta=true": taking("plain", "beta"),
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        asked = [("", "plain"), ("", "link"), ("?beta=true", "plain")]
        told = [
            (await http.post(f"/desk/send{query}", json={name: "x"})).json()["was"]
            for query, name in asked
        ]

    assert told == ["plain", "link", "beta"]


@pytest.mark.parametrize(
    ("kind", "schema", "begins"),
    [
        ("text/plain", {"type": "string"}, "The sandbox"),
        ("application/pdf", {"type": "string", "format": "binary"}, "%PDF-"),
        ("application/vnd.desk+json", {"type": "boolean"}, ""),
        ("application/json", {"type": "array", "items": {"type": "string"}}, "["),
    ],
)
async def test_an_answer_has_the_type_that_is_declared(
    open_app: Opener, kind: str, schema: dict[str, Any], begins: str
) -> None:
    """Text, bytes, JSON of their own kind, and JSON that is no object."""
    answer = {"200": {"description": "it", "content": {kind: {"schema": schema}}}}
    documents = {"desk": desk(**{"/it": {"get": {"responses": answer}}})}
    async with open_app(documents=documents) as http:
        got = await http.get("/desk/it")

    assert got.headers["content-type"] == kind
    assert got.text.startswith(begins)
    if "json" in kind:
        assert SchemaBook(documents["desk"]).is_valid(schema, got.json())


async def test_a_name_by_which_one_kind_is_found_is_free_for_others(open_app: Opener) -> None:
    """Queues are found by their name; that says nothing of the name of a ticket."""
    queue = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    said = {"content": {"application/json": {"schema": queue}}}
    name = {**KEY, "name": "name"}
    one = {"200": {"description": "one", **said}}
    paths = {
        "/queues": {"post": {"requestBody": said, "responses": {"201": one["200"]}}},
        "/queues/{name}": {"parameters": [name], "get": {"responses": one}},
        "/people": {"post": {"requestBody": said, "responses": one}},
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = await http.post("/desk/queues", json={"name": "late"})
        found = await http.get("/desk/queues/late")
        other = await http.post("/desk/people", json={"name": "Ada"})

    assert [made.status_code, found.status_code, other.status_code] == [201, 200, 200]


async def test_an_id_that_the_document_shows_exists(open_app: Opener) -> None:
    """Requests may name an id from an example; an unknown id is refused."""
    named = {"type": "string", "example": "cus_7f31"}
    customer = {"type": "object", "properties": {"customer_id": named, "name": {"type": "string"}}}
    listed = {"type": "array", "items": customer}
    found = {"description": "all", "content": {"application/json": {"schema": listed}}}
    ordered = {"type": "object", "properties": {"customer_id": named}, "required": ["customer_id"]}
    order = {"content": {"application/json": {"schema": ordered}}}
    paths = {
        "/customers": {"get": {"operationId": "customers/find", "responses": {"200": found}}},
        "/orders": {
            "post": {"operationId": "orders/place", "requestBody": order, "responses": ANSWER}
        },
    }
    async with open_app(documents={"desk": desk(**paths)}) as client:
        placed = [
            (await client.post("/desk/orders", json={"customer_id": given})).status_code
            for given in ("cus_7f31", "cus_0000")
        ]

    assert placed == [200, 404]


KENNEL = Path(__file__).parents[2] / "documents" / "kennel.yaml"


async def test_a_state_of_any_name_and_case_says_what_became_of_a_thing(
    open_app: Opener,
) -> None:
    """A new resource is live; a cancelled one stays listed with its state."""
    document = read_document("kennel", yaml.safe_load(KENNEL.read_text(encoding="utf-8")))
    stay = {"arrives": "2027-03-03", "leaves": "2027-03-06"}
    async with open_app(documents={"kennel": document}) as client:
        pets = (await client.get("/api/pets")).json()["pets"]
        made = await client.post("/api/stays", json={"petId": pets[0]["petId"], **stay})
        stay_id = made.json()["stay"]["stayId"]
        ended = await client.delete(f"/api/stays/{stay_id}")
        listed = (await client.get("/api/stays")).json()["stays"]

    assert made.json()["stay"]["state"] == "BOOKED"
    assert ended.json()["stay"]["stayId"] == stay_id
    assert [one["state"] for one in listed] == ["WITHDRAWN"]
    assert "error" not in made.json() | ended.json()


async def test_a_probe_says_which_state_means_gone(open_app: Opener) -> None:
    """The language of the states does not matter."""
    written = yaml.safe_load(KENNEL.read_text(encoding="utf-8"))
    written["components"]["schemas"]["Stay"]["properties"]["state"]["enum"] = ["weg", "da"]
    written["paths"]["/stays"]["post"]["x-orchet-compensation-probe"] = {
        "operationId": "listStays",
        "gone-when": "$response.body#/stays/0/state == 'weg'",
    }
    document = read_document("kennel", written)
    stay = {"arrives": "2027-03-03", "leaves": "2027-03-06"}
    async with open_app(documents={"kennel": document}) as client:
        pets = (await client.get("/api/pets")).json()["pets"]
        made = await client.post("/api/stays", json={"petId": pets[0]["petId"], **stay})
        await client.delete(f"/api/stays/{made.json()['stay']['stayId']}")
        listed = (await client.get("/api/stays")).json()["stays"]

    assert made.json()["stay"]["state"] == "da"
    assert [one["state"] for one in listed] == ["weg"]


async def test_the_answer_to_a_cancel_names_what_was_cancelled(open_app: Opener) -> None:
    """All calls are POSTs to a path of their own and answer {result, error}."""
    number = {"advance_no": {"type": "integer"}}
    result = {
        "type": "object",
        "properties": {
            "result": {"type": "object", "nullable": True, "properties": number},
            "error": {"type": "string", "nullable": True},
        },
    }
    said = {"200": {"description": "Done.", "content": {"application/json": {"schema": result}}}}

    def sent(properties: dict[str, Any]) -> dict[str, Any]:
        schema = {"type": "object", "properties": properties}
        return {"required": True, "content": {"application/json": {"schema": schema}}}

    request = {
        "operationId": "request",
        "requestBody": sent({"amount": {"type": "integer"}}),
        "responses": said,
        "x-orchet-cancels": "withdraw",
        "x-orchet-compensation-args": {"advance_no": "$response.body#/result/advance_no"},
    }
    withdraw = {
        "operationId": "withdraw",
        "requestBody": sent(number),
        "responses": said,
        "x-orchet-cancel-for": "request",
    }
    paths = {"/advances.request": {"post": request}, "/advances.withdraw": {"post": withdraw}}
    written = {"openapi": "3.0.3", "info": {"title": "Pay", "version": "1"}, "paths": paths}
    async with open_app(documents={"pay": read_document("pay", written)}) as client:
        made = (await client.post("/pay/advances.request", json={"amount": 250})).json()
        ended = (await client.post("/pay/advances.withdraw", json=made["result"])).json()

    assert ended["result"] == made["result"]
    assert "error" not in ended


async def test_what_a_body_wraps_is_of_the_thing(open_app: Opener) -> None:
    """`{"tag": {...}}` is sent and answered: the answer has the id next to the sent values."""
    read_only = {"type": "string", "readOnly": True}
    label = {"type": "string"}
    tag = {"type": "object", "properties": {"id": read_only, "label": label}, "required": ["label"]}
    wrapped = {"type": "object", "properties": {"tag": tag}, "required": ["tag"]}
    sent = {"required": True, "content": {"application/json": {"schema": wrapped}}}
    answer = {"description": "It.", "content": {"application/json": {"schema": wrapped}}}
    by_id = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Tags", "version": "1"},
        "servers": [{"url": "https://tags.example/v1"}],
        "paths": {
            "/tags": {"post": {"requestBody": sent, "responses": {"201": answer}}},
            "/tags/{id}": {
                "parameters": by_id,
                "get": {"responses": {"200": answer}},
                "put": {"requestBody": sent, "responses": {"200": answer}},
            },
        },
    }
    async with open_app(documents={"tags": document}) as http:
        made = (await http.post("/v1/tags", json={"tag": {"label": "red"}})).json()["tag"]
        where = f"/v1/tags/{made['id']}"
        changed = (await http.put(where, json={"tag": {"label": "blue"}})).json()["tag"]
        found = (await http.get(where)).json()["tag"]

    assert made["label"] == "red"
    assert changed == found == {"id": made["id"], "label": "blue"}


async def test_what_is_said_of_a_thing_stands_in_its_attributes(open_app: Opener) -> None:
    """JSON:API wraps them so; the list reports the count, on one page."""
    part = {"type": "object", "properties": {"subject": {"type": "string", "example": "Desk"}}}
    told = {"id": {"type": "string"}, "type": {"type": "string"}, "attributes": part}
    one = {"type": "object", "required": [*told], "properties": told}
    number = {"type": "integer"}
    pages = {"type": "object", "properties": {"total": number, "total_pages": number}}
    listed = {
        "data": {"type": "array", "items": one},
        "meta": {"properties": {"pagination": pages}},
    }

    def answer(**schema: Any) -> dict[str, Any]:
        whole = {"type": "object", "required": [*schema], "properties": schema}
        return {"200": {"description": "ok", "content": {"application/json": {"schema": whole}}}}

    document = desk()
    all_of_them = document["paths"]["/tickets"]
    all_of_them["get"]["responses"] = answer(**listed)
    all_of_them["post"]["responses"] = answer(data=one)

    async with open_app(documents={"desk": document}) as http:
        made = (await http.post("/desk/tickets", json={"subject": "Lamp"})).json()
        found = (await http.get("/desk/tickets")).json()

    assert made["data"]["attributes"] == {"subject": "Lamp"}
    assert [(t["id"], t["attributes"]) for t in found["data"]] == [
        (made["data"]["id"], {"subject": "Lamp"})
    ]
    assert found["meta"]["pagination"] == {"total": 1, "total_pages": 1}


async def test_the_callers_own_are_those_that_are_kept_elsewhere(open_app: Opener) -> None:
    """`/me/tickets` lists the resources of `/tickets/{key}`; ids follow the examples."""
    document = desk()
    document["paths"]["/me/tickets"] = document["paths"].pop("/tickets")
    id_of_it = {"type": "string", "readOnly": True, "example": "5017"}
    ticket = document["components"]["schemas"]["Ticket"]
    document["components"]["schemas"]["Ticket"] = {
        **ticket,
        "properties": {**ticket["properties"], "id": id_of_it},
    }

    async with open_app(documents={"desk": document}) as http:
        made = (await http.post("/desk/me/tickets", json={"subject": "Lamp"})).json()
        listed = (await http.get("/desk/me/tickets")).json()
        read = await http.get(f"/desk/tickets/{made['id']}")

    assert made["id"].isdecimal()
    assert [ticket["id"] for ticket in listed] == [made["id"]]
    assert read.json()["subject"] == "Lamp"


TEXT = {"type": "string"}


def _answer(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "ok", "content": {"application/json": {"schema": schema}}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


async def test_a_list_holds_things_of_its_own_kind(open_app: Opener) -> None:
    """A list of stations has no ticket in it, though both call their id `id`."""
    stations = {"type": "array", "items": _object(id=TEXT, name=TEXT)}
    paths = {"/stations": {"get": {"responses": {"200": _answer(stations)}}}}

    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = (await http.post("/desk/tickets", json={"subject": "Lamp"})).json()
        listed = (await http.get("/desk/stations")).json()

    assert listed
    assert made["id"] not in [station["id"] for station in listed]


@pytest.mark.parametrize("pattern", ["^cst_.+$", r"^[^a]{8}$", r"^\s?x\S*.$"])
async def test_no_id_has_a_control_character(open_app: Opener, pattern: str) -> None:
    """A pattern that allows one gives printable ids."""
    document = desk()
    named = {**TEXT, "readOnly": True, "pattern": pattern}
    properties = {"id": named, "subject": TEXT}
    document["components"]["schemas"]["Ticket"] = {**TICKET, "properties": properties}

    async with open_app(documents={"desk": document}) as http:
        made = [
            (await http.post("/desk/tickets", json={"subject": f"Lamp {n}"})).json()
            for n in range(8)
        ]

    assert all(ticket["id"].isprintable() for ticket in made)


async def test_a_success_lists_no_errors_and_no_warnings(open_app: Opener) -> None:
    """Required lists of errors are empty, optional ones are left out."""
    troubles = {"type": "array", "items": _object(code=TEXT, detail=TEXT)}
    told = _object(status=TEXT, errors=troubles, warnings=troubles)
    told["required"] = ["status", "errors"]
    paths = {"/plans": {"get": {"responses": {"200": _answer(told)}}}}

    async with open_app(documents={"desk": desk(**paths)}) as http:
        answered = (await http.get("/desk/plans")).json()

    assert answered["errors"] == []
    assert "warnings" not in answered


async def test_a_thing_is_found_under_the_name_that_its_maker_gave(open_app: Opener) -> None:
    """The path's parameter is a value of the request, inside the envelope of the resource."""
    sent, told = _object(tax=_object(code=TEXT)), _object(tax=_object(id=TEXT, code=TEXT))
    sent["required"] = ["tax"]
    code = {**KEY, "name": "code"}
    body = {"required": True, "content": {"application/json": {"schema": sent}}}
    paths = {
        "/taxes": {"post": {"requestBody": body, "responses": {"200": _answer(told)}}},
        "/taxes/{code}": {
            "parameters": [code],
            "get": {"responses": {"200": _answer(told), "404": {"description": "none"}}},
            "delete": {"responses": DONE},
        },
    }

    async with open_app(documents={"desk": desk(**paths)}) as http:
        await http.post("/desk/taxes", json={"tax": {"code": "vat"}})
        found = await http.get("/desk/taxes/vat")
        unknown = await http.get("/desk/taxes/gst")
        ended = await http.delete("/desk/taxes/vat")

    assert found.status_code == 200
    assert found.json()["tax"]["code"] == "vat"
    assert unknown.status_code == 404
    assert ended.status_code == 204


async def test_of_several_successes_the_one_with_a_body_is_answered(open_app: Opener) -> None:
    """A 200 without content is not what an operation with a described 201 answers."""
    responses = {"200": {"description": "ok"}, "201": _answer(_object(id=TEXT))}
    paths = {"/notes": {"post": {"responses": responses}}}

    async with open_app(documents={"desk": desk(**paths)}) as http:
        answered = await http.post("/desk/notes")

    assert answered.status_code == 201
    assert answered.json()["id"]
