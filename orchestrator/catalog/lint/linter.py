"""All rules over all tools of a set of documents."""

from collections.abc import Iterable, Mapping

from orchestrator.catalog.lint import (
    contract_rules,
    document_rules,
    money_rules,
    outcome_rules,
    price_rules,
    rollback_rules,
    schema_rules,
    shape_rules,
    wording_rules,
)
from orchestrator.catalog.lint.finding import Code, Finding, Rule
from orchestrator.catalog.lint.keyword_values import PREFIXES, operation_keywords
from orchestrator.catalog.lint.subject import Subject, subjects
from orchestrator.catalog.operations import Operation, check_document, operations
from orchestrator.catalog.overlay import IdleAction
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import openapi_version
from orchestrator.json_schema.pointer import parse_pointer

_MODULES = (
    contract_rules,
    document_rules,
    money_rules,
    outcome_rules,
    price_rules,
    rollback_rules,
    schema_rules,
    shape_rules,
    wording_rules,
)
"""Every rule that is written in one of these is applied."""

CODES: tuple[Code, ...] = tuple(
    sorted(
        {code for module in _MODULES for code in vars(module).values() if isinstance(code, Code)},
        key=lambda code: code.code,
    )
)
"""Every code there is, in order."""
RULES: tuple[Rule, ...] = tuple(code for code in CODES if isinstance(code, Rule))
"""Rules on single tools."""


def lint(documents: Mapping[str, JsonObject], *, idle: Iterable[IdleAction] = ()) -> list[Finding]:
    """What is wrong with the tools of these documents, in order of place.

    Operations that are not exposed as tools are not examined. The documents are parsed, by name,
    with overlays applied: `load_documents` gives them; `idle` actions of those changed nothing.
    """
    findings = [document_rules.idle_finding(action) for action in idle]
    names: dict[str, list[Subject]] = {}
    for document, content in documents.items():
        root = DocumentNode.of(document, content)
        try:
            check_document(root)
        except DocumentInvalid as fault:
            findings.append(document_rules.unreadable(fault))
            continue
        findings += document_rules.document_findings(root, content)
        exposed, faults = _exposed(root)
        findings += faults
        is_3_1 = openapi_version(content) != (3, 0)
        findings += schema_rules.schema_findings(document, exposed, is_3_1=is_3_1)
        for subject in subjects(exposed):
            findings += _tool_findings(subject)
            names.setdefault(subject.operation.operation_id or "", []).append(subject)
    findings += document_rules.repeated_names(names)
    return sorted(set(findings), key=_place)


def _place(finding: Finding) -> tuple[object, ...]:
    """By document, then by pointer, elements of lists by their number, then by code."""
    steps = tuple(
        (0, int(step), "") if step.isascii() and step.isdigit() else (1, 0, step)
        for step in parse_pointer(finding.pointer)
    )
    return finding.document, steps, finding.code, finding.message, finding.mend


def has_errors(findings: list[Finding]) -> bool:
    """Whether any finding is an error."""
    return any(finding.severity == "error" for finding in findings)


def _tool_findings(subject: Subject) -> list[Finding]:
    findings = [finding for rule in RULES for finding in _applied(rule, subject)]
    compiles, valid = shape_rules.compiles.code, contract_rules.valid_values.code
    better = {f.pointer for f in findings if f.code != compiles and f.severity == "error"}
    breached = [breach.pointer for breach in subject.breaches]
    # Where a rule says what is wrong, the compiler's own words on it would only repeat that; and
    # of a value that is none of its keyword's, no other rule knows anything better.
    return [
        f
        for f in findings
        if not (f.code == compiles and f.pointer in better)
        and not (f.code != valid and _is_about(f.pointer, breached))
    ]


def _is_about(pointer: str, others: Iterable[str]) -> bool:
    """Whether it is one of these places, around or inside of one; an operation is around none."""
    is_keyword = pointer.rpartition("/")[2].startswith(PREFIXES)
    return any(
        f"{pointer}/".startswith(f"{other}/") or (is_keyword and other.startswith(f"{pointer}/"))
        for other in others
    )


def _applied(rule: Rule, subject: Subject) -> list[Finding]:
    try:
        return list(rule.findings(subject))
    except DocumentInvalid as fault:
        # A rule reads further than the compiler does, and may be the first to meet a wrong shape.
        return [document_rules.unreadable(fault)]


def _exposed(root: DocumentNode) -> tuple[list[Operation], list[Finding]]:
    """The operations that are tools, and what kept us from seeing others."""
    found: list[Operation] = []
    faults: list[Finding] = []

    def unread(_: str, fault: DocumentInvalid) -> None:
        faults.append(document_rules.unreadable(fault))

    try:
        for operation in operations(root, unread):
            try:
                if operation.is_tool:
                    found.append(operation)
            except DocumentInvalid:
                # All that is known of it: what it has in place of true or false.
                faults += [
                    contract_rules.valid_values.finding(
                        root.document, contract_rules.breached(breach, f"on {operation.label}")
                    )
                    for breach in operation_keywords().breaches(operation.node)
                    if breach.keyword == "x-orchet-tool"
                ]
    except DocumentInvalid as fault:
        faults.append(document_rules.unreadable(fault))
    return found, faults
