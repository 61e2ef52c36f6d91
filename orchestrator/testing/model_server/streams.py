"""The answers of the model server as the events with which each API streams them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from orchestrator.testing.model_server.provider_apis import Document, arguments_text
from orchestrator.testing.model_server.replies import Api, ModelAnswer

_PIECE: Final = re.compile(r"\s*\S+\s*$|\s*\S+")
"""A word with the space before it; texts are sent word by word."""


def streamed(api: Api, answer: ModelAnswer, whole: Document) -> Iterator[str]:
    """Yield the events of an answer as they go over the wire."""
    for event in _EVENTS[api](answer, whole):
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {json.dumps(event)}\n\n"
    if api == "chat":
        yield "data: [DONE]\n\n"


def _chunks(answer: ModelAnswer, whole: Document) -> Iterator[Document]:
    """Yield the chunks of a chat completion; the last one has the usage."""
    (choice,) = whole["choices"]
    head = {**whole, "object": "chat.completion.chunk", "usage": None}

    def chunk(delta: Document, finish_reason: str | None = None) -> Document:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant"})
    for piece in _PIECE.findall(answer.text):
        yield chunk({"content": piece})
    if answer.refusal:
        yield chunk({"refusal": answer.refusal})
    for index, call in enumerate(choice["message"].get("tool_calls", ())):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, choice["finish_reason"])
    yield {**head, "choices": [], "usage": whole["usage"]}


def _response_events(answer: ModelAnswer, whole: Document) -> Iterator[Document]:
    begun = {**whole, "output": [], "status": "in_progress", "usage": None}
    events = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item)
    events.append({"type": f"response.{whole['status']}", "response": whole})
    yield from ({**event, "sequence_number": number} for number, event in enumerate(events))


def _item_events(index: int, item: Document) -> Iterator[Document]:
    at = {"item_id": item["id"], "output_index": index}
    empty = {"arguments": ""} if item["type"] == "function_call" else {}
    opened: Document = {name: [] for name in ("content", "summary") if name in item} | empty
    yield {"type": "response.output_item.added", "output_index": index, "item": item | opened}
    for number, part in enumerate(item.get("summary", ())):
        added = {"type": "response.reasoning_summary_part.added", "part": part}
        yield {**added, **at, "summary_index": number}
    for number, part in enumerate(item.get("content", ())):
        there = {**at, "content_index": number}
        if part["type"] == "refusal":
            yield {"type": "response.refusal.delta", **there, "delta": part["refusal"]}
        for piece in _PIECE.findall(part.get("text", "")):
            delta = {"type": "response.output_text.delta", "delta": piece, "logprobs": []}
            yield {**delta, **there}
    if empty:
        delta = {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
        yield {**delta, **at}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _message_events(answer: ModelAnswer, whole: Document) -> Iterator[Document]:
    begun = {**whole, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    arguments = iter([arguments_text(call) for call in answer.calls])
    for index, block in enumerate(whole["content"]):
        opened, deltas = _opened(block, arguments)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _opened(block: Document, arguments: Iterator[str]) -> tuple[Document, list[Document]]:
    """Return a block in its initial form, and the deltas that complete it."""
    if block["type"] == "tool_use":
        delta = {"type": "input_json_delta", "partial_json": next(arguments)}
        return {**block, "input": {}}, [delta]
    if block["type"] == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [thought, signature]
    pieces = _PIECE.findall(block["text"])
    return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


_EVENTS: Final[Mapping[Api, Callable[[ModelAnswer, Any], Iterator[Document]]]] = {
    "responses": _response_events,
    "chat": _chunks,
    "messages": _message_events,
}
