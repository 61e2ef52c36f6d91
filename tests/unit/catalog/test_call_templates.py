"""Runtime expressions, filled from a call and its answer, and conditions over an answer."""

from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.call_templates import (
    fill_template,
    reads_only_response,
    response_headers_read,
)
from orchestrator.catalog.expressions import (
    Expression,
    all_hold,
    parse_condition,
    parse_conditions,
    parse_expression,
    parse_filling,
    value_read,
)
from orchestrator.catalog.tool import (
    Compensation,
    IdempotencyKey,
    InputBinding,
    Tool,
    ToolCallTemplate,
)
from orchestrator.core.record import JsonObject
from tests.fakes import fake_tool

TOOL = Tool(
    name="room_book",
    document="rooms",
    domain="rooms",
    path="/bookings",
    input_schema={"type": "object"},
    idempotency_key=IdempotencyKey(location="header", field="Idempotency-Key"),
    bindings=(
        InputBinding(name="hotel", location="path", field="hotel"),
        InputBinding(name="query_hotel", location="query", field="hotel"),
        InputBinding(name="X-Tenant", location="header", field="X-Tenant"),
        InputBinding(name="guest", location="body", field="guest"),
        InputBinding(name="body_hotel", location="body", field="hotel"),
    ),
)
ARGUMENTS: JsonObject = {
    "hotel": "h1",
    "query_hotel": "h2",
    "X-Tenant": "acme",
    "guest": {"name": "pii:name", "tags": ["vip", "late"]},
    "body_hotel": "h3",
}
ANSWER: JsonObject = {"id": 7, "links": {"a/b": "~x"}, "rooms": [{"n": 1}], "gone": None}


def fill(value: Any, *, tool: Tool = TOOL, answer: Any = ANSWER, **changes: Any) -> Any:
    """Return the value that one argument is filled with; None when it is left out."""
    filled = fill_template(
        ToolCallTemplate(tool="cancel", arguments={"x": value}),
        tool=tool,
        arguments=changes.get("arguments", ARGUMENTS),
        idempotency_key="m.1.2",
        response_body=answer,
        response_headers={"Location": "/bookings/7"},
    )
    return filled.get("x")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$request.path.hotel", "h1"),
        ("$request.query.hotel", "h2"),
        ("$request.body#/hotel", "h3"),
        ("$request.body#/guest/name", "pii:name"),
        ("$request.body#/guest/tags/1", "late"),
        ("$request.body", {"guest": ARGUMENTS["guest"], "hotel": "h3"}),
        ("$request.header.x-tenant", "acme"),
        ("$request.header.idempotency-key", "m.1.2"),
        ("$response.body#/id", 7),
        ("$response.body#/links/a~1b", "~x"),
        ("$response.body#/rooms/0/n", 1),
        ("$response.body", ANSWER),
        ("$response.header.location", "7"),
        ("by the orchestrator", "by the orchestrator"),
        ("", ""),
        ("order {$response.body#/id} of {$request.path.hotel}", "order 7 of h1"),
    ],
)
def test_an_expression_finds_what_was_sent_or_answered(expression: str, value: Any) -> None:
    """Each form of OpenAPI's runtime expressions reads its place; other text is a constant."""
    assert fill(expression) == value


@pytest.mark.parametrize(
    "expression",
    ["$request.path.floor", "$request.query.guest", "$request.body#/guest/age",
     "$request.header.x-none", "$response.body#/missing", "$response.body#/gone",
     "$response.body#/rooms/9/n", "$response.body#/rooms/first", "$response.header.etag",
     "order {$response.body#/missing}"],
)  # fmt: skip
def test_what_finds_nothing_is_left_out(expression: str) -> None:
    """An input is never filled with null or with half a text."""
    assert fill(expression) is None


def test_what_was_not_given_or_answered_is_left_out() -> None:
    """An ambiguous call has no body, a broken one any; optional inputs may be missing."""
    answers: list[JsonValue] = [None, [], "text", 3]
    assert [fill("$response.body#/id", answer=answer) for answer in answers] == [None] * 4
    assert fill("$request.body#/hotel", arguments={"guest": "g"}) is None


def test_a_body_that_is_one_input_is_followed_inside() -> None:
    """The binding with no field is the whole body."""
    tool = TOOL.model_copy(
        update={"bindings": (InputBinding(name="body", location="body", field=""),)}
    )

    assert fill("$request.body#/0/id", tool=tool, arguments={"body": [{"id": "a"}]}) == "a"


@pytest.mark.parametrize(
    "value",
    [None, ["$request.body#/a", "b"], {"a": {"b": "$response.body"}}, "$request",
     "$request.body.id", "$response.body#id", "$response.query.x", "$request.header.",
     "$request.header.a b", "$url", "$respons.body#/x", "a {$nothing} b"],
)  # fmt: skip
def test_a_malformed_filling_is_refused(value: Any) -> None:
    """Null fills nothing; a typo, or an expression inside a constant, must not be sent as text."""
    with pytest.raises(ValueError, match=r"\$|pointer|leave the input out"):
        parse_filling(value)


@pytest.mark.parametrize("constant", [False, 0, 2.5, [], ["late", 1], {"notify": {"by": "mail"}}])
def test_what_is_no_text_is_a_constant(constant: Any) -> None:
    """A constant is sent as it is written, even an empty one."""
    assert fill(constant) == constant


def test_a_list_of_one_expression_is_a_list_of_what_it_reads() -> None:
    """A cancel of several resources gets one id, and a missing value fills nothing."""
    filling = parse_filling(["$response.body#/id"])

    assert filling.expressions == (Expression("response", "body", ("id",)),)
    # `~01` is the text `~1`, not a slash.
    assert parse_expression("$request.body#/a~01") == Expression("request", "body", ("a~1",))
    assert fill(["$response.body#/id"]) == [7]
    assert fill(["$response.body#/nowhere"]) is None


@pytest.mark.parametrize(
    ("template", "filled", "read"),
    [
        (["$response.body#/id"], ["b7"], "b7"),
        ("$response.body#/id", "b7", "b7"),
        ("$response.body#/ids", ["b7"], ["b7"]),
        (["$response.body#/id"], ["b7", "b8"], ["b7", "b8"]),
    ],
)
def test_what_was_read_is_told_from_the_list_around_it(
    template: Any, filled: Any, read: Any
) -> None:
    assert value_read(template, filled) == read


def test_a_template_may_depend_on_the_answer_alone() -> None:
    """Such a cancel cannot be sent when the answer was lost."""
    answered, sent = "$response.body#/id", "$request.body#/ref"
    alone: list[JsonObject] = [{"a": answered}, {"a": answered, "b": "c"}, {"a": answered, "b": 0}]
    others: list[JsonObject] = [{"a": answered, "b": sent}, {"a": "constant"}, {"a": 7}, {}]

    for given in (*alone, *others):
        template = ToolCallTemplate(tool="cancel", arguments=given)
        assert reads_only_response(template) is (given in alone)


def test_the_headers_that_compensation_reads_are_known() -> None:
    """Only those of the answer, in lower case, of cancel and probe."""
    compensation = Compensation(
        cancel=ToolCallTemplate(
            tool="c", arguments={"a": "$response.header.X-Id", "b": "$request.header.X-Tenant"}
        ),
        probe=ToolCallTemplate(tool="p", arguments={"a": "at {$response.header.Location}"}),
    )
    tool = TOOL.model_copy(update={"compensation": compensation})

    assert response_headers_read(tool) == {"x-id", "location"}
    assert response_headers_read(TOOL) == frozenset()


PLACES = fake_tool("cancel").model_copy(
    update={
        "path": "/tenants/{tenant}/seats/{seat}/release",
        "bindings": (InputBinding(name="x", location="path", field="seat"),),
    }
)


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ({"Location": "http://api.example/v1/tenants/acme/seats/a%2F9/release?now=1"}, "a/9"),
        ({"Location": "/tenants/acme/seats/9/"}, "9"),
        ({"Location": "seats/9"}, "9"),
        ({"Location": "9"}, "9"),
        ({"Location": "/seats"}, None),
        ({"Location": "/tickets/9"}, None),
        ({"Location": "http://[broken/seats/9"}, None),
        ({"Location": ""}, None),
        ({"Link": '</seats>; rel="up", </seats/9>; rel="self"'}, "9"),
        ({"Link": "</seats/9>, </seats/10>"}, None),
    ],
)
def test_an_id_in_an_address_is_found_by_the_path_of_the_called_tool(
    headers: dict[str, str], value: str | None
) -> None:
    """Whatever else the address holds; where no path leads to it, nothing is found."""
    (name,) = headers
    filled = fill_template(
        ToolCallTemplate(tool="cancel", arguments={"x": f"$response.header.{name}"}),
        tool=TOOL.model_copy(update={"path": "/seats"}),
        arguments={},
        idempotency_key=None,
        response_body=None,
        response_headers=headers,
        called=PLACES,
    )

    assert filled.get("x") == value


@pytest.mark.parametrize("blank", ["", "  ", "\t\u00a0", "\u200b"])
@pytest.mark.parametrize("value", ["$response.body#/id", ["$response.body#/id"]])
def test_an_id_that_nobody_sees_is_none(value: Any, blank: str) -> None:
    assert fill(value, answer={"id": blank}) is None
    assert fill("order {$response.body#/id}", answer={"id": blank}) is None


BODY: JsonValue = {
    "status": "ok",
    "count": 1,
    "done": True,
    "nothing": None,
    "list": [{"id": "a b"}],
    "a/b": {"c~d": 2},
}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('$response.body#/status == "ok"', True),
        ("$response.body#/status == 'ok'", True),
        ('$response.body#/status=="ok"', True),
        ('  $response.body#/status   ==   "ok"', True),
        ('$response.body#/status == "OK"', False),
        ('$response.body#/status != "failed"', True),
        ('$response.body#/status != "ok"', False),
        ("$response.body#/count == 1", True),
        ("$response.body#/count == 1.0", True),
        ("$response.body#/count == true", False),
        ("$response.body#/done == 1", False),
        ("$response.body#/done == true", True),
        ("$response.body#/done != false", True),
        ("$response.body#/list/0/id == 'a b'", True),
        ("$response.body#/a~1b/c~0d == 2", True),
        ("$response.body#/missing == 1", None),
        ("$response.body#/missing != 1", None),
        ("$response.body#/nothing != 1", None),
        ("$response.body#/list/7/id == 1", None),
        ("$response.body#/status", True),
        ("$response.body#/missing", False),
        ("$response.body#/nothing", False),
        ("!$response.body#/missing", True),
        ("! $response.body#/nothing", True),
        ("!$response.body#/status", False),
        ("$response.body", True),
        ("$statusCode == 200", True),
        ("$statusCode != 200", False),
        ("$statusCode == 202", False),
        ("$response.header.x-state == 'done'", True),
        ("$response.header.X-STATE == 'done'", True),
        ("$response.header.X-Other == 'done'", None),
        ("!$response.header.X-Other", True),
    ],
)
def test_a_condition_holds_or_not_or_cannot_be_told(text: str, verdict: bool | None) -> None:
    """A comparison with a missing value is undecided; presence is always decided."""
    found = parse_condition(text).holds(status=200, headers={"X-State": "done"}, body=BODY)

    assert found is verdict


@pytest.mark.parametrize(
    "text",
    ["", "ok", "$response.body#/status = 'ok'", "$response.body#/status == ok",
     "$response.body#/status == ", "$response.body#/status == null",
     "$response.body#/status == ['ok']", "$response.body#/status > 1",
     "$response.body#status == 1", "!$response.body#/status == 'ok'", "$statusCode",
     "!$statusCode", "$request.body#/status == 'ok'", "$response.path.id == 1", "$url == 'x'",
     "$response.body#/a == 1 && $response.body#/b == 2"],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(ValueError, match=r".+"):
        parse_condition(text)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], (True, "")),
        (["$response.body#/status", "$statusCode == 200"], (True, "")),
        (["$response.body#/x == 1", "$statusCode == 202"], (False, "$statusCode == 202")),
        (["$response.body#/status", "$response.body#/x == 1"], (None, "$response.body#/x == 1")),
    ],
)
def test_several_hold_together(texts: list[str], expected: tuple[bool | None, str]) -> None:
    """One failed condition decides, whatever else is undecided."""
    assert all_hold(parse_conditions(texts), status=200, headers={}, body=BODY) == expected
