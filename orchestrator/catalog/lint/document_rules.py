"""Rules on whole documents, on overlays, on names that tools share, and on schemas."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema_rs import ValidationError as OpenApiError
from jsonschema_rs import ValidationErrorKind
from openapi_spec_validator.schemas import schema_v30, schema_v31, schema_v32
from pydantic import JsonValue

from orchestrator.catalog.expressions import follow_or_none
from orchestrator.catalog.lint import contract_rules
from orchestrator.catalog.lint.contract_rules import money_problems
from orchestrator.catalog.lint.finding import (
    MOST_FINDINGS,
    Finding,
    Problem,
    Raised,
    plain_finding,
    shortened,
)
from orchestrator.catalog.lint.subject import Subject, Uses
from orchestrator.catalog.operations import METHODS, Operation, UnreadFile
from orchestrator.catalog.overlay import IdleAction
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import openapi_version
from orchestrator.json_schema.patterns import is_pattern, looks_around, undecided_reason
from orchestrator.json_schema.references import (
    format_pointer,
    parse_reference,
    reference_of,
)
from orchestrator.json_schema.walker import IN_PLACE, subschema_nodes, walk_nodes

_SCHEMAS = {(3, 0): schema_v30, (3, 1): schema_v31, (3, 2): schema_v32}
_EXTRA = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)
_Path = tuple[str, ...]
_MASK = "this value"
"""Replaces values in messages, because a value may be as long as the document."""


class _Breach(NamedTuple):
    """A place that breaks a schema."""

    path: _Path
    reason: str
    is_harmless: bool = False
    """True if programs, the orchestrator included, read the document as intended."""


def openapi_breaches(content: JsonObject) -> Iterator[_Breach]:
    """Yield the places that break the OpenAPI schema, each with the first reason.

    Args:
        content: a document of a supported version.
    """
    validator = _openapi_validator(openapi_version(content) or (3, 1))
    yield from _breaches(validator, content)


def json_schema_breaches(schema: JsonValue) -> Iterator[_Breach]:
    """Yield the breaches of a schema that must be JSON Schema 2020-12."""
    yield from _breaches(_meta_validator(), schema)


def _breaches(validator: jsonschema_rs.Validator, content: JsonValue) -> Iterator[_Breach]:
    seen: set[_Path] = set()
    for breach in validator.iter_errors(content):
        for cause in _causes(breach):
            path = tuple(map(str, cause.instance_path))
            is_pattern_fault = getattr(cause.kind, "format", "") == "regex"  # ORC025 explains more
            if path not in seen and not is_pattern_fault:
                seen.add(path)
                yield _Breach(path, _in_words(cause, path), _is_harmless(cause, path, content))


def _in_words(cause: OpenApiError, path: _Path) -> str:
    """Return a reason for people who do not know the validator."""
    kind, name = cause.kind, path[-1] if path else "the document"
    if isinstance(kind, _EXTRA):
        return f"OpenAPI knows no field {' or '.join(map(repr, kind.unexpected))} here"
    if isinstance(kind, ValidationErrorKind.Required):
        return f"the field {kind.property!r} is missing here"
    if isinstance(kind, ValidationErrorKind.Type):
        return f"{name!r} is not of the type {' or '.join(kind.types)}"
    if isinstance(kind, ValidationErrorKind.UniqueItems):
        return f"{name!r} lists something twice"
    if isinstance(kind, ValidationErrorKind.Not | ValidationErrorKind.OneOfMultipleValid):
        return f"{name!r} has fields that exclude each other"
    if isinstance(kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
        return f"{name!r} has none of the forms that OpenAPI allows here"
    return cause.message.replace(_MASK, repr(name))


def _is_harmless(cause: OpenApiError, path: _Path, content: JsonValue) -> bool:
    """Return True for a breach that nothing reads, or that is redundant or a plain reference.

    Keywords that begin with `$` and are not in the latest JSON Schema are ignored.
    """
    if isinstance(cause.kind, _EXTRA):
        is_about = not path or path[0] in _PASSED_OVER or path == ("components",)
        return is_about or reference_of(follow_or_none(content, path)) is not None
    last = path[-1] if path else ""
    if last == "$ref":
        return parse_reference(reference_of(follow_or_none(content, path[:-1])) or "") is not None
    return isinstance(cause.kind, ValidationErrorKind.UniqueItems) or last in _FORMER


@cache
def _meta_validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(dict(Draft202012Validator.META_SCHEMA), mask=_MASK)


@cache
def _openapi_validator(version: tuple[int, int]) -> jsonschema_rs.Validator:
    # In Rust, because a validator in Python takes a minute for the largest documents.
    return jsonschema_rs.validator_for(dict(_SCHEMAS[version]), mask=_MASK)


def _causes(breach: OpenApiError) -> Iterator[OpenApiError]:
    """Yield the deepest causes: "no alternative matches" would only name the place."""
    if not isinstance(breach.kind, ValidationErrorKind.OneOfNotValid):
        yield breach
        return
    branches = [[c for error in branch for c in _causes(error)] for branch in breach.kind.context]
    furthest = max((_depth(branch) for branch in branches), default=0)
    best = [branch for branch in branches if _depth(branch) == furthest]
    if furthest > len(breach.instance_path) and len(best) == 1:
        yield from (cause for cause in best[0] if len(cause.instance_path) == furthest)
    else:
        yield breach


def _depth(branch: list[OpenApiError]) -> int:
    return max((len(error.instance_path) for error in branch), default=0)


INVALID = "ORC001"
IDLE = "ORC003"
IGNORED_FIELD = "ORC005"
UNUSED = "ORC004"
TAKEN = "ORC011"
_PASSED_OVER: Final = frozenset({"info", "tags", "externalDocs"})
_FORMER: Final = frozenset({"$recursiveAnchor", "$recursiveRef"})


def unreadable(fault: DocumentInvalid) -> Raised:
    """Return ORC001 for a fault that stops the reader."""
    problem = Problem(fault.pointer, fault.reason, fault.remedy)
    return Raised(INVALID, fault.document, problem)


def document_findings(root: DocumentNode, content: JsonObject, uses: Uses) -> Iterator[Raised]:
    """Yield ORC001 and ORC004, and ORC030 and ORC036 outside operations."""
    document = root.document
    try:
        meant = referred_operations(root)
        for code, problem in _document_breaches(spelled_out(content, meant), uses):
            yield Raised(code, document, problem)
        for path, method in meant:
            yield Raised(UNUSED, document, _referred(path, method))
        for problem in contract_rules.misplaced_keywords(root):
            yield Raised(contract_rules.known_keywords.code, document, problem)
        for problem in contract_rules.valid_document_values(root):
            yield Raised(contract_rules.valid_values.code, document, problem)
    except DocumentInvalid as fault:
        yield unreadable(fault)


def _referred(path: str, method: str) -> Problem:
    return Problem(
        format_pointer(("paths", path, method)),
        f"the operation {method.upper()} {path} is a reference, which other programs do not follow",
        cause="operations that are references",
    )


def _document_breaches(content: JsonObject, uses: Uses) -> Iterator[tuple[str, Problem]]:
    """Yield at most MOST_FINDINGS breaches per code; one mistake high up can cause thousands."""
    found: Counter[str] = Counter()
    for path, reason, is_harmless in openapi_breaches(content):
        code = IGNORED_FIELD if is_harmless else INVALID if uses.of(path) else UNUSED
        found[code] += 1
        if found[code] <= MOST_FINDINGS:
            yield code, Problem(format_pointer(path), shortened(reason))
        elif min(found[INVALID], found[UNUSED]) > MOST_FINDINGS:
            return


def unread_finding(file: UnreadFile) -> Finding:
    """Return ORC001 for an unreadable file of a folder."""
    return plain_finding(INVALID, file.document, Problem("", file.reason, file.remedy))


def idle_finding(action: IdleAction) -> Finding:
    """Return ORC003 for an overlay action that changes nothing."""
    return plain_finding(IDLE, action.overlay, Problem(action.pointer, action.reason))


def repeated_names(names: Mapping[str, list[Subject]]) -> Iterator[Raised]:
    """Yield ORC011 for each operationId that another tool has, in any document."""
    for name, holders in names.items():
        first, others = holders[0], holders[1:] if name else []
        for subject in others:
            problem = Problem(
                subject.pointer_to("operationId"),
                f"the operationId {name!r} is taken by a tool of "
                f"{first.operation.document}, {first.operation.method} {first.operation.path}"
                f"; neither is called so",
            )
            yield Raised(TAKEN, subject.operation.document, problem, subject)


def referred_operations(root: DocumentNode) -> dict[tuple[str, str], DocumentNode]:
    """Return the target of each operation that is a reference, by path and method."""
    return {
        (path, method): node
        for path, item in _path_items(root)
        for method in METHODS
        if (written := item.raw(method)) is not None and reference_of(written.value) is not None
        for node in _meant(written)
    }


def spelled_out(content: JsonObject, meant: dict[tuple[str, str], DocumentNode]) -> JsonObject:
    """Return the document with the targets in place of those references."""
    paths = content.get("paths")
    if not meant or not isinstance(paths, dict):
        return content
    whole = dict(paths)
    for (path, method), node in meant.items():
        item = whole[path]
        whole[path] = {**(item if isinstance(item, dict) else {}), method: node.value}
    return {**content, "paths": whole}


def _path_items(root: DocumentNode) -> Iterator[tuple[str, DocumentNode]]:
    paths = root.raw("paths")
    for path, item in paths.raw_items() if paths is not None else ():
        if isinstance(item.value, dict):
            yield path, item


def _meant(written: DocumentNode) -> Iterator[DocumentNode]:
    try:
        yield written.overlaid()
    except DocumentInvalid:
        # A reference without a target is skipped and reported by the compiler.
        return


PATTERN = "ORC025"
DETOUR = "ORC027"
UNDECIDED = "ORC028"
IMPOSSIBLE = "ORC029"
ENDLESS = "ORC026"
NULLABLE = "ORC075"


def schema_findings(document: str, exposed: Iterable[Operation], *, is_3_1: bool) -> list[Raised]:
    """Return ORC001, ORC025 to ORC029, ORC062, ORC063 and ORC075 on the schemas that tools use.

    Schemas of 3.1 documents are validated as JSON Schema, because OpenAPI's schema leaves them
    open.
    """
    found: Counter[str] = Counter()
    findings: list[Raised] = []
    for code, problem in _problems(exposed, is_3_1=is_3_1):
        found[code] += 1
        if found[code] <= MOST_FINDINGS:
            short = replace(problem, message=shortened(problem.message))
            findings.append(Raised(code, document, short))
    return findings


def _problems(operations: Iterable[Operation], *, is_3_1: bool) -> Iterator[tuple[str, Problem]]:
    seen: set[_Path] = set()
    examined: set[_Path] = set()
    waiting = [schema for operation in operations for schema in _schemas_of(operation)]
    while waiting:
        schema = waiting.pop()
        if schema.path in seen:
            continue
        seen.add(schema.path)
        if is_3_1:
            for path, reason, is_harmless in json_schema_breaches(schema.value):
                code = IGNORED_FIELD if is_harmless else INVALID
                yield code, Problem(f"{schema.pointer}{format_pointer(path)}", reason)
        for place in _inside(schema):
            if is_3_1:
                yield from _former_keywords(place)
            yield from _pattern_problems(place)
            yield from money_problems(place)
            yield from ((ENDLESS, problem) for problem in _cycles(place, examined))
            yield from ((IMPOSSIBLE, problem) for problem in _contradiction(place))
            waiting += _targets(place)


def _former_keywords(schema: DocumentNode) -> Iterator[tuple[str, Problem]]:
    """Yield ORC075 for `nullable: true`, which OpenAPI 3.0 alone reads."""
    if not isinstance(schema.value, dict) or schema.value.get("nullable") is not True:
        return
    stated = schema.value.get("type")
    if isinstance(stated, str):
        fix = f'write type: [{stated}, "null"]'
        yield NULLABLE, Problem(schema.pointer, "nullable does not allow null here", fix)
    elif not (isinstance(stated, list) and "null" in stated):
        fix = 'add {type: "null"} to an anyOf'
        yield NULLABLE, Problem(schema.pointer, "nullable does not allow null here", fix)


def _cycles(schema: DocumentNode, examined: set[_Path]) -> Iterator[Problem]:
    """Yield ORC026 for a schema that is part of itself; its validation would never end."""
    cycle = _find_cycle(schema, examined) if schema.path not in examined else None
    if cycle is not None:
        yield Problem(
            cycle.pointer, "this schema is part of itself, so nothing can ever be checked by it"
        )


def _find_cycle(start: DocumentNode, done: set[_Path]) -> DocumentNode | None:
    """Return a schema that leads back to itself through compositions and references."""
    done.add(start.path)
    path = [(start, iter(_parts_in_place(start)))]
    on_path = {start.path}
    while path:
        schema, parts = path[-1]
        for part in parts:
            if part.path in on_path:
                return part
            if part.path not in done:
                done.add(part.path)
                on_path.add(part.path)
                path.append((part, iter(_parts_in_place(part))))
                break
        else:
            path.pop()
            on_path.discard(schema.path)
    return None


def _parts_in_place(schema: DocumentNode) -> list[DocumentNode]:
    parts = _targets(schema)
    # Malformed parts have a finding of their own.
    with suppress(DocumentInvalid):
        parts += subschema_nodes(schema, IN_PLACE)
    return parts


_BOUNDS: Final = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_NO_PLACES: Final[list[DocumentNode]] = []
_MOST_PARTS = 20
"""Limit, because each part of a chain begins another chain."""


def _contradiction(schema: DocumentNode) -> Iterator[Problem]:
    """Yield ORC029 for a schema whose keywords, or the parts of whose allOf, exclude each other."""
    if not isinstance(schema.value, dict):
        return
    # The compiler reports malformed parts.
    with suppress(DocumentInvalid):
        parts = _members(schema) if "allOf" in schema.value else [schema]
        reason = (_excluded_value(parts) if parts[1:] else "") or _excluded_property(parts)
        if reason:
            yield Problem(
                schema.pointer, f"nothing with its own properties fits this schema: {reason}"
            )


def _members(schema: DocumentNode) -> list[DocumentNode]:
    """Return the first parts of an allOf that apply to one value, the schema itself first."""
    found: dict[_Path, DocumentNode] = {}
    waiting = [schema.resolved()]
    while waiting and len(found) < _MOST_PARTS:
        part = waiting.pop()
        if part.path not in found and isinstance(part.value, dict):
            found[part.path] = part
            waiting += part.elements("allOf")
    return list(found.values())


def _excluded_value(parts: list[DocumentNode]) -> str:
    """Return the reason why no value fits all of these schemas; '' if one may fit."""
    kinds = [kinds for part in parts if (kinds := _types(part))]
    allowed = frozenset.intersection(*kinds) if kinds else frozenset[str]()
    if kinds and not allowed:
        return "its parts are of different types"
    listed = [values for part in parts if (values := _listed(part)) is not None]
    if listed:
        others = [set(map(_key, other)) for other in listed[1:]]
        left = [value for value in listed[0] if all(_key(value) in other for other in others)]
        if not left:
            return "its parts list different values"
        if allowed and not any(_type_of(value) & allowed for value in left):
            return f"none of its values is of the type {' or '.join(sorted(allowed))}"
    for least, most in _BOUNDS:
        lows, highs = (_numbers(parts, keyword) for keyword in (least, most))
        if lows and highs and max(lows) > min(highs):
            return f"{least} is above {most}"
    return ""


def _listed(part: DocumentNode) -> list[JsonValue] | None:
    value = part.value if isinstance(part.value, dict) else {}
    listed = [value["const"]] if "const" in value else value.get("enum")
    return listed if isinstance(listed, list) and listed else None


def _key(value: JsonValue) -> JsonValue:
    """Return a hashable value that is equal for equal JSON values: true is no 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else json.dumps(value, sort_keys=True)


def _type_of(value: JsonValue) -> frozenset[str]:
    kinds: dict[type, set[str]] = {
        bool: {"boolean"},
        int: {"integer", "number"},
        float: {"number"},
        str: {"string"},
        list: {"array"},
        dict: {"object"},
    }
    return frozenset(kinds.get(type(value), {"null"}))


def _numbers(parts: Iterable[DocumentNode], keyword: str) -> list[int | float]:
    values = (part.value.get(keyword) for part in parts if isinstance(part.value, dict))
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _excluded_property(parts: list[DocumentNode]) -> str:
    declared: dict[str, list[DocumentNode]] = {}
    for part in parts:
        for name, place in part.items("properties"):
            declared.setdefault(name, []).append(place)
    needed = {name for part in parts for name in part.texts_at("required")}
    for closed in parts:
        keyword, extra = _closing(closed, is_whole=closed is parts[0])
        if extra is None or extra.value is True or closed.raw("patternProperties") is not None:
            continue
        own = {name for name, _ in closed.items("properties")}
        for name, places in {**dict.fromkeys(needed, _NO_PLACES), **declared}.items():
            if name in own or any(place.value is False for place in places):
                continue
            if extra.value is False:
                return f"a part with {keyword}: false does not know {name!r}"
            allowed = _types(extra)
            if allowed and any(kinds and not allowed & kinds for kinds in map(_types, places)):
                wanted = " or ".join(sorted(allowed - {"integer"}))
                return f"the {keyword} of a part make {name!r} {wanted}"
    for name in sorted(needed & declared.keys()):
        if reason := _excluded_value([place.resolved() for place in declared[name]]):
            return f"{name!r} is required, and {reason}"
    return ""


def _closing(part: DocumentNode, *, is_whole: bool) -> tuple[str, DocumentNode | None]:
    """Return the keyword that closes a part of an allOf, with its schema.

    A whole schema knows the properties of its parts; `unevaluatedProperties` of a part knows only
    its own.
    """
    extra = part.at("additionalProperties")
    is_plain = isinstance(part.value, dict) and part.value.keys().isdisjoint(IN_PLACE)
    if extra is None and not is_whole and is_plain:
        return "unevaluatedProperties", part.at("unevaluatedProperties")
    return "additionalProperties", extra


def _types(schema: DocumentNode) -> frozenset[str]:
    if not isinstance(schema.value, dict):
        return frozenset()
    declared = schema.value.get("type")
    stated = declared if isinstance(declared, list) else [declared]
    kinds = {kind for kind in stated if isinstance(kind, str) and kind}
    if "number" in kinds:
        kinds.add("integer")
    nullable = {"null"} if kinds and schema.value.get("nullable") is True else set()
    return frozenset(kinds | nullable)


def _inside(schema: DocumentNode) -> list[DocumentNode]:
    # The compiler reports malformed parts as well.
    with suppress(DocumentInvalid):
        return [place for place, _ in walk_nodes(schema)]
    return []


def _targets(place: DocumentNode) -> list[DocumentNode]:
    with suppress(DocumentInvalid):
        reference = reference_of(place.value)
        return [place.target(reference)] if reference is not None else []
    return []


def _schemas_of(operation: Operation) -> list[DocumentNode]:
    try:
        holders = list(operation.parameters())
        responses = [response for _, response in operation.node.items("responses")]
        for holder in (operation.node.at("requestBody"), *responses):
            holders += [media for _, media in holder.items("content")] if holder else []
        return [schema for holder in holders if (schema := holder.raw("schema")) is not None]
    except DocumentInvalid:
        return []


def _pattern_problems(schema: DocumentNode) -> Iterator[tuple[str, Problem]]:
    pattern = schema.raw("pattern")
    named = schema.raw("patternProperties")
    places = [(pattern.value, pattern)] if pattern is not None else []
    places += list(named.raw_items()) if named is not None else []
    for text, place in places:
        if isinstance(text, str) and (found := _pattern_problem(text, place.pointer)) is not None:
            yield found


def _pattern_problem(text: str, pointer: str) -> tuple[str, Problem] | None:
    """Return the finding on a pattern that is malformed, undecidable or slow."""
    shown = f"the pattern {text[:80]!r}"
    if not is_pattern(text):
        return PATTERN, Problem(pointer, f"{shown} is no regular expression")
    if (reason := undecided_reason(text)) is not None:
        return UNDECIDED, Problem(pointer, f"{shown} decides on nothing in bounded time: {reason}")
    if looks_around(text):
        reason = "it may take far longer than one pass over the text"
        return DETOUR, Problem(pointer, f"{shown} looks around: {reason}")
    return None
