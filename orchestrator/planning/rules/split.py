"""From a goal to legs: one per request in it, each waiting for the legs whose answers it needs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import NothingAllowed, NothingFits, TooMany
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.corrections import corrected
from orchestrator.language.ellipsis import continued
from orchestrator.language.words import tokens
from orchestrator.planning.models import (
    AgentProfile,
    Doubt,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
)
from orchestrator.planning.rules.answers import answer_fields, answers_price
from orchestrator.planning.rules.call_arguments import gather_arguments
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.situation import read_situation
from orchestrator.planning.rules.target import find_target, read_request
from orchestrator.planning.rules.tool_words import speaks_of
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.planning.several import requests_in
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

_PRONOUNS: Final = frozenset({"it", "them", "everything", "both"})
_POINTERS: Final = frozenset({"this", "that", "these", "those"})
_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class _Part:
    """One request of the goal with the tool that reaches it, and the legs that it waits for."""

    request: str
    target: Tool
    leg_id: str
    depends_on: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @cached_property
    def points_back(self) -> bool:
        return refers_back(self.request)


def split(
    brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], router: Router
) -> MissionPlan:
    """The legs of a mission, one per request in its goal, in the goal's order.

    Raises:
        NothingFits: one of the requests is beyond every tool; nothing of the goal is begun then.
        NothingAllowed: one of them needs a tool that no agent may touch; nor then.
        TooMany: it asks for more of a kind than an agent does one by one; nor then.
        RequestUnread: the router failed.
    """
    brief = brief.model_copy(update={"goal": corrected(brief.goal).text})
    parts = _Goal(brief, catalog, router).parts()
    legs = [
        LegPlan(
            leg_id=part.leg_id,
            goal=part.request,
            agent=agent_for(part.target, agents, request=part.request),
            depends_on=part.depends_on,
        )
        for part in parts
    ]
    _check_number(parts, legs)
    doubts = dict.fromkeys(doubt for part in parts for doubt in part.doubts)
    return MissionPlan(legs=tuple(legs), doubts=tuple(doubts))


def _check_number(parts: Sequence[_Part], legs: Sequence[LegPlan]) -> None:
    """Refuse more of a kind than an agent does one by one, before any is done."""
    for tool, same in groupby(zip(parts, legs, strict=True), key=lambda pair: pair[0].target.name):
        of_tool = [leg for _, leg in same]
        agent = of_tool[0].agent
        if len(of_tool) > agent.max_items:
            raise TooMany(f"{len(of_tool)} calls of {tool}", agent.max_items, agent.name)


@dataclass(frozen=True)
class _Goal:
    """A goal, read by the router over the tools of a catalog."""

    brief: GoalBrief
    catalog: Catalog
    router: Router

    def parts(self) -> list[_Part]:
        """What the goal asks for, in its order; what it wants left alone is not asked for."""
        goal, now = self.brief.goal, self.brief.now
        frame = read_request(self.router, goal, RouteContext(), now=now).frame
        parts: list[_Part] = []
        before = ""
        for clause in frame.clauses or split_clauses(goal):
            if read_clause(clause).is_negated:
                continue
            # "do the same for Bo" asks for what the clause before does.
            before = (before and continued(before, clause)) or clause
            parts += self._several(before, parts)
        if not parts:
            raise NothingFits(goal)
        return parts

    def _several(self, clause: str, earlier: Sequence[_Part]) -> list[_Part]:
        """The parts that one clause asks for; none of them waits for another."""
        target = self._target(clause, [part.target.name for part in reversed(earlier)])
        found = requests_in(clause, target)
        parts: list[_Part] = []
        for request in found.requests:
            number = len(earlier) + len(parts) + 1
            part = _Part(request, target, f"{number}-{_slug(target.domain)}", doubts=found.doubts)
            needed = _dependencies(part, earlier, self._unfilled(part))
            parts.append(replace(part, depends_on=needed))
        return parts

    def _unfilled(self, part: _Part) -> tuple[Parameter, ...]:
        """Required inputs of a part's tool that neither the goal nor the given inputs supply."""
        context = StepContext(
            mission_id=self.brief.mission_id,
            leg_id=part.leg_id,
            step=0,
            mission_goal=self.brief.goal,
            leg_goal=part.request,
            agent=AgentProfile(name=part.target.domain),
            inputs=self.brief.inputs,
            now=self.brief.now,
            catalog_digest=self.brief.catalog_digest,
        )
        situation = read_situation(context, [part.target.name], self.catalog)
        draft, _ = gather_arguments(part.target, situation)
        return draft.missing

    def _target(self, request: str, earlier: Sequence[str]) -> Tool:
        """The tool that reaches a request; NothingFits when its best has little to do with it."""
        target = self._best(request, earlier)
        if target is None or not (self.router.fits(request) or self._speaks_of(request, target)):
            raise NothingFits(request)
        return target

    def _best(self, request: str, earlier: Sequence[str] = ()) -> Tool | None:
        """The tool for a request after those `earlier`, the last first; None when there is none."""
        known = tuple(self.brief.inputs)
        context = RouteContext(goal=self.brief.goal, known=known, earlier=tuple(earlier))
        selection = read_request(self.router, request, context, now=self.brief.now)
        return find_target(selection, self.catalog)

    def _speaks_of(self, request: str, target: Tool) -> bool:
        return speaks_of(read_utterance(request, now=self.brief.now), target)


def agent_for(tool: Tool, agents: Sequence[AgentProfile], *, request: str) -> AgentProfile:
    """The agent for a request that this tool reaches: one that may touch it.

    The first that names its domain; else that names the tool; else one for everything, before one
    that prefers something else. Where there are no profiles, one is made for the domain.

    Raises:
        NothingAllowed: it is outside what every agent may touch.
    """
    if not agents:
        return AgentProfile(name=tool.domain, prefers=(tool.domain,))
    able = [agent for agent in agents if is_inside(tool, (agent.wall,))]
    if not able:
        raise NothingAllowed(request, tool.name, tool.domain)
    return min(able, key=lambda agent: _remoteness(agent, tool))


def _remoteness(agent: AgentProfile, tool: Tool) -> int:
    """How far what an agent is for is from a tool that it may touch."""
    if tool.domain in (*agent.domains, *agent.prefers):
        return 0
    if not agent.wall.is_open:
        return 1
    return 3 if agent.prefers else 2


def refers_back(clause: str) -> bool:
    """Whether a clause points at what came before: "it", "them", "the receipts", "the latest"."""
    words = tokens(clause)
    for word, following, after in zip(words, [*words[1:], ""], [*words[2:], "", ""], strict=False):
        if word in _PRONOUNS:
            return True
        if word in _POINTERS and (not following or following in lexicon.AFTER_A_POINTER):
            return True
        if word == "the" and _is_bare(following, after):
            return True
    return False


def _is_bare(noun: str, after: str) -> bool:
    """Whether, after "the", nothing tells which one: "the receipts", "the latest with Anna"."""
    if noun in lexicon.PREFERENCES:
        return not after or after in lexicon.AFTER_A_POINTER
    return noun in lexicon.REFERENCES and after not in ("of", "for", "about", "from")


def _slug(domain: str) -> str:
    return _SLUG.sub("-", domain.lower()).strip("-")[:48] or "leg"


def _dependencies(
    part: _Part, earlier: Sequence[_Part], unfilled: Iterable[Parameter]
) -> tuple[str, ...]:
    """The earlier legs that a clause points at, and those that alone can feed its tool."""
    needed = set(_pointed_at(earlier)) if part.points_back else set()
    for parameter in unfilled:
        needed |= {other.leg_id for other in _feeders(parameter, part, earlier)}
    return tuple(other.leg_id for other in earlier if other.leg_id in needed)


def _pointed_at(earlier: Sequence[_Part]) -> Iterable[str]:
    """The run of legs since the last clause that pointed back; that clause and its run if none."""
    run: list[str] = []
    for other in reversed(earlier):
        if other.points_back:
            return run or [other.leg_id, *other.depends_on]
        run.append(other.leg_id)
    return run


def _feeders(parameter: Parameter, part: _Part, earlier: Sequence[_Part]) -> list[_Part]:
    """Earlier parts whose answers hold what the input takes.

    Money comes from what was bought; an id from what was found or made, but never an id that the
    earlier tool was itself given: two bookings do not share one offer.
    """
    if _is_money(parameter):
        return [o for o in earlier if o.target.is_side_effect and answers_price(o.target)]
    if not parameter.is_produced:
        return []
    return [
        o
        for o in earlier
        if o.target.name != part.target.name
        and o.target.effect is not Effect.CANCEL
        and parameter.names & (answer_fields(o.target) - set(o.target.properties))
    ]


def _is_money(parameter: Parameter) -> bool:
    """Whether the input is an amount, or a list whose elements each need one."""
    if parameter.kind in (Kind.AMOUNT, Kind.MONEY):
        return True
    element = parameter.element
    parts = element.fields if element is not None else ()
    return any(p.required and p.kind in (Kind.AMOUNT, Kind.MONEY) for p in parts)
