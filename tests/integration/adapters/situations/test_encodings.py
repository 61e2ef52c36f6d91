"""Answers in the charsets and the compressions that providers use."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.adapters.conftest import Caller, Provider


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
    call: Caller, provider: Provider, content_type: str, data: bytes
) -> None:
    """UTF-8 whatever the header says, for JSON is; else what the header says."""
    provider.gives(data, content_type)

    outcome = await call("thing_read")

    assert (outcome.body, outcome.contract_breach) == ({"ok": "é€"}, None)


async def test_json_in_an_undeclared_charset_is_no_json(call: Caller, provider: Provider) -> None:
    """Latin-1 that claims to be UTF-8, or nothing: the success stands, the text is kept."""
    provider.gives('{"ok": "é"}'.encode("latin-1"), "application/json; charset=utf-8")

    outcome = await call("thing_read")

    assert (outcome.kind, outcome.body) == ("unknown", '{"ok": "\ufffd"}')
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
    call: Caller, provider: Provider, content_type: str, text: str
) -> None:
    """What its charset cannot mean becomes a replacement character, and nothing raises."""
    provider.gives("é".encode("latin-1"), content_type)

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
async def test_compressed_answers(
    call: Caller, provider: Provider, encoding: str, data: bytes
) -> None:
    """Gzip of one or more members, deflate in both of its readings."""
    provider.gives(data, "application/json")
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
    call: Caller, provider: Provider, encoding: str, bomb: bytes
) -> None:
    """It is unpacked to the limit and no further."""
    provider.gives(bomb, "application/json")
    provider.answer.headers["content-encoding"] = encoding

    outcome = await call("thing_read")

    assert outcome.body is None
    assert outcome.contract_breach == "the answer is larger than 1000000 bytes"
