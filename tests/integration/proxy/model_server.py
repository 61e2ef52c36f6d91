"""A model's provider on loopback: three APIs, whole and streamed; keeps what it was sent."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Event = tuple[str, Mapping[str, Any]]


@dataclass
class Received:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def tools(self) -> list[str]:
        """Names of its tools, in their order."""
        tools = json.loads(self.body).get("tools", [])
        return [tool.get("function", tool).get("name", tool.get("type")) for tool in tools]


@dataclass
class ModelServer:
    """Answers each request by a call of the first tool, or of the one that it is told to call."""

    calls: str | None = None
    pause_s: float = 0.0
    """Between the events of a stream, and before an answer."""
    status: int = 200
    received: list[Received] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    """The events of streams, as they were sent."""
    ends_with: str = ""
    """What it says once a tool has answered; empty: it calls on."""
    address: str = ""
    """Where it listens."""
    cut: int = 0
    """How many streams were ended by their reader."""

    @property
    def app(self) -> Starlette:
        """What serves it."""
        methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]
        return Starlette(routes=[Route("/{path:path}", self._answer, methods=methods)])

    @property
    def last(self) -> Received:
        """The request that came last."""
        return self.received[-1]

    async def _answer(self, request: Request) -> Response:
        query = request.url.query
        target = request.scope["raw_path"].decode() + (f"?{query}" if query else "")
        found = Received(request.method, target, dict(request.headers), await request.body())
        self.received.append(found)
        await asyncio.sleep(self.pause_s)
        if self.status != 200:
            return JSONResponse({"error": {"message": "no"}}, self.status, {"retry-after": "7"})
        make = {"completions": _chat, "responses": _response, "messages": _message}
        kind = make.get(request.url.path.rpartition("/")[2])
        if kind is None or request.method != "POST":
            return JSONResponse({"target": target, "length": len(found.body)})
        body = json.loads(found.body)
        name = self.calls or next(iter(found.tools), "nothing")
        has_answer = self.ends_with and b'"role":"tool"' in found.body.replace(b" ", b"")
        whole, events = _text(self.ends_with) if has_answer else kind(name)
        headers = {"x-request-id": "req_1", "anthropic-organization-id": "org_1"}
        if body.get("stream"):
            return StreamingResponse(
                self._events(events), media_type="text/event-stream", headers=headers
            )
        content = json.dumps(whole).encode()
        if "gzip" in found.headers.get("accept-encoding", ""):
            headers["content-encoding"], content = "gzip", gzip.compress(content)
        return Response(content, media_type="application/json", headers=headers)

    async def _events(self, events: list[Event]) -> AsyncIterator[bytes]:
        try:
            for name, data in events:
                head = f"event: {name}\n" if name else ""
                piece = f"{head}data: {json.dumps(data)}\n\n".encode()
                self.sent.append(piece)
                yield piece
                await asyncio.sleep(self.pause_s)
        except (asyncio.CancelledError, GeneratorExit):
            self.cut += 1
            raise


def _chat(name: str) -> tuple[Mapping[str, Any], list[Event]]:
    call = {"index": 0, "id": "c1", "type": "function"}
    called = {**call, "function": {"name": name, "arguments": "{}"}}
    head = {"id": "x", "created": 1, "model": "m"}
    message = {"role": "assistant", "content": None, "tool_calls": [called]}
    whole = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    chunk = {**head, "object": "chat.completion.chunk"}
    deltas = [{"role": "assistant", "tool_calls": [called]}, {}, {}]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    return whole, [("", {**chunk, "choices": choice}) for choice in choices]


def _text(said: str) -> tuple[Mapping[str, Any], list[Event]]:
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "x", "created": 1, "model": "m"}
    return {**head, "object": "chat.completion", "choices": [choice]}, []


def _response(name: str) -> tuple[Mapping[str, Any], list[Event]]:
    item = {
        "type": "function_call",
        "id": "fc1",
        "call_id": "c1",
        "name": name,
        "arguments": "{}",
        "status": "completed",
    }
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    events = [
        {"type": "response.created", "response": {**whole, "output": []}, "sequence_number": 0},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item,
            "sequence_number": 1,
        },
        {"type": "response.completed", "response": whole, "sequence_number": 2},
    ]
    return whole, [(str(event["type"]), event) for event in events]


def _message(name: str) -> tuple[Mapping[str, Any], list[Event]]:
    block = {"type": "tool_use", "id": "tu1", "name": name, "input": {}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Mapping[str, Any]] = [
        {"type": "message_start", "message": {**whole, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage},
        {"type": "message_stop"},
    ]
    return whole, [(str(event["type"]), event) for event in events]
