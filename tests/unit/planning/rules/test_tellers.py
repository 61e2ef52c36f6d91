"""Of tools that only read, the one that tells what is asked comes first."""

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import Action, IntentFrame
from orchestrator.language.slots import find_slots
from orchestrator.planning.rules.tellers import best_tellers, unknown_words

DATE: JsonObject = {"type": "string", "format": "date"}


def tide(name: str, summary: str, takes: JsonObject, tells: JsonObject) -> Tool:
    return Tool(
        name=name,
        document="tides",
        domain="tides",
        summary=summary,
        input_schema={"type": "object", "properties": takes},
        output_schema={"type": "object", "properties": tells},
    )


NOW_TOOL = tide("get_tide", "Show the tide.", {"port": {}}, {"height": {}, "measured_at": DATE})
LATER = tide("get_tides", "Show the tide of a day.", {"port": {}, "day": DATE}, {"height": {}})
WARDEN = tide("get_warden", "Show the tide warden.", {"port": {}}, {"warden_name": {}})


def frame(text: str, *objects: str) -> IntentFrame:
    slots = tuple(find_slots(text, now=None))
    return IntentFrame(action=Action.READ, objects=objects, slots=slots, clauses=(text,))


def test_what_takes_the_day_comes_before_what_tells_of_now() -> None:
    """A day among what one answer says of itself is that of its measuring."""
    ranked = best_tellers([NOW_TOOL, LATER], frame("the tide on 2026-12-03", "tide"))

    assert [tool.name for tool in ranked] == ["get_tides", "get_tide"]


def test_what_speaks_of_the_thing_comes_first() -> None:
    """As long as it tells all that the other does."""
    asked = frame("show the warden of the tide", "warden")

    assert best_tellers([NOW_TOOL, WARDEN], asked)[0] is WARDEN
    assert best_tellers([LATER, WARDEN], frame("the warden on 2026-12-03", "warden"))[0] is LATER


def test_comparatives_are_known_by_what_they_compare() -> None:
    """What is said to be high tells what is higher."""
    high = tide("get_high", "Show how high the tide is.", {}, {})

    assert unknown_words(["higher", "salty"], [high]) == ["salty"]
