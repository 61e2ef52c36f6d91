"""Third-party documents: defective operations are left out, the rest works and is remembered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from orchestrator.sandbox import DocumentError, create_app
from orchestrator.sandbox.app import memories_of, memory_of
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.served_operations import OperationKind
from orchestrator.sandbox.served_schemas import SchemaBook

Opener = Callable[..., Any]
Json = dict[str, Any]
TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
TICKET_REF = {"$ref": "#/components/schemas/Ticket"}
KENNEL = Path(__file__).parents[2] / "documents" / "kennel.yaml"
DONE = {"204": {"description": "done"}}


def obj(*required: str, **properties: Any) -> Json:
    return {"type": "object", "required": [*required], "properties": properties}


def sent(schema: Json) -> Json:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def answered(schema: Json, status: str = "200") -> Json:
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "ok", "content": content}}


def key(name: str = "key", **schema: Any) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {**TEXT, **schema}}


TICKET = obj(
    "id",
    "subject",
    id={**TEXT, "readOnly": True},
    subject=TEXT,
    secret={**TEXT, "writeOnly": True},
    state={**TEXT, "format": "made-by-us"},
)
ANSWER = answered(TICKET_REF)


def desk(**paths: Any) -> Json:
    """Return a help desk with more paths in addition to its own."""
    listed = answered({"type": "array", "items": TICKET_REF})
    write = {"requestBody": sent(TICKET_REF), "responses": ANSWER}
    own = {
        "/tickets": {
            "get": {"operationId": "tickets/list", "responses": listed},
            "post": {"operationId": "tickets/open", **write},
        },
        "/tickets/{key}": {
            "parameters": [key()],
            "get": {"responses": ANSWER},
            "put": {"operationId": "tickets/change", **write},
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
def test_one_bad_operation_costs_one_operation(operation: Json, pointer: str, reason: str) -> None:
    """The operation is left out with its place, reason and remedy; the rest is served."""
    document = read_document("desk", desk(**{"/bad": {"post": {"responses": {}, **operation}}}))
    (skipped,) = document.skipped
    assert skipped.pointer == f"/paths/~1bad/post{pointer}"
    assert reason in skipped.reason
    assert skipped.remedy
    assert len(document.operations) == 5


def test_the_memory_lists_operations_by_kind_and_action() -> None:
    """A null description, a reference in an extension and a custom format cost no operation."""
    document = read_document("desk", desk())
    (kind,) = memory_of(document, "/desk").kinds

    assert document.skipped == ()
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
        "named": {"name": {**TEXT, "minLength": 1}},
        "sized": {"size": INTEGER, "inner": {"properties": {"$ref": "#/x-p/sized"}}},
        "lost": {"type": "object", "properties": {"$ref": "#/x-p/nowhere"}},
    }
    both = [{"properties": {"$ref": f"#/x-p/{name}"}} for name in ("named", "sized")]
    boxes = {"type": "object", "required": ["name", "size"], "allOf": both}
    paths = {
        "/box": {"get": {"responses": answered(boxes)}},
        "/lost": {"get": {"responses": answered({"$ref": "#/x-p/lost"})}},
    }
    document = {**desk(**paths), "x-p": parts}
    async with open_app(documents={"desk": document}) as http:
        found = (await http.get("/desk/box")).json()

    assert isinstance(found["name"], str)
    assert isinstance(found["size"], int)
    assert [o.operation for o in read_document("desk", document).skipped] == ["GET /lost"]


async def test_a_discriminator_is_what_the_alternatives_say_themselves(open_app: Opener) -> None:
    """Their names stand for values only if they declare none."""
    named = {name: obj("kind", kind={"enum": [name.lower()]}) for name in ("OpenState", "Shut")}
    branches = [{"$ref": f"#/components/schemas/{name}"} for name in named]
    state = {"oneOf": branches, "discriminator": {"propertyName": "kind"}}
    document = desk(**{"/door": {"get": {"responses": answered(obj("state", state=state))}}})
    document["components"]["schemas"] |= named
    async with open_app(documents={"desk": document}) as http:
        found = (await http.get("/desk/door")).json()

    assert found["state"]["kind"] in ("openstate", "shut")


async def test_an_id_is_one_that_the_paths_take(open_app: Opener) -> None:
    """The answer says less about the id, but a validated cancel needs a valid one."""
    document = desk()
    document["paths"]["/tickets/{key}"]["parameters"] = [key(format="uuid")]
    async with open_app(documents={"desk": document}) as http:
        made = (await http.post("/desk/tickets", json={"subject": "Lamp"})).json()
        ended = await http.delete(f"/desk/tickets/{made['id']}")

    assert str(UUID(made["id"])) == made["id"]
    assert ended.status_code == 204


async def test_a_property_with_parts_is_not_an_id(open_app: Opener) -> None:
    """A property named like the path's parameter may be the resource with the id in it."""
    address = obj("ip", "locked", ip={**TEXT, "format": "ipv4"}, locked={"type": "boolean"})
    answer = obj("fixed_ip", fixed_ip=address)
    paths = {
        "/fixed_ips": {"post": {"responses": answered(answer, "202")}},
        "/fixed_ips/{fixed_ip}": {
            "parameters": [key("fixed_ip")],
            "get": {"responses": answered(answer)},
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

    def taking(name: str, answers: str) -> Json:
        body = {**obj(name, **{name: TEXT}), "additionalProperties": False}
        was = answered(obj("was", was={"enum": [answers]}))
        return {"post": {"requestBody": sent(body), "responses": was}}

    paths = {
        "/send": taking("plain", "plain"),
        "/send#link": taking("link", "link"),
        "/send?beta=true": taking("plain", "beta"),
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        asked = [("", "plain"), ("", "link"), ("?beta=true", "plain")]
        answers = [
            (await http.post(f"/desk/send{query}", json={name: "x"})).json()["was"]
            for query, name in asked
        ]

    assert answers == ["plain", "link", "beta"]


@pytest.mark.parametrize(
    ("kind", "schema", "begins"),
    [
        ("text/plain", TEXT, "The sandbox"),
        ("application/pdf", {**TEXT, "format": "binary"}, "%PDF-"),
        ("application/vnd.desk+json", {"type": "boolean"}, ""),
        ("application/json", {"type": "array", "items": TEXT}, "["),
    ],
)
async def test_an_answer_has_the_type_that_is_declared(
    open_app: Opener, kind: str, schema: Json, begins: str
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
    queue = obj("name", name=TEXT)
    paths = {
        "/queues": {"post": {"requestBody": sent(queue), "responses": answered(queue, "201")}},
        "/queues/{name}": {"parameters": [key("name")], "get": {"responses": answered(queue)}},
        "/people": {"post": {"requestBody": sent(queue), "responses": answered(queue)}},
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = await http.post("/desk/queues", json={"name": "late"})
        found = await http.get("/desk/queues/late")
        other = await http.post("/desk/people", json={"name": "Ada"})

    assert [made.status_code, found.status_code, other.status_code] == [201, 200, 200]


async def test_an_id_that_the_document_shows_exists(open_app: Opener) -> None:
    """Requests may name an id from an example; an unknown id is refused."""
    named = {**TEXT, "example": "cus_7f31"}
    customers = {"type": "array", "items": obj(customer_id=named, name=TEXT)}
    order = sent(obj("customer_id", customer_id=named))
    paths = {
        "/customers": {"get": {"responses": answered(customers)}},
        "/orders": {"post": {"requestBody": order, "responses": ANSWER}},
    }
    async with open_app(documents={"desk": desk(**paths)}) as client:
        known = await client.post("/desk/orders", json={"customer_id": "cus_7f31"})
        unknown = await client.post("/desk/orders", json={"customer_id": "cus_0000"})

    assert [known.status_code, unknown.status_code] == [200, 404]


@pytest.mark.parametrize("is_foreign", [False, True], ids=["English", "gone-when"])
async def test_a_state_says_whether_a_resource_is_live(open_app: Opener, is_foreign: bool) -> None:
    """A cancelled one stays listed with its state, which a probe may name in any language."""
    written = yaml.safe_load(KENNEL.read_text(encoding="utf-8"))
    if is_foreign:
        stay = written["components"]["schemas"]["Stay"]["properties"]
        stay["state"]["enum"] = ["weg", "da"]
        written["paths"]["/stays"]["post"]["x-orchet-compensation-probe"] = {
            "operationId": "listStays",
            "gone-when": "$response.body#/stays/0/state == 'weg'",
        }
    document = read_document("kennel", written)
    days = {"arrives": "2027-03-03", "leaves": "2027-03-06"}
    async with open_app(documents={"kennel": document}) as client:
        pets = (await client.get("/api/pets")).json()["pets"]
        made = (await client.post("/api/stays", json={"petId": pets[0]["petId"], **days})).json()
        ended = (await client.delete(f"/api/stays/{made['stay']['stayId']}")).json()
        listed = (await client.get("/api/stays")).json()["stays"]
    live, gone = ("da", "weg") if is_foreign else ("BOOKED", "WITHDRAWN")
    assert made["stay"]["state"] == live
    assert ended["stay"]["stayId"] == made["stay"]["stayId"]
    assert [one["state"] for one in listed] == [gone]
    assert "error" not in made | ended


async def test_the_answer_to_a_cancel_names_what_was_cancelled(open_app: Opener) -> None:
    """All calls are POSTs to a path of their own and answer {result, error}."""
    number = {"advance_no": INTEGER}
    result = obj(
        result={"type": "object", "nullable": True, "properties": number},
        error={**TEXT, "nullable": True},
    )
    request = {
        "operationId": "request",
        "requestBody": sent(obj(amount=INTEGER)),
        "responses": answered(result),
        "x-orchet-cancels": "withdraw",
        "x-orchet-compensation-args": {"advance_no": "$response.body#/result/advance_no"},
    }
    withdraw = {
        "operationId": "withdraw",
        "requestBody": sent(obj(**number)),
        "responses": answered(result),
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
    wrapped = obj("tag", tag=obj("label", id={**TEXT, "readOnly": True}, label=TEXT))
    paths = {
        "/tags": {"post": {"requestBody": sent(wrapped), "responses": answered(wrapped, "201")}},
        "/tags/{id}": {
            "parameters": [key("id")],
            "get": {"responses": answered(wrapped)},
            "put": {"requestBody": sent(wrapped), "responses": answered(wrapped)},
        },
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = (await http.post("/desk/tags", json={"tag": {"label": "red"}})).json()["tag"]
        where = f"/desk/tags/{made['id']}"
        changed = (await http.put(where, json={"tag": {"label": "blue"}})).json()["tag"]
        found = (await http.get(where)).json()["tag"]

    assert made["label"] == "red"
    assert changed == found == {"id": made["id"], "label": "blue"}


async def test_what_is_said_of_a_thing_stands_in_its_attributes(open_app: Opener) -> None:
    """JSON:API wraps them so; the list reports the count, on one page."""
    part = obj(subject={**TEXT, "example": "Desk"})
    one = obj("id", "type", "attributes", id=TEXT, type=TEXT, attributes=part)
    pages = obj(total=INTEGER, total_pages=INTEGER)
    listed = obj("data", "meta", data={"type": "array", "items": one}, meta=obj(pagination=pages))
    document = desk()
    document["paths"]["/tickets"]["get"]["responses"] = answered(listed)
    document["paths"]["/tickets"]["post"]["responses"] = answered(obj("data", data=one))
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
    numbered = {**TEXT, "readOnly": True, "example": "5017"}
    properties = {**TICKET["properties"], "id": numbered}
    document["components"]["schemas"]["Ticket"] = {**TICKET, "properties": properties}
    async with open_app(documents={"desk": document}) as http:
        made = (await http.post("/desk/me/tickets", json={"subject": "Lamp"})).json()
        listed = (await http.get("/desk/me/tickets")).json()
        read = await http.get(f"/desk/tickets/{made['id']}")

    assert made["id"].isdecimal()
    assert [ticket["id"] for ticket in listed] == [made["id"]]
    assert read.json()["subject"] == "Lamp"


async def test_a_list_holds_things_of_its_own_kind(open_app: Opener) -> None:
    """A list of stations has no ticket in it, though both call their id `id`."""
    stations = {"type": "array", "items": obj(id=TEXT, name=TEXT)}
    paths = {"/stations": {"get": {"responses": answered(stations)}}}
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = (await http.post("/desk/tickets", json={"subject": "Lamp"})).json()
        listed = (await http.get("/desk/stations")).json()

    assert listed
    assert made["id"] not in [station["id"] for station in listed]


@pytest.mark.parametrize("pattern", ["^cst_.+$", r"^[^a]{8}$", r"^\s?x\S*.$"])
async def test_no_id_has_a_control_character(open_app: Opener, pattern: str) -> None:
    document = desk()
    properties = {"id": {**TEXT, "readOnly": True, "pattern": pattern}, "subject": TEXT}
    document["components"]["schemas"]["Ticket"] = {**TICKET, "properties": properties}
    async with open_app(documents={"desk": document}) as http:
        for n in range(8):
            made = (await http.post("/desk/tickets", json={"subject": f"Lamp {n}"})).json()
            assert made["id"].isprintable()


async def test_a_success_lists_no_errors_and_no_warnings(open_app: Opener) -> None:
    """Required lists of errors are empty, optional ones are left out."""
    troubles = {"type": "array", "items": obj(code=TEXT, detail=TEXT)}
    plan = obj("status", "errors", status=TEXT, errors=troubles, warnings=troubles)
    paths = {"/plans": {"get": {"responses": answered(plan)}}}
    async with open_app(documents={"desk": desk(**paths)}) as http:
        found = (await http.get("/desk/plans")).json()

    assert found["errors"] == []
    assert "warnings" not in found


async def test_a_thing_is_found_under_the_name_that_its_maker_gave(open_app: Opener) -> None:
    """The path's parameter is a value of the request, inside the envelope of the resource."""
    tax = obj(tax=obj(id=TEXT, code=TEXT))
    body = sent(obj("tax", tax=obj(code=TEXT)))
    paths = {
        "/taxes": {"post": {"requestBody": body, "responses": answered(tax)}},
        "/taxes/{code}": {
            "parameters": [key("code")],
            "get": {"responses": {**answered(tax), "404": {"description": "none"}}},
            "delete": {"responses": DONE},
        },
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        await http.post("/desk/taxes", json={"tax": {"code": "vat"}})
        found = await http.get("/desk/taxes/vat")
        unknown = await http.get("/desk/taxes/gst")
        ended = await http.delete("/desk/taxes/vat")

    assert [found.status_code, unknown.status_code, ended.status_code] == [200, 404, 204]
    assert found.json()["tax"]["code"] == "vat"


async def test_of_several_successes_the_one_with_a_body_is_answered(open_app: Opener) -> None:
    """A 200 without content is not what an operation with a described 201 answers."""
    responses = {"200": {"description": "ok"}, **answered(obj(id=TEXT), "201")}
    paths = {"/notes": {"post": {"responses": responses}}}
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = await http.post("/desk/notes")

    assert made.status_code == 201
    assert made.json()["id"]


async def test_a_new_id_fits_a_path_that_takes_numbers(open_app: Opener) -> None:
    """The answer has it as a text; the URL of the resource is the same."""
    number = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    board = answered(obj(id=TEXT, name=TEXT))
    paths = {
        "/boards": {"post": {"requestBody": sent(obj(name=TEXT)), "responses": board}},
        "/boards/{id}": {"delete": {"parameters": [number], "responses": DONE}},
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        made = (await http.post("/desk/boards", json={"name": "late"})).json()["id"]
        gone = await http.delete(f"/desk/boards/{made}")

    assert isinstance(made, str)
    assert gone.status_code == 204


async def test_what_stands_around_a_resource_may_be_from_before(open_app: Opener) -> None:
    """Until the sandbox has issued one of its kind itself: then it knows them all."""
    rooms = {"type": "array", "items": obj("room_id", room_id=TEXT)}
    make = {"parameters": [key("room_id")], "requestBody": sent(obj(name=TEXT))}
    board = answered(obj(board_id=TEXT, name=TEXT))
    paths = {
        "/rooms": {"get": {"responses": answered(rooms)}},
        "/rooms/{room_id}/boards": {"post": {**make, "responses": board}},
    }
    async with open_app(documents={"desk": desk(**paths)}) as http:
        first = await http.post("/desk/rooms/r-1/boards", json={"name": "late"})
        await http.get("/desk/rooms")
        other = await http.post("/desk/rooms/r-2/boards", json={"name": "late"})

    assert [first.status_code, other.status_code] == [200, 404]


def test_a_document_without_paths_costs_itself_alone(shop: dict[str, Any]) -> None:
    """It is listed as not served; if no document has paths there is nothing to serve."""
    hollow = {"openapi": "3.1.0"}
    with EffectLedger() as ledger:
        memories = memories_of(create_app({"hooks": hollow, "shop": shop}, ledger=ledger))
        with pytest.raises(DocumentError, match="no paths in 'hooks'"):
            create_app({"hooks": hollow}, ledger=ledger)
    told = {memory.document: [str(one) for one in memory.skipped] for memory in memories}
    assert told["shop"] == []
    assert told["hooks"] == [
        "hooks: the document is not served: /paths: it has none, so there is nothing to serve; "
        "add them, or leave the document out"
    ]


def test_kinds_follow_the_contract(shop: dict[str, Any]) -> None:
    kinds = {o.operation_id: o.kind for o in read_document("shop", shop).operations}

    assert kinds == {
        "book_search": OperationKind.READ,
        "order_list": OperationKind.READ,
        "order_place": OperationKind.CREATE,
        "order_get": OperationKind.READ,
        "order_drop": OperationKind.CANCEL,
        "order_approve": OperationKind.UPDATE,
        "order_ship": OperationKind.CREATE,
        "order_recall": OperationKind.CANCEL,
        "order_find": OperationKind.READ,
        "order_cancel": OperationKind.CANCEL,
        "voucher_create": OperationKind.CREATE,
    }


def test_literal_path_goes_before_a_parameter(shop: dict[str, Any]) -> None:
    document = read_document("shop", shop)
    found = document.candidates("GET", "/orders/find", {})
    named = document.candidates("GET", "/orders/ord_1", {})

    assert [operation.operation_id for operation in found] == ["order_find"]
    assert [operation.operation_id for operation in named] == ["order_get"]


def test_ids_that_a_vault_fills_in_are_not_ours(shop: dict[str, Any]) -> None:
    """An id that a list also shows is free when the contract calls it personal."""
    before = read_document("shop", shop).known_ids
    shop["paths"]["/orders"]["post"]["x-orchet-pii-required"] = ["book_id"]
    after = read_document("shop", shop).known_ids

    assert before == {"book_id", "order_id", "voucher_id"}
    assert after == {"order_id", "voucher_id"}
