"""Calls of Python functions that are tools: the worker itself answers their requests."""

import json
import logging
import traceback
from collections.abc import Mapping
from typing import Any

import httpx
from pydantic import ValidationError

from orchestrator.catalog.python_functions import KEY, FunctionTool, Rejected

_log = logging.getLogger(__name__)


class FunctionTransport(httpx.AsyncBaseTransport):
    """Runs a function for each request, and answers as a provider would.

    Invalid arguments and `Rejected` are refusals: nothing was done. Any other exception is a 500,
    after which a call may have had its effect.
    """

    def __init__(self, functions: Mapping[str, FunctionTool[Any, Any]]) -> None:
        self._functions = dict(functions)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Run the function that the request names.

        Raises:
            httpx.ConnectError: this worker has no such function; another worker may have it.
        """
        name = request.url.path.strip("/")
        function = self._functions.get(name)
        if function is None:
            raise httpx.ConnectError(f"this worker has no function {name}", request=request)
        try:
            given = function.inputs.model_validate_json(await request.aread())
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            return _answer(400, {"title": "invalid arguments", "detail": _words(faults)})
        arguments = {field: getattr(given, field) for field in function.inputs.model_fields}
        if function.takes_key:
            arguments[KEY] = request.headers.get("Idempotency-Key", "")
        try:
            answer = await function.function(**arguments)
            written = function.answer.dump_json(answer)
        except Rejected as rejected:
            return _answer(422, {"title": "rejected", "detail": str(rejected)})
        except Exception as error:
            _log.error("%s raised %s: its effect is unknown", name, _place(error))
            return _answer(500, {"title": type(error).__name__})
        if answer is None:
            return httpx.Response(404 if function.may_find_nothing else 204, stream=_stream(b""))
        return _response(200, "application/json", written)


def _answer(status: int, problem: Mapping[str, str]) -> httpx.Response:
    return _response(status, "application/problem+json", json.dumps(problem).encode())


def _response(status: int, content_type: str, body: bytes) -> httpx.Response:
    headers = {"Content-Type": content_type, "Content-Length": str(len(body))}
    return httpx.Response(status, headers=headers, stream=_stream(body))


def _stream(body: bytes) -> httpx.AsyncByteStream:
    return httpx.ByteStream(body)


def _words(faults: list[Any]) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)


def _place(error: Exception) -> str:
    """Return the type of an exception and its line, without its text, which may be personal."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {last.filename}:{last.lineno}"
