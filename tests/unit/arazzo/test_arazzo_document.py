"""Arazzo documents: what is read, and each fault with its place and remedy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.arazzo.arazzo_document import ArazzoDocument, parse_document
from orchestrator.arazzo.arazzo_files import LARGEST_BYTES, load_document
from orchestrator.arazzo.arazzo_files import content_of as read_content
from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable
from tests.unit.arazzo.conftest import content_of

Read = Callable[[str], ArazzoDocument]
FILE = """
arazzo: 1.0.1
info: {title: T, version: '1'}
sourceDescriptions: [%s]
workflows: [{workflowId: w, steps: [{stepId: s, operationId: o}]}]
"""
STEP = "workflows: [{workflowId: w, steps: [{stepId: s, operationId: o, %s}]}]"


def test_components_are_resolved_and_defaults_merged(document: Read) -> None:
    read = document("""
workflows:
  - workflowId: w
    inputs: {$ref: '#/components/inputs/all'}
    parameters: [{name: a, in: query, value: 1}, {name: b, in: query, value: 1}]
    failureActions: [{reference: $components.failureActions.again}, {name: stop, type: end}]
    steps:
      - stepId: s
        operationId: o
        parameters: [{reference: $components.parameters.a, value: 2}]
        onFailure: [{name: stop, type: goto, stepId: s}]
components:
  inputs:
    all: {type: object, properties: {n: {$ref: '#/components/inputs/one'}}}
    one: {type: integer, default: 3}
  parameters: {a: {name: a, in: query, value: 0}}
  failureActions: {again: {name: again, type: retry, retryAfter: 1.5, retryLimit: 4}}
""")
    workflow = read.workflows[0]
    step = workflow.steps[0]

    assert workflow.inputs["properties"] == {"n": {"type": "integer", "default": 3}}
    assert [(one.name, one.value, one.is_inherited) for one in step.parameters] == [
        ("a", 2, False),
        ("b", 1, True),
    ]
    assert [(one.action.name, one.action.kind) for one in step.on_failure] == [
        ("stop", "goto"),
        ("again", "retry"),
    ]
    assert step.on_failure[1].action.retry_after_s == 1.5


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        ("channelPath: x", "channelPath"),
        ("action: send", "action"),
        ("workflowId: x", ""),
        ("operationID: x", ""),
        ("x-orchet-repeat: 2", ""),
        ("x-orchet-repeats: 0", "x-orchet-repeats"),
        ("x-orchet-repeats: true", "x-orchet-repeats"),
        ("successCriteria: []", "successCriteria"),
        (
            "successCriteria: [{condition: '//a', context: $response.body, type: xpath}]",
            "successCriteria/0/type",
        ),
        ("successCriteria: [{condition: $statusCode = 200}]", "successCriteria/0/condition"),
        (
            "successCriteria: [{condition: '$[', context: $response.body, type: jsonpath}]",
            "successCriteria/0/condition",
        ),
        (
            "successCriteria: [{condition: '(', context: $response.body, type: regex}]",
            "successCriteria/0/condition",
        ),
        ("successCriteria: [{condition: '2', type: regex}]", "successCriteria/0"),
        ("parameters: [{name: a, in: querystring, value: 1}]", "parameters/0"),
        ("parameters: [{name: a, in: body, value: 1}]", "parameters/0"),
        ("parameters: [{name: a, in: query}]", "parameters/0"),
        (
            "parameters: [{name: Authorization, in: header, value: Bearer abc}]",
            "parameters/0/value",
        ),
        ("parameters: [{name: api_key, in: query, value: abc}]", "parameters/0/value"),
        ("parameters: [{name: a, in: query, value: $inputs}]", "parameters/0/value"),
        ("parameters: [{reference: $components.parameters.x}]", "parameters/0/reference"),
        (
            "parameters: [{name: a, in: path, value: 1}, {name: a, in: path, value: 1}]",
            "parameters",
        ),
        ("onSuccess: [{name: a, type: retry}]", "onSuccess/0/type"),
        ("onFailure: [{name: a, type: goto}]", "onFailure/0"),
        ("onFailure: [{name: a, type: retry, retryLimit: -1}]", "onFailure/0/retryLimit"),
        ("onFailure: [{name: a, type: retry, retryAfter: true}]", "onFailure/0/retryAfter"),
        (
            "parameters: [{name: X-A, in: header, value: 1}, {name: x-a, in: header, value: 2}]",
            "parameters",
        ),
        ("outputs: {a b: $statusCode}", "outputs/a b"),
        ("requestBody: {payload: 'in {$inputs.n'}", "requestBody/payload"),
        ("outputs: {a: {b: $statusCode}}", "outputs/a"),
        ("outputs: {a: $steps.x.y}", "outputs/a"),
        ("requestBody: {payload: {$select: 1}}", "requestBody/payload"),
        (
            "requestBody: {payload: {}, replacements: "
            "[{target: //a, targetSelectorType: xpath, value: 1}]}",
            "requestBody/replacements/0/targetSelectorType",
        ),
    ],
)
def test_what_cannot_run_is_refused_at_its_place(document: Read, part: str, pointer: str) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        document(STEP % part)

    at = f"/workflows/0/steps/0/{pointer}".rstrip("/")
    assert (caught.value.document, caught.value.pointer) == ("t.yaml", at)


@pytest.mark.parametrize(
    "change",
    [
        {"arazzo": "1.2.0"},
        {"arazzo": 1.0},
        {"info": {}},
        {"sourceDescriptions": []},
        {"workflows": []},
        {"workflows": [{"workflowId": "a b", "steps": []}]},
        {"workflows": [{"workflowId": "w", "steps": []}]},
        {"sourceDescriptions": [{"name": "a", "url": "x", "type": "soap"}]},
        {"workflow": []},
    ],
)
def test_a_document_of_another_kind_is_refused(change: dict[str, object]) -> None:
    content = content_of(STEP % "description: x")

    with pytest.raises(DocumentInvalid):
        parse_document("t.yaml", {**content, **change})  # type: ignore[dict-item]


def test_a_reference_of_the_inputs_names_a_schema(document: Read) -> None:
    inputs = "inputs: {properties: {a: {$ref: '#/components/inputs/none'}}}"
    step = "steps: [{stepId: s, operationId: o}]"

    with pytest.raises(DocumentInvalid) as caught:
        document(f"workflows: [{{workflowId: w, {inputs}, {step}}}]")

    assert caught.value.pointer == "/workflows/0/inputs"


def test_steps_are_unique_and_bounded(document: Read) -> None:
    for ids in (["s", "s"], [f"s{number}" for number in range(101)]):
        steps = ", ".join(f"{{stepId: {one}, operationId: o}}" for one in ids)
        with pytest.raises(DocumentInvalid):
            document(f"workflows: [{{workflowId: w, steps: [{steps}]}}]")


def test_a_filter_of_goessners_draft_is_one_of_the_standard(document: Read) -> None:
    goessner = "type: {type: jsonpath, version: draft-goessner-dispatch-jsonpath-00}"
    text = "successCriteria: [{context: $response.body, condition: '$.a[%s]', " + goessner + "}]"

    document(STEP % (text % "?(@.b < 3)"))
    with pytest.raises(DocumentInvalid, match="alone"):
        document(STEP % (text % "(@.length-1)"))


def test_a_selector_is_one_of_arazzo_1_1() -> None:
    text = "outputs: {a: {context: $response.body, selector: $.a, type: jsonpath}}"
    content = content_of(STEP % text)

    parse_document("t.yaml", content)
    with pytest.raises(DocumentInvalid, match="Selector Object"):
        parse_document("t.yaml", {**content, "arazzo": "1.0.1"})


def test_one_address_is_one_file(tmp_path: Path) -> None:
    """`./c.yaml` in a folder and outside of it would be two workflows of one name."""
    near = "{name: c, url: ./c.yaml, type: arazzo}"
    (tmp_path / "sub").mkdir()
    for name, sources in (
        ("a.yaml", f"{near}, {{name: b, url: ./sub/b.yaml, type: arazzo}}"),
        ("sub/b.yaml", near),
        ("c.yaml", "{name: d, url: d.yaml}"),
        ("sub/c.yaml", "{name: d, url: d.yaml}"),
    ):
        (tmp_path / name).write_text(FILE % sources)

    with pytest.raises(DocumentUnreadable, match="another file"):
        load_document(tmp_path / "a.yaml")


def test_a_file_brings_the_documents_that_it_refers_to(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.yaml").write_text(FILE % "{name: b, url: ./sub/b.yaml, type: arazzo}")
    (tmp_path / "sub/b.yaml").write_text(FILE % "{name: a, url: ../a.yaml, type: arazzo}")

    _, linked = load_document(tmp_path / "a.yaml")

    assert set(linked) == {"./sub/b.yaml", "../a.yaml"}


@pytest.mark.parametrize("text", ["", "[]", "a: [", "{", "{" * 5_000, "x" * (LARGEST_BYTES + 1)])
def test_what_is_no_document_is_unreadable(text: str) -> None:
    with pytest.raises(DocumentUnreadable):
        read_content("t.yaml", text)
