"""The pruner: which of a request's tools go on to the model, and the request with those alone."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal, get_args

from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.conversation_memory import ConversationMemory, Remembered, TurnPlace
from orchestrator.pruning.json_spans import Member, Span, elements, members, replaced
from orchestrator.pruning.model_request import Conversation, ModelApi, OfferedTool, ToolChoice
from orchestrator.pruning.tool_list import ToolEntry, ToolList, ToolLists, list_key
from orchestrator.routing.selection import RouteContext, Selection

Mode = Literal["prune", "defer", "sticky", "shadow"]
MODES: Final = get_args(Mode)
Routing = Literal["semantic", "nothing_fits", "fail_open", "passed_on"]
"""How the tools of a request were chosen; `passed_on`: there was nothing to choose."""
_WIDENED: Final = 8
"""So many of the best go on after an answer that lacked a tool; after the second one all do."""

_LACKING: Final = "a tool was missing"
_SHORT: Final = 120
"""A longer text says by itself what it asks for."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request whose tools may be chosen from."""

    api: ModelApi
    text: str
    tools: Span
    choice: ToolChoice
    conversation: Conversation
    list_key: bytes
    place: TurnPlace


@dataclass(frozen=True, slots=True)
class Pruned:
    """A request as it goes on, and what was chosen."""

    body: bytes
    mode: Mode = "prune"
    offered: int = 0
    forwarded: int = 0
    routing: Routing = "passed_on"
    reason: str = ""
    kept: tuple[int, ...] = ()
    """The places of the tools that fit or stay, among those offered."""
    names: frozenset[str] = frozenset()
    """The tools of the caller that the model is told of, deferred ones not among them."""
    left_out: frozenset[str] = frozenset()
    """The others."""
    saved_characters: int = 0
    """Of the tools that the model is not told of."""
    selection: Selection | None = None
    place: TurnPlace | None = None

    @property
    def headers(self) -> dict[str, str]:
        """What the caller is told, as x-orqen-* headers."""
        told = {
            "x-orqen-tools-input": str(self.offered),
            "x-orqen-tools-output": str(self.forwarded),
            "x-orqen-prune-ratio": f"{self.forwarded}/{self.offered}",
            "x-orqen-routing": self.routing,
            "x-orqen-mode": self.mode,
        }
        if self.selection is not None:
            told["x-orqen-band"] = self.selection.band
        return told


class Pruner:
    """Chooses the tools of requests to models; safe to share between threads.

    Whatever goes wrong inside, the request goes on as it came.
    """

    def __init__(self, lists: ToolLists, memory: ConversationMemory) -> None:
        """Take what reads lists of tools, and what remembers conversations."""
        self._lists = lists
        self._memory = memory

    def read(self, api: ModelApi, body: bytes) -> ReadRequest | None:
        """What a request says; None where there is nothing to choose from, or no JSON object."""
        try:
            text = body.decode()
            found = members(text)
        except (ValueError, RecursionError):
            return None
        said = {one.name: one.span.value for one in found}
        tools = api.tools_member(said)
        spans = [one.span for one in found if one.name == tools]
        if len(spans) != 1 or not isinstance(spans[0].value, list) or not spans[0].value:
            return None
        array, conversation = spans[0], api.conversation(said)
        return ReadRequest(
            api=api,
            text=text,
            tools=array,
            choice=api.choice(said),
            conversation=conversation,
            list_key=list_key(api, text[array.start : array.end]),
            place=self._place(api, text, found, conversation),
        )

    def is_ready(self, request: ReadRequest) -> bool:
        """Whether its list of tools was read before, so that choosing takes a moment."""
        return self._lists.known(request.list_key) is not None

    def choose(self, request: ReadRequest, mode: Mode = "prune") -> Pruned:
        """The request with the tools that fit it.

        Raises:
            DocumentInvalid: a tool cannot be read, or two have one name.
        """
        tools = self._lists.known(request.list_key) or self._lists.read(
            request.api, request.text, request.tools, request.list_key
        )
        if request.choice.is_none or not request.conversation.request:
            return replace(_sent(request, tools, mode, tools.entries), routing="passed_on")
        return self._chosen(request, tools, mode)

    def prune(self, api: ModelApi, body: bytes, mode: Mode = "prune") -> Pruned:
        """A request's bytes with the tools that fit it; as they came if anything goes wrong."""
        request = None
        try:
            request = self.read(api, body)
            return self.choose(request, mode) if request else Pruned(body=body, mode=mode)
        except Exception as error:
            return fallen_open(body, request, mode, error)

    def learn(self, pruned: Pruned, answer: AnswerReader) -> None:
        """Remember what an answer tells for the next request of its conversation."""
        if pruned.place is None or pruned.mode == "shadow":
            return
        missed = not pruned.left_out.isdisjoint(answer.called) or (
            bool(pruned.left_out) and answer.lacks_a_tool
        )
        # What was deferred is found by the model itself.
        is_miss = missed and pruned.mode != "defer"
        self._memory.answered(pruned.place, answer.ids, answer.called, is_miss=is_miss)

    def _place(
        self, api: ModelApi, text: str, found: Sequence[Member], conversation: Conversation
    ) -> TurnPlace:
        turns = [one.span for one in found if one.name == api.turns_member]
        texts = [
            text[turn.start : turn.end]
            for span in turns
            for turn in (elements(text, span) if isinstance(span.value, list) else [span])
        ]
        return self._memory.place(api.name, texts, conversation.follows)

    def _chosen(self, request: ReadRequest, tools: ToolList, mode: Mode) -> Pruned:
        known = self._memory.of(request.place)
        context = _context(request.conversation, known)
        selection = tools.router.route(_asked(request.conversation, tools), context)
        staying = [entry for entry in tools.entries if _stays(entry.tool, request)]
        names = _names(tools, selection, known, mode)
        names |= {entry.tool.name for entry in staying if entry.tool.name}
        kept = [e for e in tools.entries if e.tool.function is None or e.tool.name in names]
        if mode != "shadow":
            self._memory.forwarded(request.place, names)
        return replace(
            _sent(request, tools, mode, kept),
            selection=selection,
            routing=_routing(selection),
            reason=selection.reason,
        )


def _names(tools: ToolList, selection: Selection, known: Remembered, mode: Mode) -> set[str]:
    """Names of the caller's tools that fit, and of those that the conversation keeps."""
    everything = {e.tool.name for e in tools.entries if e.tool.function is not None}
    if selection.band == "fail_open" or known.misses > 1:
        return everything
    names = set(selection.tools)
    if known.misses:
        names.update(islice(selection.scores, _WIDENED))
    if known.misses or mode in ("sticky", "defer"):
        names |= known.forwarded & everything
    return names or everything


def fallen_open(body: bytes, request: ReadRequest | None, mode: Mode, error: Exception) -> Pruned:
    """A request as it came, since choosing its tools failed."""
    late = isinstance(error, TimeoutError)
    offered = len(request.tools.value) if request else 0
    return Pruned(
        body=body,
        mode=mode,
        offered=offered,
        forwarded=offered,
        routing="fail_open",
        reason="reading its tools took too long" if late else type(error).__name__,
        kept=tuple(range(offered)),
        place=request.place if request else None,
    )


def _asked(conversation: Conversation, tools: ToolList) -> str:
    """The request; with the turns before it where it is an agreement that names no tool."""
    text = conversation.request
    if not conversation.before or len(text) > _SHORT or tools.router.route(text).fits:
        return text
    return f"{conversation.before}\n{text}"


def _context(conversation: Conversation, known: Remembered) -> RouteContext:
    goal = conversation.goal if conversation.goal != conversation.request else ""
    error = conversation.last_error or (_LACKING if known.misses else None)
    return RouteContext(goal=goal, earlier=conversation.called, last_error=error)


def _stays(tool: OfferedTool, request: ReadRequest) -> bool:
    """Whether a tool goes on however little it fits."""
    if tool.function is None or tool.is_core:
        return True
    return tool.name in request.choice.names or tool.name in request.conversation.called


def _routing(selection: Selection) -> Routing:
    if selection.band == "fail_open":
        return "fail_open"
    return "semantic" if selection.fits else "nothing_fits"


def _sent(request: ReadRequest, tools: ToolList, mode: Mode, kept: Collection[ToolEntry]) -> Pruned:
    """The request with these of its tools: the others left out, deferred, or sent all the same."""
    loaded = {id(entry) for entry in kept}
    names = {entry.tool.name for entry in kept if entry.tool.name}
    offered = {entry.tool.name for entry in tools.entries if entry.tool.name}
    sent = tools.entries if mode == "shadow" else kept
    defers = mode == "defer" and request.api.can_defer and len(kept) < len(tools.entries)
    texts = _deferred(tools, kept) if defers else _texts(sent, tools)
    if len(texts) == len(tools.entries) and not tools.is_rewritten and not defers:
        body = request.text
    else:
        place = (request.tools.start, request.tools.end)
        body = replaced(request.text, {place: f"[{','.join(texts)}]"})
    return Pruned(
        body=body.encode(),
        mode=mode,
        offered=len(tools.entries),
        forwarded=len(sent),
        kept=tuple(index for index, entry in enumerate(tools.entries) if id(entry) in loaded),
        names=frozenset(names),
        left_out=frozenset(offered - names),
        saved_characters=sum(len(e.text) for e in tools.entries if id(e) not in loaded),
        place=request.place,
    )


def _texts(sent: Collection[ToolEntry], tools: ToolList) -> list[str]:
    """The texts of the tools that are sent; the end of what a provider caches stays marked."""
    texts = [entry.text for entry in sent]
    marks = [entry.cache_control for entry in tools.entries if entry.cache_control]
    if marks and texts and not any(entry.cache_control for entry in sent):
        texts[-1] = _with_member(texts[-1], "cache_control", marks[-1])
    return texts


def _deferred(tools: ToolList, kept: Collection[ToolEntry]) -> list[str]:
    """The texts of all tools, those that are not kept marked as such that have to be searched."""
    loaded = {id(entry) for entry in kept}
    texts = [
        entry.text if id(entry) in loaded else _with_member(entry.text, "defer_loading", "true")
        for entry in tools.entries
    ]
    return [*texts, tools.search_tool] if tools.search_tool else texts


def _with_member(text: str, name: str, value: str) -> str:
    """The text of an object that is not empty, with a member more at its beginning."""
    return f"{{{json.dumps(name)}:{value},{text.lstrip()[1:]}"


def read_mode(value: str | None, otherwise: Mode) -> Mode:
    """A mode by its name; another one where it is none."""
    known: Mapping[str, Mode] = {mode: mode for mode in MODES}
    return known.get(value or "", otherwise)
