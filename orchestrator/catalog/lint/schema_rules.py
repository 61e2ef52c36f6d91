"""Rules on schemas: each schema is examined once, however many tools use it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from orchestrator.catalog.lint.document_rules import INVALID
from orchestrator.catalog.lint.finding import MOST_FINDINGS, Code, Problem, Raised, shortened
from orchestrator.catalog.lint.price_rules import money_problems
from orchestrator.catalog.lint.published_schemas import json_schema_breaches
from orchestrator.catalog.operations import Operation
from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.patterns import detour_reason, is_pattern, undecided_reason
from orchestrator.json_schema.references import reference_of
from orchestrator.json_schema.walker import IN_PLACE, subschema_nodes, walk_nodes

PATTERN = Code("ORC025", "error", "Patterns are regular expressions")
DETOUR = Code("ORC027", "warning", "Patterns are decided in one pass")
UNDECIDED = Code("ORC028", "error", "Patterns are decided at all")
IMPOSSIBLE = Code("ORC029", "error", "Something fits a schema")
ENDLESS = Code("ORC026", "error", "Schemas come to an end")
_Path = tuple[str, ...]


def schema_findings(document: str, exposed: Iterable[Operation], *, is_3_1: bool) -> list[Raised]:
    """Return ORC001, ORC025 to ORC029, ORC062 and ORC063 on the schemas that tools use.

    Schemas of 3.1 documents are validated as JSON Schema, because OpenAPI's schema leaves them
    open.
    """
    found: Counter[Code] = Counter()
    findings: list[Raised] = []
    for code, problem in _problems(exposed, is_3_1=is_3_1):
        found[code] += 1
        if found[code] <= MOST_FINDINGS:
            short = replace(problem, message=shortened(problem.message))
            findings.append(Raised(code, document, short))
    return findings


def _problems(operations: Iterable[Operation], *, is_3_1: bool) -> Iterator[tuple[Code, Problem]]:
    seen: set[_Path] = set()
    examined: set[_Path] = set()
    waiting = [schema for operation in operations for schema in _schemas_of(operation)]
    while waiting:
        schema = waiting.pop()
        if schema.path in seen:
            continue
        seen.add(schema.path)
        if is_3_1:
            yield from ((INVALID, problem) for problem in _breaches(schema))
        for place in _inside(schema):
            yield from _pattern_problems(place)
            yield from money_problems(place)
            yield from ((ENDLESS, problem) for problem in _cycles(place, examined))
            yield from ((IMPOSSIBLE, problem) for problem in _contradiction(place))
            waiting += _targets(place)


def _breaches(schema: DocumentNode) -> Iterator[Problem]:
    """Yield ORC001: the OpenAPI schema of 3.1 leaves schemas to JSON Schema's."""
    for pointer, reason in json_schema_breaches(schema.value):
        remedy = "make it what JSON Schema 2020-12 allows here"
        yield Problem(f"{schema.pointer}{pointer}", reason, remedy)


def _cycles(schema: DocumentNode, examined: set[_Path]) -> Iterator[Problem]:
    """Yield ORC026 for a schema that is part of itself; validation would never end."""
    cycle = _find_cycle(schema, examined) if schema.path not in examined else None
    if cycle is not None:
        yield Problem(
            cycle.pointer,
            "this schema is part of itself, so nothing can ever be checked by it",
            "break the circle: let only a property or an element refer back",
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
    """Return the schemas that validate the same value."""
    parts = _targets(schema)
    # Malformed parts have a finding of their own.
    with suppress(DocumentInvalid):
        parts += subschema_nodes(schema, IN_PLACE)
    return parts


_MOST_PARTS = 20
"""Of a chain of any length, each part begins a chain of its own."""


def _contradiction(schema: DocumentNode) -> Iterator[Problem]:
    """Yield ORC029 for an allOf of which one part excludes the type or a property of another."""
    if not isinstance(schema.value, dict) or "allOf" not in schema.value:
        return
    # The compiler reports malformed parts.
    with suppress(DocumentInvalid):
        parts = _members(schema)
        reason = _excluded_type(parts) or _excluded_property(parts)
        if reason:
            yield Problem(
                schema.pointer,
                f"nothing with its own properties fits this schema: {reason}",
                "correct additionalProperties (unevaluatedProperties: false closes an allOf), or "
                "the type; until then calls and answers that it checks are refused",
            )


def _members(schema: DocumentNode) -> list[DocumentNode]:
    """Return the first parts of an allOf that hold for one value, itself first."""
    found: dict[_Path, DocumentNode] = {}
    waiting = [schema.resolved()]
    while waiting and len(found) < _MOST_PARTS:
        part = waiting.pop()
        if part.path not in found and isinstance(part.value, dict):
            found[part.path] = part
            waiting += part.elements("allOf")
    return list(found.values())


def _excluded_type(parts: list[DocumentNode]) -> str:
    kinds = [kinds for part in parts if (kinds := _types(part))]
    if kinds and not frozenset.intersection(*kinds):
        return "its parts are of different types"
    return ""


def _excluded_property(parts: list[DocumentNode]) -> str:
    for closed in parts:
        extra = closed.at("additionalProperties")
        if extra is None or extra.value is True or closed.raw("patternProperties") is not None:
            continue
        own = {name for name, _ in closed.items("properties")}
        for name, place in (pair for part in parts for pair in part.items("properties")):
            if name in own or place.value is False:
                continue
            if extra.value is False:
                return f"a part with additionalProperties: false does not know {name!r}"
            allowed, declared = _types(extra), _types(place)
            if allowed and declared and not allowed & declared:
                wanted = " or ".join(sorted(allowed - {"integer"}))
                return f"the additionalProperties of a part make {name!r} {wanted}"
    return ""


def _types(schema: DocumentNode) -> frozenset[str]:
    """Return the types that a schema allows; empty if it does not say."""
    if not isinstance(schema.value, dict):
        return frozenset()
    declared = schema.value.get("type")
    kinds = {kind for kind in (declared if isinstance(declared, list) else [declared]) if kind}
    if "number" in kinds:
        kinds.add("integer")
    nullable = {"null"} if kinds and schema.value.get("nullable") is True else set()
    return frozenset(map(str, kinds | nullable))


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


def _pattern_problems(schema: DocumentNode) -> Iterator[tuple[Code, Problem]]:
    """Yield the faults of the patterns of one schema."""
    pattern = schema.raw("pattern")
    named = schema.raw("patternProperties")
    places = [(pattern.value, pattern)] if pattern is not None else []
    places += list(named.raw_items()) if named is not None else []
    for text, place in places:
        if isinstance(text, str) and (found := _pattern_problem(text, place.pointer)) is not None:
            yield found


def _pattern_problem(text: str, pointer: str) -> tuple[Code, Problem] | None:
    """Return the finding on a pattern that is malformed, undecidable or slow."""
    shown = f"the pattern {text[:80]!r}"
    if not is_pattern(text):
        return PATTERN, Problem(
            pointer,
            f"{shown} is no regular expression",
            "write it as ECMA-262 does; until then calls that it checks are refused",
        )
    if (reason := undecided_reason(text)) is not None:
        return UNDECIDED, Problem(
            pointer,
            f"{shown} decides on nothing in bounded time: {reason}",
            "write a simpler one, or limits such as maxLength; until then calls that it checks "
            "are refused",
        )
    if (reason := detour_reason(text)) is not None:
        return DETOUR, Problem(
            pointer,
            f"{shown} may take far longer than one pass over the text: {reason}",
            "write it without look-around, back references and repeated repetitions: ^a+$ for "
            "^(a+)+$",
        )
    return None
