"""Several calls of one tool in one leg: counts, both, all, each, over a document of lockers."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AgentProfile, AskUser, Finish, GiveUp, Observation
from orchestrator.routing.router import Router

_LOCKERS = """
openapi: 3.1.0
info: {title: Lockers, version: '1'}
servers: [{url: 'http://127.0.0.1/lockers'}]
tags: [{name: lockers}]
paths:
  /free:
    get:
      operationId: locker_search_free
      tags: [lockers]
      summary: Search free lockers at a station.
      x-orchet-tool: true
      parameters:
        - {name: station, in: query, required: true, schema: {type: string, minLength: 2}}
        - {name: day, in: query, schema: {type: string, format: date}}
      responses:
        '200':
          description: Free lockers.
          content:
            application/json:
              schema:
                type: object
                properties:
                  lockers:
                    type: array
                    items:
                      type: object
                      properties:
                        locker_id: {type: string}
                        size_name: {type: string}
                        price:
                          type: object
                          properties: {amount: {type: number}, currency: {type: string}}
  /rentals:
    post:
      operationId: locker_rent
      tags: [lockers]
      summary: Rent a locker at a station.
      x-orchet-tool: true
      x-orchet-requires-confirmation: structured-reservation
      x-orchet-cancels: locker_end_rental
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [locker_id, day]
              properties:
                locker_id: {type: string}
                day: {type: string, format: date}
      responses:
        '201':
          description: The rental.
          content:
            application/json:
              schema:
                type: object
                properties:
                  rental_id: {type: string}
                  station: {type: string}
                  day: {type: string, format: date}
    get:
      operationId: locker_list_rentals
      tags: [lockers]
      summary: List your locker rentals.
      x-orchet-tool: true
      parameters:
        - {name: cursor, in: query, schema: {type: string}}
      responses:
        '200':
          description: Rentals.
          content:
            application/json:
              schema:
                type: object
                properties:
                  rentals:
                    type: array
                    items:
                      type: object
                      properties:
                        rental_id: {type: string}
                        station: {type: string}
                        day: {type: string, format: date}
                        state: {type: string}
                        price:
                          type: object
                          properties: {amount: {type: number}, currency: {type: string}}
                  next_cursor: {type: string}
  /rentals/end:
    post:
      operationId: locker_end_rental
      tags: [lockers]
      summary: Cancel a locker rental.
      x-orchet-tool: true
      x-orchet-cancel-for: locker_rent
      x-orchet-requires-confirmation: false
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [rental_id], properties: {rental_id: {type: string}}}
      responses:
        '200':
          description: Cancelled.
          content:
            application/json:
              schema: {type: object, properties: {rental_id: {type: string}}}
  /notices:
    post:
      operationId: locker_send_notice
      tags: [lockers]
      summary: Send a notice to a keeper of lockers.
      x-orchet-tool: true
      x-orchet-requires-confirmation: structured-message
      x-orchet-irreversible: true
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [keeper_id, text]
              properties:
                keeper_id: {type: string}
                text: {type: string}
      responses:
        '201':
          description: The notice.
          content:
            application/json:
              schema: {type: object, properties: {notice_id: {type: string}}}
  /keepers:
    get:
      operationId: locker_list_keepers
      tags: [lockers]
      summary: List the keepers of lockers.
      x-orchet-tool: true
      responses:
        '200':
          description: Keepers.
          content:
            application/json:
              schema:
                type: object
                properties:
                  keepers:
                    type: array
                    items:
                      type: object
                      properties:
                        keeper_id: {type: string}
                        keeper_name: {type: string}
                        station: {type: string}
"""

_RENTALS = [
    ("r1", "Porto", "2027-03-02", "open", 10, "EUR"),
    ("r2", "Lisbon", "2027-03-09", "open", 20, "EUR"),
    ("r3", "Porto", "2027-04-01", "open", 30, "EUR"),
    ("r4", "Faro", "2026-12-05", "ended", 40, "USD"),
]
_FREE = [("L1", "small", 5), ("L2", "large", 3), ("L3", "large", 4)]
_KEEPERS = [("Ana", "Porto"), ("Bo", "Lisbon"), ("Cy", "Porto")]


def rentals(rows: Any) -> Any:
    return [
        {
            "rental_id": key,
            "station": station,
            "day": day,
            "state": state,
            "price": {"amount": amount, "currency": currency},
        }
        for key, station, day, state, amount, currency in rows
    ]


def answered(tool: Tool, arguments: JsonObject) -> JsonObject | None:
    """Rentals on two pages; free lockers; keepers."""
    match tool.name:
        case "locker_list_rentals" if arguments.get("cursor") is None:
            return {"rentals": rentals(_RENTALS[:2]), "next_cursor": "more"}
        case "locker_list_rentals":
            return {"rentals": rentals(_RENTALS[2:])}
        case "locker_search_free":
            free: Any = [
                {"locker_id": k, "size_name": s, "price": {"amount": p, "currency": "EUR"}}
                for k, s, p in _FREE
            ]
            return {"lockers": free}
        case "locker_list_keepers":
            found: Any = [{"keeper_id": n, "keeper_name": n, "station": s} for n, s in _KEEPERS]
            return {"keepers": found}
    return None


@pytest.fixture(scope="module")
def lockers() -> Catalog:
    parsed: dict[str, Any] = yaml.safe_load(_LOCKERS)
    return Catalog.from_documents({"lockers": parsed})


@pytest.fixture
def station(lockers: Catalog, new_mission: Callable[..., Any]) -> Any:
    """Missions over lockers."""
    mission = new_mission(lockers, Router(lockers))
    mission.provider.script = answered
    return mission


def done(run: Any, tool: str, name: str) -> list[object]:
    """What a tool was called for, over all legs."""
    calls = [c for leg in run.plan.legs for c in run.calls(leg.leg_id) if c.tool == tool]
    return [call.arguments[name] for call in calls]


def ended(run: Any) -> object:
    return run.last(run.plan.legs[-1].leg_id)


@pytest.mark.parametrize(
    ("goal", "cancelled"),
    [
        ("Cancel all my locker rentals in March", ["r1", "r2"]),
        ("Cancel my rentals in Porto", ["r1", "r3"]),
        ("Cancel both rentals in March", ["r1", "r2"]),
        ("Cancel the three open rentals", ["r1", "r2", "r3"]),
        ("Cancel every open rental", ["r1", "r2", "r3"]),
        ("Cancel all my rentals except the one in Faro", ["r1", "r2", "r3"]),
        ("Cancel the rentals on 2027-03-02 and 2027-04-01", ["r1", "r3"]),
        ("Cancel the two oldest rentals", ["r4", "r1"]),
        ("Cancel the latest rental but one", ["r2"]),
        ("Cancel my rental in Lisbon", ["r2"]),
        ("List my rentals in March and cancel them all", ["r1", "r2"]),
        ("Find my rentals in Porto and cancel both", ["r1", "r3"]),
        ("Find my rental in Faro and cancel it", ["r4"]),
        ("Which of my rentals is next? Cancel it", ["r4"]),
        ("Find the oldest rental and cancel it", ["r4"]),
        ("Cancel rentals r1, r2", ["r1", "r2"]),
        ("Cancel rental r1 and rental r3", ["r1", "r3"]),
        ("Cancel the rental in Lisbon and the one in Faro", ["r2", "r4"]),
        ("Cancel the first two rentals", ["r1", "r2"]),
        ("Cancel my rentals before 2027-03-05", ["r1", "r4"]),
        ("Cancel my rentals next month", ["r4"]),
    ],
)
async def test_what_is_said_of_several_is_done_to_each(
    goal: str, cancelled: list[str], station: Any
) -> None:
    """Of all pages, to those that bear what is said, and to each once."""
    run = await station.run(goal)

    assert done(run, "locker_end_rental", "rental_id") == cancelled
    assert isinstance(ended(run), Finish)


@pytest.mark.parametrize(
    ("goal", "why", "listed"),
    [
        ("Cancel both my rentals", "2 are asked for, and 4 were found", 4),
        ("Cancel the three rentals in Porto", "3 are asked for, and 2 were found", 2),
        ("Cancel two rentals", "2 are asked for, and 4 were found", 4),
        ("Cancel all my old rentals", "'old'", 4),
        ("Cancel my rentals in Rome", "'Rome'", 4),
        ("Cancel all rentals under 25 USD", "priced in EUR", 3),
        ("Cancel the cheapest rental", "EUR and USD", 4),
        ("Cancel my rental in Porto", "2 that were found fit", 2),
        ("Cancel a few rentals", "how many of them are meant is not said", 4),
        ("Cancel all but one of my rentals", "how many of them are meant is not said", 4),
    ],
)
async def test_what_is_not_told_apart_is_asked(
    goal: str, why: str, listed: int, station: Any
) -> None:
    """Nothing is begun; the choices are readable, and bear no id."""
    run = await station.run(goal)

    question = ended(run)
    assert isinstance(question, AskUser)
    assert why.casefold() in question.question.casefold()
    assert "r1" not in question.question
    assert done(run, "locker_end_rental", "rental_id") == []
    (field,) = question.fields.values()
    options: Any = field.get("oneOf") or field["items"]["oneOf"]  # type: ignore[index,call-overload]
    assert len(options) == listed
    assert {option["title"].split(", ")[0] for option in options} <= {"Porto", "Lisbon", "Faro"}


async def test_what_was_chosen_is_done(station: Any) -> None:
    """An answer names as many as it likes."""
    station.answers = {"rental_ids": ["r1", "r4"]}

    run = await station.run("Cancel both my rentals")

    assert done(run, "locker_end_rental", "rental_id") == ["r1", "r4"]
    assert isinstance(ended(run), Finish)


@pytest.mark.parametrize(
    ("goal", "rented"),
    [
        ("Rent two lockers in Porto on 2026-12-05", ["L2", "L3"]),
        ("Rent three lockers in Porto on 2026-12-05", ["L2", "L3", "L2"]),
        ("Rent the two cheapest lockers in Porto on 2026-12-05", ["L2", "L3"]),
        ("Rent the second cheapest locker in Porto on 2026-12-05", ["L3"]),
        ("Rent a locker in Porto on 2026-12-05 and one in Lisbon", ["L2", "L2"]),
        ("Rent lockers in Porto and in Lisbon on 2026-12-05", ["L2", "L2"]),
    ],
)
async def test_of_offers_as_many_are_taken_as_are_counted(
    goal: str, rented: list[str], station: Any
) -> None:
    """What is like the first, and when there is no more of it, the same once more."""
    run = await station.run(goal)

    assert done(run, "locker_rent", "locker_id") == rented


async def test_an_offer_that_is_taken_gives_way_to_the_next(station: Any) -> None:
    """A refusal of the second of two locker ends nothing: another one does as well."""

    def refused(tool: Tool, arguments: JsonObject, step: int) -> Observation | None:
        if tool.name != "locker_rent" or arguments["locker_id"] != "L3":
            return None
        return Observation(
            step=step,
            tool=tool.name,
            arguments=arguments,
            outcome="rejected",
            side_effect=True,
            error="taken",
        )

    station.outcomes = refused

    run = await station.run("Rent two lockers in Porto on 2026-12-05")

    assert done(run, "locker_rent", "locker_id") == ["L2", "L3", "L2"]
    assert isinstance(ended(run), Finish)


async def test_a_failure_among_several_ends_the_leg(station: Any) -> None:
    """Two of three are not the whole: what was done is rolled back with the leg."""

    def refused(tool: Tool, arguments: JsonObject, step: int) -> Observation | None:
        if arguments.get("rental_id") != "r2":
            return None
        return Observation(
            step=step,
            tool=tool.name,
            arguments=arguments,
            outcome="rejected",
            side_effect=True,
            error="too late",
        )

    station.outcomes = refused

    run = await station.run("Cancel all open rentals")

    end = ended(run)
    assert isinstance(end, GiveUp)
    assert end.reason == "done for 1 of all: too late"


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ("Send a notice to each keeper that the lockers are cleaned", ["Ana", "Bo", "Cy"]),
        ("Send a notice to the keepers in Porto saying hello there", ["Ana", "Cy"]),
        ("List the keepers and send each of them a notice saying hello", ["Ana", "Bo", "Cy"]),
        ("Send a notice to both Ana and Bo saying hello there", ["Ana", "Bo"]),
        ("Send a notice to Ana and Cy, and the same to Bo, saying hello", ["Ana", "Cy", "Bo"]),
        ("Send three notices to Ana saying hello there", ["Ana"] * 3),
        ("Send Ana two notices saying hello there", ["Ana"] * 2),
    ],
)
async def test_each_is_told_by_a_call_of_their_own(
    goal: str, told: list[str], station: Any
) -> None:
    """Three messages to one person are three; one to each of three are three."""
    run = await station.run(goal)

    assert done(run, "locker_send_notice", "keeper_id") == told


async def test_more_than_an_agent_does_is_not_begun(station: Any) -> None:
    """The bound is told before the first, and nothing is cut."""
    station.agents = [AgentProfile(name="keeper", max_items=2)]

    run = await station.run("Cancel all open rentals")

    end = ended(run)
    assert isinstance(end, GiveUp)
    assert "3 things are meant" in end.reason
    assert "at most 2" in end.reason
    assert done(run, "locker_end_rental", "rental_id") == []


@pytest.mark.parametrize("goal", ["Rent some lockers", "Rent two or three lockers"])
async def test_a_number_that_is_not_told_is_a_doubt(goal: str, station: Any) -> None:
    """Before anything is made."""
    run = await station.run(f"{goal} in Porto on 2026-12-05")

    assert ["how many is not said" in doubt.why for doubt in run.plan.doubts] == [True]


async def test_a_search_that_does_not_end_is_not_taken_for_all(station: Any) -> None:
    """It says that there is more, and nothing was done."""
    station.provider.script = lambda tool, arguments: (
        {"rentals": rentals(_RENTALS[:2]), "next_cursor": "more"}
        if tool.name == "locker_list_rentals"
        else None
    )

    run = await station.run("Cancel all my rentals")

    end = ended(run)
    assert isinstance(end, GiveUp)
    assert "there are more" in end.reason
    assert done(run, "locker_end_rental", "rental_id") == []
