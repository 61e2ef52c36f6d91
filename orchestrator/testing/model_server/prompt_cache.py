"""How much of a request its provider would have had in its cache: what began alike before."""

import json
from bisect import bisect_left
from collections import deque
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.testing.model_server.received import ReceivedRequest

_CHARACTERS_A_TOKEN: Final = 4
_LEAST_TOKENS: Final = 1_024
_GRAIN: Final = 128
"""OpenAI's cache begins at 1024 tokens and counts in steps of 128; Anthropic's is about alike."""
_KEPT: Final = 64
_PARTS: Final = ("tools", "system", "instructions", "messages", "input")
"""In the order in which providers put a prompt together."""


class PromptCache:
    """Prompts that were asked before, by their model."""

    def __init__(self) -> None:
        self._prompts: dict[str, deque[str]] = {}

    def counted(self, request: ReceivedRequest) -> tuple[int, int]:
        """Tokens of a request, and how many of them come from the cache; it is kept from now on."""
        prompt = prompt_text(request.body)
        earlier = self._prompts.setdefault(request.model, deque(maxlen=_KEPT))
        alike = max((_alike(prompt, other) for other in earlier), default=0)
        earlier.append(prompt)
        return len(prompt) // _CHARACTERS_A_TOKEN, _in_cache(alike, request)


def prompt_text(body: JsonObject) -> str:
    """All that a model reads of a request, in the order in which it reads it."""
    return "\n".join(json.dumps(body[part], ensure_ascii=False) for part in _PARTS if part in body)


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""

    def differs(length: int) -> bool:
        return one[:length] != other[:length]

    return bisect_left(range(1, min(len(one), len(other)) + 1), True, key=differs)


def _in_cache(characters: int, request: ReceivedRequest) -> int:
    tokens = characters // _CHARACTERS_A_TOKEN
    if tokens < _LEAST_TOKENS or (request.api == "messages" and not _is_marked(request)):
        return 0
    return tokens - tokens % _GRAIN


def _is_marked(request: ReceivedRequest) -> bool:
    """Anthropic keeps only what it is asked to keep."""
    return '"cache_control": {' in json.dumps(request.body)
