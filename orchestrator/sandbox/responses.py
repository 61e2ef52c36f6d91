"""HTTP responses: declared answers, refusals, and answers that break their document."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from random import Random
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.faults import Breach, OddAnswer
from orchestrator.sandbox.playbook import ProviderAnswer
from orchestrator.sandbox.problems import MEDIA_TYPE, RequestRefused
from orchestrator.sandbox.served_operations import ServedOperation, id_names, may_be_json
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema
from orchestrator.sandbox.wire_values import is_json_type

_BEGINNINGS = {
    "application/pdf": b"%PDF-1.7\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "application/zip": b"PK\x03\x04",
}
_TEXT = "The sandbox made this text up."
_MARKUP = "<made-up/>"
BODILESS = frozenset({204, 205, 304})
TRANSPORT = "sandbox.transport"
"""Key of the app's state that holds the connection, if there is one."""

_PAGE = "<!doctype html><title>{0}</title><h1>{0}</h1><p>Back soon.</p>"
_ERROR = {"error": "not_possible", "message": "It did not work out."}
_UNUSED = re.compile(r"note|remark|comment|description|message")
_OFFSET = re.compile(r"(?<=\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$")
_HUGE = 20_000
_COSTLY = [[0] * 1_000] * 300
_HOSTILE = {
    "Retry-After": "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
    "Content-Disposition": "attachment; filename*=idna''x",
    "Set-Cookie": "a=\u00e9; Path=/",
    "Link": "<<>>; rel=" + ";" * 500,
}
_REFERENCES = ("client_reference", "reference")
_CHUNK = b"fff\r\n"
"""Announces more bytes than will follow."""


def answer_response(
    operation: ServedOperation, answer: ProviderAnswer, *, url: str = ""
) -> Response:
    """Return the answer with the body and the media type that the document declares.

    Each `url` gets different file content.
    """
    replayed = {"Idempotent-Replayed": "true"} if answer.replayed else {}
    headers = {**answer.headers, **replayed}
    kind = operation.answer_type
    if answer.status in BODILESS or (kind is None and answer.body is None):
        return Response(status_code=answer.status, headers=headers)
    if kind is None or may_be_json(kind):
        sent_as = "application/json" if kind is None or "*" in kind else kind
        return JSONResponse(
            answer.body, status_code=answer.status, headers=headers, media_type=sent_as
        )
    main = kind.split(";")[0].strip().lower()
    sent_as = "application/octet-stream" if "*" in main else kind
    named: Mapping[str, str] = {}
    content: str | bytes
    if "xml" in main or "html" in main:
        content = _MARKUP
    elif main.startswith("text/") or "json" in main or "yaml" in main:
        content = _TEXT
    else:
        media_type = sent_as
        label = f"The sandbox made this up for {url}\n".encode()
        content = _BEGINNINGS.get(media_type, b"") + b"\x00\xff\n" + label
        ending = mimetypes.guess_extension(sent_as) or ".bin"
        name = f"{operation.operation_id}{ending}"
        named = {"content-disposition": f'attachment; filename="{name}"'}
    response = Response(content, status_code=answer.status, headers={**named, **headers})
    # Starlette would add a charset to the declared type.
    response.headers["content-type"] = sent_as
    return response


def refusal_response(
    document: Document, operation: ServedOperation, problem: RequestRefused, *, now: datetime
) -> Response:
    """Return a refusal as the document declares it, else as a problem document."""
    declared = operation.raw.get("responses", {}).get(str(problem.status))
    if declared is None:
        return problem.to_response()
    content = document.book.follow(declared).get("content") or {}
    if not content:
        return Response(status_code=problem.status, headers=problem.headers)
    listed = [MEDIA_TYPE, *content] if MEDIA_TYPE in content else content
    media_type = next((name for name in listed if is_json_type(name)), None)
    if media_type is None:
        return problem.to_response()
    body = _fitting(document, content[media_type].get("schema") or {}, problem.to_json(), now)
    return JSONResponse(
        body, status_code=problem.status, headers=problem.headers, media_type=media_type
    )


def _fitting(document: Document, schema: Any, body: dict[str, Any], now: datetime) -> Any:
    if document.book.is_valid(schema, body):
        return body
    scene = Scene(Random(0), now, now, body, lambda name: False, frozenset())
    with suppress(UnsupportedSchema):
        return Synthesizer(document.book, {}).object(schema, scene)
    return body


def gateway_page(status: int) -> Response:
    """Return the error page of a gateway in front of a provider."""
    return HTMLResponse(_PAGE.format(f"Gateway: {status}"), status_code=status)


def broken_success(
    breach: Breach | OddAnswer,
    status: int,
    answer: ProviderAnswer | None = None,
    earlier: Mapping[str, Any] = {},
) -> Response:
    """Return a success status with a body that its document does not declare.

    Args:
        breach: the kind of body.
        status: the declared status.
        answer: the true answer; None for a page or an error.
        earlier: the ids of an earlier answer.
    """
    if breach == "html":
        return HTMLResponse(_PAGE.format("Maintenance"), status_code=status)
    if breach == "error":
        return JSONResponse(_ERROR, status_code=status)
    body = answer.body if answer else {}
    if breach == "no_reference":
        return JSONResponse(_unnamed(body), status_code=status)
    return _odd(breach, status, body if isinstance(body, Mapping) else {}, earlier)


def _odd(
    odd: OddAnswer, status: int, body: Mapping[str, Any], earlier: Mapping[str, Any]
) -> Response:
    headers: Mapping[str, str] = {}
    media_type = "application/json"
    if odd == "null":
        unused = [n for n, v in body.items() if isinstance(v, str) and _UNUSED.search(n)]
        body = {**body, "remark": None, **dict.fromkeys(unused)}
    elif odd == "naive_time":
        body = {n: _OFFSET.sub("", v) if isinstance(v, str) else v for n, v in body.items()}
    elif odd == "surrogate":
        body = {**body, "remark": "\ud83d"}
    elif odd == "hostile_headers":
        headers = _HOSTILE
    elif odd == "other_status":
        status, media_type = 203, "text/plain"
    elif odd == "multi_status":
        items = [{"status": 201}, {"status": 422, "error": "refused"}]
        status, body = 207, {**body, "items": items}
    elif odd == "requires_action":
        body = {**body, "status": "requires_action"}
    elif odd == "says_no":
        body = {**body, "success": False, "error": "it was not done"}
    elif odd == "huge_id":
        body = {**body, **{n: "k" * _HUGE for n in id_names(body) if isinstance(body[n], str)}}
    elif odd == "costly":
        body = {**body, "rows": _COSTLY}
    else:
        body = {**body, **earlier}
    # Not JSONResponse, which cannot write half a character.
    return Response(json.dumps(body), status_code=status, headers=headers, media_type=media_type)


def _unnamed(body: Any) -> Any:
    if isinstance(body, list):
        return [_unnamed(item) for item in body]
    if not isinstance(body, Mapping):
        return body
    names = {*id_names(body), *_REFERENCES}
    return {name: _unnamed(value) for name, value in body.items() if name not in names}


async def drop(scope: Scope, receive: Receive) -> None:
    """Close the connection without an answer.

    Raises:
        ConnectionAbortedError: the app runs without a server, so there is no connection to close.
    """
    _connection(scope).abort()
    await _until_closed(receive)


async def break_off(
    response: Response, scope: Scope, receive: Receive, send: Send, *, in_chunk: bool
) -> None:
    """Send the first half of a response and close the connection.

    Raises:
        ConnectionAbortedError: the app runs without a server, so there is no connection to close.
    """
    connection = _connection(scope)
    body = bytes(response.body)
    headers = [(k, v) for k, v in response.raw_headers if not in_chunk or k != b"content-length"]
    start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
    await send(start)
    half = body[: len(body) // 2]
    await send({"type": "http.response.body", "body": half, "more_body": True})
    if in_chunk:
        connection.write(_CHUNK + body[len(half) :])
    connection.close()
    await _until_closed(receive)


def _connection(scope: Scope) -> asyncio.Transport:
    found: asyncio.Transport | None = scope.get("state", {}).get(TRANSPORT)
    if found is None:
        raise ConnectionAbortedError("dropped on purpose")
    return found


async def _until_closed(receive: Receive) -> None:
    # Returning before the server notices the close would make it send a 500.
    while (await receive())["type"] != "http.disconnect":
        pass
