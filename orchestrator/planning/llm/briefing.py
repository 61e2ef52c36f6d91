"""The briefing: a step's goal, facts and past as text, trimmed to a budget of tokens.

What providers answered stands between `tool_output` tags and cannot close them: it is data.
"""

import functools
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from orchestrator.core.call_ref import step_label
from orchestrator.planning.llm.prompt import section
from orchestrator.planning.llm.tool_output import as_json, as_line, of_person, of_provider
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.planning.trimming import estimate_tokens
from orchestrator.saga.orders import Order

_BY_PROVIDERS: Final = frozenset({"rejected", "unknown"})
_BODY_LIMITS: Final = (None, 8_000, 4_000, 2_000, 1_000, 500, 200, 80, 0)
"""Characters left of each body, tried in turn; None is all of it."""
_SUMMARY: Final = 400
"""Characters of an older answer: its named fields at the top of it stay longest."""


@dataclass(frozen=True)
class _Cut:
    """How much of the past is left out."""

    dropped: int = 0
    """Oldest observations that are not told."""
    summarised: int = 0
    """Those of the oldest of which there is little more than what identifies what they found."""
    limit: int | None = None
    """Characters of each body."""


def briefing(context: StepContext, *, most_tokens: int) -> str:
    """The situation of a step, in about at most `most_tokens` by `estimate_tokens`.

    The newest observations stay whole: the oldest are summarised first, then left out, then long
    bodies are shortened. The goals, the last error and the last step stay whatever they take, so a
    budget below them is overdrawn.
    """
    all_but_one = max(0, len(context.observations) - 1)
    cuts = [_Cut(summarised=n) for n in range(all_but_one + 1)]
    cuts += [_Cut(n, all_but_one) for n in range(1, all_but_one + 1)]
    cuts += [_Cut(all_but_one, all_but_one, limit) for limit in _BODY_LIMITS[1:]]

    # The same step is told by most of the cuts alike, and of hundreds each takes milliseconds.
    @functools.cache
    def step(at: int, limit: int | None) -> str:
        return step_lines(context.observations[at], limit)

    def fits(cut: _Cut) -> bool:
        return estimate_tokens(_told(context, cut, step)) <= most_tokens

    # Each cut tells less than the one before, so the first that fits is found by halving.
    return _told(context, cuts[bisect_left(cuts, True, hi=len(cuts) - 1, key=fits)], step)


def goal_lines(context: StepContext) -> str:
    """Return the goal, the part of it that this leg is for, its orders, the time and the money."""
    lines = ["# Goal", f"Mission: {context.mission_goal}"]
    if context.leg_goal != context.mission_goal:
        lines.append(f"Your part: {context.leg_goal}")
    if context.orders:
        lines.append(f"Orders: {'; '.join(map(_order_line, context.orders))}")
    lines.append(f"Now: {context.now.isoformat(timespec='minutes')}")
    if context.read_only:
        lines.append("Nothing may be changed: read only.")
    if context.budget_left is not None:
        lines.append(f"Left of the budget: {context.budget_left}")
    return "\n".join(lines)


def _order_line(order: Order) -> str:
    count = f"{order.count} x " if order.count > 1 and not order.each else ""
    each = f" for each of {order.each!r}" if order.each else ""
    when = f" when {order.when!r}" if order.when else ""
    return f"{count}{' or '.join(order.tools)}{each}{when}"


def error_lines(context: StepContext) -> str:
    """Return the error of the last step; empty when it had none."""
    failed = next((one for one in reversed(context.observations) if one.outcome != "dropped"), None)
    return f"# Last error\n{_error(failed)}" if failed is not None and failed.error else ""


def _told(context: StepContext, cut: _Cut, step: Callable[[int, int | None], str]) -> str:
    parts = (
        goal_lines(context),
        given_lines(context.inputs, cut.limit),
        _facts(context.facts, cut),
        _past(len(context.observations), cut, step),
        error_lines(context),
    )
    return "\n\n".join(part for part in parts if part)


def _facts(facts: Sequence[Fact], cut: _Cut) -> str:
    told = [
        f"{fact.source} called {fact.tool} {as_json(dict(fact.arguments), cut.limit)}\n"
        f"{_output(fact.tool, fact.body, cut.limit)}"
        for fact in facts
    ]
    return section("# Facts from earlier parts", told)


def _past(steps: int, cut: _Cut, step: Callable[[int, int | None], str]) -> str:
    left_out = [f"({cut.dropped} earlier steps are left out)"] if cut.dropped else []
    told = (
        step(at, _SUMMARY if at < cut.summarised else cut.limit) for at in range(cut.dropped, steps)
    )
    return section("# Steps so far", [*left_out, *told])


def step_lines(seen: Observation, limit: int | None = None) -> str:
    """What a call of a step came to, its answer in at most so many characters."""
    label = step_label(seen.step, seen.part)
    line = f"{label}. {seen.tool} {as_json(dict(seen.arguments), limit)}: {seen.outcome}"
    if seen.error:
        line += f", {_error(seen, limit)}"
    if seen.repeated:
        line += f"\n({seen.repeated}.)"
    return line if seen.body is None else f"{line}\n{_output(seen.tool, seen.body, limit)}"


def news_lines(seen: Sequence[Observation], inputs: Mapping[str, JsonValue], left: str) -> str:
    """What is new since the last step and answers no call: steps, values given, money left."""
    parts = (
        section("# Steps so far", [step_lines(one) for one in seen]),
        given_lines(inputs),
        f"Left of the budget: {left}" if left else "",
    )
    return "\n\n".join(part for part in parts if part)


def given_lines(inputs: Mapping[str, JsonValue], limit: int | None = None) -> str:
    """What the user gave; empty when that is nothing."""
    return f"# Given\n{as_json(dict(inputs), limit)}" if inputs else ""


def _error(seen: Observation, limit: int | None = None) -> str:
    """Why it failed: data when a provider or a person says it, plain when we do."""
    text = as_line(seen.error or "", limit)
    if seen.refused_by:
        return of_person(text)
    return of_provider(seen.tool, text) if seen.outcome in _BY_PROVIDERS else text


def _output(tool: str, body: JsonValue, limit: int | None) -> str:
    return of_provider(tool, as_json(body, limit))
