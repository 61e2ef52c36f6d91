"""Reads a provider's answer within limits, whatever it sends."""

import asyncio
import codecs
import contextlib
import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, ParamSpec, TypeVar

import httpx
from pydantic import JsonValue

from orchestrator.adapters.http.file_names import told_name
from orchestrator.catalog.inputs import is_json, is_text_type
from orchestrator.core.received_files import (
    FILE,
    PREFIX,
    ReceivedFile,
    digest_of,
    handle_of_bytes,
)
from orchestrator.core.record import JsonObject

_MAX_DEPTH = 100
_LARGE_BYTES = 65_536
_LARGE_VALUES = 2_000
_LARGE_LEVELS = 30
_MAX_COUNTED = 100_000_000
"""Of a file that is too large to be kept, and only counted and told by its digest."""
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_MEMBERS = 50_000
_PIECE = 16_384
_WINDOW_BITS = {
    "gzip": (zlib.MAX_WBITS | 16,),
    "x-gzip": (zlib.MAX_WBITS | 16,),
    # Half of the servers mean zlib's format by it, as the standard says, the others the bare one.
    "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),
}
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,99}/[a-z0-9][a-z0-9.+_-]{0,99}")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_ENCODING_OF_TEXT = re.compile(
    r"(utf|iso|cp|mac|koi|euc|gb|big5|shift|kz|ptcp|tis|johab|hz|ascii|latin|hp)[\w-]*"
)
"""Python has others by which no server means text, such as idna and unicode_escape."""
_WHOLE = re.compile(r"-?[0-9]{16,}\.0+")
"""A whole number that a double may round."""
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""Half of a character, or an escape that may stand for one."""


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What came back, read as far as it can be read."""

    status: int
    headers: httpx.Headers
    value: JsonValue = None
    """The whole body: parsed JSON, or text."""
    body: JsonValue = None
    """The body as it is kept: JSON, text, of other data what it was."""
    is_text: bool = False
    """Whether it is neither JSON nor data: only its beginning is kept, after it was masked."""
    is_empty: bool = True
    fault: str | None = None
    """Why the body could not be read, or not as what it claims to be."""
    file: bytes | None = None
    """Of data that is neither JSON nor text: all of it, where it is not too large to be kept."""
    is_large: bool = False
    """To check it may take longer than everything else can wait for."""
    repeated: frozenset[str] = frozenset()
    """Names that one object of the JSON gives several values."""

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; '' when there is none."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def header(self, name: str) -> str:
        """A header's first value, for those that may be sent once; '' when there is none."""
        return next(iter(self.headers.get_list(name)), "")


class _Unreadable(Exception):
    """The body cannot be had; the text says why."""


async def read_answer(
    response: httpx.Response,
    *,
    max_bytes: int,
    max_file_bytes: int = 0,
    declared_types: Collection[str] = (),
    masked: Callable[[str], str] = str,
) -> Answer:
    """Read a streamed response to its end, or to the limit.

    Args:
        response: opened with `stream=True`; the caller closes it.
        max_bytes: of a body that is JSON or text, both as sent and decompressed.
        max_file_bytes: of a body that is neither, and is kept whole; of a longer one it is told
            what it is.
        declared_types: the media types that are promised; JSON under any other name is still
            read as JSON, for what it says (the id of a booking) is needed all the same.
        masked: hides in the name of a file what must not be seen, before a long one is cut.

    Raises:
        httpx.TransportError: the body broke off.
    """
    bare = Answer(response.status_code, response.headers)
    encoding = bare.header("content-encoding")
    try:
        kept_bytes = max(max_bytes, max_file_bytes) if _is_file(bare) else max_bytes
        counts = _is_file(bare) and encoding.strip().lower() in ("", "identity")
        raw = await _raw_body(response, _MAX_COUNTED if counts else kept_bytes, kept_bytes)
        if raw.content is None:
            told = _unkept(bare, raw.size, raw.digest, max_file_bytes, masked)
            return replace(bare, value=told, body=told, is_empty=False)
        # In a thread, as what follows is when it is large: everything else goes on meanwhile.
        data = await _aside(len(raw.content), _decompressed, raw.content, encoding, kept_bytes)
    except _Unreadable as unreadable:
        return replace(bare, is_empty=False, fault=str(unreadable))
    if not data:
        return bare
    sniff = bare.content_type not in declared_types and len(data) <= max_bytes
    read = partial(_with_body, bare, data, max_file_bytes, sniff=sniff, masked=masked)
    answer = await _aside(len(data), read)
    is_large = len(data) > _LARGE_BYTES or _is_intricate(answer.value)
    return replace(answer, is_large=is_large)


async def _aside(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do the work, in a thread when it is on much."""
    if size <= _LARGE_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def _is_intricate(value: JsonValue) -> bool:
    """Whether an answer of few bytes is of many values or levels."""
    level, seen = [value], 0
    for _ in range(_LARGE_LEVELS):
        level = [held for outer in level for held in _children(outer)]
        seen += len(level)
        if not level or seen > _LARGE_VALUES:
            break
    return bool(level)


def file_told_by(
    answer: Answer, content: bytes, masked: Callable[[str], str] = str
) -> ReceivedFile:
    """The file that an answer is, as its headers tell of it."""
    return _told(answer, handle_of_bytes(content), len(content), masked)


def _told(answer: Answer, handle: str, size: int, masked: Callable[[str], str]) -> ReceivedFile:
    is_type = _MEDIA_TYPE.fullmatch(answer.content_type) is not None
    return ReceivedFile(
        handle=handle,
        content_type=answer.content_type if is_type else "",
        size_bytes=size,
        name=told_name(answer.header("content-disposition"), masked),
    )


def _with_body(
    bare: Answer,
    data: bytes,
    max_file_bytes: int,
    *,
    sniff: bool,
    masked: Callable[[str], str] = str,
) -> Answer:
    """The answer with its body, by the content type, or else by what it looks like."""
    charset = _charset(bare.header("content-type"))
    says_json = is_json(bare.content_type)
    if says_json or (sniff and data.lstrip()[:1] in (b"{", b"[")):
        with contextlib.suppress(ValueError, RecursionError):
            repeated: set[str] = set()
            value = _parsed(data, charset, repeated)
            found = frozenset(repeated)
            return replace(bare, value=value, body=value, is_empty=False, repeated=found)
    if not says_json and not _is_text(bare.content_type, data):
        text = data.decode("latin-1")
        if len(data) > max_file_bytes:
            digest = hashlib.sha256(data).hexdigest()
            told = _unkept(bare, len(data), digest, max_file_bytes, masked)
            return replace(bare, value=text, body=told, is_empty=False)
        told = unkept_file(file_told_by(bare, data, masked), "it is of no mission")
        return replace(bare, value=text, body=told, is_empty=False, file=data)
    text = _whole(data.decode(charset, errors="replace"))
    fault = f"the body is not valid {bare.content_type}" if says_json else None
    return replace(bare, value=text, body=text, is_text=True, is_empty=False, fault=fault)


def _unkept(
    bare: Answer, size: int, digest: str, most: int, masked: Callable[[str], str]
) -> JsonValue:
    return unkept_file(
        _told(bare, PREFIX + digest, size, masked),
        f"it is larger than {most:,} bytes, the most that is kept of a file",
    )


def unkept_file(told: ReceivedFile, why: str) -> JsonObject:
    """What stands for a file that is not kept, and only known again by its digest."""
    described = {name: value for name, value in told.as_answer().items() if name != FILE}
    return {**described, "sha256": digest_of(told.handle), "not_kept": why}


def _is_file(bare: Answer) -> bool:
    """Whether the headers announce data that is neither JSON nor text."""
    return not is_json(bare.content_type) and not _is_text(bare.content_type, b"")


class _Raw(NamedTuple):
    """A body as it came; without its content where that is more than is kept."""

    content: bytes | None
    size: int
    digest: str


async def _raw_body(response: httpx.Response, max_bytes: int, kept_bytes: int) -> _Raw:
    received, size, digest = bytearray(), 0, hashlib.sha256()
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > max_bytes:
            raise _Unreadable(f"the answer is larger than {max_bytes} bytes")
        digest.update(chunk)
        if size <= kept_bytes:
            received += chunk
    return _Raw(bytes(received) if size <= kept_bytes else None, size, digest.hexdigest())


def _decompressed(data: bytes, encoding: str, max_bytes: int) -> bytes:
    """The body without its content encoding.

    Not left to httpx, which decompresses each chunk whole: a few kilobytes may hold a gigabyte.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") or not data:
        return data
    if encoding not in _WINDOW_BITS:
        raise _Unreadable(f"the answer came in the encoding {encoding!r}, which was not asked for")
    for window_bits in _WINDOW_BITS[encoding]:
        with contextlib.suppress(zlib.error):
            return _inflated(data, window_bits, encoding, max_bytes)
    raise _Unreadable(f"the answer is not valid {encoding}")


def _inflated(data: bytes, window_bits: int, encoding: str, max_bytes: int) -> bytes:
    """The content of all compressed members that follow one another.

    Raises:
        zlib.error: it is not compressed in this way.
    """
    plain, view, at = bytearray(), memoryview(data), 0
    for _ in range(_MAX_MEMBERS):
        member = zlib.decompressobj(window_bits)
        while not member.eof:
            if at >= len(data):
                raise _Unreadable(f"the answer is not valid {encoding}: it breaks off")
            # In pieces: at its end a member copies what is left of the one it was given.
            piece = view[at : at + _PIECE]
            plain += member.decompress(piece, max_bytes + 1 - len(plain))
            if len(plain) > max_bytes:
                raise _Unreadable(f"the answer is larger than {max_bytes} bytes")
            at += len(piece) - len(member.unused_data)
        if view[at : at + len(_GZIP_MAGIC)] != _GZIP_MAGIC:
            return bytes(plain)
    raise _Unreadable(f"the answer is of more than {_MAX_MEMBERS:,} compressed members")


def _charset(content_type: str) -> str:
    """The charset parameter of a content type; utf-8 when there is none that is known."""
    found = _CHARSET.search(content_type)
    try:
        name = codecs.lookup(found[1] if found else "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _ENCODING_OF_TEXT.fullmatch(name) else "utf-8"


def _is_text(content_type: str, data: bytes) -> bool:
    """Whether a reader can make something of it: a type for text, or no type and valid UTF-8."""
    if content_type:
        return is_text_type(content_type)
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parsed(data: bytes, charset: str, repeated: set[str] | None = None) -> JsonValue:
    """The JSON, if it is JSON that every later reader can take.

    JSON is in UTF-8, whatever else its content type says; only what is not is read as that says.
    Names that one object gives several values are added to `repeated`.

    Raises:
        ValueError: it is not, or it holds numbers without end or nests too deeply.
    """
    try:
        text = data.decode(json.detect_encoding(data), errors="surrogatepass")
    except UnicodeDecodeError:
        text = data.decode(charset)

    def members(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        held = dict(pairs)
        if len(held) < len(pairs) and repeated is not None:
            repeated.update(name for name, value in pairs if value != held[name])
        return held

    value: JsonValue = json.loads(
        text.removeprefix("\ufeff"),
        parse_constant=_refuse,
        parse_float=_finite,
        object_pairs_hook=members,
    )
    _check_depth(value)
    return _scrubbed(value) if _SURROGATE.search(text) else value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float | int:
    """The number; a whole one that no double holds keeps its digits, as an integer does."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else number


def _check_depth(value: JsonValue) -> None:
    level: list[JsonValue] = [value]
    for _ in range(_MAX_DEPTH):
        level = [held for outer in level for held in _children(outer)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _scrubbed(value: JsonValue) -> JsonValue:
    """Without lone surrogates: JSON may escape them, and no UTF-8 text may hold them."""
    if isinstance(value, dict):
        return {_whole(key): _scrubbed(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_scrubbed(held) for held in value]
    return _whole(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    """The text with two halves of a character joined, and U+FFFD for a half that is alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
