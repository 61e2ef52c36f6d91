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
ENDLESS = Code("ORC026", "error", "Schemas come to an end")
_Path = tuple[str, ...]


def schema_findings(document: str, exposed: Iterable[Operation], *, is_3_1: bool) -> list[Raised]:
    """Return ORC001, ORC025 to ORC028, ORC062 and ORC063 on the schemas that tools use.

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
