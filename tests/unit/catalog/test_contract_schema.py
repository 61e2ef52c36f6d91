"""The published schema of the extensions: valid, true of our documents, and one with compile."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_schema_validator import OAS31Validator

from orchestrator.catalog.card_types import CARD_TYPES, OURS
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.lint import lint
from orchestrator.catalog.source import read_contract_schema

ROOT = Path(__file__).parents[3]
SCHEMA: Any = json.loads((ROOT / "specs/x-orchet.schema.json").read_text(encoding="utf-8"))
VALIDATOR = OAS31Validator(SCHEMA)
KEYWORDS: list[str] = sorted(SCHEMA["properties"])
COMPILED = [keyword for keyword in KEYWORDS if keyword != "x-orchet-lint-ignore"]
"""All keywords but the one that only the linter reads."""
METHODS = ("get", "head", "post", "put", "patch", "delete")

AT_KEYWORD = {
    name: ("/orders", "post")
    for name in KEYWORDS
    if name not in ("x-orchet-cancel-for", "x-orchet-tool")
}
AT_KEYWORD["x-orchet-cancel-for"] = ("/cancel", "post")
AT_KEYWORD["x-orchet-tool"] = ("/orders", "get")


def document_operations(document: Any) -> list[Any]:
    return [item[m] for item in document["paths"].values() for m in METHODS if m in item]


def with_value(shop: Any, keyword: str, value: Any) -> Any:
    """The shop with one keyword set where it may stand."""
    changed = copy.deepcopy(shop)
    path, method = AT_KEYWORD[keyword]
    changed["paths"][path][method][keyword] = value
    return changed


def is_allowed(keyword: str, value: Any) -> bool:
    return bool(VALIDATOR.is_valid({keyword: value}))


def refusal(document: Any, keyword: str) -> str | None:
    """Why compile skips an operation because of the keyword's value; None when it does not."""
    for skipped in Catalog.from_documents({"shop": document}).skipped:
        # A name without a tool, or without a field, is not a fault of the value's form.
        is_form = not re.search("no tool of this document|property is called", skipped.reason)
        if f"/{keyword}" in skipped.pointer and is_form:
            return str(skipped)
    return None


def test_it_is_a_valid_schema_of_2020_12_that_describes_every_keyword() -> None:
    """The metaschema accepts it; each keyword and definition has a title and a description."""
    Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for keyword in SCHEMA["properties"].values():
        looks = keyword.get("title") or definitions[keyword["$ref"].rpartition("/")[2]]["title"]
        assert looks and keyword["description"]


def test_its_examples_and_defaults_are_allowed_by_it() -> None:
    """Every example is a value that it accepts."""
    shown = [
        (keyword, value)
        for keyword, schema in SCHEMA["properties"].items()
        for value in (*schema.get("examples", ()), schema.get("default", False))
        if "default" in schema or value is not False
    ]

    assert len(shown) > len(KEYWORDS)
    assert [pair for pair in shown if not is_allowed(*pair)] == []


@pytest.mark.parametrize("file", sorted((ROOT / "specs").glob("*.yaml")), ids=lambda f: f.name)
def test_it_is_true_of_our_documents(file: Path) -> None:
    """Every operation and every root in specs/ is valid, and uses only keywords that are in it."""
    document = json.loads(json.dumps(yaml.safe_load(file.read_text(encoding="utf-8")), default=str))
    operations = document_operations(document)
    root = {**SCHEMA, "properties": SCHEMA["$defs"]["document"]["properties"]}
    used = {key for op in operations for key in op if key.startswith(("x-orchet-", "x-orqen-"))}

    assert operations
    assert [
        error.message for op in operations for error in OAS31Validator(SCHEMA).iter_errors(op)
    ] == []
    assert OAS31Validator(root).is_valid(document)
    assert used <= set(KEYWORDS)


def test_its_examples_of_cards_are_the_types_that_there_are() -> None:
    """Editors offer them for completion."""
    examples = [*(name for name in CARD_TYPES if name not in OURS), False]
    shown = SCHEMA["properties"]["x-orchet-requires-confirmation"]["examples"]

    assert shown == examples, f"write these examples: {json.dumps(examples, indent=2)}"


def test_the_linter_reads_this_very_file() -> None:
    """There is no second list of keywords that could drift away from the published one."""
    assert read_contract_schema() == SCHEMA


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
expressions = st.sampled_from(
    ["$response.body#/order_id", "$request.body", "$request.body#", "$response.body#/a/{b}",
     "$request.header.Idempotency-Key", "$request.header.no good", "$request.query.page size",
     "$request.path.order_id", "$response.path.order_id", "$response.status",
     "$request.body#order_id", "$url", "$", "constant", "", "{$}", "{not $one}",
     "order {$response.body#/order_id} of {$request.query.q}", "order {$response.bodies}",
     "{$request.body#/a}{$request.body#/b", "$request.body#/a\n", "a\n{$request.body#/a\n}"]
)  # fmt: skip
durations = st.one_of(
    st.from_regex(r"P([0-9]{1,5}[WDY])?(T([0-9]{1,5}[HMS]){0,3})?", fullmatch=True),
    st.sampled_from(["PT10S", "P1D", "P2W", "PT0S", "PT0.5S", "PT0.0001S", "P1M", "P", "PT", "10"]),
    st.sampled_from(["P1DT", "P1D ", "pt1s", "PT1S\n", "P\u0661D", "PT5", "P1W2D", "P99999D"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
)
conditions = st.sampled_from(
    ['$response.body#/status == "ok"', "!$response.body#/error", "$statusCode == 202",
     "$statusCode", "$response.header.X-State != 'done'", "$response.body#/n == -1.50",
     "$response.body#/n == 01", "$response.body#/n == null", "$response.body == true ",
     '$response.body#/n == "a\\u00e9\\n"', '$response.body#/n == "a\n"', "$response.body#x == 1",
     "!$response.body#/a == 1", "$response.body#/a=='b'", "$response.body#/a\n"]
)  # fmt: skip
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-1e6, 1e6), texts)
words = st.one_of(
    texts,
    expressions,
    conditions,
    st.sampled_from(
        ["core", "deferred", "park", "continue", "structured-order", "shop_cancel_order", "a b"]
    ),
)
leaves = st.one_of(scalars, words, durations)
values = st.one_of(
    leaves,
    st.lists(st.one_of(words, scalars), max_size=3),
    st.dictionaries(texts, st.one_of(expressions, scalars), max_size=2),
    st.fixed_dictionaries(
        # Another name leads to no tool, which is refused before the rest is read.
        {"operationId": st.one_of(st.just("shop_find_order"), st.none(), st.integers())},
        optional={
            "args": st.one_of(scalars, st.dictionaries(texts, st.one_of(expressions, scalars))),
            "argument": texts,
            "gone-when": st.one_of(conditions, scalars, st.lists(conditions, max_size=2)),
            "settles-after": st.one_of(durations, scalars),
        },
    ),
)


@given(keyword=st.sampled_from(COMPILED), value=values)
@example(keyword="x-orchet-compensation-max-attempts", value=3.0)
@example(keyword="x-orchet-compensation-max-attempts", value=9.3e18)
@example(keyword="x-orchet-compensation-timeout", value=True)
@example(keyword="x-orchet-compensation-timeout", value=1e-9)
@example(keyword="x-orchet-compensation-window", value=10**18)
@example(keyword="x-orchet-requires-confirmation", value=" ")
@example(keyword="x-orchet-requires-confirmation", value=None)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_it_allows_what_compile_takes_and_nothing_else(
    shop: dict[str, Any], keyword: str, value: Any
) -> None:
    """For any value of any keyword: valid by the schema exactly when compile does not refuse it."""
    document = with_value(shop, keyword, value)

    assert is_allowed(keyword, value) == (refusal(document, keyword) is None)


@given(keyword=st.sampled_from(KEYWORDS), value=values)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_linter_finds_a_wrong_value_once_and_where_it_stands(
    shop: dict[str, Any], keyword: str, value: Any
) -> None:
    """Under ORC036, at the keyword or inside of it, and no other rule has a word on that place."""
    path, method = AT_KEYWORD[keyword]
    place = f"/paths/{path.replace('/', '~1')}/{method}/{keyword}"

    found = [f for f in lint({"shop": with_value(shop, keyword, value)}) if place in f.pointer]

    if is_allowed(keyword, value):
        assert "ORC036" not in {f.code for f in found}
    else:
        assert {f.code for f in found} == {"ORC036"}
        assert all(f.message and f.fix for f in found)


@pytest.mark.parametrize(
    ("keyword", "value", "place", "wrong"),
    [
        ("load-policy", "always", "", "always"),
        ("pii-required", ["address", 1], "/1", 1),
        (
            "compensation-probe",
            {"operationId": "shop_find_order", "args": {"client_reference": "$nope"}},
            "/args/client_reference",
            "$nope",
        ),
        ("compensation-probe", {"args": {}}, "", {"args": {}}),
    ],
)
def test_a_wrong_value_is_placed_and_quoted(
    shop: dict[str, Any], keyword: str, value: Any, place: str, wrong: Any
) -> None:
    """One finding at the wrong part; the rest is examined without it."""
    keyword = f"x-orchet-{keyword}"
    path, method = AT_KEYWORD[keyword]

    (found,) = (f for f in lint({"shop": with_value(shop, keyword, value)}) if "x-o" in f.pointer)

    at = f"/paths/{path.replace('/', '~1')}/{method}/{keyword}{place}"
    assert (found.code, found.severity, found.pointer) == ("ORC036", "error", at)
    assert json.dumps(wrong) in found.message


def test_a_flag_or_a_list_of_the_document_is_checked_too(shop: dict[str, Any]) -> None:
    """Where it is unknown if an operation is a tool, nothing else is reported of it."""
    shop["paths"]["/orders"]["post"].pop("x-orchet-compensation-probe")
    verified = '$response.body#/status == "cancelled"'
    shop["paths"]["/cancel"]["post"]["x-orchet-success-when"] = verified
    shop["paths"]["/orders"]["get"]["x-orchet-tool"] = "yes"
    shop["x-orchet-card-types"] = "gift-wrap"

    assert {(f.code, f.pointer) for f in lint({"shop": shop})} == {
        ("ORC036", "/paths/~1orders/get/x-orchet-tool"),
        ("ORC036", "/x-orchet-card-types"),
    }
