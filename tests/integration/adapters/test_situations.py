"""The situations of docs/http.md that the other modules here do not cover, on real sockets."""

import asyncio
import gzip
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.responses import RedirectResponse, Response

from orchestrator.adapters.http import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.errors import ArgumentsInvalid, TransportFailed
from orchestrator.outcome import ToolOutcome
from orchestrator.record import JsonObject
from orchestrator.testing import MemoryPii, MemorySecrets

Start = Callable[[Callable[..., Awaitable[None]]], Awaitable[int]]
Call = Callable[..., Awaitable[ToolOutcome]]
TEXT: JsonObject = {"type": "string"}
SOMETHING: JsonObject = {"type": "object", "required": ["ok"]}


def _operation(method: str, name: str, **more: Any) -> dict[str, Any]:
    read = method in ("get", "head")
    return {
        method: {
            "operationId": name,
            "x-orchet-tool": True,
            **({} if read else {"x-orchet-requires-confirmation": "structured-order"}),
            "responses": {"200": _answer("application/json", SOMETHING)},
            **more,
        }
    }


def _answer(content_type: str, schema: JsonObject) -> dict[str, Any]:
    return {"description": "done", "content": {content_type: {"schema": schema}}}


def _parameter(location: str, name: str, schema: JsonObject, **more: Any) -> dict[str, Any]:
    return {"in": location, "name": name, "schema": schema, **more}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Situations", "version": "1"},
    "servers": [
        {
            "url": "http://127.0.0.1:{port}",
            "variables": {"port": {"default": "1"}},
        }
    ],
    "paths": {
        "/read": _operation("get", "thing_read"),
        "/head": _operation("head", "thing_probe"),
        "/write": _operation("post", "thing_write"),
        "/none": _operation("get", "thing_none", responses={"200": {"description": "done"}}),
        "/text": _operation(
            "get", "thing_text", responses={"200": _answer("text/plain; charset=utf-8", TEXT)}
        ),
        "/xml": _operation(
            "get", "thing_xml", responses={"200": _answer("application/xml", SOMETHING)}
        ),
        "/pdf": _operation("get", "thing_pdf", responses={"200": _answer("application/pdf", TEXT)}),
        "/any": _operation("get", "thing_any", responses={"200": _answer("*/*", SOMETHING)}),
        "/versioned": _operation(
            "get",
            "thing_versioned",
            responses={
                "200": {
                    "description": "done",
                    "content": {
                        "application/json; version=1": {"schema": SOMETHING},
                        "Application/JSON; version=2": {"schema": {"type": "array"}},
                    },
                }
            },
        ),
        "/dates": _operation(
            "get",
            "thing_dates",
            parameters=[
                _parameter("query", "day", {"type": "string", "format": "date"}),
                _parameter("query", "at", {"type": "string", "format": "date-time"}),
                _parameter("query", "on", {"type": "boolean"}),
                _parameter("query", "flags", {"type": "array", "items": {"type": "boolean"}}),
                _parameter("query", "none", {"type": ["string", "null"]}),
                _parameter("query", "count", {"type": "integer"}),
                _parameter(
                    "query", "spaced", {"type": "array"}, style="spaceDelimited", explode=False
                ),
                _parameter(
                    "query", "piped", {"type": "array"}, style="pipeDelimited", explode=False
                ),
                _parameter("header", "X-Tags", {"type": "array", "items": TEXT}),
                _parameter("header", "Host", TEXT),
                _parameter("header", "X-Request-Id", TEXT),
            ],
        ),
        "/optional": _operation(
            "post",
            "thing_optional",
            requestBody={
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {"a": TEXT, "b": {"type": ["string", "null"]}},
                        }
                    }
                }
            },
        ),
        "/required": _operation(
            "post",
            "thing_required",
            requestBody={
                "required": True,
                "content": {
                    "application/json": {"schema": {"type": "object", "properties": {"a": TEXT}}}
                },
            },
        ),
        "/keyed": {
            "get": {
                **_operation(
                    "get",
                    "thing_keyed",
                    parameters=[
                        _parameter(
                            "query", "filter", {"type": "object", "additionalProperties": TEXT}
                        )
                    ],
                )["get"],
                "security": [{"key": []}],
            }
        },
    },
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "key"}}},
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.from_documents({"doc": DOCUMENT})


@pytest.fixture
async def call_at(catalog: Catalog) -> AsyncIterator[Callable[..., Call]]:
    """Makes a function that calls the document's tools at a port."""
    clients = []

    def at(port: int, **options: Any) -> Call:
        client = ToolClient(
            secrets=MemorySecrets({"doc_key": "real-key"}),
            pii=MemoryPii(),
            server_variables={"port": str(port)},
            allowed_private_hosts=["127.0.0.1"],
            **options,
        )
        clients.append(client)

        async def call(
            tool: str, arguments: JsonObject | None = None, *, timeout_s: float = 5
        ) -> ToolOutcome:
            return await client.call(
                catalog,
                catalog.tool(tool),
                arguments or {},
                call_id="m.l.1",
                idempotency_key=None,
                timeout_s=timeout_s,
            )

        return call

    yield at
    for client in clients:
        await client.aclose()


@pytest.fixture
def call(call_at: Callable[..., Call], provider: Any) -> Call:
    return call_at(provider.port)


def _gives(provider: Any, data: bytes, content_type: str | None, status: int = 200) -> None:
    provider.answer = Response(data, status)
    if content_type is not None:
        provider.answer.raw_headers.append((b"content-type", content_type.encode()))


def _says(*pieces: bytes, pause_s: float = 0.0) -> Callable[..., Awaitable[None]]:
    async def conversation(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return conversation


# -- what is sent ---------------------------------------------------------------------------------


async def test_dates_booleans_and_numbers_are_written_as_json_writes_them(
    call: Call, provider: Any
) -> None:
    """A date is its ISO text, and a plus sign or a colon in it is encoded."""
    await call(
        "thing_dates",
        {
            "day": "2026-12-03",
            "at": "2026-12-03T09:30:00+01:00",
            "on": False,
            "flags": [True, False],
            "count": 2.0,
        },
    )

    query = provider.seen[0].target.partition("?")[2].split("&")
    assert [part for part in query if part.startswith("flags")] == ["flags=true", "flags=false"]
    assert set(query) == {
        "at=2026-12-03T09%3A30%3A00%2B01%3A00",
        "count=2",
        "day=2026-12-03",
        "flags=true",
        "flags=false",
        "on=false",
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"day": "2026-13-03"}, "day must be a date like"),
        ({"at": "2026-12-03 09:30"}, "at must be a date and time"),
        ({"on": "yes"}, "on must be a boolean"),
        ({"count": 2.5}, "count must be an integer"),
    ],
)
async def test_values_of_another_type_are_refused(
    call: Call, provider: Any, arguments: JsonObject, problem: str
) -> None:
    """Before anything is sent, with the field and what it should be."""
    with pytest.raises(ArgumentsInvalid, match=problem):
        await call("thing_dates", arguments)

    assert provider.seen == []


async def test_an_optional_parameter_that_is_null_is_left_out(call: Call, provider: Any) -> None:
    """No style can write null; in a JSON body it stands as it is."""
    await call("thing_dates", {"none": None})
    await call("thing_optional", {"b": None})

    assert provider.seen[0].target == "/dates"
    assert provider.seen[1].body == b'{"b":null}'


async def test_bodies_without_content(call: Call, provider: Any) -> None:
    """An optional body that nobody filled is not sent, a required one is an empty object."""
    await call("thing_optional")
    await call("thing_required")
    await call("thing_write")

    optional, required, none = provider.seen
    assert optional.body == none.body == b""
    assert "content-type" not in {*optional.headers, *none.headers}
    assert optional.headers["content-length"] == none.headers["content-length"] == "0"
    assert (required.body, required.headers["content-type"]) == (b"{}", "application/json")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"spaced": ["a b", "c"]}, "spaced holds a space"),
        ({"piped": ["a|b", "c"]}, r"piped holds a pipe"),
        ({"X-Tags": ["a,b", "c"]}, "X-Tags holds a comma"),
    ],
)
async def test_elements_that_could_not_be_told_apart_are_refused(
    call: Call, provider: Any, arguments: JsonObject, problem: str
) -> None:
    """These styles do not encode their delimiter, so the provider would read other elements."""
    with pytest.raises(ArgumentsInvalid, match=f"{problem}, which its style"):
        await call("thing_dates", arguments)

    assert provider.seen == []


async def test_no_argument_sets_a_header_of_the_connection(call: Call, provider: Any) -> None:
    """Host would lead the request to another site of the same server."""
    with pytest.raises(ArgumentsInvalid, match="Host is a header that we set ourselves"):
        await call("thing_dates", {"Host": "internal.example"})

    assert provider.seen == []


async def test_a_header_is_sent_once(call: Call, provider: Any) -> None:
    """A document's own parameter stands in the place of ours, empty lists are left out."""
    await call("thing_dates", {"X-Request-Id": "theirs", "X-Tags": []})

    assert provider.seen[0].headers["x-request-id"] == "theirs"
    assert "x-tags" not in provider.seen[0].headers


async def test_no_argument_stands_where_a_credential_belongs(call: Call, provider: Any) -> None:
    """An object that is spread over the query cannot bring a key of its own."""
    await call("thing_keyed", {"filter": {"key": "planner's", "size": "1"}})

    assert provider.seen[0].target == "/keyed?size=1&key=real-key"


# -- what comes back: bodies ----------------------------------------------------------------------


@pytest.mark.parametrize("status", [204, 205])
async def test_answers_without_content(call_at: Any, raw_provider: Start, status: int) -> None:
    """No body is missed, whatever other answers of the operation promise."""
    port = await raw_provider(_says(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status))

    outcome = await call_at(port)("thing_read")

    assert (outcome.kind, outcome.body) == ("succeeded", None)
    assert outcome.contract_breach == f"the status {status} is not declared"


async def test_head_has_no_body_and_none_is_missed(call_at: Any, raw_provider: Start) -> None:
    """The Content-Length of a HEAD speaks of what a GET would bring."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    port = await raw_provider(_says(head))

    outcome = await call_at(port)("thing_probe")

    assert (outcome.kind, outcome.body, outcome.contract_breach) == ("succeeded", None, None)


async def test_a_promised_body_that_is_empty_is_a_breach(call: Call, provider: Any) -> None:
    """The success stands; what is read from it is not there."""
    _gives(provider, b"", "application/json")

    outcome = await call("thing_read")

    assert (outcome.kind, outcome.body) == ("succeeded", None)
    assert outcome.contract_breach == "the body is missing"


async def test_where_no_body_is_promised_none_is_missed(call: Call, provider: Any) -> None:
    """Nor is one that comes all the same a breach; it is kept."""
    _gives(provider, b"", None)
    assert (await call("thing_none")).contract_breach is None

    _gives(provider, b'{"x": 1}', "application/json")
    outcome = await call("thing_none")

    assert (outcome.body, outcome.contract_breach) == ({"x": 1}, None)


@pytest.mark.parametrize(
    ("content_type", "breach"),
    [
        (None, "the content type of nothing is not declared"),
        ("text/html", "the content type text/html is not declared"),
        ("text/plain; charset=utf-8", "the content type text/plain is not declared"),
        ("application/octet-stream", "the content type application/octet-stream is not declared"),
    ],
)
async def test_json_under_another_name_is_read_all_the_same(
    call: Call, provider: Any, content_type: str | None, breach: str
) -> None:
    """What it says, a booking's id perhaps, is needed to undo it; the breach is told."""
    _gives(provider, b' {"ok": 1}', content_type)

    outcome = await call("thing_read")

    assert (outcome.body, outcome.contract_breach) == ({"ok": 1}, breach)


async def test_text_where_text_is_promised_is_text(call: Call, provider: Any) -> None:
    """Even when it looks like JSON, and whatever parameters the type has."""
    _gives(provider, b'{"ok": 1}', "text/plain")

    outcome = await call("thing_text")

    assert (outcome.body, outcome.contract_breach) == ('{"ok": 1}', None)


@pytest.mark.parametrize(
    ("tool", "content_type", "data", "body"),
    [
        ("thing_xml", "application/xml", b"<a>1</a>", "<a>1</a>"),
        ("thing_pdf", "application/pdf", b"%PDF-1.7 \x00\xff", "(application/pdf, 11 bytes)"),
        ("thing_none", "image/png", b"\x89PNG\xff", "(image/png, 5 bytes)"),
        ("thing_none", None, b"\x89PNG\xff", "(data of no declared type, 5 bytes)"),
        ("thing_none", None, "né".encode(), "né"),
    ],
)
async def test_answers_that_are_no_json(
    call: Call, provider: Any, tool: str, content_type: str | None, data: bytes, body: str
) -> None:
    """Text is kept as text; in the place of other data stands what and how much it was."""
    _gives(provider, data, content_type)

    outcome = await call(tool)

    assert (outcome.kind, outcome.body, outcome.contract_breach) == ("succeeded", body, None)


async def test_a_long_text_is_cut(call: Call, provider: Any) -> None:
    """Two thousand characters are kept."""
    _gives(provider, b"x" * 5000, "text/plain")

    assert (await call("thing_text")).body == "x" * 2000


@pytest.mark.parametrize(
    ("content_type", "body", "breach"),
    [
        ("application/json", {"ok": 1}, None),
        ("application/vnd.shop+json; v=3", {"ok": 1}, None),
        ("application/json", {}, "ok is missing"),
    ],
)
async def test_a_type_that_stands_for_all_is_matched(
    call: Call, provider: Any, content_type: str, body: JsonObject, breach: str | None
) -> None:
    """Documents that only say `*/*` still promise a schema."""
    _gives(provider, b'{"ok": 1}' if body else b"{}", content_type)

    outcome = await call("thing_any")

    assert (outcome.body, outcome.contract_breach) == (body, breach)


@pytest.mark.parametrize("data", [b'{"ok": 1}', b"[1]"])
async def test_parameters_of_a_declared_type_are_no_part_of_its_name(
    call: Call, provider: Any, data: bytes
) -> None:
    """Two types that differ in nothing else promise one schema or the other."""
    _gives(provider, data, "application/json")

    assert (await call("thing_versioned")).contract_breach is None


# -- what comes back: charset and compression -----------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("application/json; charset=utf-8", '{"ok": "é€"}'.encode()),
        ("application/json", '{"ok": "é€"}'.encode()),
        ("application/json", '\ufeff{"ok": "é€"}'.encode()),
        ("application/json", '{"ok": "é€"}'.encode("utf-16")),
        ("application/json; charset=iso-8859-15", '{"ok": "é€"}'.encode("iso-8859-15")),
        ("application/json; charset=latin-1", '{"ok": "é€"}'.encode()),
        ("application/json; charset=klingon", '{"ok": "é€"}'.encode()),
        ('application/json; charset="windows-1252"', '{"ok": "é€"}'.encode("cp1252")),
    ],
)
async def test_json_is_read_in_its_charset(
    call: Call, provider: Any, content_type: str, data: bytes
) -> None:
    """UTF-8 whatever the header says, for JSON is; else what the header says."""
    _gives(provider, data, content_type)

    outcome = await call("thing_read")

    assert (outcome.body, outcome.contract_breach) == ({"ok": "é€"}, None)


async def test_json_in_an_undeclared_charset_is_no_json(call: Call, provider: Any) -> None:
    """Latin-1 that claims to be UTF-8, or nothing: the success stands, the text is kept."""
    _gives(provider, '{"ok": "é"}'.encode("latin-1"), "application/json; charset=utf-8")

    outcome = await call("thing_read")

    assert (outcome.kind, outcome.body) == ("succeeded", '{"ok": "\ufffd"}')
    assert outcome.contract_breach == "the body is not valid application/json"


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("text/plain; charset=iso-8859-1", "é"),
        ("text/plain;charset=ISO-8859-1;format=flowed", "é"),
        ("text/plain", "\ufffd"),
        ("text/plain; charset=utf-8", "\ufffd"),
        ("text/plain; charset=unicode_escape", "\ufffd"),
        ("text/plain; charset=zip", "\ufffd"),
    ],
)
async def test_text_is_read_in_its_charset(
    call: Call, provider: Any, content_type: str, text: str
) -> None:
    """What its charset cannot mean becomes a replacement character, and nothing raises."""
    _gives(provider, "é".encode("latin-1"), content_type)

    assert (await call("thing_text")).body == text


def _raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b'{"ok": 1}')),
        ("x-gzip", gzip.compress(b'{"ok": 1}')),
        ("GZIP", gzip.compress(b'{"ok"') + gzip.compress(b": 1}")),
        ("deflate", zlib.compress(b'{"ok": 1}')),
        ("deflate", _raw_deflate(b'{"ok": 1}')),
        ("identity", b'{"ok": 1}'),
    ],
    ids=["gzip", "x-gzip", "two gzip members", "zlib", "raw deflate", "identity"],
)
async def test_compressed_answers(call: Call, provider: Any, encoding: str, data: bytes) -> None:
    """Gzip of one or more members, deflate in both of its readings."""
    _gives(provider, data, "application/json")
    provider.answer.headers["content-encoding"] = encoding

    outcome = await call("thing_read")

    assert (outcome.body, outcome.contract_breach) == ({"ok": 1}, None)


@pytest.mark.parametrize(
    ("encoding", "bomb"),
    [
        ("gzip", gzip.compress(b" " * 30_000_000)),
        ("gzip", gzip.compress(b" " * 40_000) * 40),
        ("deflate", zlib.compress(b" " * 30_000_000)),
        ("deflate", _raw_deflate(b" " * 30_000_000)),
    ],
    ids=["gzip", "members", "zlib", "raw"],
)
async def test_a_decompression_bomb_stays_under_the_limit(
    call: Call, provider: Any, encoding: str, bomb: bytes
) -> None:
    """It is unpacked to the limit and no further."""
    _gives(provider, bomb, "application/json")
    provider.answer.headers["content-encoding"] = encoding

    outcome = await call("thing_read")

    assert outcome.body is None
    assert outcome.contract_breach == "the answer is larger than 1000000 bytes"


# -- what comes back: streams ---------------------------------------------------------------------

_EVENTS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def test_an_event_stream_is_ended_by_the_deadline(call_at: Any, raw_provider: Start) -> None:
    """A stream that drips for ever is no answer; the connection is closed on it."""
    port = await raw_provider(_says(_EVENTS, *[_chunk(b"data: 1\n\n")] * 200, pause_s=0.05))
    started = time.monotonic()

    with pytest.raises(TransportFailed, match="no complete answer") as failure:
        await call_at(port)("thing_read", timeout_s=0.3)

    assert time.monotonic() - started < 1
    assert failure.value.may_have_arrived is True


async def test_an_event_stream_is_ended_by_the_limit(call_at: Any, raw_provider: Start) -> None:
    """A stream that gushes costs the limit and no more; its status decides."""
    port = await raw_provider(_says(_EVENTS, *[_chunk(b"data: 1\n\n" * 1000)] * 200))

    outcome = await call_at(port, max_answer_bytes=50_000)("thing_read")

    assert (outcome.kind, outcome.body) == ("succeeded", None)
    assert outcome.contract_breach == "the answer is larger than 50000 bytes"


async def test_an_event_stream_that_ends_is_text(call_at: Any, raw_provider: Start) -> None:
    """One that the provider closes in time is kept like any text."""
    port = await raw_provider(_says(_EVENTS, _chunk(b"data: 1\n\n"), b"0\r\n\r\n"))

    outcome = await call_at(port)("thing_read")

    assert outcome.body == "data: 1\n\n"
    assert outcome.contract_breach == "the content type text/event-stream is not declared"


# -- what comes back: heads -----------------------------------------------------------------------


async def test_of_headers_that_come_twice_the_first_counts(
    call_at: Any, raw_provider: Start
) -> None:
    """Those that may come once: content type, Retry-After."""
    head = (
        b"HTTP/1.1 503 Busy\r\nContent-Type: application/problem+json\r\n"
        b"Content-Type: text/html\r\nRetry-After: 3\r\nRetry-After: 9\r\n"
        b"Content-Length: 16\r\n\r\n"
    )
    port = await raw_provider(_says(head, b'{"title":"Full"}'))

    outcome = await call_at(port)("thing_read")

    assert (outcome.retry_after_s, outcome.reason) == (3.0, "HTTP 503 Service Unavailable: Full")


async def test_lengths_that_contradict_are_no_http(call_at: Any, raw_provider: Start) -> None:
    """Where the answer ends cannot be known, so there is none."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n"
    port = await raw_provider(_says(head, b'{"ok": 1}'))

    with pytest.raises(TransportFailed) as failure:
        await call_at(port)("thing_read")

    assert failure.value.may_have_arrived is True


@pytest.mark.parametrize("informational", [b"100 Continue", b"103 Early Hints"])
async def test_informational_answers_are_passed_over(
    call_at: Any, raw_provider: Start, informational: bytes
) -> None:
    """The answer is the one that follows."""
    final = (
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"ok": 1}'
    )
    early = b"HTTP/1.1 " + informational + b"\r\nLink: </x>\r\n\r\n"
    port = await raw_provider(_says(early, early, final))

    assert (await call_at(port)("thing_read")).body == {"ok": 1}


async def test_another_protocol_is_no_answer(call_at: Any, raw_provider: Start) -> None:
    """101 was not asked for, so nothing is known."""
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    port = await raw_provider(_says(head))

    with pytest.raises(TransportFailed) as failure:
        await call_at(port)("thing_write", timeout_s=2)

    assert failure.value.may_have_arrived is True


async def test_a_head_that_never_ends_is_ended_by_the_deadline(
    call_at: Any, raw_provider: Start
) -> None:
    """Header lines keep coming, one at a time."""
    lines = [b"X-%d: y\r\n" % n for n in range(200)]
    port = await raw_provider(_says(b"HTTP/1.1 200 OK\r\n", *lines, pause_s=0.05))

    with pytest.raises(TransportFailed, match="no complete answer"):
        await call_at(port)("thing_read", timeout_s=0.3)


async def test_a_head_without_end_is_no_http(call_at: Any, raw_provider: Start) -> None:
    """Nor is one of unbounded size read on."""
    port = await raw_provider(_says(b"HTTP/1.1 200 OK\r\n", *[b"X: " + b"y" * 4000 + b"\r\n"] * 99))

    with pytest.raises(TransportFailed, match="did not speak HTTP"):
        await call_at(port)("thing_read")


@pytest.mark.parametrize(
    ("status", "kind"), [(301, "rejected"), (302, "unknown"), (303, "unknown"), (308, "rejected")]
)
async def test_a_redirected_write_is_followed_nowhere(
    call: Call, provider: Any, status: int, kind: str
) -> None:
    """302 and 303 may mean that it was done; the others that it should go elsewhere."""
    provider.answer = RedirectResponse("/elsewhere", status)

    outcome = await call("thing_write")

    assert (outcome.kind, len(provider.seen)) == (kind, 1)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/read", "redirects are not followed"),
        ("http://other.example/read?token=1", "(it pointed to other.example)"),
        ("http://[broken", "redirects are not followed"),
    ],
    ids=["loop", "other host", "no url"],
)
async def test_a_redirected_read_is_followed_nowhere(
    call: Call, provider: Any, target: str, told: str
) -> None:
    """One request, whether it points to the same place, to another host or to nowhere."""
    provider.answer = Response(status_code=302)
    provider.answer.raw_headers.append((b"location", target.encode()))

    outcome = await call("thing_read")

    assert (outcome.kind, len(provider.seen)) == ("rejected", 1)
    assert (outcome.reason or "").endswith(told)
    assert "token" not in (outcome.reason or "")
