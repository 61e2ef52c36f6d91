"""The list of tools of a request: read once, however often a conversation brings it again."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.pruning.json_spans import Span, elements
from orchestrator.pruning.model_request import OWN_KEYWORDS, ModelApi, OfferedTool
from orchestrator.routing.function_routers import FunctionRouters
from orchestrator.routing.router import Router

_MOST_LISTS: Final = 256


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool, and the text by which it is sent on."""

    tool: OfferedTool
    text: str
    """As it came, without what was meant for the router alone."""
    cache_control: str = ""
    """The text of its mark that a prompt's cache ends here; empty without one."""


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of a request in their order, and the router over those that can be left out."""

    entries: tuple[ToolEntry, ...]
    router: Router
    is_rewritten: bool
    """Whether a tool is not sent as it came, even if none is left out."""
    search_tool: str
    """The text of the tool to add when others are deferred; empty where there is one already."""


class ToolLists:
    """Reads lists of tools, and keeps those that came last; safe to share between threads."""

    def __init__(self, routers: FunctionRouters, *, most_lists: int = _MOST_LISTS) -> None:
        """Make routers by these, and keep so many lists at most."""
        self._routers = routers
        self._most_lists = most_lists
        self._lists: OrderedDict[bytes, ToolList] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, key: bytes) -> ToolList | None:
        """The list of a key, if it was read before."""
        with self._lock:
            if key in self._lists:
                self._lists.move_to_end(key)
            return self._lists.get(key)

    def read(self, api: ModelApi, text: str, array: Span, key: bytes) -> ToolList:
        """Read the list that stands at a place of a request's text, and keep it by its key.

        Raises:
            DocumentInvalid: a function that cannot be read, or two of one name.
        """
        spans = elements(text, array)
        entries = tuple(_entry(api, span, text[span.start : span.end]) for span in spans)
        functions = [entry.tool.function for entry in entries if entry.tool.function is not None]
        search = api.search_tool([s.value for s in spans if isinstance(s.value, Mapping)])
        made = ToolList(
            entries=entries,
            router=self._routers.of(functions),
            is_rewritten=any(
                entry.text != text[span.start : span.end]
                for entry, span in zip(entries, spans, strict=True)
            ),
            search_tool=json.dumps(search) if search else "",
        )
        with self._lock:
            self._lists[key] = made
            while len(self._lists) > self._most_lists:
                self._lists.popitem(last=False)
        return made


def list_key(api: ModelApi, text: str) -> bytes:
    """What a list of tools is kept by: nothing of it can be read from that."""
    return hashlib.sha256(f"{api.name} {text}".encode("utf-8", "surrogatepass")).digest()


def _entry(api: ModelApi, span: Span, text: str) -> ToolEntry:
    value = span.value
    if not isinstance(value, Mapping):
        return ToolEntry(OfferedTool(name="", function=None), text)
    clean = _without_own_keywords(value)
    mark = value.get("cache_control")
    return ToolEntry(
        tool=api.tool(value),
        text=text if clean == value else json.dumps(clean),
        cache_control=json.dumps(mark) if mark else "",
    )


def _without_own_keywords(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry, and the function in it, without what only the router reads."""
    kept = {key: value for key, value in entry.items() if key not in OWN_KEYWORDS}
    function = kept.get("function")
    if isinstance(function, Mapping):
        kept["function"] = {k: v for k, v in function.items() if k not in OWN_KEYWORDS}
    return kept
