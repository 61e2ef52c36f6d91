"""One bad operation costs one operation; and none that cannot be undone is left in its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.core.errors import SkippedWarning

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
    """What is skipped has its place, its reason and what mends it, and is no part of the digest."""
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
    assert "nowhere" in skipped.reason
    assert skipped.remedy
    assert catalog.digest == Catalog(catalog.documents, catalog.tools).digest


def test_what_it_says_is_personal_stays_known(shop: dict[str, Any]) -> None:
    """A start may bring it all the same."""
    operation(shop, PLACE)["x-orchet-pii-required"] = ["buyer_email"]

    named = {one.operation: one.personal for one in broken(PLACE, shop).skipped}

    assert named[PLACE] == ("buyer_email",)


def test_what_would_be_undone_by_a_skipped_tool_is_skipped_with_it(shop: dict[str, Any]) -> None:
    """An obligation without its cancel tool would be one that nobody can take back."""
    catalog = broken(CANCEL, shop)

    reasons = {s.operation: s for s in catalog.skipped}
    assert set(catalog.tools) == {FIND}
    assert set(reasons) == {PLACE, CANCEL}
    assert reasons[PLACE].pointer.endswith("/post/x-orchet-cancels")
    assert f"'{CANCEL}', which it names, is skipped itself" in reasons[PLACE].reason
    assert reasons[PLACE].remedy == f"mend '{CANCEL}' first"


def test_so_is_what_is_probed_by_a_skipped_tool(shop: dict[str, Any]) -> None:
    """Without its probe it could not be told whether a call arrived."""
    operation(shop, PLACE)["x-orchet-compensation-probe"] = FIND
    catalog = broken(FIND, shop)

    assert PLACE not in catalog.tools
    assert CANCEL in catalog.tools, "it undoes nothing unasked where its contract is not there"


def test_a_chain_of_contracts_is_skipped_to_its_end(shop: dict[str, Any]) -> None:
    """What undoes is undone by what is skipped: none of the three is left."""
    operation(shop, CANCEL)["x-orchet-cancels"] = FIND
    catalog = broken(FIND, shop)

    assert catalog.tools == {}
    assert len(catalog.skipped) == 3


def test_a_contract_that_names_a_repeated_operation_id_is_skipped(shop: dict[str, Any]) -> None:
    """Of two cancel tools it is not said which is meant."""
    shop["paths"]["/other"] = {"delete": {**operation(shop, CANCEL)}}
    catalog = Catalog.from_documents({"shop": shop})

    assert PLACE not in catalog.tools
    assert "several operations have the operationId" in catalog.skipped[0].reason


def test_a_contract_may_name_what_cannot_be_a_name(shop: dict[str, Any]) -> None:
    """By the operationId as written; the compensation calls the tool by its name."""
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
    """And the linter has an error for it."""
    shop["paths"]["/odd"] = path_item
    catalog = Catalog.from_documents({"shop": shop})

    assert [skipped.pointer for skipped in catalog.skipped] == [pointer]
    assert len(catalog) == 3
    assert any(f.severity == "error" and f.pointer == pointer for f in lint({"shop": shop}))


def test_what_stands_beside_a_reference_counts(shop: dict[str, Any]) -> None:
    """An operation written elsewhere is marked by an overlay beside its reference."""
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


def test_loading_tells_what_is_skipped(shop: dict[str, Any], tmp_path: Path) -> None:
    """A warning each, for whoever reads no list."""
    operation(shop, PLACE)["x-orchet-load-policy"] = "eager"
    (tmp_path / "shop.json").write_text(json.dumps(shop))

    with pytest.warns(SkippedWarning, match=f"{PLACE} of shop is skipped: .*core or deferred"):
        Catalog.load(tmp_path)
