"""httpx transports that prune inside a client, equivalent to the proxy without its process."""

import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import httpx

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.language.detect import foreign_in
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.conversation_memory import ConversationMemory
from orchestrator.pruning.model_apis import api_named, api_of, api_of_tools
from orchestrator.pruning.model_request import IDENTITY, ModelApi
from orchestrator.pruning.pruner import Mode, Pruned, Pruner, read_mode
from orchestrator.pruning.tool_list import ToolLists
from orchestrator.routing.cards.capability_card import CardCache
from orchestrator.routing.profile import PROXY_LIMIT_S, STEP_LIMIT_S, RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity


@dataclass(frozen=True, slots=True)
class PrunedTools:
    """The tools that fit a conversation, and the headers that describe the choice."""

    tools: list[Any]
    """The given entries, in their order."""
    headers: dict[str, str]


def make_pruner(
    similarity: Callable[[Catalog], CardSimilarity] | None = None,
    profile: RoutingProfile | None = None,
    limit_s: float = PROXY_LIMIT_S,
) -> Pruner:
    """Return a pruner that caches the lists of tools that it has read.

    Without `similarity`, which gives vectors to a list, only words decide. The default profile is
        the fitted one. After the time limit of a routing all tools are forwarded.
    """
    cards = CardCache()

    def router(catalog: Catalog) -> Router:
        return Router(
            catalog,
            profile=profile,
            clock=time.monotonic,
            timeout_s=limit_s,
            similarity=similarity(catalog) if similarity else None,
            cards=cards,
        )

    return Pruner(ToolLists(router), ConversationMemory(secrets.token_bytes(32)))


def warm_up(pruner: Pruner) -> None:
    """Load word lists and vectors, so that no caller waits for them."""
    tools = [
        {"name": "find_flights", "description": "Find flights.", "input_schema": {}},
        {"name": "send_mail", "description": "Send a mail to somebody.", "input_schema": {}},
    ]
    turn = {"role": "user", "content": "send a mail to Ana about the flights of next week"}
    body = json.dumps({"tools": tools, "messages": [turn]}).encode()
    pruner.prune(api_named("messages"), body)
    foreign_in("Das Wetter ist heute leider schlecht.")


def prune(
    tools: Sequence[Mapping[str, Any]],
    messages: str | Sequence[Mapping[str, Any]],
    *,
    api: str | None = None,
    tool_choice: Any = None,
    pruner: Pruner | None = None,
) -> PrunedTools:
    """Return the tools of a request that fit it, for programs that make their own requests.

    ```python
    import orchestrator

    pruned = orchestrator.prune(tools, messages)
    client.chat.completions.create(model=..., messages=messages, tools=pruned.tools)
    ```

    Args:
        tools: in the format of OpenAI's chat completions or responses, or of Anthropic's messages.
        messages: the conversation in the same format; a text is one turn of the user.
        api: `chat`, `responses` or `messages`; None: read from the format of the tools.
        tool_choice: the value in the request.
        pruner: from `make_pruner`; None: one for all such calls, with the built-in embedder.

    Returns:
        All tools after any error, with `x-orqen-routing: fail_open`.

    Raises:
        UsageError: there is no such API.
    """
    form = api_named(api) if api else api_of_tools(tools)
    turns = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    body: dict[str, Any] = {"tools": list(tools)}
    body["input" if form.name == "responses" else "messages"] = list(turns)
    if tool_choice is not None:
        body["tool_choice"] = tool_choice
    pruned = (pruner or shared_pruner()).prune(form, json.dumps(body, default=str).encode())
    kept = pruned.kept if pruned.offered else range(len(tools))
    return PrunedTools([tools[index] for index in kept], pruned.headers)


@cache
def shared_pruner() -> Pruner:
    """Return the pruner of this process, with the time limit of a mission's step.

    Its callers wait in their own process, before a call of seconds.
    """
    made = make_pruner(similarity_in_process(), limit_s=STEP_LIMIT_S)
    warm_up(made)
    return made


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
        self._inner = transport or httpx.HTTPTransport()
        self._mode = mode
        self._pruner = pruner or shared_pruner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with the tools that fit it."""
        api = _api_of(request)
        if api is None:
            return self._inner.handle_request(request)
        sent, pruned = _pruned(request, request.read(), api, self._pruner, self._mode)
        return _read_on_its_way(self._inner.handle_request(sent), self._pruner, api, pruned)

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
        self._inner = transport or httpx.AsyncHTTPTransport()
        self._mode = mode
        self._pruner = pruner or shared_pruner()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request with the tools that fit it."""
        api = _api_of(request)
        if api is None:
            return await self._inner.handle_async_request(request)
        sent, pruned = _pruned(request, await request.aread(), api, self._pruner, self._mode)
        answer = await self._inner.handle_async_request(sent)
        return _read_on_its_way(answer, self._pruner, api, pruned)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


@dataclass(eq=False)
class _ReadStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The bytes of an answer, read as they pass."""

    stream: httpx.SyncByteStream | httpx.AsyncByteStream
    reader: AnswerReader
    over: Callable[[], None]

    def __iter__(self) -> Iterator[bytes]:
        for piece in cast(httpx.SyncByteStream, self.stream):
            self.reader.feed(piece)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in cast(httpx.AsyncByteStream, self.stream):
            self.reader.feed(piece)
            yield piece

    def close(self) -> None:
        cast(httpx.SyncByteStream, self.stream).close()
        self.over()

    async def aclose(self) -> None:
        await cast(httpx.AsyncByteStream, self.stream).aclose()
        self.over()


def _api_of(request: httpx.Request) -> ModelApi | None:
    return api_of(request.url.path) if request.method == "POST" else None


def _pruned(
    request: httpx.Request, body: bytes, api: ModelApi, pruner: Pruner, mode: Mode
) -> tuple[httpx.Request, Pruned]:
    """Return the request with the tools that fit and no headers for the pruner, and the choice."""
    mode = read_mode(request.headers.get("x-orqen-mode"), mode)
    pruned = pruner.prune(api, body, mode, request.headers.get("content-encoding", IDENTITY))
    dropped = {"content-length", "transfer-encoding"}
    if pruned.coding == IDENTITY:
        dropped.add("content-encoding")
    pairs = [pair for pair in request.headers.multi_items() if pair[0] not in dropped]
    headers = [pair for pair in pairs if not pair[0].startswith("x-orqen-")]
    content, extensions = pruned.body, request.extensions
    method, url = request.method, request.url
    sent = httpx.Request(method, url, headers=headers, content=content, extensions=extensions)
    return sent, pruned


def reader_of(answer: httpx.Response, api: ModelApi) -> AnswerReader:
    """Return the reader of an answer."""
    is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
    coding = answer.headers.get("content-encoding", IDENTITY)
    return AnswerReader(api, is_stream=is_stream, coding=coding)


def _read_on_its_way(
    answer: httpx.Response, pruner: Pruner, api: ModelApi, pruned: Pruned
) -> httpx.Response:
    reader = reader_of(answer, api)

    def over() -> None:
        reader.finish()
        pruner.learn(pruned, reader)

    answer.stream = _ReadStream(answer.stream, reader, over)
    answer.headers.update(pruned.headers)
    return answer
