"""What is remembered of conversations: which tools they had, and what they missed; never a text."""

import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_MOST_REQUESTS: Final = 16_384


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a conversation had so far."""

    forwarded: frozenset[str] = frozenset()
    """Every tool that was forwarded, or called, in one of its requests."""
    misses: int = 0
    """How many answers called a tool that was not forwarded, or said that they lack one."""


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a request stands in its conversation."""

    key: bytes
    """What the request itself is known by."""
    before: tuple[bytes, ...] = ()
    """What requests that it may go on from are known by, the nearest first."""


_NOTHING: Final = Remembered()


class ConversationMemory:
    """The requests that came last, each with what its conversation had; safe between threads.

    A request goes on from another if it begins with the same turns, or names its answer. Turns are
    hashed with a secret of the process: what is kept tells nothing of them.
    """

    def __init__(self, secret: bytes, *, most_requests: int = _MOST_REQUESTS) -> None:
        """Hash with this secret, and keep so many requests at most."""
        self._secret = secret
        self._most = most_requests
        self._kept: OrderedDict[bytes, Remembered] = OrderedDict()
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def place(self, start: str, turns: Iterable[str], follows: str = "") -> TurnPlace:
        """Where a request stands.

        Args:
            start: what requests must have in common to be of one conversation.
            turns: their texts.
            follows: the id of an answer that it goes on from, or of the whole conversation.
        """
        running, keys = hmac.new(self._secret, _bytes(start), hashlib.sha256), []
        if follows:
            followed = self._answer_key(follows)
            with self._lock:
                keys.append(self._answers.get(followed, followed))
            running.update(followed)
        for turn in turns:
            running.update(hashlib.sha256(_bytes(turn)).digest())
            keys.append(running.digest())
        keys = keys or [running.digest()]
        return TurnPlace(key=keys[-1], before=tuple(reversed(keys[:-1])))

    def of(self, place: TurnPlace) -> Remembered:
        """What is known of the conversation up to a request."""
        with self._lock:
            known = (self._kept[key] for key in place.before if key in self._kept)
            return next(known, _NOTHING)

    def forwarded(self, place: TurnPlace, names: Collection[str]) -> None:
        """Remember that a conversation had these tools by then."""
        known = self.of(place)
        self._keep(place.key, Remembered(known.forwarded | set(names), known.misses))

    def answered(
        self, place: TurnPlace, answers: Sequence[str], called: Collection[str], *, is_miss: bool
    ) -> None:
        """Remember what the answer to a request tells.

        Args:
            place: of the request.
            answers: ids of the answer, which a later request may name.
            called: the tools that it called.
            is_miss: whether it lacked one.
        """
        with self._lock:
            known = self._kept.get(place.key, _NOTHING)
            for answer in answers:
                self._answers[self._answer_key(answer)] = place.key
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        self._keep(place.key, Remembered(known.forwarded | set(called), known.misses + is_miss))

    def _keep(self, key: bytes, known: Remembered) -> None:
        with self._lock:
            self._kept[key] = known
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def _answer_key(self, answer: str) -> bytes:
        return hmac.digest(self._secret, _bytes(f"answer {answer}"), hashlib.sha256)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
