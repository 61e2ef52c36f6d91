"""Words that only insiders know, as opposed to common words and explained ones."""

from typing import Any

import pytest

from orchestrator.catalog.lint.prose import Prose, jargon_in

TRAVEL: dict[str, Any] = {
    "info": {"title": "Flights of SkyHopper, an OTA"},
    "tags": [{"name": "MCO", "description": "What else is charged."}],
    "paths": {
        "/fares": {
            "get": {
                "operationId": "listFares",
                "parameters": [{"name": "fareBasis", "in": "query"}],
                "description": "Fares of the Airline Tariff Publishing Company.",
            }
        }
    },
    "components": {
        "schemas": {
            "OrderCreateRQ": {"properties": {"cabin_class": {"enum": ["PREMIUM_ECO"]}}},
            "FareFamily": {"description": "Set by the Passenger Services System (PSS)."},
            "Tax": {"description": "BSP: billing and settlement plan of the airlines."},
            "Stay": {"description": 'The minimum stay time (MST) of a "no show" (NS).'},
        }
    },
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sends an OrderCreateRQ to the GDS.", ["OrderCreateRQ", "GDS"]),
        ("Finds the PNRs of a traveler.", ["PNR"]),
        ("Lists the FareFamily of a cabin.", ["FareFamily"]),
        ("Sets maxStops and the tour_code.", ["maxStops", "tour_code"]),
        ("Finds a booking, and a booking of a booking.", []),
        ("GDS or GDS.", ["GDS"]),
        ("Exports it as PDF or JSON by HTTP.", []),
        ("What it costs in EUR and CHF.", []),
        ("Adds it to iCal or to PayPal.", []),
        ("NOTE: a SkyHopper number is wanted. DEPRECATED.", []),
        ("Wanted as `maxStops` or <code>tour_code</code>, see https://x.example/GDS.", []),
        ("Give fareBasis, cabin_class or PREMIUM_ECO.", []),
        ("What an OTA charges as MCO.", []),
        ("Asks ATPC, PSS and BSP.", []),
        ("The MST of the NS.", []),
        ("At most 500 KB or 20 MB.", []),
    ],
)
def test_what_only_insiders_know_is_found(text: str, words: list[str]) -> None:
    """Abbreviations that nothing spells out, and names made for programs; each once."""
    assert [found.word for found in jargon_in(text, Prose(TRAVEL))] == words


@pytest.mark.parametrize(
    "root", [{}, {"info": [], "tags": {}, "components": 7}, {"tags": [None, {"name": 3}]}]
)
def test_a_document_of_any_shape_can_be_read(root: dict[str, Any]) -> None:
    """Malformed parts have no words."""
    assert [found.word for found in jargon_in("Finds the PNR.", Prose(root))] == ["PNR"]


@pytest.mark.parametrize(
    "piece", ["<", "`", "``a", "{", '"', "Aa", "a@", "1.", "](", "<code>", "(A", "ABC (", "Aa of "]
)
def test_what_begins_often_and_never_ends_takes_no_square_of_time(piece: str) -> None:
    """A text of a document may be as long as a document."""
    text = f"Finds the PNR. {piece * 50_000}"

    found = [jargon.word for jargon in jargon_in(text, Prose({"info": {"description": text}}))]

    assert found[0] == "PNR"
