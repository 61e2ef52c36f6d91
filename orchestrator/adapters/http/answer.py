"""Read a provider's answer within limits, whatever its size and content."""

import asyncio
import codecs
import contextlib
import hashlib
import json
import math
import re
import unicodedata
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from email.utils import collapse_rfc2231_value
from functools import partial
from itertools import islice
from typing import ParamSpec, TypeVar
from urllib.parse import unquote

import httpx
from pydantic import JsonValue

from orchestrator.catalog.inputs import is_json, is_text_type
from orchestrator.core.received_files import FILE, PREFIX, ReceivedFile, digest_of, handle_of_bytes
from orchestrator.core.record import JsonObject

_MAX_DEPTH = 100
_MAX_LISTS = 20_000
"""Lists in an answer: the parser makes more of them only while nothing else can run."""
_LARGE_BYTES = 65_536
_LARGE_VALUES = 2_000
_LARGE_LEVELS = 30
_MAX_COUNTED = 100_000_000
"""Bytes of an unstored file up to which its size and digest are still computed."""
_TOO_LARGE = "it is larger than {:,} bytes, the most that is kept of a file"
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_MEMBERS = 50_000
_PIECE = 16_384
_WINDOW_BITS = {
    "gzip": (zlib.MAX_WBITS | 16,),
    "x-gzip": (zlib.MAX_WBITS | 16,),
    # Half of the servers mean zlib's format by this name, as the standard says; the others mean raw
    # deflate.
    "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),
}
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,99}/[a-z0-9][a-z0-9.+_-]{0,99}")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_ENCODING_OF_TEXT = re.compile(
    r"(utf|iso|cp|mac|koi|euc|gb|big5|shift|kz|ptcp|tis|johab|hz|ascii|latin|hp)[\w-]*"
)
"""Python has other codecs, such as idna and unicode_escape, which no server uses for text."""
_WHOLE = re.compile(r"-?[0-9]{16,}\.0+")
"""A whole number that a double may round."""
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""Half of a character, or an escape that may stand for one."""
_LONGEST_NAME = 100
_LONGEST_HEADER = 2_000
"""Characters that are parsed: the parser copies the rest of a header at each of its semicolons."""
_FOLDERS = re.compile(r"[/\\]")

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """The answer of a provider, as far as it is readable."""

    status: int
    headers: httpx.Headers
    value: JsonValue = None
    """The whole body: parsed JSON, or text."""
    body: JsonValue = None
    """The body to store: JSON, text, or a description of other data."""
    is_text: bool = False
    """True for text: only its beginning is stored, after masking."""
    is_empty: bool = True
    fault: str | None = None
    """Reason why the body is not readable as its content type."""
    file: bytes | None = None
    """The body that is neither JSON nor text, if it is small enough to be stored."""
    is_large: bool = False
    """True if checking the answer may take longer than other calls can wait."""
    repeated: Mapping[str, bool] = field(default_factory=dict)
    """Names that one object of the JSON repeats with different values."""

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; '' if there is none."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def header(self, name: str) -> str:
        """Return a header's first value, for headers that may be sent once; '' without one."""
        return next(iter(self.headers.get_list(name)), "")


class _Unreadable(Exception):
    """The body is unreadable; the text has the reason."""


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
        max_bytes: limit of JSON and text, both as sent and decompressed.
        max_file_bytes: limit of other bodies that are stored whole; a longer body is described.
        declared_types: media types of the document; JSON under any other type is still read as
            JSON, because its content (the id of a booking) is needed all the same.
        masked: hides secret and personal values in the name of a file, before a long name is cut.

    Raises:
        httpx.TransportError: the body broke off.
    """
    bare = Answer(response.status_code, response.headers)
    encoding = bare.header("content-encoding")
    try:
        # The headers announce data that is neither JSON nor text.
        is_file = not is_json(bare.content_type) and not _is_text(bare.content_type, b"")
        kept_bytes = max(max_bytes, max_file_bytes) if is_file else max_bytes
        counts = is_file and encoding.strip().lower() in ("", "identity")
        most_bytes = _MAX_COUNTED if counts else kept_bytes
        received, size, digest = bytearray(), 0, hashlib.sha256()
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > most_bytes:
                raise _Unreadable(f"the answer is larger than {most_bytes} bytes")
            digest.update(chunk)
            if size <= kept_bytes:
                received += chunk
        if size > kept_bytes:
            described = described_file(bare, PREFIX + digest.hexdigest(), size, masked)
            file = unstored_file(described, _TOO_LARGE.format(max_file_bytes))
            return replace(bare, value=file, body=file, is_empty=False)
        data = await _in_thread_if_large(size, _decompressed, bytes(received), encoding, kept_bytes)
    except _Unreadable as unreadable:
        return replace(bare, is_empty=False, fault=str(unreadable))
    if not data:
        return bare
    sniff = bare.content_type not in declared_types and len(data) <= max_bytes
    read = partial(_with_body, bare, data, max_file_bytes, sniff=sniff, masked=masked)
    answer = await _in_thread_if_large(len(data), read)
    if len(data) > _LARGE_BYTES:
        return replace(answer, is_large=True)
    # An answer of few bytes may have many values or levels.
    sizes = list(islice(map(len, _levels(answer.value)), _LARGE_LEVELS + 1))
    return replace(answer, is_large=len(sizes) > _LARGE_LEVELS or sum(sizes) > _LARGE_VALUES)


async def _in_thread_if_large(
    size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    if size <= _LARGE_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def described_file(
    answer: Answer, handle: str, size: int, masked: Callable[[str], str]
) -> ReceivedFile:
    """Return the description of a received file, from the headers of its answer."""
    is_type = _MEDIA_TYPE.fullmatch(answer.content_type) is not None
    return ReceivedFile(
        handle=handle,
        content_type=answer.content_type if is_type else "",
        size_bytes=size,
        name=file_name(answer.header("content-disposition"), masked),
    )


def _with_body(
    bare: Answer, data: bytes, max_file_bytes: int, *, sniff: bool, masked: Callable[[str], str]
) -> Answer:
    charset = _charset(bare.header("content-type"))
    says_json = is_json(bare.content_type)
    looks_like_json = says_json or (sniff and data.lstrip()[:1] in (b"{", b"["))
    too_many = looks_like_json and data.count(b"[") > _MAX_LISTS
    if looks_like_json and not too_many:
        with contextlib.suppress(ValueError, RecursionError):
            repeated: dict[str, bool] = {}
            value = _parsed(data, charset, repeated)
            return replace(bare, value=value, body=value, is_empty=False, repeated=repeated)
    if not says_json and not _is_text(bare.content_type, data):
        described = described_file(bare, handle_of_bytes(data), len(data), masked)
        is_kept, text = len(data) <= max_file_bytes, data.decode("latin-1")
        why = "it is of no mission" if is_kept else _TOO_LARGE.format(max_file_bytes)
        file = unstored_file(described, why)
        kept = data if is_kept else None
        return replace(bare, value=text, body=file, is_empty=False, file=kept)
    text = _whole(data.decode(charset, errors="replace"))
    fault = f"the body is not valid {bare.content_type}" if says_json else None
    fault = f"the answer has more than {_MAX_LISTS:,} lists" if too_many else fault
    return replace(bare, value=text, body=text, is_text=True, is_empty=False, fault=fault)


def unstored_file(file: ReceivedFile, why: str) -> JsonObject:
    """Return the description of a file that is not stored, identified by its digest."""
    described = {name: value for name, value in file.as_answer().items() if name != FILE}
    return {**described, "sha256": digest_of(file.handle), "not_kept": why}


def _decompressed(data: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return the body without its content encoding.

    httpx would decompress each chunk whole: a few kilobytes may hold a gigabyte.
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
    """Return the content of all compressed members; zlib.error: it is compressed otherwise."""
    plain, view, at = bytearray(), memoryview(data), 0
    for _ in range(_MAX_MEMBERS):
        member = zlib.decompressobj(window_bits)
        while not member.eof:
            if at >= len(data):
                raise _Unreadable(f"the answer is not valid {encoding}: it breaks off")
            # In pieces: at its end, a member copies the rest of its input.
            piece = view[at : at + _PIECE]
            plain += member.decompress(piece, max_bytes + 1 - len(plain))
            if len(plain) > max_bytes:
                raise _Unreadable(f"the answer is larger than {max_bytes} bytes")
            at += len(piece) - len(member.unused_data)
        if view[at : at + len(_GZIP_MAGIC)] != _GZIP_MAGIC:
            return bytes(plain)
    raise _Unreadable(f"the answer is of more than {_MAX_MEMBERS:,} compressed members")


def _charset(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    try:
        name = codecs.lookup(found[1] if found else "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _ENCODING_OF_TEXT.fullmatch(name) else "utf-8"


def _is_text(content_type: str, data: bytes) -> bool:
    """Return True for a text type, and for valid UTF-8 without a type."""
    if content_type:
        return is_text_type(content_type)
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parsed(data: bytes, charset: str, repeated: dict[str, bool]) -> JsonValue:
    """Return the JSON value, restricted to values that every later reader accepts.

    JSON is in UTF-8 whatever its content type says; the type's charset is a fallback. Names that
    one object repeats with different values are added to `repeated`, with True unless both values
    are texts.

    Raises:
        ValueError: the data is not JSON, or nests too deeply.
    """
    try:
        text = data.decode(json.detect_encoding(data), errors="surrogatepass")
    except UnicodeDecodeError:
        text = data.decode(charset)

    def members(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        held = dict(pairs)
        if len(held) < len(pairs):
            for name, value in pairs:
                if value != held[name]:
                    is_text = isinstance(value, str) and isinstance(held[name], str)
                    repeated[name] = repeated.get(name, False) or not is_text
        return held

    value: JsonValue = json.loads(
        text.removeprefix("\ufeff"),
        # Some servers write NaN and Infinity for a missing number.
        parse_constant=lambda _: None,
        parse_float=_finite,
        object_pairs_hook=members,
    )
    if any(depth >= _MAX_DEPTH for depth, _ in enumerate(_levels(value))):
        raise ValueError("nested too deeply")
    return _scrubbed(value) if _SURROGATE.search(text) else value


def _finite(text: str) -> float | int | None:
    """Return the number; a whole number that no double represents becomes an integer."""
    number = float(text)
    if not math.isfinite(number):
        return None
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else number


def _levels(value: JsonValue) -> Iterator[list[JsonValue]]:
    """Yield the value, its children, their children, and so on."""
    level = [value]
    while level:
        yield level
        inner: list[JsonValue] = []
        for outer in level:
            if isinstance(outer, dict):
                inner += outer.values()
            elif isinstance(outer, list):
                inner += outer
        level = inner


def _scrubbed(value: JsonValue) -> JsonValue:
    """Remove lone surrogates: JSON may escape them, and no UTF-8 text may hold them."""
    if isinstance(value, dict):
        return {_whole(key): _scrubbed(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_scrubbed(held) for held in value]
    return _whole(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    """Join surrogate pairs, and replace a lone surrogate by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def file_name(disposition: str, masked: Callable[[str], str] = str) -> str:
    """Return the harmless form of the name in a Content-Disposition (RFC 6266); '' without one.

    The name loses folders and control characters, and is shortened to its beginning and ending.
    `masked` hides values in it before the name is shortened.
    """
    message = Message()
    if len(disposition) > _LONGEST_HEADER:
        disposition = masked(disposition)[:_LONGEST_HEADER]
    message["Content-Disposition"] = disposition
    named = [
        value
        for key, value in message.get_params([], header="content-disposition")
        if key.lower() == "filename"
    ]
    # `filename*` names its charset, and takes precedence over `filename`.
    given = next((one for one in named if isinstance(one, tuple)), next(iter(named), ""))
    try:
        name = collapse_rfc2231_value(given)
    except ValueError:  # the charset is a codec of Python that is not a charset of text
        name = unquote(given[2] if isinstance(given, tuple) else given)
    last = _FOLDERS.split(masked(name))[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C")
    bare = " ".join(shown.split()).strip(". ")
    if len(bare) <= _LONGEST_NAME:
        return bare
    stem, dot, ending = bare.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending) <= 10 else ""
    return bare[: _LONGEST_NAME - len(ending)] + ending
