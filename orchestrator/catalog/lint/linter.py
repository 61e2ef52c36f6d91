"""The linter: all rules on all tools of a set of documents, and reports as text, JSON and SARIF."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

from orchestrator.catalog.contract import PREFIXES, operation_keywords
from orchestrator.catalog.lint import contract_rules, document_rules, rollback_rules, shape_rules
from orchestrator.catalog.lint.finding import (
    CODES,
    Finding,
    Ignores,
    Problem,
    Raised,
    Rule,
    Severity,
    merged,
    plain_finding,
    steps_of,
)
from orchestrator.catalog.lint.subject import Subject, Uses, subjects
from orchestrator.catalog.operations import Operation, UnreadFile, check_document, operations
from orchestrator.catalog.overlay import IdleAction
from orchestrator.catalog.source import SourceLine
from orchestrator.core.errors import DocumentInvalid, UsageError
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import number_of, visible, visible_json
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import openapi_version

_MODULES = (contract_rules, document_rules, rollback_rules, shape_rules)
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
    raised += shape_rules.look_alikes(names)
    findings = merged(raised, uses, ignores, frozenset(ignored))
    for action in idle:
        problem = Problem(action.pointer, action.reason)
        findings.append(plain_finding(document_rules.IDLE, action.overlay, problem))
    for file in unread:
        problem = Problem("", file.reason, file.remedy)
        findings.append(plain_finding(document_rules.INVALID, file.document, problem))
    return sorted(
        findings, key=lambda f: (f.document, steps_of(f.pointer), f.code, f.message, f.fix)
    )


def check_ignored(codes: Iterable[str]) -> None:
    """Refuse unknown codes, and codes that cannot be suppressed.

    Raises:
        UsageError: one is unknown, or cannot be suppressed.
    """
    for asked in codes:
        if (code := CODES.get(asked)) is None:
            raise UsageError(f"there is no code {asked!r}; docs/contract.md lists the codes")
        if code.lasting:
            raise UsageError(f"{asked} cannot be ignored: rollback would not work as declared")


def has_errors(findings: list[Finding]) -> bool:
    """Return True if any finding is an error that is not suppressed."""
    return any(f.severity == "error" and f.suppressed is None for f in findings)


def _tool_findings(subject: Subject) -> list[Raised]:
    document = subject.operation.document
    findings: list[Raised] = []
    for rule in RULES:
        try:
            problems = list(rule.check(subject))
            findings += [Raised(rule.code, document, problem, subject) for problem in problems]
        except DocumentInvalid as fault:
            # A rule reads more than the compiler, and may be the first to reach a malformed part.
            findings.append(document_rules.unreadable(fault))
    compiles, valid = shape_rules.compiles.code, contract_rules.valid_values.code
    better = {
        f.problem.pointer
        for f in findings
        if f.code != compiles and CODES[f.code].severity == "error"
    }
    breached = [breach.pointer for breach in subject.breaches]

    def is_about_breach(pointer: str) -> bool:
        is_keyword = pointer.rpartition("/")[2].startswith(PREFIXES)
        return any(
            f"{pointer}/".startswith(f"{one}/") or (is_keyword and one.startswith(f"{pointer}/"))
            for one in breached
        )

    # A rule explains a fault better than the compiler does, so the compiler's finding at its place
    # is dropped; a value that breaks its keyword's schema is reported only as such a breach.
    return [
        f
        for f in findings
        if not (f.code == compiles and f.problem.pointer in better)
        and not (f.code != valid and is_about_breach(f.problem.pointer))
    ]


def _exposed(root: DocumentNode) -> tuple[list[Operation], list[Raised]]:
    """Return the operations that are tools, and the faults that hide others."""
    found: list[Operation] = []
    faults: list[Raised] = []

    try:
        for operation in operations(
            root, lambda _, fault: faults.append(document_rules.unreadable(fault))
        ):
            try:
                if operation.is_tool:
                    found.append(operation)
            except DocumentInvalid:
                # The flag is neither true nor false; nothing else of the operation is examined.
                for breach in operation_keywords().breaches(operation.node):
                    if breach.keyword == "x-orchet-tool":
                        problem = contract_rules.breached(breach, f"on {operation.label}")
                        code = contract_rules.valid_values.code
                        faults.append(Raised(code, root.document, problem))
    except DocumentInvalid as fault:
        faults.append(document_rules.unreadable(fault))
    return found, faults


SourceLines = Mapping[tuple[str, str], SourceLine]
"""Source lines of findings by document and pointer, as far as known."""

_SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
_MOST_SHOWN = 5
"""Findings shown per code: fixing the first often explains the others."""
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NOWHERE: SourceLines = {}


def as_text(
    findings: Sequence[Finding], sources: SourceLines = _NOWHERE, *, most: int | None = _MOST_SHOWN
) -> str:
    """Return a count for each code, then the findings of each, then a count for each severity.

    Args:
        findings: suppressed ones are only counted.
        sources: their places in files.
        most: findings shown per code; all of them when None.
    """
    standing = [finding for finding in findings if finding.suppressed is None]
    by_code: dict[str, list[Finding]] = {}
    for finding in sorted(standing, key=lambda f: (_SEVERITIES.index(f.severity), f.code)):
        by_code.setdefault(finding.code, []).append(finding)
    lines: list[str] = []
    for code, found in by_code.items():
        tools, severity = sum(one.operations for one in found), found[0].severity
        concerns = f" ({tools} operations)" if tools > len(found) else ""
        lines.append(f"{code}  {len(found):>5}  {severity:<7}  {CODES[code].finds}{concerns}")
    lines += [""] if standing else []
    for code, found in by_code.items():
        for one in found[:most]:
            source = sources.get((one.document, one.pointer))
            place = f"{source}: {one.document}" if source is not None else one.document
            lines.append(f"{place}{one.pointer}: {one.severity} {code}: {one.message}")
            lines.append(f"    {one.fix}")
        if most is not None and len(found) > most:
            lines.append(f"{code}: {len(found) - most} more; --all shows them")
    counts = Counter(finding.severity for finding in standing)
    total = ", ".join(number_of(counts[level], level) for level in _SEVERITIES)
    suppressed = len(findings) - len(standing)
    silenced = f" ({suppressed} suppressed)" if suppressed else ""
    lines.append((total if standing else "nothing to fix") + silenced)
    return "\n".join(map(visible, lines))


def as_json(findings: Sequence[Finding], sources: SourceLines = _NOWHERE) -> str:
    """Return {"findings": [...], "errors": n, "warnings": n, "notes": n, "suppressed": n}.

    Suppressed findings are listed with their reason, and counted separately.
    """
    counts = Counter(finding.severity for finding in findings if finding.suppressed is None)
    listed: list[JsonValue] = []
    for finding in findings:
        source = sources.get((finding.document, finding.pointer))
        known: JsonObject = {} if source is None else {"file": source.file, "line": source.line}
        listed.append({**finding.model_dump(mode="json", exclude_none=True), **known})
    report: JsonObject = {
        "findings": listed,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "suppressed": len(findings) - counts.total(),
    }
    return visible_json(json.dumps(report, indent=2, ensure_ascii=False))


def as_sarif(findings: Sequence[Finding], sources: SourceLines = _NOWHERE) -> str:
    """Return a SARIF 2.1.0 log with one run.

    A place is a logical location by JSON pointer, and a line of a file where that is known.
    """
    rules: list[JsonValue] = [
        {
            "id": name,
            "shortDescription": {"text": code.finds},
            "help": {"text": code.fix},
            "defaultConfiguration": {"level": code.severity},
        }
        for name, code in CODES.items()
    ]
    log: JsonObject = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "orchestrator tools lint", "rules": rules}},
                "results": [_sarif_result(finding, sources) for finding in findings],
            }
        ],
    }
    return visible_json(json.dumps(log, indent=2, ensure_ascii=False))


def _sarif_result(finding: Finding, sources: SourceLines) -> JsonObject:
    location: JsonObject = {
        "logicalLocations": [{"fullyQualifiedName": f"{finding.document}#{finding.pointer}"}]
    }
    if (source := sources.get((finding.document, finding.pointer))) is not None:
        path = Path(source.file)  # a relative path stays relative to the project's root
        uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
        physical: JsonObject = {"artifactLocation": {"uri": uri}}
        if source.line is not None:
            physical["region"] = {"startLine": source.line}
        location = {"physicalLocation": physical, **location}
    result: JsonObject = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": f"{finding.message}. To fix it: {finding.fix}"},
        "locations": [location],
    }
    if (said := finding.suppressed) is not None:
        justified: JsonObject = {"justification": said.reason} if said.reason else {}
        result["suppressions"] = [{"kind": said.kind, **justified}]
    return result
