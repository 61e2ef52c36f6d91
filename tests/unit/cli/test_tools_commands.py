"""`orchestrator tools ...` and `route`: overlays everywhere, lint in all its forms, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from orchestrator.cli.output import console
from tests.commands import Ran

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Ran]

TOOL = "customer_get"
COMMANDS: dict[tuple[str, ...], Callable[[Ran], bool]] = {
    ("tools", "list"): lambda ran: [tool["name"] for tool in ran.json] == [TOOL],
    ("tools", "show", TOOL): lambda ran: bool(ran.json["path"] == "/customers/{id}"),
    ("tools", "discover", "customer"): lambda ran: bool(ran.json["matches"][0]["name"] == TOOL),
    ("route", "show me the customer 17"): lambda ran: bool(ran.json["catalog_size"] == 1),
}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_overlay_makes_tools(command: tuple[str, ...], run: Run, crm: Path, ours: Path) -> None:
    """`--overlay` beside `--specs`; without it the document has no tool."""
    ran = run(*command, "--specs", "crm.yaml", "--overlay", "ours.yaml", "--json")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert COMMANDS[command](ran)


def test_overlays_of_the_settings_belong_to_documents_of_the_settings(
    run: Run, crm: Path, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ORCHESTRATOR_OVERLAYS goes with ORCHESTRATOR_SPECS; other documents come without them."""
    monkeypatch.setenv("ORCHESTRATOR_SPECS", "crm.yaml")
    monkeypatch.setenv("ORCHESTRATOR_OVERLAYS", "ours.yaml")

    assert [tool["name"] for tool in run("tools", "list", "--json").json] == [TOOL]
    assert run("tools", "list", "--specs", "crm.yaml", "--json").json == []


def test_an_action_that_changes_nothing_is_one_line(run: Run, crm: Path, ours: Path) -> None:
    """On standard error, so that `--json` stays one document; the work goes on."""
    ours.write_text(ours.read_text().replace("/customers/{id}", "/customer/{id}"))
    ran = run("tools", "list", "--specs", "crm.yaml", "--overlay", "ours.yaml", "--json")

    assert (ran.exit_code, ran.json) == (0, [])
    assert ran.stderr.startswith("orchestrator: warning: ours.yaml at /actions/0: ")


def test_an_overlay_that_is_at_fault_is_one_line(run: Run, crm: Path, ours: Path) -> None:
    """Exit 1, for the overlay is broken; exit 2 when it is not there."""
    ours.write_text(ours.read_text().replace("1.0.0", "1.1.0"))
    broken = run("tools", "list", "--specs", "crm.yaml", "--overlay", "ours.yaml")
    missing = run("tools", "list", "--specs", "crm.yaml", "--overlay", "none.yaml")

    assert (broken.exit_code, missing.exit_code) == (1, 2)
    for ran, told in ((broken, "ours.yaml at /overlay: "), (missing, "none.yaml cannot be read")):
        (line,) = ran.stderr.splitlines()
        assert line.startswith(f"orchestrator: {told}")


def test_lint_exits_0_on_warnings_only(run: Run, crm: Path, ours: Path) -> None:
    """An overlay that has gone stale is worth a look, and breaks no build."""
    ours.write_text(ours.read_text().replace("/customers/{id}", "/customer/{id}"))
    ran = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")

    assert ran.exit_code == 0
    assert "ours.yaml:2: ours.yaml/actions/0: warning ORC003: " in ran.stdout
    assert ran.stdout.endswith("0 errors, 1 warning, 0 notes\n")


def test_lint_exits_1_on_errors_and_says_where_they_are(run: Run, crm: Path, ours: Path) -> None:
    """File and line of the document that was read, though an overlay made it a tool."""
    crm.write_text(crm.read_text().replace("https://crm.example", "/crm"))
    ran = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")
    line = crm.read_text().splitlines().index("servers:") + 1
    assert ran.exit_code == 1
    assert f"crm.yaml:{line}: crm/servers: error ORC035: " in ran.stdout


def test_lint_ignores_codes_except_those_of_rollbacks(run: Run, crm: Path, ours: Path) -> None:
    crm.write_text(crm.read_text().replace("Show a customer.", "''"))
    lint = ("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")
    heeded = run(*lint, "--ignore", "ORC012", "--ignore", "ORC021")
    lasting, unknown = run(*lint, "--ignore", "ORC040"), run(*lint, "--ignore", "ORC999")

    assert (heeded.exit_code, lasting.exit_code, unknown.exit_code) == (0, 2, 2)
    assert "(1 suppressed)" in heeded.stdout


def test_lint_shows_all_when_asked_to(run: Run, crm: Path, ours: Path) -> None:
    document = yaml.safe_load(crm.read_text())
    document["paths"]["/customers/{id}"]["get"]["parameters"] += [
        {"name": f"f{n}", "in": "query", "description": "Any.", "schema": {"type": "string"}}
        for n in range(9)
    ]
    crm.write_text(yaml.safe_dump(document))
    few = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")
    whole = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml", "--all")

    assert few.stdout.count("states no limits") == 5
    assert "ORC021: 4 more; --all shows them" in few.stdout
    assert whole.stdout.count("states no limits") == 9


def test_lint_writes_json_and_sarif_with_files(run: Run, crm: Path, ours: Path) -> None:
    """For programs: one document on standard output, the same exit code."""
    crm.write_text(crm.read_text().replace("https://crm.example", "/crm"))
    lint = ("tools", "lint", "crm.yaml", "--overlay", "ours.yaml", "--format")
    as_json, as_sarif = run(*lint, "json"), run(*lint, "sarif")

    assert (as_json.exit_code, as_sarif.exit_code) == (1, 1)
    assert [(f["code"], f["file"]) for f in as_json.json["findings"]] == [("ORC035", "crm.yaml")]
    (location,) = as_sarif.json["runs"][0]["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "crm.yaml"}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("flight_book_offer --input offer_id=x", ["only missions call it"]),
        ("flight_cancel_booking --input booking_id=x", ["only missions call it"]),
        ("weather_get_forecast --input date=soon --input cty=Oslo", ["cty", "city", "date"]),
        ("weather_get_forcast", ["weather_get_forecast"]),
        ("weather_get_forecast --input city", ["'city'"]),
    ],
)
def test_an_invalid_call_is_refused_before_it_is_sent(
    words: str, named: list[str], run: Run
) -> None:
    ran = run("tools", "call", *words.split())

    assert (ran.exit_code, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert all(word in line for word in named)


def test_a_read_that_asks_for_a_confirmation_is_refused(run: Run, crm: Path, ours: Path) -> None:
    """Nobody types past a card."""
    content = yaml.safe_load(ours.read_text())
    content["actions"][0]["update"]["x-orchet-requires-confirmation"] = "structured-message"
    ours.write_text(yaml.safe_dump(content))
    ran = run("tools", "call", TOOL, "--specs", "crm.yaml", "--overlay", "ours.yaml")

    assert ran.exit_code == 2
    assert "customer_get asks for a confirmation, so only missions call it" in ran.stderr


# -- lists ----------------------------------------------------------------------------------------

DOCUMENT = """
openapi: 3.1.0
info: {title: Parts, version: "1"}
paths:
  /parts:
    get: {x-orchet-tool: true, responses: {}}
    post:
      x-orchet-tool: true
      operationId: add
      parameters: [{name: a, in: nowhere}]
      responses: {}
"""


def test_skipped_operations_are_listed(run: Run, tmp_path: Path) -> None:
    """With file, line and pointer, in JSON after the tools; one that is asked for says why."""
    (tmp_path / "parts.yaml").write_text(DOCUMENT)
    listed = run("tools", "list", "--specs", "parts.yaml")
    text = " ".join(listed.stdout.split())
    tool, skipped = run("tools", "list", "--specs", "parts.yaml", "--json").json
    shown = run("tools", "show", "add", "--specs", "parts.yaml")

    assert (listed.exit_code, shown.exit_code) == (0, 2)
    assert "get_parts (GET /parts)" in text
    assert "parts.yaml:10 /paths/~1parts/post/parameters/0/in" in text
    assert (tool["name"], tool["named_so"]) == ("get_parts", "it has no operationId")
    assert (skipped["skipped"], skipped["name"], skipped["line"]) == (True, "add", 10)
    assert {"pointer", "reason", "remedy", "document", "file"} <= skipped.keys()
    assert "add of parts is skipped: a parameter cannot be in 'nowhere'" in shown.stderr


def test_names_stay_whole_on_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table where it fits; else the facts of a tool stand below its name."""
    monkeypatch.setattr(console, "_width", 160)
    wide = run("tools", "list").stdout.splitlines()
    monkeypatch.setattr(console, "_width", 60)
    narrow = run("tools", "list").stdout.splitlines()

    assert wide[0].split() == ["tool", "domain", "effect", "confirmation", "cancelled", "by"]
    at = narrow.index("calendar_create_event")
    assert narrow[at + 2].endswith("calendar_cancel_event")
    assert max(map(len, narrow)) <= 60
