"""What a clause says and its words alone do not tell, as "at 8": it is asked about."""

import re
from collections.abc import Iterable
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.intent import Slot
from orchestrator.language.said import is_within, quoted_spans, told_spans
from orchestrator.planning.models import AskUser
from orchestrator.planning.rules.parameters import DAYS, Kind, Parameter, tool_parameters

_SLUG: Final = re.compile(r"[^a-z0-9]+")
_TAKEN_BY: Final = {"date": DAYS, "time": frozenset({Kind.TIME, Kind.DATETIME})}
_CLOCK: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
_LENGTHS: Final = frozenset({"minutes", "minute", "mins", "hours", "hour", "duration", "length"})


def field_of(slot: Slot) -> str:
    """The name under which what a slot means is asked for, and given: time_half_past_seven."""
    kind = "duration" if slot.kind == "quantity" else slot.kind
    return f"{kind}_{_SLUG.sub('_', slot.text.lower()).strip('_')}"[:64]


def settled(slots: Iterable[Slot], given: JsonObject) -> tuple[list[Slot], list[Slot]]:
    """The slots that are told, by their words or by what was given, and those that are not."""
    told: list[Slot] = []
    unread: list[Slot] = []
    for slot in slots:
        meant = _meant(slot, given)
        (told if meant.value is not None else unread).append(meant)
    return told, unread


def _meant(slot: Slot, given: JsonObject) -> Slot:
    answer = given.get(field_of(slot)) if slot.value is None else None
    if answer is None:
        return slot
    if slot.kind == "quantity":
        number = answer if isinstance(answer, int) else None
        return slot.model_copy(update={"value": number, "hint": _unit(slot), "readings": ()})
    return slot.model_copy(update={"value": str(answer), "readings": ()})


def question_about(
    text: str, unread: Iterable[Slot], goal: str, tools: Iterable[Tool], given: JsonObject
) -> AskUser | None:
    """What is asked before a clause is acted on; None when nothing of it is in doubt.

    Args:
        text: the clause.
        unread: its slots whose words do not tell their value.
        goal: the mission's: one that orders nothing is not asked about.
        tools: that may be called for it, of which one must take such a value.
        given: the values given by the user.
    """
    covered = (*quoted_spans(text), *told_spans(text))
    open_slots = [
        slot
        for slot in unread
        if not is_within(slot.position, slot.position + len(slot.text), covered)
    ]
    if not open_slots or not any(read_clause(c).asks_side_effect for c in split_clauses(goal)):
        return None
    inputs = [p for tool in tools for p in tool_parameters(tool)]
    asked = [slot for slot in open_slots if _is_needed(slot, inputs, given)]
    if not asked:
        return None
    wanted = " ".join(f"{_described(slot)}?" for slot in asked)
    return AskUser(
        question=f"About {text!r}: {wanted}",
        why="nothing is booked, sent or changed by a time or a day that was guessed",
        fields={field_of(slot): _schema(slot) for slot in asked},
    )


def _is_needed(slot: Slot, inputs: Iterable[Parameter], given: JsonObject) -> bool:
    """Whether an input takes such a value, and was not given another one."""
    takers = [parameter for parameter in inputs if _takes(parameter, slot)]
    # "In March" tells which of the things that are there; a day that has to be sent is one day.
    needed = slot.kind != "date" or any(parameter.required for parameter in takers)
    return bool(takers) and needed and not any(parameter.name in given for parameter in takers)


def _takes(parameter: Parameter, slot: Slot) -> bool:
    if slot.kind == "quantity":
        is_end = parameter.side == "end" and parameter.kind in {*DAYS, Kind.TIME}
        return is_end or parameter.kind is Kind.NIGHTS or bool(_LENGTHS & {*parameter.words})
    return parameter.kind in _TAKEN_BY.get(slot.kind, ())


def _unit(slot: Slot) -> str:
    """In what a stretch of time is asked for: half a day in minutes, half a week in days."""
    return "minutes" if slot.text.lower().endswith(("day", "hour", "hours")) else "days"


def _described(slot: Slot) -> str:
    choices = " or ".join(slot.readings)
    match slot.kind:
        case "time" if choices:
            return f"is {slot.text!r} {choices}"
        case "time":
            return f"at what time is {slot.text!r}"
        case "date" if choices:
            return f"does {slot.text!r} begin on {choices}"
        case "date":
            return f"which day is {slot.text!r}"
        case _:
            return f"how many {_unit(slot)} are meant by {slot.text!r}"


def _schema(slot: Slot) -> JsonObject:
    about: dict[str, JsonValue] = {"description": f"what {slot.text!r} means"}
    match slot.kind:
        case "time" if slot.readings:
            return {"type": "string", "enum": [*slot.readings], **about}
        case "time":
            return {"type": "string", "pattern": _CLOCK, **about}
        case "date":
            return {"type": "string", "format": "date", **about}
        case _:
            return {
                "type": "integer",
                "minimum": 1,
                "description": f"{_unit(slot)} of {slot.text!r}",
            }
