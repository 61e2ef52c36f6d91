"""Reports of findings: text, JSON, and SARIF 2.1.0 for code review tools."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

from orchestrator.catalog.lint import CODES, Finding, Severity
from orchestrator.catalog.source import SourceLine
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import number_of, visible, visible_json

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
    lines = [*_summary(by_code), ""] if standing else []
    for code, found in by_code.items():
        for finding in found[:most]:
            lines += _lines(finding, sources)
        if most is not None and len(found) > most:
            lines.append(f"{code}: {len(found) - most} more; --all shows them")
    lines.append(_total(standing, len(findings) - len(standing)))
    return "\n".join(map(visible, lines))


def _summary(by_code: Mapping[str, list[Finding]]) -> Iterator[str]:
    for code, found in by_code.items():
        tools = sum(finding.operations for finding in found)
        concerns = f" ({tools} operations)" if tools > len(found) else ""
        severity = found[0].severity
        yield f"{code}  {len(found):>5}  {severity:<7}  {CODES[code].finds}{concerns}"


def _lines(finding: Finding, sources: SourceLines) -> Iterator[str]:
    source = sources.get((finding.document, finding.pointer))
    document = f"{source}: {finding.document}" if source is not None else finding.document
    yield f"{document}{finding.pointer}: {finding.severity} {finding.code}: {finding.message}"
    yield f"    {finding.fix}"


def _total(standing: Sequence[Finding], suppressed: int) -> str:
    counts = Counter(finding.severity for finding in standing)
    named = ", ".join(number_of(counts[level], level) for level in _SEVERITIES)
    silenced = f" ({suppressed} suppressed)" if suppressed else ""
    return (named if standing else "nothing to fix") + silenced


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
    name = f"{finding.document}#{finding.pointer}"
    source = sources.get((finding.document, finding.pointer))
    physical: JsonObject = {} if source is None else {"physicalLocation": _sarif_location(source)}
    return {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": f"{finding.message}. To fix it: {finding.fix}"},
        "locations": [{**physical, "logicalLocations": [{"fullyQualifiedName": name}]}],
        **_sarif_suppressions(finding),
    }


def _sarif_suppressions(finding: Finding) -> JsonObject:
    if (said := finding.suppressed) is None:
        return {}
    justified: JsonObject = {"justification": said.reason} if said.reason else {}
    return {"suppressions": [{"kind": said.kind, **justified}]}


def _sarif_location(source: SourceLine) -> JsonObject:
    """Return the location; a relative path stays relative to the project's root."""
    path = Path(source.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    region: JsonObject = {} if source.line is None else {"region": {"startLine": source.line}}
    return {"artifactLocation": {"uri": uri}, **region}


def code_table() -> str:
    """Return the Markdown table of docs/lint.md; an asterisk marks codes that stay reported."""
    rows = [
        f"| {name}{'*' if code.lasting else ''} | {code.severity} | {code.finds} |"
        for name, code in CODES.items()
    ]
    return "\n".join(["| code | severity | finding |", "|---|---|---|", *rows])
