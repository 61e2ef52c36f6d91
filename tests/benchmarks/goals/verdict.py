"""What a goal came to, judged by the witness and by what whoever asked was told."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.benchmarks.goals.driving import Ending
from tests.benchmarks.goals.models import Goal, Wish
from tests.benchmarks.goals.town import World

Outcome = Literal["right", "asked rightly", "wrong", "part as whole", "needless", "gave up"]
OUTCOMES: tuple[Outcome, ...] = (
    "right",
    "asked rightly",
    "wrong",
    "part as whole",
    "needless",
    "gave up",
)


@dataclass(frozen=True)
class Verdict:
    """How one goal ended, and why it is judged so."""

    goal: Goal
    outcome: Outcome
    why: str
    status: str
    questions: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class _Deed:
    """One consequence at a provider, with all that is known of it."""

    op: str
    facts: Mapping[str, Any]
    stands: bool

    def __str__(self) -> str:
        hidden = ("client_reference", "created_at", "expires_at", "$request", "$over")
        told = {name: value for name, value in self.facts.items() if name not in hidden}
        return f"{self.op} {json.dumps(told, ensure_ascii=False)[:400]}"


def judge(goal: Goal, mission_id: str, told: Ending, world: World) -> Verdict:
    """Compare what is at the providers, and what was said, with what was wished."""
    deeds = _deeds(mission_id, world)
    wrong, missing = _compared(goal, deeds, world)
    missing += _unread(goal, mission_id, world) + _unsaid(goal, told)
    outcome, why = _outcome(goal, told, wrong, missing)
    return Verdict(goal, outcome, why, told.status, tuple(told.questions), told.summary)


def late(goal: Goal) -> Verdict:
    """The verdict on a goal that had no end in time."""
    return Verdict(goal, "gave up", "no end in time", "running")


def _outcome(
    goal: Goal, told: Ending, wrong: Sequence[str], missing: Sequence[str]
) -> tuple[Outcome, str]:
    status, is_asked = told.status, bool(told.questions)
    ended = [] if status in goal.status else [f"ended {status}"]
    short = "; ".join([*missing, *ended])
    if wrong:
        return "wrong", "; ".join(wrong)
    if is_asked and goal.ask == "never":
        return "needless", "; ".join(["was asked", *missing])
    if not short:
        return ("asked rightly" if is_asked else "right"), ""
    if status == "succeeded":
        return "part as whole", short
    return ("asked rightly" if is_asked else "gave up"), short


def _deeds(mission_id: str, world: World) -> list[_Deed]:
    """Its consequences: what it made, changed, and ended of others; not its own rollback."""
    effects = world.ledger.effects(mission_id)
    own = {effect.resource_id for effect in effects if effect.kind == "create"}
    sent = {
        request.request_id: request.arguments or {}
        for request in world.ledger.requests(mission_id)
        if request.status is not None and request.status < 300
    }
    return [
        _Deed(
            effect.operation,
            {**world.facts(effect.resource_id), **sent.get(effect.request_id, {})},
            effect.kind != "create" or effect.status == "live",
        )
        for effect in effects
        if effect.kind != "cancel" or effect.resource_id not in own
    ]


def _compared(goal: Goal, deeds: Sequence[_Deed], world: World) -> tuple[list[str], list[str]]:
    """What was done and not wished, and what was wished and not done."""
    left = list(deeds)
    missing: list[str] = []
    for wish in goal.effects:
        fitting = [deed for deed in left if _fits(wish, deed.op, deed.facts, world)]
        standing = [deed for deed in fitting if deed.stands][: wish.times]
        # What was made once more and taken back again has left nothing.
        left = [deed for deed in left if deed not in standing]
        left = [deed for deed in left if not (deed in fitting and not deed.stands)]
        if len(standing) < wish.times:
            missing.append(f"not done: {wish.op} {dict(wish.given)} ({len(standing)})")
    wrong = [d for d in left if not any(_fits(w, d.op, d.facts, world) for w in goal.may)]
    return [f"done: {deed}" for deed in wrong], missing


def _unread(goal: Goal, mission_id: str, world: World) -> list[str]:
    requests = [r for r in world.ledger.requests(mission_id) if r.status and r.status < 300]
    return [
        f"not read: {wish.op} {dict(wish.given)}"
        for wish in goal.reads
        if not any(_fits(wish, r.operation, r.arguments or {}, world) for r in requests)
    ]


def _unsaid(goal: Goal, told: Ending) -> list[str]:
    said = [say for say in goal.says if not re.search(say, told.answer, re.IGNORECASE)]
    return [f"not said: {say}" for say in said]


def _fits(wish: Wish, op: str, facts: Mapping[str, Any], world: World) -> bool:
    if op not in wish.op.split("|"):
        return False
    return all(
        _matches(world.told(pattern), _at(facts, path)) for path, pattern in wish.given.items()
    )


def _at(facts: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(facts, list):
            facts = facts[int(step)] if int(step) < len(facts) else None
        else:
            facts = facts.get(step) if isinstance(facts, dict) else None
    return facts


def _matches(pattern: Any, value: Any) -> bool:
    match pattern:
        case {"any": choices}:
            return any(_matches(choice, value) for choice in choices)
        case {"max": most}:
            return isinstance(value, int | float) and value <= most
        case str() if pattern.startswith("~"):
            return re.search(pattern[1:], str(value), re.IGNORECASE) is not None
        case str():
            return str(value).casefold() == pattern.casefold()
        case list():
            return isinstance(value, list) and sorted(map(str, value)) == sorted(map(str, pattern))
    return bool(value == pattern)
