"""Of what kind a request says that the thing is, and the tools whose path is of such things."""

import re
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.language.clauses import without_lead
from orchestrator.language.inflection import singular
from orchestrator.language.words import stem, tokens

_KIND: Final = re.compile(
    r"[a-z]+\s+(?:an?|the|another|one|my|our)\s+(?:new\s+)?(?P<kind>[a-z][a-z-]*(?:\s+[a-z][a-z-]*){0,2}?)"
    r"(?=\s+(?:called|named|titled|with|for|in|on|at|to|from|of|by|and)\b"
    r"|\s+[A-Z\"\u201c\d]|[\s.!?]*$)"
)
_ONE: Final = re.compile(r"/\{[^{}]*\}$")


def kind_said(text: str) -> tuple[str, ...]:
    """The words right behind a request's verb that say of what kind a thing is; () for none.

    "A customer" of "Create a customer called Initech".
    """
    request = without_lead(text)
    match = _KIND.match(request[:1].lower() + request[1:])
    return tuple(tokens(match["kind"])) if match is not None else ()


def is_of_kind(tool: Tool, said: tuple[str, ...]) -> bool:
    """Whether a tool changes something, and its path is that of things called so."""
    step = _ONE.sub("", tool.path.rstrip("/")).rpartition("/")[2]
    thing = [stem(word) for word in tokens(singular(step))]
    whole = [stem(singular(word)) for word in said]
    return tool.is_side_effect and bool(thing) and "{" not in step and thing == whole
