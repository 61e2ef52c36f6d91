"""How a condition is found out: by an earlier part of the goal, by a look of its own, by asking."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.wall import Wall
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import matter_start
from orchestrator.language.clauses import without_lead
from orchestrator.language.goal_text import Governed, Subclause
from orchestrator.language.inflection import singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, tells_apart
from orchestrator.language.provisos import is_own_limit
from orchestrator.language.slots import find_slots
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.models import AgentProfile, GoalCondition, OnlyIf
from orchestrator.planning.rules.answers import answer_fields, is_listing
from orchestrator.planning.rules.parameters import DAYS, Kind, tool_parameters
from orchestrator.planning.rules.parts import Part, named_things
from orchestrator.planning.rules.target import find_target, read_request
from orchestrator.planning.rules.tool_words import speaks_of
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

_BEFORE_DAYS: Final = frozenset({"from", "to", "until", "till", "on"})
_LOOK: Final = "Check whether"
_NO_TOOL: Final = "-"
"""The name of none: an empty wall would admit every tool."""
_TAKEN_BY: Final = {Kind.PLACE: "place", Kind.DATE: "date"}
_ARTICLES: Final = frozenset({"the", "a", "an"})
_POINTING: Final = frozenset({"it", "they", "this", "that", "these", "those", "one", "any", "none"})
_KNOWN: Final = re.compile(
    r"\w+\s+((?:the|my|our)\s+\S.*?)(?=\s+(?:to|with|and|for|as|so)\b|[,;.!]|$)", re.IGNORECASE
)
_ITS: Final = re.compile(r"^(?:it|this|that)(['\u2019]s)?\s+", re.IGNORECASE)
_COUNTED: Final = re.compile(
    r"\b(?:more|less|fewer|at\s+least|at\s+most|over|under|above|below)\s+(?:than\s+)?\d+\b",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"((?:the|my|our|a|an)\s+[^,;]+?)\s+(?:is|are|was|were|has|have|had|costs?|does|do|can|isn|hasn)\b",
    re.IGNORECASE,
)
_NONE_OF_IT: Final = re.compile(r"there(?:\s+(?:is|are)|['\u2019]s)\s+none\b", re.IGNORECASE)
_THERE_IS: Final = re.compile(
    r"there(?:\s+(?:is|are)|['\u2019]s)\s+(?:still\s+)?((?:a|an|any|some)\s+[^,;]+)", re.IGNORECASE
)
_THEN: Final = re.compile(
    r"\s+(?:(?:for|at)\s+)?(?:then|that\s+time)(?=\s*[.,;!]?$)", re.IGNORECASE
)
_IT: Final = re.compile(r"(?<=\w\s)(?:it|them|one)\b(?!\s+(?:is|was|has|will))", re.IGNORECASE)
_QUESTION: Final = re.compile(
    r"(will|is|are|was|were|does|do|did|has|have|can)\s+(it|there|he|she|they|we|i|(?:the|my|our)\s+\w+)"
    r"\s+(.+?)[\s?]*$",
    re.IGNORECASE,
)
_ASKED_WHETHER: Final = ("whether", "if")


def read_only(agent: AgentProfile, target: Tool, catalog: Catalog) -> AgentProfile:
    """The agent for a leg that only looks: of what it may touch, the reads of one domain."""
    reads = tuple(
        tool.name
        for tool in catalog.tools.values()
        if not tool.is_side_effect
        and tool.domain == target.domain
        and agent.wall.admits(tool.name, tool.domain)
    )
    return agent.model_copy(update={"domains": (), "tools": reads or (_NO_TOOL,)})


def looks_first(
    subclause: Subclause, part: Part, earlier: Sequence[Part], reader: "ConditionReader"
) -> Part | None:
    """The part that decides a condition; None when it is to be asked, for nothing tells it."""
    read = [o for o in earlier if not (o.target.is_side_effect or o.only_looks)]
    if subclause.kind == "so":
        return read[-1] if read else None
    if (known := next((o for o in earlier if _decides(o, subclause)), None)) is not None:
        return known
    first = next((word for word in tokens(subclause.told) if word not in _ARTICLES), "")
    if read and first in lexicon.PREFERENCES:
        return read[-1]
    found = reader.look(subclause, part)
    if not read or first not in _POINTING:
        return found
    if found is None or found.target.domain == read[-1].target.domain:
        return read[-1]
    return found if reader.speaks_of(subclause.told, found) else read[-1]


def meant_by(request: str, told: str, *, now: datetime) -> str:
    """A request with what a condition speaks of in the place of its pronoun: "pay it", "then"."""
    said = {slot.kind: slot.text for slot in find_slots(told, now=now)}
    when = [f"on {said['date']}"] if "date" in said else []
    when += [f"at {said['time']}"] if "time" in said else []
    if when:
        request = _THEN.sub(" " + " ".join(when), request)
    subject = _SUBJECT.match(told) or _THERE_IS.match(told)
    return _IT.sub(subject.group(1).strip(), request, count=1) if subject else request


def condition_of(subclause: Subclause, decider: Part | None) -> GoalCondition:
    """The condition, as a leg is told to decide it."""
    told = subclause.told
    if subclause.kind == "so" and decider is not None:
        told = _asked_in(decider.request)
    elif decider is not None and decider.only_looks:
        told = decider.request.removeprefix(_LOOK).strip()
    tools = (decider.target.name,) if decider is not None else ()
    return GoalCondition(
        clause=subclause.text, told=told, is_unless=subclause.is_unless, tools=tools
    )


def deciding(part: Part, condition: GoalCondition) -> Part:
    """The part, which decides a condition as well."""
    if any(known.clause == condition.clause for known in part.decides):
        return part
    return replace(part, decides=(*part.decides, condition))


def only_if(governed: Governed, condition: GoalCondition, leg_id: str) -> OnlyIf:
    """What a part that is governed by a condition waits for."""
    return OnlyIf(clause=condition.clause, leg_id=leg_id, met=governed.as_said)


class ConditionReader:
    """Finds the tools that tell whether something is so; they only read."""

    def __init__(self, router: Router, catalog: Catalog, *, now: datetime) -> None:
        """Take the router, which is held to the tools that read."""
        self._router = router
        self._catalog = catalog
        self._now = now
        reads = tuple(t.name for t in catalog.tools.values() if not t.is_side_effect)
        self._wall = Wall(agent="conditions", tools=reads or (_NO_TOOL,))

    def look(self, subclause: Subclause, part: Part) -> Part | None:
        """A part that looks a condition up; None when no tool does.

        "It" is the thing that is ordered something with, unless it rains. A condition without a day
        of its own is of the days of what is ordered, where something else is looked at.
        """
        found = self._look_at(subclause, part)
        if found is None or found.target.domain == part.target.domain:
            return found
        takes_days = any(p.kind in DAYS for p in tool_parameters(found.target))
        says_days = any(s.kind == "date" for s in find_slots(subclause.told, now=self._now))
        if says_days or not takes_days or _THEN.search(subclause.told):
            return found
        return replace(found, request=f"{found.request} {_days_of(part)}".rstrip())

    def _look_at(self, subclause: Subclause, part: Part) -> Part | None:
        found = self._look(subclause.told)
        told = _with_its_thing(subclause.told, part)
        if told != subclause.told and is_own_limit(subclause.told):
            return self._where_it_is_listed(told, part) or self._look(told)
        elsewhere = found is not None and found.target.domain != part.target.domain
        if elsewhere and self.speaks_of(subclause.told, found):
            return found
        if told == subclause.told and not _NONE_OF_IT.match(told):
            return found
        # What is said of the thing itself is told where such things are, or by what speaks of it.
        look = self._look(told)
        away = look is not None and look.target.domain != part.target.domain
        return None if away and not self.speaks_of(told, look) else look

    def _where_it_is_listed(self, told: str, part: Part) -> Part | None:
        """The look at what lists the things of which the part takes one, by its id."""
        listings = [
            tool
            for tool in self._catalog.tools.values()
            if tool.domain == part.target.domain and _lists_what_is_taken(tool, part.target)
        ]
        if len(listings) != 1:
            return None
        return Part(request=f"{_LOOK} {told}", target=listings[0], leg_id="", only_looks=True)

    def speaks_of(self, told: str, found: Part | None) -> bool:
        """Whether the tool of a look is about what is told."""
        return found is not None and speaks_of(read_utterance(told, now=self._now), found.target)

    def _look(self, told: str) -> Part | None:
        request = f"{_LOOK} {told}"
        selection = read_request(
            self._router, request, RouteContext(walls=(self._wall,)), now=self._now
        )
        target = find_target(selection, self._catalog)
        if target is None or target.is_side_effect:
            return None
        fits = self._router.fits(told) or self._router.fits(_COUNTED.sub(" ", told))
        if not (fits or self._takes_all(target, told)):
            return None
        return Part(request=request, target=target, leg_id="", only_looks=True)

    def _takes_all(self, target: Tool, told: str) -> bool:
        """Whether a tool takes all that tells things apart in a text: a place, a day."""
        kinds = {slot.kind for slot in find_slots(told, now=self._now) if tells_apart(slot)}
        taken = {_TAKEN_BY.get(parameter.kind) for parameter in tool_parameters(target)}
        return len(kinds) > 1 and kinds <= taken

    def is_of_its_own(self, subclause: Subclause, part: Part) -> bool:
        """Whether a condition is of the thing that is ordered, which is not there to be looked at.

        "It has a pool" is of the hotel that is to be booked; what has a name or an id is there.
        """
        told = subclause.told
        pointed = next(iter(tokens(told)), "") in ("it", "they", "its", "their")
        own = bool(named_things(told) & set(content_stems(" ".join(part.reading.objects))))
        if not (pointed or own) or _thing_of(part):
            return False
        found = self.look(subclause, part)
        return found is not None and found.target.domain == part.target.domain


def _days_of(part: Part) -> str:
    """The days that a request names, with the words that introduce them."""
    days = [slot for slot in part.slots if slot.kind == "date"]
    said = (f"{day.hint} {day.text}" if day.hint in _BEFORE_DAYS else day.text for day in days)
    return " ".join(said)


def _lists_what_is_taken(listing: Tool, target: Tool) -> bool:
    """Whether a tool only lists the things of which the other takes one, and is called by them."""
    if listing.is_side_effect or not is_listing(listing):
        return False
    named = {stem(singular(word)) for word in tokens(listing.name)} - {stem(target.domain)}
    taken = [p for p in tool_parameters(target) if p.required and p.kind is Kind.IDENTIFIER]
    return any(
        parameter.names & (answer_fields(listing) - {*listing.required_inputs})
        and named & {*map(stem, parameter.words)}
        for parameter in taken
    )


def _decides(part: Part, subclause: Subclause) -> bool:
    return any(known.clause == subclause.text for known in part.decides)


def _asked_in(request: str) -> str:
    """What a request asks about: of "check whether it rains" that it rains."""
    if (asked := _QUESTION.match(request)) is not None:
        verb, subject, rest = asked.groups()
        return (
            f"{subject} {rest}"
            if verb.lower().startswith("d")
            else f"{subject} {verb.lower()} {rest}"
        )
    lower = request.lower()
    for word in _ASKED_WHETHER:
        before, found, _ = lower.partition(f" {word} ")
        if found:
            return request[len(before) + len(found) :]
    return request


def _with_its_thing(told: str, part: Part) -> str:
    """What is told, "it" replaced by the thing that is there, and is ordered something with."""
    thing = _thing_of(part)
    return _ITS.sub(lambda said: f"{thing}{' is' if said[1] else ''} ", told) if thing else told


def _thing_of(part: Part) -> str:
    """What an order is about, if it is there before it: "the rental R-1", "my hotel in Porto"."""
    if matter_start(part.request) is not None:
        return ""  # whom somebody tells something is not what it is about: "if it rains, tell Bo"
    named = next((slot.text for slot in part.slots if slot.kind == "identifier"), "")
    acts = part.reading.action in SIDE_EFFECT_ACTIONS - {Action.CREATE}
    known = _KNOWN.match(without_lead(part.request))
    if known is not None and (acts or named or part.target.effect is Effect.CANCEL):
        return known.group(1)
    called = next((slot.text for slot in part.slots if slot.kind == "name"), "")
    if acts and called and not named:
        return called  # "pay Acme"
    thing = " ".join(part.reading.objects)
    return f"the {thing if named in thing else f'{thing} {named}'.strip()}" if named else ""
