"""Conditions over an answer: what is one, and what each says of an answer."""

import pytest
from pydantic import JsonValue

from orchestrator.catalog.expressions import all_hold, parse_condition, parse_conditions

BODY: JsonValue = {
    "status": "ok",
    "count": 1,
    "done": True,
    "nothing": None,
    "list": [{"id": "a b"}],
    "a/b": {"c~d": 2},
}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('$response.body#/status == "ok"', True),
        ("$response.body#/status == 'ok'", True),
        ('$response.body#/status=="ok"', True),
        ('  $response.body#/status   ==   "ok"', True),
        ('$response.body#/status == "OK"', False),
        ('$response.body#/status != "failed"', True),
        ('$response.body#/status != "ok"', False),
        ("$response.body#/count == 1", True),
        ("$response.body#/count == 1.0", True),
        ("$response.body#/count == true", False),
        ("$response.body#/done == 1", False),
        ("$response.body#/done == true", True),
        ("$response.body#/done != false", True),
        ("$response.body#/list/0/id == 'a b'", True),
        ("$response.body#/a~1b/c~0d == 2", True),
        ("$response.body#/missing == 1", None),
        ("$response.body#/missing != 1", None),
        ("$response.body#/nothing != 1", None),
        ("$response.body#/list/7/id == 1", None),
        ("$response.body#/status", True),
        ("$response.body#/missing", False),
        ("$response.body#/nothing", False),
        ("!$response.body#/missing", True),
        ("! $response.body#/nothing", True),
        ("!$response.body#/status", False),
        ("$response.body", True),
        ("$statusCode == 200", True),
        ("$statusCode != 200", False),
        ("$statusCode == 202", False),
        ("$response.header.x-state == 'done'", True),
        ("$response.header.X-STATE == 'done'", True),
        ("$response.header.X-Other == 'done'", None),
        ("!$response.header.X-Other", True),
    ],
)
def test_a_condition_holds_or_not_or_cannot_be_told(text: str, verdict: bool | None) -> None:
    """A comparison with a missing value is undecided; presence is always decided."""
    found = parse_condition(text).holds(status=200, headers={"X-State": "done"}, body=BODY)

    assert found is verdict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "$response.body#/status = 'ok'",
        "$response.body#/status == ok",
        "$response.body#/status == ",
        "$response.body#/status == null",
        "$response.body#/status == ['ok']",
        "$response.body#/status > 1",
        "$response.body#status == 1",
        "!$response.body#/status == 'ok'",
        "$statusCode",
        "!$statusCode",
        "$request.body#/status == 'ok'",
        "$response.path.id == 1",
        "$url == 'x'",
        "$response.body#/a == 1 && $response.body#/b == 2",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(ValueError, match=r".+"):
        parse_condition(text)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], (True, "")),
        (["$response.body#/status", "$statusCode == 200"], (True, "")),
        (["$response.body#/x == 1", "$statusCode == 202"], (False, "$statusCode == 202")),
        (["$response.body#/status", "$response.body#/x == 1"], (None, "$response.body#/x == 1")),
    ],
)
def test_several_hold_together(texts: list[str], expected: tuple[bool | None, str]) -> None:
    """One failed condition decides, whatever else is undecided."""
    assert all_hold(parse_conditions(texts), status=200, headers={}, body=BODY) == expected
