"""A provider of models on loopback, whose models are scripts: for tests, and for trying things out.

It speaks OpenAI's Responses and chat completions and Anthropic's messages, whole and streamed. A
request that the real provider would not take is answered by its error, and fails the test.
"""

import asyncio
import json
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from inspect import isawaitable
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.proxy.server import address_of, listen
from orchestrator.testing.model_server.api_format import ApiFormat, Event, TokenCount
from orchestrator.testing.model_server.completions_api import CompletionsApi
from orchestrator.testing.model_server.cut_response import CutResponse
from orchestrator.testing.model_server.messages_api import MessagesApi
from orchestrator.testing.model_server.prompt_cache import PromptCache
from orchestrator.testing.model_server.public_schema import schema_breaches
from orchestrator.testing.model_server.received import ReceivedRequest
from orchestrator.testing.model_server.replies import ModelAnswer
from orchestrator.testing.model_server.responses_api import ResponsesApi
from orchestrator.testing.model_server.wire_troubles import (
    CutBody,
    Hang,
    ModelTrouble,
    RawBody,
    StatusTrouble,
    bad_request,
    unauthorized,
)

ModelReply = ModelAnswer | ModelTrouble
ScriptedModel = Callable[[ReceivedRequest], ModelReply | Awaitable[ModelReply]]
"""What answers: a function of the request; one that looks at nothing else answers twice alike."""

KEY: Final = "sk-model-server"
_FORMATS: Final[tuple[ApiFormat, ...]] = (ResponsesApi(), CompletionsApi(), MessagesApi())
_CHARACTERS_A_TOKEN: Final = 4


class ModelServer:
    """Answers for every model, by what was queued and else by its script.

    Example:
        async with ModelServer(lambda asked: call("part_done", summary="Done.")) as server:
            server.next(rate_limited(retry_after=2), cut_body())  # the next two requests
            planner = LlmPlanner(default_model="openai:gpt-5", models=server.model)
    """

    def __init__(
        self,
        script: ScriptedModel | None = None,
        *,
        key: str = KEY,
        port: int = 0,
        must_fit: bool = True,
        is_openai: bool = True,
    ) -> None:
        """Take what answers.

        Args:
            script: asked where nothing was queued; without one the server answers 500.
            key: what requests have to carry; changed later, it is a key that was rotated.
            port: 0 takes a free one.
            must_fit: whether leaving the block fails when a request broke the provider's rules.
            is_openai: whether OpenAI's APIs are OpenAI's own; else those of a server that is
                compatible with them: the schema holds, the rules beside it are not asked for.
        """
        self.script = script
        self.key = key
        self.requests: list[ReceivedRequest] = []
        """All that fitted and carried the key, in order."""
        self.refused: list[str] = []
        """What requests broke of the rules of their API."""
        self.replies: list[ModelReply] = []
        """What each of the requests was answered."""
        self._port, self._must_fit, self._is_openai = port, must_fit, is_openai
        self._queued: deque[ModelReply] = deque()
        self._always: ModelTrouble | None = None
        self._cache = PromptCache()
        self._closing = asyncio.Event()
        self._clients = AsyncExitStack()

    # -- the script -------------------------------------------------------------------------------

    def next(self, *replies: ModelReply) -> None:
        """What the next requests get, one each; then the script answers again."""
        self._queued.extend(replies)

    def always(self, trouble: ModelTrouble | None) -> None:
        """What every request gets from now on; None: all is well again."""
        self._always = trouble

    # -- where it is ------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Its address, without a path: Anthropic's base URL."""
        return address_of(self._listener)

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's two APIs."""
        return f"{self.url}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the libraries of all providers ask this server."""
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": self.key,
        }

    async def __aenter__(self) -> "ModelServer":
        """Listen on loopback."""
        self._listener = listen("127.0.0.1", self._port)
        self._server = _GuestServer(self._config())
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        await self._server.ready.wait()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop; hanging answers are given up.

        Raises:
            AssertionError: a request broke the rules of its API, and the block did not fail itself.
        """
        self._closing.set()
        await self._clients.aclose()
        self._server.should_exit = True
        await self._serving
        if self._must_fit and self.refused and kind is None:
            raise AssertionError("the provider would refuse this: " + "; ".join(self.refused))

    def _config(self) -> uvicorn.Config:
        routes = [Route(api.path, self._answering(api), methods=["POST"]) for api in _FORMATS]
        routes.append(Route("/v1/models", self._list_models))
        routes.append(Route("/{path:path}", self._unknown, methods=["GET", "POST", "DELETE"]))
        return uvicorn.Config(
            Starlette(routes=routes),
            log_config=None,
            lifespan="off",
            ws="none",
            http=H11Protocol,
            timeout_graceful_shutdown=1,
        )

    # -- answering --------------------------------------------------------------------------------

    def _answering(self, api: ApiFormat) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return await self._answer(api, request)
            except ClientDisconnect:  # a worker that died within its request
                return Response(status_code=400)

        return answer

    async def _answer(self, api: ApiFormat, request: Request) -> Response:
        content = await request.body()
        if not self._has_key(request.headers):
            return _error(api, unauthorized())
        received, broken = self._received(api, content, request.headers)
        if received is None or broken:
            self.refused += [f"{api.path}: {reason}" for reason in broken]
            return _error(api, bad_request("; ".join(broken)))
        self.requests.append(received)
        reply = await self._reply(received)
        self.replies.append(reply)
        if isinstance(reply, ModelAnswer):
            return self._whole(api, reply, received)
        return await self._in_trouble(api, reply, received)

    def _received(
        self, api: ApiFormat, content: bytes, headers: Mapping[str, str]
    ) -> tuple[ReceivedRequest | None, list[str]]:
        """A request as it is read, and what it breaks of the rules."""
        try:
            body = json.loads(content)
        except ValueError:
            return None, ["the body is not JSON"]
        if broken := schema_breaches(api.api, body):
            return None, broken
        received = api.read(body, dict(headers), len(self.requests) + 1)
        is_held = self._is_openai or api.api == "messages"
        return received, list(api.breaches(received)) if is_held else []

    def _has_key(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        return given == self.key

    async def _reply(self, received: ReceivedRequest) -> ModelReply:
        if self._always is not None:
            return self._always
        if self._queued:
            return self._queued.popleft()
        if self.script is None:
            return StatusTrouble(500, "api_error", None, "the model server has no script")
        answer = self.script(received)
        return await answer if isawaitable(answer) else answer

    def _whole(self, api: ApiFormat, answer: ModelAnswer, received: ReceivedRequest) -> Response:
        took = self._counted(answer, received)
        headers = {"x-request-id": f"req_{received.number}", "request-id": f"req_{received.number}"}
        if received.streamed:
            pieces = _pieces(api.events(answer, received, took), api)
            media_type = "text/event-stream"
        else:
            pieces = iter([json.dumps(api.whole(answer, received, took)).encode()])
            media_type = "application/json"
        return Response(b"".join(pieces), 200, headers, media_type)

    def _counted(self, answer: ModelAnswer, received: ReceivedRequest) -> TokenCount:
        counted, cached = self._cache.counted(received)
        asked = counted if answer.input_tokens is None else answer.input_tokens
        said = answer.output_tokens
        if said is None:
            told = "".join([answer.text, answer.refusal, answer.thought, *map(str, answer.calls)])
            said = len(told) // _CHARACTERS_A_TOKEN
        known = cached if answer.cached_tokens is None else answer.cached_tokens
        return TokenCount(asked, said, min(known, asked))

    async def _in_trouble(
        self, api: ApiFormat, trouble: ModelTrouble, received: ReceivedRequest
    ) -> Response:
        if isinstance(trouble, StatusTrouble):
            return _error(api, trouble)
        if isinstance(trouble, RawBody):
            return Response(trouble.content, 200, media_type=trouble.media_type)
        if isinstance(trouble, CutBody):
            answer = self._whole(api, ModelAnswer(text="x" * 200), received)
            return CutResponse(bytes(answer.body), trouble.after_bytes, self._hang_up)
        await self._hang(trouble)
        return _error(api, StatusTrouble(504, "timeout_error", None, "It took too long."))

    def _hang_up(self, scope: Scope) -> None:
        """End the connection that a request came by."""
        for connection in list(self._server.server_state.connections):
            if isinstance(connection, H11Protocol) and connection.client == scope["client"]:
                connection.transport.close()

    async def _hang(self, trouble: Hang) -> None:
        try:
            async with asyncio.timeout(trouble.seconds):
                await self._closing.wait()
        except TimeoutError:
            return

    async def _list_models(self, request: Request) -> Response:
        """What a server is asked whether it is there."""
        return JSONResponse({"object": "list", "data": []})

    async def _unknown(self, request: Request) -> Response:
        self.refused.append(f"{request.method} {request.url.path} is no path of any API")
        return JSONResponse({"error": {"message": "Unknown path."}}, 404)

    # -- models -----------------------------------------------------------------------------------

    def model(self, name: str) -> Any:
        """pydantic-ai's model of that name, which asks this server whatever is in the environment.

        Give it as `models` to `LlmPlanner`. Needs the extra `llm`.
        """
        from orchestrator.testing.model_server.library_models import model_at

        return model_at(
            name, url=self.url, openai_url=self.openai_url, key=self.key, clients=self._clients
        )


def _pieces(events: Iterator[Event], api: ApiFormat) -> Iterator[bytes]:
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        yield f"{head}data: {json.dumps(data)}\n\n".encode()
    if api.api == "chat":
        yield b"data: [DONE]\n\n"


def _error(api: ApiFormat, trouble: StatusTrouble) -> Response:
    headers = {} if trouble.retry_after is None else {"retry-after": trouble.retry_after}
    return JSONResponse(api.error(trouble), trouble.status, headers)


class _GuestServer(uvicorn.Server):
    """A server that says when it takes requests, and leaves signals to whom it is a guest of."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
