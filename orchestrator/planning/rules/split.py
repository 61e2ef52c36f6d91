"""From a goal to legs: one per request in it, each waiting for the legs whose answers it needs."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import LanguageUnread, NothingAllowed, NothingFits, TooMany
from orchestrator.core.wall import Wall
from orchestrator.language.clause_reading import read_clause, says_whom_first
from orchestrator.language.clauses import split_clauses, without_lead
from orchestrator.language.corrections import corrected
from orchestrator.language.detect import foreign_in
from orchestrator.language.ellipsis import continued
from orchestrator.language.goal_text import GoalText, Governed
from orchestrator.language.intent import Action
from orchestrator.language.said import told_in
from orchestrator.language.slots import find_slots, is_addressed
from orchestrator.language.subclauses import read_goal
from orchestrator.language.words import COMPUTING_VERBS, stem, tokens
from orchestrator.planning.models import (
    AgentProfile,
    Doubt,
    GoalBrief,
    LegPlan,
    MissionPlan,
    StepContext,
)
from orchestrator.planning.named_documents import (
    documents_named,
    kept_to,
    wall_of,
    without_documents,
)
from orchestrator.planning.order_deeds import named
from orchestrator.planning.order_terms import count_of
from orchestrator.planning.order_words import is_question, only_points
from orchestrator.planning.rules.call_arguments import gather_arguments
from orchestrator.planning.rules.condition_legs import (
    ConditionReader,
    condition_of,
    deciding,
    looks_first,
    meant_by,
    only_if,
    read_only,
)
from orchestrator.planning.rules.dependencies import dependencies, told_of
from orchestrator.planning.rules.field_listers import field_lister
from orchestrator.planning.rules.other_lists import other_lists
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.parts import Clause, Part, allowed, apart, located, refers_back
from orchestrator.planning.rules.situation import read_situation
from orchestrator.planning.rules.target import find_target, read_request
from orchestrator.planning.rules.tellers import asked_words
from orchestrator.planning.rules.tool_words import own_words, speaks_of
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.planning.several import requests_in
from orchestrator.planning.walls import is_inside
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

_SLUG: Final = re.compile(r"[^a-z0-9]+")
_BEFORE: Final = re.compile(r"\s*before\s+\w+ing\b", re.IGNORECASE)
_TOLD_THEM: Final = re.compile(r"(?:\w+\s+){1,2}(?P<whom>them|him|her)\b", re.IGNORECASE)
_THERE: Final = re.compile(r"\bthere\b(?!\s+(?:is|are|was|were)\b)", re.IGNORECASE)
_NEAR: Final = 4
"""Characters between the end of a clause and what is said of it."""


def split(
    brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], router: Router
) -> MissionPlan:
    """The legs of a mission, one per request in its goal, in the goal's order.

    What nothing fits is told as a doubt, and the rest is planned. A condition is looked up by a leg
    before those that it governs; one that no tool tells is asked by such a leg.

    Raises:
        LanguageUnread: a part of the goal is in no English; nothing of it is begun then.
        NothingFits: nothing of the goal is within any tool's reach.
        NothingAllowed: a part of it needs a tool that no agent may touch; nothing is begun then.
        TooMany: it asks for more of a kind than an agent does one by one; nor then.
        RequestUnread: the router failed.
    """
    if (foreign := foreign_in(brief.goal)) is not None:
        raise LanguageUnread(foreign.text, foreign.name)
    brief = brief.model_copy(update={"goal": corrected(brief.goal).text})
    goal = _Goal(brief, catalog, router)
    goal.read()
    legs = [_leg(part, agents, catalog) for part in goal.parts]
    _check_number(goal.parts, legs, catalog)
    return MissionPlan(legs=tuple(legs), doubts=tuple(dict.fromkeys(goal.doubts)))


def _check_number(parts: Sequence[Part], legs: Sequence[LegPlan], catalog: Catalog) -> None:
    """Refuse more of a kind than an agent does one by one, before any is done."""
    calls: dict[str, int] = {}
    for part, leg in zip(parts, legs, strict=True):
        name, clause = part.target.name, read_clause(part.request)
        calls[name] = calls.get(name, 0) + count_of(clause, [part.target], [name], catalog)
        if calls[name] > leg.agent.max_items:
            raise TooMany(f"more than {leg.agent.max_items} calls of {name}", leg.agent.name)


def _leg(part: Part, agents: Sequence[AgentProfile], catalog: Catalog) -> LegPlan:
    agent = agent_for(part.target, agents, request=part.request)
    if part.documents:
        agent = kept_to(agent, part.documents, catalog)
    if part.only_looks:
        agent = read_only(agent, part.target, catalog)
    return LegPlan(
        leg_id=part.leg_id,
        goal=part.request,
        agent=agent,
        depends_on=part.depends_on,
        only_if=part.only_if,
        decides=part.decides,
        only_looks=part.only_looks,
    )


@dataclass
class _Goal:
    """A goal, read by the router over the tools of a catalog."""

    brief: GoalBrief
    catalog: Catalog
    router: Router
    parts: list[Part] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    @cached_property
    def text(self) -> GoalText:
        """The goal, its requests apart from what asks for nothing."""
        return read_goal(self.brief.goal)

    @cached_property
    def _conditions(self) -> ConditionReader:
        return ConditionReader(self.router, self.catalog, now=self.brief.now)

    def read(self) -> None:
        """Find what the goal asks for, in its order; what it wants left alone is not asked for."""
        requests, now = self.text.requests, self.brief.now
        frame = read_request(self.router, requests, RouteContext(), now=now).frame
        clauses = located(frame.clauses or split_clauses(requests), requests)
        unmet: list[str] = []
        before = ""
        for clause in apart(clauses, requests, [g.start for g in self.text.governed]):
            governed = self._governing(clause)
            if read_clause(clause.text).is_negated:
                # "Don't book it unless Bo is free" orders it for the case that he is.
                clause, governed = allowed(clause, governed) or (clause, governed)
            if read_clause(clause.text).is_negated:
                self._doubt_negated(clause, governed)
                continue
            # "do the same for Bo" asks for what the clause before does.
            text = (before and continued(before, clause.text)) or clause.text
            before = self._whom(self._where(text))
            if not self._take(replace(clause, text=before), governed):
                unmet.append(clause.text)
        if not any(not part.only_looks for part in self.parts):
            raise NothingFits(next(iter(unmet), self.brief.goal))
        self._await()

    def _where(self, text: str) -> str:
        """A clause with what its "there" is, where nothing that it looks up is asked for that.

        Of a cancel that is the one place where the parts before it go to; of anything else the
        thing at which the part before it is done, where no part says a place: "collect it at C03".
        """
        places = {s.text for part in self.parts for s in part.slots if s.kind == "place"}
        last = self.parts[-1].slots if self.parts and not places else ()
        spots = {s.text for s in last if s.kind in ("identifier", "name") and s.hint == "at"}
        if len(spots) == 1:
            return _THERE.sub(f"at {spots.pop()}", text)
        if len(places) != 1 or read_clause(text).action is not Action.CANCEL:
            return text
        return _THERE.sub(f"in {places.pop()}", text)

    def _whom(self, text: str) -> str:
        """A clause that tells "them" something, with the one to whom the part before it goes."""
        pronoun = _TOLD_THEM.match(text)
        if pronoun is None or not says_whom_first(read_clause(text).verb):
            return text
        told = (p.slots for p in reversed(self.parts) if p.reading.action is Action.SEND)
        whom = {s.text for s in next(told, ()) if s.kind == "email" or s.text.startswith("#")}
        if len(whom) != 1:
            return text
        return f"{text[: pronoun.start('whom')]}{whom.pop()}{text[pronoun.end('whom') :]}"

    def _governing(self, clause: Clause) -> list[Governed]:
        """What is said of when a clause is to be done."""
        return [
            g
            for g in self.text.governed
            if (
                g.start <= clause.start < g.end
                if g.start < g.end
                else clause.start < g.start <= clause.end + _NEAR
            )
        ]

    def _take(self, clause: Clause, governed: Sequence[Governed]) -> bool:
        """Make a part of a clause; False when no tool fits it."""
        if any(g.subclause.kind == "instead" for g in governed):
            self._doubt_instead(clause, governed)
            return True
        asked = [part for part in self.parts if not part.only_looks]
        named = documents_named(clause.text, self.catalog.tools.values())
        clause = replace(clause, text=without_documents(clause.text, named))
        documents = tuple(dict.fromkeys(one.document for one in named))
        before = [part.target.name for part in reversed(asked)]
        target = self._target(clause.text, before, documents)
        if target is None:
            why = "no tool fits it; going on does the rest without it"
            self.doubts.append(Doubt(kind="not_understood", about=clause.text, why=why))
            return False
        earlier = [part.leg_id for part in self.parts]
        found = requests_in(clause.text, target, self.catalog)
        self.doubts += found.doubts
        for request in found.requests:
            part = Part(
                request,
                self._of_one(request, target, documents) if len(found.requests) > 1 else target,
                "",
                follows=clause.follows and bool(asked),
                governed=tuple(governed),
                slots=find_slots(request, now=self.brief.now),
                documents=documents,
            )
            self._add(part, earlier)
        return True

    def _of_one(self, request: str, target: Tool, documents: Collection[str]) -> Tool:
        """The tool for one of several that a clause joins: "my hotel and flight bookings"."""
        if read_clause(request).action is Action.SEND:
            return target  # whoever it is sent to, it is sent by the same
        own = self._target(request, [], documents)
        return own if own is not None and own.effect is target.effect else target

    def _add(self, part: Part, earlier: Sequence[str]) -> None:
        """Take in a part that may wait for those `earlier`, and for what decides whether it is."""
        for one in part.governed:
            part = self._under(part, one)
        part = replace(part, leg_id=self._leg_id(part.target.domain))
        deciding_it = {one.leg_id for one in part.only_if}
        known = [one for one in self.parts if one.leg_id in {*earlier, *deciding_it}]
        waits = dependencies(part, known, self._unfilled(part))
        self.parts.append(replace(part, depends_on=waits))

    def _under(self, part: Part, governed: Governed) -> Part:
        """The part as what governs it makes it; what decides that is put before it."""
        subclause = governed.subclause
        if subclause.kind == "awaited" or told_of(subclause.told, self.parts):
            return part
        if self._conditions.is_of_its_own(subclause, part):
            why = (
                "nothing tells that before it is done; going on does it without knowing whether "
                "this is so"
            )
            self.doubts.append(Doubt(kind="condition", about=subclause.text, why=why))
            return replace(part, request=f"{part.request} {subclause.text}")
        decider = looks_first(subclause, part, self.parts, self._conditions)
        if decider is None and subclause.kind == "so":
            why = "nothing before it tells what it goes by; going on does it without knowing"
            self.doubts.append(Doubt(kind="condition", about=subclause.text, why=why))
            return part
        if decider is None or decider.only_looks:
            part = replace(part, request=meant_by(part.request, subclause.told, now=self.brief.now))
        condition = condition_of(subclause, decider)
        if decider is None:
            decider = Part(f"Ask whether {condition.told}", part.target, "", only_looks=True)
        if not decider.leg_id:
            domain = decider.target.domain if condition.tools else "asked"
            decider = replace(decider, leg_id=self._leg_id(domain))
            self.parts.append(replace(decider, decides=(condition,)))
        else:
            number = [one.leg_id for one in self.parts].index(decider.leg_id)
            self.parts[number] = deciding(self.parts[number], condition)
        found = only_if(governed, condition, decider.leg_id)
        return replace(part, only_if=(*part.only_if, found))

    def _await(self) -> None:
        """Let each part wait for those whose doing its words speak of, wherever they stand."""
        for number, part in enumerate(self.parts):
            if _BEFORE.match(part.request):
                part = self._after_the_next(part, self.parts[number + 1 : number + 2])
            for governed in part.governed:
                told = governed.subclause.told
                points = refers_back(told)
                others = self.parts[:number] + ([] if points else self.parts[number + 1 :])
                done = [o for o in told_of(told, others) if part.leg_id not in self._behind(o)]
                waits = {*part.depends_on, *(other.leg_id for other in done)}
                order = tuple(o.leg_id for o in self.parts if o.leg_id in waits)
                part = replace(part, depends_on=order)
                if governed.subclause.kind == "awaited" and not done:
                    why = "nothing here waits for that; going on does it at once"
                    about = governed.subclause.text
                    self.doubts.append(Doubt(kind="condition", about=about, why=why))
            self.parts[number] = part

    def _after_the_next(self, part: Part, following: Sequence[Part]) -> Part:
        """It waits for what stands behind it: "before booking a hotel, check the weather"."""
        free = [o.leg_id for o in following if part.leg_id not in self._behind(o)]
        return replace(part, depends_on=(*part.depends_on, *free))

    def _behind(self, part: Part) -> set[str]:
        """The legs that a part waits for, and those that they wait for."""
        by_id = {one.leg_id: one for one in self.parts}
        behind: set[str] = set()
        todo = [*part.depends_on]
        while todo:
            leg_id = todo.pop()
            if leg_id not in behind:
                behind.add(leg_id)
                todo += by_id[leg_id].depends_on
        return behind

    def _doubt_negated(self, clause: Clause, governed: Sequence[Governed]) -> None:
        for one in governed:
            about = f"{clause.text} {one.subclause.text}"
            why = "it says under a condition what is not to be done; going on does nothing of it"
            self.doubts.append(Doubt(kind="condition", about=about, why=why))

    def _doubt_instead(self, clause: Clause, governed: Sequence[Governed]) -> None:
        said = next(g.subclause for g in governed if g.subclause.kind == "instead").text
        about = said if clause.text in said else f"{said}, {clause.text}"
        why = (
            "it is for the case that what is before it cannot be done; going on does what is "
            "before it, and nothing in its place"
        )
        if about not in [doubt.about for doubt in self.doubts]:
            self.doubts.append(Doubt(kind="condition", about=about, why=why))

    def _leg_id(self, domain: str) -> str:
        return f"{len(self.parts) + 1}-{_slug(domain)}"

    def _unfilled(self, part: Part) -> tuple[Parameter, ...]:
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

    def _target(
        self, request: str, earlier: Sequence[str], documents: Collection[str]
    ) -> Tool | None:
        """The tool that reaches a request; None when its best has little to do with it.

        Where documents are named it is one of theirs.
        """
        walls = wall_of(documents, self.catalog)
        return self._fitting(request, earlier, walls) or self._list_to_look_in(request, walls)

    def _list_to_look_in(self, request: str, walls: Sequence[Wall]) -> Tool | None:
        """The first of the few lists in which what a question names may be."""
        said = read_utterance(request, now=self.brief.now)
        tools = (tool for tool in self.catalog.tools.values() if is_inside(tool, walls))
        lists = other_lists(said, tools)
        return lists[0][0] if lists else None

    def _fitting(
        self, request: str, earlier: Sequence[str], walls: tuple[Wall, ...]
    ) -> Tool | None:
        """The best tool for a request, where it has to do with it."""
        target = self._best(request, earlier, walls)
        if target is None:
            return None
        # Looking something up converts nothing, unless the tool says that it does.
        verb = next(iter(tokens(without_lead(request)[:40])), "")
        if verb in COMPUTING_VERBS and stem(verb) not in own_words(target):
            return None
        # "Book the second one" has no word for what was found before it.
        goes_on = bool(earlier) and only_points(read_clause(request))
        fits = goes_on or self.router.fits(request) or self._speaks_of(request, target)
        fits = fits or self._lists_the_field(request, target) or self._names_nothing(request)
        fits = fits or _says_to_a_channel(request, target)
        return target if fits else None

    def _best(self, request: str, earlier: Sequence[str], walls: tuple[Wall, ...]) -> Tool | None:
        """The tool for a request after those `earlier`, the last first; None when there is none."""
        known = tuple(self.brief.inputs)
        context = RouteContext(
            goal=self.brief.goal, known=known, earlier=tuple(earlier), walls=walls
        )
        selection = read_request(self.router, request, context, now=self.brief.now)
        return find_target(
            selection, self.catalog, goal=self.brief.goal, now=self.brief.now, walls=walls
        )

    def _names_nothing(self, request: str) -> bool:
        """Whether a question says when or where and not what, "what is on at noon": it is asked."""
        slots = find_slots(request, now=self.brief.now)
        is_asked = is_question(read_clause(request))
        is_plain = bool(slots) and all(s.kind in ("date", "time", "place") for s in slots)
        return is_asked and is_plain and not asked_words(request, slots)

    def _lists_the_field(self, request: str, target: Tool) -> bool:
        slots = find_slots(request, now=self.brief.now)
        return field_lister(self.catalog, request, slots) is target

    def _speaks_of(self, request: str, target: Tool) -> bool:
        return speaks_of(read_utterance(request, now=self.brief.now), target)


def _says_to_a_channel(request: str, target: Tool) -> bool:
    """Whether a tool that sends is asked to tell an address, a channel or somebody something."""
    sends = target.is_side_effect and named(target)[1] is Action.SEND
    if not sends or read_clause(request).action is not Action.SEND:
        return False
    takes_text = any(p.required and p.kind is Kind.TEXT for p in tool_parameters(target))
    return is_addressed(request) or (takes_text and told_in(request) is not None)


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


def _slug(domain: str) -> str:
    return _SLUG.sub("-", domain.lower()).strip("-")[:48] or "leg"
