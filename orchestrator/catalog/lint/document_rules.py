"""Rules on whole documents, on overlays, and on names that tools share."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.lint import contract_rules
from orchestrator.catalog.lint.finding import (
    MOST_FINDINGS,
    Code,
    Finding,
    Problem,
    Raised,
    shortened,
)
from orchestrator.catalog.lint.published_schemas import openapi_breaches
from orchestrator.catalog.lint.subject import Subject, Uses
from orchestrator.catalog.operations import METHODS, UnreadFile
from orchestrator.catalog.overlay import IdleAction
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import (
    follow,
    format_pointer,
    parse_pointer,
    reference_of,
)

INVALID = Code("ORC001", "error", "A document is valid OpenAPI")
IDLE = Code("ORC003", "warning", "An action of an overlay changes something")
IGNORED_FIELD = Code("ORC005", "note", "Fields are OpenAPI's")
UNUSED = Code("ORC004", "warning", "Unused parts are valid OpenAPI")
TAKEN = Code("ORC011", "warning", "An operationId is unique")
_PASSED_OVER: Final = frozenset({(), ("info",)})
_REMEDY = "make it what the OpenAPI specification allows here"


def unreadable(fault: DocumentInvalid) -> Raised:
    """Return ORC001 for a fault that stops the reading."""
    problem = Problem(fault.pointer, fault.reason, fault.remedy or _REMEDY)
    return Raised(INVALID, fault.document, problem)


def document_findings(root: DocumentNode, content: JsonObject, uses: Uses) -> Iterator[Raised]:
    """Yield ORC001 and ORC004, and ORC030 and ORC036 outside operations."""
    document = root.document
    try:
        meant = referred_operations(root)
        for code, problem in _breaches(spelled_out(content, meant), uses):
            yield Raised(code, document, problem)
        for path, method in meant:
            yield Raised(UNUSED, document, _referred(path, method))
        for problem in contract_rules.misplaced_keywords(root):
            yield Raised(contract_rules.known_keywords, document, problem)
        for problem in contract_rules.valid_document_values(root):
            yield Raised(contract_rules.valid_values, document, problem)
    except DocumentInvalid as fault:
        yield unreadable(fault)


def _referred(path: str, method: str) -> Problem:
    return Problem(
        format_pointer(("paths", path, method)),
        f"the operation {method.upper()} {path} is a reference, which other programs do not follow",
        "write the operation there, or let the path be the reference",
        cause="operations that are references",
    )


def _breaches(content: JsonObject, uses: Uses) -> Iterator[tuple[Code, Problem]]:
    """Yield at most MOST_FINDINGS breaches per code; one mistake high up can cause thousands."""
    found: Counter[Code] = Counter()
    for pointer, reason, is_extra in openapi_breaches(content):
        path = parse_pointer(pointer)
        code = INVALID if uses.of(path) else UNUSED
        # Programs pass over what stands there, ours too.
        if is_extra and (path in _PASSED_OVER or reference_of(_at(content, path)) is not None):
            code = IGNORED_FIELD
        found[code] += 1
        if found[code] <= MOST_FINDINGS:
            yield code, Problem(pointer, shortened(reason), _REMEDY)
        elif min(found[INVALID], found[UNUSED]) > MOST_FINDINGS:
            return


def _at(content: JsonObject, path: tuple[str, ...]) -> JsonValue:
    try:
        return follow(content, path)
    except (LookupError, ValueError):
        return None


def unread_finding(file: UnreadFile) -> Finding:
    """Return ORC001 for an unreadable file of a folder."""
    return INVALID.finding(file.document, Problem("", file.reason, file.remedy))


def idle_finding(action: IdleAction) -> Finding:
    """Return ORC003 for an overlay action that changes nothing."""
    remedy = "correct the target, or remove the action if the document has changed for good"
    return IDLE.finding(action.overlay, Problem(action.pointer, action.reason, remedy))


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
                "choose another: the name of a tool is unique in the catalog",
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
