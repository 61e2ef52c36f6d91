"""JSON pointers (RFC 6901): written, read, and followed into a document."""

from collections.abc import Iterable

from pydantic import JsonValue


def format_pointer(tokens: Iterable[str | int]) -> str:
    """The pointer of these steps, e.g. `/paths/~1book/post`; '' for none."""
    return "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in tokens)


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """The steps of a pointer.

    Raises:
        ValueError: it is neither empty nor begins with a slash.
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer begins with a slash, {pointer!r} does not")
    return tuple(t.replace("~1", "/").replace("~0", "~") for t in pointer[1:].split("/"))


def follow(root: JsonValue, tokens: Iterable[str]) -> JsonValue:
    """The value at the end of these steps.

    Raises:
        LookupError: a step leads nowhere.
    """
    value = root
    for token in tokens:
        if isinstance(value, dict):
            value = value[token]
        elif isinstance(value, list) and token.isascii() and token.isdigit():
            value = value[int(token)]
        else:
            raise LookupError(token)
    return value
