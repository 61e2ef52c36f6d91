"""The list of tools of a request, parsed once however often a conversation sends it."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.read_once import Recent
from orchestrator.pruning.json_spans import Span, elements
from orchestrator.pruning.model_request import OWN_KEYWORDS, ModelApi, OfferedTool
from orchestrator.routing.router import Router


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool, and the text with which it is forwarded."""

    tool: OfferedTool
    text: str
    """The text as received, without the router's own keywords."""
    cache_control: str = ""
    """The text of its mark for the end of a prompt's cache; empty without one."""
    is_deferred: bool = False
    """True if the caller has deferred it."""


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of a request in order, and the router over those that can be omitted."""

    entries: tuple[ToolEntry, ...]
    router: Router
    is_rewritten: bool
    """True if some tool is sent with another text than received."""
    search_tool: ToolEntry | None
    """The tool to add when others are deferred; None if the request already has one."""


class ToolLists:
    """Reads lists of tools and caches recent ones; safe to share between threads."""

    def __init__(self, make: Callable[[Catalog], Router]) -> None:
        self._make = make
        self._lists: Recent[bytes, ToolList] = Recent(256)

    def known(self, key: bytes) -> ToolList | None:
        """Return the list of a key, if it was read before."""
        return self._lists.get(key)

    def read(self, api: ModelApi, text: str, array: Span, key: bytes) -> ToolList:
        """Read the list at a span of a request's text, and cache it under its key.

        Raises:
            DocumentInvalid: a function cannot be read, or two have the same name.
        """
        spans = elements(text, array)
        received = [text[span.start : span.end] for span in spans]
        entries = tuple(map(_entry, repeat(api), spans, received))
        functions = [entry.tool.function for entry in entries if entry.tool.function is not None]
        search = api.search_tool([s.value for s in spans if isinstance(s.value, Mapping)])
        made = ToolList(
            entries=entries,
            router=self._make(Catalog.from_functions(functions)),
            is_rewritten=[entry.text for entry in entries] != received,
            search_tool=ToolEntry(OfferedTool("", None), json.dumps(search)) if search else None,
        )
        return self._lists.put(key, made)


def list_key(api: ModelApi, text: str) -> bytes:
    """Return the key of a list of tools, a hash."""
    return hashlib.sha256(f"{api.name} {text}".encode("utf-8", "surrogatepass")).digest()


def _entry(api: ModelApi, span: Span, text: str) -> ToolEntry:
    value = span.value
    if not isinstance(value, Mapping):
        return ToolEntry(OfferedTool(name="", function=None), text)
    clean = {key: part for key, part in value.items() if key not in OWN_KEYWORDS}
    if isinstance(function := clean.get("function"), Mapping):
        clean["function"] = {k: v for k, v in function.items() if k not in OWN_KEYWORDS}
    mark = value.get("cache_control")
    return ToolEntry(
        tool=api.tool(value),
        text=text if clean == value else json.dumps(clean),
        cache_control=json.dumps(mark) if mark else "",
        is_deferred=value.get("defer_loading") is True,
    )
