"""Limits: requests in a time, open streams, size and depth of bodies.

They hold for one process. Several behind a load balancer let as many times more through.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import JsonValue
from starlette.requests import Request
from starlette.types import Message, Receive

from orchestrator.web.problem_details import ProblemError

Clock = Callable[[], float]
"""Returns seconds that only grow, such as `time.monotonic`."""


@dataclass(frozen=True)
class Limits:
    """What the API takes from one sender."""

    requests_per_s: float = 50.0
    """Of one person, on average."""
    burst: int = 200
    """Requests of one person at once."""
    unidentified_per_s: float = 1.0
    """Requests without sign-in from one address, on average."""
    unidentified_burst: int = 30
    streams: int = 20
    """Open event streams of one person: of the API, of pages and of chat clients together."""
    stream_s: float = 900.0
    """How long a stream is open; its client then shows again who it is."""
    heartbeat_s: float = 15.0
    """Between two heartbeats of a stream."""
    body_bytes: int = 256 * 1024
    """Size of a request body; personal values and files do not come through it."""
    body_depth: int = 64
    """Levels of a JSON body."""
    body_s: float = 30.0
    """How long the body of a request may take to arrive."""


class TokenBuckets:
    """A bucket of tokens for each sender, which refills at a constant rate in tokens a second.

    Of more senders than `most_keys`, the one that was idle longest is forgotten.

    Example:
        buckets = TokenBuckets(rate=1, burst=30, clock=time.monotonic)
        if (wait := buckets.take("203.0.113.7")):
            ...  # refuse: a token is there in `wait` seconds
    """

    def __init__(self, *, rate: float, burst: int, clock: Clock, most_keys: int = 10_000) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._most_keys = most_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Tokens of each sender, and when they were counted."""

    def take(self, key: str) -> float:
        """Take a token; return 0, or the seconds until there is one."""
        now = self._clock()
        tokens, at = self._buckets.pop(key, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        self._buckets[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > self._most_keys:
            self._buckets.popitem(last=False)
        return 0.0 if tokens >= 1 else (1 - tokens) / self._rate

    def __len__(self) -> int:
        return len(self._buckets)


async def read_body(request: Request, *, most: int, within_s: float = Limits.body_s) -> bytes:
    """Return the body of a request; no more than the limit is read of a larger one.

    A body that is larger, or takes too long to arrive, is a ProblemError.
    """
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:20]) > most:
        raise _too_large(most)
    content = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise ProblemError(
            HTTPStatus.REQUEST_TIMEOUT,
            "the body took too long to arrive",
            code="RequestInvalid",
            headers={"Connection": "close"},
        ) from None
    return bytes(content)


def _too_large(most: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"a body has at most {most:,} bytes",
        code="RequestTooLarge",
        headers={"Connection": "close"},
    )


def received_again(body: bytes, then: Receive | None = None) -> Receive:
    """Return what receives a body that was read before, and after it what follows."""
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if not is_read or then is None:
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await then()

    return receive


def body_problem(value: JsonValue, *, depth: int) -> str:
    """Return why a parsed body is refused; empty if it is not."""
    level: list[JsonValue] = [value]
    for _ in range(depth):
        below: list[JsonValue] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
            elif isinstance(one, float) and not math.isfinite(one):
                return "a number is too large to be read"
        if not below:
            return ""
        level = below
    return f"it is nested deeper than {depth} levels"
