"""Whose fault a disagreement is: Prism's, the document's, or ours.

Only what can be shown is attributed to others: a problem by which Prism says that it could not
judge, a value on which a third reader of the schema agrees with us, a form of parameters that
OpenAPI leaves undefined. The third reader is jsonschema-rs; neither Prism (Ajv) nor the product
(openapi-core over jsonschema) reads schemas with it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

import jsonschema_rs
from pydantic import JsonValue

from tests.interop.calls import Call
from tests.interop.prism import Violation

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


Direction = Literal["request", "answer"]
_LIMITS: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_SILENT: Final[Mapping[Direction, str]] = {"request": "readOnly", "answer": "writeOnly"}


class Umpire:
    """Judges values by schemas of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._is_30 = str(document.get("openapi", "")).startswith("3.0")
        self._plain: dict[Direction, dict[str, Any]] = {}

    def body_schema(self, method: str, path: str, content_type: str) -> Any:
        """Of the request body; None when the document has none of that type."""
        operation = self._document["paths"][path][method.lower()]
        body = self.follow(operation.get("requestBody", {}))
        return _of_type(body.get("content", {}), content_type)

    def answer_schema(self, method: str, path: str, status: int, content_type: str) -> Any:
        """Of an answer; None when the document has none of that status and type."""
        responses = self._document["paths"][path][method.lower()].get("responses", {})
        named = responses.get(str(status)) or responses.get("default") or {}
        return _of_type(self.follow(named).get("content", {}), content_type)

    def fault(self, schema: Any, value: Any, direction: Direction) -> str | None:
        """Why the value does not fit; None when it does, '' when that cannot be told."""
        try:
            root = self._root(direction)
            whole = {**root, "allOf": [self._read(schema, direction)]}
            validator = jsonschema_rs.Draft202012Validator(whole)
            found = next(iter(validator.iter_errors(value)), None)
        except (ValueError, jsonschema_rs.ReferencingError):
            return ""
        return None if found is None else found.message[:300] or "it does not fit"

    def follow(self, node: Any) -> Any:
        """What a local reference leads to; a node without one is itself."""
        for _ in range(20):
            if not isinstance(node, Mapping) or not str(node.get("$ref", "")).startswith("#/"):
                break
            found: Any = self._document
            for part in str(node["$ref"])[2:].split("/"):
                name = part.replace("~1", "/").replace("~0", "~")
                found = found[int(name)] if isinstance(found, list) else found[name]
            node = found
        return node

    def _root(self, direction: Direction) -> dict[str, Any]:
        if direction not in self._plain:
            kept = {k: v for k, v in self._document.items() if k in _PLACES or k.startswith("x-")}
            self._plain[direction] = self._read(kept, direction)
        return self._plain[direction]

    def _read(self, node: Any, direction: Direction) -> Any:
        """A schema in the words of JSON Schema 2020-12."""
        if isinstance(node, list):
            return [self._read(element, direction) for element in node]
        if not isinstance(node, Mapping):
            return node
        if self._is_30 and isinstance(node.get("$ref"), str):
            return {"$ref": node["$ref"]}
        read = {k: v if k in _VALUES else self._read(v, direction) for k, v in node.items()}
        if not isinstance(read.get("required", []), list):
            del read["required"]
        _drop_silent(read, node, _SILENT[direction])
        return _from_30(read) if self._is_30 else read


_PLACES: Final = frozenset({"components", "paths"})
_VALUES: Final = frozenset({"enum", "const", "default", "example", "examples"})


def _drop_silent(read: dict[str, Any], node: Mapping[str, Any], keyword: str) -> None:
    """Take out of `required` what is not there in this direction."""
    properties = node.get("properties")
    if isinstance(read.get("required"), list) and isinstance(properties, Mapping):
        silent = {n for n, p in properties.items() if isinstance(p, Mapping) and p.get(keyword)}
        read["required"] = [name for name in read["required"] if name not in silent]


def _from_30(read: dict[str, Any]) -> dict[str, Any]:
    for exclusive, limit in _LIMITS.items():
        if isinstance(read.get(exclusive), bool) and read.pop(exclusive) and limit in read:
            read[exclusive] = read.pop(limit)
    if read.get("nullable") is True and isinstance(read.get("type"), str):
        read["type"] = [read["type"], "null"]
        if isinstance(read.get("enum"), list):
            read["enum"] = [*read["enum"], None]
    return read


def _of_type(content: Any, content_type: str) -> Any:
    essence = content_type.partition(";")[0].strip().lower()
    for named, media in content.items():
        if named.partition(";")[0].strip().lower() == essence and "schema" in media:
            return media["schema"]
    return None


def parsed(text: str) -> Any:
    """The JSON in a text.

    Raises:
        ValueError: there is none.
    """
    return json.loads(text)


Side = Literal["agreed", "prism", "document", "ours"]


@dataclass(frozen=True)
class Verdict:
    """Who is at fault, and why, in a few words that group like with like."""

    side: Side
    why: str = ""


AGREED = Verdict("agreed")
_NOT_DECLARED = ("content-type", "'accept'", "header.accept", "authorization")
_PROBLEMS: Mapping[str, str] = {
    "NO_PATH_MATCHED_ERROR": "it finds no operation of that path",
    "NO_METHOD_MATCHED_ERROR": "it takes another path template for this one",
    "INVALID_CONTENT_TYPE": "it does not know the declared media type",
    "NOT_ACCEPTABLE": "it can make no answer of the declared media types",
    "NO_RESPONSE_RESPONSE_DEFINED": "the document gives it no answer to make",
    "SCHEMA_TOO_COMPLEX": "the answer's schema is too complex for it",
}


def of_request(call: Call, umpire: Umpire) -> Verdict | None:
    """What Prism's word on a request comes to; None when it was not asked."""
    judgement = call.judgement
    if call.not_sent and judgement is None:
        if call.no_arguments:
            return Verdict("ours", "no arguments could be made up")
        return Verdict("ours", "our own client refused the arguments that we made up")
    if judgement is None:
        return Verdict("prism", "it makes no answer in time")
    held = [v for v in judgement.request if not _is_for_the_client(v)]
    if held:
        return _of_violation(call, held[0], umpire)
    if judgement.request:
        return Verdict("agreed", "Prism asks for header parameters that OpenAPI says to ignore")
    if judgement.problem:
        return Verdict("prism", _PROBLEMS.get(judgement.problem, "it broke while answering"))
    return AGREED


def of_answer(call: Call, umpire: Umpire) -> Verdict | None:
    """Whether Prism's answer is as described; None where there is nothing to compare."""
    judgement = call.judgement
    if judgement is None or not judgement.accepted or not 200 <= judgement.status < 300:
        return None
    if not call.breach and not judgement.answer:
        return AGREED
    if call.breach and judgement.answer:
        return Verdict("agreed", "the document's example breaks its schema, both say")
    fault = _answer_fault(call, umpire)
    if call.breach:
        if "writeOnly" in call.breach:
            return Verdict("document", "its example holds what the schema calls writeOnly")
        return (
            Verdict("document", "its example breaks its schema; Prism does not see it")
            if fault
            else Verdict("ours", "we refuse an answer that fits")
        )
    if all("format" in violation.message for violation in judgement.answer):
        return Verdict("document", "its example is not of the format that it names; we let it pass")
    return (
        Verdict("prism", "it refuses an answer that fits")
        if fault is None
        else Verdict("ours", "we accept an answer that does not fit")
    )


def _is_for_the_client(violation: Violation) -> bool:
    """Whether it is about a header parameter whose declaration OpenAPI says to ignore."""
    return violation.place.startswith("request.header") and any(
        name in f"{violation.place} {violation.message}".lower() for name in _NOT_DECLARED
    )


def _answer_fault(call: Call, umpire: Umpire) -> str | None:
    assert call.judgement is not None
    method, path = call.operation.split(" ", 1)
    schema = umpire.answer_schema(method, path, call.judgement.status, call.answer_type)
    if schema is None:
        return ""
    try:
        return umpire.fault(schema, parsed(call.answer), "answer")
    except ValueError:
        return "it is no JSON"


def _of_violation(call: Call, violation: Violation, umpire: Umpire) -> Verdict:
    if violation.code == "401":
        return Verdict("prism", "it does not take the credential")
    if violation.place.startswith("request.body") or violation.place in ("request", "request.body"):
        return _of_body(call, umpire)
    name = [*violation.place.split("."), "", ""][2]
    if _is_nested(call.arguments.get(name)):
        return Verdict("document", "its parameter nests values, which OpenAPI says no form of")
    return Verdict("ours", f"parameter: {violation.message}")


def _is_nested(value: JsonValue) -> bool:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(element, dict | list) for element in held)


def _of_body(call: Call, umpire: Umpire) -> Verdict:
    method, path = call.operation.split(" ", 1)
    kind = call.content_type.partition(";")[0]
    if kind.startswith("multipart/"):
        return Verdict("prism", "it reads every part of a multipart body as text")
    schema = umpire.body_schema(method, path, kind)
    fault = umpire.fault(schema, call.meant, "request") if schema is not None else ""
    if fault is not None:
        return Verdict("ours", f"body of {kind}: {fault}")
    if kind.endswith("x-www-form-urlencoded"):
        if says(call.meant, read_form(call.body)):
            return Verdict("prism", "it reads each field of a form as one text")
        return Verdict("ours", "what a form is to say does not arrive")
    if call.meant is None or not isinstance(call.meant, dict | list):
        return Verdict("prism", "it reads no body that is neither object nor list")
    return Verdict("prism", "it refuses a body that fits its schema")
