"""Parses a model's draft plan leniently: legs that quote the goal and name their orders."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, JsonValue

from orchestrator.catalog.catalog import Catalog, other_versions
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject, Record
from orchestrator.language.values import find_values
from orchestrator.planning.llm.offered_tools import could_mean, meant_by
from orchestrator.planning.models import AgentProfile, LegPlan
from orchestrator.planning.walls import is_inside
from orchestrator.saga.orders import Order

MOST_LEGS: Final = 24
PLAN_TOOL: Final = "plan_mission"
GENERALIST: Final = "generalist"
"""The agent without a preference, used when there are no profiles."""
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff"
"""Kana and ideographs, each of which is treated as a word."""
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['\u2019.&@-][^\W_{_UNSPACED}]+)*")
_PARTS: Final = re.compile(r"[^\W_]+")
_NOT_IN_AN_ID: Final = re.compile(r"[^a-z0-9]+")
_MOST_NAMED: Final = 40
"""Maximum number of tools that the refusal of a name lists."""
_JOINING_WORDS: Final = (
    "and then also please und dann auch bitte y e luego también et puis aussi "
    "と を に で は が の も へ して から そして"
)
_JOINING: Final = frozenset(_JOINING_WORDS.split())
"""Words between quotes that request nothing; in other languages they cost a correction."""

_SOME_DAY: Final = datetime(2000, 1, 3)
_SAYING: Final = re.compile(r"[^\W\d_TZ]")
"""A letter that does not belong to an ISO 8601 moment."""
Words = Annotated[str, Field(min_length=1, max_length=2_000)]
Span = tuple[int, int]


class DraftOrder(Record):
    """A consequence that a leg must have."""

    tool: Words
    count: int = Field(default=1, ge=1, le=1_000)
    each: str = Field(default="", max_length=400)
    when: str = Field(default="", max_length=400)


def _as_id(given: JsonValue) -> JsonValue:
    """Return the id of a leg, even if it is a number, or nested in an object."""
    said = given.get("leg") if isinstance(given, dict) else given
    return str(said) if isinstance(said, int) else said


LegId = Annotated[str, BeforeValidator(_as_id)]


class DraftLeg(Record):
    """A part of the mission."""

    id: LegId = Field(default="", max_length=60)
    quotes: tuple[Words, ...] = Field(min_length=1)
    goal: str = Field(default="", max_length=2_000)
    agent: str = ""
    orders: tuple[DraftOrder, ...] = ()
    needs: tuple[LegId, ...] = ()


class DraftPlan(Record):
    """The arguments with which a model splits a goal."""

    legs: tuple[DraftLeg, ...] = Field(min_length=1, max_length=MOST_LEGS)
    asides: tuple[Words, ...] = ()


def draft_parameters(agents: Sequence[str]) -> JsonObject:
    """Return the input schema of the tool for submitting a plan; the rules explain it."""
    text: JsonObject = {"type": "string"}
    texts: JsonObject = {"type": "array", "items": text}
    count: JsonObject = {"type": "integer", "minimum": 1}
    order: JsonObject = {"tool": text, "count": count, "each": text, "when": text}
    # Legs get no id of their own: small models name a leg after a tool, and then order that.
    leg: JsonObject = {
        "quotes": {**texts, "minItems": 1},
        "goal": text,
        "orders": {"type": "array", "items": _object(order, "tool")},
        "agent": {"enum": [*agents]},
        "needs": {"type": "array", "items": count},
    }
    items = _object(leg, "quotes", "agent")
    legs: JsonObject = {"type": "array", "items": items, "minItems": 1}
    return _object({"legs": legs, "asides": texts}, "legs")


def agent_names(agents: Sequence[AgentProfile], catalog: Catalog) -> tuple[str, ...]:
    """Return the agents that a plan may name; without profiles, one per domain and a generalist."""
    if agents:
        return tuple(agent.name for agent in agents)
    return (*sorted({t.domain for t in catalog.tools.values() if t.domain}), GENERALIST)


def _object(properties: Mapping[str, JsonValue], *required: str) -> JsonObject:
    return {"type": "object", "properties": {**properties}, "required": [*required]}


class DraftRefused(ValueError):
    """A draft without a valid plan: each finding states a defect and its fix."""

    def __init__(self, *findings: str) -> None:
        super().__init__("; ".join(findings))
        self.findings = findings


class DraftReading:
    """Reads one draft over its goal, catalog and agents.

    Args:
        draft: as the model wrote it.
        goal: the mission's goal, in which quotes are looked up.
        context: the lines next to the goal (time, inputs), which do not belong to it.
    """

    def __init__(
        self,
        draft: DraftPlan,
        goal: str,
        context: str,
        catalog: Catalog,
        agents: Sequence[AgentProfile],
    ) -> None:
        self._goal, self._context = goal, context
        self._catalog, self._agents = catalog, agents
        self._asides = draft.asides
        self.misquoted: list[str] = []
        """Quotes that are neither in the goal nor in its context."""
        self._drafts = [one for one in map(self._of_the_goal, draft.legs) if one is not None]

    def legs(self) -> tuple[LegPlan, ...]:
        """Return the legs of the plan, merging those that plan the same words twice.

        Raises:
            DraftRefused: the draft names unknown tools or agents, or quotes nothing.
        """
        if not self._drafts:
            raise DraftRefused("no leg quotes the goal; `quotes` takes its very words")
        findings: list[str] = []
        made: list[LegPlan] = []
        for number, draft in enumerate(self._drafts, start=1):
            try:
                made.append(self._leg(draft, number))
            except DraftRefused as refused:
                findings += refused.findings
        findings += self._same_words(made)
        if findings:
            raise DraftRefused(*findings)
        return self._joined(made)

    def _same_words(self, legs: Sequence[LegPlan]) -> Iterator[str]:
        """Yield the legs whose orders differ from an earlier leg's for the very same words."""
        ordering = [leg for leg in legs if leg.orders]
        for number, leg in enumerate(ordering):
            for other in ordering[:number]:
                tools = [order.tools[0] for one in (other, leg) for order in one.orders]
                is_other = {*tools[: len(other.orders)]}.isdisjoint(tools[len(other.orders) :])
                if is_other and self._words_of(leg) == self._words_of(other):
                    yield (
                        f"two legs quote the same words for {' and '.join(tools)}; quote in each "
                        "only the words that ask for it, or leave out what nothing asks for"
                    )

    def uncovered(self, legs: Iterable[LegPlan]) -> tuple[str, ...]:
        """Return the parts of the goal that no leg and no aside quotes."""
        quotes = [*self._asides]
        for leg in legs:
            quotes += leg.serves
            quotes += [said for order in leg.orders for said in (order.each, order.when) if said]
        taken = bytearray(len(self._goal))
        for start, end in (span for quote in quotes for span in spans_of(quote, self._goal)):
            taken[start:end] = b"\x01" * (end - start)
        runs: list[list[Span]] = [[]]
        for word in _WORD.finditer(self._goal):
            if any(taken[word.start() : word.end()]):
                runs.append([])
            else:
                runs[-1].append(word.span())
        texts = []
        for run in runs:
            for at in (0, -1):  # without connectives at the ends
                while run and self._goal[slice(*run[at])].casefold() in _JOINING:
                    run.pop(at)
            texts.append(self._goal[run[0][0] : run[-1][1]] if run else "")
        return tuple(text for text in texts if text and text not in _JOINING)

    def _of_the_goal(self, draft: DraftLeg) -> DraftLeg | None:
        """Return the leg without quotes that are not in the goal; None if no quote remains."""
        kept: list[str] = []
        for quote in draft.quotes:
            if any(spans_of(quote, self._goal)):
                kept.append(quote)
            elif not any(spans_of(quote, self._context)):
                self.misquoted.append(quote)
        return draft.model_copy(update={"quotes": tuple(kept)}) if kept else None

    def _leg(self, draft: DraftLeg, number: int) -> LegPlan:
        orders = tuple(self._orders(draft))
        agent = self._agent(draft, orders)
        findings = []
        for order in orders:
            if not is_inside(self._catalog.tool(order.tools[0]), (agent.wall,)):
                findings.append(
                    f"leg {draft.id} is for the agent {agent.name}, which may not use "
                    f"{order.tools[0]}; give it to one that may"
                )
            if order.count > agent.max_items:
                findings.append(
                    f"leg {draft.id} orders {order.count} of a kind; the agent {agent.name} does "
                    f"at most {agent.max_items}"
                )
        if findings:
            raise DraftRefused(*findings)
        said, own = " ".join(draft.quotes), self._id_of(draft, number)
        needed = dict.fromkeys(map(self._needed, draft.needs))
        return LegPlan(
            leg_id=own,
            goal=" ".join((draft.goal.strip() or said).split()),
            agent=agent,
            depends_on=tuple(one for one in needed if one != own),
            orders=orders,
            serves=draft.quotes,
        )

    def _id_of(self, draft: DraftLeg, number: int) -> str:
        said = _NOT_IN_AN_ID.sub("-", draft.id.casefold()).strip("-")[:40]
        if said:
            return said
        tool = draft.orders[0].tool if draft.orders else draft.quotes[0]
        name = _NOT_IN_AN_ID.sub("-", tool.casefold()).strip("-")[:24].strip("-")
        return f"{number}-{name}" if name else str(number)

    def _needed(self, need: str) -> str:
        """Return the id of a leg that another depends on, even if only its number is given."""
        ids = [self._id_of(draft, n) for n, draft in enumerate(self._drafts, start=1)]
        said = _NOT_IN_AN_ID.sub("-", need.casefold()).strip("-")
        if said in ids:
            return said
        fits = [one for one in ids if one.startswith(f"{said}-")]
        if not fits and said.isdecimal() and 0 < int(said) <= len(ids):
            fits = [ids[int(said) - 1]]
        return fits[0] if len(fits) == 1 else need

    def _orders(self, draft: DraftLeg) -> Iterator[Order]:
        """Yield the orders of a leg, except orders for tools that only read."""
        found: dict[tuple[str, str, str], Order] = {}
        for number, given in enumerate(draft.orders):
            tool = self._tool(draft, given.tool)
            if tool is None:
                continue
            said = given.model_copy(
                update={"each": self._of_goal(given.each), "when": self._of_goal(given.when)}
            )
            is_each_quoted = len(draft.quotes) == len(draft.orders)
            clause = draft.quotes[number] if is_each_quoted else " ".join(draft.quotes)
            key = (tool.name, said.each, said.when)
            if (same := found.get(key)) is not None:
                # Two orders of one tool are two effects only if each has its own words.
                more = said.count if is_each_quoted and clause not in same.clause else 0
                clause = f"{same.clause} {clause}" if more else same.clause
                count = same.count + more
            else:
                count = said.count
            found[key] = Order(
                tools=(tool.name, *other_versions(self._catalog, tool)),
                count=count,
                each=said.each,
                when=said.when,
                clause=clause,
            )
        yield from found.values()

    def _of_goal(self, text: str) -> str:
        """Return the words of an order; empty for a line of the context ("now") or mere values."""
        is_context = any(spans_of(text, self._context)) and not any(spans_of(text, self._goal))
        values = find_values(text, now=_SOME_DAY)
        is_value = bool(values) and len(values[0].text) == len(text.strip())
        return text if _SAYING.search(text) and not (is_context or is_value) else ""

    def _tool(self, draft: DraftLeg, said: str) -> Tool | None:
        """Return the tool that an order names; None if it only reads.

        Raises:
            DraftRefused: the name matches no tool, or several.
        """
        tools = self._catalog.tools
        changing = {name: tool for name, tool in tools.items() if tool.is_side_effect}
        name = meant_by(said, tools) or meant_by(said, changing)
        if name is not None:
            return changing.get(name)
        likely = could_mean(said, tools.values())
        if likely and not any(tool.is_side_effect for tool in likely):
            return None
        names = [tool.name for tool in likely if tool.is_side_effect] or [*changing]
        raise DraftRefused(
            f"{draft.id or draft.quotes[0]!r} orders {said[:80]!r}, which is the name of no tool; "
            f"write one of: {', '.join(names[:_MOST_NAMED])}"
        )

    def _agent(self, draft: DraftLeg, orders: Sequence[Order]) -> AgentProfile:
        """Return the named agent; without profiles, the one of the orders' domain."""
        said = draft.agent.casefold().strip()
        if self._agents:
            fits = [agent for agent in self._agents if agent.name.casefold() == said]
            if fits or len(self._agents) == 1:
                return (fits or [*self._agents])[0]
            names = ", ".join(agent.name for agent in self._agents)
            raise DraftRefused(
                f"leg {draft.id} is for the agent {draft.agent!r}; there are: {names}"
            )
        domains = {self._catalog.tool(order.tools[0]).domain for order in orders}
        known = {tool.domain for tool in self._catalog.tools.values()}
        named = {domain for domain in known if domain.casefold() == said}
        if domains and named and named.isdisjoint(domains):
            raise DraftRefused(
                f"leg {draft.id or draft.quotes[0]!r} is for the agent {draft.agent} and orders "
                f"{orders[0].tools[0]}, which is of {', '.join(sorted(domains))}; which is meant?"
            )
        domains = domains or named
        if len(domains) == 1 and (domain := domains.pop()):
            return AgentProfile(name=domain, prefers=(domain,))
        return AgentProfile(name=GENERALIST)

    def _joined(self, legs: Sequence[LegPlan]) -> tuple[LegPlan, ...]:
        kept: list[LegPlan] = []
        instead: dict[str, str] = {}
        for leg in legs:
            words = self._words_of(leg)
            theirs = [(other, self._words_of(other)) for other in kept]
            twins = [other for other, said in theirs if words <= said or said <= words]
            known = {order.tools for other in twins for order in other.orders}
            fresh = tuple(order for order in leg.orders if order.tools not in known)
            # The leg that has all its orders; of legs without orders, the one for the same words.
            same = (o for o in twins if bool(o.orders) is bool(leg.orders) and not fresh)
            if (twin := next(same, None)) is None:
                kept.append(leg.model_copy(update={"orders": fresh}))
                continue
            instead[leg.leg_id] = twin.leg_id
            is_said = leg.goal.casefold() in twin.goal.casefold()
            more = {
                "goal": twin.goal if is_said else f"{twin.goal}; {leg.goal}",
                "serves": tuple(dict.fromkeys((*twin.serves, *leg.serves))),
                "depends_on": tuple(dict.fromkeys((*twin.depends_on, *leg.depends_on))),
            }
            kept[kept.index(twin)] = twin.model_copy(update=more)
        for at, leg in enumerate(kept if instead else ()):
            after = dict.fromkeys(instead.get(one, one) for one in leg.depends_on)
            others = tuple(one for one in after if one != leg.leg_id)
            kept[at] = leg.model_copy(update={"depends_on": others})
        return tuple(kept)

    def _words_of(self, leg: LegPlan) -> set[int]:
        spans = [span for quote in leg.serves for span in spans_of(quote, self._goal)]
        words = [word.span() for word in _WORD.finditer(self._goal)]
        return {
            at for at, end in words if any(start <= at and end <= stop for start, stop in spans)
        }


def spans_of(quote: str, text: str) -> Iterator[Span]:
    """Yield the spans of a quote in a text, ignoring spaces, punctuation and case."""
    words = _PARTS.findall(quote)
    if words:
        pattern = r"[\W_]+".join(map(re.escape, words))
        yield from (found.span() for found in re.finditer(pattern, text, re.IGNORECASE))
