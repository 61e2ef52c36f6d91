"""What an operation lacks to be told apart by people and planners: its name, and words on it."""

import re
from collections.abc import Iterable, Sequence

from orchestrator.catalog.compile import TOOL_NAME
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.words import name_words

_LONGEST_NAME = 64
_LONGEST_SUMMARY = 120
_FEWEST_WORDS = 5
_MOST_NAMED = 6
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n{2,}")
_VERSION = re.compile(r"v?\d[\d.]*", re.IGNORECASE)


class NameTaken:
    """The names of a document: each is given once."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take those that are there; a name that is there twice is free for nobody else."""
        self._written = set(names)
        self._given: set[str] = set()

    def take(self, name: str, *, is_written: bool) -> str | None:
        """The name, if nobody has it."""
        if name in self._given or (not is_written and name in self._written):
            return None
        self._given.add(name)
        return name


def wanted_name(operation: Operation, taken: NameTaken) -> tuple[str, str]:
    """The operationId of a tool, and why it is not the document's own; empty where it is."""
    written = operation.operation_id
    if written is not None and TOOL_NAME.fullmatch(written):
        if taken.take(written, is_written=True) is not None:
            return written, ""
        why = f"the document has the operationId {visible(written)} twice"
    elif written is not None:
        why = f"the document's own operationId, {visible(written)!r}, cannot name a tool"
    else:
        why = "the document gives it no operationId"
    plain = _plain_name(written or f"{operation.method.lower()}{operation.path}")
    for number in range(1, 1000):
        end = f"_{number}" if number > 1 else ""
        name = f"{plain[: _LONGEST_NAME - len(end)]}{end}"
        if taken.take(name, is_written=False) is not None:
            return name, f"{why}: choose a name once, missions keep it"
    return plain, why


def _plain_name(text: str) -> str:
    plain = _NO_NAME.sub("_", text.replace("{", "by_")).strip("_-")
    return plain if plain[:1].isalpha() else f"op_{plain}"


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
        checks.append("the document does not say what it is for: say when to use it")
    elif not tool.summary:
        checks.append("the summary is made of the description or the name: say it in your words")
    if groups and operation.node.at("tags") is None and (tag := _group_of(operation.path)):
        texts["tags"] = [tag]
    return texts, tuple(checks)


def _first_sentence(text: str) -> str:
    first = " ".join(_SENTENCE.split(text.strip(), maxsplit=1)[0].split())
    return first if 0 < len(first) <= _LONGEST_SUMMARY else ""


def _words_of(name: str) -> str:
    return " ".join(name_words(name)).capitalize() + "."


def _described(tool: Tool, said: str) -> str:
    """What is known of a tool by its names alone."""
    return (
        f"{said.rstrip('.')}. Takes {_listed(list(tool.properties))}. "
        f"Returns {_listed(_answered(tool))}."
    )


def _answered(tool: Tool) -> list[str]:
    schema = tool.output_schema or {}
    return list(properties_of(schema)) or (["a list"] if schema.get("type") == "array" else [])


def _listed(names: Sequence[str]) -> str:
    shown = [" ".join(name_words(name)) for name in names[:_MOST_NAMED]]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*shown, *more]) or "nothing"


def _group_of(path: str) -> str:
    """The first segment of a path that names something: neither a parameter nor a version."""
    steps = [s for s in path.split("/") if s and "{" not in s]
    return next((s for s in steps if not _VERSION.fullmatch(s)), "")
