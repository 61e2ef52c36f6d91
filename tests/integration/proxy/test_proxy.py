"""The proxy over real sockets, with the providers' own clients.

Each test imports the client that it needs: in collecting, every process of a run would pay for all.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.proxy.proxy_app import Exchange, Proxy, Upstream, create_proxy
from orchestrator.proxy.server import running_app
from orchestrator.pruning.conversation_memory import ConversationMemory
from orchestrator.pruning.pruner import Pruner
from orchestrator.pruning.tool_list import ToolLists
from orchestrator.routing.router import Router
from tests.integration.proxy.model_server import ModelServer
from tests.unit.pruning.test_pruner import CHAT_TOOLS, CLAUDE_TOOLS, NAMED_TOOLS, chat

if TYPE_CHECKING:
    import anthropic
    import openai

    OpenAIClient = Callable[..., openai.AsyncOpenAI]
    AnthropicClient = Callable[..., anthropic.AsyncAnthropic]

Post = Callable[..., Awaitable[httpx.Response]]
LONDON: Any = [{"role": "user", "content": "weather in London"}]
TOOLS: dict[str, Any] = {"chat": CHAT_TOOLS, "responses": NAMED_TOOLS, "messages": CLAUDE_TOOLS}


@pytest.fixture
async def clients() -> AsyncIterator[AsyncExitStack]:
    """Closes the clients that a test opens."""
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def openai_client(clients: AsyncExitStack) -> OpenAIClient:
    """Opens OpenAI's own client for a proxy."""
    import openai

    def opened(proxy: str, key: str = "sk-planted-7f3a") -> openai.AsyncOpenAI:
        client = openai.AsyncOpenAI(base_url=f"{proxy}/v1", api_key=key, max_retries=0)
        clients.push_async_callback(client.close)
        return client

    return opened


@pytest.fixture
def anthropic_client(clients: AsyncExitStack) -> AnthropicClient:
    """Opens Anthropic's own client for a proxy."""
    import anthropic

    def opened(proxy: str, key: str = "sk-ant-planted") -> anthropic.AsyncAnthropic:
        client = anthropic.AsyncAnthropic(base_url=proxy, api_key=key, max_retries=0)
        clients.push_async_callback(client.close)
        return client

    return opened


@pytest.fixture
async def post(proxy: str) -> AsyncIterator[Post]:
    """Sends a body to the chat completions of a proxy, without a provider's client."""
    async with httpx.AsyncClient(timeout=60) as client:
        yield partial(client.post, f"{proxy}/v1/chat/completions")


async def test_the_seeds_example(
    proxy: str, model: ModelServer, openai_client: OpenAIClient
) -> None:
    """Of 51 tools the model sees one."""
    completions = openai_client(proxy).chat.completions.with_raw_response
    answer = await completions.create(model="m", messages=LONDON, tools=TOOLS["chat"])

    assert model.last.tools == ["open_meteo_weather"]
    called = answer.parse().choices[0].message.tool_calls
    assert called and called[0].function.name == "open_meteo_weather"  # type: ignore[union-attr]
    told = {name: answer.headers[name] for name in answer.headers if name.startswith("x-orqen")}
    assert float(told.pop("x-orqen-overhead-ms")) >= 0
    assert told == {
        "x-orqen-tools-input": "51",
        "x-orqen-tools-output": "1",
        "x-orqen-prune-ratio": "1/51",
        "x-orqen-routing": "semantic",
        "x-orqen-mode": "prune",
        "x-orqen-band": "crisp",
    }
    assert answer.headers["x-request-id"] == "req_1"


async def test_the_seeds_example_streamed(
    proxy: str, model: ModelServer, openai_client: OpenAIClient, post: Post
) -> None:
    """Byte for byte, with the same headers."""
    answer = await post(content=chat("weather in London", stream=True))

    assert answer.content == b"".join(model.sent)
    assert answer.headers["x-orqen-prune-ratio"] == "1/51"
    assert answer.headers["x-orqen-routing"] == "semantic"
    stream = await openai_client(proxy).chat.completions.create(
        model="m", messages=LONDON, tools=TOOLS["chat"], stream=True
    )
    assert len([chunk async for chunk in stream]) == 3


async def test_a_router_that_fails_lets_all_pass(
    proxy: str,
    model: ModelServer,
    pruner: Pruner,
    monkeypatch: pytest.MonkeyPatch,
    openai_client: OpenAIClient,
) -> None:
    """51 of 51, with the header that says so."""

    def fail(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(pruner, "choose", fail)
    completions = openai_client(proxy).chat.completions.with_raw_response
    answer = await completions.create(model="m", messages=LONDON, tools=TOOLS["chat"])

    assert len(model.last.tools) == 51
    assert answer.headers["x-orqen-prune-ratio"] == "51/51"
    assert answer.headers["x-orqen-routing"] == "fail_open"


async def test_responses_of_openai(
    proxy: str, model: ModelServer, openai_client: OpenAIClient
) -> None:
    """Whole and streamed."""
    client = openai_client(proxy)
    answer = await client.responses.create(model="m", input=LONDON, tools=TOOLS["responses"])

    assert model.last.tools == ["open_meteo_weather"]
    assert answer.output[0].type == "function_call"
    stream = await client.responses.create(
        model="m", input="weather in London", tools=TOOLS["responses"], stream=True
    )
    assert [event.type async for event in stream][-1] == "response.completed"
    assert model.last.tools == ["open_meteo_weather"]


async def test_messages_of_anthropic(
    proxy: str, model: ModelServer, anthropic_client: AnthropicClient
) -> None:
    """Whole and streamed, with the caller's own key and version."""
    client = anthropic_client(proxy)
    asked: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        "messages": LONDON,
        "tools": TOOLS["messages"],
    }
    answer = await client.messages.create(**asked)

    assert answer.content[0].type == "tool_use"
    assert model.last.tools == ["open_meteo_weather"]
    assert model.last.headers["authorization"] == "Bearer sk-ant-planted"
    assert "anthropic-version" in model.last.headers
    async with client.messages.stream(**asked) as stream:
        assert (await stream.get_final_message()).stop_reason == "tool_use"


async def test_other_paths_are_passed_untouched(proxy: str, model: ModelServer) -> None:
    """Method, path, query, headers and body."""
    async with httpx.AsyncClient() as client:
        answer = await client.put(
            f"{proxy}/v1/files/a%2Fb?x=1&x=%20&y", content=b"\x00\x01", headers={"x-mine": "1"}
        )

    assert (model.last.method, model.last.target) == ("PUT", "/v1/files/a%2Fb?x=1&x=%20&y")
    assert model.last.body == b"\x00\x01"
    assert model.last.headers["x-mine"] == "1"
    assert answer.json()["length"] == 2


async def test_what_is_told_to_the_proxy_alone_goes_no_further(
    proxy: str, model: ModelServer, openai_client: OpenAIClient
) -> None:
    """The mode of one request."""
    completions = openai_client(proxy).chat.completions.with_raw_response
    answer = await completions.create(
        model="m",
        messages=LONDON,
        tools=TOOLS["chat"],
        extra_headers={"x-orqen-mode": "shadow"},
    )

    assert answer.headers["x-orqen-mode"] == "shadow"
    assert len(model.last.tools) == 51
    assert not any(name.startswith("x-orqen") for name in model.last.headers)


@pytest.mark.parametrize(
    "body", [b"{", b"", b"\xff", b'{"tools": [', b'{"messages": 3, "tools": [3]}']
)
async def test_what_is_no_request_is_passed_untouched(
    post: Post, model: ModelServer, body: bytes
) -> None:
    """The provider says what is wrong with it."""
    model.status = 400
    answer = await post(content=body)

    assert model.last.body == body
    assert answer.status_code == 400
    assert answer.headers["retry-after"] == "7"
    assert answer.json() == {"error": {"message": "no"}}


async def test_twenty_megabytes_and_a_thousand_tools(post: Post, model: ModelServer) -> None:
    """Pruned; what is larger goes on as it comes."""
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": f"Does {n}."}}
        for n in range(1_000)
    ]
    body = chat("weather in London", [*CHAT_TOOLS, *tools], pad="x" * 18_000_000)
    answer = await post(content=body)
    assert answer.headers["x-orqen-tools-input"] == "1051"
    assert len(model.last.tools) < 10
    assert len(model.last.body) > 18_000_000
    larger = chat("weather in London", pad="x" * 20_000_000)
    answer = await post(content=larger)
    assert model.last.body == larger
    assert answer.headers["x-orqen-routing"] == "unread"


async def test_compressed_requests_go_on_pruned_or_as_they_came(
    post: Post, model: ModelServer
) -> None:
    """The provider gets the coding that the body has."""
    sent = {"gzip": gzip.compress(chat("weather in London")), "br": b"\x0b\x02\x80"}
    model.status = 400  # reads no body
    routing = [
        (await post(content=packed, headers={"content-encoding": coding})).headers[
            "x-orqen-routing"
        ]
        for coding, packed in sent.items()
    ]

    assert routing == ["semantic", "unread"]
    pruned, unread = model.received
    assert pruned.tools == ["open_meteo_weather"]
    assert "content-encoding" not in pruned.headers
    assert (unread.body, unread.headers["content-encoding"]) == (sent["br"], "br")


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/realtime"])
async def test_a_websocket_is_refused_at_once(proxy: str, model: ModelServer, path: str) -> None:
    """With 426, by which clients change to plain requests; the provider is not asked."""
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"{proxy}{path}", headers=headers)

    assert answer.status_code == 426
    assert not model.received


async def test_the_first_request_of_a_list_is_pruned_too(model: ModelServer) -> None:
    """Reading the list may take longer than a routing may."""

    def slowly(catalog: Catalog) -> Router:
        time.sleep(0.1)
        return Router(catalog)

    pruner = Pruner(ToolLists(slowly), ConversationMemory(b"secret"))
    passing = Proxy(Upstream.at(f"{model.address}/v1"), pruner, limit_s=0.05)
    async with running_app(create_proxy(passing)) as proxy, httpx.AsyncClient() as client:
        answer = await client.post(
            f"{proxy}/v1/chat/completions", content=chat("weather in London")
        )

    assert answer.headers["x-orqen-prune-ratio"] == "1/51"


async def test_a_provider_that_is_not_there_is_told_in_its_own_form(
    pruner: Pruner, openai_client: OpenAIClient, anthropic_client: AnthropicClient
) -> None:
    """So that the caller's client raises what it always raises."""
    import anthropic
    import openai

    proxy = Proxy(Upstream.at("http://127.0.0.1:9/v1"), pruner, limit_s=30)
    async with running_app(create_proxy(proxy)) as url:
        with pytest.raises(openai.InternalServerError, match="cannot be reached") as failed:
            await openai_client(url).chat.completions.create(
                model="m", messages=LONDON, tools=TOOLS["chat"]
            )
        with pytest.raises(anthropic.InternalServerError, match="cannot be reached"):
            await anthropic_client(url).messages.create(
                model="m", max_tokens=9, messages=LONDON, tools=TOOLS["messages"]
            )

    assert failed.value.status_code == 502
    assert failed.value.response.headers["x-orqen-prune-ratio"] == "1/51"


async def test_a_provider_that_stays_silent_is_told(
    model: ModelServer, pruner: Pruner, openai_client: OpenAIClient
) -> None:
    """After the time that the proxy waits."""
    import openai

    model.pause_s = 30
    proxy = Proxy(Upstream.at(f"{model.address}/v1"), pruner, limit_s=30, timeout_s=0.3)
    async with running_app(create_proxy(proxy)) as url:
        with pytest.raises(openai.InternalServerError, match=r"did not answer within 0\.3 s"):
            await openai_client(url).chat.completions.create(model="m", messages=LONDON)


async def test_a_caller_that_goes_away_ends_the_call(proxy: str, model: ModelServer) -> None:
    """Before the answer, and in the middle of a stream."""
    model.pause_s = 0.2
    async with httpx.AsyncClient() as client:
        url, body = f"{proxy}/v1/chat/completions", chat("weather in London", stream=True)
        async with client.stream("POST", url, content=body) as answer:
            async for _ in answer.aiter_raw():
                break
        for _ in range(100):
            if model.cut:
                break
            await asyncio.sleep(0.05)
    assert model.cut == 1


async def test_a_key_of_the_proxy_is_sent_to_the_provider_alone(
    model: ModelServer,
    pruner: Pruner,
    openai_client: OpenAIClient,
    anthropic_client: AnthropicClient,
) -> None:
    """And callers present a token of the proxy's."""
    import anthropic
    import openai

    upstream = Upstream.at(f"{model.address}/v1", key="sk-upstream")
    async with running_app(create_proxy(Proxy(upstream, pruner, token="mine", limit_s=30))) as url:
        with pytest.raises(openai.AuthenticationError, match="the proxy's token"):
            await openai_client(url).models.list()
        with pytest.raises(anthropic.AuthenticationError, match="the proxy's token"):
            await anthropic_client(url).models.list()
        async with httpx.AsyncClient() as client:
            foreign = await client.get(f"{url}/v1/models", headers={b"x-api-key": b"m\xefne"})
        assert foreign.status_code == 401
        assert not model.received
        await (
            openai_client(url)
            .with_options(api_key="mine")
            .chat.completions.create(model="m", messages=LONDON)
        )
        assert model.last.headers["authorization"] == "Bearer sk-upstream"
        await (
            anthropic_client(url)
            .with_options(api_key="mine")
            .messages.create(model="m", max_tokens=9, messages=LONDON)
        )
        own = {"x-api-key": "mine", "authorization": ""}
        async with httpx.AsyncClient() as client:
            await client.get(f"{url}/v1/models", headers=own)
            pages = [
                await client.get(f"{url}/_orqen", auth=auth)
                for auth in (None, ("anybody", "yours"), ("anybody", "mine"))
            ]
    assert [page.status_code for page in pages] == [401, 401, 200]
    assert pages[0].headers["www-authenticate"].startswith("Basic")
    assert model.last.headers["x-api-key"] == "sk-upstream"
    assert "mine" not in str(model.last.headers)


async def test_two_hundred_conversations_at_once(proxy: str, model: ModelServer) -> None:
    """Each is answered, and pruned."""
    model.pause_s = 0.05
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        url, body = f"{proxy}/v1/chat/completions", chat("weather in London", stream=True)
        answers = await asyncio.gather(*(client.post(url, content=body) for _ in range(200)))

    assert {answer.headers["x-orqen-prune-ratio"] for answer in answers} == {"1/51"}
    assert {answer.content.count(b"data:") for answer in answers} == {3}


async def test_it_is_told_which_tools_were_called(
    proxy: str, model: ModelServer, exchanges: list[Exchange], openai_client: OpenAIClient
) -> None:
    """Of answers in whatever form, also packed."""
    model.calls = "play_music"
    client = openai_client(proxy)
    for stream in (False, True):
        answer = await client.chat.completions.create(
            model="m", messages=LONDON, tools=TOOLS["chat"], stream=stream
        )
        if stream:
            assert [chunk async for chunk in answer]  # type: ignore[union-attr]
    for _ in range(100):
        if len(exchanges) == 2:
            break
        await asyncio.sleep(0.02)

    assert [exchange.called for exchange in exchanges] == [("play_music",), ("play_music",)]
    assert exchanges[0].pruned.left_out >= {"play_music"}


async def test_an_address_in_place_of_a_path_leads_nowhere(proxy: str, model: ModelServer) -> None:
    """Only the provider is called."""
    host, port = proxy.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET http://elsewhere.example/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    status = await reader.readline()
    writer.close()

    assert b" 404 " in status
    assert not model.received


def test_a_transport_prunes_inside_a_client(pruner: Pruner) -> None:
    """Without a proxy."""
    import openai

    from orchestrator.proxy.pruning_transport import PruningTransport

    sent: list[Any] = []

    def provider(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.read()))
        message = {"role": "assistant", "content": "Rain."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return httpx.Response(
            200,
            json={
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
            },
        )

    transport = PruningTransport(httpx.MockTransport(provider), pruner=pruner)
    client = openai.OpenAI(api_key="x", http_client=httpx.Client(transport=transport))  # type: ignore[arg-type]
    answer = client.chat.completions.with_raw_response.create(
        model="m", messages=LONDON, tools=TOOLS["chat"]
    )

    assert [tool["function"]["name"] for tool in sent[0]["tools"]] == ["open_meteo_weather"]
    assert answer.headers["x-orqen-prune-ratio"] == "1/51"
