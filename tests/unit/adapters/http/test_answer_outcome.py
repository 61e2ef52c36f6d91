"""What an answer comes to by what its document declares: breaches, conditions, refusals."""

import json
from typing import Any

import httpx
import pytest

from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from tests.unit.adapters.http.one_operation import catalog_of, outcomes

JSON = "application/json"
SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "state": {"type": "string"}, "error": {}},
}
PROBLEM = {"application/problem+json": {"schema": {"type": "object", "required": ["title"]}}}

CANCEL: dict[str, Any] = {"x-orchet-cancel-for": "make", "x-orchet-requires-confirmation": False}
_OBJECT: Any = {"description": "done", "content": {JSON: {"schema": {"type": "object"}}}}
ANYTHING: dict[str, Any] = dict.fromkeys(("200", "201", "207"), _OBJECT)
STRICT: dict[str, Any] = {"200": {"description": "done", "content": {JSON: {"schema": SCHEMA}}}}


def tool(name: str, responses: Any = ANYTHING, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "x-orchet-tool": True, "responses": responses, **more}


GONE = {"204": {"description": "gone"}}
ID: JsonObject = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
MAKE = {"/make": {"post": tool("make", **{"x-orchet-cancels": "thing"})}}
DROP: dict[str, Any] = {
    "/things/{id}": {
        "delete": tool(
            "drop",
            GONE,
            parameters=[ID],
            **{"x-orchet-cancel-for": "thing", "x-orchet-requires-confirmation": False},
        )
    }
}


async def outcome(
    answer: httpx.Response,
    *,
    responses: dict[str, Any] | None = None,
    method: str = "post",
    others: dict[str, Any] | None = None,
    tool: str = "thing",
    **more: Any,
) -> ToolOutcome:
    """What a call comes to that is answered so."""
    declared = {
        **STRICT,
        "202": {"description": "taken on"},
        "204": {"description": "done"},
        "404": {"description": "none", "content": PROBLEM},
        "410": {"description": "none"},
        "default": {"description": "trouble", "content": PROBLEM},
    }
    operation = {"responses": declared if responses is None else responses, **more}
    catalog = catalog_of(operation, path="/thing", method=method, others=others)
    (came,) = await outcomes(catalog, answer, tool=tool)
    return came


def said(body: Any, status: int = 200, media_type: str = JSON) -> httpx.Response:
    """A JSON answer."""
    return httpx.Response(status, json=body, headers={"content-type": media_type})


@pytest.mark.parametrize(
    ("answer", "kind", "is_breach"),
    [
        (said({"id": "1"}), "succeeded", False),
        (said({"id": "1", "more": 2}), "succeeded", False),
        (httpx.Response(204), "succeeded", False),
        (said({"error": "sold_out"}), "unknown", True),
        (said({"id": 1}), "unknown", True),
        (httpx.Response(200, html="<p>back soon</p>"), "unknown", True),
        (httpx.Response(200), "unknown", True),
        (said({"state": "x"}, 201), "unknown", True),
    ],
)
async def test_a_breach_is_no_success(answer: httpx.Response, kind: str, is_breach: bool) -> None:
    """Whatever breaks the contract; a property beside the declared ones does not."""
    came = await outcome(answer, responses={**STRICT, "204": {"description": "done"}})

    assert (came.kind, came.contract_breach is not None) == (kind, is_breach)
    assert came.is_unproved is is_breach


@pytest.mark.parametrize(
    "answer",
    [
        said({"id": "1"}, 201),
        said({"id": "1"}, media_type="text/html"),
        said({"id": "1"}, 203, "text/plain"),
        httpx.Response(200, json={"id": "1"}, headers={"X-Left": "many"}),
    ],
    ids=["another success", "another type", "both", "a header"],
)
async def test_what_is_wrong_around_a_whole_answer_is_a_note(answer: httpx.Response) -> None:
    """Its status, its type and headers that nothing reads; `default` is for trouble."""
    left = {"X-Left": {"required": True, "schema": {"type": "integer"}}}
    declared = {
        "200": {"description": "", "headers": left, "content": {JSON: {"schema": SCHEMA}}},
        "default": {"description": "trouble", "content": PROBLEM},
    }
    came = await outcome(answer, responses=declared)

    assert (came.kind, came.body) == ("succeeded", {"id": "1"})
    assert came.contract_breach


@pytest.mark.parametrize(("more", "kind"), [({}, "unknown"), (CANCEL, "succeeded")])
async def test_only_a_cancel_may_withhold_its_body_under_an_undeclared_status(
    more: dict[str, Any], kind: str
) -> None:
    """Of a booking that would withhold its id."""
    came = await outcome(httpx.Response(204), responses=STRICT, others=MAKE, **more)

    assert came.kind == kind


@pytest.mark.parametrize("header", [{}, {"Location": ""}])
async def test_a_header_that_the_cancel_reads_stays_strict(header: dict[str, str]) -> None:
    """Without it nothing could be cancelled."""
    text = {"type": "string", "minLength": 1}
    location = {"Location": {"required": True, "schema": text}}
    keywords: dict[str, Any] = {
        "responses": {"201": {"description": "done", "headers": location}},
        "x-orchet-cancels": "drop",
        "x-orchet-compensation-args": {"id": "$response.header.Location"},
    }
    came = await outcome(httpx.Response(201, headers=header), others=DROP, **keywords)

    assert came.kind == "unknown"


@pytest.mark.parametrize(
    ("condition", "body", "kind"),
    [
        ('$response.body#/state == "ok"', {"id": "1", "state": "ok"}, "succeeded"),
        ('$response.body#/state == "ok"', {"id": "1", "state": "sold out"}, "rejected"),
        ('$response.body#/state == "ok"', {"id": "1"}, "unknown"),
        ("!$response.body#/error", {"id": "1"}, "succeeded"),
        ("!$response.body#/error", {"id": "1", "error": "sold out"}, "rejected"),
        ("!$response.body#/error", {"error": "sold out"}, "unknown"),
        (["$response.body#/id", "!$response.body#/error"], {"id": "1", "error": 1}, "rejected"),
        ("$response.header.X-State == 'ok'", {"id": "1"}, "unknown"),
    ],
)
@pytest.mark.parametrize("method", ["post", "get"])
async def test_the_document_may_say_what_is_no_success(
    condition: Any, body: Any, kind: str, method: str
) -> None:
    """False is a refusal, what cannot be told is unknown, and a breach is one first."""
    came = await outcome(said(body), method=method, **{"x-orchet-success-when": condition})

    assert came.kind == kind
    assert came.declared is (kind == "rejected")


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        (None, "unknown"),
        ("$statusCode == 202", "succeeded"),
        ("$statusCode != 200", "succeeded"),
        ("$statusCode == 200", "unknown"),
        ("!$response.body#/error", "unknown"),
        (["$statusCode == 202", "$response.body#/done == true"], "unknown"),
    ],
)
async def test_accepted_is_done_when_the_document_says_so(condition: Any, kind: str) -> None:
    """By its status; a failure by another condition may still become a success."""
    more = {} if condition is None else {"x-orchet-success-when": condition}
    came = await outcome(httpx.Response(202), **more)

    assert (came.kind, came.accepted) == (kind, kind == "unknown")


@pytest.mark.parametrize(
    ("answer", "declared"),
    [
        (said({"title": "none"}, 404, "application/problem+json"), True),
        (said({"title": "none"}, 404), False),
        (said({}, 404, "application/problem+json"), False),
        (httpx.Response(404, html="<p>no route</p>"), False),
        (httpx.Response(404), False),
        (httpx.Response(410), True),
        (httpx.Response(410, html="<p>gone</p>"), False),
        (said({"title": "no"}, 409, "application/problem+json"), False),
    ],
)
async def test_a_refusal_is_declared_by_its_own_status_type_and_body(
    answer: httpx.Response, declared: bool
) -> None:
    """`default` is for any trouble; without declared content there is none."""
    came = await outcome(answer)

    assert (came.kind, came.declared) == ("rejected", declared)


@pytest.mark.parametrize(
    ("gone_when", "state", "more", "kind"),
    [
        ('$response.body#/state == "cancelled"', "cancelled", {}, "unknown"),
        ('$response.body#/state == "cancelled"', "confirmed", {}, "succeeded"),
        ('$response.body#/state == "cancelled"', None, {}, "succeeded"),
        # Of anything but what it became: it may yet become something else.
        ('$response.body#/state != "confirmed"', "pending", {}, "succeeded"),
        ("!$response.body#/bookings/0", "confirmed", {}, "succeeded"),
        (
            '$response.body#/state == "cancelled"',
            "cancelled",
            {"x-orchet-success-when": "$response.body#/id"},
            "succeeded",
        ),
    ],
)
async def test_a_thing_that_is_answered_to_be_gone_was_not_made(
    gone_when: str, state: str | None, more: Any, kind: str
) -> None:
    """In the words by which the probe would say so; what the document calls a success is one."""
    probe = {"operationId": "find", "args": {}, "gone-when": gone_when}
    pair = {"x-orchet-cancels": "drop", "x-orchet-compensation-probe": probe, **more}
    others = {
        "/drop": {"post": tool("drop", GONE, **{"x-orchet-cancel-for": "thing"})},
        "/find": {"get": tool("find", GONE)},
    }
    body = {"id": "b1"} if state is None else {"id": "b1", "state": state}
    came = await outcome(said(body), others=others, **pair)

    assert (came.kind, came.is_unproved) == (kind, kind == "unknown")


OURS = {"id": "b1", "client_reference": "m.1-leg.1"}
THEIRS = {"id": "b9", "client_reference": "theirs"}


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("thing", OURS, "succeeded"),
        ("thing", THEIRS, "unknown"),
        ("thing", {"client_reference": "theirs"}, "unknown"),
        ("drop", {"id": "b1"}, "succeeded"),
        ("drop", {"id": "b9"}, "unknown"),
    ],
)
async def test_an_answer_about_another_is_no_success(name: str, body: Any, kind: str) -> None:
    """Nothing of it is kept, so that nothing can be cancelled by it."""
    text = {"type": "string", "maxLength": 200}
    field, value = {"thing": ("client_reference", "m.1-leg.1"), "drop": ("id", "b1")}[name]

    def taking(field: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {field: text}}
        return {"content": {JSON: {"schema": schema}}}

    by_reference = {"client_reference": "$request.body#/client_reference"}
    book = {
        "responses": STRICT,
        "requestBody": taking("client_reference"),
        "x-orchet-cancels": "drop",
        "x-orchet-compensation-args": {"id": "$response.body#/id"},
        "x-orchet-compensation-probe": {"operationId": "find", "args": by_reference},
    }
    drop = tool("drop", STRICT, requestBody=taking("id"), **{"x-orchet-cancel-for": "thing"})
    reference = {"name": "client_reference", "in": "query", "schema": text}
    find = tool("find", STRICT, parameters=[reference])
    catalog = catalog_of(book, others={"/drop": {"post": drop}, "/find": {"get": find}})
    (came,) = await outcomes(catalog, said(body), tool=name, arguments={field: value})

    assert (came.kind, came.is_unproved) == (kind, kind == "unknown")
    assert came.body == (body if kind == "succeeded" else None)
    if kind == "unknown":
        assert f"another {field}" in (came.reason or "")


@pytest.mark.parametrize("media_type", ["application/hal+json", "text/json", "text/json; v=1"])
async def test_json_is_json_by_any_name(media_type: str) -> None:
    """It is compared with the schema that is declared for JSON; any type takes what parses."""
    assert (await outcome(said({"id": "1"}, media_type=media_type))).kind == "succeeded"
    assert (await outcome(said({"state": "x"}, media_type=media_type))).kind == "unknown"
    anything = {"200": {"description": "done", "content": {"*/*": {"schema": SCHEMA}}}}
    for sent in ({}, {"content-type": "text/plain"}, {"content-type": "application/vnd.thing"}):
        answer = httpx.Response(200, content=b'{"id": "1"}', headers=sent)
        assert (await outcome(answer, responses=anything)).kind == "succeeded"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"id": "1", "id": "2"}', "unknown"),
        (b'{"id": "1", "price": {"amount": 1, "amount": 2}}', "unknown"),
        (b'{"id": "1", "taken": {"sum": 1}, "taken": {"sum": 2}}', "unknown"),
        (b'{"id": "1", "done": false, "done": true}', "unknown"),
        (b'{"id": "1", "id": "1"}', "succeeded"),
        (b'{"id": "1", "state": "x", "state": "y"}', "succeeded"),
    ],
)
async def test_a_name_with_two_values_settles_neither_money_nor_identity(
    body: bytes, kind: str
) -> None:
    """Elsewhere it is noted, and the last one is taken."""
    came = await outcome(httpx.Response(200, content=body, headers={"content-type": JSON}))

    assert came.kind == kind
    assert ("twice" in (came.contract_breach or "")) is (b'"1", "id": "1"' not in body)


async def test_a_breach_of_an_answer_speaks_of_no_input() -> None:
    schema = {**SCHEMA, "additionalProperties": False}
    closed = {"200": {"description": "done", "content": {JSON: {"schema": schema}}}}
    came = await outcome(said({"id": "1", "identity": 2}), responses=closed)

    assert (came.kind, came.contract_breach) == ("succeeded", "identity is not declared")


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (rb'{"id": "1", "state": "a\ud83db"}', "a\ufffdb"),
        (rb'{"id": "1", "state": "\ud83d\ude00"}', "\U0001f600"),
        (b'{"id": "1", "state": "\xed\xa0\xbd\xed\xb8\x80"}', "\U0001f600"),
        (b'{"id": "1", "state": "\xed\xa0\xbd"}', "\ufffd"),
        ('{"id": "1", "state": "\\ud83d"}'.encode("utf-16"), "\ufffd"),
        ('{"id": "1", "state": "\\ude00"}'.encode("utf-32"), "\ufffd"),
    ],
)
async def test_half_a_character_is_replaced_where_it_comes_in(body: bytes, state: str) -> None:
    """In whichever encoding: what follows can write it."""
    came = await outcome(httpx.Response(200, content=body, headers={"content-type": JSON}))

    assert came.body == {"id": "1", "state": state}
    assert came.model_dump_json().encode()


async def test_whole_numbers_keep_their_digits() -> None:
    """One that no double holds raises nothing."""
    body = b'{"id": "1", "error": [725653563933458435, 725653563933458435.0, 1.5e3]}'
    schema = {"type": "object", "properties": {"n": {"multipleOf": 0.1}}}
    declared = {"200": {"description": "done", "content": {JSON: {"schema": schema}}}}
    came = await outcome(httpx.Response(200, content=body, headers={"content-type": JSON}))
    large = await outcome(said({"n": 10**400}), responses=declared)

    assert came.body["error"] == [725653563933458435, 725653563933458435, 1500]  # type: ignore[index,call-overload]
    assert large.kind == "unknown"


@pytest.mark.parametrize(
    ("asked", "waits"),
    [
        ("7", 7.0),
        ("1.5", 1.5),
        ("9" * 300, 86_400.0),
        ("9" * 5_000, None),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("Mon, 01 Jan 2024 00:01:00 GMT", 60.0),
        ("Mon, 01 Jan 2018 00:01:00 GMT", 0.0),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", 86_400.0),
    ],
)
async def test_no_header_raises(asked: str, waits: float | None) -> None:
    """A wait is read as seconds, fractions or a date; one that cannot be read was not sent."""
    headers = {
        "retry-after": asked,
        "date": "Mon, 01 Jan 2024 00:00:00 GMT",
        "set-cookie": "a=\u00e9; Path=/",
        "content-disposition": "attachment; filename*=idna''x",
    }
    came = await outcome(httpx.Response(503, headers=httpx.Headers(headers, encoding="utf-8")))

    assert came.retry_after_s == waits
    assert (await outcome(httpx.Response(204, headers={"retry-after": asked}))).kind == "succeeded"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (None, "succeeded"),
        ({}, "succeeded"),
        ({"id": "1", "status": "open"}, "succeeded"),
        ({"success": True, "error": None, "errors": []}, "succeeded"),
        ({"refundable": False, "already_done": False, "error": {"code": 0}}, "succeeded"),
        ({"success": False}, "unknown"),
        ({"ok": False, "error": "too late"}, "unknown"),
        ({"result": {"is_completed": False}}, "unknown"),
        ({"errors": [{"message": "too late"}]}, "unknown"),
        ({"data": None, "error": {"message": "too late"}}, "unknown"),
        ({"id": "1", "status": "declined"}, "unknown"),
        ({"payment": {"state": "FAILED"}}, "unknown"),
    ],
)
async def test_an_answer_that_contradicts_its_status_is_not_believed(body: Any, kind: str) -> None:
    """By the closed rule; of a read nothing depends on it, and a condition decides alone."""
    answer = said(body, 201) if body is not None else httpx.Response(201)
    responses = ANYTHING if body is not None else {"201": {"description": "done"}}
    came = await outcome(answer, responses=responses)

    assert came.kind == kind
    if kind == "unknown":
        assert came.is_unproved
        said_so: dict[str, Any] = {CONDITION: "$statusCode == 201"}
        declared = await outcome(answer, responses=responses, **said_so)
        assert declared.kind == "succeeded"
        assert (await outcome(answer, responses=responses, method="get")).kind == "succeeded"


CONDITION = "x-orchet-success-when"


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("orders_cancel", {"cancelled": False}, "unknown"),
        ("orders_cancel", {"isCanceled": False}, "unknown"),
        ("orders_cancel", {"already_cancelled": False}, "succeeded"),
        ("orders_refund", {"refunded": False}, "unknown"),
        ("orders_refund", {"cancelled": False}, "succeeded"),
        ("orders_cancel", {"cancelled": 0}, "unknown"),
        ("orders_cancel", {"success": "False"}, "unknown"),
        ("todos_make", {"id": "t1", "completed": False}, "succeeded"),
        ("todos_make", {"completed": False}, "unknown"),
        ("todos_complete", {"id": "t1", "completed": False}, "unknown"),
        ("todos_make", {"id": "t1", "success": False}, "unknown"),
    ],
)
async def test_false_about_the_act_itself_is_not_believed(name: str, body: Any, kind: str) -> None:
    """The act is the verb of the tool."""
    came = await outcome(said(body), others={"/act": {"post": tool(name)}}, tool=name)

    assert came.kind == kind


BATCH = {"errors": True, "items": [{"status": 201, "id": "i1"}, {"status": 422, "error": "no"}]}


@pytest.mark.parametrize(
    ("answer", "more", "kind"),
    [
        (said(BATCH, 207), {CONDITION: "$response.body#/errors == false"}, "unknown"),
        (said(BATCH, 200), {CONDITION: "$response.body#/errors == false"}, "unknown"),
        (said(BATCH, 207), {}, "unknown"),
        (said({"items": [{"status": 201}]}, 207), {}, "succeeded"),
        (
            said({"errors": True, "items": [{"status": 422, "error": "no"}]}),
            {CONDITION: "$response.body#/errors == false"},
            "rejected",
        ),
    ],
    ids=["207", "200 with items that worked", "no condition", "all worked", "none worked"],
)
async def test_half_a_batch_is_never_void(answer: httpx.Response, more: Any, kind: str) -> None:
    """What worked of it stands."""
    assert (await outcome(answer, responses=ANYTHING, **more)).kind == kind


@pytest.mark.parametrize(("body", "kind"), [({"id": "p1"}, "unknown"), ({"id": ""}, "rejected")])
async def test_an_answer_with_the_id_of_something_made_is_never_void(body: Any, kind: str) -> None:
    """Whatever its state is called, its cancel can be filled."""
    keywords: dict[str, Any] = {
        CONDITION: '$response.body#/status == "succeeded"',
        "x-orchet-cancels": "drop",
        "x-orchet-compensation-args": {"id": "$response.body#/id"},
    }
    answer = said({**body, "status": "requires_action"})
    came = await outcome(answer, responses=ANYTHING, others=DROP, **keywords)

    assert came.kind == kind


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (403, {}, "rejected"),
        (403, {"Retry-After": "3"}, "unknown"),
        (403, {"X-RateLimit-Remaining": "0"}, "unknown"),
        (403, {"X-RateLimit-Remaining": "4999"}, "rejected"),
        (403, {"RateLimit": '"default";r=0;t=30'}, "unknown"),
        (403, {"RateLimit": '"default";r=20;t=30'}, "rejected"),
        (403, {"RateLimit-Remaining": "0"}, "unknown"),
        (429, {}, "unknown"),
        (400, {"Retry-After": "3"}, "rejected"),
    ],
)
async def test_a_limited_rate_is_no_refusal(
    status: int, headers: dict[str, str], kind: str
) -> None:
    """The provider did not begin; other headers of the kind say only how much is left."""
    came = await outcome(httpx.Response(status, headers=headers))

    assert (came.kind, came.deferred) == (kind, kind == "unknown")


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        (429, {"RateLimit-Reset": "30"}, 30.0),
        (429, {"X-RateLimit-Reset": "1704067245"}, 45.0),
        (429, {"X-Rate-Limit-Reset": "1704067245000"}, 45.0),
        (429, {"X-RateLimit-Reset": "1704067245", "Retry-After": "7"}, 7.0),
        (429, {"RateLimit": '"default";r=0;t=20'}, 20.0),
        (429, {"RateLimit": "limit=10, remaining=0, reset=20"}, 20.0),
        (429, {"X-RateLimit-Reset": "Mon, 01 Jan 2024 00:00:05 GMT"}, 5.0),
        (429, {"X-RateLimit-Reset": "1600000000"}, 0.0),
        (429, {"X-RateLimit-Reset": "9" * 300}, 86_400.0),
        (429, {"X-RateLimit-Reset": "soon"}, None),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1704067245"}, 45.0),
        (403, {"X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "1704067245"}, None),
        (503, {"X-RateLimit-Reset": "1704067245"}, None),
    ],
)
async def test_a_limited_rate_says_when_it_is_over(
    status: int, headers: dict[str, str], waits: float | None
) -> None:
    """A wait or an instant; Retry-After comes first, and other answers limit no rate."""
    dated = {"Date": "Mon, 01 Jan 2024 00:00:00 GMT", **headers}

    assert (await outcome(httpx.Response(status, headers=dated))).retry_after_s == waits


def _money(amount: str) -> JsonObject:
    return {"amount": amount, "currency": "EUR"}


NAMELESS: JsonObject = {"gebuehr": _money("90.00"), "erstattet": "10,00 EUR"}


@pytest.mark.parametrize(
    ("body", "refund", "fee", "named"),
    [
        ({"fee": _money("90.00"), "refund": _money("10.00")}, "10.00 EUR", "90.00 EUR", []),
        ({"refund_amount": "90.80", "currency": "GBP"}, "90.80 GBP", "None", []),
        ({"refund_status": "pending", "status": "cancelled"}, "None", "None", []),
        (NAMELESS, "None", "None", ["90.00 EUR", "10.00 EUR"]),
    ],
)
async def test_a_cancel_says_what_it_pays_back_and_keeps(
    body: Any, refund: str, fee: str, named: list[str]
) -> None:
    """By the words refund and fee; of amounts called otherwise the ledger counts the largest."""
    came = await outcome(said(body), responses=ANYTHING, others=MAKE, **CANCEL)

    assert (str(came.refund), str(came.fee)) == (refund, fee)
    assert not named or [str(one) for one in came.named] == named


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"id": "1", "success": False, "error": "no {}"}),
        (200, {"id": "1", "error": {"{}": 1}, "x {}": 1}),
        (422, {"title": "not {}"}),
    ],
    ids=["doubted", "breach", "refusal"],
)
async def test_no_reason_holds_a_value_that_was_sent(status: int, body: dict[str, Any]) -> None:
    """Of a refusal, of a breach, and of a success that is not believed."""
    value = "Wilhelmina Exampleton"
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    closed = {JSON: {"schema": {**SCHEMA, "additionalProperties": False}}}
    operation = {
        "x-orchet-pii-required": ["name"],
        "x-orchet-irreversible": True,
        "requestBody": {"content": {JSON: {"schema": schema}}},
        "responses": {
            "200": {"description": "d", "content": closed},
            "422": {"description": "no", "content": PROBLEM},
        },
    }
    answer = said(json.loads(json.dumps(body).replace("{}", value)), status)
    (came,) = await outcomes(
        catalog_of(operation), answer, arguments={"name": "pii:name"}, personal={"name": value}
    )

    assert came.kind != "succeeded"
    assert "Wilhelmina" not in came.model_dump_json()
