"""Memory of conversations: their forwarded and missed tools, but no text."""

import hashlib
import hmac
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.core.read_once import Recent

_MOST_REQUESTS: Final = 16_384
_TEXT: Final = ("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Remembered:
    """The tools of a conversation so far."""

    forwarded: frozenset[str] = frozenset()
    """Every tool that was forwarded, or called, in one of its requests."""
    misses: int = 0
    """The number of answers that called an omitted tool, or said that one is missing."""


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """The position of a request in its conversation."""

    key: bytes
    """Hash of the request."""
    before: tuple[bytes, ...] = ()
    """Hashes of the requests that it may continue, nearest first."""


class ConversationMemory:
    """Recent requests, each with the tools of its conversation; thread-safe.

    A request continues another if it begins with the same turns, or names its answer. Turns are
    hashed with a secret of the process, so that nothing of them can be read from memory.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._kept: Recent[bytes, Remembered] = Recent(_MOST_REQUESTS)
        self._answers: Recent[bytes, bytes] = Recent(_MOST_REQUESTS)

    def place(self, start: str, turns: Iterable[str], follows: str = "") -> TurnPlace:
        """Return the position of a request, whose conversation shares the text of its start.

        `follows` is the id of an answer that it continues, or of the whole conversation.
        """
        running, keys = hmac.new(self._secret, start.encode(*_TEXT), hashlib.sha256), []
        if follows:
            followed = self._answer_key(follows)
            keys.append(self._answers.get(followed) or followed)
            running.update(followed)
        for turn in turns:
            running.update(hashlib.sha256(turn.encode(*_TEXT)).digest())
            keys.append(running.digest())
        keys = keys or [running.digest()]
        return TurnPlace(key=keys[-1], before=tuple(reversed(keys[:-1])))

    def of(self, place: TurnPlace) -> Remembered:
        """Return the memory of the conversation up to a request."""
        return next(filter(None, map(self._kept.get, place.before)), Remembered())

    def forwarded(self, place: TurnPlace, names: Collection[str]) -> None:
        """Remember that a conversation had these tools."""
        known = self.of(place)
        self._kept.put(place.key, Remembered(known.forwarded | set(names), known.misses))

    def answered(
        self, place: TurnPlace, answers: Sequence[str], called: Collection[str], *, is_miss: bool
    ) -> None:
        """Remember the ids of an answer, the tools that it called, and whether one was missing."""
        known = self._kept.get(place.key) or Remembered()
        for answer in answers:
            self._answers.put(self._answer_key(answer), place.key)
        forwarded = known.forwarded | set(called)
        self._kept.put(place.key, Remembered(forwarded, known.misses + is_miss))

    def _answer_key(self, answer: str) -> bytes:
        return hmac.digest(self._secret, f"answer {answer}".encode(*_TEXT), hashlib.sha256)
