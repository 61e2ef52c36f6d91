"""Runtime expressions of Arazzo and templates over them: grammar and evaluation.

A template is a JSON value. A text that is one expression is replaced by the value, of any type; in
a text with expressions in braces, each is replaced by its text. Two objects compute their value:
`{"$select": {...}}` is a Selector Object of Arazzo 1.1, and `{"$replace": {...}}` a payload with
replacements in it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, cast

from pydantic import JsonValue

from orchestrator.arazzo.json_paths import (
    EMBEDDED,
    ValueMissing,
    embed_into_json_path,
    is_singular,
    query_json_path,
    replaced,
)
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow, format_pointer, parse_pointer

Root = Literal[
    "url", "method", "statusCode", "request", "response", "inputs", "outputs", "steps",
    "workflows", "sourceDescriptions", "components", "self",
]  # fmt: skip
SELECT: Final = "$select"
REPLACE: Final = "$replace"
LONGEST_TEXT: Final = 100_000
"""Characters of an expression or a text with expressions."""

_ROOTED = re.compile(
    r"\$(url|method|statusCode|request|response|message|inputs|outputs|steps|workflows"
    r"|sourceDescriptions|components|self)(?![A-Za-z0-9_])|\$[A-Za-z]+\.[A-Za-z]"
)
_MESSAGE = re.compile(
    r"\$(?P<root>request|response)\.(?:"
    r"header\.(?P<header>[!#$%&'*+.^_`|~0-9A-Za-z-]+)"
    r"|(?P<place>query|path)\.(?P<name>.+)"
    r"|body(?:#(?P<pointer>.*)|(?P<tail>[.\[].*))?)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"\$(?:(?P<root>inputs|outputs|components|sourceDescriptions)"
    r"|steps\.(?P<step>[^#{}]+?)\.outputs"
    r"|workflows\.(?P<workflow>[^#{}]+?)\.(?P<field>inputs|outputs))"
    r"(?:\.(?P<name>[^#]+))?(?:#(?P<pointer>.*))?",
    re.DOTALL,
)
_TAIL = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


@dataclass(frozen=True)
class RuntimeExpression:
    """An expression: `$steps.find.outputs.id#/0` has the holder `find` and the name `id`."""

    text: str
    root: Root
    holder: str = ""
    """Id of a step or workflow, or the part of a message: header, query, path, body."""
    name: str = ""
    field: Literal["", "inputs", "outputs"] = ""
    path: tuple[str, ...] = ()
    """Steps into the value, of a JSON pointer or of `.name` and `[0]`."""


@dataclass(frozen=True)
class HttpMessage:
    """The last call and its answer, as expressions read them."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: JsonValue = None
    method: str = ""
    url: str = ""
    request: Mapping[str, JsonObject] = field(default_factory=dict)
    """Values by name, by the part of the request; the body under `body` and ''."""


@dataclass
class Scope:
    """All values that expressions may read at one place of a workflow."""

    inputs: JsonObject
    steps: dict[str, JsonObject] = field(default_factory=dict)
    """Outputs by step."""
    workflows: Mapping[str, JsonObject] = field(default_factory=dict)
    """Outputs by workflow that ended before."""
    outputs: JsonObject = field(default_factory=dict)
    """Outputs of the workflow that the last step called."""
    message: HttpMessage | None = None
    optional: Set[str] = frozenset()
    """Inputs that need not be given."""
    missing: dict[tuple[str, str], str] = field(default_factory=dict)
    """Reason for each output of a step that has no value."""


def is_expression(text: str) -> bool:
    """Return True if a whole text is meant as an expression: `$` and a root, or `$name.part`.

    A root that is unknown is refused: as text, `$input.city` would be sent to a provider.
    """
    return _ROOTED.match(text) is not None


@lru_cache(maxsize=4096)
def parse_runtime_expression(text: str) -> RuntimeExpression:
    """Read one expression.

    Raises:
        ValueError: it is malformed, or reads AsyncAPI messages.
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"an expression has more than {LONGEST_TEXT:,} characters")
    if text in ("$url", "$method", "$statusCode", "$self"):
        return RuntimeExpression(text, cast("Root", text[1:]))
    if text.startswith("$message"):
        raise ValueError(f"{text!r} reads a message of AsyncAPI, which is not supported")
    found = _MESSAGE.fullmatch(text) or _NAMED.fullmatch(text)
    read = found.groupdict() if found is not None else {}
    try:
        path = parse_pointer(read.get("pointer") or "")
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    name = read.get("name") or ""
    if found is not None and found.re is _MESSAGE:
        root = cast("Root", read["root"])
        if read["header"]:
            return RuntimeExpression(text, root, "header", read["header"].lower())
        if read["place"] and root == "response":
            raise ValueError(f"{text!r}: an answer has a body and headers only")
        if read["place"]:
            return RuntimeExpression(text, root, read["place"], name)
        if read["tail"] is not None:
            path = _steps(text, read["tail"])
        return RuntimeExpression(text, root, "body", path=path)
    if read.get("step"):
        return RuntimeExpression(text, "steps", read["step"], name, "outputs", path)
    if read.get("workflow"):
        field = cast('Literal["inputs", "outputs"]', read["field"])
        return RuntimeExpression(text, "workflows", read["workflow"], name, field, path)
    if not name:
        hint = "write for example $inputs.name"
        if text.startswith(("$response.headers", "$request.headers")):
            hint = f"write {text.split('.')[0]}.header.NAME"
        elif text.startswith("$steps."):
            hint = "write $steps.ID.outputs.NAME"
        elif text.startswith("$response"):
            hint = "write for example $response.body#/id"
        raise ValueError(f"{text!r} is no runtime expression; {hint}")
    return RuntimeExpression(text, cast("Root", read["root"]), name=name, path=path)


def _steps(text: str, tail: str) -> tuple[str, ...]:
    """Return the steps of `.items[0].id`."""
    steps, at = [], 0
    while at < len(tail):
        step = _TAIL.match(tail, at)
        if step is None:
            raise ValueError(f"{text!r} is no runtime expression: {tail[at:]!r} is no property")
        steps.append(next(part for part in step.groups() if part is not None))
        at = step.end()
    return tuple(steps)


def expressions_in(template: JsonValue) -> Iterator[RuntimeExpression]:
    """Yield the expressions of a template.

    Raises:
        ValueError: one is malformed.
    """
    waiting: list[JsonValue] = [template]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            texts = [part] if is_expression(part) else embedded_in(part)
            for rest in EMBEDDED.sub("", part).split("{")[1:]:
                if is_expression(rest):
                    raise ValueError(f"the brace before {rest[:40]!r} is not closed")
            yield from (parse_runtime_expression(text) for text in texts)
        elif isinstance(part, dict | list):
            waiting.extend(part.values() if isinstance(part, dict) else part)


def embedded_in(text: str) -> list[str]:
    """Return the expressions in braces that a text contains; other braces are text."""
    return [found for found in EMBEDDED.findall(text) if is_expression(found)]


def evaluate(expression: RuntimeExpression, scope: Scope) -> JsonValue:
    """Return the value of an expression.

    Raises:
        ValueMissing: it has none.
    """
    value, path = _base(expression, scope)
    try:
        return follow(value, path)
    except LookupError:
        raise _without_value(expression, f"nothing is at {format_pointer(path)}") from None


def _without_value(expression: RuntimeExpression, why: str) -> ValueMissing:
    return ValueMissing(f"{expression.text} has no value: {why}")


def _base(expression: RuntimeExpression, scope: Scope) -> tuple[JsonValue, tuple[str, ...]]:
    holder, message = expression.holder, scope.message
    match expression.root:
        case "inputs":
            return _named(expression, scope.inputs, "the workflow has no such input")
        case "outputs":
            return _named(expression, scope.outputs, "the called workflow has no such output")
        case "steps":
            if holder not in scope.steps:
                raise _without_value(expression, f"the step {holder!r} has not ended")
            why = scope.missing.get((holder, expression.name))
            return _named(expression, scope.steps[holder], why or "the step gave no such output")
        case "workflows" if expression.field == "inputs":
            return _named(expression, scope.inputs, "the workflow has no such input")
        case "workflows":
            if holder not in scope.workflows:
                raise _without_value(expression, "that workflow has not ended before this one")
            held = scope.workflows[holder]
            return _named(expression, held, "that workflow gave no such output")
        case "request" | "response" | "url" | "method" | "statusCode" if message is None:
            raise _without_value(expression, "no call was made before it")
        case "url" if message is not None:
            return message.url, expression.path
        case "method" if message is not None:
            return message.method, expression.path
        case "request" | "response" | "statusCode" if message is not None:
            found: JsonValue = message.status
            if expression.root == "request":
                found = message.request.get(holder, {}).get(expression.name)
            elif expression.root == "response":
                headers = {name.lower(): value for name, value in message.headers.items()}
                found = message.body if holder == "body" else headers.get(expression.name)
            if found is None:
                of = "the answer" if expression.root != "request" else "the request"
                raise _without_value(expression, f"{of} has none")
            return found, expression.path
        case _:
            raise ValueMissing(f"{expression.text} has no value while a workflow runs")


def _named(
    expression: RuntimeExpression, held: JsonObject, why: str
) -> tuple[JsonValue, tuple[str, ...]]:
    """Return a value by its name, which may have dots; the rest of it leads into the value."""
    name = expression.name
    if not name:
        return held, expression.path
    if name in held:
        return held[name], expression.path
    for known in sorted(held, key=len, reverse=True):
        if name.startswith((f"{known}.", f"{known}[")):
            try:
                steps = _steps(expression.text, name[len(known) :])
            except ValueError as fault:
                raise ValueMissing(str(fault)) from None
            return held[known], (*steps, *expression.path)
    raise _without_value(expression, why)


def evaluate_text(text: str, scope: Scope) -> JsonValue:
    """Return the value of an expression given as text.

    Raises:
        ValueMissing: it has none.
    """
    return evaluate(parse_runtime_expression(text), scope)


def as_text(value: JsonValue) -> str:
    """Return the text of an embedded value: strings as they are, all others as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fill(template: JsonValue, scope: Scope) -> JsonValue:
    """Return a template with its expressions evaluated.

    Raises:
        ValueMissing: an expression has no value, or a selector selects nothing.
    """
    if isinstance(template, str):
        if is_expression(template):
            return evaluate_text(template, scope)
        return embed(template, scope)
    if isinstance(template, list):
        return [fill(item, scope) for item in template]
    if not isinstance(template, dict):
        return template
    if template.keys() == {SELECT}:
        selector = cast("JsonObject", template[SELECT])
        context = fill(selector["context"], scope)
        query = str(selector["selector"])
        if selector["type"] == "jsonpointer":
            query = embed(query, scope)
            try:
                return follow(context, parse_pointer(query))
            except (LookupError, ValueError):
                raise ValueMissing(f"{selector['context']} has nothing at {query}") from None
        query = embed_into_json_path(query, lambda text: evaluate_text(text, scope))
        try:
            found = query_json_path(query, context)
        except ValueMissing:
            raise
        except ValueError as fault:  # of the values in it: the selector itself was checked
            raise ValueMissing(f"a selector cannot be evaluated: {fault}") from None
        if not is_singular(query):
            return found
        if not found:
            raise ValueMissing(f"{query} selects nothing in {selector['context']}")
        return found[0]
    if template.keys() == {REPLACE}:
        content = cast("JsonObject", template[REPLACE])
        payload: JsonValue = json.loads(json.dumps(fill(content["payload"], scope)))
        for one in cast("list[JsonObject]", content["replacements"]):
            payload = replaced(payload, one, fill(one["value"], scope))
        return payload
    return {k: fill(item, scope) for k, item in template.items() if not is_left_out(item, scope)}


def is_left_out(template: JsonValue, scope: Scope) -> bool:
    """Return True if a template is an optional input that was not given."""
    if not isinstance(template, str) or not template.startswith("$inputs."):
        return False
    name = template.removeprefix("$inputs.")
    return name in scope.optional and name not in scope.inputs


def embed(text: str, scope: Scope) -> str:
    """Return a text with its expressions in braces replaced by the text of their values.

    Raises:
        ValueMissing: an expression has no value.
    """

    def written(found: re.Match[str]) -> str:
        inner = found[1]
        return as_text(evaluate_text(inner, scope)) if is_expression(inner) else found[0]

    return EMBEDDED.sub(written, text)
