"""Findings as text, JSON and SARIF."""

import json
from pathlib import Path
from typing import Any

from orchestrator.catalog.lint import CODES, Finding, Suppression
from orchestrator.catalog.lint.linter import as_json, as_sarif, as_text
from orchestrator.catalog.source import SourceLine

ERROR = Finding(
    code="ORC041",
    severity="error",
    document="shop",
    pointer="/paths/~1orders/post/x-orchet-cancels",
    message="it names nobody",
    fix="name somebody",
)
NOTE = Finding(code="ORC015", severity="note", document="shop", pointer="", message="m", fix="n")
FINDINGS = [ERROR, NOTE]
PLACES = {("shop", ERROR.pointer): SourceLine("apis/my shop.yaml", 12)}


def run_of(found: list[Finding], places: Any = None) -> Any:
    """The single run of a SARIF log."""
    (run,) = json.loads(as_sarif(found, places or {}))["runs"]
    return run


def test_text_counts_by_code_then_lists_findings_with_their_fix() -> None:
    """Errors come first; a finding about several operations gives their number."""
    many = NOTE.model_copy(update={"operations": 658})
    lines = as_text([many, ERROR]).splitlines()

    assert [line.split()[:3] for line in lines[:2]] == [
        ["ORC041", "1", "error"],
        ["ORC015", "1", "note"],
    ]
    assert lines[1].endswith("(658 operations)")
    assert lines[3] == "shop/paths/~1orders/post/x-orchet-cancels: error ORC041: it names nobody"
    assert lines[4].strip() == "name somebody"
    assert lines[-1] == "1 error, 0 warnings, 1 note"
    placed = as_text(FINDINGS, PLACES).splitlines()
    assert placed[3].startswith("apis/my shop.yaml:12: shop/paths/~1orders/post/x-orchet-cancels: ")
    assert placed[5].startswith("shop: note")


def test_text_shows_the_first_findings_of_each_code() -> None:
    """A rare finding is not lost among hundreds of another code."""
    many = [ERROR.model_copy(update={"pointer": f"/p/{n}"}) for n in range(9)]

    short, whole = as_text([*many, NOTE]), as_text([*many, NOTE], most=None)

    assert short.count("it names nobody") == 5
    assert "ORC041: 4 more; --all shows them" in short
    assert "shop: note ORC015" in short
    assert whole.count("it names nobody") == 9


def test_suppressed_findings_are_counted_and_not_shown() -> None:
    """JSON and SARIF list them with their reason."""
    because = Suppression(kind="inSource", reason="the provider is gone")
    unsaid = NOTE.model_copy(update={"suppressed": Suppression(kind="external")})
    found = [ERROR.model_copy(update={"suppressed": because}), NOTE, unsaid]

    text, listed = as_text(found), json.loads(as_json(found))

    assert "ORC041" not in text
    assert text.endswith("0 errors, 0 warnings, 1 note (2 suppressed)")
    assert (listed["errors"], listed["suppressed"]) == (0, 2)
    assert listed["findings"][0]["suppressed"] == because.model_dump()
    assert [result.get("suppressions") for result in run_of(found)["results"]] == [
        [{"kind": "inSource", "justification": "the provider is gone"}],
        None,
        [{"kind": "external"}],
    ]


def test_json_has_every_field_the_counts_and_known_lines() -> None:
    """A finding without a known line has neither file nor line."""
    report = json.loads(as_json(FINDINGS, PLACES))
    first, second = report["findings"]

    assert (report["errors"], report["warnings"], report["notes"]) == (1, 0, 1)
    assert (first.pop("file"), first.pop("line")) == ("apis/my shop.yaml", 12)
    assert [Finding(**first), Finding(**second)] == FINDINGS


def test_sarif_results_refer_to_described_rules_and_places(tmp_path: Path) -> None:
    """A relative path stays one, escaped; an absolute one is a URI; no file, no physical place."""
    run = run_of(FINDINGS, PLACES)
    first, second = (result["locations"][0] for result in run["results"])

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(CODES)
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [
        ("ORC041", "error"),
        ("ORC015", "note"),
    ]
    assert first["logicalLocations"] == [{"fullyQualifiedName": f"shop#{ERROR.pointer}"}]
    assert first["physicalLocation"] == {
        "artifactLocation": {"uri": "apis/my%20shop.yaml"},
        "region": {"startLine": 12},
    }
    assert second.keys() == {"logicalLocations"}
    absolute = run_of([NOTE], {("shop", ""): SourceLine(str(tmp_path / "shop.yaml"))})
    physical = absolute["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": (tmp_path / "shop.yaml").as_uri()}}


def test_sarif_has_the_shape_of_2_1_0() -> None:
    """Every required property is there, and no unknown one."""
    log = json.loads(as_sarif([ERROR.model_copy(update={"code": code}) for code in CODES], PLACES))
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]

    assert (log.keys(), log["version"]) == ({"$schema", "version", "runs"}, "2.1.0")
    assert (run.keys(), run["tool"]["driver"].keys()) == ({"tool", "results"}, {"name", "rules"})
    described = {"id", "shortDescription", "help", "defaultConfiguration"}
    assert all(rule.keys() == described for rule in rules)
    assert {rule["id"]: rule["defaultConfiguration"]["level"] for rule in rules} == {
        name: code.severity for name, code in CODES.items()
    }
    assert len(run["results"]) == len(CODES)
    assert all(r.keys() == {"ruleId", "level", "message", "locations"} for r in run["results"])
