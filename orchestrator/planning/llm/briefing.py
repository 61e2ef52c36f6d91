"""The briefing: a step's goal, facts and past as text, trimmed to a budget of tokens.

What providers answered stands between `tool_output` tags and cannot close them: it is data.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from orchestrator.planning.llm.prompt import section
from orchestrator.planning.llm.tool_output import as_json, as_line, of_person, of_provider
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.planning.trimming import estimate_tokens

_BY_PROVIDERS: Final = frozenset({"rejected", "unknown"})
_BODY_LIMITS: Final = (None, 8_000, 4_000, 2_000, 1_000, 500, 200, 80, 0)
"""Characters left of each body, tried in turn; None is all of it."""


@dataclass(frozen=True)
class _Cut:
    """How much of the past is left out."""

    dropped: int = 0
    """Oldest observations that are not told."""
    limit: int | None = None
    """Characters of each body."""


def briefing(context: StepContext, *, most_tokens: int) -> str:
    """The situation of a step, in about at most `most_tokens` by `estimate_tokens`.

    The oldest observations go first, then long bodies are shortened. The goals, the last error and
    the last step stay whatever they take, so a budget below them is overdrawn.
    """
    cuts = [_Cut(dropped=n) for n in range(max(1, len(context.observations)))]
    cuts += [_Cut(cuts[-1].dropped, limit) for limit in _BODY_LIMITS[1:]]

    def fits(cut: _Cut) -> bool:
        return estimate_tokens(_told(context, cut)) <= most_tokens

    # Each cut tells less than the one before, so the first that fits is found by halving.
    return _told(context, cuts[bisect_left(cuts, True, hi=len(cuts) - 1, key=fits)])


def goal_lines(context: StepContext) -> str:
    """Who works on what, when, and what is left to spend."""
    lines = [
        "# Goal",
        f"Mission: {context.mission_goal}",
        f"Your part: {context.leg_goal}",
        f"Now: {context.now.isoformat(timespec='minutes')}",
    ]
    if context.budget_left is not None:
        lines.append(f"Left of the budget: {context.budget_left}")
    return "\n".join(lines)


def error_lines(context: StepContext) -> str:
    """What the last step failed with; empty when it did not."""
    return f"# Last error\n{_error(context.observations[-1])}" if context.last_error else ""


def _told(context: StepContext, cut: _Cut) -> str:
    parts = (
        goal_lines(context),
        _inputs(context, cut),
        _facts(context.facts, cut),
        _past(context.observations, cut),
        error_lines(context),
    )
    return "\n\n".join(part for part in parts if part)


def _inputs(context: StepContext, cut: _Cut) -> str:
    return f"# Given\n{as_json(dict(context.inputs), cut.limit)}" if context.inputs else ""


def _facts(facts: Sequence[Fact], cut: _Cut) -> str:
    told = [
        f"{fact.source} called {fact.tool} {as_json(dict(fact.arguments), cut.limit)}\n"
        f"{_output(fact.tool, fact.body, cut.limit)}"
        for fact in facts
    ]
    return section("# Facts from earlier parts", told)


def _past(observations: Sequence[Observation], cut: _Cut) -> str:
    left_out = [f"({cut.dropped} earlier steps are left out)"] if cut.dropped else []
    told = [_step(seen, cut) for seen in observations[cut.dropped :]]
    return section("# Steps so far", [*left_out, *told])


def _step(seen: Observation, cut: _Cut) -> str:
    line = f"{seen.step}. {seen.tool} {as_json(dict(seen.arguments), cut.limit)}: {seen.outcome}"
    if seen.error:
        line += f", {_error(seen, cut.limit)}"
    if seen.repeated:
        line += f"\n({seen.repeated}.)"
    return line if seen.body is None else f"{line}\n{_output(seen.tool, seen.body, cut.limit)}"


def _error(seen: Observation, limit: int | None = None) -> str:
    """Why it failed: data when a provider or a person says it, plain when we do."""
    text = as_line(seen.error or "", limit)
    if seen.refused_by:
        return of_person(text)
    return of_provider(seen.tool, text) if seen.outcome in _BY_PROVIDERS else text


def _output(tool: str, body: JsonValue, limit: int | None) -> str:
    return of_provider(tool, as_json(body, limit))
