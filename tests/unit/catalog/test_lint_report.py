"""Findings written out."""

import json

from orchestrator.catalog.lint import Finding
from orchestrator.catalog.lint_report import as_json, as_sarif, as_text

FINDINGS = [
    Finding(
        code="ORC041",
        severity="error",
        document="shop",
        pointer="/paths/~1orders/post/x-orchet-cancels",
        message="it names nobody",
        mend="name somebody",
    ),
    Finding(code="ORC015", severity="note", document="shop", pointer="", message="m", mend="n"),
]


def test_text_says_where_what_and_how_to_mend_it() -> None:
    """Two lines for each finding and one that counts."""
    lines = as_text(FINDINGS).splitlines()

    assert lines[0] == ("shop/paths/~1orders/post/x-orchet-cancels: error ORC041: it names nobody")
    assert lines[1].strip() == "name somebody"
    assert lines[-1] == "1 errors, 0 warnings, 1 notes"


def test_text_of_nothing_says_so() -> None:
    """A clean run is not silent."""
    assert as_text([]) == "nothing to mend"


def test_json_carries_every_field_and_the_counts() -> None:
    """What a program reads."""
    report = json.loads(as_json(FINDINGS))

    assert (report["errors"], report["warnings"], report["notes"]) == (1, 0, 1)
    assert [Finding(**finding) for finding in report["findings"]] == FINDINGS


def test_sarif_names_rule_level_and_place() -> None:
    """Every result refers to a rule that the driver describes."""
    (run,) = json.loads(as_sarif(FINDINGS))["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}

    assert {"ORC001", "ORC011"} <= rules
    assert {result["ruleId"] for result in run["results"]} <= rules
    assert [result["level"] for result in run["results"]] == ["error", "note"]
    place = run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
    assert place == "shop#/paths/~1orders/post/x-orchet-cancels"
