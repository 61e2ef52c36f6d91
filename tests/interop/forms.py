"""Reads form bodies as servers do, to see whether what was meant has arrived."""

import json
import re
from typing import Any, Final
from urllib.parse import parse_qsl

_STEP: Final = re.compile(r"\[([^\[\]]*)\]")


def read_form(text: str) -> dict[str, Any]:
    """The fields of a form: `a[0][b]=1` nested, what is there several times as a list."""
    read: dict[str, Any] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        head, _, rest = name.partition("[")
        steps = [head, *_STEP.findall(f"[{rest}")] if rest else [head]
        _put(read, steps, value)
    return read


def says(meant: Any, read: Any) -> bool:
    """Whether what was read is what was meant; a form has texts alone."""
    if isinstance(read, str) and _is_json_of(meant, read):
        return True
    if isinstance(meant, dict):
        given = {name: value for name, value in meant.items() if value not in ({}, [])}
        return isinstance(read, dict) and all(
            says(value, read.get(name)) for name, value in given.items()
        )
    if isinstance(meant, list):
        return _says_list(meant, read)
    return bool(read == _text(meant))


def _says_list(meant: list[Any], read: Any) -> bool:
    if isinstance(read, dict):
        read = [read[key] for key in sorted(read, key=lambda key: int(key) if key.isdigit() else 0)]
    if isinstance(read, str):
        read = [read] if len(meant) == 1 else read.split(",")
    return isinstance(read, list) and len(read) == len(meant) and all(map(says, meant, read))


def _put(holder: dict[str, Any], steps: list[str], value: str) -> None:
    for step in steps[:-1]:
        inner = holder.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        holder = inner
    last = steps[-1] or str(len(holder))
    if last not in holder:
        holder[last] = value
    elif isinstance(holder[last], list):
        holder[last].append(value)
    else:
        holder[last] = [holder[last], value]


def _is_json_of(meant: Any, read: str) -> bool:
    try:
        found: Any = json.loads(read)
    except ValueError:
        return False
    return bool(found == meant)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
