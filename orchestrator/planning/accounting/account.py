"""The account of a plan: what its goal says, which leg takes it up, and what nobody does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.corrections import Replaced, corrected
from orchestrator.language.words import content_stems, stem
from orchestrator.planning.accounting.doubts import (
    doubt_about,
    doubt_about_clause,
    doubt_about_correction,
)
from orchestrator.planning.accounting.grounds import unexplained
from orchestrator.planning.accounting.paths import Path, PathFinder
from orchestrator.planning.accounting.remarks import aside
from orchestrator.planning.accounting.things_said import Said, things_said
from orchestrator.planning.accounting.uses import Taken
from orchestrator.planning.models import Doubt, LegPlan, Mention, MissionPlan
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext
from orchestrator.saga.served import Order

_TAKEN_UP: Final = 0.6
"""Share of a clause's words that a leg's goal holds when it takes the clause up."""


def with_account(
    plan: MissionPlan, goal: str, catalog: Catalog, router: Router | None, *, now: datetime
) -> MissionPlan:
    """The plan with every thing that the goal says, and what of it could change a consequence.

    A goal that orders nothing leaves nothing in doubt: what of it is not read is left out.

    Args:
        plan: with its orders and conditions.
        goal: the mission's, in the words of who started it.
        catalog: the mission's.
        router: of that catalog; None: it has none, and any tool may be meant.
        now: the requester's time.
    """
    meant = corrected(goal)
    account = _Account(plan, meant.text, catalog, router, now)
    mentions = [_replaced(one) for one in meant.replaced]
    doubts = [*plan.doubts, *(map(doubt_about_correction, meant.unsure) if plan.orders else ())]
    for part in account.parts():
        taken = [*part.mentions()]
        mentions += taken
        doubts += part.doubts(taken) if plan.orders else ()
    told = {doubt.about: doubt for doubt in reversed(doubts)}
    return plan.model_copy(
        update={"mentions": tuple(mentions), "doubts": tuple(reversed(told.values()))}
    )


@dataclass(frozen=True)
class _Part:
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

    def mentions(self) -> Iterator[Mention]:
        """What it says, each with its use; what nothing takes up has none."""
        leg_id = self.legs[0].leg_id if self.legs else ""
        for said in self.said:
            used = self._use(said)
            own = leg_id if used else ""
            yield Mention(text=said.text, kind=said.kind, leg_id=own, used_as=used)

    def doubts(self, mentions: Sequence[Mention]) -> Iterator[Doubt]:
        """What of it nothing takes up, where that could change a consequence."""
        if self.clause.is_negated:
            if not self.is_left_alone:
                yield doubt_about_clause(self.clause.text, "forbidden")
            return
        if self.order is not None and not self.order.tools:
            yield doubt_about_clause(self.clause.text, "no tool")
            return
        if not self.legs:
            if self.order is not None:
                yield doubt_about_clause(self.clause.text, "no leg")
                return
            if self.clause.text in self.plan.left_out:
                return
        elif not self._is_consequential:
            return
        for said, mention in zip(self.said, mentions, strict=True):
            if not mention.used_as:
                yield doubt_about(said, self.clause, self.taken.path)

    @property
    def _is_consequential(self) -> bool:
        """Whether it orders something, or is read for a leg that does."""
        own = {leg.leg_id for leg in self.legs}
        feeds = any(own & {*leg.depends_on} and leg.orders for leg in self.plan.legs)
        return self.order is not None or feeds

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


class _Account:
    """Reads one goal clause by clause."""

    def __init__(
        self,
        plan: MissionPlan,
        goal: str,
        catalog: Catalog,
        router: Router | None,
        now: datetime,
    ) -> None:
        self._plan = plan
        self._goal = goal
        self._now = now
        self._router = router
        self._finder = PathFinder(catalog, router, goal, now=now)
        self._paths = {leg.leg_id: self._finder.of_leg(leg) for leg in plan.legs}

    def parts(self) -> Iterator[_Part]:
        """Its clauses, each with the legs that take it up."""
        orders = {order.clause: order for order in self._plan.orders}
        for clause in self._clauses():
            order = orders.get(clause.text)
            legs = self._legs_of(clause)
            path = _joined(self._paths[leg.leg_id] for leg in legs)
            said = things_said(clause.text, now=self._now)
            yield _Part(
                clause=clause,
                order=order,
                legs=legs,
                taken=Taken.of(clause, path, order, said),
                others=self._whole,
                said=said,
                plan=self._plan,
                is_left_alone=clause.is_negated and self._is_left_alone(clause),
            )

    @cached_property
    def _whole(self) -> Path:
        return _joined(self._paths.values())

    def _clauses(self) -> Sequence[ClauseReading]:
        """As the orders were read: by the router, or by words alone."""
        request = None
        if self._router is not None:
            context = RouteContext(goal=self._goal)
            explain = self._router.without_deadline().explain
            request = explain(self._goal, context, now=self._now).request
        written = [read_clause(clause) for clause in split_clauses(self._goal)]
        if request is None:
            return written
        known = {clause.text for clause in request.clauses}
        # What is forbidden asks for no tool, and the router leaves it out.
        return [*request.clauses, *(c for c in written if c.is_negated and c.text not in known)]

    def _legs_of(self, clause: ClauseReading) -> tuple[LegPlan, ...]:
        """The legs whose goals hold the clause, word for word or by most of its words."""
        legs = self._plan.legs
        exact = tuple(leg for leg in legs if clause.text in leg.goal or leg.goal in clause.text)
        return exact or tuple(leg for leg in legs if _holds(leg.goal, clause))

    def _is_left_alone(self, clause: ClauseReading) -> bool:
        """Whether what a clause forbids is what some tool does, and no order of the plan."""
        if self._router is None:
            return False
        best = self._router.without_deadline().rank(clause.text, now=self._now)[:1]
        ordered = {name for order in self._plan.orders for name in order.tools}
        if ordered & {*best}:
            return False
        own = self._finder.of_tools(best).grounds
        things = (s for s in things_said(" ".join(clause.objects), now=self._now) if s.stems)
        return not any(unexplained(said, own) for said in things)


def _replaced(one: Replaced) -> Mention:
    """What a correction came to."""
    used = f"{one.by} in the place of {one.was}" if one.by else f"{one.was} is taken back"
    return Mention(text=one.said, kind="correction", used_as=used)


def _joined(paths: Iterable[Path]) -> Path:
    whole = Path()
    for path in paths:
        whole |= path
    return whole


def _holds(text: str, clause: ClauseReading) -> bool:
    """Whether a leg's goal takes a clause up, by its words."""
    said = set(content_stems(clause.text)) - {stem(clause.verb)}
    held = said & set(content_stems(text))
    return bool(said) and len(held) >= _TAKEN_UP * len(said)
