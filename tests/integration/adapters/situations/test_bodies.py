"""What is made of the body of an answer: missing, undeclared, of another type than promised."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.adapters.conftest import CallAt, Caller, Provider, Says

OF_NONE = "it is of no mission"


@pytest.mark.parametrize("status", [204, 205])
async def test_answers_without_content(call_at: CallAt, says: Says, status: int) -> None:
    """Under whatever status of success: what is read from it is not there."""
    port = await says(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status)

    outcome = await call_at(port)("thing_read")

    assert (outcome.kind, outcome.body) == ("unknown", None)
    assert outcome.contract_breach == "the body is missing"


async def test_head_has_no_body_and_none_is_missed(call_at: CallAt, says: Says) -> None:
    """The Content-Length of a HEAD speaks of what a GET would bring."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    port = await says(head)

    outcome = await call_at(port)("thing_probe")

    assert (outcome.kind, outcome.body, outcome.contract_breach) == ("succeeded", None, None)


async def test_a_promised_body_that_is_empty_is_a_breach(call: Caller, provider: Provider) -> None:
    """It is no success: what is read from it is not there."""
    provider.gives(b"", "application/json")

    outcome = await call("thing_read")

    assert (outcome.kind, outcome.body) == ("unknown", None)
    assert outcome.contract_breach == "the body is missing"


async def test_where_no_body_is_promised_none_is_missed(call: Caller, provider: Provider) -> None:
    """Nor is one that comes all the same a breach; it is kept."""
    provider.gives(b"", None)
    assert (await call("thing_none")).contract_breach is None

    provider.gives(b'{"x": 1}', "application/json")
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
    call: Caller, provider: Provider, content_type: str | None, breach: str
) -> None:
    """What it says, a booking's id perhaps, is needed to cancel it; the breach is told."""
    provider.gives(b' {"ok": 1}', content_type)

    outcome = await call("thing_read")

    assert (outcome.body, outcome.contract_breach) == ({"ok": 1}, breach)


async def test_text_where_text_is_promised_is_text(call: Caller, provider: Provider) -> None:
    """Even when it looks like JSON, and whatever parameters the type has."""
    provider.gives(b'{"ok": 1}', "text/plain")

    outcome = await call("thing_text")

    assert (outcome.body, outcome.contract_breach) == ('{"ok": 1}', None)


@pytest.mark.parametrize(
    ("tool", "content_type", "data", "body"),
    [
        ("thing_xml", "application/xml", b"<a>1</a>", "<a>1</a>"),
        ("thing_none", None, "né".encode(), "né"),
    ],
)
async def test_answers_that_are_no_json(
    call: Caller, provider: Provider, tool: str, content_type: str | None, data: bytes, body: str
) -> None:
    """Text is kept as text."""
    provider.gives(data, content_type)

    outcome = await call(tool)

    assert (outcome.kind, outcome.body, outcome.contract_breach) == ("succeeded", body, None)


@pytest.mark.parametrize(
    ("tool", "content_type", "data"),
    [
        ("thing_pdf", "application/pdf", b"%PDF-1.7 \x00\xff"),
        ("thing_none", "image/png", b"\x89PNG\xff"),
        ("thing_none", None, b"\x89PNG\xff"),
    ],
)
async def test_answers_that_are_files(
    call: Caller, provider: Provider, tool: str, content_type: str | None, data: bytes
) -> None:
    """Without a mission they are not kept: in their place stands what they were, and which."""
    provider.gives(data, content_type)

    outcome = await call(tool)

    digest = sha256(data).hexdigest()
    told = {"content_type": content_type, "bytes": len(data), "sha256": digest, "not_kept": OF_NONE}
    assert (outcome.kind, outcome.body, outcome.contract_breach) == ("succeeded", told, None)


async def test_a_long_file_is_counted_and_not_kept(call: Caller, provider: Provider) -> None:
    """The limit of what is kept is none of what is counted."""
    data = bytes(range(256)) * 40_000
    provider.gives(data, "application/pdf")

    outcome = await call("thing_pdf")

    digest = sha256(data).hexdigest()
    why = "it is larger than 10,000,000 bytes, the most that is kept of a file"
    told = {
        "content_type": "application/pdf",
        "bytes": len(data),
        "sha256": digest,
        "not_kept": why,
    }
    assert (outcome.kind, outcome.body, outcome.contract_breach) == ("succeeded", told, None)


async def test_a_long_text_is_cut(call: Caller, provider: Provider) -> None:
    """Two thousand characters are kept."""
    provider.gives(b"x" * 5000, "text/plain")

    assert (await call("thing_text")).body == "x" * 2000


@pytest.mark.parametrize("data", [b'{"ok": 1}', b"[1]"])
async def test_parameters_of_a_declared_type_are_no_part_of_its_name(
    call: Caller, provider: Provider, data: bytes
) -> None:
    """Two types that differ in nothing else promise one schema or the other."""
    provider.gives(data, "application/json")

    assert (await call("thing_versioned")).contract_breach is None
