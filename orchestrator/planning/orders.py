"""What a goal orders: the clauses that want a consequence, and the tools whose effect serves them.

Read by the engine from the words of a goal and the catalog, whatever planner makes the plan, so
that no planner's own statement decides whether it did what it was told.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.wall import Wall
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import ClauseReading, read_clause, tells_something
from orchestrator.language.clauses import split_clauses
from orchestrator.language.corrections import corrected
from orchestrator.language.ellipsis import continued
from orchestrator.language.intent import Action, Slot
from orchestrator.language.provisos import conditions_in, is_unless, what_of
from orchestrator.language.slots import find_slots
from orchestrator.language.subclauses import read_goal, says_no_more
from orchestrator.language.words import PERMITTING_VERBS
from orchestrator.planning.models import LegPlan, MissionPlan
from orchestrator.planning.named_documents import documents_named, without_documents
from orchestrator.planning.order_deeds import (
    can_serve,
    is_asked_for_by,
    is_said,
    is_what_is_done,
    makes,
    named,
    of_the_deed,
    reaches,
    tells,
)
from orchestrator.planning.order_terms import (
    count_of,
    is_of_all,
    is_of_another,
    names_in,
    takes_address,
)
from orchestrator.planning.order_words import is_question, only_points, takes_up, telling_words
from orchestrator.planning.rules.kinds_said import is_of_kind, kind_said
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.selection import RouteContext
from orchestrator.saga.served import Order, Proviso

_ALIKE: Final = 0.7
"""Of the best tool's score: what reaches it may serve an order as well."""
_CLOSE: Final = 4
"""Of a clause's tools, those that may be meant."""
_IDENTIFIER: Final = re.compile(r"\w+(?:[.-]\w+)*")


@dataclass(frozen=True)
class _Asked:
    """A clause that asks for something, with the tools for it, best first."""

    clause: ClauseReading
    tools: tuple[Tool, ...]
    scores: tuple[float, ...]

    @property
    def values(self) -> tuple[Slot, ...]:
        """The values that it states."""
        return find_slots(self.clause.text, now=None)


def with_orders(
    plan: MissionPlan, goal: str, catalog: Catalog, router: Router | None, *, now: datetime
) -> MissionPlan:
    """The plan with what the mission's goal and each leg's goal order.

    Args:
        plan: as a planner made it.
        goal: the mission's, in the words of who started it.
        catalog: the mission's.
        router: of that catalog; None: it has none, and words alone decide.
        now: the requester's time.
    """
    reader, meant = OrderReader(catalog, router, now=now), corrected(goal).text
    read_as = reader.conditions(meant)
    conditions = tuple(one for one in read_as if not says_no_more(one.clause, meant))
    goal = read_goal(meant).requests
    is_named = bool(documents_named(goal, catalog.tools.values()))
    read = (
        {
            "orders": ()
            if leg.only_looks
            else reader.orders(_requests(leg.goal), goal, leg.agent.wall if is_named else None)
        }
        for leg in plan.legs
    )
    legs = [
        leg.model_copy(update={**orders, "conditions": conditions})
        for leg, orders in zip(plan.legs, read, strict=True)
    ]
    return plan.model_copy(
        update={
            "legs": tuple(legs),
            "orders": reader.orders(goal, goal),
            "left_out": reader.left_out(goal, legs),
            "conditions": conditions,
        }
    )


def _requests(text: str) -> str:
    """What a text asks for, as it is meant: without remarks, and without what that depends on."""
    return read_goal(corrected(text).text).requests


class OrderReader:
    """Reads goals over one catalog."""

    def __init__(self, catalog: Catalog, router: Router | None, *, now: datetime) -> None:
        """Take the catalog, its router if it has one, and the requester's time."""
        self._catalog = catalog
        self._router = router
        self._now = now
        self._read: dict[tuple[str, str], list[_Asked]] = {}
        """The clauses of the texts that were asked about: each is, several times."""

    def orders(self, text: str, goal: str, wall: Wall | None = None) -> tuple[Order, ...]:
        """The clauses of a text that order a consequence, with the tools that can serve each.

        Those are inside the wall: that of a leg which is kept to the documents that its goal names.
        """
        found: list[tuple[Order, str]] = []
        read = self._asked(text, goal)
        read = [_inside(asked, wall) for asked in read] if wall is not None else read
        for asked in filter(self._orders, read):
            clause, tools = asked.clause, self._serving(asked)
            # "and reserve it for eight" says more of the same; "and send it to Bob" is another one.
            again = bool(reference_in(clause.text)) and any(
                not earlier.points_back and verb != clause.verb and set(tools) & set(earlier.tools)
                for earlier, verb in found
            )
            order = Order(
                clause=clause.text,
                tools=tools,
                renewed_by=self._renewals(asked),
                points_back=again,
                count=count_of(clause, asked.tools, tools, self._catalog),
                is_all=is_of_all(clause),
                names=names_in(asked.values) if self._takes_addresses(tools) else (),
                of_another=is_of_another(clause, asked.values, goal),
            )
            found.append((order, clause.verb))
        return tuple(order for order, _ in found)

    def _takes_addresses(self, tools: Collection[str]) -> bool:
        """Whether some of the tools can be told whom it is for: one that is told an id cannot."""
        return any(takes_address(self._catalog.tool(name)) for name in tools)

    def conditions(self, goal: str) -> tuple[Proviso, ...]:
        """What the goal makes its orders depend on, with the tools that read whether it is so."""
        asked = list(filter(self._orders, self._asked(goal, goal)))
        own = {domain for one in asked for domain in _domains(one)}
        found = {c: a for a in asked for c in conditions_in(a.clause.text, a.clause.action)}
        return tuple(self._condition(c, asked, own) for c, asked in found.items())

    def _condition(self, condition: str, asked: _Asked, own: Collection[str]) -> Proviso:
        what = what_of(condition)
        slots = find_slots(asked.clause.text, now=self._now)
        tools = self._telling(what, own)
        return Proviso(
            clause=condition,
            tools=tools,
            stems=telling_words(what, tools) if self._fits(what) else (),
            days=tuple(str(slot.value) for slot in slots if slot.kind == "date"),
            is_unless=is_unless(condition),
        )

    def _telling(self, text: str, own: Collection[str]) -> tuple[str, ...]:
        """The tools that tell something, and fit a text best.

        What is said of "it" and fits none is of what is ordered: what reads of its domains tells.
        """
        if not self._fits(text):
            reads = [t for t in self._catalog.tools.values() if not t.is_side_effect]
            return tuple(t.name for t in reads if reference_in(text) and t.domain in own)
        fitting = [
            (tool, score)
            for asked in self._asked(text, text)[:1]
            for tool, score in zip(asked.tools, asked.scores, strict=True)
            if not tool.is_side_effect
        ]
        return tuple(tool.name for tool, score in fitting if score >= _ALIKE * fitting[0][1])

    def left_out(self, goal: str, legs: Sequence[LegPlan]) -> tuple[str, ...]:
        """What the goal asks to be told, and no leg's goal takes up, by its words or its domain."""
        wanted = [asked for asked in self._asked(goal, goal) if self._is_told(asked)]
        missing = [
            asked
            for asked in wanted
            if not any(takes_up(leg.goal, self._undocumented(asked.clause)) for leg in legs)
        ]
        if not missing:
            return ()
        domains = {
            d for leg in legs for other in self._asked(leg.goal, goal) for d in _domains(other)
        }
        return tuple(asked.clause.text for asked in missing if not domains & _domains(asked))

    def _undocumented(self, clause: ClauseReading) -> ClauseReading:
        """A clause as legs have it: without the documents that it names."""
        named = documents_named(clause.text, self._catalog.tools.values())
        return read_clause(without_documents(clause.text, named)) if named else clause

    def _asked(self, text: str, goal: str) -> list[_Asked]:
        """The clauses that are not forbidden, read by the router or by their words alone."""
        if (text, goal) not in self._read:
            self._read[text, goal] = self._clauses(text, goal)
        return self._read[text, goal]

    def _clauses(self, text: str, goal: str) -> list[_Asked]:
        request = None
        if self._router is not None:
            context = RouteContext(goal=goal)
            request = self._router.without_deadline().read(text, context, now=self._now)
        if request is None:
            readings = [read_clause(clause) for clause in split_clauses(text)]
            return [_Asked(reading, (), ()) for reading in readings if not reading.is_negated]
        asked: list[_Asked] = []
        for clause, table in zip(request.clauses, request.tables, strict=False):
            if clause.is_negated:
                continue
            whole = continued(asked[-1].clause.text, clause.text) if asked else ""
            # "and the same for Bo" is done by what does the clause before it.
            going_on = replace(asked[-1], clause=read_clause(whole)) if whole else None
            asked.append(going_on or self._candidates(clause, table))
        return asked

    def _candidates(self, clause: ClauseReading, table: ScoreTable) -> _Asked:
        """A clause with the tools for it; where none fits, only those that its words speak for."""
        scored = [*zip(table.names, table.fused.tolist(), table.weight.tolist(), strict=True)]
        if self._router is None or not self._router.fits(clause.text):
            scored = [row for row in scored if row[2] > 0]
        documents = {
            one.document for one in documents_named(clause.text, self._catalog.tools.values())
        }
        rows = [(self._catalog.tool(name), score) for name, score, _ in scored]
        rows = [row for row in rows if not documents or row[0].document in documents]
        return _Asked(clause, tuple(t for t, _ in rows), tuple(score for _, score in rows))

    def _orders(self, asked: _Asked) -> bool:
        """Whether a clause orders a consequence, and not only what some tool that reads does.

        What is no question and no search, and best done by a tool that changes something, orders
        that, whatever its verb: "end my rental", "get me a meal sent". "Call" and the name of a
        tool orders what that tool does.
        """
        clause = asked.clause
        by_name = [tool for tool in asked.tools if tool.name in _IDENTIFIER.findall(clause.text)]
        if by_name:
            return any(tool.is_side_effect for tool in by_name)
        if not clause.asks_side_effect:
            if any(is_asked_for_by(tool, clause.verb) for tool in asked.tools[:_CLOSE]):
                return True
            if clause.verb in PERMITTING_VERBS:
                return False
            looks = is_question(clause) or (clause.action is Action.SEARCH and clause.verb)
            does = self._is_sure(asked) and asked.tools[0].is_side_effect
            # "Oslo on 2026-12-03" has nothing after its first word that this could be done to.
            things = [thing for thing in clause.objects if thing.lower() != clause.verb]
            says_what = clause.action is not Action.UNKNOWN or bool(things)
            return does and says_what and not looks
        same = next((t for t in asked.tools[:_CLOSE] if named(t)[0] == clause.verb), None)
        return same is None or same.is_side_effect

    def _is_told(self, asked: _Asked) -> bool:
        """Whether a clause asks for what some tool tells; a remark asks for nothing."""
        clause = asked.clause
        looks = clause.action in (Action.READ, Action.SEARCH) and bool(clause.verb)
        return looks and self._is_sure(asked) and not asked.tools[0].is_side_effect

    def _is_sure(self, asked: _Asked) -> bool:
        return self._fits(asked.clause.text) and bool(asked.tools)

    def _fits(self, text: str) -> bool:
        return self._router is not None and self._router.fits(text)

    def _renewals(self, asked: _Asked) -> tuple[tuple[str, str], ...]:
        """By what is changed a thing that no tool changes: made anew, and the old one ended."""
        if asked.clause.action is not Action.UPDATE or not asked.scores:
            return ()
        enough = _ALIKE * asked.scores[0]
        return tuple(
            (tool.name, tool.compensation.cancel.tool)
            for tool, score in zip(asked.tools, asked.scores, strict=True)
            if score >= enough and tool.compensation is not None and makes(tool)
        )

    def _serving(self, asked: _Asked) -> tuple[str, ...]:
        """The tools whose effect is what the clause orders: the best, its like and its domain's."""
        if self._router is None or not asked.tools:
            pool = [tool for tool in self._catalog.tools.values() if can_serve(tool, asked.clause)]
            return tuple(t.name for t in pool) if self._router is None else ()
        able = [
            (tool, score)
            for tool, score in zip(asked.tools, asked.scores, strict=True)
            if can_serve(tool, asked.clause)
        ]
        if tells_something(asked.clause.text):
            able = [one for one in able if tells(one[0])] or able
        if asked.clause.action is Action.SEND:
            able.sort(key=lambda one: not reaches(one[0], asked.clause.text, asked.values))
        if not asked.clause.asks_side_effect:
            able.sort(key=lambda one: not is_asked_for_by(one[0], asked.clause.verb))
        if not able:
            return ()
        by_kind = asked.clause.action in (Action.CREATE, Action.CANCEL)
        if by_kind and (said := kind_said(asked.clause.text)):
            able.sort(key=lambda one: not is_of_kind(one[0], said))
        best, top = able[0]
        # "Undo it" says nothing of what: whatever does that may be meant.
        any_thing = only_points(asked.clause)
        likely = [t for t, s in able if s >= _ALIKE * top or t.domain == best.domain or any_thing]
        # A verb may be misread: what is named by another one, and fits the words better, does too.
        better = [
            tool
            for tool, score in zip(asked.tools, asked.scores, strict=True)
            if tool.is_side_effect
            and (
                (score > top and is_said(tool, asked.clause))
                or is_what_is_done(tool, asked.clause.verb, asked.clause.objects)
            )
        ]
        served = (*of_the_deed(likely, asked.clause), *better)
        return tuple(dict.fromkeys(tool.name for tool in served))


def _inside(asked: _Asked, wall: Wall) -> _Asked:
    """A clause with those of its tools that are inside a wall."""
    tools = [*zip(asked.tools, asked.scores, strict=True)]
    kept = [(tool, score) for tool, score in tools if wall.admits(tool.name, tool.domain)]
    return replace(asked, tools=tuple(t for t, _ in kept), scores=tuple(s for _, s in kept))


def _domains(asked: _Asked) -> frozenset[str]:
    return frozenset(tool.domain for tool in asked.tools[:1])
