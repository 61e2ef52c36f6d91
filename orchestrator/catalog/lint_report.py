"""Findings of the linter written out: text, JSON, and SARIF 2.1.0 for code review tools."""

import json
from collections import Counter
from collections.abc import Sequence

from pydantic import JsonValue

from orchestrator.catalog.lint import RULES, Finding
from orchestrator.record import JsonObject

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_DOCUMENT_RULES = {
    "ORC001": "A document is valid OpenAPI",
    "ORC011": "An operationId is unique",
}


def as_text(findings: Sequence[Finding]) -> str:
    """A line for each finding and one for its mending, and the count of each severity."""
    lines: list[str] = []
    for finding in findings:
        place = f"{finding.document}{finding.pointer}"
        lines.append(f"{place}: {finding.severity} {finding.code}: {finding.message}")
        lines.append(f"    {finding.mend}")
    return "\n".join([*lines, _summary(findings)])


def as_json(findings: Sequence[Finding]) -> str:
    """One document: {"findings": [...], "errors": n, "warnings": n, "notes": n}."""
    counts = Counter(finding.severity for finding in findings)
    report: JsonObject = {
        "findings": [finding.model_dump(mode="json") for finding in findings],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
    }
    return json.dumps(report, indent=2, ensure_ascii=False)


def as_sarif(findings: Sequence[Finding]) -> str:
    """A SARIF 2.1.0 log with one run; places are logical locations, by JSON pointer."""
    log: JsonObject = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "orchestrator tools lint", "rules": _sarif_rules()}},
                "results": [_sarif_result(finding) for finding in findings],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False)


def _sarif_rules() -> list[JsonValue]:
    titles = {**_DOCUMENT_RULES, **{rule.code: rule.title for rule in RULES}}
    return [{"id": code, "shortDescription": {"text": titles[code]}} for code in sorted(titles)]


def _sarif_result(finding: Finding) -> JsonObject:
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": f"{finding.message}. To mend: {finding.mend}"},
        "locations": [
            {
                "logicalLocations": [
                    {"fullyQualifiedName": f"{finding.document}#{finding.pointer}"}
                ],
            }
        ],
    }


def _summary(findings: Sequence[Finding]) -> str:
    if not findings:
        return "nothing to mend"
    counts = Counter(finding.severity for finding in findings)
    named = [f"{counts[level]} {level}s" for level in ("error", "warning", "note")]
    return ", ".join(named)
