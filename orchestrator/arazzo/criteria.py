"""Criteria: simple conditions, regular expressions and JSONPath over an answer.

    condition  = and ("||" and)*
    and        = comparison ("&&" comparison)*
    comparison = unary (("<" | "<=" | "==" | "!=" | ">" | ">=") unary)?
    unary      = "!" unary | primary ("." name | "[" index "]")*
    primary    = "(" condition ")" | literal | runtime expression

A missing value is null in a condition. A condition that cannot be evaluated does not hold.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.arazzo.json_paths import ValueMissing, embed_into_json_path, query_json_path
from orchestrator.arazzo.runtime_expressions import (
    RuntimeExpression,
    Scope,
    as_text,
    embed,
    embedded_in,
    evaluate,
    evaluate_text,
    parse_runtime_expression,
)
from orchestrator.arazzo.written import Criterion
from orchestrator.json_schema.patterns import matches_pattern
from orchestrator.json_schema.references import follow

LONGEST_CONDITION: Final = 4_000
_MOST_NESTED: Final = 50
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>'(?:[^']|'')*'|"(?:[^"\\]|\\.)*")
    |(?P<number>-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?)(?![A-Za-z0-9_])
    |(?P<expression>\$[A-Za-z](?:[^\s()=!<>&|,'"\[\]]|\[\d+\]|\['[^']*'\])*)
    |(?P<operator>==|!=|<=|>=|&&|\|\||[<>!()\[\].])
    |(?P<word>[A-Za-z_][A-Za-z0-9_-]*)
    )""",
    re.VERBOSE | re.DOTALL,
)
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_LITERALS: Final = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"\s*-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?\s*")

Operator = Literal["literal", "read", "step", "!", "&&", "||", "==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Term:
    """A part of a condition, with its operands."""

    operator: Operator
    operands: tuple["Term", ...] = ()
    value: JsonValue | RuntimeExpression = None
    """Of a literal, a reading, or a step into a value."""


@lru_cache(maxsize=4096)
def parse_simple(condition: str) -> Term:
    """Read a simple condition.

    Raises:
        ValueError: it is none; the text is a sentence with the remedy.
    """
    if len(condition) > LONGEST_CONDITION:
        raise ValueError(f"a condition has more than {LONGEST_CONDITION:,} characters")
    return _Parser(condition).whole()


class _Parser:
    def __init__(self, condition: str) -> None:
        self._condition = condition
        self._tokens: list[tuple[str, str]] = []
        self._at = self._depth = 0
        at = 0
        while condition[at:].strip():
            found = _TOKEN.match(condition, at)
            if found is None:
                raise self._wrong(condition[at:].strip())
            kind = str(found.lastgroup)
            self._tokens.append((kind, found[kind]))
            at = found.end()

    def whole(self) -> Term:
        term = self._disjunction()
        if self._at < len(self._tokens):
            raise self._wrong(self._tokens[self._at][1])
        return term

    def _wrong(self, what: str) -> ValueError:
        shown = what if len(what) <= 40 else f"{what[:37]}..."
        why = f"it goes wrong at {shown!r}" if shown else "it ends too early"
        return ValueError(
            f"{self._condition!r} is no simple condition: {why}; write for example "
            "$response.body#/status == 'ok', with strings in single quotes"
        )

    def _next(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _take(self, *operators: str) -> str:
        """Return the next operator if it is one of these, and go past it; else ''."""
        kind, text = self._next()
        if kind != "operator" or text not in operators:
            return ""
        self._at += 1
        return text

    def _joined(self, operator: Literal["||", "&&"], part: Callable[[], Term]) -> Term:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise ValueError(f"a condition is nested deeper than {_MOST_NESTED} levels")
        terms = [part()]
        while self._take(operator):
            terms.append(part())
        self._depth -= 1
        return terms[0] if len(terms) == 1 else Term(operator, tuple(terms))

    def _comparison(self) -> Term:
        left = self._unary()
        operator = self._take(*_COMPARISONS)
        if not operator:
            return left
        return Term(operator, (left, self._unary()))  # type: ignore[arg-type]  # one of them

    def _disjunction(self) -> Term:
        return self._joined("||", lambda: self._joined("&&", self._comparison))

    def _unary(self) -> Term:
        negations = 0
        while self._take("!"):
            negations += 1
        term = self._with_steps(self._primary())
        # An even number makes the value true or false.
        for _ in range((2 - negations % 2) if negations else 0):
            term = Term("!", (term,))
        return term

    def _expect(self, operator: str) -> None:
        if not self._take(operator):
            raise self._wrong(self._next()[1])

    def _primary(self) -> Term:
        if self._take("("):
            term = self._disjunction()
            self._expect(")")
            return term
        kind, text = self._next()
        self._at += 1
        if kind == "string":
            inner = text[1:-1]
            value = inner.replace("''", "'") if text[0] == "'" else inner.replace('\\"', '"')
            return Term("literal", value=value)
        if kind == "number":
            return Term("literal", value=_number(text))
        if kind == "word" and text in _LITERALS:
            return Term("literal", value=_LITERALS[text])
        if kind == "expression":
            return Term("read", value=parse_runtime_expression(text.rstrip(".")))
        raise self._wrong(text)

    def _with_steps(self, term: Term) -> Term:
        """Return a term with the `.name` and `[0]` that follow it."""
        steps = 0
        while operator := self._take(".", "["):
            kind, text = self._next()
            self._at += 1
            if kind == "string" and operator == "[":
                text = text[1:-1]
            elif kind not in ("word", "number"):
                raise self._wrong(text)
            if operator == "[":
                self._expect("]")
            steps += 1
            if steps > _MOST_NESTED:
                raise ValueError(f"a condition goes deeper than {_MOST_NESTED} steps into a value")
            term = Term("step", (term,), text)
        return term


def expressions_of(criterion: Criterion) -> list[RuntimeExpression]:
    """Return the expressions that a criterion reads.

    Raises:
        ValueError: its condition, its context or an expression is malformed.
    """
    if criterion.type != "simple":
        texts = (criterion.context, *embedded_in(criterion.condition))
        return [parse_runtime_expression(text) for text in texts]
    found: list[RuntimeExpression] = []
    waiting = [parse_simple(criterion.condition)]
    while waiting:
        term = waiting.pop()
        if isinstance(term.value, RuntimeExpression):
            found.append(term.value)
        waiting += reversed(term.operands)
    return found


def all_hold(criteria: Sequence[Criterion], scope: Scope) -> str:
    """Return '' if all criteria hold, else a sentence about the first that does not."""
    return next((why for one in criteria if (why := why_not(one, scope))), "")


def why_not(criterion: Criterion, scope: Scope) -> str:
    """Return '' if a criterion holds, else the reason as a sentence."""
    try:
        if _holds(criterion, scope):
            return ""
        return f"the criterion {criterion.condition!r} does not hold"
    except ValueError as fault:  # also of patterns that cannot be decided in bounded time
        return f"the criterion {criterion.condition!r} cannot be evaluated: {fault}"


def _holds(criterion: Criterion, scope: Scope) -> bool:
    if criterion.type == "simple":
        return _is_true(_value(parse_simple(criterion.condition), scope))
    context = evaluate_text(criterion.context, scope)
    if context is None:
        return False
    if criterion.type == "regex":
        return matches_pattern(embed(criterion.condition, scope), as_text(context))
    query = embed_into_json_path(criterion.condition, lambda text: evaluate_text(text, scope))
    return bool(query_json_path(query, context))


def _is_true(value: JsonValue) -> bool:
    """Return True except for null, false, zero and empty texts."""
    return isinstance(value, dict | list) or bool(value)


def _value(term: Term, scope: Scope) -> JsonValue:
    if isinstance(term.value, RuntimeExpression):
        try:
            return evaluate(term.value, scope)
        except ValueMissing:
            return None
    if term.operator == "literal":
        return term.value
    if term.operator == "step":
        try:
            return follow(_value(term.operands[0], scope), (str(term.value),))
        except LookupError:
            return None
    if term.operator == "!":
        return not _is_true(_value(term.operands[0], scope))
    if term.operator == "&&":
        return all(_is_true(_value(one, scope)) for one in term.operands)
    if term.operator == "||":
        return any(_is_true(_value(one, scope)) for one in term.operands)
    left, right = (_value(one, scope) for one in term.operands)
    is_equality = term.operator in ("==", "!=")
    numbers = _numbers(left, right, texts=not is_equality)
    if isinstance(left, str) and isinstance(right, str):
        left, right = left.casefold(), right.casefold()
    if is_equality and (isinstance(left, bool) or isinstance(right, bool)):
        return (left is right) is (term.operator == "==")
    if is_equality:
        is_equal = left == right if numbers is None else numbers[0] == numbers[1]
        return is_equal is (term.operator == "==")
    if numbers is None and isinstance(left, str) and isinstance(right, str):
        # Two texts that are no numbers are ordered as texts.
        numbers = ((left > right) - (left < right), 0)
    if numbers is None:
        return False
    one, other = numbers
    if term.operator in ("<", ">="):
        return (one < other) is (term.operator == "<")
    return (one > other) is (term.operator == ">")


def _numbers(
    left: JsonValue, right: JsonValue, *, texts: bool = False
) -> tuple[float, float] | None:
    """Return two values as numbers; a numeric text is one next to a number, or with `texts`."""
    if not texts and isinstance(left, str) and isinstance(right, str):
        return None
    found: list[int | float] = []
    for value in (left, right):
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            found.append(_number(value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(value)
    return (found[0], found[1]) if len(found) == 2 else None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
