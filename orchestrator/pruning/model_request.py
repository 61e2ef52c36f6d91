"""What a request to a model says, whatever API it is written for: its tools and its turns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

JsonValue = Any
CORE_POLICY: Final = "core"
"""What `x-orchet-load-policy` says of a tool that is always forwarded."""
_MOST_BEFORE: Final = 2_000
SPEAKERS: Final = ("user", "assistant")
OWN_KEYWORDS: Final = ("x-orqen-examples", "x-orchet-load-policy")
"""What callers tell the router of a tool; the model's provider never sees it."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a request, at its place among the others."""

    name: str
    """Empty where it has none: a provider's own tool."""
    function: Mapping[str, Any] | None
    """What the router reads; None: it is the provider's own, and always stays."""
    is_core: bool = False
    """The caller marked it so, or has deferred it: it is always forwarded."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What a request says of which tools may be called."""

    is_none: bool = False
    names: frozenset[str] = frozenset()
    """The tools that it names; they must be among those forwarded."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the turns of a request tell."""

    request: str = ""
    """The text of the last turn of the user that has one."""
    goal: str = ""
    """That of the first."""
    before: str = ""
    """The text of the user's turn before that, and what the assistant has said since."""
    called: tuple[str, ...] = ()
    """Names of the tools that were called, the last first, each once."""
    last_error: str | None = None
    """What the last tool that answered failed with, if it did."""
    follows: str = ""
    """The id of an earlier answer that it goes on from, where the provider keeps those."""


class ModelApi(Protocol):
    """How requests to one API are written, and what its answers say."""

    name: str
    path: str
    """What the paths of its requests end in."""
    turns_member: str
    """The name of the member that holds the turns."""
    can_defer: bool
    """Whether tools may be sent as such that the model has to search for."""

    def tools_member(self, body: Mapping[str, Any]) -> str:
        """The name of the member that holds the tools."""
        ...

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """What an entry of that member offers."""
        ...

    def choice(self, body: Mapping[str, Any]) -> ToolChoice:
        """Which tools may be called."""
        ...

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        """What the turns tell."""
        ...

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """The tool to add so that deferred ones are found; None if there is one already."""
        ...

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Names of the tools that an answer, or an event of a stream, calls."""
        ...

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Texts that an answer, or an event of a stream, says."""
        ...

    def answer_id(self, document: Mapping[str, Any]) -> str:
        """The id by which a later request may refer to an answer; empty without one."""
        ...

    def error(self, message: str, kind: str) -> Mapping[str, Any]:
        """An error in the form that clients of this API read."""
        ...


def objects(value: JsonValue) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; nothing of anything else."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, Mapping))


def member(value: JsonValue, *names: str) -> JsonValue:
    """What stands under names within names; None where there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def text_of(content: JsonValue, *kinds: str) -> str:
    """The text of a turn: a string, or the parts of these kinds."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in objects(content) if part.get("type") in kinds)
    return "\n".join(part for part in parts if isinstance(part, str))


def name_in(value: JsonValue, *names: str) -> str:
    """A name that stands under names within names; empty where there is none."""
    found = member(value, *names)
    return found if isinstance(found, str) else ""


def conversation_of(
    said: Iterable[tuple[object, str]],
    called: Iterable[str],
    last_error: str | None,
    follows: str = "",
) -> Conversation:
    """What turns tell: roles with their texts, and the names of the calls, in their order."""
    texts = [(role, text) for role, text in said if text.strip()]
    asked = [place for place, (role, _) in enumerate(texts) if role == "user"]
    last, first = asked[-1:] or [0], asked[-2:-1] or [0]
    return Conversation(
        request=texts[asked[-1]][1] if asked else "",
        goal=texts[asked[0]][1] if asked else "",
        before="\n".join(text for _, text in texts[first[0] : last[0]])[-_MOST_BEFORE:],
        called=tuple(dict.fromkeys(reversed([name for name in called if name]))),
        last_error=last_error,
        follows=follows,
    )


def offered(entry: Mapping[str, Any], function: JsonValue) -> OfferedTool:
    """A tool of an entry whose function stands in itself, or in a member of it."""
    name = name_in(function, "name")
    if not isinstance(function, Mapping) or not name:
        return OfferedTool(name="", function=None)
    policy = entry.get("x-orchet-load-policy", function.get("x-orchet-load-policy"))
    told = {**function, **{key: entry[key] for key in OWN_KEYWORDS if key in entry}}
    is_core = policy == CORE_POLICY or entry.get("defer_loading") is True
    return OfferedTool(name=name, function=told, is_core=is_core)
