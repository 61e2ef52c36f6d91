"""Refusals: their reasons, requests in progress, rate limits, and the time to wait."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from pydantic import JsonValue

from orchestrator.adapters.http.answer import Answer
from orchestrator.catalog.inputs import is_json

MAX_REASON: Final = 1_000
"""Characters of a reason that are stored, counted after masking."""
_MAX_FIELD_ERRORS = 20
_LONGEST_WAIT_S = 86_400.0
"""The limit of a wait; no caller waits longer."""
_SECONDS = re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?", re.ASCII)
_LONGEST_DATE = 100
_MAX_WORDS = 2_000
"""Characters of each text of a conflict that are searched for its kind."""
_REQUESTED = re.compile(r"request|operation|key|idempoten", re.IGNORECASE)
_IN_PROGRESS = re.compile(
    r"in[ _-]progress|outstanding|(?:being|still) (?:processed|processing|running)", re.IGNORECASE
)

_RATE_LIMIT = re.compile(r"(?:x-)?rate-?limit(?:-remaining)?")
_RESET = re.compile(r"(?:x-)?rate-?limit-reset")
_RESETS_IN = re.compile(r"(?:^|[;,])\s*(?:t|reset)=([0-9]{1,12})\s*(?:[;,]|$)")
_FIRST_INSTANT = 1e9
_NOTHING_LEFT = re.compile(r"(?:^|[;,])\s*(?:r|remaining)=0\s*(?:[;,]|$)")


def reason_of(answer: Answer) -> str:
    """Return the provider's reason for a refusal, in words that a planner can act on.

    The function reads problem+json (RFC 9457) and other common shapes. The length is up to the
    provider: `Mask.cut` shortens the reason.
    """
    phrase = phrase_of(answer.status)
    if 300 <= answer.status < 400:
        host = None
        with suppress(ValueError):
            host = urlsplit(answer.header("location")).hostname
        target = f" (it pointed to {host})" if host else ""
        return f"{phrase}: redirects are not followed{target}"
    body = answer.body
    if isinstance(body, dict):
        listed = (
            body[key]
            for key in ("errors", "invalid-params", "invalid_params", "violations", "detail")
            if isinstance(body.get(key), list | dict) and body[key]
        )
        errors = islice(_field_errors(next(listed, [])), _MAX_FIELD_ERRORS)
        parts = [_title_and_detail(body, except_for=phrase), *errors]
    else:
        is_plain = answer.content_type in ("", "text/plain") or is_json(answer.content_type)
        parts = [" ".join(body.split())] if is_plain and isinstance(body, str) else []
    text = "; ".join(part for part in parts if part)
    return f"{phrase}: {text}" if text else phrase


def phrase_of(status: int) -> str:
    """Return a status in words: `HTTP 404 Not Found`."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _title_and_detail(body: Mapping[str, JsonValue], *, except_for: str = "") -> str:
    """Return title and detail under their usual names, without `except_for` at their end."""
    error = body.get("error")
    if isinstance(error, dict):
        return _title_and_detail(error, except_for=except_for)
    candidates = [body.get(key) for key in ("title", "detail", "message", "error_description")]
    texts = [text.strip() for text in (error, *candidates) if isinstance(text, str)]
    return ": ".join(dict.fromkeys(t for t in texts if t and not except_for.endswith(f" {t}")))


def _field_errors(found: JsonValue) -> Iterator[str]:
    if isinstance(found, dict):
        for field, problem in found.items():
            problems = problem if isinstance(problem, list) else [problem]
            yield f"{field}: {', '.join(str(text) for text in problems)}"
    for entry in found if isinstance(found, list) else ():
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
    """Return True if a 409 says that an earlier request with the same key is still running.

    There is no common code for this case: only the words of the idempotency-key draft, and a
    Retry-After on a conflict.
    """
    if answer.status != 409 or not has_key:
        return False
    if answer.header("retry-after"):
        return True
    body = answer.body if isinstance(answer.body, dict) else {}
    words = (body.get("type", ""), body.get("code", ""), _title_and_detail(body))
    text = " ".join(str(word)[:_MAX_WORDS] for word in words)
    # Two searches, because one pattern would start again at every word.
    requested = _REQUESTED.search(text)
    return requested is not None and bool(_IN_PROGRESS.search(text, requested.end()))


def is_rate_limit(answer: Answer) -> bool:
    """Return True if a 403 is a rate limit: the request was not processed.

    The signs are `Retry-After`, or a header of the RateLimit family that leaves no request.
    """
    if answer.status != 403:
        return False
    return bool(answer.header("retry-after").strip()) or any(
        _NOTHING_LEFT.search(value) if name.endswith("ratelimit") else value.strip() == "0"
        for name, value in answer.headers.items()
        if _RATE_LIMIT.fullmatch(name)
    )


def retry_after_s(answer: Answer, *, now: datetime) -> float | None:
    """Return how long the provider asks to wait, at most a day; None if the answer has no time.

    A date is compared with the answer's own Date header, so that a difference between the clocks
    does not matter; without one, with `now`.
    """
    answered = _http_date(answer.header("date")) or now
    if (asked := wait_s(answer.header("retry-after"), answered)) is not None:
        return asked
    if answer.status != 429 and not is_rate_limit(answer):
        return None
    resets = (_reset_s(name, value.strip(), answered) for name, value in answer.headers.items())
    return max((wait for wait in resets if wait is not None), default=None)


def wait_s(written: str, since: datetime) -> float | None:
    """Return the wait that a Retry-After states, at most a day; None if it states none."""
    if _SECONDS.fullmatch(written.strip()):
        return min(float(written), _LONGEST_WAIT_S)
    until = _http_date(written)
    return None if until is None else _seconds_until(until, since)


def _reset_s(name: str, value: str, answered: datetime) -> float | None:
    """Return the wait in a header of the RateLimit family; None if it states none.

    A number is a wait in seconds, or an instant in seconds or milliseconds since 1970: no wait is
    as long as an instant.
    """
    if name.endswith("ratelimit") and (found := _RESETS_IN.search(value)) is not None:
        value = found[1]
    elif not _RESET.fullmatch(name):
        return None
    if not _SECONDS.fullmatch(value):
        until = _http_date(value)
        return _seconds_until(until, answered) if until is not None else None
    number = float(value)
    if number >= _FIRST_INSTANT:
        seconds = number if number < _FIRST_INSTANT * 1_000 else number / 1_000
        number = max(0.0, seconds - answered.timestamp())
    return min(number, _LONGEST_WAIT_S)


def _seconds_until(until: datetime, answered: datetime) -> float | None:
    try:
        return min(max(0.0, (until - answered).total_seconds()), _LONGEST_WAIT_S)
    except OverflowError:
        return None


def _http_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text[:_LONGEST_DATE])
    except (LookupError, OverflowError, TypeError, ValueError):
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
