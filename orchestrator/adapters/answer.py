"""Reads a provider's answer: body, reason, waiting time; within limits, whatever it sends."""

import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx
from pydantic import JsonValue

from orchestrator.catalog.inputs import is_json

_MAX_DEPTH = 100
_MAX_TEXT = 2_000
_MAX_REASON = 1_000
_MAX_FIELD_ERRORS = 20
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_IN_PROGRESS = re.compile(
    r"(?:request|operation|key|idempoten\w*).*"
    r"(?:in[ _-]progress|outstanding|(?:being|still) (?:processed|processing|running))",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Answer:
    """What came back, read as far as it can be read."""

    status: int
    headers: httpx.Headers
    data: bytes = b""
    body: JsonValue = None
    """Parsed JSON; the beginning of the text when it is not JSON; None when there is none."""
    fault: str | None = None
    """Why the body could not be read, or not as what it claims to be."""

    @property
    def content_type(self) -> str:
        """The media type without parameters, in lower case; '' when there is none."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()


class _Unreadable(Exception):
    """The body cannot be had; the text says why."""


async def read_answer(response: httpx.Response, *, max_bytes: int) -> Answer:
    """Read a streamed response to its end, or to the limit.

    Args:
        response: opened with `stream=True`; the caller closes it.
        max_bytes: of the body, both as sent and decompressed.

    Raises:
        httpx.TransportError: the body broke off.
    """
    try:
        data = _decompressed(
            await _raw_body(response, max_bytes),
            str(response.headers.get("content-encoding", "")),
            max_bytes,
        )
    except _Unreadable as unreadable:
        return Answer(response.status_code, response.headers, fault=str(unreadable))
    answer = Answer(response.status_code, response.headers, data)
    if not data:
        return answer
    try:
        body = _parsed(data) if is_json(answer.content_type) else _text(data)
    except (ValueError, RecursionError):
        return Answer(
            response.status_code,
            response.headers,
            data,
            _text(data),
            f"the body is not valid {answer.content_type}",
        )
    return Answer(response.status_code, response.headers, data, body)


async def _raw_body(response: httpx.Response, max_bytes: int) -> bytes:
    received = bytearray()
    async for chunk in response.aiter_raw():
        received += chunk
        if len(received) > max_bytes:
            raise _Unreadable(f"the answer is larger than {max_bytes} bytes")
    return bytes(received)


def _decompressed(data: bytes, encoding: str, max_bytes: int) -> bytes:
    """The body without its content encoding.

    Not left to httpx, which decompresses each chunk whole: a few kilobytes may hold a gigabyte.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") or not data:
        return data
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise _Unreadable(f"the answer came in the encoding {encoding!r}, which was not asked for")
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = decompressor.decompress(data, max_bytes + 1)
    except zlib.error:
        raise _Unreadable(f"the answer is not valid {encoding}") from None
    if len(plain) > max_bytes:
        raise _Unreadable(f"the answer is larger than {max_bytes} bytes")
    if not decompressor.eof:
        raise _Unreadable(f"the answer is not valid {encoding}: it breaks off")
    return plain


def _parsed(data: bytes) -> JsonValue:
    """The JSON, if it is JSON that every later reader can take.

    Raises:
        ValueError: it is not, or it holds numbers without end or nests too deeply.
    """
    value: JsonValue = json.loads(data, parse_constant=_refuse, parse_float=_finite)
    _check_depth(value)
    return _scrubbed(value) if _SURROGATE.search(data) else value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


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
    return text.encode(errors="replace").decode()


def _text(data: bytes) -> str:
    return data[: _MAX_TEXT * 4].decode(errors="replace")[:_MAX_TEXT]


def reason_of(answer: Answer) -> str:
    """Why a provider did not do it, in words that a planner can act on.

    Read from problem+json (RFC 9457) and from the shapes that other providers use for the same.
    """
    phrase = _phrase(answer.status)
    if 300 <= answer.status < 400:
        return f"{phrase}: redirects are not followed{_redirect_target(answer.headers)}"
    body = answer.body
    if isinstance(body, dict):
        said = [_said(body, besides=phrase), *_field_errors(body)]
    else:
        said = [" ".join(body.split()) if _is_plain(answer) and isinstance(body, str) else ""]
    text = "; ".join(part for part in said if part)
    return (f"{phrase}: {text}" if text else phrase)[:_MAX_REASON]


def _phrase(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _redirect_target(headers: httpx.Headers) -> str:
    try:
        host = urlsplit(str(headers.get("location", ""))).hostname
    except ValueError:
        host = None
    return f" (it pointed to {host})" if host else ""


def _is_plain(answer: Answer) -> bool:
    return answer.content_type in ("", "text/plain") or is_json(answer.content_type)


def _said(body: Mapping[str, JsonValue], *, besides: str = "") -> str:
    """Title and detail, whatever they are called here, without what `besides` ends in."""
    error = body.get("error")
    if isinstance(error, dict):
        return _said(error, besides=besides)
    candidates = [body.get(key) for key in ("title", "detail", "message", "error_description")]
    texts = [text.strip() for text in (error, *candidates) if isinstance(text, str)]
    return ": ".join(dict.fromkeys(t for t in texts if t and not besides.endswith(f" {t}")))


def _field_errors(body: Mapping[str, JsonValue]) -> list[str]:
    for key in ("errors", "invalid-params", "invalid_params", "violations", "detail"):
        found = body.get(key)
        if isinstance(found, list | dict) and found:
            return list(_each_field_error(found))[:_MAX_FIELD_ERRORS]
    return []


def _each_field_error(found: list[JsonValue] | dict[str, JsonValue]) -> Iterator[str]:
    if isinstance(found, dict):
        for field, problem in found.items():
            problems = problem if isinstance(problem, list) else [problem]
            yield f"{field}: {', '.join(str(text) for text in problems)}"
        return
    for entry in found:
        if isinstance(entry, dict):
            field = _first(entry, "field", "pointer", "name", "path", "loc", "parameter")
            problem = _first(entry, "reason", "detail", "message", "msg", "title")
            yield f"{field}: {problem}" if field else problem
        else:
            yield str(entry)


def _first(entry: Mapping[str, JsonValue], *keys: str) -> str:
    for key in keys:
        value = entry.get(key)
        if isinstance(value, list):
            return ".".join(str(step) for step in value)
        if value not in (None, ""):
            return str(value)
    return ""


def is_in_progress(answer: Answer, *, has_key: bool) -> bool:
    """Whether a 409 says that an earlier request with the same key is still running.

    Providers have no common code for it: the words of the idempotency-key draft, and a
    Retry-After on a conflict, are what there is.
    """
    if answer.status != 409 or not has_key:
        return False
    if "retry-after" in answer.headers:
        return True
    return isinstance(answer.body, dict) and bool(_IN_PROGRESS.search(_progress_text(answer.body)))


def _progress_text(body: Mapping[str, JsonValue]) -> str:
    return " ".join(str(body.get(key, "")) for key in ("type", "code")) + " " + _said(body)


def retry_after_s(headers: httpx.Headers, *, now: datetime) -> float | None:
    """How long the provider asks to wait; None when it does not say.

    Args:
        headers: of the answer; a date is compared with its own Date header when it has one, so
            that a difference between the two clocks does not matter.
        now: aware; used when the answer has no Date.
    """
    asked = str(headers.get("retry-after", "")).strip()
    if asked.isascii() and asked.isdigit():
        return float(asked[:9])
    until = _http_date(asked)
    if until is None:
        return None
    answered = _http_date(str(headers.get("date", ""))) or now
    return max(0.0, (until - answered).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
