"""All rules over all tools of a set of documents."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from orchestrator.catalog.lint import contract_rules, rollback_rules, shape_rules, wording_rules
from orchestrator.catalog.lint.finding import Code, Finding, Problem, Rule
from orchestrator.catalog.lint.keyword_values import PREFIXES, operation_breaches
from orchestrator.catalog.lint.openapi_schema import openapi_breaches
from orchestrator.catalog.lint.schema_rules import schema_problems
from orchestrator.catalog.lint.subject import Subject, subjects
from orchestrator.catalog.operations import Operation, check_version, operations
from orchestrator.catalog.overlay import IdleAction
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.pointer import parse_pointer

_MOST_PER_DOCUMENT = 50
"""Breaches of one kind that are reported: one mistake high up can cause thousands."""


def _compiles(subject: Subject) -> Iterator[Problem]:
    """ORC002: the operation compiles to a tool."""
    if subject.fault is not None:
        yield Problem(
            subject.fault.pointer,
            subject.fault.reason,
            "correct this place; the rest of the tool was not examined",
        )


RULES: tuple[Rule, ...] = (
    Rule("ORC002", "error", "A tool compiles", _compiles),
    Rule("ORC010", "error", "A tool has a usable operationId", wording_rules.usable_name),
    Rule("ORC012", "error", "A tool has a summary", wording_rules.has_summary),
    Rule("ORC013", "error", "A tool is described", wording_rules.has_description),
    Rule("ORC014", "warning", "Words are plain", wording_rules.plain_language),
    Rule("ORC015", "note", "A description tells its scope", wording_rules.explicit_scope),
    Rule("ORC020", "error", "The input is an object", shape_rules.object_shaped),
    Rule("ORC021", "warning", "Inputs state their limits", shape_rules.constrained_inputs),
    Rule("ORC022", "warning", "Inputs are described", shape_rules.described_inputs),
    Rule("ORC023", "warning", "A needed body is required", shape_rules.body_is_required),
    Rule("ORC024", "error", "Success is structured JSON", shape_rules.structured_answer),
    Rule("ORC030", "warning", "Keywords are known", contract_rules.known_keywords),
    Rule("ORC031", "error", "Confirmation is declared", contract_rules.declared_confirmation),
    Rule("ORC032", "error", "The card type is known", contract_rules.known_card_type),
    Rule("ORC033", "error", "Personal fields are inputs", contract_rules.pii_fields_exist),
    Rule("ORC034", "error", "Credentials resolve", contract_rules.credentials_resolve),
    Rule("ORC035", "error", "There is a server to call", contract_rules.absolute_server),
    Rule("ORC036", "error", "Values are what their keywords take", contract_rules.valid_values),
    Rule("ORC040", "error", "A side effect can be undone", rollback_rules.declares_cancel),
    Rule("ORC041", "error", "The tools of a pair are there", rollback_rules.cancel_exists),
    Rule("ORC042", "error", "The ends of a pair agree", rollback_rules.pair_agrees),
    Rule("ORC043", "error", "A cancel never asks", rollback_rules.cancel_never_asks),
    Rule("ORC044", "error", "A cancel can be filled", rollback_rules.cancel_can_be_filled),
    Rule("ORC045", "error", "Arguments are inputs", rollback_rules.args_are_inputs),
    Rule(
        "ORC046", "error", "Expressions find something", rollback_rules.expressions_find_something
    ),
    Rule("ORC047", "error", "A lost answer can be undone", rollback_rules.survives_ambiguity),
    Rule("ORC048", "error", "A probe reads the request", rollback_rules.probe_reads_request),
    Rule("ORC049", "error", "A probe only reads", rollback_rules.probe_only_reads),
    Rule("ORC050", "note", "A call can be repeated", rollback_rules.takes_idempotency_key),
    Rule(
        "ORC051", "warning", "Settings stand where they count", rollback_rules.settings_need_cancels
    ),
    Rule("ORC052", "warning", "A reference is the caller's own", rollback_rules.reference_is_own),
    Rule(
        "ORC053", "warning", "A card's layout shows what is there", contract_rules.layout_has_facts
    ),
)
"""Rules on single tools."""

_INVALID = Code("ORC001", "error", "A document is valid OpenAPI")
_IDLE = Code("ORC003", "warning", "An action of an overlay changes something")
_PATTERN = Code("ORC025", "error", "Patterns are regular expressions")
_ENDLESS = Code("ORC026", "error", "Schemas come to an end")
_TAKEN = Code("ORC011", "error", "An operationId is unique")
CODES: tuple[Code, ...] = tuple(
    sorted((*RULES, _INVALID, _IDLE, _PATTERN, _ENDLESS, _TAKEN), key=lambda code: code.code)
)
"""Every code there is, in order."""
_UNKNOWN, _BREACHED = (
    next(rule for rule in RULES if rule.code == code) for code in ("ORC030", "ORC036")
)


def lint(documents: Mapping[str, JsonObject], *, idle: Iterable[IdleAction] = ()) -> list[Finding]:
    """What is wrong with the tools of these documents, in order of place.

    Operations that are not exposed as tools are not examined.

    Args:
        documents: parsed, by name, overlays applied; `catalog.load_documents` gives them.
        idle: actions of the overlays that changed nothing.
    """
    findings = [_idle_finding(action) for action in idle]
    names: dict[str, list[Subject]] = {}
    for document, content in documents.items():
        findings += _document_findings(document, content)
        exposed, faults = _exposed(document, content)
        findings += faults
        findings += _findings_on_schemas(document, exposed, is_3_1=_is_3_1(content))
        for subject in subjects(exposed):
            findings += _tool_findings(subject)
            names.setdefault(subject.operation.operation_id or "", []).append(subject)
    findings += _repeated_names(names)
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
    better = {f.pointer for f in findings if f.code != "ORC002" and f.severity == "error"}
    breached = [breach.pointer for breach in subject.breaches]
    # Where a rule says what is wrong, the compiler's own words on it would only repeat that; and
    # of a value that is none of its keyword's, no other rule knows anything better.
    return [
        f
        for f in findings
        if not (f.code == "ORC002" and f.pointer in better)
        and not (f.code != _BREACHED.code and _is_about(f.pointer, breached))
    ]


def _is_about(pointer: str, others: Iterable[str]) -> bool:
    """Whether it is one of these places, around or inside of one; an operation is around none."""
    return any(
        pointer == other or pointer.startswith(f"{other}/") or _is_keyword_of(pointer, other)
        for other in others
    )


def _is_keyword_of(pointer: str, inside: str) -> bool:
    is_keyword = pointer.rpartition("/")[2].startswith(PREFIXES)
    return is_keyword and inside.startswith(f"{pointer}/")


def _applied(rule: Rule, subject: Subject) -> list[Finding]:
    try:
        return list(rule.findings(subject))
    except DocumentInvalid as fault:
        # A rule reads further than the compiler does, and may be the first to meet a wrong shape.
        return [_document_finding(fault.document, fault.pointer, fault.reason)]


def _document_findings(document: str, content: JsonObject) -> list[Finding]:
    """ORC001: the document is one that the OpenAPI schema allows."""
    try:
        check_version(DocumentNode.of(document, content))
    except DocumentInvalid as fault:
        return [_document_finding(fault.document, fault.pointer, fault.reason)]
    return [
        *_schema_findings(document, content),
        *_keyword_findings(document, DocumentNode.of(document, content)),
    ]


def _keyword_findings(document: str, root: DocumentNode) -> list[Finding]:
    """ORC030 and ORC036 beside the tools."""
    try:
        return [
            *(_UNKNOWN.finding(document, p) for p in contract_rules.misplaced_keywords(root)),
            *(_BREACHED.finding(document, p) for p in contract_rules.valid_document_values(root)),
        ]
    except DocumentInvalid as fault:
        return [_document_finding(fault.document, fault.pointer, fault.reason)]


def _schema_findings(document: str, content: JsonObject) -> list[Finding]:
    return [
        _document_finding(document, pointer, _shortened(reason))
        for pointer, reason in islice(openapi_breaches(content), _MOST_PER_DOCUMENT)
    ]


def _document_finding(document: str, pointer: str, reason: str) -> Finding:
    mend = "make it what the OpenAPI specification allows here"
    return _INVALID.finding(document, Problem(pointer, reason, mend))


def _idle_finding(action: IdleAction) -> Finding:
    """ORC003: an action of an overlay selects something."""
    mend = "correct the target, or remove the action if the document has changed for good"
    return _IDLE.finding(action.overlay, Problem(action.pointer, action.reason, mend))


def _shortened(text: str, most: int = 240) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _is_3_1(content: JsonObject) -> bool:
    return str(content.get("openapi")).startswith("3.1.")


def _findings_on_schemas(document: str, exposed: list[Operation], *, is_3_1: bool) -> list[Finding]:
    """ORC001, ORC025 and ORC026 on the schemas that the tools of a document use."""
    codes = {code.code: code for code in (_INVALID, _PATTERN, _ENDLESS)}
    found: Counter[str] = Counter()
    findings: list[Finding] = []
    for code, problem in schema_problems(exposed, is_3_1=is_3_1):
        found[code] += 1
        if found[code] <= _MOST_PER_DOCUMENT:
            told = replace(problem, message=_shortened(problem.message))
            findings.append(codes[code].finding(document, told))
    return findings


def _exposed(document: str, content: JsonObject) -> tuple[list[Operation], list[Finding]]:
    """The operations that are tools, and what kept us from seeing others."""
    found: list[Operation] = []
    faults: list[Finding] = []
    try:
        for operation in operations(DocumentNode.of(document, content)):
            try:
                if operation.is_tool:
                    found.append(operation)
            except DocumentInvalid:
                faults += _flag_findings(operation)
    except DocumentInvalid as fault:
        faults.append(_document_finding(document, fault.pointer, fault.reason))
    return found, faults


def _flag_findings(operation: Operation) -> list[Finding]:
    """ORC036 of an x-orchet-tool that is neither true nor false: all that is known of it."""
    name = operation.operation_id or f"{operation.method} {operation.path}"
    return [
        _BREACHED.finding(operation.document, contract_rules.breached(breach, f"on {name}"))
        for breach in operation_breaches(operation)
        if breach.keyword == "x-orchet-tool"
    ]


def _repeated_names(names: Mapping[str, list[Subject]]) -> Iterator[Finding]:
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
            yield _TAKEN.finding(subject.operation.document, problem)
