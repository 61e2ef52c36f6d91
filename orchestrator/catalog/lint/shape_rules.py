"""Rules on the inputs and answers of a tool."""

from collections.abc import Iterator

from orchestrator.catalog.inputs import is_json
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.tool import Effect
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import ANNOTATIONS
from orchestrator.json_schema.walker import COMPOSITIONS

_WITHOUT_CONTENT = frozenset({"204", "205", "304"})
"""Statuses whose answers have no content."""
_STRING_LIMITS = frozenset({"const", "enum", "format", "maxLength", "pattern"})
_NUMBER_LIMITS = frozenset(
    {"const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
)
_COMPOSED = frozenset({"$ref", *COMPOSITIONS})
_TYPE_KEYWORDS = frozenset({"type", "enum", "const", *_COMPOSED})


@rule("ORC002", "error", "A tool compiles")
def compiles(subject: Subject) -> Iterator[Problem]:
    """Require an operation that compiles."""
    if subject.fault is not None:
        yield Problem(
            subject.fault.pointer,
            subject.fault.reason,
            subject.fault.remedy or "correct this place; the tool is skipped until then",
        )


@rule("ORC020", "note", "The input is an object")
def object_shaped(subject: Subject) -> Iterator[Problem]:
    """Require a JSON body that is an object."""
    for found in subject.inputs:
        is_object = found.schema.get("type") == "object" or _COMPOSED & found.schema.keys()
        if found.is_whole_body and not is_object and _is_json_body(subject):
            yield Problem(
                subject.pointer_to("requestBody"),
                f"the body of {subject.name} is not an object, so it appears as "
                f"{found.binding.name!r}",
                "wrap it, if the provider can still change it: an object whose properties name "
                "what is sent",
            )


@rule("ORC021", "note", "Inputs state their limits")
def constrained_inputs(subject: Subject) -> Iterator[Problem]:
    """Require limits of each input."""
    for found in subject.inputs:
        if not found.is_whole_body and (missing := _missing_limit(found.schema)) is not None:
            place = found.schema_pointer or subject.pointer_to("requestBody")
            text = f"the input {found.binding.name!r} of {subject.name} states no limits"
            yield Problem(place, text, f"add {missing}")


@rule("ORC022", "warning", "Inputs are described")
def described_inputs(subject: Subject) -> Iterator[Problem]:
    """Require a description of each input."""
    for found in subject.inputs:
        if not found.schema.get("description") and "$ref" not in found.schema:
            yield Problem(
                found.pointer or subject.pointer_to("requestBody"),
                f"the input {found.binding.name!r} of {subject.name} is not described",
                "say in a few words what belongs there",
            )


@rule("ORC023", "warning", "A needed body is required")
def body_is_required(subject: Subject) -> Iterator[Problem]:
    """Require a body with required properties to be required itself."""
    tool = subject.tool
    if tool is not None and "dependentRequired" in tool.input_schema:
        body = subject.operation.node.at("requestBody")
        if body is not None and body.at("required") is None:
            yield Problem(
                body.pointer,
                f"{subject.name} has required properties in a body that may be left out",
                "add `required: true` to the requestBody, or `required: false` if that is meant",
            )


@rule("ORC024", "warning", "Answers of reads are declared")
def structured_answer(subject: Subject) -> Iterator[Problem]:
    """Require a read to declare its answer, as JSON if the answer has properties."""
    tool = subject.tool
    if tool is None:
        return
    if tool.output_schema is not None:
        if not tool.output_schema.keys() - ANNOTATIONS:
            yield _undeclared(subject, "answers JSON of which nothing is declared")
    elif tool.effect is not Effect.READ:
        return
    elif not any(map(_is_declared, _successes(subject))):
        yield _undeclared(subject, "reads something, and no answer of it is declared")
    elif (written := _structured_text(subject)) is not None:
        yield Problem(
            subject.pointer_to("responses"),
            f"{subject.name} is answered in {written}, which is kept as text: later steps read no "
            "property of it",
            "declare application/json where the provider answers that as well; else a person or a "
            "model reads the text",
        )


def _structured_text(subject: Subject) -> str | None:
    """Return the media type of an answer with declared properties that is not JSON."""
    for _, response in _successes(subject):
        for written, media in response.items("content"):
            schema = media.at("schema")
            if schema is not None and not is_json(written) and schema.raw("properties") is not None:
                return written
    return None


def _undeclared(subject: Subject, what: str) -> Problem:
    return Problem(
        subject.pointer_to("responses"),
        f"{subject.name} {what}",
        "declare the schema of its answer: cards, receipts and later steps read its properties",
    )


def _successes(subject: Subject) -> Iterator[tuple[str, DocumentNode]]:
    """Yield the successful answers, redirects included."""
    responses = dict(subject.operation.node.items("responses"))
    wanted = [status for status in responses if status[:1] in "23"] or ["default"]
    yield from ((status, responses[status]) for status in wanted if status in responses)


def _is_declared(answer: tuple[str, DocumentNode]) -> bool:
    """Return True if an answer is declared, or has nothing to declare."""
    status, response = answer
    has_none = status in _WITHOUT_CONTENT or status.startswith("3")
    return has_none or bool(dict(response.items("content")))


def _is_json_body(subject: Subject) -> bool:
    return subject.tool is not None and is_json(subject.tool.body_content_type or "")


def _missing_limit(schema: JsonObject) -> str | None:
    """Return the missing limits of an input; None when it has enough."""
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
