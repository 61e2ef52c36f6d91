"""What HTTP libraries log of a request: whole URLs and headers, kept out of every log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_WIRE_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)

_in_tool_call: ContextVar[bool] = ContextVar("in_tool_call", default=False)


class _DropInToolCall(logging.Filter):
    """Drops what the HTTP library logs of a tool call: whole URLs and headers."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _in_tool_call.get()


_DROP_IN_TOOL_CALL = _DropInToolCall()


@contextmanager
def wire_logs_dropped() -> Iterator[None]:
    """Keep the HTTP library from logging what is sent within this block, and only within it."""
    for name in _WIRE_LOGGERS:
        logging.getLogger(name).addFilter(_DROP_IN_TOOL_CALL)
    token = _in_tool_call.set(True)
    try:
        yield
    finally:
        _in_tool_call.reset(token)
