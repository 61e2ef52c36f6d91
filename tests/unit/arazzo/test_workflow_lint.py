"""The linter of written workflows, and their views."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.arazzo.arazzo_files import load_document
from orchestrator.arazzo.binding import bind, bind_leniently
from orchestrator.arazzo.workflow_lint import lint_workflows
from orchestrator.arazzo.workflow_view import mermaid, step_rows
from orchestrator.catalog.catalog import Catalog
from orchestrator.cli.workflow_commands import app
from tests.unit.arazzo.conftest import content_of

Read = Callable[[str], ArazzoDocument]
EXAMPLES = Path(__file__).parents[3] / "docs/examples/written"
LIST = "operationId: flight_list_bookings"
BOOK = "operationId: flight_book_offer, requestBody: {payload: {offer_id: x}}"


def codes(document: ArazzoDocument, catalog: Catalog) -> list[str]:
    bound, faults = bind_leniently(document, document.workflows[0].workflow_id, catalog)
    assert faults == ()
    return [finding.code for finding in lint_workflows(bound, catalog)]


def flow(steps: str, more: str = "") -> str:
    return f"workflows: [{{workflowId: w, steps: [{steps}]{more}}}]"


A = f"stepId: a, {LIST}"
B = f"stepId: b, {LIST}"
ROOM = "stepId: a, operationId: hotel_book_room, requestBody: {payload: {room_offer_id: %s}}"
BACK = "{name: n, type: goto, stepId: a, criteria: [{condition: $statusCode == 202}]}"
TEXT = ", inputs: {type: object, properties: {n: {type: string}}}"
NUMBER = ", inputs: {type: object, required: [n], properties: {n: {type: integer}}}"
FROM_B = "outputs: {x: $steps.b.outputs.y}"


@pytest.mark.parametrize(
    ("steps", "more", "expected"),
    [
        ([A], "", []),
        ([A], ", outputs: {x: $steps.b.outputs.y}", ["ARZ002"]),
        ([A], ", outputs: {x: $steps.a.outputs.y}", ["ARZ003"]),
        ([A + ", outputs: {x: $inputs.no}"], ", inputs: {properties: {}}", ["ARZ004"]),
        ([f"{A}, {FROM_B}", B + ", outputs: {y: $statusCode}"], "", ["ARZ005"]),
        (
            [f"{A}, {FROM_B}", f"{B}, outputs: {{y: $statusCode}}, onSuccess: [{BACK}]"],
            "",
            [],
        ),
        ([ROOM % "$inputs.n"], NUMBER, ["ARZ011"]),
        ([ROOM % "$inputs.n"], TEXT, ["ARZ017"]),
        ([ROOM % "'of {$inputs.n}'"], TEXT, ["ARZ017"]),
        ([A + ", onSuccess: [{name: n, type: goto, stepId: a}]"], "", ["ARZ012"]),
        ([f"stepId: a, {BOOK}", f"{B}, onSuccess: [{BACK}]"], "", ["ARZ013"]),
        ([f"stepId: a, {BOOK}, onFailure: [{{name: n, type: retry}}]"], "", []),
        ([A + ", onSuccess: [{name: n, type: end}]", B], "", ["ARZ014"]),
        ([A], TEXT, ["ARZ015"]),
        ([A + ", outputs: {x: $response.body#/booking}"], "", ["ARZ016"]),
        ([A + ", parameters: [{name: Accept, in: header, value: x}]"], "", ["ARZ020"]),
    ],
)
def test_findings(
    document: Read, bundled: Catalog, steps: list[str], more: str, expected: list[str]
) -> None:
    written = ", ".join(f"{{{step}}}" for step in steps)

    assert codes(document(flow(written, more)), bundled) == expected


def test_an_effect_that_no_tool_cancels_is_found() -> None:
    catalog = Catalog.from_functions([{"name": "send_note", "description": "Send a note."}])
    head = (
        "{arazzo: 1.0.1, info: {title: T, version: '1'}, "
        "sourceDescriptions: [{name: functions, url: functions.json}]}"
    )
    read = parse_document("t.yaml", content_of(flow("{stepId: a, operationId: send_note}"), head))

    assert codes(read, catalog) == ["ARZ010"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_the_examples_have_no_findings(file: Path, bundled: Catalog) -> None:
    document, linked = load_document(file)

    for workflow in document.workflows:
        bound = bind(document, workflow.workflow_id, bundled, linked)
        assert lint_workflows(bound, bundled) == []


def test_rows_name_the_cancel_tool_and_what_follows(bundled: Catalog) -> None:
    document, _ = load_document(EXAMPLES / "dinner.arazzo.yaml")

    rows = step_rows(bind(document, "", bundled)[0], bundled)

    assert [row.step for row in rows] == ["search", "reserve", "reserveSecond"]
    assert rows[1].cancelled_by == "dining_cancel_reservation"
    assert rows[1].reads == ("$steps.search.outputs.best",)
    assert len(rows[1].then) == 3


def test_the_graph_escapes_the_texts_of_others(document: Read, bundled: Catalog) -> None:
    condition = json.dumps("$response.body#/a == '\"]; click x \"<script>'")
    step = (
        f"{{stepId: a, {LIST}, onSuccess: [{{name: n, type: end, "
        f"criteria: [{{condition: {condition}}}]}}]}}"
    )
    read = document(flow(step))

    text = mermaid(bind(read, "", bundled), bundled)

    assert "<script>" not in text
    assert '"];' not in text
    assert text.startswith("flowchart TD\n")


def test_the_command_reports_errors_and_exits_with_one(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(
        "{arazzo: 1.0.1, info: {title: T, version: '1'}, "
        "sourceDescriptions: [{name: flights, url: flights.yaml}], "
        + flow("{stepId: a, operationId: flight_serch_offers}")
        + "}"
    )
    wrong = CliRunner().invoke(app, ["lint", str(file), "--json"])
    shown = CliRunner().invoke(app, ["show", str(EXAMPLES / "trip.arazzo.yaml"), "--mermaid"])

    assert wrong.exit_code == 1
    assert '"code": "ARZ001"' in wrong.stdout
    assert shown.exit_code == 0
    assert "w0 ==> w2" in shown.stdout
