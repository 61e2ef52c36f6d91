"""Answers that are costly to read, to compare or to mask stop nobody."""

import asyncio
import gzip
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx
import pytest
from pydantic import JsonValue

from orchestrator.adapters.http.answer import Answer, file_name, read_answer
from orchestrator.adapters.http.masking import Mask, hide_secret
from orchestrator.adapters.http.refusal import is_in_progress
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.money import charged_in, stated_price
from orchestrator.core.record import JsonObject
from orchestrator.saga.outcome import ToolOutcome
from tests.unit.adapters.http.one_operation import catalog_of, outcomes

T = TypeVar("T")
JSON_HEADERS = [(b"content-type", b"application/json")]
NODE: JsonObject = {"$ref": "#/components/schemas/Node"}


def growth(make: Callable[[int], T], work: Callable[[T], object], size: int) -> float:
    """How many times longer the work on twice as much takes; the best of three."""

    def best(of: int) -> float:
        times = []
        for _ in range(3):
            given = make(of)
            began = time.process_time()
            work(given)
            times.append(time.process_time() - began)
        return min(times)

    return best(2 * size) / max(best(size), 2e-3)


def one_of(name: str) -> JsonObject:
    """A node that requires a number of this name, and may have a child."""
    properties: JsonObject = {name: {"type": "integer"}, "child": NODE}
    return {"type": "object", "required": [name], "properties": properties}


def nested(levels: int, leaf: JsonValue = 1) -> JsonObject:
    value: JsonObject = {"a": leaf, "b": leaf}
    for _ in range(levels):
        value = {"a": 1, "b": 1, "child": value}
    return value


def answered_by(schema: JsonObject, node: JsonObject | None = None, method: str = "get") -> Catalog:
    """One tool that is answered so."""
    content = {"application/json": {"schema": schema}}
    operation = {"responses": {"200": {"description": "done", "content": content}}}
    return catalog_of(operation, method=method, schemas={"Node": node or {}})


UNIQUE = answered_by({"type": "array", "uniqueItems": True})


async def answered(
    catalog: Catalog,
    *bodies: bytes,
    headers: list[tuple[bytes, bytes]] = JSON_HEADERS,
    status: int = 200,
) -> list[ToolOutcome]:
    """What calls of one client come to, by the bodies of their answers."""
    answers = [httpx.Response(status, headers=headers, content=body) for body in bodies]
    return await outcomes(catalog, *answers, timeout_s=30)


async def read(data: bytes, encoding: str = "") -> Answer:
    """A body as it is read."""
    headers = [*JSON_HEADERS, (b"content-encoding", encoding.encode())]
    response = httpx.Response(200, headers=headers, stream=httpx.ByteStream(data))
    return await read_answer(response, max_bytes=10_000_000)


def test_a_conflict_is_read_in_one_pass() -> None:
    """However often its title begins to say that a request is in progress."""

    def conflict(words: int) -> Answer:
        return Answer(409, httpx.Headers(), body={"title": "request " * words})

    assert growth(conflict, lambda one: is_in_progress(one, has_key=True), 60_000) < 3
    assert not is_in_progress(conflict(60_000), has_key=True)


@pytest.mark.parametrize(
    ("title", "says"),
    [
        ("A request with this key is still being processed", True),
        ("The operation is in progress", True),
        ("idempotency-key outstanding", True),
        ("In progress: another request", False),
        ("Booked already", False),
    ],
)
def test_a_conflict_says_that_its_request_is_in_progress(title: str, says: bool) -> None:
    """By what is requested, and behind it what is said of it."""
    answer = Answer(409, httpx.Headers(), body={"title": title})

    assert is_in_progress(answer, has_key=True) is says


async def test_compressed_members_are_unpacked_in_one_pass() -> None:
    """Each costs the same, and there are at most fifty thousand."""
    member = gzip.compress(b"1", mtime=0)
    many = await read(gzip.compress(b"[1", mtime=0) + member * 40_000 + gzip.compress(b"]"), "gzip")
    more = await read(gzip.compress(b"", mtime=0) * 60_000, "gzip")

    assert many.fault is not None or isinstance(many.value, list)
    assert more.fault == "the answer is of more than 50,000 compressed members"


@pytest.mark.parametrize("work", [stated_price, charged_in])
def test_prices_are_read_in_one_pass(work: Callable[[JsonValue], object]) -> None:
    """Of an answer of thousands of members, numbers or objects."""

    def flat(members: int) -> JsonValue:
        named: JsonObject = {f"k{n}": {"total": n, "currency": "EUR"} for n in range(members)}
        return {"currency": "EUR", **named}

    assert growth(flat, work, 1_900) < 3.5


def test_a_file_name_raises_nothing_and_costs_little() -> None:
    """What Python knows as a codec need not be one of texts; a header of semicolons is cut.

    Its parser copies the rest at each of them.
    """
    for charset in ("idna", "undefined", "nothing"):
        assert file_name(f"attachment; filename*={charset}''a.txt") == "a.txt"
    assert file_name("attachment; filename=a.txt" + ';"' * 100_000) == "a.txt"


def test_a_long_header_is_masked_before_it_is_cut() -> None:
    """Its end, which a name keeps, is no part of a value."""
    secret = "key_live_51HxQ9aVeryLongSecretTokenValue"
    mask = Mask([hide_secret("token", secret)])

    for pad in range(1_940, 1_990, 7):
        assert "key_live" not in file_name(f"attachment; filename={'x' * pad}.{secret}", mask.text)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
async def test_recursive_alternatives_cost_as_much_as_their_value(keyword: str) -> None:
    """A level more is a level more, and not twice as much."""
    catalog = answered_by(NODE, {keyword: [one_of("a"), one_of("b")]})
    async with asyncio.timeout(60):
        bodies = [json.dumps(nested(90, leaf)).encode() for leaf in (1, "x")]
        found = await answered(catalog, *bodies)

    assert [one.contract_breach is None for one in found] == [keyword != "oneOf", False]


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
async def test_breaches_of_alternatives_are_named_as_deep_as_can_be_read(keyword: str) -> None:
    """Those of a value that two alternatives share are named for both."""
    branches: list[Any] = [
        {"properties": {"child": NODE, "kind": {"const": kind}}} for kind in ("p", "q")
    ]
    catalog = answered_by({keyword: branches}, {"properties": {"n": {"type": "integer"}}})
    (found,) = await answered(catalog, b'{"child": {"n": "x"}}')

    assert found.contract_breach == (
        "the value fits none of its alternatives: (child.n must be an integer)"
    )


@pytest.mark.parametrize(
    ("elements", "repeats"),
    [
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], True),
        ([1, 1.0], True),
        ([1, True, "1", None, [1]], False),
        ([{"a": 1}, {"a": 2}], False),
    ],
)
async def test_elements_are_compared_by_their_canonical_form(
    elements: list[JsonValue], repeats: bool
) -> None:
    """As JSON compares values: numbers by value, objects in any order."""
    (found,) = await answered(UNIQUE, json.dumps(elements).encode())

    assert found.contract_breach == ("the value must not repeat an element" if repeats else None)


async def test_many_unique_objects_are_compared_at_once() -> None:
    """An honest answer, that every pair need not be looked at for."""
    async with asyncio.timeout(60):
        many = json.dumps([{"n": n} for n in range(20_000)]).encode()
        (found,) = await answered(UNIQUE, many)

    assert (found.kind, found.contract_breach) == ("succeeded", None)


async def test_a_large_answer_is_checked_like_a_small_one() -> None:
    """In a process of its own: the same body, the same words for what is wrong."""
    element: Any = {"type": "object", "properties": {"n": {"type": "integer"}}}
    catalog = answered_by({"type": "array", "items": element})
    good = [{"n": n, "text": "x" * 50} for n in range(3_000)]
    bodies = [json.dumps(one).encode() for one in (good, [*good, {"n": "x"}])]
    fine, wrong = await answered(catalog, *bodies)

    assert (fine.kind, fine.body, fine.contract_breach) == ("succeeded", good, None)
    assert wrong.contract_breach == "[3000].n must be an integer"


async def test_an_answer_that_is_too_costly_to_check_is_no_success() -> None:
    """Its process ends, whatever it does; the loop went on meanwhile, and the next call is fine."""
    patterns: JsonObject = {f"^{n}?[a-z0-9]*x$": {"maxLength": 3} for n in range(200)}
    catalog = answered_by({"patternProperties": patterns}, method="post")
    body = json.dumps({f"a{n}": n for n in range(60_000)}).encode()
    held: list[float] = []

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.01)
            held.append(time.perf_counter() - began)

    watching = asyncio.ensure_future(watch())
    found, _ = await answered(catalog, body, b"[]")
    watching.cancel()

    assert (found.kind, found.body) == ("unknown", None)
    assert found.reason == "HTTP 200 OK, but its answer is too costly to check"
    assert len(held) > 20


@pytest.mark.parametrize("media_type", [b"application/json", b"text/plain"])
async def test_an_answer_of_too_many_lists_is_not_read(media_type: bytes) -> None:
    """Nothing else would run while the parser makes them; brackets in a text count too."""
    lists = b"[" + b"[]," * 20_000 + b"[]]"
    catalog, headers = answered_by({}, method="post"), [(b"content-type", media_type)]
    (found,) = await answered(catalog, lists, headers=headers)

    assert found.kind == "unknown"
    assert "more than 20,000 lists" in (found.reason or "")


async def test_no_cookie_is_kept_and_none_raises() -> None:
    """Nothing uses them, and a provider decides how many there are and what is in them."""
    headers = [
        *JSON_HEADERS,
        (b"location", b"/x"),
        *[(b"set-cookie", f"c{n}=1; Path=/".encode()) for n in range(1_000)],
        (b"set-cookie", "a=\u00e9; Path=/".encode()),
    ]
    found = await answered(answered_by({}), *[b"[]"] * 3, headers=headers, status=302)

    assert [one.status for one in found] == [302] * 3
