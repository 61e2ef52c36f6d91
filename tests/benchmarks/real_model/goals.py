"""Sixteen goals for a real model, and what is right for each: by effects, never by its words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.messages.leg import LegResult
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.planning.models import Fact

RESERVE, ROOM, FLIGHT = "dining_reserve_table", "hotel_book_room", "flight_book_offer"
PAY, SEND, EMAIL = "payment_pay_invoice", "message_send", "message_send_email"
EVENT: Final = "calendar_create_event"


@dataclass(frozen=True)
class Effect:
    """A consequence that a goal asks for: its tool, and texts that it has to be about."""

    tool: str
    about: Sequence[str] = ()


@dataclass(frozen=True)
class RealGoal:
    """A goal as people type it, with its consequences."""

    id: str
    goal: str
    effects: Sequence[Effect] = ()
    reads: Sequence[str] = ()
    """Tools of which one has to be read; empty: nothing says which."""
    is_each: bool = False
    """One effect, or more of different things, as many as the list has."""
    when: bool = False
    """Its effect depends on something: its planner says whether it held."""
    inputs: JsonObject = field(default_factory=dict)


GOALS: Final = (
    RealGoal(
        "read-en",
        "What will the weather be like in Lisbon tomorrow?",
        reads=("weather_get_forecast",),
    ),
    RealGoal("read-es", "¿Qué facturas vencidas tengo?", reads=("payment_list_invoices",)),
    RealGoal(
        "read-de", "Welche Termine stehen in meinem Kalender?", reads=("calendar_list_events",)
    ),
    RealGoal(
        "table-en",
        "Reserve a table for 4 in Lisbon on 5 December 2026 at 20:00",
        [Effect(RESERVE, ("Lisbon", "2026-12-05"))],
    ),
    RealGoal(
        "table-es",
        "Reserva una mesa para 2 en Lisboa el 5 de diciembre de 2026",
        [Effect(RESERVE, ("2026-12-05",))],
    ),
    RealGoal(
        "table-de",
        "Reserviere einen Tisch für 2 Personen in Lissabon am 5. Dezember 2026",
        [Effect(RESERVE, ("2026-12-05",))],
    ),
    RealGoal(
        "room-en",
        "Book a hotel room in Porto from 3 to 5 December 2026",
        [Effect(ROOM, ("Porto", "2026-12-03", "2026-12-05"))],
    ),
    RealGoal(
        "room-de",
        "Buche ein Hotelzimmer in Porto vom 3. bis 5. Dezember 2026",
        [Effect(ROOM, ("Porto", "2026-12-03"))],
    ),
    RealGoal(
        "flight-en",
        "Book a flight from Berlin to Lisbon on 3 December 2026",
        [Effect(FLIGHT, ("Berlin", "Lisbon", "2026-12-03"))],
    ),
    RealGoal(
        "email-en",
        'Send an e-mail to ana@example.com saying "The review is on Friday"',
        [Effect(EMAIL, ("ana@example.com", "review is on Friday"))],
    ),
    RealGoal(
        "email-es",
        'Envía un correo a ana@example.com que diga "Llegamos tarde"',
        [Effect(EMAIL, ("ana@example.com", "Llegamos tarde"))],
    ),
    RealGoal(
        "event-en",
        "Put a board meeting in my calendar on 10 December 2026 at 14:00",
        [Effect(EVENT, ("2026-12-10", "14:00"))],
    ),
    RealGoal(
        "two-en",
        "Reserve a table for 2 in Porto on 5 December 2026 "
        "and e-mail ana@example.com that it is reserved",
        [Effect(RESERVE, ("Porto", "2026-12-05")), Effect(EMAIL, ("ana@example.com",))],
    ),
    RealGoal(
        "two-de",
        'Trage am 10. Dezember 2026 um 9:00 Uhr "Zahnarzt" in den Kalender ein '
        "und schreibe ana@example.com eine E-Mail darüber",
        [Effect(EVENT, ("2026-12-10",)), Effect(EMAIL, ("ana@example.com",))],
    ),
    RealGoal("each-en", "Pay each of my overdue invoices", [Effect(PAY)], is_each=True),
    RealGoal(
        "when-en",
        "If rain is forecast for Lisbon on 5 December 2026, "
        "e-mail ana@example.com to bring an umbrella",
        [Effect(EMAIL, ("ana@example.com",))],
        when=True,
    ),
)


@dataclass(frozen=True)
class Judged:
    """What became of a goal."""

    is_right: bool
    wrong: tuple[Fact, ...]
    """Consequences that it does not ask for, or that are about something else."""
    more: int
    """Consequences beyond those that it asks for, of the same tools."""


def judge(goal: RealGoal, result: MissionResult) -> Judged:
    """Return what became of a goal, by the consequences of its mission."""
    facts = [fact for leg in result.legs for fact in leg.facts]
    effects = [fact for fact in facts if fact.side_effect]
    left, wrong = list(goal.effects), []
    things: set[str] = set()
    for fact in effects:
        fitting = next((one for one in left if _is(one, fact)), None)
        if fitting is None or (thing := _key(fact)) in things:
            wrong.append(fact)
            continue
        things.add(thing)
        if not goal.is_each:
            left.remove(fitting)
    served = not left or (goal.is_each and bool(effects)) or (goal.when and _says_no(result))
    called = {name for leg in result.legs for name in called_by(leg)}
    read = not goal.reads or bool(called & {*goal.reads})
    is_over = result.status is MissionStatus.SUCCEEDED
    asked = [one.tool for one in goal.effects]
    more = sum(fact.tool in asked for fact in wrong)
    return Judged(is_over and served and read and not wrong, tuple(wrong), more)


def called_by(leg: LegResult) -> list[str]:
    """Return the tools that a leg called with success, in order."""
    calls = (step.did.split() for step in leg.steps if step.outcome == "succeeded")
    return [*leg.called, *(words[1] for words in calls if words[0] == "call")]


def _is(wanted: Effect, fact: Fact) -> bool:
    told = json.dumps([fact.arguments, fact.body], ensure_ascii=False).casefold()
    return fact.tool == wanted.tool and all(text.casefold() in told for text in wanted.about)


def _key(fact: Fact) -> str:
    return json.dumps([fact.tool, fact.arguments], sort_keys=True)


def _says_no(result: MissionResult) -> bool:
    return any(not said.holds for leg in result.legs for said in leg.conditions)
