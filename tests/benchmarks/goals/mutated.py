"""Adds to plain goals what changes what is wanted, and sees whether a planner drops it silently.

Each of fifty plain goals with a consequence gets each of twenty additions, one at a time. The
addition is *used* (its words or values are in a call, or there are as many effects as it says),
*asked* about, *refused* (nothing is done), or *dropped* next to a consequence: none is to be.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from rich.console import Console

from tests.benchmarks.figure import Figure, NothingToMeasure
from tests.benchmarks.goals.driving import Person
from tests.benchmarks.goals.in_process import Mission, Place, Stopped, rules
from tests.benchmarks.goals.models import PLAIN, Goal, dated, load

Outcome = Literal["used", "asked", "refused", "dropped"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("used", "asked", "refused", "dropped")
_GOALS: Final = 50
_WORD: Final = re.compile(r"[\w@.-]*\w")
_SMALL: Final = re.compile(r"a|an|and|as|at|but|for|from|in|is|it|my|not|of|on|or|that|the|to|with")


@dataclass(frozen=True)
class Addition:
    """Words that are added to a goal, and what shows that they were used."""

    name: str
    text: str
    """`{}` is the goal."""
    used: tuple[str, ...] = ()
    """Patterns, each in the arguments of a call; empty: all of its words in one consequence."""
    effects: int = 0
    """How many effects more than without it show that it was used; 0: none do."""


_NEVER: Final = (r"(?!)",)
ADDITIONS: Final = (
    Addition("unless", "{} unless it rains"),
    Addition("if first", "If the weather is fine, {}"),
    Addition("only if", "{}, but only if Tom agrees"),
    Addition("not with", "{}, but not with Ryanair"),
    Addition("except", "{} except on Mondays"),
    Addition("for Ben", "{} for Ben"),
    Addition("on behalf", "{} on behalf of Sara Lind"),
    Addition("week after", "{} the week after"),
    Addition("after event", "{} after the meeting with Kim"),
    Addition("and one more", "{} and one for my mother", effects=1),
    Addition("twice", "{} twice", effects=1),
    Addition("range", "{}, two or three times", effects=1),
    Addition("colour", "{} in blue"),
    Addition("otherwise", "{}, otherwise by train"),
    Addition("second date", "{} or on {+25:d}", used=_NEVER),
    Addition("currency", "{} for at most 50 dollars", used=(r"\b50\b", "USD")),
    Addition("correction", "{}, no wait, make it 7", used=(r"\b7\b",)),
    Addition("instead", "{} instead of the last one"),
    Addition("German condition", "{}, außer wenn es regnet"),
    Addition("German wish", "{} und zwar auf meinen Namen bitte"),
)


@dataclass(frozen=True)
class Verdict:
    """What became of one addition to one goal."""

    goal: Goal
    addition: Addition
    text: str
    outcome: Outcome
    seen: str


@dataclass
class _Plain:
    """What a plain goal does and asks without an addition."""

    fields: list[frozenset[str]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    effects: int = 0


class _Listener(Person):
    """Answers as the goal lists, and keeps what was asked."""

    def __init__(self, goal: Goal, plain: _Plain) -> None:
        super().__init__(goal)
        self._plain = plain

    def answer(self, text: str, fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        self._plain.fields.append(frozenset(fields))
        return super().answer(text, fields)

    def settle(self, doubts: Sequence[str]) -> str | None:
        self._plain.doubts += doubts
        return super().settle(doubts)


class _Watcher(Person):
    """Answers what the plain goal was asked too; stops at the first question about the addition."""

    def __init__(self, goal: Goal, plain: _Plain, words: frozenset[str]) -> None:
        super().__init__(goal)
        self._plain, self._words = plain, words
        self.about = ""

    def answer(self, text: str, fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        if frozenset(fields) in self._plain.fields:
            return super().answer(text, fields)
        self.about = text
        raise Stopped

    def settle(self, doubts: Sequence[str]) -> str | None:
        new = [one for one in doubts if one not in self._plain.doubts]
        if not self._plain.doubts or any(self._words & _words(one) for one in new):
            self.about = "; ".join(new or doubts)
            raise Stopped
        return super().settle(doubts)


async def measure(only: str = "", *, show: bool = False) -> list[Figure]:
    """Try every addition that `only` names, on every goal; print what was dropped.

    Raises:
        NothingToMeasure: no addition and no goal is called so.
    """
    verdicts = await try_all(only)
    if not verdicts:
        raise NothingToMeasure(f"no addition has {only!r} in its name, and no goal begins so")
    _print(verdicts, everything=show)
    rows = {one.name: [v for v in verdicts if v.addition is one] for one in ADDITIONS}
    counted = {name: Counter(v.outcome for v in found) for name, found in rows.items() if found}
    counted["all"] = Counter(v.outcome for v in verdicts)
    return [
        Figure(name=outcome, value=counts[outcome], unit="goals", row=(name,))
        for name, counts in counted.items()
        for outcome in OUTCOMES
    ]


async def try_all(only: str = "", *, every: int = 1) -> list[Verdict]:
    """Return the verdict on each addition to each goal, or to one of `every`."""
    places: dict[str, Place] = {}
    verdicts = []
    named = [one for one in ADDITIONS if only in one.name]
    for goal in _chosen()[::every]:
        place = places.get(goal.document) or Place(goal.document)
        places[goal.document] = place
        additions = ADDITIONS if only and goal.id.startswith(only) else named
        if additions:
            plain = await _plain(goal, place)
            verdicts += [await _tried(goal, addition, place, plain) for addition in additions]
    return verdicts


def _chosen() -> list[Goal]:
    """Return fifty goals that order a consequence, from all documents alike."""
    today = Place.today()
    goals = [goal for goal in load(PLAIN, today) if goal.effects and goal.ask != "must"]
    step = len(goals) / _GOALS
    return [goals[int(number * step)] for number in range(min(_GOALS, len(goals)))]


async def _plain(goal: Goal, place: Place) -> _Plain:
    plain = _Plain()
    mission = await _run(goal, goal.goal, place, _Listener(goal, plain))
    plain.effects = len(_effects(mission))
    return plain


async def _tried(goal: Goal, addition: Addition, place: Place, plain: _Plain) -> Verdict:
    added = addition.text.replace("{}", " ")
    words = _words(dated(added, place.now.date()))
    text = dated(_joined(goal.goal, addition.text), place.now.date())
    person = _Watcher(goal, plain, words)
    mission = await _run(goal, text, place, person)
    effects = _effects(mission)
    if person.about:
        return Verdict(goal, addition, text, "asked", person.about)
    if not effects or mission.ended.status == "failed":  # and so is rolled back
        return Verdict(goal, addition, text, "refused", mission.ended.summary)
    is_used = _is_used(addition, words, mission, place, len(effects) - plain.effects)
    return Verdict(goal, addition, text, "used" if is_used else "dropped", "; ".join(effects))


def _is_used(
    addition: Addition, words: frozenset[str], mission: Mission, place: Place, more: int
) -> bool:
    """Return whether a call carries the addition, or there are as many more effects as it says."""
    if addition.effects and more == addition.effects:
        return True
    if not addition.used:
        return any(words <= _words(effect) for effect in _effects(mission))
    patterns = [dated(pattern, place.now.date()) for pattern in addition.used]
    seen = [json.dumps(one.arguments) for leg in mission.legs for one in leg.seen]
    return any(all(re.search(pattern, call) for pattern in patterns) for call in seen)


async def _run(goal: Goal, text: str, place: Place, person: Person) -> Mission:
    world = await place.town.open(goal.id, goal)
    mission = Mission(goal, world.text_of(text), place, rules(place), person=person)
    try:
        mission.ended = await mission.run()
    finally:
        place.town.close(goal.id)
    return mission


def _effects(mission: Mission) -> list[str]:
    """Return the consequences that were carried out, as text."""
    return [
        f"{one.tool} {json.dumps(one.arguments, ensure_ascii=False)}"
        for leg in mission.legs
        for one in leg.seen
        if one.side_effect and one.outcome == "succeeded"
    ]


def _joined(goal: str, addition: str) -> str:
    if addition.startswith("{}"):
        return goal.rstrip(".?! ") + addition.removeprefix("{}")
    return addition.replace("{}", goal[:1].lower() + goal[1:])


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.casefold()) if not _SMALL.fullmatch(word))


def _print(verdicts: Sequence[Verdict], *, everything: bool) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    for verdict in verdicts:
        if everything or verdict.outcome == "dropped":
            console.print(f"\n{verdict.outcome.upper()}  {verdict.goal.id}: {verdict.text}")
            console.print(f"    {verdict.seen}")
