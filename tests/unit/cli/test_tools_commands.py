"""`orchestrator tools ...` and `route`: overlays everywhere, lint in all its forms, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestrator.settings import Settings
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
def test_an_overlay_makes_tools_on_every_command(
    command: tuple[str, ...], run: Run, crm: Path, ours: Path
) -> None:
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


def test_overlays_of_the_settings_are_separated_by_colons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the order in which they are applied; an empty variable is no overlay."""
    monkeypatch.setenv("ORCHESTRATOR_OVERLAYS", "a.yaml:b.yaml")
    assert [path.name for path in Settings().overlays] == ["a.yaml", "b.yaml"]

    monkeypatch.setenv("ORCHESTRATOR_OVERLAYS", "")
    assert Settings().overlays == ()


def test_an_action_that_changes_nothing_is_told_in_one_line(
    run: Run, crm: Path, ours: Path
) -> None:
    """On standard error, so that `--json` stays one document; the work goes on."""
    ours.write_text(ours.read_text().replace("/customers/{id}", "/customer/{id}"))

    ran = run("tools", "list", "--specs", "crm.yaml", "--overlay", "ours.yaml", "--json")

    assert (ran.exit_code, ran.json) == (0, [])
    assert ran.stderr.startswith(
        "orchestrator: warning: ours.yaml at /actions/0: "
        "$.paths['/customer/{id}'].get selects nothing in crm\n"
    )


def test_an_overlay_that_is_at_fault_is_one_line(run: Run, crm: Path, ours: Path) -> None:
    """Exit 1, for the overlay is broken; exit 2 when it is not there."""
    ours.write_text(ours.read_text().replace("1.0.0", "1.1.0"))

    broken = run("tools", "list", "--specs", "crm.yaml", "--overlay", "ours.yaml")
    missing = run("tools", "list", "--specs", "crm.yaml", "--overlay", "none.yaml")

    assert (broken.exit_code, missing.exit_code) == (1, 2)
    assert broken.stderr.splitlines() == [
        "orchestrator: ours.yaml at /overlay: an Overlay 1.0 document is wanted; it is '1.1.0'"
    ]
    assert missing.stderr.splitlines() == [
        "orchestrator: none.yaml cannot be read: No such file or directory"
    ]


def test_lint_exits_0_on_warnings_only(run: Run, crm: Path, ours: Path) -> None:
    """An overlay that has gone stale is worth a look, and breaks no build."""
    ours.write_text(ours.read_text().replace("/customers/{id}", "/customer/{id}"))

    ran = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")

    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[2].startswith(
        "ours.yaml:2: ours.yaml/actions/0: warning ORC003: "
    )
    assert ran.stdout.endswith("0 errors, 1 warning, 0 notes\n")


def test_lint_exits_1_on_errors_and_says_where_they_are(run: Run, crm: Path, ours: Path) -> None:
    """File and line of the document that was read, though an overlay made it a tool."""
    crm.write_text(crm.read_text().replace("https://crm.example", "/crm"))

    ran = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")

    lines = crm.read_text().splitlines()
    line = lines.index("servers:") + 1
    assert ran.exit_code == 1
    assert ran.stdout.splitlines()[2] == (
        f"crm.yaml:{line}: crm/servers: error ORC035: "
        "customer_get has no server with a host: '/crm'"
    )


def test_lint_leaves_out_what_nobody_wants_to_be_told(run: Run, crm: Path, ours: Path) -> None:
    """Except what a rollback depends on, and codes that there are not."""
    crm.write_text(crm.read_text().replace("Show a customer.", "''"))
    lint = ("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")

    heeded = run(*lint, "--ignore", "ORC012", "--ignore", "ORC021")
    lasting, unknown = run(*lint, "--ignore", "ORC040"), run(*lint, "--ignore", "ORC999")

    assert (heeded.exit_code, heeded.stdout) == (0, "nothing to mend (1 suppressed)\n")
    assert (lasting.exit_code, unknown.exit_code) == (2, 2)
    assert "ORC040 cannot be ignored" in lasting.stderr
    assert "there is no code 'ORC999'" in unknown.stderr


def test_lint_shows_all_when_asked_to(run: Run, crm: Path, ours: Path) -> None:
    """Of each code the first few, unless."""
    document = yaml.safe_load(crm.read_text())
    crm.write_text(yaml.safe_dump(with_inputs_of_no_limits(document, 9)))

    few = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml")
    whole = run("tools", "lint", "crm.yaml", "--overlay", "ours.yaml", "--all")

    assert few.stdout.count("states no limits") == 5
    assert "ORC021: 4 more; --all shows them" in few.stdout
    assert whole.stdout.count("states no limits") == 9


def with_inputs_of_no_limits(document: Any, number: int) -> Any:
    """The document of customers with so many inputs more."""
    document["paths"]["/customers/{id}"]["get"]["parameters"] += [
        {"name": f"f{n}", "in": "query", "description": "Any.", "schema": {"type": "string"}}
        for n in range(number)
    ]
    return document


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
    ("arguments", "line"),
    [
        (
            ("flight_book_offer", "--input", "offer_id=x"),
            "flight_book_offer changes something, so only missions call it: they ask first, keep "
            "a ledger and can undo it; start one with: orchestrator mission start "
            '"what to do, in plain words"',
        ),
        (
            ("flight_cancel_booking", "--input", "booking_id=x"),
            "flight_cancel_booking changes something, so only missions call it: they ask first, "
            "keep a ledger and can undo it; start one with: orchestrator mission start "
            '"what to do, in plain words"',
        ),
        (
            ("weather_get_forecast", "--input", "date=soon", "--input", "cty=Oslo"),
            "weather_get_forecast: cty is no input here; did you mean city?; city is missing; "
            "date must be a date like 2026-12-03",
        ),
        (
            ("weather_get_forcast",),
            "no tool is called 'weather_get_forcast'; did you mean weather_get_forecast",
        ),
        (("weather_get_forecast", "--input", "city"), "'city' is not NAME=VALUE, e.g. guests=2"),
    ],
)
def test_a_call_that_cannot_be_is_refused_before_anything_is_sent(
    arguments: tuple[str, ...], line: str, run: Run
) -> None:
    """Exit 2, one line that names each field or says what to do instead."""
    ran = run("tools", "call", *arguments)

    assert (ran.exit_code, ran.stdout) == (2, "")
    (told,) = ran.stderr.splitlines()
    assert told.startswith(f"orchestrator: {line}")


def test_a_read_that_asks_for_a_confirmation_is_refused(run: Run, crm: Path, ours: Path) -> None:
    """Nobody types past a card."""
    content = yaml.safe_load(ours.read_text())
    content["actions"][0]["update"]["x-orchet-requires-confirmation"] = "structured-message"
    ours.write_text(yaml.safe_dump(content))

    ran = run("tools", "call", TOOL, "--specs", "crm.yaml", "--overlay", "ours.yaml")

    assert ran.exit_code == 2
    assert "customer_get asks for a confirmation, so only missions call it" in ran.stderr
