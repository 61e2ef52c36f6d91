"""Requests to models, independent of their API: tools, conversation, and the API protocol."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

import zstandard

JsonValue = Any
OWN_KEYWORDS: Final = ("x-orqen-examples", "x-orchet-load-policy")
"""Keywords of a tool for the router, which the model's provider never sees."""
IDENTITY: Final = "identity"
FUNCTION_KINDS: Final = ("function", "custom")
MOST_BYTES: Final = 20_000_000
"""Maximum size of a request; larger ones are not read."""
_FAILURE_BEGINS: Final = re.compile(r"\s*(?:error|exception|traceback)\b", re.IGNORECASE)
# In scripts without spaces a name may stand between letters, so words consist of ASCII alone.
_WORDS: Final = [
    re.compile(pattern, re.ASCII) for pattern in (r"\w+", r"\w+(?:-+\w+)*", r"\w+(?:[.:/-]+\w+)*")
]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a request."""

    name: str
    """Empty for a provider's own tool, which has no name."""
    function: Mapping[str, Any] | None
    """The function in the form that the router reads; None for a provider's tool, never omitted."""
    is_core: bool = False
    """True if the caller marked it as core or deferred it, so that it is always forwarded."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The tools that a request allows to be called."""

    is_none: bool = False
    names: frozenset[str] = frozenset()
    """The tools that it names, which must be forwarded."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a request."""

    request: str = ""
    """The text of the user's last turn that has one."""
    goal: str = ""
    """The text of the user's first turn."""
    before: str = ""
    """The text of the user's turn before the last, and of the assistant's turns since."""
    instructions: str = ""
    """The texts of the system and of developers."""
    called: tuple[str, ...] = ()
    """Names of the tools that were called, most recent first, each once."""
    last_error: str | None = None
    """The failure of the last tool that answered."""
    follows: str = ""
    """The id of an earlier answer that it continues, if the provider stores answers."""


class ModelApi(Protocol):
    """The format of requests to one API and of its answers."""

    name: str
    path: str
    """The end of the path of its requests."""
    turns_member: str = "messages"
    """The name of the member that holds the turns."""
    can_defer: bool = True
    """True if tools may be sent as deferred, for the model to search."""

    def tools_member(self, body: Mapping[str, Any]) -> str:
        """Return the name of the member that holds the tools."""
        return "tools"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """Return the tool of an entry of that member."""

    def choice(self, body: Mapping[str, Any]) -> ToolChoice:
        """Return the tools that may be called: each API has its own form of it, and no other's."""
        chosen = body.get("tool_choice", body.get("function_call"))
        allowed = member(chosen, "allowed_tools", "tools") or member(chosen, "tools")
        return ToolChoice(
            is_none="none" in (chosen, member(chosen, "type")),
            names=frozenset(filter(None, map(name_called, [chosen, *objects(allowed)]))),
        )

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        """Return the turns."""

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return the tool that finds deferred tools; None without one, or if one is there."""
        return None

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield names of the tools that an answer, or an event of a stream, calls."""

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts of an answer, or of an event of a stream."""

    def answer_id(self, document: Mapping[str, Any]) -> str:
        """Return the id by which a later request may refer to an answer; empty without one."""
        return ""

    def error(self, message: str, kind: str) -> Mapping[str, Any]:
        """Return an error in the format that clients of this API read: here, OpenAI's."""
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def objects(value: JsonValue) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list; none for other values."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def member(value: JsonValue, *names: str) -> JsonValue:
    """Return the value under nested names; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def string_in(value: JsonValue, *names: str) -> str:
    """Return the string under nested names; empty if there is none."""
    found = member(value, *names)
    return found if isinstance(found, str) else ""


def name_called(value: JsonValue) -> str:
    """Return the name in a call or a choice: under its kind, or at its top."""
    named = (string_in(value, kind, "name") for kind in FUNCTION_KINDS)
    return next(filter(None, named), string_in(value, "name"))


def text_of(content: JsonValue, *kinds: str) -> str:
    """Return the text of a turn: a string, or its parts of these kinds."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in objects(content) if part.get("type") in kinds)
    return "\n".join(part for part in parts if isinstance(part, str))


def failure_in(answer: str) -> str | None:
    """Return the failure that a tool's answer reports, for APIs without a field for it."""
    found: Any = {}
    if answer.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            found = json.loads(answer)
    named = any(found.get(field) for field in ("error", "errors", "isError", "is_error"))
    is_failure = named or found.get("ok") is False or _FAILURE_BEGINS.match(answer)
    return answer[:4_000] if is_failure else None


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text that may be tool names, with and without hyphens and dots."""
    return frozenset(word for pattern in _WORDS for word in pattern.findall(text))


def conversation_of(
    messages: Iterable[Mapping[str, Any]],
    *kinds: str,
    called: Iterable[str],
    last_error: str | None,
    instructions: str = "",
    follows: str = "",
) -> Conversation:
    """Return a conversation from messages with texts of these kinds, and names of calls."""
    said = [(one.get("role"), text_of(one.get("content"), *kinds)) for one in messages]
    turns = [(role, text) for role, text in said if text.strip()]
    texts = [(role, text) for role, text in turns if role in ("user", "assistant")]
    instructed = (text for role, text in turns if role in ("system", "developer"))
    asked = [place for place, (role, _) in enumerate(texts) if role == "user"]
    last, first = asked[-1:] or [0], asked[-2:-1] or [0]
    return Conversation(
        request=texts[asked[-1]][1] if asked else "",
        goal=texts[asked[0]][1] if asked else "",
        before="\n".join(text for _, text in texts[first[0] : last[0]])[-2_000:],
        instructions="\n".join(filter(None, (instructions, *instructed))),
        called=tuple(dict.fromkeys(reversed([name for name in called if name]))),
        last_error=last_error,
        follows=follows,
    )


def offered(entry: Mapping[str, Any], function: JsonValue) -> OfferedTool:
    """Return the tool of an entry; its function is the entry itself or a member of it."""
    name = string_in(function, "name")
    if not isinstance(function, Mapping) or not name:
        return OfferedTool(name="", function=None)
    policy = entry.get("x-orchet-load-policy", function.get("x-orchet-load-policy"))
    described = {**function, **{key: entry[key] for key in OWN_KEYWORDS if key in entry}}
    is_core = policy == "core" or entry.get("defer_loading") is True
    return OfferedTool(name=name, function=described, is_core=is_core)


class UnreadCoding(ValueError):
    """A request cannot be decompressed; the text says why."""


def decoded(body: bytes, coding: str) -> bytes:
    """Return a request without its content codings, the last of which was applied last.

    Raises:
        UnreadCoding: a coding is unknown here, is broken, or holds more than `MOST_BYTES`.
    """
    names = [name.strip().lower() for name in coding.split(",")]
    for name in reversed([name for name in names if name not in ("", IDENTITY)]):
        if name not in ("zstd", "gzip", "x-gzip", "deflate"):
            raise UnreadCoding(f"{name!r} is not read here")
        try:
            if name == "zstd":
                whole = zstandard.ZstdDecompressor()
                with whole.stream_reader(body, read_across_frames=True) as reader:
                    body = reader.read(MOST_BYTES + 1)
            else:
                unpacked = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
                body = unpacked.decompress(body, MOST_BYTES + 1)
                if unpacked.unused_data or not (unpacked.eof or unpacked.unconsumed_tail):
                    raise UnreadCoding(f"it is not one whole {name}")
        except (zlib.error, zstandard.ZstdError) as error:
            raise UnreadCoding(f"it is not valid {name}") from error
        if len(body) > MOST_BYTES:
            raise UnreadCoding(f"it holds more than {MOST_BYTES:,} bytes")
    return body
