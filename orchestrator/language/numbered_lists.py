"""Requests that are numbered or marked, each on a line of its own or behind the other."""

import re
from typing import Final

from orchestrator.language.clauses import begins_request
from orchestrator.language.remarks import announcement_end

_NUMBER: Final = re.compile(r"(?:(?<=^)|(?<=[\s:;,.]))\(?(?P<n>\d{1,2})[.)]\s+(?=\S)")
_DASH: Final = re.compile(r"(?:^|\n)[ \t]*[-*\u2022]\s+(?=\S)")
_FEWEST: Final = 2


def without_list_marks(text: str) -> str:
    r"""The text, each of the requests that it lists on a line without its mark.

    What is listed and is no request stays as it is, and so does what somebody is told: only what
    announces requests, or nothing, stands before a list of them.

    Examples:
        "1. Pay Acme 2. Call Bo" is "Pay Acme\nCall Bo".
    """
    marks = _numbers(text) or list(_DASH.finditer(text))
    if len(marks) < _FEWEST:
        return text
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    items = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    lead = text[: marks[0].start()].strip()
    announces = not lead or announcement_end(f"{lead} ") == len(lead) + 1
    if not announces or not all(begins_request(item) for item in items):
        return text
    listed = "\n".join(items)
    return f"{lead} {listed}" if lead else listed


def _numbers(text: str) -> list[re.Match[str]]:
    """The marks of a list that counts from one."""
    found: list[re.Match[str]] = []
    for mark in _NUMBER.finditer(text):
        if int(mark["n"]) == len(found) + 1:
            found.append(mark)
    return found
