"""A provider of models on loopback whose models are scripts.

It implements OpenAI's Responses and chat completions and Anthropic's messages. A request that the
real provider would refuse gets that provider's error and fails the test.
"""

import asyncio
import json
from bisect import bisect_left
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from inspect import isawaitable
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from orchestrator.proxy.server import ReadyServer, address_of, listen
from orchestrator.testing.model_server.provider_apis import (
    ApiFormat,
    CompletionsApi,
    MessagesApi,
    ResponsesApi,
    TokenCount,
    schema_breaches,
)
from orchestrator.testing.model_server.replies import (
    CutBody,
    Hang,
    ModelAnswer,
    ModelTrouble,
    RawBody,
    ReceivedRequest,
    StatusTrouble,
    bad_request,
    unauthorized,
)
from orchestrator.testing.model_server.streams import streamed

ModelReply = ModelAnswer | ModelTrouble
ScriptedModel = Callable[[ReceivedRequest], ModelReply | Awaitable[ModelReply]]
"""Answers requests, using nothing but the request."""

KEY: Final = "sk-model-server"
_FORMATS: Final[tuple[ApiFormat, ...]] = (ResponsesApi(), CompletionsApi(), MessagesApi())
_CHARACTERS_A_TOKEN: Final = 4
_LEAST_TOKENS: Final = 1_024
_GRAIN: Final = 128
"""OpenAI's cache begins at 1024 tokens and counts in steps of 128; Anthropic's is similar."""
_PROMPTS: Final = 64
_PARTS: Final = ("tools", "system", "instructions", "messages", "input")
"""In the order in which providers put a prompt together."""


class ModelServer:
    """Answers for every model, by queued replies first and by its script otherwise.

    Example:
        async with ModelServer(lambda asked: call("part_done", summary="Done.")) as server:
            server.next(rate_limited(retry_after=2), cut_body())  # the next two requests
            planner = LlmPlanner(default_model="openai:gpt-5", models=server.model)
    """

    def __init__(self, script: ScriptedModel | None = None, *, key: str = KEY) -> None:
        """Create a server that answers 500 when neither a reply is queued nor a script given.

        Args:
            script: called with each request.
            key: required in requests; change it to rotate the key.
        """
        self.script = script
        self.key = key
        self.pause_s = 0.0
        """Time between the events of a stream."""
        self.requests: list[ReceivedRequest] = []
        """The valid requests with the key, in order."""
        self.refused: list[str] = []
        """The rules that requests broke; leaving the block fails if there are any."""
        self.replies: list[ModelReply] = []
        """The reply to each of the requests."""
        self._queued: deque[ModelReply] = deque()
        self._always: ModelTrouble | None = None
        self._prompts: dict[str, deque[str]] = {}
        self._closing = asyncio.Event()
        self._clients = AsyncExitStack()

    def next(self, *replies: ModelReply) -> None:
        """Reply to the next requests with these, one each."""
        self._queued.extend(replies)

    def always(self, trouble: ModelTrouble | None) -> None:
        """Reply to every request with this trouble from now on; None ends it."""
        self._always = trouble

    @property
    def url(self) -> str:
        """The server's root: Anthropic's base URL."""
        return address_of(self._listener)

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's two APIs."""
        return f"{self.url}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make the providers' client libraries use this server."""
        return {
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": self.key,
        }

    def model(self, name: str) -> Any:
        """Return pydantic-ai's model of a name such as `openai:gpt-5`, connected to this server.

        Pass it as `models` to `LlmPlanner`. It needs the extra `llm`.
        """
        from pydantic_ai.models import create_async_httpx2_client, infer_model
        from pydantic_ai.providers import infer_provider_class

        def provider(provider_name: str) -> Any:
            client = create_async_httpx2_client()
            self._clients.push_async_callback(client.aclose)
            made: Any = infer_provider_class(provider_name)
            # Anthropic's library adds the version to the path itself.
            base_url = self.url if provider_name == "anthropic" else self.openai_url
            return made(base_url=base_url, api_key=self.key, http_client=client)

        return infer_model(name, provider)

    async def __aenter__(self) -> "ModelServer":
        """Listen on loopback."""
        self._listener = listen("127.0.0.1", 0)
        ready = asyncio.Event()
        routes = [Route(api.path, self._answering(api), methods=["POST"]) for api in _FORMATS]
        routes.append(Route("/v1/models", self._list_models))
        routes.append(Route("/{path:path}", self._unknown, methods=["GET", "POST", "DELETE"]))
        self._server = ReadyServer(
            uvicorn.Config(
                Starlette(routes=routes),
                log_config=None,
                lifespan="off",
                ws="none",
                http=H11Protocol,
                timeout_graceful_shutdown=1,
            ),
            ready.set,
            is_guest=True,
        )
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        await ready.wait()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop, without waiting for hanging answers.

        Raises:
            AssertionError: a request broke the rules of its API and the block did not fail itself.
        """
        self._closing.set()
        await self._clients.aclose()
        self._server.should_exit = True
        await self._serving
        if self.refused and kind is None:
            raise AssertionError("the provider would refuse this: " + "; ".join(self.refused))

    def _answering(self, api: ApiFormat) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return await self._answer(api, request)
            except ClientDisconnect:  # a worker that died during its request
                return Response(status_code=400)

        return answer

    async def _answer(self, api: ApiFormat, request: Request) -> Response:
        content = await request.body()
        given = request.headers.get("x-api-key") or request.headers.get(
            "authorization", ""
        ).removeprefix("Bearer ")
        if given != self.key:
            return _error(api, unauthorized())
        received, broken = self._received(api, content, request.headers)
        if received is None or broken:
            self.refused += [f"{api.path}: {reason}" for reason in broken]
            return _error(api, bad_request("; ".join(broken)))
        self.requests.append(received)
        reply = await self._reply(received)
        self.replies.append(reply)
        if isinstance(reply, ModelAnswer):
            whole = api.answer(reply, received, self._usage(reply, received))
            number = f"req_{received.number}"
            headers = {"x-request-id": number, "request-id": number}
            if not received.body.get("stream"):
                return JSONResponse(whole, 200, headers)
            events = self._paced(streamed(api.api, reply, whole))
            return StreamingResponse(events, 200, headers, "text/event-stream")
        trouble = reply
        match trouble:
            case StatusTrouble():
                return _error(api, trouble)
            case RawBody():
                return Response(trouble.content, 200, media_type=trouble.media_type)
            case CutBody():
                answer = ModelAnswer(text="x" * 200)
                whole = api.answer(answer, received, self._usage(answer, received))
                is_streamed = received.body.get("stream")
                body = streamed(api.api, answer, whole) if is_streamed else [json.dumps(whole)]
                return _CutResponse("".join(body).encode(), trouble.after_bytes, self._hang_up)
            case Hang():
                with suppress(TimeoutError):
                    async with asyncio.timeout(trouble.seconds):
                        await self._closing.wait()
                return _error(api, StatusTrouble(504, "timeout_error", None, "It took too long."))

    def _received(
        self, api: ApiFormat, content: bytes, headers: Mapping[str, str]
    ) -> tuple[ReceivedRequest | None, list[str]]:
        """Return the request and the rules that it breaks; None if it does not fit the schema."""
        try:
            body = json.loads(content)
        except ValueError:
            return None, ["the body is not JSON"]
        if broken := schema_breaches(api.api, body):
            return None, broken
        read = api.read(body)
        received = ReceivedRequest(
            api=api.api,
            model=str(body.get("model", "")),
            instructions=read.instructions,
            turns=tuple(read.turns),
            tools={tool.name: tool for tool in read.tools},
            body=body,
            headers=dict(headers),
            number=len(self.requests) + 1,
        )
        return received, list(api.breaches(received))

    async def _reply(self, received: ReceivedRequest) -> ModelReply:
        if self._always is not None:
            return self._always
        if self._queued:
            return self._queued.popleft()
        if self.script is None:
            return StatusTrouble(500, "api_error", None, "the model server has no script")
        answer = self.script(received)
        return await answer if isawaitable(answer) else answer

    async def _paced(self, events: Iterator[str]) -> AsyncIterator[str]:
        for event in events:
            yield event
            await asyncio.sleep(self.pause_s)

    def _usage(self, answer: ModelAnswer, received: ReceivedRequest) -> TokenCount:
        """Count tokens; a prompt that begins like an earlier one is partly cached."""
        body = received.body
        read = [json.dumps(body[part], ensure_ascii=False) for part in _PARTS if part in body]
        prompt = "\n".join(read)
        earlier = self._prompts.setdefault(received.model, deque(maxlen=_PROMPTS))
        alike = max((_common_length(prompt, other) for other in earlier), default=0)
        earlier.append(prompt)
        cached = alike // _CHARACTERS_A_TOKEN
        # Anthropic caches only marked parts.
        is_marked = '"cache_control": {' in json.dumps(received.body)
        if cached < _LEAST_TOKENS or (received.api == "messages" and not is_marked):
            cached = 0
        said = "".join([answer.text, answer.refusal, answer.thought, *map(str, answer.calls)])
        return TokenCount(
            input_tokens=len(prompt) // _CHARACTERS_A_TOKEN,
            output_tokens=len(said) // _CHARACTERS_A_TOKEN,
            cached_tokens=cached - cached % _GRAIN,
        )

    def _hang_up(self, scope: Scope) -> None:
        for connection in list(self._server.server_state.connections):
            if isinstance(connection, H11Protocol) and connection.client == scope["client"]:
                connection.transport.close()

    async def _list_models(self, request: Request) -> Response:
        """Answer health checks of a worker."""
        return JSONResponse({"object": "list", "data": []})

    async def _unknown(self, request: Request) -> Response:
        self.refused.append(f"{request.method} {request.url.path} is not a path of any API")
        return JSONResponse({"error": {"message": "Unknown path."}}, 404)


def _error(api: ApiFormat, trouble: StatusTrouble) -> Response:
    headers = {} if trouble.retry_after is None else {"retry-after": trouble.retry_after}
    return JSONResponse(api.error(trouble), trouble.status, headers)


def _common_length(one: str, other: str) -> int:
    def differs(length: int) -> bool:
        return one[:length] != other[:length]

    return bisect_left(range(1, min(len(one), len(other)) + 1), True, key=differs)


class _CutResponse(Response):
    """The first bytes of a body, or not even a status; then the connection closes."""

    def __init__(
        self, content: bytes, after_bytes: int | None, hang_up: Callable[[Scope], None]
    ) -> None:
        super().__init__(content, media_type="application/json")
        self._after_bytes = after_bytes
        self._hang_up = hang_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._after_bytes is not None:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            piece = self.body[: self._after_bytes]
            await send({"type": "http.response.body", "body": bytes(piece), "more_body": True})
        self._hang_up(scope)
        while (await receive())["type"] != "http.disconnect":
            pass
