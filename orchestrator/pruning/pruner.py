"""The pruner: reduces a request's tools to those that fit."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal, get_args

from orchestrator.language.detect import foreign_in
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.conversation_memory import ConversationMemory, Remembered, TurnPlace
from orchestrator.pruning.json_spans import Span, elements, members, replaced
from orchestrator.pruning.model_request import (
    IDENTITY,
    Conversation,
    ModelApi,
    ToolChoice,
    UnreadCoding,
    decoded,
    words_in,
)
from orchestrator.pruning.tool_list import ToolEntry, ToolList, ToolLists, list_key
from orchestrator.routing.selection import RouteContext, Selection

Mode = Literal["prune", "defer", "sticky", "shadow"]
MODES: Final = get_args(Mode)
Routing = Literal["semantic", "nothing_fits", "fail_open", "passed_on", "unread"]
"""`passed_on`: there was nothing to choose; `unread`: its compression cannot be read here."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request whose tools may be chosen."""

    api: ModelApi
    raw: bytes
    """The body as received."""
    coding: str
    """The content coding of `raw`."""
    text: str
    tools: Span
    choice: ToolChoice
    conversation: Conversation
    list_key: bytes
    place: TurnPlace


@dataclass(frozen=True, slots=True)
class Pruned:
    """A request to forward, and the choice of its tools."""

    body: bytes
    mode: Mode = "prune"
    coding: str = IDENTITY
    """The content coding of the body."""
    offered: int = 0
    forwarded: int = 0
    routing: Routing = "passed_on"
    reason: str = ""
    kept: tuple[int, ...] = ()
    """The positions of the tools that fit or stay, among those offered."""
    names: frozenset[str] = frozenset()
    """The caller's tools that the model sees, without deferred ones."""
    left_out: frozenset[str] = frozenset()
    """The caller's other tools."""
    saved_characters: int = 0
    """The size of the tools that the model does not see, in characters."""
    selection: Selection | None = None
    place: TurnPlace | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The x-orqen-* headers for the caller."""
        headers: dict[str, str] = {}
        if self.routing != "unread":
            headers["x-orqen-tools-input"] = str(self.offered)
            headers["x-orqen-tools-output"] = str(self.forwarded)
            headers["x-orqen-prune-ratio"] = f"{self.forwarded}/{self.offered}"
        headers |= {"x-orqen-routing": self.routing, "x-orqen-mode": self.mode}
        if self.selection is not None:
            headers["x-orqen-band"] = self.selection.band
        return headers


class Pruner:
    """Chooses the tools of requests to models; safe to share between threads.

    After any internal error, the request is forwarded unchanged.
    """

    def __init__(self, lists: ToolLists, memory: ConversationMemory) -> None:
        self._lists = lists
        self._memory = memory

    def read(self, api: ModelApi, body: bytes, coding: str = IDENTITY) -> ReadRequest | None:
        """Read a request; None if it has no tools to choose from, or is no JSON object.

        Raises:
            UnreadCoding: the request cannot be decompressed.
        """
        plain = decoded(body, coding)
        try:
            text = plain.decode()
            found = members(text)
        except (ValueError, RecursionError):
            return None
        said = {one.name: one.span.value for one in found}
        tools = api.tools_member(said)
        spans = [one.span for one in found if one.name == tools]
        if len(spans) != 1 or not isinstance(spans[0].value, list) or not spans[0].value:
            return None
        array, conversation = spans[0], api.conversation(said)
        turns = [
            text[turn.start : turn.end]
            for one in found
            if one.name == api.turns_member
            for turn in (
                elements(text, one.span) if isinstance(one.span.value, list) else [one.span]
            )
        ]
        return ReadRequest(
            api=api,
            raw=body,
            coding=coding,
            text=text,
            tools=array,
            choice=api.choice(said),
            conversation=conversation,
            list_key=list_key(api, text[array.start : array.end]),
            place=self._memory.place(api.name, turns, conversation.follows),
        )

    def is_ready(self, request: ReadRequest) -> bool:
        """Return True if its list of tools is cached, so that choosing is quick."""
        return self._lists.known(request.list_key) is not None

    def choose(
        self, request: ReadRequest, mode: Mode = "prune", limit_s: float | None = None
    ) -> Pruned:
        """Return the request with the tools that fit it.

        The mode is the treatment of the others; without a time limit that of the router counts.

        Raises:
            DocumentInvalid: a tool cannot be read, or two have one name.
        """
        tools = self._lists.known(request.list_key) or self._lists.read(
            request.api, request.text, request.tools, request.list_key
        )
        talk, choice = request.conversation, request.choice
        if choice.is_none or not talk.request:
            return replace(_sent(request, tools, mode, tools.entries), routing="passed_on")
        known = self._memory.of(request.place)
        context = RouteContext(
            goal=talk.goal if talk.goal != talk.request else "",
            earlier=talk.called,
            last_error=talk.last_error or ("a tool was missing" if known.misses else None),
        )
        asked = talk.request
        # A short text that fits no tool may need the turns before it to be understood.
        if talk.before and len(asked) <= 120 and not tools.router.route(asked).fits:
            asked = f"{talk.before}\n{asked}"
        selection = tools.router.route(asked, context, limit_s=limit_s)
        if selection.fits and foreign_in(asked[:2_000]) is not None:
            reason = "the request is not in English"
            unread = {"fits": False, "band": "nothing_fits", "reason": reason}
            selection = selection.model_copy(update=unread)
        # However little they fit; the instructions may name some.
        stay = choice.names.union(talk.called, words_in(talk.instructions))
        names = _names(tools, selection, known, mode)
        names |= {e.tool.name for e in tools.entries if e.tool.is_core or e.tool.name in stay}
        kept = [e for e in tools.entries if e.tool.function is None or e.tool.name in names]
        if mode != "shadow":
            self._memory.forwarded(request.place, names)
        routing: Routing = "semantic" if selection.fits else "nothing_fits"
        return replace(
            _sent(request, tools, mode, kept),
            selection=selection,
            routing="fail_open" if selection.band == "fail_open" else routing,
            reason=selection.reason,
        )

    def prune(
        self, api: ModelApi, body: bytes, mode: Mode = "prune", coding: str = IDENTITY
    ) -> Pruned:
        """Return a request's bytes with the tools that fit it; unchanged after any error."""
        request, as_it_came = None, Pruned(body=body, mode=mode, coding=coding)
        try:
            request = self.read(api, body, coding)
            return self.choose(request, mode) if request else as_it_came
        except Exception as error:
            return fallen_open(as_it_came, request, error)

    def learn(self, pruned: Pruned, answer: AnswerReader) -> None:
        """Remember an answer for the next request of its conversation."""
        if pruned.place is None or pruned.mode == "shadow":
            return
        missed = not pruned.left_out.isdisjoint(answer.called) or (
            bool(pruned.left_out) and answer.misses_a_tool
        )
        # The model finds deferred tools itself.
        is_miss = missed and pruned.mode != "defer"
        self._memory.answered(pruned.place, answer.ids, answer.called, is_miss=is_miss)


def _names(tools: ToolList, selection: Selection, known: Remembered, mode: Mode) -> set[str]:
    """Return names of the caller's tools that fit, and of those that the conversation retains."""
    everything = {e.tool.name for e in tools.entries if e.tool.function is not None}
    if selection.band == "fail_open" or not selection.fits or known.misses > 1:
        return everything
    names = set(selection.tools)
    if known.misses:
        names.update(islice(selection.scores, 8))
    if known.misses or mode in ("sticky", "defer"):
        names |= known.forwarded & everything
    return names or everything


def fallen_open(as_it_came: Pruned, request: ReadRequest | None, error: Exception) -> Pruned:
    """Return a request unchanged, as choosing its tools failed."""
    if isinstance(error, UnreadCoding):
        return replace(as_it_came, routing="unread", reason=str(error))
    late = isinstance(error, TimeoutError)
    offered = len(request.tools.value) if request else 0
    return replace(
        as_it_came,
        offered=offered,
        forwarded=offered,
        routing="fail_open",
        reason="reading its tools took too long" if late else type(error).__name__,
        kept=tuple(range(offered)),
        place=request.place if request else None,
    )


def _sent(request: ReadRequest, tools: ToolList, mode: Mode, kept: Collection[ToolEntry]) -> Pruned:
    """Return the request with these tools; others are omitted, deferred, or in shadow mode sent."""
    loaded = {id(entry) for entry in kept}
    names = {entry.tool.name for entry in kept if entry.tool.name}
    offered = {entry.tool.name for entry in tools.entries if entry.tool.name}
    sent = tools.entries if mode == "shadow" else kept
    defers = mode == "defer" and request.api.can_defer and len(kept) < len(tools.entries)
    if len(sent) == len(tools.entries) and not tools.is_rewritten:
        body, coding = request.raw, request.coding
    else:
        shown = [*sent]
        if defers:
            shown = [entry if id(entry) in loaded else _deferred(entry) for entry in tools.entries]
            shown += [tools.search_tool] if tools.search_tool else []
        texts = _marked(tools, shown)
        place = (request.tools.start, request.tools.end)
        body = replaced(request.text, {place: f"[{','.join(texts)}]"}).encode()
        coding = IDENTITY
    return Pruned(
        body=body,
        mode=mode,
        coding=coding,
        offered=len(tools.entries),
        forwarded=len(sent),
        kept=tuple(index for index, entry in enumerate(tools.entries) if id(entry) in loaded),
        names=frozenset(names),
        left_out=frozenset(offered - names),
        saved_characters=sum(len(e.text) for e in tools.entries if id(e) not in loaded),
        place=request.place,
    )


def _deferred(entry: ToolEntry) -> ToolEntry:
    """Return a tool as deferred, without the cache mark, which Anthropic refuses on such a tool."""
    if entry.is_deferred:
        return entry
    text = entry.text
    if entry.cache_control:
        text = json.dumps({k: v for k, v in json.loads(text).items() if k != "cache_control"})
    text = _with_member(text, "defer_loading", "true")
    return replace(entry, text=text, cache_control="", is_deferred=True)


def _marked(tools: ToolList, sent: Sequence[ToolEntry]) -> list[str]:
    """Return the texts of the tools to send; the last loaded one carries the cache mark."""
    texts = [entry.text for entry in sent]
    marks = [entry for entry in tools.entries if entry.cache_control]
    at = max((n for n, entry in enumerate(sent) if not entry.is_deferred), default=None)
    has_moved = bool(marks) and not any(marks[-1] is entry for entry in sent)
    if has_moved and at is not None and not sent[at].cache_control:
        texts[at] = _with_member(texts[at], "cache_control", marks[-1].cache_control)
    return texts


def _with_member(text: str, name: str, value: str) -> str:
    return f"{{{json.dumps(name)}:{value},{text.lstrip()[1:]}"


def read_mode(value: str | None, otherwise: Mode) -> Mode:
    """Return a mode by its name, or `otherwise` if there is none of that name."""
    known: Mapping[str, Mode] = {mode: mode for mode in MODES}
    return known.get(value or "", otherwise)
