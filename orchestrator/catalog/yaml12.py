"""YAML read as YAML 1.2's core schema, which JSON is a part of: the subset that OpenAPI allows.

PyYAML follows YAML 1.1, in which `2026-12-03` is a date, `NO` is false and `10:30` is 630.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from orchestrator.record import JsonObject

_MAX_NODES = 2_000_000
"""With aliases counted at every mention: the largest public documents stay far below it."""
_FIRST_OF_NUMBERS = list("-+0123456789.")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen at import
    """A safe loader whose scalars resolve by the core schema and whose keys are strings."""

    # Shapes of the base class: emptied, so that nothing of YAML 1.1 is left.
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    yaml_constructors: dict[str | None, Any] = {  # noqa: RUF012
        None: yaml.SafeLoader.construct_undefined,
        "tag:yaml.org,2002:bool": yaml.SafeLoader.construct_yaml_bool,
        "tag:yaml.org,2002:null": yaml.SafeLoader.construct_yaml_null,
        "tag:yaml.org,2002:seq": yaml.SafeLoader.construct_yaml_seq,
        "tag:yaml.org,2002:str": yaml.SafeLoader.construct_yaml_str,
    }


def _construct_mapping(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> JsonObject:
    _refuse_repeated_keys(node)
    loader.flatten_mapping(node)
    return {_key(key): loader.construct_object(value, deep=True) for key, value in node.value}


def _key(node: yaml.Node) -> str:
    """The text of a key as written: a status such as 200 stays the word `200`."""
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(
            None, None, "a key must be plain text", node.start_mark
        )
    return str(node.value)


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    seen: set[Hashable] = set()
    for key, _ in node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            continue
        name = _key(key)
        if name in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {name!r} is there twice", key.start_mark
            )
        seen.add(name)


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(str(loader.construct_scalar(node)))


def _resolve(tag: str, pattern: str, first: list[str]) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)


_resolve("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF"))
_resolve("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", _FIRST_OF_NUMBERS)
_resolve("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", _FIRST_OF_NUMBERS)
_resolve("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""])
_resolve("merge", r"^<<$", ["<"])
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


def load_yaml(text: str) -> Any:
    """The value that one YAML document stands for, made of JSON's types only.

    Raises:
        ValueError: not YAML, a key twice in one mapping, an alias that contains itself, or aliases
            that blow a small text up to a huge value.
    """
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _expanded_size(root, {}, set())
        return loader.construct_document(root)
    except yaml.YAMLError as error:
        raise ValueError(_one_line(error)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    finally:
        loader.dispose()


def _expanded_size(node: yaml.Node, known: dict[int, int], open_nodes: set[int]) -> int:
    """How many values the node stands for when every alias is written out."""
    if id(node) in known:
        return known[id(node)]
    if id(node) in open_nodes:
        raise ValueError("an alias contains itself")
    open_nodes.add(id(node))
    size = 1 + sum(_expanded_size(child, known, open_nodes) for child in _children(node))
    open_nodes.remove(id(node))
    if size > _MAX_NODES:
        raise ValueError(f"its aliases stand for more than {_MAX_NODES:,} values")
    known[id(node)] = size
    return size


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _one_line(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return f"{error.problem or error.context}{place}"
