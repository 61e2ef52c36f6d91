"""Splits a goal into legs: one clause each, with its orders, dependencies and doubts."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog, other_versions
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import GoalUnread, PlanError
from orchestrator.core.read_once import read_once
from orchestrator.core.wall import Wall
from orchestrator.language.detect import foreign_in
from orchestrator.language.goal_clauses import begins_request, split_goal
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, WEAK_VERBS, action_of, is_any_change, is_verb
from orchestrator.planning.models import (
    RULES,
    AgentProfile,
    Doubt,
    DoubtKind,
    GoalBrief,
    LegPlan,
    MissionPlan,
)
from orchestrator.planning.rules.account import Account, Run, account_of
from orchestrator.planning.rules.chain import Chain, feeds_effect, is_produced, link, needs_of
from orchestrator.planning.rules.clause import ARTICLES, Clause, read_clause
from orchestrator.planning.rules.items import answer_fields, is_listing
from orchestrator.planning.rules.parameters import DAYS, MONEY, TEXTS, Kind
from orchestrator.planning.rules.suits import why_not_taken
from orchestrator.planning.rules.target import (
    ClauseIntent,
    ToolMatch,
    find_target,
    intent_of,
    refers_back,
)
from orchestrator.planning.rules.tool_words import is_in_path, nouns_of, own_words, verb_of
from orchestrator.planning.walls import is_inside, none_may
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext, Selection
from orchestrator.saga.orders import Order

_LISTS: Final = WordLists("rules")
_SET_A_MODEL: Final = (
    "set a model where the worker runs (ORCHESTRATOR_PLANNER_MODEL=openai:gpt-5, or a local "
    "server: OLLAMA_BASE_URL=http://127.0.0.1:11434/v1 "
    "ORCHESTRATOR_PLANNER_MODEL=ollama:qwen3:32b)"
)
"""The remedy for a goal that the rules cannot carry out."""
_SEQUENCE: Final = re.compile(r"\b(?:then|afterwards|after that)\b", re.IGNORECASE)
_ENDS: Final = re.compile(r"[.!?;\n]")
_WITH_WHOM: Final = re.compile(r"\b(?:for|with)\s+(?:me|us|him|her|them|[A-Z]\w+)$")
_WORDS: Final = re.compile(r"[^\W\d_]{3,}")
_JOINING: Final = STOP_WORDS | _LISTS.word_set("joining")
_NEGATED: Final = re.compile(
    r"(?:please\s+)?(?:(?:i|we)\s+)?(?:don['\u2019]?t|do not|never|no)\b", re.IGNORECASE
)
_STATES: Final = re.compile(
    r"(?:the|my|our|his|her|their|this|that|it|he|she|they|we|i)\b[^?]{0,60}?"
    r"\b(?:is|are|am|was|were|will be|has|have)\b",
    re.IGNORECASE,
)
_WISH: Final = re.compile(
    r"(?:please\s+)?(?:(?:an?|one|two|three|\d+)\s+\D"
    r"|(?:i|we)(?:['\u2019]d| would)? (?:want|need|like|love) to (?P<verb>\w+))",
    re.IGNORECASE,
)
_MODEL: Final = "Say it in plain steps, or set a model (ORCHESTRATOR_PLANNER_MODEL)."
_ONLY_WISHED: Final = "it does not say what is to be done; going on only looks it up"
_IN_TEXT: Final = "it may belong to the text before it, which no quotation marks end"
_NOTHING_CHANGED: Final = "nothing says what is to be changed"
_NO_TOOL: Final = "no tool does it; going on does the rest without it"
_SEEN_LATE: Final = (
    "no tool takes it as an input, so that it would only be seen after the first effect"
)
_LONGEST_ABOUT: Final = 120
_NEAR: Final = 4.0
_TIE: Final = 0.4
_MOST_READ: Final = 5
_MOST_READINGS: Final = 256


@dataclass(frozen=True)
class Reading:
    """A clause with the tool for it, the calls that lead to the tool, and the unused words."""

    clause: Clause
    intent: ClauseIntent
    target: Tool
    chain: Chain
    account: Account
    rivals: tuple[Tool, ...] = ()
    """Consequences of other domains that fit as well."""

    @property
    def is_identified(self) -> bool:
        """True if a given id identifies the item."""
        return bool(self.chain.draft.ids_said)


@dataclass
class Part:
    """A clause that becomes a leg."""

    reading: Reading
    leg_id: str
    depends_on: list[str] = field(default_factory=list)
    is_resolved: bool = False
    """True if earlier legs supply what the clause refers back to."""
    days: str = ""
    """The days that "those nights" refers to: named in an earlier clause, added to this one."""


@dataclass(frozen=True)
class Reader:
    """Reads clauses in the context of their mission."""

    catalog: Catalog
    inputs: Mapping[str, JsonValue]
    now: datetime
    walls: Sequence[Wall] = ()
    is_resolved: bool = False
    """True if earlier legs supply what a clause refers back to."""

    def read(self, text: str, target: Tool) -> Reading:
        """Return a clause as read for the tool; the steps of a leg share the cached reading."""
        kept = _kept_readings(self.catalog)
        inputs = json.dumps(dict(self.inputs), sort_keys=True, default=str)
        day = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        walls = tuple(wall for wall in self.walls if not wall.is_open)
        key = (text, target.name, inputs, day, walls, self.is_resolved)
        if (found := kept.get(key)) is not None:
            return found
        if len(kept) >= _MOST_READINGS:
            kept.clear()
        clause = read_clause(text, now=self.now)
        chain = link(target, clause, self.inputs, self.catalog, self.walls)
        draft, feeders = chain.draft, chain.feeders
        empty = [leaf for leaf in draft.leaves if leaf.path not in {*draft.found, *feeders}]
        account = account_of(
            clause,
            target,
            chain.drafts,
            chooses=bool(feeders) or (not target.is_side_effect and is_listing(target)),
            offers=chain.offers,
            looked_up=[one.span for path, one in draft.said.items() if path in feeders],
            is_resolved=self.is_resolved,
            empty=[str(leaf.path[-1]) for leaf in empty] if target.is_side_effect else (),
        )
        kept[key] = Reading(clause, intent_of(clause, self.catalog), target, chain, account)
        return kept[key]

    def best(self, text: str, matches: Sequence[ToolMatch]) -> Reading | None:
        """Return the reading whose tool matches the clause and uses most of it."""
        near = [match for match in matches if match.score >= matches[0].score - _NEAR][:_MOST_READ]
        read = [self.read(text, match.tool) for match in near]
        scores = [match.score - _unused(one) for match, one in zip(near, read, strict=True)]
        if not read:
            return None
        best = read[scores.index(max(scores))]
        alike = (one.target for one, s in zip(read, scores, strict=True) if s > max(scores) - _TIE)
        rivals = (tool for tool in alike if tool.is_side_effect)
        return replace(best, rivals=tuple(t for t in rivals if t.domain != best.target.domain))


@read_once
def _kept_readings(catalog: Catalog) -> dict[tuple[object, ...], Reading]:
    return {}


def _unused(reading: Reading) -> float:
    """Return how much of a clause a tool leaves unused, and how many of its needs are unfilled."""
    account, target, clause = reading.account, reading.target, reading.clause
    reads, is_fed = not target.is_side_effect, bool(reading.chain.feeders)
    left = sum(1.2 if run.is_value else 0.5 for run in account.left_over)
    value, word = (1.2, 0.5) if reads else (0.6, 0.1)
    left += sum(value if run.is_value else word for run in account.filters)
    left += (0.2 if reads else 0.4) * len(reading.chain.unsaid)
    if reads and is_fed and not reading.is_identified:
        # The clause names several items that the tool reads only one at a time.
        named = [word.lower for word in clause.words if word.stem in nouns_of(target)]
        if not is_listing(target) and any(singular(word) != word for word in named):
            left += 2.5
        # Nothing in the clause distinguishes the results of a preceding look-up: a person would
        # be asked.
        if not (account.superlative or account.filters):
            left += 0.3
    return left


def split(
    brief: GoalBrief, catalog: Catalog, agents: Sequence[AgentProfile], router: Router
) -> MissionPlan:
    """Return the legs of a mission, one for each clause of its goal, in the goal's order.

    Raises:
        GoalUnread: a part of the goal is not English, no tool carries out any of it, or the router
            failed.
        PlanError: a part of the goal needs a tool that no agent may use, or requests more items
            than an agent handles one by one.
    """
    if (foreign := foreign_in(brief.goal)) is not None:
        raise GoalUnread(
            f"{foreign.text!r} reads as {foreign.name}, and planning by rules reads English; say "
            "it in English, with texts that are passed on word for word between quotation marks, "
            f"or {_SET_A_MODEL}",
            code="LanguageUnread",
        )
    goal = _Goal(brief, catalog, agents, router)
    goal.read()
    return goal.plan()


@dataclass
class _Goal:
    brief: GoalBrief
    catalog: Catalog
    agents: Sequence[AgentProfile]
    router: Router
    parts: list[Part] = field(default_factory=list)
    unmet: list[str] = field(default_factory=list)
    wishes: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    """Clauses that may belong to an unquoted text before them."""

    def read(self) -> None:
        first = (tool.summary.lower().split()[:1] for tool in self.catalog.tools.values())
        verbs = {word for words in first for word in words if word.isalpha()}
        goal = self.brief.goal
        clauses = split_goal(goal, verbs=verbs, is_other=self._is_other)
        before = None
        starts = [0, *(one.end for one in clauses)]
        ends = [*(one.start for one in clauses), len(goal)]
        for start, end in zip(starts, ends, strict=True):
            gap = goal[start:end].strip(" ,;.:-*\n\t")  # between clauses, if no mere connective
            if any(word not in _JOINING for word in _WORDS.findall(gap.lower())):
                self.unmet.append(gap)
        for clause in clauses:
            text = _with_verb(clause.text, self.parts)
            joint = goal[before.end : clause.start] if before is not None else ""
            is_after = before is not None and bool(_SEQUENCE.search(joint + clause.text[:16]))
            if "but" in joint.lower().split() and self.parts:
                self.forbidden.append(f"but {text}")  # a limit of what comes before it
            elif not self._take(text, is_after=is_after, is_one=len(clauses) == 1):
                self.unmet.append(text)
            elif before is not None and not _ENDS.search(joint) and self._follows_text():
                self.unsure.append(text)
            before = clause
        if not self.parts:
            text = next(iter((*self.forbidden, *self.unmet)), goal)
            raise GoalUnread(
                f"no tool fits {text!r}; name what the tools can do (see: orchestrator tools list)"
                ": rules carry out plain goals in English, one thing a sentence; for free text, "
                f"{_SET_A_MODEL}",
                code="NothingFits",
            )

    def _is_other(self, clause: str, phrase: str) -> bool:
        """Return True if a noun phrase after "and" belongs to another tool than the clause."""
        if _WITH_WHOM.search(clause):
            return False
        first = self._matches(clause)[:1]
        verb = read_clause(clause, now=self.brief.now).verb
        other = self._matches(f"{verb} {phrase}" if is_verb(verb) else phrase)[:1]
        if not first or not other or other[0].tool.name == first[0].tool.name:
            return False
        words = read_clause(phrase, now=self.brief.now).words
        own, theirs = own_words(first[0].tool), own_words(other[0].tool)
        return any(w.stem in theirs and w.stem not in own for w in words[:4])

    def _take(self, text: str, *, is_after: bool, is_one: bool) -> bool:
        """Make a clause a part of the plan; return False if no tool fits it."""
        if _NEGATED.match(text.strip()):
            self.forbidden.append(text)
            return True
        intent = intent_of(read_clause(text, now=self.brief.now), self.catalog)
        if _STATES.match(text) is not None and intent.is_open:
            return False  # a statement
        reader = Reader(self.catalog, self.brief.inputs, self.brief.now)
        reading = reader.best(text, self._matches(text))
        if reading is None or _is_no_read(reading, is_one=is_one):
            return False
        target, wish = reading.target, _WISH.match(text)
        if not target.is_side_effect and wish is not None:
            verb = action_of((wish["verb"] or "").lower())
            is_read = verb in (Action.READ, Action.SEARCH)
            if not is_read and feeds_effect(target, self.catalog):
                self.wishes.append(text)
        slug = re.sub(r"[^a-z0-9]+", "-", target.domain.lower()).strip("-")[:48] or "leg"
        part = Part(reading, f"{len(self.parts) + 1}-{slug}")
        self._await(part, is_after=is_after)
        if part.is_resolved:
            part.reading = replace(reader, is_resolved=True).read(text + part.days, target)
        self.parts.append(part)
        return True

    def _follows_text(self) -> bool:
        """Return True if the last part may belong to the text that the part before it passes on."""
        if len(self.parts) < 2 or not self.parts[-1].reading.target.is_side_effect:
            return False
        before = self.parts[-2].reading
        return any(
            one.kind in ("text", "quoted")
            and one.text == one.value
            and one.end == len(before.clause.text)
            for one in before.chain.draft.said.values()
        )

    def _matches(self, text: str) -> list[ToolMatch]:
        context = RouteContext(goal=self.brief.goal, known=tuple(self.brief.inputs))
        selection = routed(self.router, text, context, now=self.brief.now)
        return find_target(read_clause(text, now=self.brief.now), selection, self.catalog)

    def _await(self, part: Part, *, is_after: bool) -> None:
        reading = part.reading
        unsaid = {leaf.parameter.kind for _, leaf in reading.chain.unsaid}
        refers = any(one.kind == "back_reference" for one in reading.account.triggers)
        for earlier in reversed(self.parts):
            if _feeds(earlier.reading.target, reading):
                part.depends_on.append(earlier.leg_id)
                part.is_resolved = True
                break
        dated = [p.reading.clause for p in self.parts if p.reading.clause.of_kind("date")]
        if dated and refers and not unsaid.isdisjoint(DAYS):
            part.is_resolved = True
            match [one.value for one in dated[-1].of_kind("date") if isinstance(one.value, str)]:
                case [day]:
                    part.days = f" on {day}"
                case [first, last]:
                    part.days = f" from {first} to {last}"
        made = [p.leg_id for p in self.parts if p.reading.target.is_side_effect]
        if len(made) == 1 and not unsaid.isdisjoint(TEXTS) and refers_back(reading.clause):
            part.depends_on += made
            part.is_resolved = True
        missing = reading.chain.draft.missing
        if any(0 in leaf.path and leaf.parameter.kind in MONEY for leaf in missing):
            part.depends_on += made
        if is_after and self.parts:
            part.depends_on.append(self.parts[-1].leg_id)

    def plan(self) -> MissionPlan:
        changing = [p.reading for p in self.parts if p.reading.target.is_side_effect]
        doubts: list[Doubt] = []
        for part in self.parts if changing else ():
            doubts += _doubts_of(part.reading, self.brief.now)
            if part.reading in changing and (len(changing) > 1 or part.reading.is_identified):
                limits = part.reading.account.limits
                doubts += [Doubt(kind="left_over", about=o.text, why=_SEEN_LATE) for o in limits]
        doubts += [Doubt(kind="ambiguous", about=text, why=_ONLY_WISHED) for text in self.wishes]
        doubts += [Doubt(kind="ambiguous", about=text, why=_IN_TEXT) for text in self.unsure]
        doubts += [one for part in self.parts for one in _unclear(part.reading)]
        doubts += [_not_carried_out(text) for text in self.forbidden if changing]
        for text in self.unmet:
            clause = read_clause(text, now=self.brief.now)
            is_request = intent_of(clause, self.catalog).is_order or begins_request(text)
            kind: DoubtKind = "not_carried_out" if is_request else "left_over"
            doubts.append(Doubt(kind=kind, about=text, why=_NO_TOOL))
        return MissionPlan(
            legs=tuple(map(self._leg, self.parts)),
            uncovered=(*self.unmet, *self.forbidden),
            doubts=tuple(dict.fromkeys(doubts)),
        )

    def _leg(self, part: Part) -> LegPlan:
        reading, tool = part.reading, part.reading.target
        text, count = reading.clause.text, max(1, reading.account.count or 1)
        able = [agent for agent in self.agents if is_inside(tool, (agent.wall,))]
        if self.agents and not able:
            raise none_may(text, tool)
        own = AgentProfile(name=tool.domain, prefers=(tool.domain,))
        agent = min(able, key=lambda one: _remoteness(one, tool)) if able else own
        if tool.is_side_effect and count > agent.max_items:
            raise PlanError(
                f"the goal asks for {count} calls of {tool.name}, more than the agent "
                f"{agent.name} does of a kind, one by one; ask for fewer, or raise its "
                "`max_items` (ORCHESTRATOR_AGENTS)",
                code="TooMany",
            )
        tools = (tool.name, *other_versions(self.catalog, tool))
        order = Order(tools=tools, count=count, each=reading.account.is_all, clause=text)
        return LegPlan(
            leg_id=part.leg_id,
            goal=text,
            agent=agent,
            depends_on=tuple(dict.fromkeys(part.depends_on)),
            orders=(order,) if tool.is_side_effect else (),
            serves=(text.removesuffix(part.days),),
            planned_by=RULES,
        )


def router_failed(reason: str) -> GoalUnread:
    """Return the error for a request that the rules plan when the router fails."""
    return GoalUnread(
        f"the request could not be read: {reason}; report this as a defect of the router, or "
        f"{_SET_A_MODEL}",
        code="RequestUnread",
    )


def routed(router: Router, text: str, context: RouteContext, *, now: datetime) -> Selection:
    """Return the router's selection for a text.

    Raises:
        GoalUnread: the router failed open.
    """
    selection = router.route(text, context, now=now)
    if selection.band == "fail_open":
        raise router_failed(selection.reason)
    return selection


def _feeds(tool: Tool, reading: Reading) -> bool:
    """Return True if an earlier tool's answer holds a value that a clause needs but omits."""
    if any(run.is_value for run in reading.account.filters):
        return False
    fields = answer_fields(tool)
    for leaf in needs_of(reading.chain.draft):
        parameter = leaf.parameter
        is_id = is_produced(parameter) and leaf.path not in reading.chain.draft.said
        specific = {n for n in parameter.names if n.lower() not in ("id", "name")}
        if is_id and specific & fields and (tool.is_side_effect or reading.account.triggers):
            return True
    return False


def _doubts_of(reading: Reading, now: datetime) -> list[Doubt]:
    clause, account = reading.clause, reading.account
    starts = [trigger.start for trigger in account.triggers]
    doubts = [_not_carried_out(clause.text[start:]) for start in starts]
    if clause.dependent and 0 not in starts:
        doubts.append(_not_carried_out(clause.dependent))
    if not reading.target.is_side_effect:
        return doubts
    if reading.rivals:
        others = " or ".join(repr(tool.title) for tool in reading.rivals)
        why = f"{others} fits as well; going on does {reading.target.title!r}"
        doubts.append(Doubt(kind="ambiguous", about=clause.text, why=why))
    # The doubt about a trigger word already covers the words after it.
    left = [run for run in account.left_over if not any(s <= run.span[0] for s in starts)]
    for run in left:
        without = f"going on does {reading.target.title!r} without it"
        why = f"{_why_unused(run, reading)}; {without}"
        doubts.append(Doubt(kind="left_over", about=run.text, why=why))
    tool, draft = reading.target, reading.chain.draft
    names = {*(str(path[0]) for path in draft.found), *(leaf.name for leaf in draft.missing)}
    changes = tool.method == "PATCH" or is_any_change(verb_of(tool)[0])
    if changes and all(is_in_path(tool, name) for name in names):
        doubts.append(Doubt(kind="left_over", about=clause.text, why=_NOTHING_CHANGED))
    return [*doubts, *_joined_moments(reading), *_impossible(reading, now)]


def _unclear(reading: Reading) -> Iterable[Doubt]:
    """Yield words without a use where neither a verb nor a question says that something is read."""
    account, clause = reading.account, reading.clause
    if reading.target.is_side_effect or not reading.intent.is_open:
        return
    runs = [*account.left_over]
    values = [run for run in account.filters if run.is_value]
    first = clause.words[clause.verb_index].start if clause.words else 0
    if values and any(run.span[0] <= first < run.span[1] for run in account.filters):
        runs += values
    for run in runs:
        why = f"nothing uses it; going on only does {reading.target.title!r}"
        yield Doubt(kind="ambiguous", about=run.text, why=why)


def _joined_moments(reading: Reading) -> Iterable[Doubt]:
    """Yield a doubt for a second moment that "and" joins to an unquoted text."""
    clause, said = reading.clause, [*reading.chain.draft.said.values()]
    for text in [one for one in said if one.kind in ("text", "trimmed")]:
        taken = {one.kind for one in said if not one.overlaps([text.span])}
        for one in clause.of_kind("date", "time"):
            before = clause.before(one.span[0])
            is_inside = text.start < one.start and one.end <= text.end
            if is_inside and one.kind in taken and before is not None and before.lower == "and":
                yield Doubt(kind="ambiguous", about=clause.text[before.start :], why=_IN_TEXT)


def _not_carried_out(text: str) -> Doubt:
    about = text.strip()[:_LONGEST_ABOUT]
    return Doubt(kind="not_carried_out", about=about, why=f"I do not carry out {about!r}. {_MODEL}")


def _why_unused(run: Run, reading: Reading) -> str:
    if run.value is not None and run.value.kind == "amount":
        for draft in reading.chain.drafts:
            for leaf in draft.leaves:
                is_open = leaf.path not in draft.found and leaf.parameter.kind in MONEY
                if is_open and (why := why_not_taken(leaf.parameter, run.value)):
                    return why
    return f"nothing uses {run.text!r}"


def _impossible(reading: Reading, now: datetime) -> Iterable[Doubt]:
    text = reading.clause.text
    for draft in reading.chain.drafts:
        days = {
            leaf.parameter.side: str(draft.found[leaf.path])[:10]
            for leaf in draft.leaves
            if leaf.parameter.kind in DAYS and leaf.path in draft.said
        }
        if any(day < now.date().isoformat() for day in days.values()):
            yield Doubt(kind="impossible", about=text, why="the day is in the past")
        start, end = days.get("start"), days.get("end")
        if start and end and end < start:
            yield Doubt(kind="impossible", about=text, why=f"it ends on {end}, before {start}")
        places = [
            str(draft.found[leaf.path]).casefold()
            for leaf in draft.leaves
            if leaf.parameter.kind is Kind.PLACE and leaf.parameter.side and leaf.path in draft.said
        ]
        if len(places) == 2 and places[0] == places[1]:
            yield Doubt(kind="impossible", about=text, why="it starts where it ends")


def _remoteness(agent: AgentProfile, tool: Tool) -> int:
    """Rank agents: of the tool's domain, of the tool, for everything, with other preferences."""
    if tool.domain in (*agent.domains, *agent.prefers):
        return 0
    if not agent.wall.is_open:
        return 1
    return 3 if agent.prefers else 2


def _with_verb(text: str, parts: Sequence[Part]) -> str:
    """Return a clause with the verb of the previous order, if the clause has none of its own."""
    if not parts or not parts[-1].reading.target.is_side_effect:
        return text
    clause = read_clause(text, now=parts[-1].reading.clause.now)
    first = clause.words[:1]
    if (
        not first
        or is_verb(clause.verb)
        or first[0].lower not in ("a", "an", "the", "one", "my", "our")
        or any(word.lower in ("is", "are", "was", "were", "will") for word in clause.words)
    ):
        return text
    return f"{parts[-1].reading.intent.verb} {text}"


def _is_no_read(reading: Reading, *, is_one: bool) -> bool:
    """Return True if a clause that is no question orders something that no tool does.

    "Mute user 123" shows nobody, nor does "comment 'fine' on file 5" list comments.
    """
    intent, account, clause = reading.intent, reading.account, reading.clause
    if reading.target.is_side_effect or not (intent.is_open or intent.verb in WEAK_VERBS):
        return False
    verb, *rest = clause.words[clause.verb_index :]
    if any(run.value is not None and run.value.kind == "quoted" for run in account.filters):
        return True
    if is_one and not clause.of_kind("id") and not (rest and rest[0].lower in ARTICLES | {"its"}):
        return False
    runs = (*account.left_over, *account.filters)
    return any(run.is_value or run.span[0] <= verb.start for run in runs)
