"""Rules on whole documents, and on what lies between them: overlays and names."""

from collections.abc import Iterator, Mapping
from itertools import islice

from orchestrator.catalog.lint import contract_rules
from orchestrator.catalog.lint.finding import MOST_FINDINGS, Code, Finding, Problem, shortened
from orchestrator.catalog.lint.openapi_schema import openapi_breaches
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.overlay import IdleAction
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode

INVALID = Code("ORC001", "error", "A document is valid OpenAPI")
IDLE = Code("ORC003", "warning", "An action of an overlay changes something")
TAKEN = Code("ORC011", "error", "An operationId is unique")


def invalid(document: str, pointer: str, reason: str) -> Finding:
    """ORC001 at one place."""
    remedy = "make it what the OpenAPI specification allows here"
    return INVALID.finding(document, Problem(pointer, reason, remedy))


def unreadable(fault: DocumentInvalid) -> Finding:
    """ORC001 of what keeps us from reading on."""
    return invalid(fault.document, fault.pointer, fault.reason)


def document_findings(root: DocumentNode, content: JsonObject) -> Iterator[Finding]:
    """ORC001, and ORC030 and ORC036 beside the tools."""
    document = root.document
    try:
        for pointer, reason in islice(openapi_breaches(content), MOST_FINDINGS):
            yield invalid(document, pointer, shortened(reason))
        for problem in contract_rules.misplaced_keywords(root):
            yield contract_rules.known_keywords.finding(document, problem)
        for problem in contract_rules.valid_document_values(root):
            yield contract_rules.valid_values.finding(document, problem)
    except DocumentInvalid as fault:
        yield unreadable(fault)


def idle_finding(action: IdleAction) -> Finding:
    """ORC003: an action of an overlay selects something."""
    remedy = "correct the target, or remove the action if the document has changed for good"
    return IDLE.finding(action.overlay, Problem(action.pointer, action.reason, remedy))


def repeated_names(names: Mapping[str, list[Subject]]) -> Iterator[Finding]:
    """ORC011: no two tools have one operationId, in one document or in several."""
    for name, holders in names.items():
        first, others = holders[0], holders[1:] if name else []
        for subject in others:
            problem = Problem(
                subject.pointer_to("operationId"),
                f"the operationId {name!r} is taken by a tool of "
                f"{first.operation.document}, {first.operation.method} {first.operation.path}",
                "choose another: the name of a tool is unique in the catalog",
            )
            yield TAKEN.finding(subject.operation.document, problem)
