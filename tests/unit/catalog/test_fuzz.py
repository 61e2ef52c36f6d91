"""Valid documents with random JSON put at random places: only our own errors come out."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.core.errors import DocumentInvalid
from orchestrator.planning.rules.items import answer_fields
from orchestrator.planning.rules.parameters import tool_parameters
from orchestrator.routing.cards.capability_card import make_card

_KEYWORDS = (
    "$ref allOf anyOf oneOf not if type properties required items enum const additionalProperties "
    "patternProperties pattern nullable discriminator readOnly writeOnly minimum exclusiveMinimum "
    "minProperties dependentRequired name in schema content style explode parameters requestBody "
    "responses servers url variables default security tags operationId summary description "
    "$id $anchor x-orchet-tool x-orchet-cancels x-orchet-cancel-for x-orchet-compensation-args "
    "x-orchet-compensation-probe x-orchet-compensation-timeout x-orchet-pii-required"
)
_TEXTS = (
    "#/components/schemas/Line #/components/schemas/Order #/paths #/ #/a/b other.yaml# https://x "
    "$request.body#/a $response.body $url ( ^a+$ string object array null query path cookie body "
    "#x shop_place_order shop_cancel_order shop_find_order application/json {} /a/{b} http://[ P1D "
    "application/x-www-form-urlencoded 3.0.3 3.1.0"
)
_WORDS = st.sampled_from([*_KEYWORDS.split(), *_TEXTS.split(), ""])
_NAMES = st.sampled_from(_KEYWORDS.split()) | st.text(max_size=4)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | _WORDS
    | st.text(max_size=6)
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)
_LINE = {
    "type": "object",
    "properties": {
        "order": {"$ref": "#/components/schemas/Order"},
        "quantity": {"type": "integer", "minimum": 1},
    },
}
_ORDER = {
    "oneOf": [{"$ref": "#/components/schemas/Line"}, {"type": "string"}],
    "discriminator": {"propertyName": "kind"},
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from _places(child, (*path, key))


def _mutated(document: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """The document with one to four values replaced, removed or added."""
    mutated = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 4))):
        *way, last = data.draw(st.sampled_from(list(_places(mutated)) or [("openapi",)]))
        holder = mutated
        for step in way:
            holder = holder[step]
        change = data.draw(st.sampled_from(("replace", "replace", "remove", "add")))
        if change == "remove":
            del holder[last]
        elif change == "add" and isinstance(holder, dict):
            holder[data.draw(_NAMES)] = data.draw(_JSON)
        else:
            holder[last] = data.draw(_JSON)
        if not mutated:
            break
    return mutated


_PATIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@given(data=st.data())
@settings(_PATIENT, max_examples=60)
def test_only_our_errors_come_out(shop: dict[str, Any], data: st.DataObject) -> None:
    """Each run takes other documents."""
    _only_our_errors_come_out(shop, data)


@pytest.mark.long
@given(data=st.data())
@settings(_PATIENT, max_examples=1_000)
def test_only_our_errors_come_out_of_many(shop: dict[str, Any], data: st.DataObject) -> None:
    """A longer run finds what a few documents do not show."""
    _only_our_errors_come_out(shop, data)


def _only_our_errors_come_out(shop: dict[str, Any], data: st.DataObject) -> None:
    """Compiling raises DocumentInvalid or nothing, linting nothing, and what compiles is usable."""
    body = shop["paths"]["/orders"]["post"]["requestBody"]["content"]["application/json"]
    body["schema"]["properties"]["line"] = {"$ref": "#/components/schemas/Line"}
    shop["components"] = {"schemas": {"Line": _LINE, "Order": _ORDER}}
    shop["openapi"] = data.draw(st.sampled_from(("3.0.3", "3.1.0")))
    documents = {"shop": _mutated(shop, data)}

    findings = lint(documents)
    try:
        catalog = Catalog.from_documents(documents)
    except DocumentInvalid as error:
        assert error.document == "shop"
        assert any(finding.severity == "error" for finding in findings)
        return

    assert not catalog.skipped or any(finding.severity == "error" for finding in findings)
    assert len(catalog.digest) == 64
    for tool in catalog.tools.values():
        assert tool.input_schema["type"] == "object"
        assert make_card(tool).name == tool.name
        assert isinstance(answer_fields(tool), frozenset)
        assert tool_parameters(tool) is not None
        try:
            assert isinstance(check_arguments(catalog, tool, {"line": {"quantity": 0}}), tuple)
        except DocumentInvalid as error:
            assert error.document == "shop"
