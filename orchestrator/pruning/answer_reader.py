"""Reads which tools an answer calls, while it passes by: whole, or as server-sent events."""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.pruning.model_request import ModelApi

_MOST_KEPT: Final = 4_000_000
"""An answer, or an event, of more bytes than this is let pass unread."""
_MOST_SAID: Final = 20_000
_DATA: Final = b"data:"
# "I do not have a tool for that", "there is no function which ...", "I lack the tools to ...".
_LACKS: Final = re.compile(
    r"(?:n['\u2019]t|\b(?:not|no|cannot|lack|without|missing))\b[^.?!\n]{0,60}\b(?:tool|function)s?\b",
    re.IGNORECASE,
)


class AnswerReader:
    """Is fed an answer's bytes in their order; keeps names of tools and nothing that was said."""

    def __init__(self, api: ModelApi, *, is_stream: bool, coding: str = "identity") -> None:
        """Read answers of this API.

        Args:
            api: says where the names stand.
            is_stream: whether an answer comes as server-sent events.
            coding: the content coding of the bytes; of one that is not known nothing is read.
        """
        self._unpack = _unpacker(coding)
        self._api = api
        self._is_stream = is_stream
        self._rest = bytearray()
        self._said = ""
        self._is_lost = False
        self.called: list[str] = []
        """Names of the tools that were called so far, in their order."""
        self.ids: list[str] = []
        """Ids of the answer."""

    def feed(self, piece: bytes) -> None:
        """Read on; never raises."""
        if self._is_lost:
            return
        try:
            self._rest += self._unpack(piece)
        except zlib.error:
            self._is_lost = True
        while self._is_stream and (end := self._rest.find(b"\n")) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            if line.startswith(_DATA):
                self._read(line.removeprefix(_DATA))
        self._is_lost = len(self._rest) > _MOST_KEPT

    def finish(self) -> None:
        """The answer is over."""
        if not self._is_stream and not self._is_lost:
            self._read(bytes(self._rest))
        self._rest.clear()

    @property
    def lacks_a_tool(self) -> bool:
        """Whether what was said is that a tool is missing, and none was called."""
        return not self.called and _LACKS.search(self._said) is not None

    def _read(self, text: bytes) -> None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(document, dict):
            self._note(document)

    def _note(self, document: Mapping[str, Any]) -> None:
        fresh = (name for name in self._api.calls(document) if name)
        self.called += [name for name in dict.fromkeys(fresh) if name not in self.called]
        if len(self._said) < _MOST_SAID:
            self._said += "".join(self._api.said(document))
        if (answer := self._api.answer_id(document)) and answer not in self.ids:
            self.ids.append(answer)


def _unpacker(coding: str) -> Callable[[bytes], bytes]:
    """What undoes a content coding; of an unknown one nothing comes."""
    if coding == "identity":
        return lambda piece: piece
    if coding in ("gzip", "deflate"):
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress
    return lambda piece: b""
