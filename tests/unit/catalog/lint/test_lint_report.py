"""Findings written out."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.lint import CODES, Finding, Suppression
from orchestrator.catalog.lint.lint_report import as_json, as_sarif, as_text
from orchestrator.catalog.source_lines import SourceLine

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

PLACES = {("shop", FINDINGS[0].pointer): SourceLine("apis/my shop.yaml", 12)}


def test_text_says_where_what_and_how_to_mend_it() -> None:
    """Two lines for each finding, after those that count, and one that counts at the end."""
    lines = as_text(FINDINGS).splitlines()

    assert lines[3] == ("shop/paths/~1orders/post/x-orchet-cancels: error ORC041: it names nobody")
    assert lines[4].strip() == "name somebody"
    assert lines[-1] == "1 error, 0 warnings, 1 note"


def test_text_begins_with_the_line_of_a_file_where_it_is_known() -> None:
    """Editors and terminals make a link of it."""
    lines = as_text(FINDINGS, PLACES).splitlines()

    assert lines[3].startswith("apis/my shop.yaml:12: shop/paths/~1orders/post/x-orchet-cancels: ")
    assert lines[5].startswith("shop: note")


def test_text_begins_with_a_summary_by_code() -> None:
    """Errors first; with how many tools are concerned, where one finding speaks of many."""
    many = FINDINGS[1].model_copy(update={"operations": 658})

    lines = as_text([many, FINDINGS[0]]).splitlines()

    assert [line.split() for line in lines[:3]] == [
        ["ORC041", "1", "error", "The", "tools", "of", "a", "pair", "are", "there"],
        [
            *["ORC015", "1", "note", "A", "description", "tells", "its", "scope"],
            "(658",
            "operations)",
        ],
        [],
    ]


def test_text_shows_the_first_of_each_code_and_says_how_to_see_the_others() -> None:
    """A rare finding is not lost among hundreds of another code."""
    many = [FINDINGS[0].model_copy(update={"pointer": f"/p/{n}"}) for n in range(9)]

    short, whole = as_text([*many, FINDINGS[1]]), as_text([*many, FINDINGS[1]], most=None)

    assert short.count("it names nobody") == 5
    assert "ORC041: 4 more; --all shows them" in short
    assert "shop: note ORC015" in short
    assert whole.count("it names nobody") == 9
    assert "--all" not in whole


def test_what_is_suppressed_is_counted_and_not_shown() -> None:
    """Programs are given it, with its reason."""
    because = Suppression(kind="inSource", reason="the provider is gone")
    found = [FINDINGS[0].model_copy(update={"suppressed": because}), FINDINGS[1]]

    text, listed = as_text(found), json.loads(as_json(found))
    results = json.loads(as_sarif(found))["runs"][0]["results"]

    assert "ORC041" not in text
    assert text.endswith("0 errors, 0 warnings, 1 note (1 suppressed)")
    assert (listed["errors"], listed["suppressed"]) == (0, 1)
    assert listed["findings"][0]["suppressed"] == because.model_dump()
    assert [result.get("suppressions") for result in results] == [
        [{"kind": "inSource", "justification": "the provider is gone"}],
        None,
    ]


def test_sarif_gives_no_reason_where_there_is_none() -> None:
    """A finding suppressed on the command line has no justification."""
    found = FINDINGS[0].model_copy(update={"suppressed": Suppression(kind="external")})

    (result,) = json.loads(as_sarif([found]))["runs"][0]["results"]

    assert result["suppressions"] == [{"kind": "external"}]


def test_text_of_nothing_says_so() -> None:
    """A clean run is not silent."""
    assert as_text([]) == "nothing to mend"


def test_json_carries_every_field_and_the_counts() -> None:
    """Programs read the same fields as people."""
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


def test_json_names_file_and_line_where_they_are_known() -> None:
    """The others have neither."""
    first, second = json.loads(as_json(FINDINGS, PLACES))["findings"]

    assert (first["file"], first["line"]) == ("apis/my shop.yaml", 12)
    assert second.keys() == {
        *{"code", "severity", "document", "pointer", "message", "mend", "operations"}
    }


def test_sarif_names_the_line_of_a_file_as_a_uri() -> None:
    """A relative path stays relative and is escaped; a place without a file is logical only."""
    (run,) = json.loads(as_sarif(FINDINGS, PLACES))["runs"]
    first, second = (result["locations"][0] for result in run["results"])

    assert first["physicalLocation"] == {
        "artifactLocation": {"uri": "apis/my%20shop.yaml"},
        "region": {"startLine": 12},
    }
    assert second.keys() == {"logicalLocations"}


def test_sarif_makes_a_file_uri_of_an_absolute_path(tmp_path: Path) -> None:
    """The region is missing where the line is unknown."""
    place = SourceLine(str(tmp_path / "shop.yaml"))
    (run,) = json.loads(as_sarif(FINDINGS, {("shop", ""): place}))["runs"]

    physical = run["results"][1]["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": (tmp_path / "shop.yaml").as_uri()}}


def only(value: Any, wanted: dict[str, Any]) -> None:
    """The object has these keys, each of this type, and no others."""
    assert value.keys() == wanted.keys()
    for key, kind in wanted.items():
        assert isinstance(value[key], kind), key


def test_sarif_has_the_shape_that_2_1_0_asks_for() -> None:
    """Every property that the format requires, of its type, and none that it does not know."""
    log = json.loads(as_sarif(FINDINGS, PLACES))

    only(log, {"$schema": str, "version": str, "runs": list})
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    only(run, {"tool": dict, "results": list})
    only(run["tool"], {"driver": dict})
    only(run["tool"]["driver"], {"name": str, "rules": list})
    for rule in run["tool"]["driver"]["rules"]:
        texts = ("shortDescription", "fullDescription", "help")
        only(rule, {"id": str, **dict.fromkeys(texts, dict), "defaultConfiguration": dict})
        for text in texts:
            only(rule[text], {"text": str})
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in run["results"]:
        only(result, {"ruleId": str, "level": str, "message": dict, "locations": list})
        only(result["message"], {"text": str})
        for logical in result["locations"][0]["logicalLocations"]:
            only(logical, {"fullyQualifiedName": str})


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.code)
def test_sarif_describes_every_code(code: Any) -> None:
    """With its title and its severity as the level."""
    (run,) = json.loads(as_sarif([]))["runs"]
    (rule,) = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == code.code]

    assert rule["shortDescription"]["text"] == code.title
    assert rule["defaultConfiguration"]["level"] == code.severity
