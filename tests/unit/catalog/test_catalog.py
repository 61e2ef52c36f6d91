"""The catalog: what it loads, what it refuses, and the digest that names it."""

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect
from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable, ToolNotFound, UsageError


def reordered(value: Any, random: Random) -> Any:
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = random.sample(list(value), len(value))
        return {key: reordered(value[key], random) for key in keys}
    if isinstance(value, list):
        return [reordered(item, random) for item in value]
    return value


@given(random=st.randoms(use_true_random=True))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_digest_does_not_depend_on_the_order_of_keys(
    shop: dict[str, Any], random: Random
) -> None:
    """Any order of the keys of any object gives the same digest."""
    shuffled = reordered(shop, random)

    assert (
        Catalog.from_documents({"shop": shuffled}).digest
        == Catalog.from_documents({"shop": shop}).digest
    )


def test_the_digest_does_not_depend_on_the_order_of_documents(shop: dict[str, Any]) -> None:
    """Documents are a set."""
    other = json.loads(json.dumps(shop).replace("shop_", "store_"))

    one = Catalog.from_documents({"a": shop, "b": other})
    two = Catalog.from_documents({"b": other, "a": shop})

    assert one.digest == two.digest


def test_the_digest_depends_on_content(shop: dict[str, Any]) -> None:
    """A word that changes in a document changes the name of the catalog."""
    changed = copy.deepcopy(shop)
    changed["info"]["title"] = "Store"

    assert (
        Catalog.from_documents({"shop": changed}).digest
        != Catalog.from_documents({"shop": shop}).digest
    )


def test_the_digest_takes_integers_of_any_size(shop: dict[str, Any]) -> None:
    """Limits of 64 bits, which no double holds, still tell catalogs apart."""
    limits = [2**63 - 1, 2**63 - 2]
    digests = set()
    for limit in limits:
        shop["paths"]["/orders"]["get"]["parameters"][0]["schema"]["maxLength"] = limit
        digests.add(Catalog.from_documents({"shop": shop}).digest)

    assert len(digests) == 2


def test_a_catalog_made_again_from_its_documents_is_the_same(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    """What is stored of a catalog suffices to make it again, other files included."""
    schema = shop["paths"]["/orders"]["get"]["responses"]["200"]["content"]["application/json"]
    schema["schema"] = {"$ref": "shared/order.yaml#/Order"}
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(shop))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "order.yaml").write_text(
        "Order: {type: object, properties: {line: {$ref: '#/Line'}}}\n"
        "Line: {type: object, properties: {order: {$ref: '#/Order'}, n: {$ref: 'n.json#/N'}}}\n"
    )
    (tmp_path / "shared" / "n.json").write_text('{"N": {"type": "integer"}}')

    loaded = Catalog.load(tmp_path)
    again = Catalog.from_documents(json.loads(json.dumps(dict(loaded.documents))))

    assert again.digest == loaded.digest
    assert again.tools == loaded.tools
    assert "integer" in str(loaded.tool("shop_find_order").output_schema)


def test_tools_are_sorted_by_name(shop: dict[str, Any]) -> None:
    """However the document orders them."""
    catalog = Catalog.from_documents({"shop": shop})

    assert list(catalog.tools) == ["shop_cancel_order", "shop_find_order", "shop_place_order"]
    assert len(catalog) == 3


def test_an_unknown_tool_is_refused_with_near_names(shop: dict[str, Any]) -> None:
    """The error suggests what was probably meant, and only that."""
    catalog = Catalog.from_documents({"shop": shop})

    with pytest.raises(ToolNotFound) as near:
        catalog.tool("shop_cancle_order")
    with pytest.raises(ToolNotFound) as far:
        catalog.tool("zzzzqqqq")

    assert near.value.near[0] == "shop_cancel_order"
    assert far.value.near == ()


def test_one_name_in_two_documents_names_neither(shop: dict[str, Any]) -> None:
    """Each is called after its document, and a contract still means the tool of its own."""
    catalog = Catalog.from_documents({"a": shop, "b": shop})

    place = catalog.tool("b_shop_place_order")
    assert "shop_place_order" not in catalog.tools
    assert len(catalog) == 6
    assert place.compensation is not None
    assert place.compensation.cancel.tool == "b_shop_cancel_order"
    assert catalog.tool("b_shop_cancel_order").cancel_for == "b_shop_place_order"


def test_a_folder_is_read_for_its_documents_only(shop: dict[str, Any], tmp_path: Path) -> None:
    """A README, an overlay, a JSON Schema and a folder beside the documents are passed over."""
    (tmp_path / "shop.json").write_text(json.dumps(shop))
    (tmp_path / "README.md").write_text("# not a document")
    (tmp_path / "contract.json").write_text('{"$schema": "x", "type": "object"}')
    (tmp_path / "mine.overlay.yaml").write_text("overlay: 1.0.0\nactions: []")
    (tmp_path / "deeper.yaml").mkdir()

    assert list(Catalog.load(tmp_path).documents) == ["shop"]


def test_json_and_yaml_give_the_same_catalog(shop: dict[str, Any], tmp_path: Path) -> None:
    """The notation of a file is not part of its content."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    (tmp_path / "one" / "shop.json").write_text(json.dumps(shop))
    (tmp_path / "two" / "shop.yml").write_text(yaml.safe_dump(shop))

    assert Catalog.load(tmp_path / "one").digest == Catalog.load(str(tmp_path / "two")).digest


def test_nothing_to_load_is_wrong_usage(tmp_path: Path) -> None:
    """An empty folder and no path at all are said to be so."""
    with pytest.raises(UsageError, match="no OpenAPI document"):
        Catalog.load(tmp_path)
    with pytest.raises(UsageError):
        Catalog.load()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error says which path cannot be read."""
    with pytest.raises(DocumentUnreadable, match=r"nowhere\.yaml"):
        Catalog.load(tmp_path / "nowhere.yaml")


def test_a_named_file_must_be_a_document(tmp_path: Path) -> None:
    """What a folder may hold besides is refused when it is asked for by name."""
    (tmp_path / "x.yaml").write_text("type: object")

    with pytest.raises(DocumentInvalid, match="openapi"):
        Catalog.load(tmp_path / "x.yaml")


def test_two_files_of_one_stem_are_refused(shop: dict[str, Any], tmp_path: Path) -> None:
    """A document is known by its stem, so there is one of each."""
    (tmp_path / "shop.json").write_text(json.dumps(shop))
    (tmp_path / "shop.yaml").write_text(json.dumps(shop))

    with pytest.raises(DocumentInvalid, match="rename"):
        Catalog.load(tmp_path)


def test_overlays_are_applied_in_order(shop: dict[str, Any], tmp_path: Path) -> None:
    """A document that knows nothing of tools becomes a catalog by overlays."""
    for path in shop["paths"].values():
        for operation in path.values():
            operation.pop("x-orchet-tool")
    (tmp_path / "shop.json").write_text(json.dumps(shop))
    target = "$.paths['/orders'].get"
    for name, update in (("a", "x-orchet-tool: true, summary: First"), ("b", "summary: Second")):
        (tmp_path / f"{name}.yaml").write_text(
            "overlay: 1.0.0\ninfo: {title: t, version: '1'}\n"
            f'actions: [{{target: "{target}", update: {{{update}}}}}]\n'
        )

    catalog = Catalog.load(
        tmp_path / "shop.json", overlays=[tmp_path / "a.yaml", tmp_path / "b.yaml"]
    )

    assert [tool.summary for tool in catalog.tools.values()] == ["Second"]


def test_functions_are_read_wrapped_and_bare() -> None:
    """Both forms of function tools compile, with the examples under either name."""
    schema = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    catalog = Catalog.from_functions(
        [
            {
                "type": "function",
                "function": {
                    "name": "open_weather",
                    "description": "Get the weather of a city.",
                    "x-orqen-examples": ["weather in London"],
                    "parameters": schema,
                },
            },
            {"name": "math.factorial", "domain": "math", "examples": ["5!"], "parameters": None},
        ]
    )

    weather, factorial = catalog.tool("open_weather"), catalog.tool("math.factorial")
    assert weather.required_inputs == ("city",)
    assert weather.examples == ("weather in London",)
    assert weather.effect is Effect.READ
    assert not weather.needs_confirmation
    assert (factorial.domain, factorial.properties) == ("math", {})
    assert factorial.examples == ("5!",)


def test_functions_as_the_responses_api_writes_them() -> None:
    """Flat, with `strict` and nullable inputs; what is not read is passed over."""
    parameters = {
        "type": "object",
        "required": ["city", "units"],
        "additionalProperties": False,
        "properties": {"city": {"type": "string"}, "units": {"type": ["string", "null"]}},
    }
    flat = {"type": "function", "name": "get_weather", "parameters": parameters, "strict": True}

    tool = Catalog.from_functions([flat]).tool("get_weather")

    assert tool.input_schema == parameters
    assert tool.required_inputs == ("city", "units")


def test_a_function_that_tells_its_method_is_believed() -> None:
    """GET reads; what changes something is confirmed first."""
    catalog = Catalog.from_functions(
        [{"name": "a", "method": "get"}, {"name": "b", "method": "DELETE", "path": "/x"}]
    )

    assert catalog.tool("a").effect is Effect.READ
    assert catalog.tool("b").effect is Effect.WRITE
    assert catalog.tool("b").needs_confirmation


@pytest.mark.parametrize(
    ("functions", "pointer"),
    [
        ([{"name": "a"}, {"name": "a"}], "/1"),
        ([{"description": "nameless"}], "/0/name"),
        ([{"name": "a", "parameters": []}], "/0/parameters"),
        ([{"name": "a", "parameters": {"type": "array"}}], "/0/parameters/type"),
        ([{"name": "a", "examples": "one"}], "/0/examples"),
    ],
)
def test_functions_at_fault_are_refused(functions: list[dict[str, Any]], pointer: str) -> None:
    """The error counts to the function."""
    with pytest.raises(DocumentInvalid) as refused:
        Catalog.from_functions(functions)

    assert refused.value.pointer == pointer
