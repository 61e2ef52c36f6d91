"""One API written in every way of OpenAPI: both dialects, both notations, one file or many."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool

Make = Callable[..., dict[str, Any]]

_API = """
info: {title: Library, version: "1"}
servers:
  - url: "https://{region}.library.example/{version}"
    variables:
      region: {default: eu, enum: [eu, us]}
      version: {default: v2}
security: [{token: []}]
webhooks: {loanDue: {post: {requestBody: {content: {application/json: {schema: {type: object}}}}}}}
paths:
  /branches/{branch}/loans/{id}:
    summary: Loans.
    servers: [{url: "https://loans.example"}]
    parameters:
      - {name: branch, in: path, required: true, schema: {type: string}}
      - {$ref: "#/components/parameters/Id"}
    put:
      operationId: library_renew_loan
      summary: Renew a loan.
      description: Use this when a loan is to last longer. Returns the loan.
      tags: [loans]
      x-orchet-tool: true
      x-orchet-requires-confirmation: structured-order
      x-orchet-intent-tags: [library.loan.renew]
      servers: [{url: "https://renewals.example"}]
      security: [{key: [], session: []}, {oauth: [renew]}]
      parameters:
        - {name: id, in: query, schema: {type: array, items: {type: string}}, style: pipeDelimited, explode: false}
        - {name: X-Tenant, in: header, required: true, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: filter, in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: sort, in: query, content: {application/json: {schema: {type: object, properties: {by: {type: string}}}}}}
      requestBody: {$ref: "#/components/requestBodies/Renewal"}
      callbacks:
        done: {"{$request.body#/callback_url}": {post: {responses: {"200": {description: Done.}}}}}
      responses:
        "200":
          description: Done.
          links: {again: {operationId: library_renew_loan}}
          content: {application/vnd.library.v2+json: {schema: {$ref: "#/components/schemas/Loan"}}}
        default: {$ref: "#/components/responses/Problem"}
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {type: string, maxLength: 12}}
  requestBodies:
    Renewal:
      required: true
      content:
        application/vnd.library.v2+json:
          schema:
            allOf:
              - {$ref: "#/components/schemas/Term"}
              - type: object
                required: [id]
                properties:
                  id: {type: string}
                  callback_url: {type: string, format: uri}
                  secret: {type: string, readOnly: true}
                  reader: {$ref: "#/components/schemas/Reader"}
  responses:
    Problem: {description: It failed., content: {application/problem+json: {schema: {type: object}}}}
  schemas:
    Term: {type: object, required: [days], properties: {days: DAYS, note: NOTE}}
    Reader:
      oneOf: [{$ref: "#/components/schemas/Member"}, {$ref: "#/components/schemas/Guest"}]
      discriminator: {propertyName: kind, mapping: {member: "#/components/schemas/Member"}}
    Member: {type: object, required: [kind, number], properties: {kind: {type: string, enum: [member]}, number: {type: integer}}}
    Guest: {type: object, required: [kind], properties: {kind: {type: string, enum: [guest]}, host: {$ref: "#/components/schemas/Reader"}}}
    Loan:
      type: object
      properties:
        due: {type: string, format: date}
        reader: {$ref: "#/components/schemas/Reader"}
        history: {type: array, items: {$ref: "#/components/schemas/Loan"}}
  securitySchemes:
    token: {type: http, scheme: bearer}
    basic: {type: http, scheme: basic}
    key: {type: apiKey, in: header, name: X-Key}
    session: {type: apiKey, in: cookie, name: SID}
    query: {type: apiKey, in: query, name: key}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: "https://auth.example/token", scopes: {renew: Renew.}}}}
"""  # noqa: E501  # a document reads best with a parameter to a line
_OLD = {
    "DAYS": "{type: integer, minimum: 0, exclusiveMinimum: true, maximum: 90, example: 14}",
    "NOTE": "{type: string, nullable: true}",
}
_NEW = {
    "DAYS": "{type: integer, exclusiveMinimum: 0, maximum: 90, examples: [14]}",
    "NOTE": "{type: [string, 'null']}",
}


def _api(version: str) -> dict[str, Any]:
    text = _API
    for name, schema in (_OLD if version.startswith("3.0") else _NEW).items():
        text = text.replace(name, schema)
    document: dict[str, Any] = {"openapi": version, **yaml.safe_load(text)}
    if version.startswith("3.0"):
        document["x-webhooks"] = document.pop("webhooks")
    return document


def _renewal(document: dict[str, Any]) -> Tool:
    return Catalog.from_documents({"library": document}).tool("library_renew_loan")


_NEEDED = {"branch": "b", "id": "1", "X-Tenant": "t", "days": 1, "body_id": "x"}
_GUEST = {"kind": "guest", "host": {"kind": "member", "number": 3}}
_VERSIONS = pytest.mark.parametrize("version", ["3.0.0", "3.0.3", "3.1.0", "3.1.1"])


@_VERSIONS
def test_every_version_compiles_to_the_same_tool(version: str) -> None:
    """Nullable, exclusive limits and examples compile to the same schema in both dialects."""
    assert _renewal(_api(version)) == _renewal(_api("3.1.0"))


def test_no_name_is_lost() -> None:
    """Ids of path, query and body are three inputs; OpenAPI's defaults replace missing styles."""
    tool = _renewal(_api("3.1.0"))

    bindings = {b.name: (b.location, b.field, b.style, b.explode) for b in tool.bindings}
    assert tool.input_schema["type"] == "object"
    assert {name: found for name, found in bindings.items() if found[0] != "body"} == {
        "branch": ("path", "branch", "simple", False),
        "id": ("path", "id", "simple", False),
        "query_id": ("query", "id", "pipeDelimited", False),
        "X-Tenant": ("header", "X-Tenant", "simple", False),
        "session": ("cookie", "session", "form", True),
        "filter": ("query", "filter", "deepObject", True),
        "sort": ("query", "sort", "json", False),
    }
    sent = {name: field for name, (location, field, *_) in bindings.items() if location == "body"}
    assert sent.pop("body_id") == "id"
    assert sent == {name: name for name in ("days", "note", "callback_url", "reader")}
    assert set(tool.required_inputs) == {"branch", "id", "X-Tenant", "days", "body_id"}
    assert set(tool.properties) == set(bindings)


def test_the_nearest_server_and_requirement_count() -> None:
    """Servers and security of the operation win; variables with choices keep their default."""
    document = _api("3.1.0")
    path = document["paths"]["/branches/{branch}/loans/{id}"]
    tool = _renewal(document)
    assert (tool.server, tool.server_variables) == ("https://renewals.example", {})
    assert tool.credentials == ("key", "session")
    assert tool.body_content_type == "application/vnd.library.v2+json"

    del path["put"]["servers"], path["put"]["security"]
    assert _renewal(document).server == "https://loans.example"
    assert _renewal(document).credentials == ("token",)

    del path["servers"]
    tool = _renewal(document)
    assert tool.server == "https://{region}.library.example/{version}"
    assert tool.server_variables == {"region": "eu", "version": "v2"}


@_VERSIONS
def test_the_compiled_schemas_judge_values(version: str) -> None:
    """Limits, null, variants and recursion mean what the document says."""
    tool = _renewal(_api(version))
    Draft202012Validator.check_schema(tool.input_schema)
    Draft202012Validator.check_schema(tool.output_schema or {})
    inputs = Draft202012Validator(tool.input_schema)

    for more in ({}, {"note": None, "days": 90}, {"reader": _GUEST}):
        assert inputs.is_valid({**_NEEDED, **more})
    cat = {"kind": "guest", "host": {"kind": "cat"}}
    wrong = [("days", 0), ("days", None), ("secret", "s"), ("id", "1" * 13), ("reader", cat)]
    for name, value in [*wrong, ("reader", {"kind": "member"})]:
        assert not inputs.is_valid({**_NEEDED, name: value})
    answers = Draft202012Validator(tool.output_schema or {})
    assert answers.is_valid({"history": [{"history": [{"reader": _GUEST}]}]})
    assert not answers.is_valid({"history": [{"history": [{"reader": 3}]}]})


def test_many_files_compile_to_the_same_tool(tmp_path: Path) -> None:
    """References across files: relative, with fragments, to whole files, back and in circles."""
    document = _api("3.1.0")
    schemas = document["components"].pop("schemas")
    path = document["paths"].pop("/branches/{branch}/loans/{id}")
    document["paths"]["/branches/{branch}/loans/{id}"] = {"$ref": "paths/loan.yaml"}
    _write(
        tmp_path / "paths" / "loan.yaml", path, schemas="../schemas/all.json", top="../library.yaml"
    )
    reader = schemas.pop("Reader")
    _write(tmp_path / "schemas" / "all.json", schemas, schemas="", reader="people/reader.yaml")
    _write(tmp_path / "schemas" / "people" / "reader.yaml", reader, schemas="../all.json")
    _write(tmp_path / "library.yaml", document, schemas="./schemas/all.json")

    split = Catalog.load(tmp_path / "library.yaml").tool("library_renew_loan")

    whole = _renewal(_api("3.1.0"))
    same = {"input_schema", "output_schema"}
    assert split.model_dump(exclude=same) == whole.model_dump(exclude=same)
    assert set(split.properties) == set(whole.properties)
    inputs = Draft202012Validator(split.input_schema)
    assert inputs.is_valid({**_NEEDED, "reader": _GUEST})
    assert not inputs.is_valid({**_NEEDED, "reader": {**_GUEST, "host": {"kind": "member"}}})
    answers = Draft202012Validator(split.output_schema or {})
    assert not answers.is_valid({"history": [{"reader": {"kind": "guest", "host": 1}}]})


def _write(
    file: Path, content: Any, *, schemas: str = "", reader: str | None = None, top: str = ""
) -> None:
    """Writes a part of the API, its references leading to the files named."""
    text = json.dumps(content)
    text = text.replace("#/components/schemas/Reader", f"{reader or schemas + '#/Reader'}")
    text = text.replace("#/components/schemas/", f"{schemas}#/")
    if top:
        text = text.replace("#/components/", f"{top}#/components/")
    text = text.replace("../schemas/all.json#/Reader", "../schemas/people/reader.yaml")
    text = text.replace("./schemas/all.json#/Reader", "./schemas/people/reader.yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    "content_type", ["application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_forms_become_inputs(one_operation: Make, content_type: str) -> None:
    """Each field is an input, files and lists included, with the style of its encoding."""
    properties = {
        "title": {"type": "string"},
        "scan": {"type": "string", "format": "binary"},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    media_type = {
        "schema": {"type": "object", "required": ["scan"], "properties": properties},
        "encoding": {"tags": {"style": "spaceDelimited"}},
    }
    document = one_operation(
        method="post", requestBody={"required": True, "content": {content_type: media_type}}
    )
    tool = Catalog.from_documents({"things": document}).tool("thing_do")

    assert tool.body_content_type == content_type
    assert tool.properties == properties
    assert tool.required_inputs == ("scan",)
    assert {b.name: b.style for b in tool.bindings} == {
        "title": "form",
        "scan": "form",
        "tags": "spaceDelimited",
    }
