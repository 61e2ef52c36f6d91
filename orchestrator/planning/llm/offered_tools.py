"""The tools of a step as they are offered, and calls of them as decisions that were checked."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid, OutsideWall
from orchestrator.core.record import JsonObject
from orchestrator.planning.done_at_once import bounded, chosen
from orchestrator.planning.llm.meta_tools import META_TOOLS, MetaTool
from orchestrator.planning.llm.prompt import tool_description, tool_parameters
from orchestrator.planning.models import (
    HAND_OVER,
    CallTool,
    Dropped,
    StepContext,
    StepDecision,
)
from orchestrator.planning.planner import PlannedStep, check_decision, only_reads
from orchestrator.planning.trimming import cut_text
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME: Final = 64
_LONGEST_REASON: Final = 400


def wire_name(name: str) -> str:
    """A tool's name as every provider of models takes it."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]


def wire_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by names that every provider of models takes, none twice, none a meta tool's."""
    taken = {HAND_OVER, *(meta.name for meta in META_TOOLS)}
    named: dict[str, Tool] = {}
    for tool in tools:
        base = wire_name(tool.name)
        name, number = base, 1
        while name in taken:
            number += 1
            ending = f"_{number}"
            name = base[: _LONGEST_NAME - len(ending)] + ending
        taken.add(name)
        named[name] = tool
    return named


@dataclass(frozen=True)
class OfferedTools:
    """What may be called at a step, by the names under which it is offered."""

    context: StepContext
    selection: Selection
    catalog: Catalog
    tools: Mapping[str, Tool]
    meta: tuple[MetaTool, ...] = META_TOOLS

    def listed(self) -> Iterator[tuple[str, str, JsonObject]]:
        """Name, description and input schema of each."""
        for meta in self.meta:
            yield meta.name, meta.description, meta.parameters
        for name, tool in self.tools.items():
            yield name, tool_description(tool), tool_parameters(tool)

    def planned(
        self, calls: Sequence[tuple[str, JsonObject | None]], said: str, usage: Usage
    ) -> PlannedStep:
        """The calls of one answer as a decision that was checked, and what it leaves out.

        A call outside the agent's wall is no mistake to be corrected here: the engine refuses it,
        and keeps a record of that, before anybody decides again. One mistake among several calls is
        told beside what the others came to.

        Args:
            calls: names as they were offered, and arguments; None where they are no JSON object.
            said: what stands beside the calls, which is the reason of each.
            usage: what the answer took.

        Raises:
            DecisionInvalid: no call, or none that can be carried out.
        """
        if not calls:
            raise DecisionInvalid("the answer calls no tool; call exactly one")
        reason = cut_text(" ".join(said.split()), _LONGEST_REASON)
        wanted: dict[int, StepDecision] = {}
        wrong: dict[int, DecisionInvalid] = {}
        for at, (name, arguments) in enumerate(calls):
            try:
                wanted[at] = self._checked(name, arguments, reason)
            except DecisionInvalid as error:
                wrong[at] = error
        if not wanted:
            raise wrong[0]
        decision, waits = chosen([*wanted.values()], self._only_reads)
        why = {at: f"it cannot be carried out: {error}" for at, error in wrong.items()}
        why |= {[*wanted][at]: told for at, told in waits.items()}
        dropped = [_dropped(calls[at][0], wanted.get(at), why[at]) for at in sorted(why)]
        return PlannedStep(decision=decision, usage=usage, dropped=bounded(dropped))

    def _checked(self, name: str, arguments: JsonObject | None, reason: str) -> StepDecision:
        if arguments is None:
            raise DecisionInvalid(f"the arguments of {name} are not a JSON object")
        decision = self._parsed(name, arguments)
        if isinstance(decision, CallTool):
            decision = decision.model_copy(update={"reason": reason})
        with contextlib.suppress(OutsideWall):
            check_decision(decision, self.selection, self.context, self.catalog)
        return decision

    def _only_reads(self, call: CallTool) -> bool:
        return only_reads(self.catalog.tool(call.tool))

    def _parsed(self, name: str, arguments: JsonObject) -> StepDecision:
        meta = next((meta for meta in self.meta if meta.name == name), None)
        if meta is not None:
            return _meta_decision(meta, arguments)
        tool = self.tools.get(name) or self._outside(name)
        if tool is None:
            raise DecisionInvalid(
                f"{name} is not among the {len(self.tools)} tools shown; discover it first"
            )
        return CallTool(tool=tool.name, arguments=arguments)

    def _outside(self, name: str) -> Tool | None:
        """The tool of that name, if it is one that the agent may not touch."""
        tool = self.catalog.tools.get(name)
        return None if tool is None or is_inside(tool, (self.context.agent.wall,)) else tool


def _meta_decision(meta: MetaTool, arguments: JsonObject) -> StepDecision:
    try:
        return meta.decision(arguments)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DecisionInvalid(f"{meta.name}: {place}: {first['msg']}") from error


def _dropped(name: str, wanted: StepDecision | None, why: str) -> Dropped:
    """What is told of a call that is not carried out; arguments that were not checked are not."""
    if isinstance(wanted, CallTool):
        return Dropped(tool=wanted.tool, arguments=wanted.arguments, why=why)
    return Dropped(tool=cut_text(name, _LONGEST_NAME), why=why)
