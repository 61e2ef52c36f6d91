"""What an operation lacks to be told apart by people and planners: words on it, and a domain."""

import re
from collections.abc import Sequence

from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.words import name_words

_LONGEST_SUMMARY = 120
_FEWEST_WORDS = 5
_MOST_NAMED = 6
_TAG = re.compile(r"<[^<>]*>")
"""Of HTML, which some write descriptions in."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n{2,}")
_VERSION = re.compile(r"v?\d[\d.]*", re.IGNORECASE)


def missing_texts(
    operation: Operation, tool: Tool, *, groups: bool
) -> tuple[JsonObject, tuple[str, ...]]:
    """The summary, description and tag that are missing, made of what the document tells."""
    texts: JsonObject = {}
    checks: list[str] = []
    summary = tool.summary or _first_sentence(tool.description) or _words_of(tool.name)
    if not tool.summary:
        texts["summary"] = summary
    if len(tool.description.split()) < _FEWEST_WORDS:
        texts["description"] = _described(tool, tool.description or summary)
        checks.append("the description is made of names: say when to use it")
    elif not tool.summary:
        checks.append("the summary is made of the description or the name")
    if groups and operation.node.at("tags") is None and (tag := _group_of(operation.path)):
        texts["tags"] = [tag]
    return texts, tuple(checks)


def _first_sentence(text: str) -> str:
    plain = _TAG.sub("", text).strip()
    first = " ".join(_SENTENCE.split(plain, maxsplit=1)[0].split())
    return first if 0 < len(first) <= _LONGEST_SUMMARY else ""


def _words_of(name: str) -> str:
    return " ".join(name_words(name)).capitalize() + "."


def _described(tool: Tool, said: str) -> str:
    """What is known of a tool by its names alone."""
    taken = _listed(list(tool.properties)) or "nothing"
    returned = _listed(_answered(tool))
    told = f" Returns {returned}." if returned else ""
    return f"{said.rstrip('.')}. Takes {taken}.{told}"


def _answered(tool: Tool) -> list[str]:
    """What the document tells of the answer; of a file, or where it is silent, it tells nothing."""
    schema = tool.output_schema or {}
    return list(properties_of(schema)) or (["a list"] if schema.get("type") == "array" else [])


def _listed(names: Sequence[str]) -> str:
    shown = [" ".join(name_words(name)) for name in names[:_MOST_NAMED]]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*shown, *more])


def _group_of(path: str) -> str:
    """The first segment of a path that names something: neither a parameter nor a version."""
    steps = [s for s in path.split("/") if s and "{" not in s]
    return next((s for s in steps if not _VERSION.fullmatch(s)), "")
