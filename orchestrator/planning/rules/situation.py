"""A leg's situation at one step, read once: its utterances, its facts and what it tried."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.prices import charged_price
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.budget import Money
from orchestrator.core.pii import PII_PREFIX
from orchestrator.core.record import JsonObject
from orchestrator.language.changes_said import change_said
from orchestrator.language.corrections import corrected
from orchestrator.language.intent import tells_apart
from orchestrator.language.words import tokens
from orchestrator.planning.models import Fact, Observation, StepContext
from orchestrator.planning.rules.answers import flat_fields
from orchestrator.planning.rules.changed_fields import takes_change
from orchestrator.planning.rules.parameters import tool_parameters
from orchestrator.planning.rules.utterance import Utterance, read_others, read_utterance
from orchestrator.planning.walls import is_inside

_NO_DEFAULT: Final = object()
_WORD: Final = re.compile(r"\s+")


@dataclass(frozen=True)
class FactSource:
    """What an earlier leg did, as a source of values: one fact, and the tool it came from."""

    fact: Fact
    tool: Tool

    @property
    def price(self) -> Money | None:
        """What the call cost."""
        fact = self.fact
        return fact.price or charged_price(self.tool, fact.arguments, fact.body)

    @property
    def fields(self) -> JsonObject:
        """Scalars of the answer over those of the arguments; no handles to personal fields."""
        values = {**dict(flat_fields(self.fact.arguments)), **dict(flat_fields(self.fact.body))}
        return {k: v for k, v in values.items() if not str(v).startswith(PII_PREFIX)}

    @property
    def reference(self) -> JsonValue:
        """The id of what the call made."""
        body = self.fact.body if isinstance(self.fact.body, dict) else {}
        return next((v for k, v in body.items() if tokens(k)[-1:] == ["id"]), None)


@dataclass(frozen=True)
class Situation:
    """What a step is decided from; `shown` are the tools that may be called, best first."""

    context: StepContext
    catalog: Catalog
    shown: tuple[str, ...]
    utterance: Utterance
    """The leg's own clause."""
    other_utterances: tuple[Utterance, ...]
    """The other clauses of the mission, those before the leg's first, the nearest first."""
    facts: tuple[FactSource, ...]
    """What the legs that this one depends on learned."""
    hints: tuple[Utterance, ...] = ()
    """What people said who refused a call of this leg, the newest first."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that may be called, best first."""
        tools = (self.catalog.tool(name) for name in dict.fromkeys(self.shown))
        return tuple(tool for tool in tools if is_inside(tool, (self.context.agent.wall,)))

    @cached_property
    def usable_tools(self) -> tuple[Tool, ...]:
        """Every tool that the agent may touch, forwarded or not."""
        walls = (self.context.agent.wall,)
        return tuple(tool for tool in self.catalog.tools.values() if is_inside(tool, walls))

    @cached_property
    def barred_tools(self) -> tuple[Tool, ...]:
        """Every tool that the agent may not touch."""
        usable = {tool.name for tool in self.usable_tools}
        return tuple(tool for name, tool in self.catalog.tools.items() if name not in usable)

    @cached_property
    def own_references(self) -> frozenset[str]:
        """Names of inputs that take the caller's own reference: no provider can be asked for it."""
        return frozenset(n for t in self.catalog.tools.values() for n in t.reference_inputs)

    def facts_for(self, tool: Tool) -> tuple[FactSource, ...]:
        """What earlier legs did, of which a call of the tool may take a value.

        Who says by a value which thing is to be ended means what holds that value; nothing of this
        mission when no other clause names it: "book a flight to Rome and cancel my flight to Oslo".
        """
        if tool.effect is not Effect.CANCEL:
            return self.facts
        said = [slot.text.casefold() for slot in self.utterance.slots if tells_apart(slot)]
        held = [(source, " ".join(map(str, source.fields.values()))) for source in self.facts]
        fitting = [source for source, text in held if all(v in text.casefold() for v in said)]
        others = " ".join(u.text for u in self.other_utterances).casefold()
        if fitting or not all(value in others for value in said):
            return tuple(fitting)
        return self.facts

    def tried(self, tool: Tool) -> Iterator[Observation]:
        """What calls of a tool came to, newest first."""
        for seen in reversed(self.context.observations):
            if seen.tool == tool.name and seen.outcome != "discovered":
                yield seen

    def tried_with(self, tool: Tool, arguments: JsonObject) -> list[Observation]:
        """What calls of a tool with these arguments came to, newest first."""
        wanted = _distinguishing(tool, arguments)
        return [o for o in self.tried(tool) if _distinguishing(tool, o.arguments) == wanted]

    def refused(self, tool: Tool) -> Iterator[Observation]:
        """The calls of a tool that were rejected or invalid, newest first."""
        return (seen for seen in self.tried(tool) if seen.outcome in ("rejected", "invalid"))

    def refused_by_people(self, tool: Tool) -> list[Observation]:
        """The calls of a tool that people refused, newest first."""
        return [seen for seen in self.tried(tool) if seen.refused_by]

    def searched_for(self, query: str) -> bool:
        """Whether tools were already looked for with this query."""
        searches = [o for o in self.context.observations if o.outcome == "discovered"]
        return any(o.arguments.get("query", query) == query for o in searches)


def read_situation(context: StepContext, shown: Iterable[str], catalog: Catalog) -> Situation:
    """The situation of a step to which the tools `shown` were forwarded."""
    goal, now = context.leg_goal, context.now
    whole = corrected(context.mission_goal).text
    names = (*shown, *context.discovered)
    change = change_said(goal)
    changing = (catalog.tools[name] for name in names if name in catalog.tools)
    takers = (takes_change(change, tool_parameters(t)) for t in changing if t.is_side_effect)
    return Situation(
        context=context,
        catalog=catalog,
        shown=names,
        utterance=read_utterance(
            goal,
            now=now,
            before=_said_before(goal, whole),
            given=context.inputs,
            becomes=change if any(takers) else None,
        ),
        other_utterances=read_others(goal, whole, now=now),
        facts=tuple(FactSource(fact, catalog.tool(fact.tool)) for fact in context.facts),
        hints=tuple(
            read_utterance(seen.hint, now=now)
            for seen in reversed(context.observations)
            if seen.refused_by and seen.hint
        ),
    )


def _said_before(request: str, goal: str) -> str:
    """What the mission's goal says before a request; nothing where that cannot be told."""
    words = _WORD.split(request.strip())
    # A clause that shares its verb with another does not stand in the goal with its first words.
    for first in range(len(words) - 1):
        at = goal.find(" ".join(words[first:]))
        if at >= 0:
            return goal[:at]
    return ""


def _distinguishing(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments that tell two calls apart: no references filled in on the way, no defaults."""
    schemas = tool.properties
    return {
        k: v
        for k, v in arguments.items()
        if k not in tool.reference_inputs and v != schemas.get(k, {}).get("default", _NO_DEFAULT)
    }
