"""Exported missions: valid documents that make the same calls again."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.arazzo.arazzo_document import parse_document
from orchestrator.arazzo.arazzo_files import content_of
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import CallMove, EndMove, StepAnswer, next_move
from orchestrator.arazzo.workflow_export import MadeCall, as_yaml, export_document
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject

SCHEMA = json.loads((Path(__file__).parents[3] / "specs/arazzo-1.0.schema.json").read_text("utf-8"))
OFFICIAL = jsonschema_rs.Draft202012Validator(SCHEMA)
GOAL = "Book a flight from Berlin to Lisbon on 2026-12-10, returning 2026-12-13, and a hotel"
CALLS = (
    MadeCall(
        tool="flight_search_offers",
        arguments={
            **{"origin": "Berlin", "destination": "Lisbon"},
            **{"departure_date": "2026-12-10", "max_price": 300},
        },
        body={"offers": [{"offer_id": "off_1"}, {"offer_id": "off_22"}]},
    ),
    MadeCall(
        tool="flight_book_offer",
        arguments={
            "offer_id": "off_22",
            "traveler_id": "pii:traveler_id@" + "0" * 32,
            "client_reference": "m.1-flights.2",
        },
        body={"booking_id": "bkg_9", "price": {"amount": 146.86, "currency": "EUR"}},
    ),
    MadeCall(
        tool="expense_file_report",
        arguments={
            "employee_id": "pii:employee_id",
            "items": [{"description": "Flight", "amount": 146.86, "currency": "EUR"}],
        },
        body={"report_id": "exp_1"},
    ),
)


def exported(
    bundled: Catalog, calls: tuple[MadeCall, ...] = CALLS, inputs: JsonObject | None = None
) -> JsonObject:
    return export_document(calls, bundled, goal=GOAL, inputs=inputs or {})


def replayed(document: JsonObject, bundled: Catalog, calls: tuple[MadeCall, ...]) -> list[CallMove]:
    """Return the calls that a document makes if they are answered as before."""
    workflow = bind(parse_document("e.yaml", document), "mission", bundled)[-1]
    answers: list[StepAnswer] = []
    moves: list[CallMove] = []
    while isinstance(move := next_move(workflow, {}, answers), CallMove):
        moves.append(move)
        answers.append(StepAnswer(move.step_id, "succeeded", 200, body=calls[len(answers)].body))
    assert isinstance(move, EndMove)
    return moves


def without_references(arguments: JsonObject) -> JsonObject:
    """Return arguments as an export repeats them: without references, handles without version."""
    text = json.dumps({k: v for k, v in arguments.items() if k != "client_reference"})
    return dict(json.loads(text.replace("@" + "0" * 32, "")))


def test_an_export_conforms_to_the_official_schema(bundled: Catalog) -> None:
    assert [error.message for error in OFFICIAL.iter_errors(exported(bundled))] == []


def test_an_export_makes_the_same_calls(bundled: Catalog) -> None:
    moves = replayed(exported(bundled), bundled, CALLS)

    assert [move.tool for move in moves] == [call.tool for call in CALLS]
    assert [move.arguments for move in moves] == [without_references(c.arguments) for c in CALLS]


def test_values_are_lifted_and_chained(bundled: Catalog) -> None:
    workflow: Any = exported(bundled)["workflows"]
    inputs = workflow[0]["inputs"]["properties"]
    search, book, expense = workflow[0]["steps"]

    assert inputs["origin"] == {"type": "string", "default": "Berlin"}
    assert inputs["traveler_id"]["default"] == "pii:traveler_id"
    assert book["requestBody"]["payload"]["offer_id"].startswith("$steps.flight_search_offers.")
    assert list(search["outputs"].values()) == ["$response.body#/offers/1/offer_id"]
    assert expense["requestBody"]["payload"]["items"][0]["amount"].startswith("$steps.flight_book")
    assert {"name": "max_price", "in": "query", "value": 300} in search["parameters"]
    named: Any = exported(bundled, inputs={"limit_eur": 300})["workflows"]
    limit = named[0]["inputs"]["properties"]["limit_eur"]
    assert limit == {"type": "integer", "default": 300}
    with pytest.raises(Exception, match="no element"):
        parse_document("e.yaml", exported(bundled, ()))


def test_an_export_names_the_terms_that_it_lost(bundled: Catalog) -> None:
    """Of a written workflow: who may approve, and what cancels, are not in the calls."""
    step: JsonObject = {"x-orchet-approvers": ["ann"], "x-orchet-compensation": {"x-orchet-y": 1}}
    written: JsonObject = {"workflows": [{"steps": [step, step]}]}

    document: Any = export_document(CALLS, bundled, goal="go", inputs={}, written=written)
    of_a_goal: Any = exported(bundled)

    assert "Nor are x-orchet-approvers, x-orchet-compensation" in document["info"]["description"]
    assert "x-orchet" not in of_a_goal["info"]["description"]


def test_the_answer_of_another_day_changes_what_is_booked(bundled: Catalog) -> None:
    other = CALLS[0].model_copy(update={"body": {"offers": [{}, {"offer_id": "off_new"}]}})

    moves = replayed(exported(bundled), bundled, (other, *CALLS[1:]))

    assert moves[1].arguments["offer_id"] == "off_new"


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
VALUES = st.one_of(
    TEXTS,
    st.integers(-5, 10**6),
    st.booleans(),
    st.sampled_from(["$inputs.x", "{$url}", "no", "0o17", "10:30", "Berlin", "$5", "2026-12-10"]),
)


@settings(deadline=None, max_examples=60)
@given(
    arguments=st.lists(st.dictionaries(st.sampled_from(["a", "b", "a b"]), VALUES), max_size=4),
    bodies=st.lists(
        st.dictionaries(st.sampled_from(["id", "a/b", "n"]), VALUES), min_size=4, max_size=4
    ),
)
def test_any_calls_are_made_again(
    arguments: list[dict[str, JsonValue]], bodies: list[dict[str, JsonValue]]
) -> None:
    """Export, as YAML, and replay: the same tools with the same arguments."""
    names = {"type": "object", "properties": {"a": {}, "b": {}, "a b": {}}}
    catalog = Catalog.from_functions([{"name": "do", "description": "Do.", "parameters": names}])
    calls = tuple(
        MadeCall(tool="do", arguments=given, body=bodies[index])
        for index, given in enumerate(arguments)
    )
    if not calls:
        return

    document = export_document(calls, catalog, goal=GOAL, inputs={"x": "Berlin"})
    parse_document("e.yaml", content_of("e.yaml", as_yaml(document)))
    moves = replayed(document, catalog, calls)

    assert [error.message for error in OFFICIAL.iter_errors(document)] == []
    assert [move.arguments for move in moves] == arguments
