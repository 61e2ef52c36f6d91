"""Operations compiled to tools: names, effects, confirmation, servers, credentials."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.compile import compile_documents
from orchestrator.catalog.lint import lint
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import DocumentInvalid

Make = Callable[..., dict[str, Any]]


def compiled(document: dict[str, Any]) -> Tool:
    (tool,) = compile_documents({"things": document}).tools.values()
    return tool


def test_only_exposed_operations_become_tools(shop: dict[str, Any]) -> None:
    """An operation without x-orchet-tool: true is no tool, and may even lack an operationId."""
    shop["paths"]["/internal"] = {"post": {"responses": {}}}
    shop["paths"]["x-owner"] = "team"
    shop["paths"]["/hidden"] = {"get": {"operationId": "x y", "x-orchet-tool": False}}

    assert set(compile_documents({"shop": shop}).tools) == {
        "shop_place_order",
        "shop_find_order",
        "shop_cancel_order",
    }


def test_the_words_of_the_operation_are_kept(shop: dict[str, Any], one_operation: Make) -> None:
    """Summary, tags, hints and the server; without a tag the domain is the document."""
    operation = shop["paths"]["/orders"]["get"]
    operation["x-orchet-intent-tags"] = ["shop.order.find"]
    operation["x-orqen-examples"] = ["where is my order"]
    operation["x-orchet-load-policy"] = "core"

    tool = compile_documents({"shop": shop}).tools["shop_find_order"]

    assert tool.summary == "Find an order by your reference."
    assert (tool.document, tool.domain) == ("shop", "shop")
    assert (tool.method, tool.path) == ("GET", "/orders")
    assert tool.intent_tags == ("shop.order.find",)
    assert tool.examples == ("where is my order",)
    assert tool.load_policy == "core"
    assert tool.server == "http://{host}/shop"
    assert tool.server_variables == {"host": "127.0.0.1:8700"}
    assert compiled(one_operation()).domain == "things"


ASKS, TYPED = "x-orchet-requires-confirmation", "structured-order"
READS, FINAL, CANCELS = "x-orchet-read-only", "x-orchet-irreversible", "x-orchet-cancel-for"
OPENAI, OTHER = "x-openai-isConsequential", "x-requireConfirmation"


@pytest.mark.parametrize(
    ("method", "keywords", "effect", "card"),
    [
        ("get", {}, Effect.READ, None),
        ("head", {}, Effect.READ, None),
        ("post", {}, Effect.WRITE, DEFAULT_CARD),
        ("delete", {}, Effect.WRITE, DEFAULT_CARD),
        ("get", {ASKS: True}, Effect.READ, DEFAULT_CARD),
        ("post", {ASKS: True}, Effect.WRITE, DEFAULT_CARD),
        ("post", {ASKS: TYPED}, Effect.WRITE, TYPED),
        ("post", {ASKS: False}, Effect.WRITE, None),
        ("post", {READS: True}, Effect.READ, None),
        ("post", {READS: False}, Effect.WRITE, DEFAULT_CARD),
        ("get", {READS: False}, Effect.WRITE, DEFAULT_CARD),
        ("post", {READS: True, ASKS: True}, Effect.READ, DEFAULT_CARD),
        # A DELETE is never a read.
        ("delete", {READS: True}, Effect.WRITE, DEFAULT_CARD),
        ("delete", {READS: True, ASKS: False}, Effect.WRITE, None),
        # A declared consequence holds, on whatever method.
        ("get", {FINAL: True}, Effect.WRITE, DEFAULT_CARD),
        ("post", {FINAL: True, READS: True}, Effect.WRITE, DEFAULT_CARD),
        ("get", {FINAL: False}, Effect.READ, None),
        ("post", {OPENAI: True}, Effect.WRITE, DEFAULT_CARD),
        ("post", {OPENAI: False}, Effect.WRITE, None),
        ("get", {OPENAI: True}, Effect.READ, DEFAULT_CARD),
        ("post", {OTHER: False}, Effect.WRITE, None),
        # A value that is not a boolean is ignored, so the tool asks.
        ("post", {OPENAI: "false"}, Effect.WRITE, DEFAULT_CARD),
        ("post", {OTHER: None}, Effect.WRITE, DEFAULT_CARD),
        ("post", {OPENAI: False, OTHER: True}, Effect.WRITE, DEFAULT_CARD),
        ("post", {ASKS: TYPED, OPENAI: False}, Effect.WRITE, TYPED),
        ("post", {CANCELS: "b"}, Effect.CANCEL, None),
        ("post", {CANCELS: "b", READS: True}, Effect.CANCEL, None),
        ("post", {CANCELS: "b", ASKS: True}, Effect.CANCEL, None),
    ],
)
def test_effect_and_card_follow_the_contract(
    one_operation: Make, method: str, keywords: dict[str, Any], effect: Effect, card: str | None
) -> None:
    """Effect and asking are two facts: that nobody is asked does not make a call a read."""
    document = one_operation(method=method)
    document["paths"]["/thing"][method].update(keywords)

    tool = compiled(document)

    assert (tool.effect, tool.card_type) == (effect, card)


@pytest.mark.parametrize("method", ["post", "get"])
@pytest.mark.parametrize(
    ("keywords", "card"),
    [
        ({"x-orchet-requires-confirmation": False}, None),
        ({"x-orchet-read-only": True}, DEFAULT_CARD),
        ({"x-orchet-irreversible": True}, DEFAULT_CARD),
    ],
)
def test_what_can_be_cancelled_is_an_obligation_whatever_else_is_said(
    shop: dict[str, Any], method: str, keywords: dict[str, Any], card: str | None
) -> None:
    """A declared cancel tool is a declared consequence; silence about asking means that it asks."""
    operation = shop["paths"]["/orders"].pop("post")
    del operation["x-orchet-requires-confirmation"]
    shop["paths"]["/ordering"] = {method: operation | keywords}

    tool = compile_documents({"shop": shop}).tools["shop_place_order"]

    assert (tool.effect, tool.card_type) == (Effect.OBLIGATION, card)


def test_what_nothing_cancels_is_said_and_otherwise_not_written(shop: dict[str, Any]) -> None:
    """Catalogs that do not use it keep the content, and so the digest, that they had before."""
    operation = shop["paths"]["/orders"]["post"]
    before = compile_documents({"shop": shop}).tools["shop_place_order"]
    del operation["x-orchet-cancels"]
    operation["x-orchet-irreversible"] = True

    tool = compile_documents({"shop": shop}).tools["shop_place_order"]

    assert "irreversible" not in before.as_json()
    assert Tool.model_validate(before.as_json()) == before
    assert (tool.effect, tool.irreversible, tool.compensation) == (Effect.WRITE, True, None)
    assert Tool.model_validate(tool.as_json()) == tool


@pytest.mark.parametrize(
    ("schemes", "variable"),
    [
        ({"Shop": "key", "shop": "key"}, "ORCHESTRATOR_SECRET_SHOP__KEY"),
        ({"shop": "key", "SHOP": "Key_File"}, "ORCHESTRATOR_SECRET_SHOP__KEY_FILE"),
    ],
)
def test_secrets_of_two_documents_in_one_variable_are_refused(
    one_operation: Make, schemes: dict[str, str], variable: str
) -> None:
    """The sentence says which two, and what to rename; a scheme that no tool uses is no matter."""
    documents = {
        name: _secured(one_operation(), scheme, operation=f"{name}_op")
        for name, scheme in schemes.items()
    }

    with pytest.raises(DocumentInvalid, match=f"{variable}; rename one") as refused:
        compile_documents(documents)
    assert all(name in str(refused.value) for name in schemes)
    for document in documents.values():
        document["security"] = []
    assert len(compile_documents(documents).tools) == 2


def test_similar_names_of_documents_have_secrets_of_their_own(one_operation: Make) -> None:
    """`shop` with `pay_key` and `shop_pay` with `key`; a dash is no underscore."""
    schemes = {"shop": "pay_key", "shop_pay": "key", "my-bank": "key", "my_bank": "key"}
    documents = {
        name: _secured(one_operation(), scheme, operation=f"op{number}")
        for number, (name, scheme) in enumerate(schemes.items())
    }

    assert len(compile_documents(documents).tools) == len(schemes)


def _secured(document: dict[str, Any], scheme: str, *, operation: str) -> dict[str, Any]:
    secured = copy.deepcopy(document)
    (item,) = secured["paths"].values()
    next(iter(item.values()))["operationId"] = operation
    secured["components"] = {"securitySchemes": {scheme: {"type": "http", "scheme": "bearer"}}}
    return {**secured, "security": [{scheme: []}]}


def test_the_first_success_with_json_is_the_answer(one_operation: Make) -> None:
    """204 has no body, so the answer of 207 counts; errors never do."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    json_answer = {"description": "x", "content": {"application/hal+json": {"schema": schema}}}
    responses = {
        "default": json_answer,
        "207": json_answer,
        "204": {"description": "nothing"},
        "400": {
            "description": "x",
            "content": {"application/json": {"schema": {"type": "string"}}},
        },
    }

    assert compiled(one_operation(responses=responses)).output_schema == schema


def test_personal_fields_are_named_by_input(one_operation: Make, json_body: Make) -> None:
    """A wire name that the input schema had to rename is found under its new name."""
    body = json_body({"type": "object", "properties": {"email": {"type": "string"}}})
    document = one_operation(
        method="post",
        path="/t/{email}",
        parameters=[{"name": "email", "in": "path", "schema": {"type": "string"}}],
        requestBody=body,
    )
    document["paths"]["/t/{email}"]["post"]["x-orchet-pii-required"] = ["email", "body_email"]

    assert compiled(document).pii_fields == ("email", "body_email")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"x-orchet-tool": "yes"}, "x-orchet-tool"),
        ({ASKS: 1}, ASKS),
        ({READS: "yes"}, READS),
        ({"parameters": [{"in": "query"}]}, "parameters/0"),
        ({"responses": []}, "responses"),
    ],
)
def test_what_cannot_be_compiled_is_skipped_where_it_stands(
    one_operation: Make, change: dict[str, Any], place: str
) -> None:
    """The error has the JSON pointer of the value."""
    document = one_operation()
    document["paths"]["/thing"]["get"].update(change)

    tools, (skipped,), _ = compile_documents({"things": document})

    assert tools == {}
    assert (skipped.document, skipped.pointer) == ("things", f"/paths/~1thing/get/{place}")
    assert skipped.reason and skipped.remedy


@pytest.mark.parametrize("version", [None, "4.2.0", 3.5, True, "2.0.0"])
def test_other_versions_are_refused(version: Any) -> None:
    """Only OpenAPI 3.0 to 3.2 are read; a command converts Swagger 2.0."""
    with pytest.raises(DocumentInvalid):
        compile_documents({"things": {"openapi": version}})
    with pytest.raises(DocumentInvalid) as refused:
        compile_documents({"things": {"swagger": "2.0", "paths": {}}})
    assert "npx --yes swagger2openapi" in refused.value.remedy


@pytest.mark.parametrize("version", ["3.0", "3.0.4", 3.0, "3.1", 3.1, "3.1.2", "3.2.0", 3.2])
def test_a_version_is_understood_without_its_last_part(one_operation: Make, version: Any) -> None:
    """In YAML an unquoted version is a number."""
    document = {**one_operation(), "openapi": version}

    assert len(compile_documents({"things": document}).tools) == 1


FIND, PLACE, CANCEL = "shop_find_order", "shop_place_order", "shop_cancel_order"


def operation(shop: dict[str, Any], name: str) -> dict[str, Any]:
    """The operation of that id."""
    return next(
        op for path in shop["paths"].values() for op in path.values() if op["operationId"] == name
    )


def broken(name: str, shop: dict[str, Any]) -> Catalog:
    """The catalog when a parameter of that operation refers to nothing."""
    operation(shop, name).setdefault("parameters", []).append({"$ref": "#/components/gone"})
    return Catalog.from_documents({"shop": shop})


def test_the_others_go_on(shop: dict[str, Any]) -> None:
    """A skipped operation has a place, a reason and a fix, and is no part of the digest."""
    shop["paths"]["/orders"]["delete"] = {
        "x-orchet-tool": True,
        "operationId": "shop_purge",
        "parameters": [{"name": "x", "in": "nowhere"}],
        "responses": {},
    }
    catalog = Catalog.from_documents({"shop": shop})

    (skipped,) = catalog.skipped
    assert sorted(catalog.tools) == [CANCEL, FIND, PLACE]
    assert (skipped.document, skipped.operation) == ("shop", "shop_purge")
    assert skipped.pointer == "/paths/~1orders/delete/parameters/0/in"
    assert catalog.digest == Catalog(catalog.documents, catalog.tools).digest


def test_what_it_says_is_personal_stays_known(shop: dict[str, Any]) -> None:
    """A start may bring it all the same."""
    operation(shop, PLACE)["x-orchet-pii-required"] = ["buyer_email"]

    named = {one.operation: one.personal for one in broken(PLACE, shop).skipped}

    assert named[PLACE] == ("buyer_email",)


@pytest.mark.parametrize(
    ("broken_one", "named_by", "keyword", "left"),
    [
        (CANCEL, PLACE, "x-orchet-cancels", {FIND}),
        # It cancels nothing unasked where its contract is not there.
        (FIND, PLACE, "x-orchet-compensation-probe", {CANCEL}),
        (FIND, CANCEL, "x-orchet-cancels", set()),
    ],
)
def test_what_needs_a_skipped_tool_is_skipped_with_it(
    shop: dict[str, Any], broken_one: str, named_by: str, keyword: str, left: set[str]
) -> None:
    """A cancel, a probe, and a chain of contracts to its end."""
    operation(shop, named_by)[keyword] = broken_one
    catalog = broken(broken_one, shop)

    found = {skipped.operation: skipped for skipped in catalog.skipped}
    assert set(catalog.tools) == left
    assert set(found) == {FIND, PLACE, CANCEL} - left
    assert found[named_by].pointer.endswith(f"/{keyword}")
    assert found[named_by].remedy == f"fix '{broken_one}' first"


def test_a_contract_that_names_a_repeated_operation_id_is_skipped(shop: dict[str, Any]) -> None:
    """Two possible cancel tools name none."""
    shop["paths"]["/other"] = {"delete": {**operation(shop, CANCEL)}}
    catalog = Catalog.from_documents({"shop": shop})

    assert PLACE not in catalog.tools
    assert "several operations have the operationId" in catalog.skipped[0].reason


def test_a_contract_may_name_what_cannot_be_a_name(shop: dict[str, Any]) -> None:
    """A contract uses the operationId as written; the compensation calls the tool by its name."""
    operation(shop, CANCEL)["operationId"] = "orders/cancel"
    operation(shop, PLACE)["x-orchet-cancels"] = "orders/cancel"
    operation(shop, PLACE)["operationId"] = "orders/place"
    operation(shop, "orders/cancel")["x-orchet-cancel-for"] = "orders/place"
    catalog = Catalog.from_documents({"shop": shop})

    place = catalog.tool("orders_place")
    assert place.compensation is not None
    assert place.compensation.cancel.tool == "orders_cancel"
    assert catalog.tool("orders_cancel").cancel_for == "orders_place"


@pytest.mark.parametrize(
    ("path_item", "pointer"),
    [
        ("a word", "/paths/~1odd"),
        ({"$ref": "#/components/pathItems/Gone"}, "/paths/~1odd"),
        ({"get": ["x"]}, "/paths/~1odd/get"),
        ({"get": {"$ref": "#/nowhere"}}, "/paths/~1odd/get"),
        ({"get": {"x-orchet-tool": "yes"}}, "/paths/~1odd/get/x-orchet-tool"),
        ({"query": {"x-orchet-tool": True}}, "/paths/~1odd/query"),
        (
            {"additionalOperations": {"COPY": {"x-orchet-tool": True}}},
            "/paths/~1odd/additionalOperations/COPY",
        ),
    ],
)
def test_a_path_that_cannot_be_read_costs_that_path(
    shop: dict[str, Any], path_item: Any, pointer: str
) -> None:
    """The linter has an error for it."""
    shop["paths"]["/odd"] = path_item
    catalog = Catalog.from_documents({"shop": shop})

    assert [skipped.pointer for skipped in catalog.skipped] == [pointer]
    assert len(catalog) == 3
    assert any(f.severity == "error" and f.pointer == pointer for f in lint({"shop": shop}))


def test_what_stands_beside_a_reference_counts(shop: dict[str, Any]) -> None:
    """An overlay marks an operation of another file next to the reference to it."""
    elsewhere = operation(shop, FIND)
    del elsewhere["x-orchet-tool"]
    shop["components"] = {"pathItems": {"Orders": {"get": elsewhere, "summary": "There"}}}
    shop["paths"]["/orders"]["get"] = {
        "$ref": "#/components/pathItems/Orders/get",
        "x-orchet-tool": True,
        "summary": "Find one.",
    }
    shop["paths"]["/again"] = {
        "$ref": "#/components/pathItems/Orders",
        "put": {"operationId": "again", "x-orchet-tool": True, "responses": {}},
    }
    catalog = Catalog.from_documents({"shop": shop})

    assert catalog.tool(FIND).summary == "Find one."
    assert catalog.tool(FIND).properties
    assert catalog.tool("again").path == "/again"
