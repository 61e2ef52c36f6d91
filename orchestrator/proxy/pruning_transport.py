"""httpx transports that prune inside a client, equivalent to the proxy without its process."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

import httpx

from orchestrator.proxy.pruners import shared_pruner
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.model_apis import api_of
from orchestrator.pruning.model_request import IDENTITY, ModelApi
from orchestrator.pruning.pruner import Mode, Pruned, Pruner, read_mode


class PruningTransport(httpx.BaseTransport):
    """Prunes the requests of an `httpx.Client`, and passes them to another transport.

    ```python
    client = OpenAI(http_client=httpx.Client(transport=PruningTransport()))
    ```
    """

    def __init__(
        self,
        transport: httpx.BaseTransport | None = None,
        *,
        mode: Mode = "prune",
        pruner: Pruner | None = None,
    ) -> None:
        """Take the transport to prune for (httpx's own when None), and a pruner."""
        self._inner = transport or httpx.HTTPTransport()
        self._mode = mode
        self._pruner = pruner or shared_pruner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with the tools that fit it."""
        api = _api(request)
        if api is None:
            return self._inner.handle_request(request)
        pruned = self._pruner.prune(
            api, request.read(), _mode(request, self._mode), _coding(request)
        )
        answer = self._inner.handle_request(_with_body(request, pruned))
        return _read_on_its_way(answer, self._pruner, api, pruned)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncPruningTransport(httpx.AsyncBaseTransport):
    """Prunes the requests of an `httpx.AsyncClient`, and passes them to another transport."""

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        mode: Mode = "prune",
        pruner: Pruner | None = None,
    ) -> None:
        """Take the transport to prune for (httpx's own when None), and a pruner."""
        self._inner = transport or httpx.AsyncHTTPTransport()
        self._mode = mode
        self._pruner = pruner or shared_pruner()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with the tools that fit it."""
        api = _api(request)
        if api is None:
            return await self._inner.handle_async_request(request)
        pruned = self._pruner.prune(
            api, await request.aread(), _mode(request, self._mode), _coding(request)
        )
        answer = await self._inner.handle_async_request(_with_body(request, pruned))
        return _read_on_its_way(answer, self._pruner, api, pruned)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _ReadStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The bytes of an answer, read as they pass."""

    def __init__(
        self,
        stream: httpx.SyncByteStream | httpx.AsyncByteStream,
        reader: AnswerReader,
        over: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._reader = reader
        self._over = over

    def __iter__(self) -> Iterator[bytes]:
        for piece in cast(httpx.SyncByteStream, self._stream):
            self._reader.feed(piece)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in cast(httpx.AsyncByteStream, self._stream):
            self._reader.feed(piece)
            yield piece

    def close(self) -> None:
        cast(httpx.SyncByteStream, self._stream).close()
        self._finish()

    async def aclose(self) -> None:
        await cast(httpx.AsyncByteStream, self._stream).aclose()
        self._finish()

    def _finish(self) -> None:
        self._reader.finish()
        self._over()


def _read_on_its_way(
    answer: httpx.Response, pruner: Pruner, api: ModelApi, pruned: Pruned
) -> httpx.Response:
    is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
    reader = AnswerReader(
        api, is_stream=is_stream, coding=answer.headers.get("content-encoding", "identity")
    )
    answer.stream = _ReadStream(answer.stream, reader, lambda: pruner.learn(pruned, reader))
    answer.headers.update(pruned.headers)
    return answer


def _api(request: httpx.Request) -> ModelApi | None:
    return api_of(request.url.path) if request.method == "POST" else None


def _mode(request: httpx.Request, otherwise: Mode) -> Mode:
    return read_mode(request.headers.get("x-orqen-mode"), otherwise)


def _coding(request: httpx.Request) -> str:
    coding: str = request.headers.get("content-encoding", IDENTITY)
    return coding


def _with_body(request: httpx.Request, pruned: Pruned) -> httpx.Request:
    """Return the request with another body, and without the headers for the pruner."""
    dropped = {"content-length", "transfer-encoding"}
    if pruned.coding == IDENTITY:
        dropped.add("content-encoding")
    headers = [
        pair
        for pair in request.headers.multi_items()
        if not pair[0].startswith("x-orqen-") and pair[0] not in dropped
    ]
    return httpx.Request(
        request.method,
        request.url,
        headers=headers,
        content=pruned.body,
        extensions=request.extensions,
    )
