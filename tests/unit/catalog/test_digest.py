"""The digest: equal for equal content wherever it comes from, another for any change."""

import contextlib
import copy
import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rfc8785
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.catalog.catalog import Catalog, content_digest, pack, unpack
from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.canonical import canonical_text

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
def test_the_canonical_text_is_that_of_rfc_8785(value: Any) -> None:
    """Whichever encoder wrote it: numbers, escapes and the order of keys are the standard's."""
    assert canonical_text(value).encode() == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (2**53, '"9007199254740992"'),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),
        (
            {"b": [2.0, "\u20ac"], "a": {"z": True, "y": None}},
            '{"a":{"y":null,"z":true},"b":[2,"€"]}',
        ),
    ],
)
def test_what_python_writes_otherwise_is_written_as_the_rfc_says(value: Any, text: str) -> None:
    """Numbers as ECMAScript does, keys by UTF-16 code units, large integers as strings."""
    assert canonical_text(value) == text


def test_the_digest_is_that_of_one_canonical_value(shop: dict[str, Any]) -> None:
    """However it is computed: SHA-256 of the canonical JSON of documents and tools."""
    catalog = Catalog.from_documents({"shop": shop})
    tools: dict[str, Any] = {name: tool.as_json() for name, tool in catalog.tools.items()}

    assert catalog.digest == content_digest({"shop": shop}, tools)
    text = canonical_text({"documents": {"shop": shop}, "tools": tools}).encode()
    assert catalog.digest == hashlib.sha256(text).hexdigest()


def test_files_in_any_order_and_notation_give_one_digest(
    shop: dict[str, Any], tmp_path: Path
) -> None:
    """So do the folder that holds them, and another way to spell where they are."""
    documents = [json.loads(json.dumps(shop).replace("shop_", f"{name}_")) for name in "abc"]
    for name, document in zip("abc", documents, strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    as_yaml = tmp_path / "yaml"
    as_yaml.mkdir()
    for name, document in zip("abc", documents, strict=True):
        (as_yaml / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=True))

    digests = {
        Catalog.load(*files).digest
        for files in itertools.permutations(tmp_path / f"{name}.json" for name in "abc")
    }
    digests |= {Catalog.load(tmp_path).digest, Catalog.load(as_yaml).digest}
    digests |= {Catalog.load(as_yaml / ".." / "yaml").digest}

    assert len(digests) == 1


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
