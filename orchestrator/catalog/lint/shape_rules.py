"""Rules on what a tool takes and what it answers."""

from collections.abc import Iterator

from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.tool import Effect, InputBinding
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import COMPOSITIONS

_STRING_LIMITS = frozenset({"const", "enum", "format", "maxLength", "pattern"})
_NUMBER_LIMITS = frozenset(
    {"const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
)
_COMPOSED = frozenset({"$ref", *COMPOSITIONS})
_TYPE_KEYWORDS = frozenset({"type", "enum", "const", *_COMPOSED})


@rule("ORC002", "error", "A tool compiles")
def compiles(subject: Subject) -> Iterator[Problem]:
    """The operation compiles to a tool."""
    if subject.fault is not None:
        yield Problem(
            subject.fault.pointer,
            subject.fault.reason,
            "correct this place; the rest of the tool was not examined",
        )


@rule("ORC020", "error", "The input is an object")
def object_shaped(subject: Subject) -> Iterator[Problem]:
    """The body, if any, is an object."""
    for binding, schema, _ in _inputs(subject):
        is_object = schema.get("type") == "object" or _COMPOSED & schema.keys()
        if binding.location == "body" and not binding.field and not is_object:
            yield Problem(
                subject.pointer_to("requestBody"),
                f"the body of {subject.name} is not an object, so it appears as {binding.name!r}",
                "wrap it: an object whose properties name what is sent",
            )


@rule("ORC021", "warning", "Inputs state their limits")
def constrained_inputs(subject: Subject) -> Iterator[Problem]:
    """Each input states what it may be."""
    for binding, schema, pointer in _inputs(subject):
        if (missing := _missing_limit(schema)) is not None:
            yield Problem(
                pointer,
                f"the input {binding.name!r} of {subject.name} states no limits",
                f"add {missing}",
            )


@rule("ORC022", "warning", "Inputs are described")
def described_inputs(subject: Subject) -> Iterator[Problem]:
    """Each input is described."""
    for binding, schema, pointer in _inputs(subject):
        if not schema.get("description") and "$ref" not in schema:
            yield Problem(
                pointer,
                f"the input {binding.name!r} of {subject.name} is not described",
                "say in a few words what belongs there",
            )


@rule("ORC023", "warning", "A needed body is required")
def body_is_required(subject: Subject) -> Iterator[Problem]:
    """A body with required properties is required itself."""
    tool = subject.tool
    if tool is not None and "dependentRequired" in tool.input_schema:
        body = subject.operation.node.at("requestBody")
        if body is not None and body.at("required") is None:
            yield Problem(
                subject.pointer_to("requestBody"),
                f"{subject.name} has required properties in a body that may be left out",
                "add `required: true` to the requestBody, or `required: false` if that is meant",
            )


@rule("ORC024", "error", "Success is structured JSON")
def structured_answer(subject: Subject) -> Iterator[Problem]:
    """A success is answered with structured JSON."""
    tool = subject.tool
    if tool is None:
        return
    if tool.output_schema is None:
        # The answer to a cancel is read by nobody when its status says it all.
        if tool.effect is not Effect.CANCEL:
            yield _unstructured(subject, "declares no JSON answer")
    elif not _is_structured(tool.output_schema):
        yield _unstructured(subject, "answers JSON without a structure")


def _unstructured(subject: Subject, what: str) -> Problem:
    return Problem(
        subject.pointer_to("responses"),
        f"{subject.name} {what}",
        "declare the properties of its 2xx answer: cards, receipts and later steps read them",
    )


def _is_structured(schema: JsonObject) -> bool:
    if schema.get("type") == "array":
        items = schema.get("items")
        return isinstance(items, dict) and _is_structured(items)
    return bool(schema.get("properties")) or bool(_COMPOSED & schema.keys())


def _inputs(subject: Subject) -> Iterator[tuple[InputBinding, JsonObject, str]]:
    """Each input, its schema, and where it is declared: its parameter, else the body."""
    if (tool := subject.tool) is None:
        return
    declared = {
        (parameter.require("in").value, parameter.require("name").value): parameter.pointer
        for parameter in subject.operation.parameters()
    }
    body = subject.pointer_to("requestBody")
    for binding in tool.bindings:
        pointer = declared.get((binding.location, binding.field), body)
        yield binding, tool.properties[binding.name], pointer


def _missing_limit(schema: JsonObject) -> str | None:
    """What an input should say of its values; None when it says enough."""
    if not _TYPE_KEYWORDS & schema.keys():
        return "a type"
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), None) if isinstance(kinds, list) else kinds
    if kind == "string" and not _STRING_LIMITS & schema.keys():
        return "an enum, a format, a pattern or a maxLength"
    if kind in ("integer", "number") and not _NUMBER_LIMITS & schema.keys():
        return "a minimum and a maximum"
    if kind == "array" and "maxItems" not in schema:
        return "a maxItems"
    return None
