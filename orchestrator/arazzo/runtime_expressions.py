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
_PLAIN: Final = ("$url", "$method", "$statusCode", "$self")


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
    if text in _PLAIN:
        return RuntimeExpression(text, cast("Root", text[1:]))
    if text.startswith("$message"):
        raise ValueError(f"{text!r} reads a message of AsyncAPI, which is not supported")
    if found := _MESSAGE.fullmatch(text):
        return _of_message(text, found)
    found = _NAMED.fullmatch(text)
    if found is None or not (found["name"] or found["step"] or found["workflow"]):
        raise ValueError(f"{text!r} is no runtime expression; {_hint(text)}")
    path = _pointer(text, found["pointer"])
    if found["step"]:
        return RuntimeExpression(text, "steps", found["step"], found["name"] or "", "outputs", path)
    if found["workflow"]:
        read = cast('Literal["inputs", "outputs"]', found["field"])
        return RuntimeExpression(
            text, "workflows", found["workflow"], found["name"] or "", read, path
        )
    return RuntimeExpression(text, cast("Root", found["root"]), name=found["name"], path=path)


def _hint(text: str) -> str:
    """Return what may have been meant."""
    if text.startswith(("$response.headers", "$request.headers")):
        return f"write {text.split('.')[0]}.header.NAME"
    if text.startswith("$steps."):
        return "write $steps.ID.outputs.NAME"
    if text.startswith("$response"):
        return "write for example $response.body#/id"
    return "write for example $inputs.name"


def _of_message(text: str, found: re.Match[str]) -> RuntimeExpression:
    root = cast("Root", found["root"])
    if found["header"]:
        return RuntimeExpression(text, root, "header", found["header"].lower())
    if found["place"]:
        if root == "response":
            raise ValueError(f"{text!r}: an answer has a body and headers only")
        return RuntimeExpression(text, root, found["place"], found["name"])
    if found["tail"] is not None:
        return RuntimeExpression(text, root, "body", path=_steps(text, found["tail"]))
    return RuntimeExpression(text, root, "body", path=_pointer(text, found["pointer"]))


def _pointer(text: str, pointer: str | None) -> tuple[str, ...]:
    try:
        return parse_pointer(pointer or "")
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


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
        at = format_pointer(path)
        raise ValueMissing(f"{expression.text} has no value: nothing is at {at}") from None


def _base(expression: RuntimeExpression, scope: Scope) -> tuple[JsonValue, tuple[str, ...]]:
    """Return the value that an expression names, and the steps into it."""
    match expression.root:
        case "inputs":
            return _named(expression, scope.inputs, "the workflow has no such input")
        case "outputs":
            return _named(expression, scope.outputs, "the called workflow has no such output")
        case "steps":
            return _of_step(expression, scope)
        case "workflows" if expression.field == "inputs":
            return _named(expression, scope.inputs, "the workflow has no such input")
        case "workflows":
            if expression.holder not in scope.workflows:
                raise ValueMissing(
                    f"{expression.text} has no value: that workflow has not ended before this one"
                )
            held = scope.workflows[expression.holder]
            return _named(expression, held, "that workflow gave no such output")
        case "request" | "response" | "url" | "method" | "statusCode":
            return _of_call(expression, scope.message), expression.path
        case _:
            raise ValueMissing(f"{expression.text} has no value while a workflow runs")


def _of_step(expression: RuntimeExpression, scope: Scope) -> tuple[JsonValue, tuple[str, ...]]:
    held = scope.steps.get(expression.holder)
    if held is None:
        raise ValueMissing(
            f"{expression.text} has no value: the step {expression.holder!r} has not ended"
        )
    why = scope.missing.get((expression.holder, expression.name))
    return _named(expression, held, why or "the step gave no such output")


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
            return held[known], (*_steps(expression.text, name[len(known) :]), *expression.path)
    raise ValueMissing(f"{expression.text} has no value: {why}")


def _of_call(expression: RuntimeExpression, message: HttpMessage | None) -> JsonValue:
    if message is None:
        raise ValueMissing(f"{expression.text} has no value: no call was made before it")
    if expression.root == "url":
        return message.url
    if expression.root == "method":
        return message.method
    if expression.root == "statusCode":
        found: JsonValue = message.status
    elif expression.root == "response":
        is_body = expression.holder == "body"
        headers = {name.lower(): value for name, value in message.headers.items()}
        found = message.body if is_body else headers.get(expression.name)
    else:
        held = message.request.get(expression.holder, {})
        found = held.get("" if expression.holder == "body" else expression.name)
    if found is None:
        of = "the answer" if expression.root != "request" else "the request"
        raise ValueMissing(f"{expression.text} has no value: {of} has none")
    return found


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
        return _selected(cast("JsonObject", template[SELECT]), scope)
    if template.keys() == {REPLACE}:
        return _with_replacements(cast("JsonObject", template[REPLACE]), scope)
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


def _selected(selector: JsonObject, scope: Scope) -> JsonValue:
    context = fill(selector["context"], scope)
    query = str(selector["selector"])
    if selector["type"] == "jsonpointer":
        query = embed(query, scope)
        try:
            return follow(context, parse_pointer(query))
        except (LookupError, ValueError):
            raise ValueMissing(f"{selector['context']} has nothing at {query}") from None
    query = embed_into_json_path(query, lambda text: evaluate_text(text, scope))
    found = query_json_path(query, context)
    if not is_singular(query):
        return found
    if not found:
        raise ValueMissing(f"{query} selects nothing in {selector['context']}")
    return found[0]


def _with_replacements(content: JsonObject, scope: Scope) -> JsonValue:
    payload: JsonValue = json.loads(json.dumps(fill(content["payload"], scope)))
    for one in cast("list[JsonObject]", content["replacements"]):
        payload = replaced(payload, one, fill(one["value"], scope))
    return payload
