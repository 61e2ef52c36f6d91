"""Rules on whole documents, on overlays, on names that tools share, and on schemas."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final

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
    Problem,
    Raised,
    shortened,
)
from orchestrator.catalog.lint.subject import Subject, Uses
from orchestrator.catalog.operations import METHODS, Operation
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import openapi_version
from orchestrator.json_schema.patterns import pattern_fault
from orchestrator.json_schema.references import format_pointer, parse_reference, reference_of
from orchestrator.json_schema.walker import (
    IN_PLACE,
    listed_values,
    subschema_nodes,
    types_of,
    walk_nodes,
)

_SCHEMAS = {(3, 0): schema_v30, (3, 1): schema_v31, (3, 2): schema_v32}
_EXTRA = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)
_Path = tuple[str, ...]
_MASK = "this value"
"""Replaces values in messages, because a value may be as long as the document."""


@cache
def _validator(version: tuple[int, int] | None) -> jsonschema_rs.Validator:
    # In Rust, because a validator in Python takes a minute for the largest documents.
    schema = _SCHEMAS[version] if version is not None else Draft202012Validator.META_SCHEMA
    return jsonschema_rs.validator_for(dict(schema), mask=_MASK)


def _breaches(
    version: tuple[int, int] | None, content: JsonValue
) -> Iterator[tuple[_Path, str, bool]]:
    """Yield the places that break OpenAPI's schema of a version, or JSON Schema 2020-12 for None.

    Each has its first reason, and True if it is harmless: programs, the orchestrator included, read
    the document as intended.
    """
    validator = _validator(version)
    seen: set[_Path] = set()
    for breach in validator.iter_errors(content):
        for cause in _causes(breach):
            path = tuple(map(str, cause.instance_path))
            is_pattern_fault = getattr(cause.kind, "format", "") == "regex"  # ORC025 explains more
            if path in seen or is_pattern_fault:
                continue
            seen.add(path)
            kind, last = cause.kind, path[-1] if path else ""
            name = last if path else "the document"
            reason = cause.message.replace(_MASK, repr(name))
            # Nothing reads it, or it is redundant or a plain reference. Keywords that begin with
            # `$` and are not in the latest JSON Schema are ignored.
            is_harmless = last in _FORMER
            if isinstance(kind, _EXTRA):
                reason = f"OpenAPI knows no field {' or '.join(map(repr, kind.unexpected))} here"
                is_about = not path or path[0] in _PASSED_OVER or path == ("components",)
                is_harmless = is_about or reference_of(follow_or_none(content, path)) is not None
            elif isinstance(kind, ValidationErrorKind.Required):
                reason = f"the field {kind.property!r} is missing here"
            elif isinstance(kind, ValidationErrorKind.Type):
                reason = f"{name!r} is not of the type {' or '.join(kind.types)}"
            elif isinstance(kind, ValidationErrorKind.UniqueItems):
                reason, is_harmless = f"{name!r} lists something twice", True
            elif isinstance(kind, ValidationErrorKind.Not | ValidationErrorKind.OneOfMultipleValid):
                reason = f"{name!r} has fields that exclude each other"
            elif isinstance(kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
                reason = f"{name!r} has none of the forms that OpenAPI allows here"
            if last == "$ref" and not isinstance(kind, _EXTRA):
                written = reference_of(follow_or_none(content, path[:-1])) or ""
                is_harmless = parse_reference(written) is not None
            yield path, reason, is_harmless


def _causes(breach: OpenApiError) -> Iterator[OpenApiError]:
    """Yield the deepest causes: "no alternative matches" would only name the place."""
    best: list[list[OpenApiError]] = []
    furthest = len(breach.instance_path)
    if isinstance(breach.kind, ValidationErrorKind.OneOfNotValid):
        for branch in breach.kind.context:
            causes = [cause for error in branch for cause in _causes(error)]
            depth = max((len(cause.instance_path) for cause in causes), default=0)
            best = [*(best if depth == furthest else []), causes] if depth >= furthest else best
            furthest = max(furthest, depth)
    if furthest > len(breach.instance_path) and len(best) == 1:
        yield from (cause for cause in best[0] if len(cause.instance_path) == furthest)
    else:
        yield breach


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
        meant: dict[tuple[str, str], DocumentNode] = {}
        paths = root.raw("paths")
        whole = {} if paths is None or not isinstance(paths.value, dict) else {**paths.value}
        for path, item in paths.raw_items() if paths is not None else ():
            for method in METHODS if isinstance(item.value, dict) else ():
                written = item.raw(method)
                if written is not None and reference_of(written.value) is not None:
                    # A reference without a target is skipped and reported by the compiler.
                    with suppress(DocumentInvalid):
                        meant[path, method] = written.overlaid()
                        held = whole[path]
                        own = held if isinstance(held, dict) else {}
                        whole[path] = {**own, method: meant[path, method].value}
        spelled_out = {**content, "paths": whole} if meant else content
        found: Counter[str] = Counter()
        version = openapi_version(content) or (3, 1)
        for place, reason, is_harmless in _breaches(version, spelled_out):
            code = IGNORED_FIELD if is_harmless else INVALID if uses.of(place) else UNUSED
            found[code] += 1
            if found[code] <= MOST_FINDINGS:  # one mistake high up can cause thousands
                problem = Problem(format_pointer(place), shortened(reason))
                yield Raised(code, document, problem)
            elif min(found[INVALID], found[UNUSED]) > MOST_FINDINGS:
                break
        for path, method in meant:
            shown = f"the operation {method.upper()} {path} is a reference"
            problem = Problem(
                format_pointer(("paths", path, method)),
                f"{shown}, which other programs do not follow",
                cause="operations that are references",
            )
            yield Raised(UNUSED, document, problem)
        for code, problem in contract_rules.keyword_problems(root):
            yield Raised(code, document, problem)
    except DocumentInvalid as fault:
        yield unreadable(fault)


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
    waiting: list[DocumentNode] = []
    for operation in operations:
        with suppress(DocumentInvalid):  # the compiler reports malformed parts
            holders = list(operation.parameters())
            responses = [response for _, response in operation.node.items("responses")]
            for holder in (operation.node.at("requestBody"), *responses):
                holders += [media for _, media in holder.items("content")] if holder else []
            waiting += [s for holder in holders if (s := holder.raw("schema")) is not None]
    while waiting:
        schema = waiting.pop()
        if schema.path in seen:
            continue
        seen.add(schema.path)
        if is_3_1:
            for path, reason, is_harmless in _breaches(None, schema.value):
                code = IGNORED_FIELD if is_harmless else INVALID
                yield code, Problem(f"{schema.pointer}{format_pointer(path)}", reason)
        places: list[DocumentNode] = []
        with suppress(DocumentInvalid):
            places = [place for place, _ in walk_nodes(schema)]
        for place in places:
            if is_3_1:
                yield from _former_keywords(place)
            yield from _pattern_problems(place)
            yield from money_problems(place)
            cycle = _find_cycle(place, examined) if place.path not in examined else None
            if cycle is not None:  # its validation would never end
                reason = "this schema is part of itself, so nothing can ever be checked by it"
                yield ENDLESS, Problem(cycle.pointer, reason)
            yield from ((IMPOSSIBLE, problem) for problem in _contradiction(place))
            waiting += _targets(place)


def _former_keywords(schema: DocumentNode) -> Iterator[tuple[str, Problem]]:
    """Yield ORC075 for `nullable: true`, which OpenAPI 3.0 alone reads."""
    if not isinstance(schema.value, dict) or schema.value.get("nullable") is not True:
        return
    stated = schema.value.get("type")
    if not (isinstance(stated, list) and "null" in stated):
        is_one = isinstance(stated, str)
        fix = f'write type: [{stated}, "null"]' if is_one else 'add {type: "null"} to an anyOf'
        yield NULLABLE, Problem(schema.pointer, "nullable does not allow null here", fix)


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
_TYPES: Final[Mapping[type, set[str]]] = {
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    str: {"string"},
    list: {"array"},
    dict: {"object"},
}
_NO_PLACES: Final[list[DocumentNode]] = []
_MOST_PARTS = 20
"""Limit, because each part of a chain begins another chain."""


def _contradiction(schema: DocumentNode) -> Iterator[Problem]:
    """Yield ORC029 for a schema whose keywords, or the parts of whose allOf, exclude each other."""
    if not isinstance(schema.value, dict):
        return
    with suppress(DocumentInvalid):  # the compiler reports malformed parts
        found: dict[_Path, DocumentNode] = {}
        waiting = [schema.resolved() if "allOf" in schema.value else schema]
        while waiting and len(found) < _MOST_PARTS:
            part = waiting.pop()
            if part.path not in found and isinstance(part.value, dict):
                found[part.path] = part
                waiting += part.elements("allOf") if "allOf" in schema.value else ()
        parts = list(found.values())
        reason = (_excluded_value(parts) if parts[1:] else "") or _excluded_property(parts)
        if reason:
            yield Problem(
                schema.pointer, f"nothing with its own properties fits this schema: {reason}"
            )


def _excluded_value(parts: list[DocumentNode]) -> str:
    """Return the reason why no value fits all of these schemas; '' if one may fit."""
    kinds = [kinds for part in parts if (kinds := _types(part))]
    allowed = frozenset.intersection(*kinds) if kinds else frozenset[str]()
    if kinds and not allowed:
        return "its parts are of different types"
    values = [part.value for part in parts if isinstance(part.value, dict)]
    listed = [stated for value in values if (stated := listed_values(value))]
    if listed:
        others = [set(map(_key, other)) for other in listed[1:]]
        left = [value for value in listed[0] if all(_key(value) in other for other in others)]
        if not left:
            return "its parts list different values"
        if allowed and not any(_TYPES.get(type(value), {"null"}) & allowed for value in left):
            return f"none of its values is of the type {' or '.join(sorted(allowed))}"
    for least, most in _BOUNDS:
        lows, highs = _numbers(values, least), _numbers(values, most)
        if lows and highs and max(lows) > min(highs):
            return f"{least} is above {most}"
    return ""


def _numbers(schemas: Iterable[JsonObject], keyword: str) -> list[int | float]:
    values = (schema.get(keyword) for schema in schemas)
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _key(value: JsonValue) -> JsonValue:
    """Return a hashable value that is equal for equal JSON values: true is no 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else json.dumps(value, sort_keys=True)


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
    kinds = {*types_of(schema.value)}
    if "number" in kinds:
        kinds.add("integer")
    nullable = {"null"} if kinds and schema.value.get("nullable") is True else set()
    return frozenset(kinds | nullable)


def _targets(place: DocumentNode) -> list[DocumentNode]:
    with suppress(DocumentInvalid):
        reference = reference_of(place.value)
        return [place.target(reference)] if reference is not None else []
    return []


def _pattern_problems(schema: DocumentNode) -> Iterator[tuple[str, Problem]]:
    """Yield the finding on each pattern that is malformed, undecidable or slow."""
    pattern = schema.raw("pattern")
    named = schema.raw("patternProperties")
    places = [(pattern.value, pattern)] if pattern is not None else []
    places += list(named.raw_items()) if named is not None else []
    for text, place in places:
        if not isinstance(text, str):
            continue
        fault, reason = pattern_fault(text) or ("", "")
        shown = f"the pattern {text[:80]!r}"
        if fault == "malformed":
            yield PATTERN, Problem(place.pointer, f"{shown} is no regular expression")
        elif fault == "undecided":
            shown = f"{shown} decides on nothing in bounded time: {reason}"
            yield UNDECIDED, Problem(place.pointer, shown)
        elif fault:
            yield DETOUR, Problem(place.pointer, f"{shown} looks around: {reason}")
