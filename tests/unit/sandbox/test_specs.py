"""Every operation of the shipped documents is called and checked against its own schema."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from jsonschema_path import SchemaPath
from openapi_core import V30ResponseValidator, V31ResponseValidator
from openapi_core.testing import MockRequest, MockResponse

from orchestrator.sandbox import EffectLedger, load_documents
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.served_operations import OperationKind, ServedOperation
from orchestrator.sandbox.synthesis import Scene, Synthesizer

SPECS = Path(__file__).parents[3] / "specs"
RAW = load_documents([SPECS])
DOCUMENTS = {name: read_document(name, raw) for name, raw in RAW.items()}
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
CREDENTIALS = {"Authorization": "Bearer token", "X-Api-Key": "key"}
# Dates that go together; everything else is made from the schemas.
SPANS = {
    "departure_date": "2026-12-03",
    "return_date": "2026-12-06",
    "check_in": "2026-12-03",
    "check_out": "2026-12-06",
    "start_date": "2026-12-03",
    "end_date": "2026-12-06",
}
FIRST = (OperationKind.READ, OperationKind.CREATE, OperationKind.UPDATE)

Validator = V30ResponseValidator | V31ResponseValidator


class Driver:
    """Calls operations of one document with made arguments, and keeps the ids it receives."""

    def __init__(self, document: Document, http: httpx.AsyncClient, rng: Random) -> None:
        self.document = document
        self.http = http
        http.headers.update(CREDENTIALS)
        self.rng = rng
        self.chance = 0.5
        self.known: dict[str, Any] = {}
        self.validator = _response_validator(document)
        self.make = Synthesizer(document.book, {})

    async def call(
        self, operation: ServedOperation, said: dict[str, Any], *, is_bare: bool = False
    ) -> httpx.Response:
        """Make one call without optional inputs; its answer follows the document."""
        self.chance = 0.0 if is_bare else 0.5
        values = {
            p.name: self._value(p.name, p.schema, said)
            for p in operation.parameters
            if p.location in ("path", "query") and (p.required or self._wants(p.name, said))
        }
        path = operation.path
        for name in operation.path_names:
            path = path.replace(f"{{{name}}}", str(values.pop(name)))
        query = {name: _text(value) for name, value in values.items()}
        body = self._body(operation, said)
        response = await self.http.request(
            operation.method, self.document.prefix + path, params=query, json=body
        )
        self.check(operation, response)
        return response

    def check(self, operation: ServedOperation, response: httpx.Response) -> None:
        path = operation.path
        for name in operation.path_names:
            path = path.replace(f"{{{name}}}", "x")
        asked, headers = MockRequest("http://sandbox", operation.method, path), response.headers
        kind, status = headers["content-type"], response.status_code
        answered = MockResponse(response.content, status, dict(headers), kind)
        self.validator.validate(asked, answered)

    def learn(self, body: Any) -> None:
        """Keep the ids in an answer, those of its first item included."""
        if isinstance(body, list):
            self.learn(body[0] if body else None)
        if isinstance(body, dict):
            for name, value in body.items():
                if name in self.document.known_ids:
                    self.known[name] = value
                if isinstance(value, list):
                    self.learn(value)

    def _body(self, operation: ServedOperation, said: dict[str, Any]) -> Any:
        if operation.body_schema is None:
            return None
        hints = {**SPANS, **self.known, **said}
        scene = Scene(self.rng, NOW, NOW, hints, omit=lambda name: not self._wants(name, said))
        return self.make.object(operation.body_schema, scene)

    def _wants(self, name: str, said: dict[str, Any]) -> bool:
        if name == "client_reference" or name in said:
            return name in said
        return self.rng.random() < self.chance

    def _value(self, name: str, schema: Any, said: dict[str, Any]) -> Any:
        hints = {**SPANS, **self.known, **said}
        return self.make.value(schema, Scene(self.rng, NOW, NOW, hints), name=name)


def _response_validator(document: Document) -> Validator:
    raw = {key: value for key, value in document.raw.items() if key != "servers"}
    is_30 = str(raw["openapi"]).startswith("3.0")
    kind = V30ResponseValidator if is_30 else V31ResponseValidator
    # openapi-core reads application/json by itself, and no other kind of JSON.
    return kind(
        SchemaPath.from_dict(raw),
        extra_media_type_deserializers={"application/problem+json": json.loads},
    )


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _in_order(document: Document) -> Iterator[ServedOperation]:
    """Lists first: they give the ids that the others need; a create before what looks it up."""

    def rank(operation: ServedOperation) -> tuple[bool, bool, int]:
        needs = len(operation.input_names & document.known_ids)
        return (operation.kind is OperationKind.CANCEL, operation.list_name is None, needs)

    return iter(sorted(document.operations, key=rank))


@pytest.fixture(params=range(3), ids="seed{}".format)
def rng(request: pytest.FixtureRequest) -> Random:
    return Random(request.param)


@pytest.fixture(params=sorted(DOCUMENTS))
def document(request: pytest.FixtureRequest) -> Document:
    return DOCUMENTS[request.param]


async def test_every_operation_answers_as_its_document_says(
    document: Document, rng: Random, open_app: Callable[..., Any], ledger: EffectLedger
) -> None:
    """Searches, creates, looks and cancels all succeed and conform; nothing is left standing."""
    creates = [o for o in document.operations if o.kind is OperationKind.CREATE]
    async with open_app(documents={document.name: document.raw}) as http:
        driver = Driver(document, http, rng)
        references = {o.operation_id: f"m1.leg.{n}" for n, o in enumerate(creates)}
        called = await _drive(driver, references)

    assert sorted(called) == sorted(operation.operation_id for operation in document.operations)
    assert ledger.live() == []
    kinds = [effect.kind for effect in ledger.effects()]
    assert kinds.count("create") == kinds.count("cancel") == len(creates)


async def _drive(driver: Driver, references: dict[str, str]) -> list[str]:
    called: list[str] = []
    waiting = list(_in_order(driver.document))
    while waiting:
        operation = next(o for o in waiting if _is_ready(driver, o, called))
        waiting.remove(operation)
        said = _said(driver, operation, references)
        if operation.list_name is not None:
            # Without filters: their results may be empty, and later calls need ids.
            driver.learn((await driver.call(operation, said, is_bare=True)).json())
        response = await driver.call(operation, said)
        assert response.status_code == operation.success_status, response.text
        if operation.kind in FIRST:
            driver.learn(response.json())
        called.append(operation.operation_id)
    return called


def _is_ready(driver: Driver, operation: ServedOperation, called: list[str]) -> bool:
    if operation.kind is OperationKind.CANCEL:
        # A cancel runs last: some reads look for what it cancels.
        done = set(called)
        return all(o.operation_id in done for o in driver.document.operations if o.kind in FIRST)
    if "client_reference" in operation.input_names and operation.kind is OperationKind.READ:
        return any(o.operation_id in called for o in _makers(driver.document, operation))
    return operation.input_names & driver.document.known_ids <= set(driver.known)


def _said(driver: Driver, operation: ServedOperation, references: dict[str, str]) -> dict[str, Any]:
    """Return the client reference: a create's own, or that of what is looked up or cancelled."""
    if "client_reference" not in operation.input_names:
        return {}
    if operation.kind is OperationKind.CREATE:
        return {"client_reference": references[operation.operation_id]}
    if operation.cancel_for:
        return {"client_reference": references[operation.cancel_for]}
    maker = next(iter(_makers(driver.document, operation)))
    return {"client_reference": references[maker.operation_id]}


def _makers(document: Document, operation: ServedOperation) -> list[ServedOperation]:
    answered = set(document.book.properties(operation.answer_schema or {}))
    made = document.resource_ids
    return [o for o in document.operations if made.get(o.operation_id) in answered]


async def test_unknown_things_are_refused_as_the_document_says(
    document: Document, rng: Random, open_app: Callable[..., Any], ledger: EffectLedger
) -> None:
    """An unknown id is refused by a declared problem, and has no effect."""
    async with open_app(documents={document.name: document.raw}) as http:
        driver = Driver(document, http, rng)
        for operation in document.operations:
            unknown = operation.input_names & (document.known_ids | {"client_reference"})
            if not unknown or (
                operation.kind is OperationKind.CREATE and unknown == {"client_reference"}
            ):
                continue
            response = await driver.call(operation, dict.fromkeys(unknown, "never_given"))
            assert response.status_code in (404, 422), (operation.operation_id, response.text)
            assert response.headers["content-type"] == "application/problem+json"

    assert ledger.effects() == []


async def test_missing_input_is_refused_as_the_document_says(
    document: Document, open_app: Callable[..., Any]
) -> None:
    """A call without its required input gets a declared problem that names it."""
    async with open_app(documents={document.name: document.raw}) as http:
        driver = Driver(document, http, Random(0))
        for operation in document.operations:
            has_query = any(p.required and p.location == "query" for p in operation.parameters)
            if operation.path_names or not (operation.body_schema or has_query):
                continue
            body: Any = {} if operation.body_schema else None
            path = document.prefix + operation.path
            response = await http.request(operation.method, path, json=body)
            driver.check(operation, response)
            assert response.status_code in (400, 422), operation.operation_id
            assert response.json()["errors"]
