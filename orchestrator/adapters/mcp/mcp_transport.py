"""Calls of MCP tools as a transport of httpx: a call's result becomes an answer over HTTP.

`ToolClient` sends a request of a derived document (`mcp_documents`) here, and judges the answer by
that document, so that masking, limits, contract and outcomes are those of every other call.
"""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import httpx

from orchestrator.adapters.http.masking import Mask
from orchestrator.adapters.http.transport import answer_of
from orchestrator.adapters.mcp.servers import McpServer, by_name
from orchestrator.adapters.secrets import SecretStore
from orchestrator.catalog.mcp_documents import HOSTS, KEY_HEADER, REFUSAL, TOOL
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible, visible_block
from orchestrator.language.words import tokens
from orchestrator.saga.outcome import InputGiven, InputWanted

if TYPE_CHECKING:  # an extra
    from orchestrator.adapters.mcp.mcp_sessions import McpSession


_LONGEST_STATE: Final = 16_000
_LONGEST_TEXT: Final = 2_000
_LONGEST_LABEL: Final = 200
_LARGEST: Final = 12_000
"""Bytes of all schemas as JSON."""
_MOST_FIELDS: Final = 20
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_SECRETS: Final = frozenset(
    {"credential", "credentials", "cvc", "cvv", "otp", "passcode", "passphrase", "passwd"}
    | {"password", "passwords", "passwort", "pin", "secret", "secrets", "token", "tokens"}
)
"""Words in names and titles of fields that no answer may hold: it would stand in histories."""
_SAID_SECRETS: Final = _SECRETS - {"pin", "token", "tokens", "secret", "secrets"}
"""Those that also count in a sentence."""
_NUMBERS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_TYPES: Final = frozenset({"string", "number", "integer", "boolean"})


class _Refused(Exception):
    """Nobody is asked; the message is the predicate of a sentence about the server."""


def read_input(server: str, result: Mapping[str, Any], mask: Mask) -> InputWanted:
    """Return the input that a result of type `input_required` asks for, as a person's question.

    It is the server's own text: escaped, bounded, and kept in histories. So nothing is asked that
    no history may hold.
    """
    try:
        state, requests = result.get("requestState"), result.get("inputRequests") or {}
        if state is not None and not isinstance(state, str):
            raise _Refused("sent a state that is no text")
        if state is not None and len(state.encode("utf-8", "surrogatepass")) > _LONGEST_STATE:
            raise _Refused(f"wants more than {_LONGEST_STATE:,} bytes to be kept as its state")
        if not isinstance(requests, dict):
            raise _Refused("asks in a way that the protocol does not know")
        texts: list[str] = []
        fields: dict[str, JsonObject] = {}
        asked: dict[str, tuple[str, ...]] = {}
        for key, request in requests.items():
            if not _KEY.fullmatch(key):
                raise _Refused("names a request by other than printed characters")
            params = _form(request)
            texts.append(visible_block(mask.text(str(params.get("message") or "")).strip()))
            own = dict(_fields(params.get("requestedSchema") or {}, mask))
            if set(own) & set(fields):
                raise _Refused("asks for one field twice")
            asked[key] = tuple(own)
            fields |= own
        text = "\n".join(texts)
        if len(text) > _LONGEST_TEXT or len(fields) > _MOST_FIELDS:
            raise _Refused("asks for more than a question holds")
        if len(json.dumps(fields)) > _LARGEST:
            raise _Refused("describes its fields at more length than a question holds")
        if _names_secret(text, _SAID_SECRETS):
            raise _Refused("asks for a credential, which no answer may hold")
        wanted = InputWanted(server=server, text=text, fields=fields, asked=asked, state=state)
        return masked(wanted, mask)
    except _Refused as refused:
        return InputWanted(server=server, refused=str(refused))


def masked(wanted: InputWanted, mask: Mask) -> InputWanted:
    """Return the question without the personal values that the call was sent with.

    The server's state cannot be changed: one that repeats such a value is not stored.
    """
    if wanted.state is not None and mask.text(wanted.state) != wanted.state:
        return InputWanted(server=wanted.server, refused="repeats a sent value in its state")
    fields: Any = mask.json(dict(wanted.fields))
    return wanted.model_copy(update={"text": mask.text(wanted.text), "fields": fields})


def _form(request: Any) -> Mapping[str, Any]:
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    if method == "sampling/createMessage":
        raise _Refused("asks for an answer of a model, which it does not get")
    if method != "elicitation/create" or not isinstance(params, dict):
        raise _Refused("asks for something that this client has not offered")
    if params.get("mode", "form") != "form":
        raise _Refused("asks a person to open an address, which this client has not offered")
    return params


def _fields(schema: Any, mask: Mask) -> Iterator[tuple[str, JsonObject]]:
    """Yield the fields of a form with as much of their schemas as a person is shown."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        raise _Refused("asks for a form without fields")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    for name, given in properties.items():
        if not _NAME.fullmatch(name) or not isinstance(given, dict):
            raise _Refused("names a field in a way that cannot be answered")
        field = _field(given, mask)
        named, about = f"{name} {field.get('title', '')}", str(field.get("description", ""))
        is_secret = _names_secret(named, _SECRETS) or _names_secret(about, _SAID_SECRETS)
        if is_secret or given.get("format") == "password":
            raise _Refused("asks for a credential, which no answer may hold")
        if name not in needed:
            field.setdefault("default", None)
        yield name, field


def _names_secret(text: str, words: frozenset[str]) -> bool:
    found = tokens(text)
    return bool(words & set(found)) or ("api", "key") in pairwise(found)


def _field(given: Mapping[str, Any], mask: Mask) -> JsonObject:
    kind = given.get("type", "string")
    field: JsonObject = {"type": kind}
    for name in ("title", "description"):
        if isinstance(text := given.get(name), str):
            field[name] = visible(mask.text(text))[:_LONGEST_LABEL]
    for name in _NUMBERS:
        if isinstance(number := given.get(name), int | float) and not isinstance(number, bool):
            field[name] = number
    default = given.get("default")
    if isinstance(default, str | int | float | bool):
        field["default"] = mask.json(default)
    if kind == "array":
        items = given.get("items")
        choices = _choices(items if isinstance(items, dict) else {})
        if not choices:
            raise _Refused("asks for a list of anything")
        field["items"] = {"type": "string", "enum": [one["const"] for one in choices]}
    elif not isinstance(kind, str) or kind not in _TYPES:
        raise _Refused("asks for a value of a kind that no form has")
    elif choices := _choices(given):
        field["oneOf"] = choices
    if given.get("format") in ("email", "date", "date-time", "uri"):
        field["format"] = str(given["format"])
    return field


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    values, titles = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        named = titles if isinstance(titles, list) else []
        pairs = [(one, named[n] if n < len(named) else None) for n, one in enumerate(values)]
    else:
        listed = schema.get("oneOf", schema.get("anyOf"))
        branches = listed if isinstance(listed, list) else []
        pairs = [
            (one["const"], one.get("title"))
            for one in branches
            if isinstance(one, dict) and "const" in one
        ]
    choices = []
    for value, title in pairs:
        if not isinstance(value, str) or visible(value) != value or len(value) > _LONGEST_LABEL:
            raise _Refused("offers a choice that cannot be shown")
        label = visible(title)[:_LONGEST_LABEL] if isinstance(title, str) else ""
        choices.append({"const": value, **({"title": label} if label else {})})
    return choices


@dataclass
class Exchange:
    """The progress of one call on the wire."""

    noted: Callable[[str, Mapping[str, object]], Awaitable[None]] | None = None
    """Called with each step on the wire, as httpx's transports call it."""
    was_sent: bool = False
    """True from the moment when a part of the first request may have left."""
    fault: Exception | None = None
    """The first error of httpx, or `AddressRefused`."""
    status: int | None = None
    """Of the first answer: a stream that is opened again answers no call."""
    retry_after: str | None = None

    async def on_event(self, name: str, info: Mapping[str, object]) -> None:
        """Note a step; called by the transport."""
        self.was_sent = self.was_sent or name.endswith("send_request_headers.started")
        if self.noted is not None:
            await self.noted(name, info)

    def failed(self, error: Exception, *, is_first: bool) -> None:
        """Note an error; after the first request none of them means that nothing was sent."""
        if self.fault is None:
            self.fault = error if is_first else httpx.ReadError("the stream broke off")


MOUNT: Final = f"all://*{HOSTS}"
"""The pattern of the URLs that this transport serves."""
MCP_EXTRA: Final = "pip install 'orchestrator-missions[mcp]'"
GIVEN: Final = "orchestrator.input_given"
"""The extension of a request that carries the answer to what the server asked."""
_DEEPEST: Final = 100
"""The nesting of a result that is read; deeper ones have no use, and spoil recursive readers."""
_NEVER_CALLED: Final = {-32601: 404, -32602: 400}
"""Errors of the protocol by which no tool was called (unknown method or tool, bad arguments)."""


class InputAsked(Exception):
    """A server wants input before it goes on with a call."""

    def __init__(self, wanted: InputWanted) -> None:
        super().__init__(f"{wanted.server} asks for input")
        self.wanted = wanted


class McpTransport(httpx.AsyncBaseTransport):
    """Calls tools of configured servers, each over a session that is kept."""

    def __init__(
        self,
        servers: Sequence[McpServer],
        secrets: SecretStore,
        http: httpx.AsyncBaseTransport,
        *,
        max_answer_bytes: int,
    ) -> None:
        """Take the servers, and the transport to those with a URL.

        Raises:
            UsageError: there are servers, and the extra `mcp` is not installed.
        """
        if servers:
            mcp_library()  # here, because its import takes longer than some calls may
        self._servers = by_name(servers)
        self._secrets = secrets
        self._http = http
        self._max_answer_bytes = max_answer_bytes
        self._sessions: dict[str, McpSession] = {}
        self._every: set[McpSession] = set()
        """These, those that are being opened, and those that end with their last call."""
        self._opening: dict[str, asyncio.Lock] = {}

    def has(self, server: str) -> bool:
        """Return True if a server of that name is configured here."""
        return server in self._servers

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Call the tool that the request's extension names.

        Raises:
            InputAsked: the server wants input before it goes on.
            httpx.ConnectError: nothing was sent: no session, or another worker has this server.
            httpx.ReadError: the call may have been carried out; its result is unknown.
            AddressRefused: the server's address may not be called.
        """
        name = request.url.host.removesuffix(HOSTS)
        server, tool = self._servers.get(name), request.extensions.get(TOOL)
        if server is None:
            raise httpx.ConnectError(f"this worker has no MCP server {name}", request=request)
        if not isinstance(tool, Mapping):
            return _problem(400, "the document is not one of an MCP server")
        if server.tools and tool["name"] not in server.tools:
            return _problem(400, f"the settings do not allow {tool['name']} of {name}")
        noted = request.extensions.get("trace")
        if noted is not None:
            await noted("mcp.session.started", {})
        session = await self._session(server)
        with session.used():
            return await self._called(session, tool, request, name)

    async def _called(
        self, session: "McpSession", tool: Mapping[str, Any], request: httpx.Request, name: str
    ) -> httpx.Response:
        if (refusal := await self._changed(session, tool, request)) is not None:
            return _problem(400, refusal)
        body = await request.aread()
        arguments: JsonObject = json.loads(body) if body else {}
        meta = {KEY_HEADER: key} if (key := request.headers.get(KEY_HEADER)) else {}
        library = mcp_library()
        exchange = Exchange(noted=request.extensions.get("trace"))
        given: InputGiven | None = request.extensions.get(GIVEN)
        try:
            result = await session.call(tool["name"], arguments, meta, exchange, given)
        except library.MCPError as error:
            return await self._failed(session, exchange, error.code, error.message, request)
        except library.ValidationError as error:
            return _problem(502, f"its result is none of the protocol ({error.error_count()})")
        mask = Mask(session.hidden)
        if _is_deeper(result, _DEEPEST):
            return _problem(502, f"its result is nested more than {_DEEPEST} deep")
        # In threads: to mask megabytes of short texts may take seconds.
        if result.get("resultType") == "input_required":
            raise InputAsked(await asyncio.to_thread(read_input, name, result, mask))
        if result.get("resultType", "complete") != "complete":
            return _problem(502, "the server wants more than the call: a task to follow")
        has_refusal = tool["has_refusal"] is True
        return await asyncio.to_thread(_answer, result, mask, has_refusal=has_refusal)

    async def aclose(self) -> None:
        """Close all sessions, and end the processes of servers."""
        every, self._every, self._sessions = self._every, set(), {}
        await asyncio.gather(*(session.close() for session in every))

    async def _session(self, server: McpServer) -> "McpSession":
        sessions = mcp_library()
        async with self._opening.setdefault(server.name, asyncio.Lock()):
            session = self._sessions.get(server.name)
            if session is not None and not session.is_over:
                return session
            session = sessions.McpSession(server, self._http, self._max_answer_bytes)
            self._every = {one for one in self._every if not one.is_closed} | {session}
            try:
                await session.open(self._secrets)
            except sessions.SessionUnopened as error:
                raise httpx.ConnectError(f"MCP server {server.name}: {error}") from error
            self._sessions[server.name] = session
            return cast("McpSession", session)

    async def _changed(
        self, session: "McpSession", tool: Mapping[str, Any], request: httpx.Request
    ) -> str | None:
        """Return the reason to refuse a call of a tool that is not what was pinned."""
        sessions = mcp_library()
        try:
            declared = await session.declaration_of(tool["name"])
        except (sessions.MCPError, sessions.ValidationError, sessions.ListingRefused) as error:
            session.retire()
            raise httpx.ConnectError(
                f"the server does not list its tools ({type(error).__name__})", request=request
            ) from error
        except asyncio.CancelledError:
            session.retire()  # it hangs: the next attempt begins another
            raise
        if declared == tool["declaration"]:
            return None
        if declared is None:
            return f"the server no longer lists {tool['name']}: start new missions with its tools"
        return (
            f"the server has changed {tool['name']} since it was listed: see what changed with "
            "`orchestrator tools diff`, and start new missions with it"
        )

    async def _failed(
        self,
        session: "McpSession",
        exchange: Exchange,
        code: int,
        message: str,
        request: httpx.Request,
    ) -> httpx.Response:
        """Return the answer for an error of the protocol, or raise for a broken connection."""
        if exchange.fault is not None:
            raise exchange.fault
        mask = Mask(session.hidden)
        if code in _NEVER_CALLED and exchange.status in (None, 200, 400, 404):
            return _problem(_NEVER_CALLED[code], mask.text(message))
        status = exchange.status
        if status in (401, 403, 404):
            session.retire()
        if status == 404:
            raise httpx.ConnectError("the server has forgotten the session", request=request)
        if status is not None and status >= 400:
            headers = {"Retry-After": exchange.retry_after} if exchange.retry_after else {}
            return _problem(status, mask.text(message), headers)
        if session.has_ended or code in (-32000, -32001, -32700, -32600):
            raise httpx.ReadError(f"no result: {mask.cut(message, 200)}", request=request)
        return _problem(500, mask.text(message))


def mcp_library() -> Any:
    """Return the module of sessions, which needs the library of the protocol.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from orchestrator.adapters.mcp import mcp_sessions
    except ImportError as error:
        raise UsageError(f"tools of MCP servers need the mcp extra: {MCP_EXTRA}") from error
    return mcp_sessions


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most):
        inner: list[object] = []
        for one in level:
            if isinstance(one, dict | list):
                inner.extend(one.values() if isinstance(one, dict) else one)
        if not inner:
            return False
        level = inner
    return True


def _answer(result: JsonObject, mask: Mask, *, has_refusal: bool) -> httpx.Response:
    content = result.get("content")
    listed = content if isinstance(content, list) else []
    blocks = [one for one in listed if isinstance(one, dict)]
    text = "\n".join(str(one.get("text", "")) for one in blocks if one.get("type") == "text")
    if result.get("isError") is True:
        return _problem(int(REFUSAL) if has_refusal else 500, mask.text(text or "an error"))
    if len(blocks) == 1 and "structuredContent" not in result and (file := _file_of(blocks[0])):
        return answer_of(200, *file)
    others = [_described(one) for one in blocks if one.get("type") != "text"]
    value: Any = None
    if "structuredContent" not in result and not others:
        with suppress(ValueError, RecursionError):
            value = json.loads(text)  # many servers answer with JSON as a text
            value = None if _is_deeper(value, _DEEPEST) else value
    if not isinstance(value, dict | list):
        value = {"text": text, **({"content": others} if others else {})}
    value = result.get("structuredContent", value)
    return answer_of(200, "application/json", json.dumps(mask.json(value)).encode())


def _file_of(block: JsonObject) -> tuple[str, bytes] | None:
    """Return type and content of an image, a sound, or an embedded file."""
    resource = block.get("resource")
    holder = resource if isinstance(resource, dict) else block
    data = holder.get("blob", holder.get("data"))
    if not isinstance(data, str):
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return str(holder.get("mimeType") or "application/octet-stream"), content


def _described(block: JsonObject) -> JsonObject:
    resource = block.get("resource")
    kept = {key: held for key, held in block.items() if key not in ("data", "resource")}
    if isinstance(resource, dict):
        kept |= {key: held for key, held in resource.items() if key != "blob"}
    return kept


def _problem(
    status: int, detail: str, headers: Mapping[str, str] = MappingProxyType({})
) -> httpx.Response:
    body = json.dumps({"title": "the MCP call", "detail": detail}).encode()
    return answer_of(status, "application/problem+json", body, headers)
