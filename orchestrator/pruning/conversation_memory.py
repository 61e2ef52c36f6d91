"""What is remembered of conversations: which tools they had, and what they missed; never a text."""

import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.pruning.model_request import Conversation, ModelApi

_MOST_CONVERSATIONS: Final = 4_096


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a conversation had so far."""

    forwarded: frozenset[str] = frozenset()
    """Every tool that was forwarded, or called, in one of its requests."""
    misses: int = 0
    """How many answers called a tool that was not forwarded, or said that they lack one."""


_NOTHING: Final = Remembered()


class ConversationMemory:
    """The conversations that were heard of last; safe to share between threads.

    A conversation is known by what it begins with, hashed with a secret of the process, or by the
    id of the answer that it goes on from.
    """

    def __init__(self, secret: bytes, *, most_conversations: int = _MOST_CONVERSATIONS) -> None:
        """Hash with this secret, and keep so many conversations at most."""
        self._secret = secret
        self._most = most_conversations
        self._kept: OrderedDict[bytes, Remembered] = OrderedDict()
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, api: ModelApi, conversation: Conversation) -> bytes:
        """What the conversation of a request is known by."""
        if not conversation.follows:
            return self._hash(api.name, conversation.goal)
        followed = self._hash("answer", conversation.follows)
        with self._lock:
            return self._answers.get(followed, followed)

    def of(self, key: bytes) -> Remembered:
        """What is known of a conversation."""
        with self._lock:
            return self._kept.get(key, _NOTHING)

    def forwarded(self, key: bytes, names: Collection[str]) -> None:
        """Remember that a conversation had these tools."""
        self._update(key, names=names)

    def missed(self, key: bytes, names: Collection[str]) -> None:
        """Remember that an answer lacked a tool; these are those that it named."""
        self._update(key, names=names, misses=1)

    def answered(self, key: bytes, answers: Sequence[str]) -> None:
        """Remember the ids of a conversation's answers: a request may go on from one."""
        with self._lock:
            for answer in answers:
                self._answers[self._hash("answer", answer)] = key
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)

    def _update(self, key: bytes, *, names: Collection[str], misses: int = 0) -> None:
        with self._lock:
            known = self._kept.get(key, _NOTHING)
            self._kept[key] = replace(
                known, forwarded=known.forwarded | set(names), misses=known.misses + misses
            )
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def _hash(self, *parts: str) -> bytes:
        said = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hmac.digest(self._secret, said, hashlib.sha256)
