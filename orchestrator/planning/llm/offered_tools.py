"""The offered tools of a step, and calls of them as checked decisions.

A model's spelling of a name is tolerated if exactly one tool matches it.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid, OutsideWall
from orchestrator.core.record import JsonObject
from orchestrator.language.words import is_verb
from orchestrator.planning.llm.meta_tools import META_TOOLS, MetaTool
from orchestrator.planning.llm.offered_schema import given_arguments
from orchestrator.planning.llm.prompt import reason_input, tool_description, tool_parameters
from orchestrator.planning.models import (
    HAND_OVER,
    CallTool,
    Dropped,
    Finish,
    StepContext,
    StepDecision,
)
from orchestrator.planning.one_step import bounded, done_first
from orchestrator.planning.planner import PlannedStep, check_decision, only_reads
from orchestrator.planning.trimming import cut_text
from orchestrator.planning.walls import is_inside
from orchestrator.routing.selection import Selection

Key = TypeVar("Key")

_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_MARK: Final = re.compile(r"[\[({][^\])}]{0,80}[\])}]?\s*$")
"""A mark that a model copies after a name: `[confirm]`, `(city)`."""
_PREFIX: Final = re.compile(r"^(?:.{0,40}[ =])?functions?[.:/]")
_CONTROL: Final = re.compile(r"<\|[^|]{0,40}\|>")
_BETWEEN: Final = re.compile(r"[^A-Za-z0-9_-]+|__")
_NUMBER: Final = re.compile(r":[0-9]{1,3}$")
"""Texts that models add to a name: `to=functions.`, and the number of the call."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_A-Za-z]+")
_MOST_WORDS: Final = 6
"""A name with more words is a sentence, which matches no tool unless it is a title."""
_LONGEST_NAME: Final = 64
_LONGEST_SAID: Final = 200
_LONGEST_REASON: Final = 400
_META_NAMES: Final = (HAND_OVER, *(meta.name for meta in META_TOOLS))
_COPIED: Final = "left out: the example or default of the document, which nobody asked for"


def wire_name(name: str) -> str:
    """Return a tool's name in a form that every model provider accepts."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]


def offered_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return the tools by names that every provider accepts, none of them a meta tool's."""
    named: dict[str, Tool] = {}
    for tool in tools:
        name = base = wire_name(tool.name)
        number = 1
        while name in named or name in _META_NAMES:
            number += 1
            ending = f"_{number}"
            name = base[: _LONGEST_NAME - len(ending)] + ending
        named[name] = tool
    return named


def bare_name(said: str) -> str:
    """Return a name without the text that models add to it.

    Example: `functions.hotel_book_room<|channel|>commentary` is `hotel_book_room`.
    """
    unmarked = (part.strip() for part in _CONTROL.split(said))
    plain = next((part for part in unmarked if part), "").strip("`'\"")
    return _NUMBER.sub("", _PREFIX.sub("", plain)).strip()


def meant_by(said: str, tools: Mapping[Key, Tool]) -> Key | None:
    """Return the key of the only tool that a name can mean; None if none or several match.

    Case, marks after the name, surrounding words other than verbs, a missing prefix, another word
    order, and the title in place of the name are tolerated if exactly one tool fits.

    Example: `book_hotel` means `hotel_book_room` if no other name has both words.
    """
    if len(said) > _LONGEST_SAID:
        return None
    bare = _MARK.sub("", bare_name(said)).strip()
    words = _words(bare)
    if not words:
        return None
    read = [(key, tool, _words(tool.name)) for key, tool in tools.items()]
    parts = {part for part in _BETWEEN.split(bare) if part}
    for fits in (
        [key for key, tool, _ in read if tool.name == bare or key == bare],
        [
            key
            for key, tool, _ in read
            # `cancel.desk_book` is another tool.
            if (named := parts & {tool.name, key})
            and not any(is_verb(w.lower()) for part in parts - named for w in _WORD.findall(part))
        ],
        [key for key, _, name in read if name == words],
        [key for key, tool, _ in read if _words(tool.title) == words],
        [key for key, _, name in read if sorted(name) == sorted(words)],
        [key for key, _, name in read if len(words) <= _MOST_WORDS and {*words} <= {*name}],
    ):
        if fits:
            return fits[0] if len(fits) == 1 else None
    return None


def could_mean(said: str, tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools whose names contain all the words of a short name."""
    words = {*_words(_MARK.sub("", said[:_LONGEST_SAID]))}
    return [tool for tool in tools if words and words <= {*_words(tool.name)}]


def _words(text: str) -> list[str]:
    """Return the words of a name, lower case, without a plural `s`."""
    found = (word.casefold() for word in _WORD.findall(text))
    return [word.removesuffix("s") if len(word) > 3 else word for word in found]


@dataclass(frozen=True)
class OfferedTools:
    """The tools that may be called at a step, by their offered names."""

    context: StepContext
    selection: Selection
    catalog: Catalog
    tools: Mapping[str, Tool]
    meta: tuple[MetaTool, ...] = META_TOOLS

    def listed(self) -> Iterator[tuple[str, str, JsonObject]]:
        """Yield the name, the description and the input schema of each."""
        for meta in self.meta:
            yield meta.name, meta.description, meta.parameters
        for name, tool in self.tools.items():
            yield name, tool_description(tool), tool_parameters(tool)

    def planned(
        self, calls: Sequence[tuple[str, JsonObject | None]], said: str, usage: Usage
    ) -> PlannedStep:
        """Return the calls of one answer as a checked decision, and the dropped calls.

        A call outside the agent's wall is not corrected here: the engine refuses it, and records
        that, before the next decision. One invalid call among several is reported with the results
        of the others.

        Args:
            calls: offered names and arguments; None if the arguments are no JSON object.
            said: the text of the answer, which is the reason of calls that give none.
            usage: the usage of the answer.

        Raises:
            DecisionInvalid: there is no call, or none that can be carried out.
        """
        if not calls:
            raise DecisionInvalid("the answer calls no tool; call exactly one")
        wanted: dict[int, StepDecision] = {}
        wrong: dict[int, DecisionInvalid] = {}
        for at, (name, arguments) in enumerate(calls):
            try:
                if arguments is None:
                    raise DecisionInvalid(f"the arguments of {name} are not a JSON object")
                decision = self._parsed(name, arguments, said)
                with contextlib.suppress(OutsideWall):
                    check_decision(decision, self.selection, self.context, self.catalog)
                wanted[at] = decision
            except DecisionInvalid as error:
                wrong[at] = error
        if not wanted:
            raise wrong[0]
        decision, waits = done_first(
            [*wanted.values()], lambda call: only_reads(self.catalog.tool(call.tool))
        )
        why = {at: f"it cannot be carried out: {error}" for at, error in wrong.items()}
        why |= {[*wanted][at]: why_waits for at, why_waits in waits.items()}
        dropped = []
        for at in sorted(why):
            call = wanted.get(at)
            if isinstance(call, CallTool):
                dropped.append(Dropped(tool=call.tool, arguments=call.arguments, why=why[at]))
            else:  # without unchecked arguments
                name = cut_text(calls[at][0], _LONGEST_NAME)
                dropped.append(Dropped(tool=name, why=why[at]))
        tool = self.catalog.tools.get(decision.tool) if isinstance(decision, CallTool) else None
        if tool is not None and isinstance(decision, CallTool) and tool.is_side_effect:
            copied = copied_inputs(tool, decision.arguments, self.context)
            kept = {n: held for n, held in decision.arguments.items() if n not in copied}
            decision = decision.model_copy(update={"arguments": kept})
            note = Dropped(tool=tool.name, arguments=copied, why=_COPIED, is_left_out=True)
            dropped += [note] if copied else []
        return PlannedStep(decision=decision, usage=usage, dropped=bounded(dropped))

    def _parsed(self, name: str, arguments: JsonObject, said: str) -> StepDecision:
        said_name = wire_name(bare_name(name))
        meta = next((meta for meta in self.meta if meta.name == said_name), None)
        if meta is not None:
            decision = meta.decision(arguments)
            orders = (order for order in self.context.orders if order.is_conditional)
            whens = {order.when or order.each for order in orders}
            if not isinstance(decision, Finish) or not len(whens) == len(decision.conditions) == 1:
                return decision
            # The one condition that was read is that of the only order that has any.
            read = decision.conditions[0].model_copy(update={"when": whens.pop()})
            return decision.model_copy(update={"conditions": (read,)})
        meant, tool = meant_by(name, self.tools), self.catalog.tools.get(name)
        if meant is not None:
            tool = self.tools[meant]
        elif tool is None or is_inside(tool, (self.context.agent.wall,)):
            raise DecisionInvalid(
                f"{cut_text(name, _LONGEST_NAME)} is not among the {len(self.tools)} tools shown "
                f"({', '.join(self.tools) or 'none'}); discover it first"
            )
        reason = reason_input(tool)
        given = {key: value for key, value in arguments.items() if key != reason}
        given = given_arguments(tool.input_schema, given)
        stated_reason = " ".join(str(arguments.get(reason) or said).split())
        return CallTool(
            tool=tool.name, arguments=given, reason=cut_text(stated_reason, _LONGEST_REASON)
        )


def copied_inputs(tool: Tool, arguments: JsonObject, context: StepContext) -> JsonObject:
    """Return optional arguments that copy the document's examples or defaults without a source.

    Args:
        tool: the tool of the call.
        arguments: the arguments of one call.
        context: its goal, inputs, facts and answers are possible sources of a value.
    """
    likely: JsonObject = {}
    for name in [one for one in arguments if one not in tool.required_inputs]:
        schema = tool.properties.get(name, {})
        examples = schema.get("examples")
        shown = [schema[key] for key in ("default", "example") if key in schema]
        if arguments[name] in [*shown, *(examples if isinstance(examples, list) else [])]:
            likely[name] = arguments[name]
    if not likely:
        return {}
    sources: list[JsonValue] = [context.mission_goal, dict(context.inputs)]
    sources += [[dict(fact.arguments), fact.body] for fact in context.facts]
    sources += [seen.body for seen in context.observations]
    sources += [seen.hint for seen in context.observations if seen.hint]
    said = json.dumps(sources, ensure_ascii=False).casefold()
    copied: JsonObject = {}
    for name, value in likely.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        # A number counts only as a separate word.
        if not re.search(rf"(?<![\d.]){re.escape(text.casefold())}(?!\d)", said):
            copied[name] = value
    return copied
