"""The linter: applies all rules to all tools of a set of documents."""

from collections.abc import Iterable, Mapping

from orchestrator.catalog.contract import PREFIXES, operation_keywords
from orchestrator.catalog.lint import (
    contract_rules,
    document_rules,
    mcp_rules,
    outcome_rules,
    rollback_rules,
    shape_rules,
)
from orchestrator.catalog.lint.finding import (
    CODES,
    Finding,
    Ignores,
    Raised,
    Rule,
    merged,
    steps_of,
)
from orchestrator.catalog.lint.subject import Subject, Uses, subjects
from orchestrator.catalog.operations import Operation, UnreadFile, check_document, operations
from orchestrator.catalog.overlay import IdleAction
from orchestrator.core.errors import DocumentInvalid, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import openapi_version

_MODULES = (
    contract_rules,
    document_rules,
    mcp_rules,
    outcome_rules,
    rollback_rules,
    shape_rules,
)
"""Every rule defined in one of these modules is applied."""

_NAMED = (found for module in _MODULES for found in vars(module).values())
RULES = sorted({found for found in _NAMED if isinstance(found, Rule)}, key=lambda one: one.code)


def lint(
    documents: Mapping[str, JsonObject],
    *,
    idle: Iterable[IdleAction] = (),
    unread: Iterable[UnreadFile] = (),
    ignored: Iterable[str] = (),
) -> list[Finding]:
    """Return the findings on the tools of these documents, in order of place, one per cause.

    Operations that are not exposed as tools are not examined. The documents are parsed, by name,
    with overlays applied, as `load_documents` returns them. Findings that a document suppresses, or
    whose code is `ignored`, are marked as suppressed.

    Args:
        documents: by name.
        idle: overlay actions that changed nothing.
        unread: files next to the documents that cannot be read.
        ignored: codes to suppress.
    """
    raised: list[Raised] = []
    ignores: dict[str, Ignores] = {}
    uses: dict[str, Uses] = {}
    names: dict[str, list[Subject]] = {}
    for document, content in documents.items():
        root = DocumentNode.of(document, content)
        try:
            check_document(root)
        except DocumentInvalid as fault:
            raised.append(document_rules.unreadable(fault))
            continue
        exposed, faults = _exposed(root)
        uses[document] = used = Uses(content, exposed)
        ignores[document] = Ignores(content, used.is_examined)
        raised += document_rules.document_findings(root, content, used)
        raised += faults
        is_3_1 = openapi_version(content) != (3, 0)
        raised += document_rules.schema_findings(document, exposed, is_3_1=is_3_1)
        for subject in subjects(exposed):
            raised += _tool_findings(subject)
            names.setdefault(subject.operation.operation_id or "", []).append(subject)
    raised += document_rules.repeated_names(names)
    raised += mcp_rules.look_alikes(names)
    findings = merged(raised, uses, ignores, frozenset(ignored))
    findings += [document_rules.idle_finding(action) for action in idle]
    findings += [document_rules.unread_finding(file) for file in unread]
    return sorted(findings, key=_place)


def check_ignored(codes: Iterable[str]) -> None:
    """Refuse unknown codes, and codes that cannot be suppressed.

    Raises:
        UsageError: one is unknown, or cannot be suppressed.
    """
    for asked in codes:
        if (code := CODES.get(asked)) is None:
            raise UsageError(f"there is no code {asked!r}; docs/lint.md lists the known codes")
        if code.lasting:
            raise UsageError(f"{asked} cannot be ignored: rollback would not work as declared")


def _place(finding: Finding) -> tuple[object, ...]:
    """Return the sort key of a finding: document, pointer (list elements by number), code."""
    steps = steps_of(finding.pointer)
    return finding.document, steps, finding.code, finding.message, finding.fix


def has_errors(findings: list[Finding]) -> bool:
    """Return True if any finding is an error that is not suppressed."""
    return any(f.severity == "error" and f.suppressed is None for f in findings)


def _tool_findings(subject: Subject) -> list[Raised]:
    findings = [found for rule in RULES for found in _applied(rule, subject)]
    compiles, valid = shape_rules.compiles.code, contract_rules.valid_values.code
    better = {
        f.problem.pointer
        for f in findings
        if f.code != compiles and CODES[f.code].severity == "error"
    }
    breached = [breach.pointer for breach in subject.breaches]
    # A rule explains a fault better than the compiler does, so the compiler's finding at its place
    # is dropped; a value that breaks its keyword's schema is reported only as such a breach.
    return [
        f
        for f in findings
        if not (f.code == compiles and f.problem.pointer in better)
        and not (f.code != valid and _is_about(f.problem.pointer, breached))
    ]


def _is_about(pointer: str, others: Iterable[str]) -> bool:
    """Return True if the pointer is at or inside one of these; for keywords, also around one."""
    is_keyword = pointer.rpartition("/")[2].startswith(PREFIXES)
    return any(
        f"{pointer}/".startswith(f"{other}/") or (is_keyword and other.startswith(f"{pointer}/"))
        for other in others
    )


def _applied(rule: Rule, subject: Subject) -> list[Raised]:
    document = subject.operation.document
    try:
        return [Raised(rule.code, document, problem, subject) for problem in rule.check(subject)]
    except DocumentInvalid as fault:
        # A rule reads more than the compiler, and may be the first to reach a malformed part.
        return [document_rules.unreadable(fault)]


def _exposed(root: DocumentNode) -> tuple[list[Operation], list[Raised]]:
    """Return the operations that are tools, and the faults that hide others."""
    found: list[Operation] = []
    faults: list[Raised] = []

    def unread(_: str, fault: DocumentInvalid) -> None:
        faults.append(document_rules.unreadable(fault))

    try:
        for operation in operations(root, unread):
            try:
                if operation.is_tool:
                    found.append(operation)
            except DocumentInvalid:
                # The flag is neither true nor false; nothing else of the operation is examined.
                faults += [
                    Raised(
                        contract_rules.valid_values.code,
                        root.document,
                        contract_rules.breached(breach, f"on {operation.label}"),
                    )
                    for breach in operation_keywords().breaches(operation.node)
                    if breach.keyword == "x-orchet-tool"
                ]
    except DocumentInvalid as fault:
        faults.append(document_rules.unreadable(fault))
    return found, faults
