"""Which of the inputs that nobody has are asked for: none that would follow from another answer."""

from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.validation import FIRST_DAY, LAST_DAY
from orchestrator.planning.rules.argument_draft import Lack
from orchestrator.planning.rules.call_arguments import gather_arguments, missing_inside
from orchestrator.planning.rules.next_call import next_call
from orchestrator.planning.rules.parameters import DAYS, Kind, Parameter, tool_parameters
from orchestrator.planning.rules.situation import Situation

_AHEAD: Final = timedelta(days=30)


def to_ask(lack: Lack, target: Tool, situation: Situation) -> tuple[Parameter, ...]:
    """What a person is asked for: an end is not that is counted from its start.

    Who said "for two nights" is asked for the first day; any day shows what is left to ask then.
    """
    starts = [p for p in lack.parameters if p.kind in DAYS and p.side != "end"]
    if not starts or len(starts) == len(lack.parameters):
        parts = (missing_inside(p, target, situation) for p in lack.parameters)
        return tuple(chain.from_iterable(parts))
    context = situation.context
    some_day = {start.name: _some_day(start, situation) for start in starts}
    told = context.model_copy(update={"inputs": {**context.inputs, **some_day}})
    step = next_call(target, replace(situation, context=told))
    left = {p.name for p in step.parameters} if isinstance(step, Lack) else set()
    asked = (p for p in lack.parameters if p in starts or p.name in left)
    return tuple(chain.from_iterable(missing_inside(p, target, situation) for p in asked))


def asked_schema(parameter: Parameter, target: Tool, situation: Situation) -> JsonObject:
    """The schema that an answer is held to: an end is not before the start that was said.

    Nor is a start after the end: the provider would refuse it, and the mission would be lost.
    """
    schema = parameter.whole_schema
    is_end = parameter.side == "end"
    for tool in (target, *situation.tools) if parameter.kind is Kind.DATE else ():
        inputs = tool_parameters(tool)
        if parameter.name not in {p.name for p in inputs}:
            continue
        known = gather_arguments(tool, situation)[0].values
        others = [
            p for p in inputs if p.kind is Kind.DATE and p.side == ("start" if is_end else "end")
        ]
        days = [known[p.name] for p in others if isinstance(known.get(p.name), str)]
        if len(others) == 1 and days:
            return {**schema, FIRST_DAY if is_end else LAST_DAY: days[0]}
    return schema


def _some_day(start: Parameter, situation: Situation) -> str:
    moment = situation.context.now + _AHEAD
    if start.kind is Kind.DATE:
        return moment.date().isoformat()
    return moment.isoformat().replace("+00:00", "Z")
