"""Answers that break their document: pages and errors above a success status, bodies cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.sandbox.faults import Breach
from orchestrator.sandbox.provider_call import ProviderAnswer
from orchestrator.sandbox.served_operations import id_names

TRANSPORT = "sandbox.transport"
"""Under this name of the app's state stands the connection, where there is one."""

_PAGE = "<!doctype html><title>{0}</title><h1>{0}</h1><p>Back soon.</p>"
_ERROR = {"error": "not_possible", "message": "It did not work out."}
_REFERENCES = ("client_reference", "reference")
_CHUNK = b"fff\r\n"
"""Announces more bytes than will follow."""


def gateway_page(status: int) -> Response:
    """What stands before a provider says when it is in trouble, or knows no such route."""
    return HTMLResponse(_PAGE.format(f"Gateway: {status}"), status_code=status)


def broken_success(breach: Breach, status: int, answer: ProviderAnswer | None = None) -> Response:
    """A success status above a body that its document does not declare.

    Args:
        breach: what is wrong with the body.
        status: the declared one.
        answer: the true answer, whose references are left out; None for other breaches.
    """
    if breach == "html":
        return HTMLResponse(_PAGE.format("Maintenance"), status_code=status)
    if breach == "error":
        return JSONResponse(_ERROR, status_code=status)
    return JSONResponse(_unnamed(answer.body if answer else {}), status_code=status)


def _unnamed(body: Any) -> Any:
    """A body without anything by which the thing that it is about can be named."""
    if isinstance(body, list):
        return [_unnamed(item) for item in body]
    if not isinstance(body, Mapping):
        return body
    names = {*id_names(body), *_REFERENCES}
    return {name: _unnamed(value) for name, value in body.items() if name not in names}


async def drop(scope: Scope, receive: Receive) -> None:
    """Close the connection under the caller.

    Raises:
        ConnectionAbortedError: the app runs without a server whose connection could be closed.
    """
    _connection(scope).abort()
    await _until_closed(receive)


async def break_off(
    response: Response, scope: Scope, receive: Receive, send: Send, *, in_chunk: bool
) -> None:
    """Send the first half of a response and close the connection.

    Raises:
        ConnectionAbortedError: the app runs without a server whose connection could be closed.
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
    # Until the server has noticed, returning without an answer would make it send a 500.
    while (await receive())["type"] != "http.disconnect":
        pass
