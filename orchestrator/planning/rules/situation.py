"""A leg's situation at one step, read once: what was said, what is known, what was tried."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import Observation, StepContext
from orchestrator.planning.rules.fact_sources import Known
from orchestrator.planning.rules.utterance import Said, listen, listen_around

_NO_DEFAULT: Final = object()


@dataclass(frozen=True)
class Situation:
    """What a step is decided from; `shown` are the tools that may be called, best first."""

    context: StepContext
    catalog: Catalog
    shown: tuple[str, ...]

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that may be called, best first."""
        return tuple(self.catalog.tool(name) for name in dict.fromkeys(self.shown))

    @cached_property
    def said(self) -> Said:
        """The leg's own clause."""
        return listen(self.context.leg_goal, now=self.context.now)

    @cached_property
    def around(self) -> tuple[Said, ...]:
        """The other clauses of the mission, those before the leg's first, the nearest first."""
        context = self.context
        return listen_around(context.leg_goal, context.mission_goal, now=context.now)

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """What the legs that this one depends on learned."""
        return tuple(Known(f, self.catalog.tool(f.tool)) for f in self.context.facts)

    @cached_property
    def own_references(self) -> frozenset[str]:
        """Names of inputs that take the caller's own reference: no provider can be asked for it."""
        return frozenset(n for t in self.catalog.tools.values() for n in t.reference_inputs)

    def tried(self, tool: Tool) -> Iterator[Observation]:
        """What calls of a tool came to, newest first."""
        for seen in reversed(self.context.observations):
            if seen.tool == tool.name and seen.outcome != "discovered":
                yield seen

    def tried_with(self, tool: Tool, arguments: JsonObject) -> list[Observation]:
        """What calls of a tool with these arguments came to, newest first."""
        told = _telling(tool, arguments)
        return [o for o in self.tried(tool) if _telling(tool, o.arguments) == told]

    def searched_for(self, query: str) -> bool:
        """Whether tools were already looked for with this query."""
        searches = [o for o in self.context.observations if o.outcome == "discovered"]
        return any(o.arguments.get("query", query) == query for o in searches)


def situation_of(context: StepContext, shown: Sequence[str], catalog: Catalog) -> Situation:
    """The situation of a step to which the tools `shown` were forwarded."""
    return Situation(context=context, catalog=catalog, shown=(*shown, *context.discovered))


def _telling(tool: Tool, arguments: JsonObject) -> JsonObject:
    """The arguments that tell two calls apart: no references filled in on the way, no defaults."""
    schemas = tool.properties
    return {
        k: v
        for k, v in arguments.items()
        if k not in tool.reference_inputs and v != schemas.get(k, {}).get("default", _NO_DEFAULT)
    }
