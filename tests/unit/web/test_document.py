"""The OpenAPI document: valid, unambiguous, described, and without a finding of our own linter."""

import json
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from orchestrator.catalog.lint import has_errors
from orchestrator.catalog.lint import lint as lint_documents
from orchestrator.catalog.source import read_sources
from orchestrator.web.api.api_app import OPERATIONS, api_document
from orchestrator.web.api_operations import Operation


@pytest.fixture(scope="module")
def document() -> Any:
    # As a client reads it: through JSON.
    return json.loads(json.dumps(api_document("https://inbox.example.com")))


def test_it_is_valid_openapi(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    assert [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
    names = [one.name for one in OPERATIONS]
    places = [(one.method, one.path) for one in OPERATIONS]
    assert len({name.lower() for name in names}) == len(names)
    assert len(set(places)) == len(places)
    assert all(name.isidentifier() for name in names)


def test_our_linter_finds_no_error(document: Any, tmp_path: Path) -> None:
    """Neither as it stands, nor with each operation marked as a tool of agents."""
    marked = json.loads(json.dumps(document))
    for methods in marked["paths"].values():
        for method, operation in methods.items():
            operation["x-orchet-tool"] = True
            if method != "get":
                operation["x-orchet-requires-confirmation"] = "structured-order"
                operation["x-orchet-irreversible"] = True
    for name, one in (("plain", document), ("marked", marked)):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(one))
        sources = read_sources([file], ())
        findings = lint_documents(sources.documents, idle=sources.idle, unread=sources.unread)
        assert not has_errors(findings), findings


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: one.name)
def test_each_operation_documents_its_problems_and_headers(one: Operation, document: Any) -> None:
    described = document["paths"][one.path][one.method.lower()]
    answers = described["responses"]
    assert described["operationId"] == one.name
    assert described["summary"]
    assert described["tags"] == [one.tag]
    for status in ("401", "403", "422", "429", "default"):
        problem = answers[status]["$ref"].rpartition("/")[2]
        content = document["components"]["responses"][problem]["content"]
        assert set(content) == {"application/problem+json"}
    assert ("404" in answers) is ("{" in one.path)
    assert ("413" in answers) is (one.body is not None)
    assert ("304" in answers) is one.has_etag
    for parameter in described["parameters"]:
        assert parameter["description"], parameter


def test_models_are_described_and_told_apart_by_kind(document: Any) -> None:
    """`structured-*` are contents of cards, whose type describes itself by its title."""
    schemas = document["components"]["schemas"].items()

    assert [n for n, one in schemas if not one.get("description")] in ([], ["JsonValue"])
    schemas = document["components"]["schemas"]
    assert schemas["Event"]["discriminator"]["propertyName"] == "kind"
    decision = schemas["DecisionOn"]["properties"]["decision"]
    assert set(decision["discriminator"]["mapping"]) == {"approve", "amend", "reject", "respond"}
