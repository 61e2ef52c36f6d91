"""Reads the tools that an answer calls while it passes: whole, or as server-sent events."""

import json
import re
import zlib
from collections.abc import Callable
from typing import Final

from orchestrator.pruning.model_request import ModelApi

_MOST_KEPT: Final = 4_000_000
"""Maximum bytes of an answer or an event; larger ones pass unread."""
_MOST_SAID: Final = 20_000
# "I do not have a tool for that", "there is no function which ...", "I lack the tools to ...".
_MISSING: Final = re.compile(
    r"(?:n['\u2019]t|\b(?:not|no|cannot|lack|without|missing))\b[^.?!\n]{0,60}\b(?:tool|function)s?\b",
    re.IGNORECASE,
)


class AnswerReader:
    """Takes an answer's bytes in order; stores names of tools and none of the text.

    The answer may come as server-sent events. Bytes in an unknown content coding are not read.
    """

    def __init__(self, api: ModelApi, *, is_stream: bool, coding: str = "identity") -> None:
        self._unpack: Callable[[bytes], bytes] = lambda piece: b""
        if coding == "identity":
            self._unpack = bytes
        elif coding in ("gzip", "deflate"):
            self._unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress
        self._api = api
        self._is_stream = is_stream
        self._rest = bytearray()
        self._said = ""
        self._is_lost = False
        self.called: list[str] = []
        """Names of the tools called so far, in order."""
        self.ids: list[str] = []
        """Ids of the answer."""

    def feed(self, piece: bytes) -> None:
        """Read the next bytes; never raises."""
        if self._is_lost:
            return
        try:
            self._rest += self._unpack(piece)
        except zlib.error:
            self._is_lost = True
        while self._is_stream and (end := self._rest.find(b"\n")) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            if line.startswith(b"data:"):
                self._read(line.removeprefix(b"data:"))
        self._is_lost = len(self._rest) > _MOST_KEPT

    def finish(self) -> None:
        """Read the rest at the end of the answer."""
        if not self._is_stream and not self._is_lost:
            self._read(bytes(self._rest))
        self._rest.clear()

    @property
    def misses_a_tool(self) -> bool:
        """True if the text says that a tool is missing, and no tool was called."""
        return not self.called and _MISSING.search(self._said) is not None

    def _read(self, text: bytes) -> None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(document, dict):
            return
        fresh = (name for name in self._api.calls(document) if name)
        self.called += [name for name in dict.fromkeys(fresh) if name not in self.called]
        if len(self._said) < _MOST_SAID:
            self._said += "".join(self._api.said(document))
        if (answer := self._api.answer_id(document)) and answer not in self.ids:
            self.ids.append(answer)
