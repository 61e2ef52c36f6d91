"""Workflows bound to the tools of a catalog."""

from collections.abc import Callable

import pytest

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import CallMove, StepAnswer, next_move
from orchestrator.arazzo.written import WrittenStep
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DocumentInvalid
from tests.unit.arazzo.conftest import content_of

Read = Callable[[str], ArazzoDocument]
SEARCH = """
      - stepId: search
        operationId: flight_search_offers
        parameters:
          - {name: origin, in: query, value: Berlin}
          - {name: destination, in: query, value: Lisbon}
          - {name: departure_date, in: query, value: '2026-12-03'}
        outputs: {offer: $response.body#/offers/0/offer_id}
"""
PAID = "requestBody: {payload: {offer_id: x}}"


def step_of(document: ArazzoDocument, catalog: Catalog, index: int = -1) -> WrittenStep:
    return bind(document, "", catalog)[-1].steps[index]


def booking(body: str) -> str:
    step = f"      - {{stepId: book, operationId: flight_book_offer, {body}}}"
    return f"workflows:\n  - workflowId: w\n    inputs: {{}}\n    steps:{SEARCH}{step}\n"


def test_parameters_and_payload_become_arguments(document: Read, bundled: Catalog) -> None:
    read = document(booking("requestBody: {payload: {offer_id: $steps.search.outputs.offer}}"))

    book = step_of(read, bundled)

    assert step_of(read, bundled, 0).arguments["origin"] == "Berlin"
    assert book.tool == "flight_book_offer"
    assert book.is_consequence
    assert book.arguments == {
        "offer_id": "$steps.search.outputs.offer",
        "traveler_id": "pii:traveler_id",
    }


@pytest.mark.parametrize(
    "operation",
    [
        "operationId: $sourceDescriptions.flights.flight_list_bookings",
        "operationPath: '{$sourceDescriptions.flights.url}#/paths/~1bookings/get'",
        "operationPath: 'https://example.com/specs/flights.yaml#/paths/~1bookings/get'",
        "operationId: flight_list_bookings",
        "operationId: flights.flight_list_bookings",
        "operationPath: '{$sourceDescriptions.flights.url}#/paths/~1%62ookings/get'",
    ],
)
def test_an_operation_is_found(document: Read, bundled: Catalog, operation: str) -> None:
    read = document(f"workflows: [{{workflowId: w, steps: [{{stepId: s, {operation}}}]}}]")

    assert step_of(read, bundled).tool == "flight_list_bookings"


@pytest.mark.parametrize(
    ("payload", "offer"),
    [
        ('\'{"offer_id": "{$steps.search.outputs.offer}"}\'', "{$steps.search.outputs.offer}"),
        ("'{\"offer_id\": {$steps.search.outputs.offer}}'", "$steps.search.outputs.offer"),
        ("{offer_id: x}, replacements: [{target: /offer_id, value: y}]", "y"),
    ],
)
def test_a_payload_is_a_structure(
    document: Read, bundled: Catalog, payload: str, offer: str
) -> None:
    """Text of JSON is read before values are put in: no value can change the structure."""
    read = document(booking(f"requestBody: {{contentType: application/json, payload: {payload}}}"))

    assert step_of(read, bundled).arguments["offer_id"] == offer


def test_a_payload_from_an_input_is_spread_over_the_arguments(
    document: Read, bundled: Catalog
) -> None:
    read = document(
        booking(
            "requestBody: {payload: $inputs.order, "
            "replacements: [{target: /offer_id, value: $steps.search.outputs.offer}]}"
        )
    )
    workflow = bind(read, "", bundled)[0]
    found = StepAnswer("search", "succeeded", 200, body={"offers": [{"offer_id": "off_1"}]})

    move = next_move(workflow, {"order": {"offer_id": "", "traveler_id": "pii:x"}}, [found])

    assert isinstance(move, CallMove)
    assert move.arguments == {"offer_id": "off_1", "traveler_id": "pii:x"}


@pytest.mark.parametrize(
    "parameter",
    [
        "{name: Authorization, in: header, value: $inputs.x}",
        "{name: Idempotency-Key, in: header, value: x}",
        "{name: Content-Type, in: header, value: x}",
    ],
)
def test_credentials_and_keys_are_ours(document: Read, bundled: Catalog, parameter: str) -> None:
    read = document(
        booking(f"parameters: [{parameter}], requestBody: {{payload: {{offer_id: x}}}}")
    )

    workflow = bind(read, "", bundled)[0]

    assert workflow.steps[1].arguments == {"offer_id": "x", "traveler_id": "pii:traveler_id"}
    assert len(workflow.notes) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("requestBody: {payload: {offer_id: 5}}", "offer_id"),
        ("requestBody: {payload: {offer: x}}", "did you mean offer_id"),
        ("description: x", "needs 'offer_id'"),
        (f"parameters: [{{name: q, in: query, value: 1}}], {PAID}", "q"),
        ("parameters: [{name: offer_id, value: 1}]", "'in' is missing"),
        ("requestBody: {payload: [1]}", "an object"),
        ("requestBody: {payload: '{'}", "no JSON"),
        ("requestBody: {contentType: text/xml, payload: <a/>}", "application/json"),
        (f"{PAID}, outputs: {{a: $steps.no.outputs.b}}", "'no'"),
        ("requestBody: {payload: {offer_id: $steps.search.outputs.no}}", "no such output"),
        ("requestBody: {payload: {offer_id: $workflows.x.outputs.no}}", "does not depend"),
        (f"{PAID}, onFailure: [{{name: a, type: goto, stepId: no}}]", "'no'"),
        (f"{PAID}, dependsOn: [no]", "'no'"),
        (f"{PAID}, dependsOn: [$steps.search]", "names no step"),
        (f"{PAID}, dependsOn: [$workflows.w.steps.no]", "no step"),
    ],
)
def test_what_fits_no_tool_is_refused_before_anything_runs(
    document: Read, bundled: Catalog, body: str, reason: str
) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        bind(document(booking(body)), "", bundled)

    assert reason in str(caught.value)
    assert caught.value.pointer.startswith("/workflows/0")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("operationId: flight_serch_offers", "did you mean flight_search_offers"),
        ("operationId: flights_health", "is no tool"),
        ("operationId: $sourceDescriptions.no.x", "no source"),
        ("operationPath: '#/paths/x'", "names no operation"),
        ("workflowId: w", "itself"),
        ("workflowId: other", "no workflow"),
        ("operationId: flight_list_bookings, outputs: {a: $steps.t.outputs.b}", "no step"),
    ],
)
def test_a_step_that_names_nothing_is_refused(
    document: Read, bundled: Catalog, step: str, reason: str
) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        bind(
            document(f"workflows: [{{workflowId: w, steps: [{{stepId: s, {step}}}]}}]"), "", bundled
        )

    assert reason in str(caught.value)


def test_dependencies_come_first_and_circles_are_refused(document: Read, bundled: Catalog) -> None:
    one = "steps: [{stepId: s, operationId: flight_list_bookings}]"
    chain = (
        f"workflows: [{{workflowId: a, dependsOn: [b], {one}}}, "
        f"{{workflowId: b, dependsOn: [%s], {one}}}, {{workflowId: c, {one}}}]"
    )

    call = "operationId: flight_list_bookings"
    steps = f"{{stepId: a, {call}, dependsOn: [b]}}, {{stepId: b, {call}}}"
    inside = document(f"workflows: [{{workflowId: w, steps: [{steps}]}}]")

    assert [step.step_id for step in bind(inside, "", bundled)[0].steps] == ["b", "a"]
    assert [w.workflow_id for w in bind(document(chain % "c"), "a", bundled)] == ["c", "b", "a"]
    with pytest.raises(DocumentInvalid, match="depends on itself"):
        bind(document(chain % "a"), "a", bundled)


def test_workflows_of_another_document_are_called_and_depended_on(bundled: Catalog) -> None:
    one = "steps: [{stepId: s, operationId: flight_list_bookings, outputs: {x: $response.body}}]"
    other = parse_document(
        "o.yaml",
        content_of(f"workflows: [{{workflowId: far, {one}, outputs: {{x: $steps.s.outputs.x}}}}]"),
    )
    head = """
arazzo: 1.0.1
info: {title: T, version: '1'}
sourceDescriptions:
  - {name: o, url: ./o.yaml, type: arazzo}
  - {name: flights, url: ./flights.yaml}
  - {name: more, url: flights.json}
"""
    text = """
workflows:
  - workflowId: w
    steps:
      - {stepId: r, operationId: flight_list_bookings, dependsOn: [%s]}
      - {stepId: s, workflowId: $sourceDescriptions.o.far, outputs: {y: $outputs.x}}
    outputs: {x: $sourceDescriptions.o.far.outputs.x, url: $sourceDescriptions.o.url}
"""
    elsewhere = "$sourceDescriptions.o.far.steps.s"
    read = parse_document("t.yaml", content_of(text % elsewhere, head))

    far, near = bind(read, "w", bundled, {"./o.yaml": other})

    assert far.workflow_id == "o.far"
    assert near.depends_on == ("o.far",)
    assert near.outputs == {"x": "$workflows.o.far.outputs.x", "url": "./o.yaml"}
    with pytest.raises(DocumentInvalid, match="was not read"):
        bind(read, "w", bundled)


def test_a_mapping_says_what_a_source_means(bundled: Catalog) -> None:
    head = """
arazzo: 1.0.1
info: {title: T, version: '1'}
sourceDescriptions: [{name: api, url: https://example.com/openapi.json}]
"""
    text = "workflows: [{workflowId: w, steps: [{stepId: s, operationId: flight_list_bookings}]}]"
    read = parse_document("t.yaml", content_of(text, head))

    for mapped in ({}, {"api": "fligths"}):
        with pytest.raises(DocumentInvalid, match="map it to one of"):
            bind(read, "w", bundled, mapped)
    assert bind(read, "w", bundled, {"api": "flights"})[0].steps[0].tool == "flight_list_bookings"


def test_functions_are_steps_by_their_name() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    function = {"name": "add_note", "description": "Add a note.", "parameters": schema}
    catalog = Catalog.from_functions([function])
    head = """
arazzo: 1.0.1
info: {title: T, version: '1'}
sourceDescriptions: [{name: functions, url: ./functions.json}]
"""
    step_text = "{stepId: s, operationId: add_note, parameters: [{name: text, value: x}]}"
    text = f"workflows: [{{workflowId: w, steps: [{step_text}]}}]"

    step = bind(parse_document("t.yaml", content_of(text, head)), "", catalog)[0].steps[0]

    assert (step.tool, step.arguments, step.is_consequence) == ("add_note", {"text": "x"}, True)


def test_workflows_that_call_each_other_often_are_bound_once(
    document: Read, bundled: Catalog
) -> None:
    """Ten levels of a hundred calls each would be 10**20 steps."""
    levels = [
        f"{{workflowId: w{level}, steps: ["
        + ", ".join(f"{{stepId: s{i}, workflowId: w{level + 1}}}" for i in range(100))
        + "]}"
        for level in range(9)
    ]
    last = "{workflowId: w9, steps: [{stepId: s, operationId: flight_list_bookings}]}"

    with pytest.raises(DocumentInvalid, match="more than 100"):
        bind(document(f"workflows: [{', '.join([*levels, last])}]"), "w0", bundled)


def test_a_step_without_outputs_gives_those_of_the_workflow_that_it_calls(
    document: Read, bundled: Catalog
) -> None:
    read = document("""
workflows:
  - workflowId: w
    steps: [{stepId: s, workflowId: v, outputs: {z: $workflows.v.outputs.x}}]
    outputs: {x: $steps.s.outputs.x}
  - workflowId: v
    steps: [{stepId: s, operationId: flight_list_bookings, outputs: {y: $response.body}}]
    outputs: {x: $steps.s.outputs.y}
""")

    assert bind(read, "w", bundled)[0].steps[0].outputs == {"x": "$outputs.x", "z": "$outputs.x"}
