"""The account of one clause: what it says, as what its legs take it up, and what is left over."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from orchestrator.language import lexicon
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import Action
from orchestrator.planning.accounting.half_orders import doubt_about_half_order
from orchestrator.planning.accounting.left_over import doubt_about, doubt_about_clause
from orchestrator.planning.accounting.paths import Path
from orchestrator.planning.accounting.stating import aside, explains_an_end, states
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.accounting.uses import Taken
from orchestrator.planning.models import Doubt, LegPlan, Mention, MissionPlan
from orchestrator.planning.order_words import is_question
from orchestrator.saga.served import Order

_LISTED: Final = re.compile(r":\s+(?P<list>[^\"]+?(?:,|\s(?:and|&))\s[^\"]+)$", re.IGNORECASE)
"""Several things behind a colon."""
_UNTIL: Final = lexicon.END_HINTS | {"to"}


@dataclass(frozen=True)
class ReadApart:
    """One leg of a clause that joins several things: "in Oslo and Rome", read as that for Rome."""

    leg_id: str
    taken: Taken
    said: tuple[Said, ...]
    """What its own words say."""

    def use(self, said: Said) -> str:
        """As what it takes up a thing that the whole clause says; empty where it does not."""
        own = next((one for one in self.said if one.text == said.text), None)
        return self.taken.use(own) if own is not None else ""


@dataclass(frozen=True)
class ClauseAccount:
    """One clause of the goal, with what it orders and the legs that take it up."""

    clause: ClauseReading
    order: Order | None
    legs: tuple[LegPlan, ...]
    taken: Taken
    others: Path
    """Of all legs: what a remark may be about."""
    said: tuple[Said, ...]
    plan: MissionPlan
    is_left_alone: bool = False
    """Whether it forbids what no order of the plan does."""
    apart: tuple[ReadApart, ...] = ()
    """Its legs, where each has one of the several things that it joins."""

    def mentions(self) -> Iterator[Mention]:
        """What it says, with its use by each leg; what nothing takes up has none."""
        for said in self.said:
            for leg_id, used in self._uses[said.position]:
                yield Mention(text=said.text, kind=said.kind, leg_id=leg_id, used_as=used)

    def doubts(self) -> Iterator[Doubt]:
        """What of it nothing takes up, where that could change a consequence."""
        is_asked = any(self.clause.text in doubt.about for doubt in self.plan.doubts)
        if (whole := self._whole_doubt()) is not None:
            if not is_asked:
                yield whole
            return
        if not self.legs and is_asked:
            return  # its planner asks about all of it
        if self.clause.is_negated or not self._is_consequential:
            return
        if self.order and not is_asked and (half := doubt_about_half_order(self.clause)):
            yield half
        yield from self._ends_before()
        yield from self._shared_out()
        for said in self.said:
            if not any(used for _, used in self._uses[said.position]):
                yield doubt_about(said, self.clause, self.taken.path)

    def _ends_before(self) -> Iterator[Doubt]:
        """The doubt about a day up to which something lasts, and that lies before its first."""
        days = [said for said in self.said if said.kind == "date"]
        for first, last in pairwise(days):
            ends = last.hint in _UNTIL and first.hint not in _UNTIL
            if (
                ends
                and str(last.value) < str(first.value)
                and None not in (last.value, first.value)
            ):
                about = self.clause.text[first.position : last.end]
                why = f"its end would be {last.value}, which is before its start {first.value}"
                yield Doubt(kind="impossible", about=about, why=why)

    def _shared_out(self) -> Iterator[Doubt]:
        """The doubt about a list in the text of several: "three reminders: milk, eggs, bread"."""
        if self.order is None or self.order.count < 2 or len(self.legs) != 1:
            return
        if (listed := _LISTED.search(self.clause.text)) and self.taken.path.writes is not None:
            count = self.order.count
            why = f"it may be one text for each of {count}; all of it would be said in each"
            yield Doubt(kind="not_understood", about=listed["list"], why=why)

    def _whole_doubt(self) -> Doubt | None:
        """The doubt about all of it: it forbids what the plan may do, or nothing does it."""
        if self.clause.is_negated:
            if self.is_left_alone or explains_an_end(self.clause.text, self.plan.orders):
                return None
            return doubt_about_clause(self.clause.text, "forbidden")
        if self.order is None:
            return None
        if not self.order.tools:
            return doubt_about_clause(self.clause.text, "no tool")
        return None if self.legs else doubt_about_clause(self.clause.text, "no leg")

    @property
    def _is_consequential(self) -> bool:
        """Whether it orders something, is read for a leg that does, or is for no leg at all."""
        own = {leg.leg_id for leg in self.legs}
        if not own:
            return self.clause.text not in self.plan.left_out
        feeds = any(own & {*leg.depends_on} and leg.orders for leg in self.plan.legs)
        # "Lunch with Sam at noon" neither orders nor asks: what is left of it tells how it is read.
        says_neither = self.clause.action is Action.UNKNOWN and not is_question(self.clause)
        return self.order is not None or feeds or says_neither or states(self.clause.text)

    @cached_property
    def _uses(self) -> Mapping[int, Sequence[tuple[str, str]]]:
        """Which legs take up what stands where, and as what."""
        return {said.position: self._used_by(said) for said in self.said}

    def _used_by(self, said: Said) -> Sequence[tuple[str, str]]:
        own = [(one.leg_id, one.use(said)) for one in self.apart]
        if found := [(leg_id, used) for leg_id, used in own if used]:
            return found
        used = self._use(said)
        return [(self.legs[0].leg_id if self.legs and used else "", used)]

    def _use(self, said: Said) -> str:
        if self.is_left_alone:
            return "is left alone"
        if said.kind == "condition":
            return self._told_by(said)
        used = self.taken.use(said) if self.legs else ""
        return used or aside(said, self.clause, self.others, is_alone=not self.legs)

    def _told_by(self, said: Said) -> str:
        found = [p for p in self.plan.conditions if p.clause == said.text and p.tools]
        return f"condition, told by {found[0].tools[0]}" if found else ""
