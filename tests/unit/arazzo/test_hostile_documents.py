"""Whatever strangers write, reading it ends soon, with a sentence or a document."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.arazzo.arazzo_document import parse_document
from orchestrator.arazzo.binding import bind
from orchestrator.arazzo.criteria import parse_simple, why_not
from orchestrator.arazzo.runtime_expressions import (
    HttpMessage,
    Scope,
    evaluate,
    parse_runtime_expression,
)
from orchestrator.arazzo.written import Criterion
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DocumentInvalid
from tests.unit.arazzo.conftest import content_of

SCOPE = Scope(inputs={"a": {"b": [1]}}, message=HttpMessage(status=200, body={"a": [{"b": 1}]}))
PIECES = st.sampled_from(
    ["$inputs.a", "$response.body", "$steps.", ".outputs.", "#/", ".b", "[0]", "['x']", "(", ")",
     "!", "==", "<=", "&&", "||", "'", '"', "''", " ", "1", "-", "null", "true", "{$", "}", "\\",
     "é", "\n", "$", "*", "?@", "..", "$statusCode"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join)
FIELDS = st.sampled_from(
    ["name", "in", "value", "type", "stepId", "operationId", "workflowId", "condition", "context",
     "reference", "parameters", "requestBody", "payload", "replacements", "target", "criteria",
     "successCriteria", "onSuccess", "onFailure", "outputs", "dependsOn", "retryLimit", "x-a",
     "$ref"]
)  # fmt: skip
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(
        TEXTS, st.none(), st.booleans(), st.integers(-2, 9), st.just("query"), st.just("end")
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(FIELDS, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(text=TEXTS)
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    with suppress(ValueError):
        parse_simple(text)
        assert isinstance(why_not(Criterion(condition=text), SCOPE), str)


@given(text=TEXTS)
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        value = evaluate(parse_runtime_expression(f"${text}"), SCOPE)
    except ValueError as refused:
        assert str(refused)
    else:
        assert json.dumps(value)


@settings(deadline=None, max_examples=150)
@given(step=st.dictionaries(FIELDS, VALUES, max_size=5), inputs=VALUES)
def test_any_document_is_bound_or_refused_at_its_place(
    bundled: Catalog, step: dict[str, JsonValue], inputs: JsonValue
) -> None:
    steps: list[JsonValue] = [{"stepId": "s", "operationId": "flight_list_bookings", **step}]
    workflows: JsonValue = [{"workflowId": "w", "inputs": inputs, "steps": steps}]
    content = {**content_of("workflows: []"), "workflows": workflows}

    try:
        bind(parse_document("t.yaml", content), "", bundled)
    except DocumentInvalid as refused:
        assert refused.document == "t.yaml"
        assert refused.pointer.startswith(("/workflows", "/sourceDescriptions"))


@pytest.mark.parametrize(
    "condition",
    ["(" * 4_000, "!" * 3_999 + "1", "($inputs.a)" + ".b" * 1_990, "['" * 2_000,
     "1||" * 1_300 + "1",
     "'" * 3_999, "$inputs.a" + "[0]" * 1_300, "1==" * 1_300],
)  # fmt: skip
def test_long_conditions_take_little_time(condition: str) -> None:
    began = time.monotonic()

    with suppress(ValueError):
        parse_simple(condition)
        why_not(Criterion(condition=condition), SCOPE)

    assert time.monotonic() - began < 2
