"""The catalog: what it loads, what it refuses, and the digest that names it."""

import contextlib
import copy
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rfc8785
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog, content_digest, pack, unpack
from orchestrator.catalog.tool import Effect
from orchestrator.core.errors import DocumentInvalid, DocumentUnreadable, ToolNotFound, UsageError
from orchestrator.json_schema.canonical import canonical_text


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


def test_a_catalog_made_again_from_its_documents_is_the_same(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    """The stored documents suffice to compile the catalog again, other files included."""
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


def test_an_unknown_tool_is_refused_with_near_names(shop: dict[str, Any]) -> None:
    """The error suggests what was probably meant, and only that."""
    catalog = Catalog.from_documents({"shop": shop})

    with pytest.raises(ToolNotFound) as near:
        catalog.tool("shop_cancle_order")
    with pytest.raises(ToolNotFound) as far:
        catalog.tool("zzzzqqqq")

    assert "did you mean shop_cancel_order" in str(near.value)
    assert "did you mean" not in str(far.value)
    assert "orchestrator tools list" in str(far.value)


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
    """A README, an overlay, a JSON Schema and a folder next to the documents are ignored."""
    (tmp_path / "shop.json").write_text(json.dumps(shop))
    (tmp_path / "README.md").write_text("# not a document")
    (tmp_path / "contract.json").write_text('{"$schema": "x", "type": "object"}')
    (tmp_path / "mine.overlay.yaml").write_text("overlay: 1.0.0\nactions: []")
    (tmp_path / "deeper.yaml").mkdir()

    assert list(Catalog.load(tmp_path).documents) == ["shop"]


def test_what_cannot_be_loaded_is_refused(shop: dict[str, Any], tmp_path: Path) -> None:
    """An empty folder, nothing, a missing file, no document, and two files of one stem."""
    with pytest.raises(UsageError, match="no OpenAPI document"):
        Catalog.load(tmp_path)
    with pytest.raises(UsageError):
        Catalog.load()
    with pytest.raises(DocumentUnreadable, match=r"nowhere\.yaml"):
        Catalog.load(tmp_path / "nowhere.yaml")
    (tmp_path / "x.yaml").write_text("type: object")
    with pytest.raises(DocumentInvalid, match="openapi"):
        Catalog.load(tmp_path / "x.yaml")
    for suffix in ("json", "yaml"):
        (tmp_path / f"shop.{suffix}").write_text(json.dumps(shop))
    with pytest.raises(DocumentInvalid, match="rename"):
        Catalog.load(tmp_path)


def test_functions_are_read_wrapped_and_bare() -> None:
    """With the examples under either name; flat, as the Responses API writes them, too."""
    schema = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    weather = {
        "name": "open_weather",
        "description": "Get the weather of a city.",
        "x-orqen-examples": ["weather in London"],
        "parameters": schema,
    }
    strict = {**schema, "additionalProperties": False}
    catalog = Catalog.from_functions(
        [
            {"type": "function", "function": weather},
            {"name": "math.factorial", "domain": "math", "examples": ["5!"], "parameters": None},
            {"type": "function", "name": "flat", "parameters": strict, "strict": True},
        ]
    )

    wrapped, bare = catalog.tool("open_weather"), catalog.tool("math.factorial")
    assert (wrapped.required_inputs, wrapped.effect) == (("city",), Effect.READ)
    assert wrapped.examples == ("weather in London",)
    assert (bare.domain, bare.properties, bare.examples) == ("math", {}, ("5!",))
    assert catalog.tool("flat").input_schema == strict


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


_ROOT = Path(__file__).parents[3]
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)
_ONE_CHANGE = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(_JSON)
@example([1.0, 1e21, 1e-7, {"\U0001f600": 1, "\ufb33": 2}])
def test_the_canonical_text_is_that_of_rfc_8785(value: Any) -> None:
    """Numbers, escapes and the order of keys are the standard's; large integers are texts."""
    assert canonical_text(value).encode() == rfc8785.dumps(value)
    assert canonical_text(2**53) == '"9007199254740992"'


def test_files_in_any_order_and_notation_give_one_digest(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    """SHA-256 of the canonical JSON of documents and tools, whatever the folder is called."""
    for name in "ab":
        document = json.loads(json.dumps(shop).replace("shop_", f"{name}_"))
        for suffix, text in (("json", json.dumps(document)), ("yaml", yaml.safe_dump(document))):
            (tmp_path / suffix).mkdir(exist_ok=True)
            (tmp_path / suffix / f"{name}.{suffix}").write_text(text)

    catalog = Catalog.load(tmp_path / "json")

    both = [tmp_path / "json" / f"{name}.json" for name in "ba"]
    for others in (both, both[::-1], [tmp_path / "yaml" / ".." / "yaml"]):
        assert Catalog.load(*others).digest == catalog.digest
    tools: dict[str, Any] = {name: tool.as_json() for name, tool in catalog.tools.items()}
    documents: dict[str, Any] = dict(catalog.documents)
    text = canonical_text({"documents": documents, "tools": tools})
    assert catalog.digest == hashlib.sha256(text.encode()).hexdigest()
    assert catalog.digest == content_digest(documents, tools)


def test_the_digest_does_not_depend_on_the_machine(shop: dict[str, Any], tmp_path: Path) -> None:
    """Another folder, another working directory, another order of hashing: the same digest."""
    schema = shop["paths"]["/orders"]["get"]["responses"]["200"]["content"]["application/json"]
    schema["schema"] = {"$ref": "shared/order.yaml#/Order"}
    digests = set()
    for number in range(2):
        folder = tmp_path / f"machine-{number}" / "specs"
        (folder / "shared").mkdir(parents=True)
        (folder / "shop.yaml").write_text(yaml.safe_dump(shop))
        (folder / "shared" / "order.yaml").write_text(
            "Order: {type: object, properties: {next: {$ref: '#/Order'}}}"
        )
        script = "from orchestrator.catalog.catalog import Catalog as C; print(C.load('.').digest)"
        ran = subprocess.run(
            [sys.executable, "-c", script],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(ran.stdout)

    assert len(digests) == 1


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(child, dict | list):
            yield from _leaves(child, (*path, key))
        else:
            yield (*path, key)


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


@pytest.fixture
def compiled(shop: dict[str, Any]) -> Catalog:
    """The shop, compiled."""
    return Catalog.from_documents({"shop": shop})


@given(data=st.data())
@_ONE_CHANGE
def test_any_change_of_content_gives_another_digest(
    shop: dict[str, Any], compiled: Catalog, data: st.DataObject
) -> None:
    """Whatever value of the document changes, as far as it still compiles."""
    changed = copy.deepcopy(shop)
    *way, last = data.draw(st.sampled_from(list(_leaves(changed))))
    holder = changed
    for step in way:
        holder = holder[step]
    holder[last] = _changed(holder[last])
    digest = None
    with contextlib.suppress(DocumentInvalid):
        digest = Catalog.from_documents({"shop": changed}).digest

    assert digest != compiled.digest


@given(data=st.data())
@_ONE_CHANGE
def test_any_change_of_a_compiled_tool_gives_another_digest(
    shop: dict[str, Any], compiled: Catalog, data: st.DataObject
) -> None:
    """The digest covers what was compiled, not only what it was compiled from."""
    tools = {name: copy.deepcopy(tool.as_json()) for name, tool in compiled.tools.items()}
    *way, last = data.draw(st.sampled_from(list(_leaves(tools))))
    holder: Any = tools
    for step in way:
        holder = holder[step]
    holder[last] = _changed(holder[last])

    assert content_digest({"shop": shop}, dict(tools)) != compiled.digest


def test_a_catalog_survives_being_packed(shop: dict[str, Any]) -> None:
    """Shared definitions are packed once, and come back shared."""
    tree = {"type": "object", "properties": {"below": {"$ref": "#/components/schemas/Tree"}}}
    shop["components"] = {"schemas": {"Tree": tree}}
    for path, method in (("/orders", "get"), ("/orders", "post"), ("/cancel", "post")):
        answer = next(iter(shop["paths"][path][method]["responses"].values()))
        schema = answer["content"]["application/json"]["schema"]
        schema["properties"] = {
            **schema["properties"],
            "tree": {"$ref": "#/components/schemas/Tree"},
        }
    catalog = Catalog.from_documents({"shop": shop})

    packed = json.loads(json.dumps(pack(catalog)))
    again = unpack(packed, catalog.digest)

    assert len(packed["shared"]) == 1
    assert dict(again.tools) == dict(catalog.tools)
    assert again.digest == catalog.digest
    found = {id(tool.output_schema["$defs"]["Tree"]) for tool in again.tools.values()}  # type: ignore[index,call-overload]
    assert len(found) == 1
