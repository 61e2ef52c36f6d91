"""What the sandbox answers for every reading tool of the bundled documents, as it is told."""

import re
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.telling import Telling, tell
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.sandbox import EffectLedger, create_app, load_documents
from orchestrator.settings import bundled_specs
from orchestrator.testing import make_arguments

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
Answers = dict[str, tuple[JsonObject, JsonValue]]

SAID = {
    "calendar_find_free_slots": (
        "when am I free on 2026-12-04",
        "3 free slots on 4 December: 09:00-10:00, 10:30-11:30, 14:30-15:30.",
    ),
    "calendar_list_events": ("what is in my calendar", "No events were found."),
    "car_search_offers": (
        "find cars in Lisbon from 2026-12-03 to 2026-12-06",
        "rental cars in Lisbon from 3 to 6 December: ",
    ),
    "dining_search_tables": (
        "find an Italian restaurant in Lisbon on 2026-12-04",
        "tables in Lisbon on 4 December, none of them 'Italian': ",
    ),
    "expense_check_policy": ("is it within the policy", "Expenses: allowed."),
    "file_find_files": ("find the files about the budget", "4 files about 'budget': budget-1.pdf"),
    "flight_get_fare_rules": ("what are the rules", "cabin bags 2, checked bags 4. Free "),
    "flight_get_status": ("what gate does AT482 leave from", ": gate B12, flight state scheduled"),
    "flight_search_offers": (
        "what is the cheapest flight from Berlin to Lisbon on 2026-12-03",
        "The cheapest of 5 flights from Berlin to Lisbon on 3 December: ",
    ),
    "payment_list_invoices": ("which invoices are open", "5 invoices, "),
    "weather_get_air_quality": ("how is the air", "Air quality in Oslo: air quality index "),
    "weather_get_current": ("how cold is it in Oslo", "°C, feels like "),
    "weather_get_forecast": (
        "what will the weather be in Oslo",
        "Weather forecast in Oslo on 23 November: ",
    ),
    "weather_list_alerts": (
        "are there storm warnings for Oslo",
        "Yes, 1 weather warning in Oslo: ",
    ),
}


def request_of(tool: Tool, arguments: JsonObject) -> httpx.Request:
    """The request of a call, as the sandbox takes it."""
    path, query = tool.path, {}
    body: JsonObject = {}
    for bound in tool.bindings:
        if bound.name in arguments and bound.location == "path":
            path = path.replace(f"{{{bound.field}}}", str(arguments[bound.name]))
        elif bound.name in arguments and bound.location == "query":
            query[bound.field] = str(arguments[bound.name])
        elif bound.name in arguments and bound.location == "body":
            body[bound.field] = arguments[bound.name]
    root = re.sub(r"^https?://[^/]+", "http://sandbox", tool.server)
    json = body if tool.body_content_type else None
    headers = {"Authorization": "Bearer any", "X-API-Key": "any"}
    return httpx.Request(tool.method, root + path, params=query, json=json, headers=headers)


@pytest.fixture(scope="module")
async def answers() -> Answers:
    """By tool: the arguments that it was called with, and what was answered."""
    catalog = Catalog.load(bundled_specs())
    documents = load_documents([bundled_specs()])
    found: Answers = {}
    with EffectLedger() as ledger:
        app = create_app(documents, ledger=ledger, clock=lambda: NOW, is_stocked=True)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app)) as http:
            for tool in catalog.tools.values():
                if tool.effect is Effect.READ and not tool.reference_inputs:
                    arguments = make_arguments(catalog, tool, seed="a")
                    answer = await http.send(request_of(tool, arguments))
                    if answer.status_code == 200:
                        found[tool.name] = arguments, answer.json()
    return found


def told(shipped: Catalog, name: str, answers: Answers, goal: str) -> Telling:
    arguments, body = answers[name]
    return tell(shipped.tool(name), arguments, body, read_utterance(goal, now=NOW))


def test_every_answer_is_told_in_words(shipped: Catalog, answers: Answers) -> None:
    """No ids, no names of fields, no days in digits, and a table only of several things."""
    assert len(answers) > 40
    for name in answers:
        goal = next(iter(shipped.tool(name).examples), "show it")
        answer = told(shipped, name, answers, goal)
        assert answer.sentence.endswith("."), name
        assert len(answer.sentence) < 400, name
        assert re.search(r"[a-z]_[a-z]|\d{4}-\d{2}-\d{2}|\bid\b|\[|\{", answer.sentence) is None
        if answer.table is not None:
            assert 2 <= len(answer.table.rows) <= 10, name
            assert all(len(row) == len(answer.table.columns) for row in answer.table.rows), name


@pytest.mark.parametrize("name", SAID)
def test_answers_say_what_was_asked(name: str, shipped: Catalog, answers: Answers) -> None:
    """The part of the sentence that answers the question."""
    goal, part = SAID[name]

    assert part in told(shipped, name, answers, goal).sentence
