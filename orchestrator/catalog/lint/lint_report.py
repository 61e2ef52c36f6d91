"""Findings of the linter written out: text, JSON, and SARIF 2.1.0 for code review tools."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from orchestrator.catalog.lint import CODES, Finding
from orchestrator.catalog.source_lines import SourceLine
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible, visible_json

SourceLines = Mapping[tuple[str, str], SourceLine]
"""Where findings stand, by document and pointer, as far as it is known."""

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NOWHERE: SourceLines = {}


def as_text(findings: Sequence[Finding], sources: SourceLines = _NOWHERE) -> str:
    """A line for each finding and one for its remedy, and the count of each severity."""
    lines: list[str] = []
    for finding in findings:
        source = sources.get((finding.document, finding.pointer))
        document = f"{source}: {finding.document}" if source is not None else finding.document
        lines.append(
            f"{document}{finding.pointer}: {finding.severity} {finding.code}: {finding.message}"
        )
        lines.append(f"    {finding.mend}")
    counts = Counter(finding.severity for finding in findings)
    named = ", ".join(f"{counts[level]} {level}s" for level in ("error", "warning", "note"))
    return "\n".join(visible(line) for line in (*lines, named if findings else "nothing to mend"))


def as_json(findings: Sequence[Finding], sources: SourceLines = _NOWHERE) -> str:
    """One document: {"findings": [...], "errors": n, "warnings": n, "notes": n}."""
    counts = Counter(finding.severity for finding in findings)
    listed: list[JsonValue] = []
    for finding in findings:
        source = sources.get((finding.document, finding.pointer))
        known: JsonObject = {} if source is None else {"file": source.file, "line": source.line}
        listed.append({**finding.model_dump(mode="json"), **known})
    report: JsonObject = {
        "findings": listed,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
    }
    return visible_json(json.dumps(report, indent=2, ensure_ascii=False))


def as_sarif(findings: Sequence[Finding], sources: SourceLines = _NOWHERE) -> str:
    """A SARIF 2.1.0 log with one run.

    A place is a logical location, by JSON pointer, and a line of a file where that is known.
    """
    rules: list[JsonValue] = [
        {
            "id": code.code,
            "shortDescription": {"text": code.title},
            "defaultConfiguration": {"level": code.severity},
        }
        for code in CODES
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
    name = f"{finding.document}#{finding.pointer}"
    source = sources.get((finding.document, finding.pointer))
    physical: JsonObject = {} if source is None else {"physicalLocation": _sarif_location(source)}
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": f"{finding.message}. To mend: {finding.mend}"},
        "locations": [{**physical, "logicalLocations": [{"fullyQualifiedName": name}]}],
    }


def _sarif_location(source: SourceLine) -> JsonObject:
    """A relative path stays relative: those who read the log know the root of the project."""
    path = Path(source.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    region: JsonObject = {} if source.line is None else {"region": {"startLine": source.line}}
    return {"artifactLocation": {"uri": uri}, **region}
