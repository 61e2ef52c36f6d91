r"""Patterns have the meaning of ECMA-262, and every match is bounded.

regress, which implements the standard without a bound, is the reference for short texts.
"""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
import regress
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from openapi_schema_validator import OAS30Validator, OAS31Validator

from orchestrator.json_schema.patterns import PatternUndecided, matches_pattern, pattern_fault
from orchestrator.json_schema.validation import field_problems
from orchestrator.json_schema.validator import SchemaValidator, with_patterns

MOST_CPU_S = 1.5
LONG = 3_000
MIXED = "".join("ab"[number * number % 7 % 2] for number in range(LONG))

HOSTILE = {
    r"^(a+)+$": "a" * 26 + "!",
    r"^(a|a)*$": "a" * 26 + "!",
    r"^(a|aa)+$": "a" * 40 + "!",
    r"^(\w+\s?)*$": "word " * 6 + "word!",
    r"([a-zA-Z]+)*$": "a" * 26 + "!",
    r"(.*a){12}$": "a" * 30 + "!",
    r"^(([a-z])+.)+[A-Z]([a-z])+$": "a" * 30,
    r"^(?=x|a)(a+)+$": "a" * 26 + "!",
    r"(?=a*b)c": "a" * LONG,
    r"(?=[ab]*a[ab]{500}x)c": MIXED,
    r"(?<=(a|b)*)c": MIXED,
    r"(?:(?=(a*))\1)*b": "a" * LONG,
    r"(.+)(.+)(.+)\1\2\3": "abcdefgh" * 40,
    r"(a*)(a*)(a*)\1\2\3x": "a" * LONG,
    r"[ab]*a[ab]{1000}x": MIXED * 10,
    r"^(a?){20000}$": "a" * LONG,
    r"((((a{100}){100}){100}){100})": "a" * LONG,
    r"a{99999999999999999999}": "a" * LONG,
    "(" * 9_000: "a",
    "|".join("a" * 9_000): "b",
    "(?:" * 200 + "a+" + ")+" * 200: "a" * LONG + "!",
    r"\p{L}{200}\d": "å" * LONG,
}
"""Pattern to text: what takes minutes, gigabytes or a stack elsewhere."""


@pytest.mark.parametrize("pattern", HOSTILE, ids=lambda pattern: pattern[:30])
def test_no_match_runs_away(pattern: str) -> None:
    """Each match ends soon: decided, or undecided."""
    began = time.process_time()
    with suppress(PatternUndecided, ValueError):
        matches_pattern(pattern, HOSTILE[pattern])

    assert time.process_time() - began < MOST_CPU_S


@pytest.mark.parametrize("size", [10, 1_000, 100_000, 1_000_000])
@pytest.mark.parametrize(
    "pattern", [r"^(a+)+$", r"(?=a*b)c", r"^(?:a(?=a*))*c", r"[ab]*a[ab]{300}x", r"^(a+)\1+$"]
)
def test_no_text_is_too_long(pattern: str, size: int) -> None:
    """A match at the bound is undecided and never a guess."""
    began = time.process_time()
    try:
        found = matches_pattern(pattern, "a" * (size - 1) + "!")
    except PatternUndecided:
        found = False

    assert not found
    assert time.process_time() - began < MOST_CPU_S


SIGNS = r"""
^.$ ^.{2}$ ^\s$ ^\S$ ^\d+$ ^\D$ ^\w$ ^[\w-]$ ^[^\s\d]$ ^[\W\d]$ ^[\P{L}]$ \ba a\b \Ba (?=\w)\ba
(?!x)\Ba ^\p{Lu}$ ^[^\p{L}\d]$ ^\p{Script=Greek}$ ^[]$ ^[^]$ ^[a&&b]$ ^[[a]$ [\b] \cJ ^[\0]$
^\u{1F600}$ ^\uD83D\uDE00$ ^[\ud800-\uffff]$ ^(?<year>\d)$ ^(?<y>a)|(?<y>b)$ (?<=a)b (?<!a)b
^(?!a).$ ^a{2,3}?$ ^[+--]$ ^a|b$
"""
BROWSERS = r"^\_$ ^\@$ ^\z$ ^\A$ ^\<$ ^\pL$ ^a{,2}$ ^{$ ^]$ ^[\w-z]$ ^\x{3}$ ^\u{2}$"
"""Not allowed with the flag u, and read as browsers read them without it."""
TEXTS = [
    *"abzAéÆ\u03b1\u017fЖ中09٣_-@<{][&+,L^$😀 \t\n\r\x00\x08\x0b\xa0\u1680\u180e\u2028\u2029\ufeff",
    *("", "11", "ab", "aa", "aaa", "éa", "aé", "éb", "a b", "a\n", "a{,2}"),
    *("😀😀", "pL", "xxx", "uu", "a]"),
]


def by_the_standard(pattern: str) -> regress.Regex:
    """Match with the flag u where the pattern is valid with it, as JSON Schema requires."""
    try:
        return regress.Regex(pattern, "u")
    except regress.RegressError:
        return regress.Regex(pattern)


@pytest.mark.parametrize("pattern", [*SIGNS.split(), *BROWSERS.split()])
def test_patterns_mean_what_ecma_262_says(pattern: str) -> None:
    """Each sign is matched against the texts on which engines disagree."""
    judge = by_the_standard(pattern)

    assert [t for t in TEXTS if matches_pattern(pattern, t)] == [t for t in TEXTS if judge.find(t)]


atoms = st.sampled_from(
    [*"ab.-^$", r"\d", r"\w", r"\s", r"\b", r"\B", r"\p{L}", "[ab]", "[^a]", "[a-c]", r"[\W_]"]
)
quantified = st.tuples(atoms, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "*?"])).map(
    lambda pair: pair[0] + (pair[1] if pair[0] not in ("^", "$", r"\b", r"\B") else "")
)
sequences = st.lists(quantified, max_size=4).map("".join)
composed = st.recursive(
    sequences,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("|".join).map("({})".format),
        inner.map("(?:{})+".format),
        inner.map("(?:{})?".format),
        inner.map("(?={})".format),
        inner.map("(?!{})".format),
        st.lists(inner, min_size=2, max_size=2).map("".join),
        inner.map(r"(a|b{})\1".format),
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("pattern", ["(?=1+a*1+)", "(?=1+(?:b1*)*1+)$|x", r"(?!\d+a?\d+)1"])
def test_adjacent_repetitions_stay_separate(pattern: str) -> None:
    """Adjacent repetitions, which an engine would join, keep their meaning."""
    for text in ("1", "11", "1a1", "x", "2"):
        assert matches_pattern(pattern, text) == (by_the_standard(pattern).find(text) is not None)


@settings(max_examples=120, deadline=None)
@given(pattern=composed, text=st.text(st.sampled_from("aabbc1_- éж\n\u2028"), max_size=8))
def test_what_is_decided_is_decided_by_the_standard(pattern: str, text: str) -> None:
    """Any combination of signs gets the standard's answer, or none."""
    try:
        found = matches_pattern(pattern, text)
    except PatternUndecided:
        return

    assert found == (by_the_standard(pattern).find(text) is not None)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"^\101$", "it has a reference to a group"),
        (r"[\1]", "it has an octal escape"),
        (r"^(a)\1$", "it has a reference to a group"),
        (r"^(?<year>\d)\k<year>$", "it has a reference to a group"),
        (r"(?=a)*b", "it has a look-around that is repeated"),
        (r"(?i:a)", "it has a group with modifiers"),
        (r"\c", "it has a control escape without a letter"),
        (r"(a{999}){999}", "it is too large"),
        ("a" * 10_001, "it has more than 10,000 characters"),
    ],
)
def test_an_undecidable_pattern_has_a_reason(pattern: str, reason: str) -> None:
    """It is a valid regular expression, but every text is refused, none accepted."""
    assert pattern_fault(pattern) == ("undecided", reason)
    with pytest.raises(PatternUndecided, match="cannot be decided in bounded time"):
        matches_pattern(pattern, "ab")


@pytest.mark.parametrize(
    ("pattern", "looks"),
    [("^(?!a)", True), (r"(?<=x)a", True), ("^(a+)+$", False), (r"^\d+(?:\.\d+)*$", False)],
)
def test_a_pattern_that_looks_around_may_need_several_passes(pattern: str, looks: bool) -> None:
    """Repetitions of repetitions take one, as the engine does not step back."""
    fault = pattern_fault(pattern)

    assert (fault is not None and fault[0] == "slow") is looks


def test_a_number_of_characters_is_counted() -> None:
    """A length written as a pattern costs nothing, however large it is."""
    pattern = r"^[\s\S]{1,65536}$"

    assert matches_pattern(pattern, "å" * 65_536)
    assert not matches_pattern(pattern, "å" * 65_537)
    assert not matches_pattern(pattern, "")
    assert pattern_fault(pattern) is None


UNDECIDED = r"^(a*)(a*)(a*)\1\2\3x$"
SCHEMAS: list[dict[str, Any]] = [
    {"pattern": UNDECIDED},
    {"not": {"pattern": UNDECIDED}},
    {"anyOf": [{"pattern": UNDECIDED}, {"type": "string", "maxLength": 0}]},
    {"additionalProperties": False, "patternProperties": {UNDECIDED: {}}},
    {"additionalProperties": {"type": "null"}, "patternProperties": {UNDECIDED: {}}},
]


NAMES = {
    "type": "object",
    "$defs": {"a": {"patternProperties": {"^a": {"type": "integer"}}}},
    "properties": {"kind": {"type": "string"}},
    "allOf": [{"$ref": "#/$defs/a"}],
    "anyOf": [{"required": ["b"], "properties": {"b": {}}}, {"properties": {"c": {}}}],
    "if": {"properties": {"kind": {"const": "d"}}, "required": ["kind"]},
    "then": {"properties": {"d": {}}},
    "else": {"properties": {"e": {}}},
    "dependentSchemas": {"a1": {"properties": {"f": {}}}},
    "unevaluatedProperties": False,
}


@pytest.mark.parametrize("dialect", [SchemaValidator, with_patterns(OAS31Validator)])
@settings(max_examples=60, deadline=None)
@given(
    value=st.dictionaries(
        st.sampled_from(["kind", "a1", "ab", "b", "c", "d", "e", "f", "g"]),
        st.sampled_from(["d", "x", 1]),
    )
)
def test_properties_are_evaluated_as_the_standard_says(
    dialect: type[Validator], value: dict[str, Any]
) -> None:
    """The result equals that of the unbounded library."""
    assert dialect(NAMES).is_valid(value) == Draft202012Validator(NAMES).is_valid(value)


@pytest.mark.parametrize("dialect", [SchemaValidator, with_patterns(OAS31Validator)])
def test_no_name_of_a_property_runs_away(dialect: type[Validator]) -> None:
    """`unevaluatedProperties` is bounded too, where jsonschema uses Python's engine."""
    schema = {"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False}
    began = time.process_time()

    assert not dialect(schema).is_valid({"a" * 26 + "!": 1})
    assert dialect(schema).is_valid({"a" * 26: 1})
    assert time.process_time() - began < MOST_CPU_S


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@pytest.mark.parametrize(
    "dialect", [SchemaValidator, with_patterns(OAS30Validator), with_patterns(OAS31Validator)]
)
def test_an_undecided_value_is_neither_valid_nor_invalid(
    schema: dict[str, Any], dialect: type[Validator]
) -> None:
    """Most of all below `not`, which turns a breach into a match."""
    value = {"a" * 200: 1} if "additionalProperties" in schema else "a" * 200

    with pytest.raises(PatternUndecided):
        list(dialect(schema).iter_errors(value))


def test_an_answer_to_a_question_that_is_undecided_is_refused() -> None:
    """The problem names the field and the pattern, and does not quote the value."""
    (said,) = field_problems(
        {"code": {"type": "string", "pattern": UNDECIDED}}, {"code": "a" * 200}
    )

    assert said.startswith(f"code: the pattern {UNDECIDED} cannot be decided in bounded time")
    assert "aaaa" not in said
