"""Tool calls of a small local model: chat completions with tools in, one constrained object out.

llama.cpp does not constrain the calls of small models by itself: the tools become one JSON schema,
and the object that the model writes becomes one call.
"""

import argparse
import json
import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

MOST_TOKENS: Final = 700
_TIMEOUT_S: Final = 600.0
_KEYWORDS: Final = (
    "type properties required items enum const anyOf oneOf minimum maximum minItems maxItems "
    "minLength maxLength format"
)
_KEPT: Final = frozenset(_KEYWORDS.split())
_FORMATS: Final = frozenset({"date", "time", "date-time", "uuid"})
_LONGEST_TEXT: Final = 400
_DEEPEST: Final = 12
_HEAD: Final = (
    "# Tools\nYou act by calling exactly one of these functions (name, description, JSON schema of "
    "its arguments):\n"
)
_TAIL: Final = (
    '\nAnswer with one JSON object and nothing else: {"name": <function>, "arguments": {...}}.'
)


def plain(schema: Any, root: Any = None, depth: int = 0) -> dict[str, Any]:
    """Return the part of a schema that llama.cpp's grammar knows, references resolved."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    if "$ref" in schema:
        node = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            node = node.get(part, {})
        return plain(node, root, depth + 1)
    kept = {name: held for name, held in schema.items() if name in _KEPT}
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    if "maxLength" in kept:
        kept["maxLength"] = min(kept["maxLength"], _LONGEST_TEXT)
    if isinstance(named := kept.get("properties"), dict):
        kept["properties"] = {name: plain(one, root, depth + 1) for name, one in named.items()}
        kept["additionalProperties"] = False
    for keyword in ("anyOf", "oneOf"):
        if keyword in kept:
            kept[keyword] = [plain(one, root, depth + 1) for one in kept[keyword]]
    if isinstance(kept.get("items"), dict):
        kept["items"] = plain(kept["items"], root, depth + 1)
    return kept


def call_schema(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of one call of one of these functions."""
    return {"anyOf": [_one_call(tool) for tool in tools]}


def _one_call(tool: Mapping[str, Any]) -> dict[str, Any]:
    arguments = plain(tool.get("parameters") or {"type": "object", "properties": {}})
    return {
        "type": "object",
        "properties": {"name": {"const": tool["name"]}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def messages_of(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the conversation with its tools as text, the stable part first."""
    tools = [json.dumps(tool["function"], ensure_ascii=False) for tool in body.get("tools") or []]
    head = f"{_HEAD}{chr(10).join(tools)}{_TAIL}" if tools else ""
    told: list[dict[str, str]] = []
    for message in body["messages"]:
        told += _as_text(message)
    if told and told[0]["role"] == "system":
        told[0]["content"] = f"{told[0]['content']}\n\n{head}".strip()
    elif head:
        told.insert(0, {"role": "system", "content": head})
    return told


def _as_text(message: Mapping[str, Any]) -> list[dict[str, str]]:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    role = message["role"]
    if role in ("system", "developer"):
        return [{"role": "system", "content": content}]
    if role == "tool":
        return [{"role": "user", "content": f"<result>\n{content}\n</result>"}]
    if calls := message.get("tool_calls"):
        return [{"role": "assistant", "content": _written(call["function"])} for call in calls]
    return [{"role": role, "content": content}]


def _written(function: Mapping[str, Any]) -> str:
    arguments = json.loads(function["arguments"] or "{}")
    return json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)


def app(llama: str) -> Starlette:
    """Return the door of a llama.cpp server."""
    client = httpx.AsyncClient(timeout=_TIMEOUT_S)

    async def chat(request: Request) -> JSONResponse:
        body = await request.json()
        if body.get("stream"):  # planners then ask for whole answers
            refused = {"error": {"message": "stream is not supported", "param": "stream"}}
            return JSONResponse(refused, status_code=httpx.codes.BAD_REQUEST)
        began = time.perf_counter()
        response = await client.post(f"{llama}/v1/chat/completions", json=_wanted(body))
        found = response.json()
        if response.status_code != httpx.codes.OK:
            return JSONResponse(found, status_code=response.status_code)
        said = found["choices"][0]["message"].get("content") or ""
        _log(found["usage"], said, time.perf_counter() - began)
        return JSONResponse(_answer(body, found, said))

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    routes = [Route("/v1/chat/completions", chat, methods=["POST"]), Route("/health", health)]
    return Starlette(routes=routes)


def _wanted(body: Mapping[str, Any]) -> dict[str, Any]:
    most = body.get("max_tokens") or body.get("max_completion_tokens") or MOST_TOKENS
    wanted = {
        "model": body.get("model"),
        "temperature": body.get("temperature", 0),
        "cache_prompt": True,
        "max_tokens": min(most, MOST_TOKENS),
        "messages": messages_of(body),
    }
    if tools := [tool["function"] for tool in body.get("tools") or []]:
        schema = {"name": "call", "schema": call_schema(tools)}
        wanted["response_format"] = {"type": "json_schema", "json_schema": schema}
    return wanted


def _answer(body: Mapping[str, Any], found: Mapping[str, Any], said: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said}
    finish = found["choices"][0]["finish_reason"]
    if body.get("tools"):
        try:
            call = json.loads(said)
            function = {
                "name": call["name"],
                "arguments": json.dumps(call["arguments"], ensure_ascii=False),
            }
        except (ValueError, KeyError):
            pass  # cut at its limit: the planner reads a text and asks again
        else:
            made = {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [made]}
            finish = "tool_calls"
    choice = {"index": 0, "finish_reason": finish, "logprobs": None, "message": message}
    return {
        "id": found.get("id", "x"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [choice],
        "usage": found["usage"],
    }


def _log(usage: Mapping[str, Any], said: str, took_s: float) -> None:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    line = {
        "took_s": round(took_s, 1),
        "prompt_tokens": usage["prompt_tokens"],
        "cached_tokens": cached,
        "completion_tokens": usage["completion_tokens"],
        "said": said[:300],
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)  # noqa: T201 -- this is its log


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--llama", required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    uvicorn.run(app(given.llama), host="127.0.0.1", port=given.port, log_level="warning")
