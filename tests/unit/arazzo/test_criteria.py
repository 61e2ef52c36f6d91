"""Criteria: simple conditions, patterns and queries over an answer."""

import time

import pytest

from orchestrator.arazzo.criteria import parse_simple, why_not
from orchestrator.arazzo.runtime_expressions import HttpMessage, Scope
from orchestrator.arazzo.written import Criterion

SCOPE = Scope(
    inputs={"limit": 3, "status": "Open", "pattern": "2."},
    message=HttpMessage(
        status=200,
        headers={"X-Left": "12"},
        body={
            "status": "OPEN",
            "items": [1, 2],
            "ok": True,
            "none": None,
            "zero": 0,
            "it's": 1,
            "a-b": {"c": 5},
        },
    ),
)


def holds(condition: str, **fields: str) -> bool:
    return why_not(Criterion.model_validate({"condition": condition, **fields}), SCOPE) == ""


@pytest.mark.parametrize(
    "condition",
    ["$statusCode == 200", "$statusCode==200&&$response.body#/ok==true", "$statusCode == '200'",
     "$statusCode >= 200 && $statusCode < 300", "$statusCode != 404 || $statusCode == 1",
     "$response.body#/status == 'open'", '$response.body#/status == "open"',
     "$response.body.status == $inputs.status", "$response.body#/missing == null",
     "$response.body#/none == null", "$response.body#/items != null", "$response.body#/ok",
     "!($response.body#/missing)", "!$response.body#/zero", "!!$response.body#/ok",
     "($statusCode == 1 || $statusCode == 200) && $response.body#/ok",
     "$response.body.items[1] == 2", "$response.body#/items/1 == 2", "$response.body.a-b.c == 5",
     "($response.body#/a-b).c > 4.5", "$response.header.x-left > 3", "$inputs.limit <= 3",
     "'b' > 'A'", "'it''s' == 'IT''S'", "null == null", "-1 < 1e3"],
)  # fmt: skip
def test_a_condition_holds(condition: str) -> None:
    assert holds(condition)


@pytest.mark.parametrize(
    "condition",
    ["$statusCode == 404", "$response.body#/status == 'closed'", "$response.body#/missing",
     "$response.body#/missing > 1", "$response.body#/none", "$response.body#/ok == 1",
     "$response.body#/ok == 'true'", "$response.body#/items < 3", "false", "null",
     "$steps.never.outputs.x == 1"],
)  # fmt: skip
def test_a_condition_does_not_hold(condition: str) -> None:
    assert not holds(condition)


@pytest.mark.parametrize(
    "condition",
    ["", "$statusCode ==", "$statusCode = 200", "$x == open", "$response.body#/a == open", "(1",
     "1 2", "$response.body contains 'x'", "'open", "$inputs.a[", "&& 1"],
)  # fmt: skip
def test_a_malformed_condition_is_refused(condition: str) -> None:
    with pytest.raises(ValueError, match=r"condition|expression"):
        parse_simple(condition)


def test_patterns_are_searched_in_the_context() -> None:
    assert holds("^2\\d{2}$", type="regex", context="$statusCode")
    assert holds("^{$inputs.pattern}0$", type="regex", context="$statusCode")
    assert not holds("^3", type="regex", context="$statusCode")
    assert not holds("x", type="regex", context="$response.body#/missing")


def test_a_pattern_takes_bounded_time() -> None:
    scope = Scope(inputs={"text": "a" * 5_000 + "!"})
    slow = Criterion(condition="^(a+)+$", type="regex", context="$inputs.text")
    began = time.monotonic()

    assert why_not(slow, scope)
    assert time.monotonic() - began < 5


def test_queries_hold_if_they_select_something() -> None:
    context = "$response.body"

    assert holds("$[?count(@.*) > 0]", type="jsonpath", context=context)
    assert holds("$.items[?@ == 2]", type="jsonpath", context=context)
    assert not holds("$.items[?@ == 3]", type="jsonpath", context=context)
    assert holds("$.items[?@ < {$inputs.limit}]", type="jsonpath", context=context)
    assert not holds("$.x", type="jsonpath", context="$response.body#/missing")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="nested"):
        parse_simple("(" * 500 + "1" + ")" * 500)
