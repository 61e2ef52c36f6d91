"""What comes back: outcomes read from real responses."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from orchestrator.core.budget import Money

BOOKING = {"offer_id": "o1", "traveler_id": "pii:traveler_id"}


def _json(body: Any, status: int = 200, **headers: str) -> Response:
    return JSONResponse(body, status, headers=headers)


def _problem(status: int, body: Any, **headers: str) -> Response:
    return Response(
        json.dumps(body), status, headers=headers, media_type="application/problem+json"
    )


async def test_a_success_brings_body_price_and_the_headers_that_a_cancel_reads(
    call: Any, provider: Any
) -> None:
    """Only the header that a compensation expression names is kept, in lower case."""
    body = {"booking_id": "B1", "price": {"amount": 181.4, "currency": "EUR"}}
    provider.answer = _json(body, 201, Location="/bookings/B1", **{"X-Other": "1"})

    outcome = await call("booking_create", BOOKING)

    assert (outcome.kind, outcome.status, outcome.reason) == ("succeeded", 201, None)
    assert outcome.body == body
    assert outcome.price == Money(amount=Decimal("181.4"), currency="EUR")
    assert outcome.headers == {"location": "/bookings/B1"}
    assert outcome.contract_breach is None


async def test_reading_and_cancelling_cost_nothing(call: Any, provider: Any) -> None:
    """A price in a search result or in a cancel's answer is not money spent."""
    provider.answer = _json({"ok": True, "price": {"amount": 5, "currency": "EUR"}})

    assert (await call("item_get", {"item_id": "1"})).price is None
    assert (await call("booking_cancel", {"booking_id": "B1"})).price is None


async def test_a_success_that_breaks_its_schema_is_none(call: Any, provider: Any) -> None:
    """It may have happened: the breach is reported in words, and settles nothing."""
    provider.answer = _json({"price": {"amount": "many"}}, 201)

    outcome = await call("booking_create", BOOKING)

    breach = "booking_id is missing; price.amount must be a number"
    assert (outcome.kind, outcome.contract_breach, outcome.price) == ("unknown", breach, None)
    assert outcome.reason == f"HTTP 201 Created, but the answer breaks its contract: {breach}"


async def test_an_undeclared_status_and_type_are_breaches(call: Any, provider: Any) -> None:
    """A 202 where 201 is promised, text where JSON is."""
    provider.answer = _json({}, 202)
    accepted = await call("booking_create", BOOKING)
    assert accepted.contract_breach == "the status 202 is not declared"
    assert (accepted.kind, accepted.accepted) == ("unknown", True)

    provider.answer = PlainTextResponse("fine")
    outcome = await call("item_get", {"item_id": "1"})

    assert outcome.body == "fine"
    assert outcome.contract_breach == "the content type text/plain is not declared"


@pytest.mark.parametrize(
    "text",
    [
        b'{"ok":',
        b"[" * 20_000,
        b"[" * 200 + b"]" * 200,
        b"\xff\xfe\x00",
    ],
    ids=["cut", "unclosed", "deep", "no text"],
)
async def test_what_claims_to_be_json_and_is_not_is_kept_as_text(
    call: Any, provider: Any, text: bytes
) -> None:
    """It is no success, the breach says what is wrong, nothing raises."""
    provider.answer = Response(text, media_type="application/json")

    outcome = await call("item_get", {"item_id": "1"})

    assert outcome.kind == "unknown"
    assert isinstance(outcome.body, str)
    assert len(outcome.body) <= 2000
    assert outcome.contract_breach == "the body is not valid application/json"


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
async def test_what_is_no_number_is_null(call: Any, provider: Any, number: str) -> None:
    """Some servers write it for no number; the rest of their answer is whole."""
    provider.answer = Response(f'{{"ok": {number}, "id": "1"}}', media_type="application/json")

    outcome = await call("item_get", {"item_id": "1"})

    assert outcome.body == {"ok": None, "id": "1"}


async def test_a_body_over_the_limit_is_not_read(
    call_at: Callable[..., Any], provider: Any
) -> None:
    """A success needs its body; the breach says why there is none."""
    call = call_at(provider.port, max_answer_bytes=1000)
    provider.answer = _json({"ok": "x" * 1000})

    outcome = await call("item_get", {"item_id": "1"})

    assert (outcome.kind, outcome.body) == ("unknown", None)
    assert outcome.contract_breach == "the answer is larger than 1000 bytes"


@pytest.mark.parametrize(
    ("content", "encoding", "breach"),
    [
        (b"not gzip", "gzip", "the answer is not valid gzip"),
        (gzip.compress(b'{"ok": 1}' * 99)[:-20], "gzip", "the answer is not valid gzip: it br"),
        (b"{}", "br", "the answer came in the encoding 'br', which was not asked for"),
    ],
    ids=["broken", "cut", "unknown"],
)
async def test_bad_compression_is_a_breach(
    call: Any, provider: Any, content: bytes, encoding: str, breach: str
) -> None:
    """Small bodies that unpack to huge ones, and broken ones, cost no memory and no outcome."""
    provider.answer = Response(
        content, headers={"content-encoding": encoding}, media_type="application/json"
    )

    outcome = await call("item_get", {"item_id": "1"})

    assert (outcome.kind, outcome.body) == ("unknown", None)
    assert outcome.contract_breach is not None
    assert outcome.contract_breach.startswith(breach)


async def test_a_problem_document_becomes_the_reason(call: Any, provider: Any) -> None:
    """Title, detail and the fields at fault, as one line."""
    provider.answer = _problem(
        422,
        {
            "title": "Unprocessable",
            "detail": "Two fields are wrong.",
            "errors": [
                {"field": "offer_id", "reason": "expired"},
                {"pointer": "/x", "detail": "y"},
            ],
        },
    )

    outcome = await call("booking_create", BOOKING)

    assert outcome.kind == "rejected"
    assert outcome.reason == (
        f"{outcome.reason.split(':')[0]}: "
        "Unprocessable: Two fields are wrong.; offer_id: expired; /x: y"
    )
    assert outcome.reason.startswith("HTTP 422 ")
    assert outcome.contract_breach is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "no seats"}, "no seats"),
        ({"error": "gone"}, "gone"),
        ({"error": {"message": "late", "code": 3}}, "late"),
        ({"errors": {"city": ["unknown", "empty"]}}, "city: unknown, empty"),
        ({"detail": [{"loc": ["body", "age"], "msg": "too low"}]}, "body.age: too low"),
        (["a"], ""),
    ],
)
async def test_other_error_shapes_are_read_too(
    call: Any, provider: Any, body: Any, said: str
) -> None:
    """Providers that do not speak problem+json still give a planner something to act on."""
    provider.answer = _json(body, 404)

    outcome = await call("item_get", {"item_id": "1"})

    assert outcome.reason == ("HTTP 404 Not Found: " + said if said else "HTTP 404 Not Found")


async def test_a_page_of_html_is_no_reason(call: Any, provider: Any) -> None:
    """A proxy's error page is not put before a planner."""
    provider.answer = Response("<h1>oops</h1>", 502, media_type="text/html")

    outcome = await call("item_get", {"item_id": "1"})

    assert (outcome.kind, outcome.reason) == ("unknown", "HTTP 502 Bad Gateway")
    assert outcome.contract_breach is None


async def test_a_conflict_with_a_running_request_of_the_same_key_is_unknown(
    call: Any, provider: Any
) -> None:
    """The words of the idempotency-key draft, or a Retry-After, mark it; other 409s refuse."""
    provider.answer = _problem(409, {"title": "A request is outstanding for this Idempotency-Key"})
    assert (await call("booking_create", BOOKING)).kind == "unknown"

    provider.answer = _problem(409, {"title": "Conflict"}, **{"Retry-After": "2"})
    assert (await call("booking_create", BOOKING)).kind == "unknown"

    provider.answer = _problem(409, {"title": "Sold out", "detail": "Maintenance in progress."})
    assert (await call("booking_create", BOOKING)).kind == "rejected"
