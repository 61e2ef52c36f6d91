"""The linter: each rule finds its fault, and a good document has none."""

import copy
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.lint import CODES, RULES, Finding, has_errors, lint
from orchestrator.catalog.overlay import IdleAction, apply_overlays, parse_overlay
from orchestrator.catalog.yaml12 import load_yaml
from tests.unit.catalog.lint.document_faults import (
    AT_CANCEL,
    AT_GET,
    AT_POST,
    CANCEL,
    FAULTS,
    GET,
    POST,
    PREFIX,
    Change,
    accepted_only,
    gone_when,
    laid_out,
    lists_orders,
    nothing_cancels,
    operation,
    orders_with_id,
    probe_with,
    put,
)


@pytest.mark.parametrize(("code", "change", "pointer"), FAULTS)
def test_each_fault_is_found_where_it_stands(
    shop: dict[str, Any], code: str, change: Change, pointer: str
) -> None:
    """One change to a good document is reported under its code, at its place, with a fix."""
    change(shop)

    found = [f for f in lint({"shop": shop}) if f.code == code]

    assert pointer in [f.pointer for f in found]
    assert all(f.message and f.fix and f.document == "shop" for f in found)


NO_TOOL = {"responses": {"204": {"description": "Gone."}}}


def _probe_without_404(shop: dict[str, Any]) -> None:
    gone_when('$response.body#/state == "ended"')(shop)
    del operation(shop, GET)["responses"]["404"]


def _empty_list_told(shop: dict[str, Any]) -> None:
    lists_orders(shop)
    operation(shop, POST)[PREFIX + "probe"]["gone-when"] = "!$response.body#/orders/0"


def _accepted_and_probed(shop: dict[str, Any]) -> None:
    probe = operation(shop, POST)[PREFIX + "probe"]
    accepted_only(shop)
    operation(shop, POST)[PREFIX + "probe"] = probe


def _accepted_and_done(shop: dict[str, Any]) -> None:
    accepted_only(shop)
    operation(shop, POST)["x-orchet-success-when"] = "$statusCode == 202"
    operation(shop, CANCEL)["x-orchet-success-when"] = '$response.body#/status == "cancelled"'


def _search_by_post(shop: dict[str, Any]) -> None:
    more = {"operationId": "shop_search_orders", "x-orchet-read-only": True}
    shop["paths"]["/orders/search"] = {"post": {**operation(shop, GET), **more}}


def _own_card_type(shop: dict[str, Any]) -> None:
    operation(shop, POST)["x-orchet-requires-confirmation"] = "gift-wrap"
    shop["x-orchet-card-types"] = ["gift-wrap"]


def _confirmed_by(keyword: str, value: object) -> Change:
    def change(shop: dict[str, Any]) -> None:
        del operation(shop, POST)["x-orchet-requires-confirmation"]
        operation(shop, POST)[keyword] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda shop: None,
        gone_when('$response.body#/state == "ended"'),
        put(GET, x_orchet_success_when="$response.body#/order_id"),
        put(GET, x_orchet_success_when=["$statusCode == 200", "!$response.body#/order_id"]),
        put(GET, x_orchet_success_when="$response.header.X-State == 'done'"),
        _probe_without_404,
        _empty_list_told,
        _accepted_and_probed,
        _accepted_and_done,
        nothing_cancels("structured-order"),
        _search_by_post,
        lambda shop: shop["paths"].update({"/internal": {"delete": NO_TOOL}}),
        laid_out("article_id", "order_id.digits"),
        _own_card_type,
        _confirmed_by("x-openai-isConsequential", True),
    ],
)
def test_a_sound_document_has_no_finding(shop: dict[str, Any], change: Change) -> None:
    """Conditions read what is declared; operations that are no tools are nobody's business."""
    change(shop)

    assert lint({"shop": shop}) == []


def test_another_dialects_word_that_is_no_boolean_declares_nothing(shop: dict[str, Any]) -> None:
    """The tool still has to say if it is confirmed."""
    _confirmed_by("x-requireConfirmation", "always")(shop)

    assert [f.code for f in lint({"shop": shop})] == ["ORC031"]


@pytest.mark.parametrize(("asks", "says"), [("structured-order", False), (False, True)])
def test_a_change_that_nobody_is_asked_about_is_called_so(
    shop: dict[str, Any], asks: object, says: bool
) -> None:
    """`requires-confirmation: false` does not make it a read."""
    nothing_cancels(asks)(shop)
    del operation(shop, POST)["x-orchet-irreversible"]

    (found,) = lint({"shop": shop})

    assert found.code == "ORC040"
    assert ("nobody is asked before it is called" in found.message) is says


@pytest.mark.parametrize(
    ("answered", "taken", "found"),
    [
        ({"type": "string"}, {"type": "integer"}, False),
        ({"type": "integer", "format": "int64"}, {"type": "string"}, False),
        ({"type": "string", "format": "uuid"}, {"type": "integer"}, True),
        ({"type": "integer"}, {"type": "string", "format": "date"}, True),
        ({"type": "object"}, {"type": "string"}, True),
        ({"type": ["string", "null"]}, {"type": "string", "format": "uuid"}, False),
        ({}, {"type": "integer"}, False),
    ],
)
def test_a_parameter_is_filled_by_the_text_of_an_id(
    shop: dict[str, Any], answered: Any, taken: Any, found: bool
) -> None:
    """ORC074: a number and a string with digits are alike there; what has none cannot fill it."""
    cancel = shop["paths"].pop("/cancel")
    del cancel["post"]["requestBody"]
    at = {"name": "order_id", "in": "path", "required": True, "schema": taken}
    cancel["post"]["parameters"] = [at]
    shop["paths"]["/orders/{order_id}/cancel"] = cancel
    del operation(shop, POST)["x-orchet-compensation-args"]["client_reference"]
    orders_with_id(answered)(shop)

    assert ("ORC074" in {f.code for f in lint({"shop": shop})}) is found


def test_what_concerns_several_parts_is_one_finding_at_its_place(shop: dict[str, Any]) -> None:
    """A missing probe, an idle action of an overlay, and the second of two equal names."""
    idle = IdleAction(overlay="ours.yaml", pointer="/actions/2", reason="$.x selects nothing")
    (found,) = lint({"shop": shop}, idle=[idle])
    twice = lint({"a": shop, "b": copy.deepcopy(shop)})
    probe_with("shop_find")(shop)

    assert (found.code, found.severity) == ("ORC003", "warning")
    assert (found.document, found.pointer) == ("ours.yaml", "/actions/2")
    assert {(f.document, f.code) for f in twice} == {("b", "ORC011")}
    assert all("of a," in f.message for f in twice)
    assert [f.code for f in lint({"shop": shop})] == ["ORC041"]


def test_ten_mistakes_are_ten_findings(shop: dict[str, Any]) -> None:
    """One run finds them all, in order of document and place, elements of lists by number."""
    shop["info"].pop("title")
    operation(shop, GET)["operationId"] = "find order"
    operation(shop, GET).pop("summary")
    operation(shop, GET)["description"] = "Order."
    operation(shop, GET)["x-orchet-intent-tag"] = ["shop"]
    operation(shop, POST).pop("x-orchet-compensation-probe")
    operation(shop, POST)["x-orchet-compensation-timeout"] = "soon"
    operation(shop, POST)["x-orchet-requires-confirmation"] = "fancy"
    operation(shop, POST)["x-orchet-pii-required"] = [f"field{n}" for n in range(11)]
    operation(shop, CANCEL)["x-orchet-success-when"] = '$response.body#/status == "cancelled"'
    operation(shop, CANCEL).pop("x-orchet-requires-confirmation")
    operation(shop, CANCEL)["security"] = [{"key": []}]

    found = lint({"z": shop, "a": {"openapi": "1"}})

    assert [(f.code, f.pointer) for f in found] == [
        ("ORC001", ""),
        ("ORC001", "/info"),
        ("ORC043", AT_CANCEL),
        ("ORC034", f"{AT_CANCEL}/security/0/key"),
        ("ORC012", AT_GET),
        ("ORC013", f"{AT_GET}/description"),
        ("ORC010", f"{AT_GET}/operationId"),
        ("ORC030", f"{AT_GET}/x-orchet-intent-tag"),
        ("ORC036", f"{AT_POST}/x-orchet-compensation-timeout"),
        *(("ORC033", f"{AT_POST}/x-orchet-pii-required/{n}") for n in range(11)),
        ("ORC032", f"{AT_POST}/x-orchet-requires-confirmation"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(paths=[]),
        lambda s: s.update(paths={"/x": None}),
        lambda s: s.update(security="key"),
        lambda s: s.update(security=[{}, "key"]),
        lambda s: s.update(servers={}),
        lambda s: s.update(components=[]),
        lambda s: operation(s, POST).update(parameters=[{"$ref": "#/nowhere"}]),
        lambda s: operation(s, POST).update(requestBody=[]),
        lambda s: operation(s, POST).update(responses=None),
        lambda s: operation(s, POST).update({"x-orchet-pii-required": 1}),
        lambda s: operation(s, POST).update({PREFIX + "probe": []}),
        lambda s: operation(s, POST).update({PREFIX + "args": []}),
        lambda s: operation(s, POST).update({"x-orchet-cancels": 7}),
    ],
)
def test_a_broken_document_is_reported_and_not_raised(shop: dict[str, Any], change: Change) -> None:
    """Whatever is of the wrong shape becomes an error finding."""
    change(shop)

    assert has_errors(lint({"shop": shop}))


_EXAMPLES: Any = load_yaml((Path(__file__).parents[1] / "lint_examples.yaml").read_text("utf-8"))


def _patched(value: Any, patch: Any) -> Any:
    """Apply an RFC 7396 merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = _patched(result.get(key), change)
    return result


def _findings(example: Any) -> list[Finding]:
    """Return the findings in the document with an overlay or a patch applied."""
    document = _EXAMPLES["document"]
    if "overlay" in example:
        overlaid = apply_overlays({"shop": document}, [parse_overlay("ours.yaml", example)])
        return lint(overlaid.documents, idle=overlaid.idle)
    return [f for f in lint({"shop": _patched(document, example)}) if f.suppressed is None]


_TEXT: dict[str, Any] = {"type": "string", "maxLength": 5}
_K = {"required": ["k"]}
_NAMED = {"properties": {"name": _TEXT}}


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A property that is held to two schemas."""
    return {"allOf": [{"properties": {"k": one}}, {**_K, "properties": {"k": other}}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"id": _TEXT}, "additionalProperties": False, "required": ["name"]},
        {"allOf": [{"properties": {"id": _TEXT}, "unevaluatedProperties": False}, _NAMED]},
        _both(_TEXT, {"type": "integer"}),
        _both({"enum": [1]}, {"const": 2}),
        _both({"enum": [*map(str, range(50_000))]}, {"enum": [*range(50_000), {"k": 1}]}),
        {**_K, "properties": {"k": {"type": "integer", "enum": ["1", "2"]}}},
        {**_K, "properties": {"k": {"type": "string", "minLength": 9, "maxLength": 3}}},
    ],
    ids=["closed", "closed part", "types", "values", "many values", "values of a type", "bounds"],
)
def test_a_schema_that_nothing_fits_is_an_error(schema: dict[str, Any]) -> None:
    """Every call would be refused by our own check, or every answer."""
    sent = {"required": True, "content": {"application/json": {"schema": schema}}}
    paths = {"/t": {"post": {"x-orchet-tool": True, "requestBody": sent, "responses": {}}}}
    about = {"title": "T", "version": "1"}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": about, "paths": paths}

    assert "ORC029" in {f.code for f in lint({"shop": document})}


@pytest.mark.parametrize("ending", ["?x=1", "#top"])
def test_a_server_that_no_path_can_follow_is_an_error(ending: str) -> None:
    """The path would be part of the query or the fragment."""
    servers = [{"url": f"https://shop.example/api{ending}"}]

    found = lint({"shop": _patched(_EXAMPLES["document"], {"servers": servers})})

    assert {f.pointer for f in found if f.code == "ORC035"} == {"/servers"}


def test_every_code_is_explained_and_has_an_example() -> None:
    """Each rule has a code; what an example finds is caused by its patch alone."""
    assert list(_EXAMPLES["examples"]) == list(CODES)
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert {rule.code for rule in RULES} <= CODES.keys()
    assert _findings({}) == []


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_gives_exactly_its_code_and_the_good_one_none(code: str) -> None:
    """The bad example has findings of its code and severity, at its places, and no others."""
    example = _EXAMPLES["examples"][code]
    found = _findings(example["bad"])

    assert {(f.code, f.severity) for f in found} == {(code, CODES[code].severity)}
    assert sorted({f.pointer for f in found}) == example["at"]
    assert all(f.message and f.fix for f in found)
    assert _findings(example["good"]) == []
