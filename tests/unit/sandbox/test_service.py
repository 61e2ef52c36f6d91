"""Validation of requests, credentials and planned faults, in this process."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from orchestrator.sandbox import FaultPlan, FaultRule


async def order(http: httpx.AsyncClient, book_id: str, key: str = "m1.leg.1") -> httpx.Response:
    headers = {"Idempotency-Key": key, "X-Request-Id": key}
    return await http.post("/shop/orders", json={"book_id": book_id}, headers=headers)


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({}, "body", "book_id"),
        ({"book_id": 7}, "book_id", "string"),
        ({"book_id": "b", "copies": 0}, "copies", "minimum"),
        ({"book_id": "b", "colour": "red"}, "body", "colour"),
        ({"book_id": "b", "note": "x" * 21}, "note", "too long"),
    ],
)
async def test_bad_body_is_refused_by_field(
    http: httpx.AsyncClient, body: dict[str, Any], field: str, reason: str
) -> None:
    answer = await http.post("/shop/orders", json=body)

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    assert reason in error["reason"]


async def test_bad_parameters_are_all_named(http: httpx.AsyncClient) -> None:
    answer = await http.get("/shop/books", params={"max_price": "cheap", "limit": 0})

    assert answer.status_code == 422
    fields = {error["field"] for error in answer.json()["errors"]}
    assert fields == {"author", "max_price", "limit"}


async def test_refusal_uses_a_status_that_the_document_declares(
    open_app: Callable[..., Any], shop: dict[str, Any]
) -> None:
    """An operation that declares 400 and no 422 answers 400."""
    shop["paths"]["/books"]["get"]["responses"]["400"] = {"description": "Bad."}
    async with open_app() as http:
        answer = await http.get("/shop/books")

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("content_type", "content", "status"),
    [("application/json", b"{book", 422), ("application/x-www-form-urlencoded", b"book_id=b", 415)],
)
async def test_unreadable_body_is_refused(
    http: httpx.AsyncClient, content_type: str, content: bytes, status: int
) -> None:
    """Broken JSON, or a form where JSON is declared, is the caller's mistake, not a crash."""
    headers = {"Content-Type": content_type}
    answer = await http.post("/shop/orders", content=content, headers=headers)

    assert answer.status_code == status


async def test_unknown_path_and_method_are_refused(http: httpx.AsyncClient) -> None:
    """405 lists the methods that the path takes."""
    nowhere = await http.get("/shop/nowhere")
    wrong = await http.patch("/shop/orders")

    assert nowhere.status_code == 404
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "GET, POST")


async def test_secured_operation_wants_a_credential(http: httpx.AsyncClient) -> None:
    for given, status in (("", 401), ("Bearer ", 401), ("Basic abc", 401), ("Bearer abc", 201)):
        answer = await http.post("/shop/vouchers", headers={"Authorization": given})
        assert answer.status_code == status, given


@pytest.mark.parametrize(
    ("scheme", "request_parts"),
    [
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, {"headers": {"X-Key": "k"}}),
        ({"type": "apiKey", "in": "query", "name": "key"}, {"params": {"key": "k"}}),
        ({"type": "apiKey", "in": "cookie", "name": "key"}, {"headers": {"Cookie": "key=k"}}),
        ({"type": "oauth2", "flows": {}}, {"headers": {"Authorization": "Bearer k"}}),
    ],
)
async def test_credential_is_found_where_the_scheme_says(
    open_app: Callable[..., Any],
    shop: dict[str, Any],
    scheme: dict[str, Any],
    request_parts: dict[str, Any],
) -> None:
    """Each kind of scheme is met in its own place and missed elsewhere."""
    shop["components"]["securitySchemes"]["token"] = scheme
    async with open_app() as http:
        met = await http.post("/shop/vouchers", **request_parts)
        missed = await http.post("/shop/vouchers")

    assert (met.status_code, missed.status_code) == (201, 401)


async def test_two_documents_of_one_prefix_are_both_served(
    open_app: Callable[..., Any], shop: dict[str, Any]
) -> None:
    """The second is served under its own name, like one without a server."""
    library = {name: value for name, value in shop.items() if name != "servers"}
    async with open_app(documents={"one": shop, "two": shop, "library": library}) as http:
        listed = (await http.get("/_sandbox/documents")).json()["documents"]
        paths = {d["document"]: d["path"] for d in listed}
        answers = [await http.get(f"{at}/books?author=Eco") for at in paths.values()]

    assert paths == {"one": "/shop", "two": "/two", "library": "/library"}
    assert [answer.status_code for answer in answers] == [200] * 3


@pytest.mark.parametrize(
    ("name", "place"),
    [("Idempotence-Key", "header"), ("idempotency_key", "body"), ("Tag", "header")],
)
async def test_a_key_of_another_name_or_place_is_honoured(
    open_app: Callable[..., Any], shop: dict[str, Any], name: str, place: str
) -> None:
    """Its name says so, or the document: a repetition is answered with the same order."""
    placed = shop["paths"]["/orders"]["post"]
    placed["x-orchet-idempotency-key"] = "tag"
    schema = {"type": "string"}
    if place == "header":
        placed.setdefault("parameters", []).append({"name": name, "in": "header", "schema": schema})
    else:
        body = placed["requestBody"]["content"]["application/json"]["schema"]
        body["properties"][name] = schema
    async with open_app() as http:
        found = await http.get("/shop/books", params={"author": "Ann"})
        book_id = found.json()["books"][0]["book_id"]
        sent: dict[str, Any] = {"json": {"book_id": book_id}, "headers": {}}
        sent["headers" if place == "header" else "json"][name] = "k-1"
        answers = [await http.post("/shop/orders", **sent) for _ in range(2)]
        other = await http.post("/shop/orders", json={"book_id": book_id})

    assert answers[0].json() == answers[1].json()
    assert answers[0].json() != other.json()


@pytest.mark.parametrize("place", ["header", "body"])
async def test_a_cancel_with_a_version_that_has_moved_is_refused(
    open_app: Callable[..., Any], shop: dict[str, Any], faults: FaultPlan, place: str
) -> None:
    """Its read then shows another version, with which the cancel works."""
    paths = shop["paths"]
    read = "$response.header.ETag" if place == "header" else "$response.body#/etag"
    if place == "body":
        shop["components"]["schemas"]["Order"]["properties"]["etag"] = {"type": "string"}
    paths["/orders"]["post"]["x-orchet-compensation-args"]["If-Match"] = read
    version = {"name": "If-Match", "in": "header", "schema": {"type": "string"}}
    paths["/cancellations"]["post"]["parameters"].append(version)
    faults.replace([FaultRule(kind="moved_version", meets="cancel", times=1)])
    async with open_app() as http:
        books = await http.get("/shop/books", params={"author": "Eco"})
        made = await order(http, books.json()["books"][0]["book_id"])
        named = {"order_id": made.json()["order_id"]}

        async def cancel(seen: httpx.Response) -> int:
            sent = {"If-Match": seen.headers.get("etag") or seen.json()["etag"]}
            return int(
                (await http.post("/shop/cancellations", json=named, headers=sent)).status_code
            )

        stale = await cancel(made)
        done = await cancel(await http.get(f"/shop/orders/{named['order_id']}"))

    assert (stale, done) == (412, 200)
