"""The form of a set: its tools, its requests with the tools they need, and how it is split."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")

Row = dict[str, Any]
"""One line of a file of a set."""

TOOLS, QUERIES = "tools.jsonl", "queries.jsonl"


@dataclass(frozen=True)
class DataSet:
    """What a set's two files hold; see `orchestrator.routing.learning.evaluation.Query`."""

    tools: Sequence[Row]
    queries: Sequence[Row]

    def held_out(self) -> "DataSet":
        """The same with every request in the evaluation half: there is nothing to fit."""
        return DataSet(self.tools, [{**row, "split": "eval"} for row in self.queries])

    def files(self) -> dict[str, bytes]:
        """The content of each file, by its name."""
        return {TOOLS: _lines(self.tools), QUERIES: _lines(self.queries)}

    def write(self, folder: Path) -> None:
        """Write both files, in place of what is there."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files().items():
            (folder / name).write_bytes(content)

    def digests(self) -> dict[str, str]:
        """Hex SHA-256 of each file, by its name."""
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files().items()}


def tool(name: str, description: str, parameters: Mapping[str, Any] | None, **more: object) -> Row:
    """A line of tools.jsonl; `more`: domain, examples, and of an API method, path and server."""
    return {
        "name": name,
        "description": description,
        "parameters": parameters,
        "domain": None,
        "examples": [],
        **more,
    }


def query(set_name: str, identity: str, text: str, gold: Iterable[str], **more: object) -> Row:
    """A line of queries.jsonl, in the half that the hash of the set's name and the id says.

    Args:
        set_name: of the set, e.g. nestful.
        identity: the request's id in the set.
        text: the request.
        gold: the tools that it needs, in their order; repeated ones count once.
        more: what differs from a request over the whole catalog: `candidates`, `kind`,
            `split_by` (what is hashed instead of the id, so that a conversation stays together),
            and keys of the set's own.
    """
    needed = list(dict.fromkeys(gold))
    split_by = str(more.pop("split_by", identity))
    return {
        "id": identity,
        "query": text.strip(),
        "gold": needed,
        "candidates": None,
        "kind": "single" if len(needed) == 1 else "multi",
        **more,
        "split": split(set_name + split_by),
    }


def split(key: str) -> str:
    """`train` or `eval`: the last bit of the key's SHA-256."""
    return "train" if hashlib.sha256(key.encode()).digest()[-1] & 1 else "eval"


def object_schema(properties: Mapping[str, Any], required: Iterable[str]) -> Row:
    """The JSON Schema of some inputs; nothing is said of required ones where none is."""
    names = sorted(required)
    schema: Row = {"type": "object", "properties": dict(properties)}
    return {**schema, "required": names} if names else schema


def sample(items: Iterable[Item], size: int, *, key: Callable[[Item], str]) -> list[Item]:
    """So many of the items, always the same: those whose keys have the lowest SHA-256."""
    return sorted(items, key=lambda item: hashlib.sha256(key(item).encode()).hexdigest())[:size]


def in_one_line(text: str) -> str:
    """The text without line breaks and runs of spaces."""
    return " ".join(text.split())


def _lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
