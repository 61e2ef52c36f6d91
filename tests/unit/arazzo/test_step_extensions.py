"""Steps that state more than Arazzo has words for: goals, cards, cancels, time limits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.arazzo.arazzo_document import (
    STEP_EXTENSIONS,
    WORKFLOW_EXTENSIONS,
    ArazzoDocument,
    fields_of,
    parse_document,
)
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.engine import LONGEST_WAIT_S, CallMove, FailMove, StepAnswer, next_move
from orchestrator.arazzo.workflow_lint import lint_workflows
from orchestrator.arazzo.written import WrittenWorkflow
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.validator import SchemaValidator

ROOT = Path(__file__).parents[3]
Read = Callable[[str], ArazzoDocument]
ASKS = "x-orchet-requires-confirmation"
SOURCE: JsonObject = {"name": "notes", "url": "./notes.json", "type": "openapi"}


def operation(operation_id: str, method: str, **more: Any) -> JsonObject:
    """An operation that nobody is asked about, and that answers with a note."""
    schema: JsonObject = {"type": "object", "properties": {"note_id": {"type": "string"}}}
    answer: JsonObject = {"description": "ok", "content": {"application/json": {"schema": schema}}}
    own: JsonObject = {"operationId": operation_id, "x-orchet-tool": True}
    if method != "get":
        own["x-orchet-requires-confirmation"] = False
    return {**own, "responses": {"200": answer}, **more}


def notes(**of_add: Any) -> Catalog:
    """A catalog of one document: it adds notes, and declares no cancel."""
    body: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}}
    sent: JsonObject = {"content": {"application/json": {"schema": body}}}
    named: JsonObject = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    searched: JsonObject = {"name": "q", "in": "query", "schema": {"type": "string"}}
    content: JsonObject = {
        "openapi": "3.1.0",
        "info": {"title": "Notes", "version": "1"},
        "servers": [{"url": "https://notes.example"}],
        "paths": {
            "/notes": {
                "post": operation("add", "post", requestBody=sent, **of_add),
                "get": operation("find", "get", parameters=[searched]),
            },
            "/notes/{id}": {"delete": operation("remove", "delete", parameters=[named])},
        },
    }
    return Catalog.from_documents({"notes": content})


def bound(step: dict[str, Any], catalog: Catalog | None = None, **more: Any) -> WrittenWorkflow:
    """A workflow of that step, bound."""
    inputs: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}}
    one: JsonObject = {"workflowId": "w", "inputs": inputs, "steps": [{"stepId": "s", **step}]}
    content: JsonObject = {
        "arazzo": "1.1.0",
        "info": {"title": "T", "version": "1"},
        "sourceDescriptions": [SOURCE],
        "workflows": [{**one, **more}],
    }
    return bind(parse_document("t.yaml", content), "", catalog or notes())[0]


REMOVE: JsonObject = {
    "operationId": "remove",
    "parameters": [{"name": "id", "in": "path", "value": "$response.body.note_id"}],
}
ADD: JsonObject = {"operationId": "add", "requestBody": {"payload": {"text": "$inputs.text"}}}
GOAL: JsonObject = {
    "x-orchet-goal": "Find a note",
    "x-orchet-outputs": {
        "type": "object",
        "required": ["note_id"],
        "properties": {"note_id": {"type": "string"}},
    },
    "parameters": [{"name": "q", "value": "$inputs.text"}],
}


def test_a_goal_is_a_move_whose_answer_gives_the_outputs() -> None:
    """Its parameters are inputs of the planner; its outputs are those of the schema."""
    workflow = bound(GOAL, outputs={"id": "$steps.s.outputs.note_id"})

    first = next_move(workflow, {"text": "milk"}, [])
    answer = StepAnswer("s", "succeeded", body={"note_id": "n1"})

    assert first == CallMove("s", "", {"q": "milk"}, "s")
    assert getattr(next_move(workflow, {"text": "milk"}, [answer]), "outputs", None) == {"id": "n1"}


def test_a_goal_that_failed_without_effect_may_be_tried_again() -> None:
    """As a call that its provider refused; with an order that was carried out it may not."""
    again: JsonObject = {"name": "again", "type": "retry", "retryLimit": 2}
    workflow = bound({**GOAL, "x-orchet-orders": ["add"], "onFailure": [again]})

    assert isinstance(next_move(workflow, {}, [StepAnswer("s", "rejected")]), CallMove)
    assert isinstance(next_move(workflow, {}, [StepAnswer("s", "unknown")]), FailMove)


@pytest.mark.parametrize(
    ("step", "pointer"),
    [
        ({**GOAL, "operationId": "find"}, ""),
        ({**GOAL, "x-orchet-goal": " "}, "/x-orchet-goal"),
        ({**GOAL, "x-orchet-orders": ["find"]}, "/x-orchet-orders"),
        ({**GOAL, "x-orchet-orders": ["nothing"]}, "/x-orchet-orders"),
        ({**GOAL, "requestBody": {"payload": {}}}, "/requestBody"),
        ({**GOAL, "x-orchet-outputs": {"type": "no"}}, "/x-orchet-outputs"),
        ({**GOAL, "timeout": 5}, "/timeout"),
        ({**ADD, "x-orchet-outputs": {}}, "/x-orchet-outputs"),
        ({**ADD, "x-orchet-requires-confirmation": "no-type"}, "/x-orchet-requires-confirmation"),
        ({**ADD, "x-orchet-card-text": ""}, "/x-orchet-card-text"),
        ({**ADD, "x-orchet-card-text": "x" * 1_001}, "/x-orchet-card-text"),
        ({**ADD, "x-orchet-compensation": {"operationId": "find"}}, "/x-orchet-compensation"),
        ({**ADD, "x-orchet-compensation": {"operationId": "no"}}, "/x-orchet-compensation"),
        ({**ADD, "x-orchet-compensation": {"operationId": "remove"}}, "/x-orchet-compensation"),
        ({**ADD, "timeout": "soon"}, "/timeout"),
        ({"operationId": "find", "x-orchet-compensation": REMOVE}, "/x-orchet-compensation"),
    ],
)
def test_an_extension_that_cannot_hold_is_refused(step: JsonObject, pointer: str) -> None:
    with pytest.raises(DocumentInvalid) as refused:
        bound(step)

    assert refused.value.pointer.startswith(f"/workflows/0/steps/0{pointer}")


@pytest.mark.parametrize(
    ("stated", "step"),
    [
        ({"x-orchet-irreversible": True}, {"x-orchet-compensation": REMOVE}),
        # Approvers may be named by card type: another type would loosen the policy.
        ({ASKS: "structured-message"}, {ASKS: "structured-order"}),
    ],
)
def test_a_document_keeps_what_it_states(stated: JsonObject, step: JsonObject) -> None:
    with pytest.raises(DocumentInvalid):
        bound({**ADD, **step}, notes(**stated))


def test_a_cancel_that_costs_money_is_refused() -> None:
    """A rollback asks nobody: what moves money is no cancel, whatever a document says."""
    given = notes()
    paying = given.tool("remove").model_copy(update={"card_type": "structured-payment"})
    catalog = Catalog(given.documents, {**given.tools, "remove": paying})

    with pytest.raises(DocumentInvalid) as refused:
        bound({**ADD, "x-orchet-compensation": REMOVE}, catalog)

    assert refused.value.pointer == "/workflows/0/steps/0/x-orchet-compensation"
    assert "costs money" in refused.value.reason


def test_the_cancel_reads_the_answer_by_the_grammar_of_contracts() -> None:
    """Values that are known before the call are filled before it."""
    workflow = bound({**ADD, "x-orchet-compensation": REMOVE, "x-orchet-approvers": ["ana"]})
    move = next_move(workflow, {"text": "milk"}, [])

    assert isinstance(move, CallMove)
    assert move.cancel is not None
    assert move.cancel.tool == "remove"
    assert move.cancel.arguments == {"id": "$response.body#/note_id"}
    assert workflow.steps[0].approvers == ("ana",)
    assert not [one for one in lint_workflows([workflow], notes()) if one.code == "ARZ010"]


def test_a_value_is_never_read_as_an_expression_of_the_cancel() -> None:
    """Such a value fails the step before its call."""
    given: JsonObject = {"name": "id", "in": "path", "value": "$inputs.text"}
    by_input: JsonObject = {"operationId": "remove", "parameters": [given]}
    workflow = bound({**ADD, "x-orchet-compensation": by_input})

    held = next_move(workflow, {"text": "n1"}, [])
    assert isinstance(held, CallMove)
    assert held.cancel is not None
    assert held.cancel.arguments == {"id": "n1"}
    for text in ("$request.header.Authorization", "a{$response.body}"):
        assert isinstance(next_move(workflow, {"text": text}, []), FailMove)


def test_the_text_of_a_card_is_filled_and_bounded() -> None:
    """A workflow states agent and approvers for its steps."""
    own: dict[str, Any] = {"x-orchet-agent": "clerk", "x-orchet-approvers": ["ana", "ben"]}
    workflow = bound({**ADD, "x-orchet-card-text": "Add <b>{$inputs.text}</b>"}, **own)

    assert next_move(workflow, {"text": "milk"}, []).title == "Add <b>milk</b>"  # type: ignore[union-attr]
    assert len(next_move(workflow, {"text": "x" * 9_000}, []).title) == 2_000  # type: ignore[union-attr]
    assert (workflow.steps[0].agent, workflow.steps[0].approvers) == ("clerk", ("ana", "ben"))


@pytest.mark.parametrize("value", ["q=milk&x=1", "?q={$inputs.text}", {"q": "milk"}])
def test_a_whole_query_is_split_before_values_are_put_in(value: Any) -> None:
    step: JsonObject = {
        "operationId": "find",
        "parameters": [{"name": "all", "in": "querystring", "value": value}],
    }
    if "x=1" in value:
        with pytest.raises(DocumentInvalid):
            bound(step)
        return
    move = next_move(bound(step), {"text": "milk&x=1"}, [])

    assert isinstance(move, CallMove)
    assert list(move.arguments) == ["q"]
    assert str(move.arguments["q"]).startswith("milk")
    assert fields_of("a=1&b=2&a=") == {"a": ["1", ""], "b": "2"}


def test_a_wait_is_bounded_and_the_linter_says_so() -> None:
    again: JsonObject = {"name": "again", "type": "retry", "retryAfter": 1e300, "retryLimit": 2}
    workflow = bound({"operationId": "find", "onFailure": [again], "timeout": 2500})
    move = next_move(workflow, {}, [StepAnswer("s", "rejected", 503)])

    assert isinstance(move, CallMove)
    assert move.after_s == LONGEST_WAIT_S
    assert "ARZ018" in [one.code for one in lint_workflows([workflow], notes())]
    assert workflow.steps[0].timeout_s == 2.5


def test_the_published_schema_knows_every_extension() -> None:
    """Its fields are those that the reader takes, and the examples fit it."""
    schema = json.loads((ROOT / "specs/x-orchet-arazzo.schema.json").read_text("utf-8"))
    of_step = {**schema, "$ref": "#/$defs/step"}

    assert {*schema["$defs"]["step"]["properties"]} == STEP_EXTENSIONS
    assert {*schema["$defs"]["workflow"]["properties"]} == WORKFLOW_EXTENSIONS
    for file in (ROOT / "docs/examples/written").glob("*.yaml"):
        for workflow in load_yaml(file.read_text("utf-8"))["workflows"]:
            for step in workflow["steps"]:
                SchemaValidator(of_step).validate(step)
