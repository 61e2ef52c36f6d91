"""What takes up a thing that is said."""

from datetime import UTC, datetime

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.planning.accounting.grounds import (
    explained,
    held_by,
    of_call,
    of_tools,
    unexplained,
)
from orchestrator.planning.accounting.said import things_said

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
TABLE = "Reserve a table for four with a terrace in Lisbon on 2026-12-04 at 20:00"


def test_before_a_call_inputs_and_words_of_tools_take_things_up(shipped: Catalog) -> None:
    """What neither an input takes nor a word speaks of is left."""
    tools = of_tools(map(shipped.tool, ("dining_search_tables", "dining_reserve_table")))
    used = {said.text: explained(said, tools) for said in things_said(TABLE, now=NOW)}

    assert used["four"] == "party_size of dining_search_tables"
    assert used["Lisbon"] == "city of dining_search_tables"
    assert used["20:00"] == "time of dining_search_tables"
    assert used["table"].startswith("the words of")
    assert used["terrace"] == ""


def test_at_a_call_its_values_and_what_was_found_take_things_up(shipped: Catalog) -> None:
    """An input that could have taken a place has not taken this one."""
    item: JsonObject = {
        "table_slot_id": "tbl_1",
        "city": "Porto",
        "party_size": 4,
        "date": "2026-12-04",
    }
    call = of_call(shipped.tool("dining_reserve_table"), {"table_slot_id": "tbl_1"}, [item])
    held = {said.text: held_by(said, call) for said in things_said(TABLE, now=NOW)}

    assert held["four"] == "party_size of what was found"
    assert held["2026-12-04"] == "date of what was found"
    assert held["Lisbon"] == ""


def test_words_that_nothing_speaks_of_are_told(shipped: Catalog) -> None:
    """Each by its stem."""
    tools = of_tools([shipped.tool("dining_reserve_table")])
    (quality,) = (
        s for s in things_said("Reserve a table, gluten free", now=NOW) if "gluten" in s.text
    )

    assert "gluten" in unexplained(quality, tools)
