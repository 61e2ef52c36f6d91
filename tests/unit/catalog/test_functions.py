"""Which plain functions only read: by hints, names and descriptions, the strictest first."""

import timeit
import warnings
from typing import Any

import pytest

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import FunctionWarning


def compiled(name: str, description: str = "", **more: Any) -> Tool:
    """The tool of one function; a hint that is not believed is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FunctionWarning)
        return Catalog.from_functions([{"name": name, "description": description, **more}]).tool(
            name
        )


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_user", ""),
        ("getUserOrders", ""),
        ("list_files", "List the files in a directory."),
        ("get_update_history", ""),
        ("search_flights", "Search for flights to book."),
        ("order_status", "Gets the status of an order."),
        ("account_balance", "Returns the balance of an account."),
        ("open_meteo_weather", "Get real weather forecast for a city."),
        ("convert_time", "Convert a time between zones."),
        ("users.list", ""),
        ("API-post-search", "Notion | Search by title"),
        ("directions", "This tool lets you find the way."),
        ("find_person", "Looks up a person by name and returns the phone number."),
    ],
)
def test_what_says_that_it_reads_asks_nobody(name: str, description: str) -> None:
    """No card; a change that is only spoken of is none."""
    tool = compiled(name, description)

    assert (tool.effect, tool.card_type) == (Effect.READ, None)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("send_email", "Send an email."),
        ("delete_file", ""),
        ("user.delete", "Returns true."),
        ("delete.user", ""),
        ("get_or_create_user", "Gets a user."),
        ("find_and_replace", ""),
        ("search_rooms", "Find and book a room."),
        ("lookup", "Looks up a customer. Sends the result to the owner."),
        ("puppeteer_evaluate", "Execute JavaScript in the browser console."),
        ("mcp__slack__post_message", "Post a message to a channel."),
        ("book_flight", "Returns a booking confirmation."),
        ("place_order", "Returns the number of the order."),
        ("helper", "Allows you to delete a customer."),
        ("convert_lead", "Convert a lead to an account."),
        ("check_in_passenger", ""),
        ("run", "Run a query."),
        ("deploy", ""),
        ("xyzzy", ""),
        ("xyzzy", "Frobnicates the main valve."),
        ("payment", "Payment of an invoice."),
        ("endMatch", "End an ongoing match."),
        ("returnBook", "Return a borrowed book to the library."),
        ("initiateReturn", "Initiate a return request."),
        ("improve_skills", "Provides guidance to improve skills."),
    ],
)
def test_what_may_change_something_is_confirmed(name: str, description: str) -> None:
    """A person confirms every function that is not surely a read."""
    inputs = {"type": "object", "properties": {"lead_id": {"type": "string"}}}
    tool = compiled(name, description, parameters=inputs)

    assert (tool.effect, tool.card_type) == (Effect.WRITE, DEFAULT_CARD)


@pytest.mark.parametrize(
    ("function", "changes"),
    [
        ({"name": "xyzzy", "readOnlyHint": True}, False),
        ({"name": "xyzzy", "annotations": {"readOnlyHint": True}}, False),
        ({"name": "order_status", "annotations": {"readOnlyHint": True}}, False),
        ({"name": "query", "description": "Run SQL.", "readOnlyHint": True}, False),
        ({"name": "get_schedule", "method": "GET"}, False),
        ({"name": "get_schedule"}, True),
        ({"name": "getGeneratedReports", "method": "GET"}, False),
        ({"name": "get role ids", "method": "GET"}, False),
        ({"name": "get_user", "annotations": {"readOnlyHint": False}}, True),
        ({"name": "get_user", "annotations": {"destructiveHint": True}}, True),
        ({"name": "get_user", "annotations": {"destructiveHint": False}}, False),
        ({"name": "get_user", "idempotentHint": True, "openWorldHint": True}, False),
        ({"name": "xyzzy", "idempotentHint": True, "openWorldHint": False}, True),
        ({"name": "xyzzy", "annotations": {"readOnlyHint": "yes"}}, True),
        ({"name": "xyzzy", "annotations": None}, True),
        ({"name": "xyzzy", "readOnlyHint": True, "annotations": {"readOnlyHint": False}}, True),
    ],
)
def test_hints_are_heard_in_both_places(function: dict[str, Any], changes: bool) -> None:
    """MCP's hints count at the top and under `annotations`; two that disagree mean a change."""
    assert compiled(**{"description": "", **function}).is_side_effect is changes


@pytest.mark.parametrize("more", [{"readOnlyHint": True}, {"method": "GET"}])
@pytest.mark.parametrize("name", ["delete_file", "files.remove", "removeFile"])
def test_a_hint_against_the_name_is_not_believed_and_said(name: str, more: dict[str, Any]) -> None:
    """The stricter of the two counts."""
    with pytest.warns(FunctionWarning, match=f"{name}.*only reads.*confirmed") as told:
        tool = Catalog.from_functions([{"name": name, **more}]).tool(name)

    assert tool.needs_confirmation
    assert told[0].filename == __file__


def test_hints_that_are_not_believed_are_one_warning() -> None:
    """However many there are, in one sentence that names the first of them."""
    doubted = [{"name": f"delete_file_{n}", "readOnlyHint": True} for n in range(12)]

    with pytest.warns(FunctionWarning, match=r"delete_file_0 .* and 2 more") as told:
        Catalog.from_functions(doubted)

    assert len(told) == 1


def test_tools_of_an_mcp_server_are_read_as_it_lists_them() -> None:
    """`inputSchema` and `outputSchema`; faults are counted to the place where they stand."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    tool = compiled("find_notes", inputSchema=schema, outputSchema={"type": "object"})

    assert tool.required_inputs == ("q",)
    assert tool.output_schema == {"type": "object"}


def test_a_catalog_of_forty_is_compiled_at_once() -> None:
    """A proxy compiles what each request brings."""
    functions = [
        {"name": f"get_{noun}_{i}", "description": f"Returns the {noun} of a thing, and more."}
        for i in range(10)
        for noun in ("price", "owner", "state", "place")
    ]

    assert min(timeit.repeat(lambda: Catalog.from_functions(functions), number=1, repeat=20)) < 0.1


NAMES = {
    "github__create_issue": "github",
    "mcp__slack__post": "slack",
    "crm.find_lead": "crm",
    "linear/list_teams": "linear",
    "read_file": "file",
    "deleteFiles": "file",
    "zoom_create_meeting": "zoom",
    "zoom_delete_meeting": "zoom",
    "get_weather": "weather",
    "calculate": "calculate",
    "rollback_deploy": "deploy",
    "42": "functions",
    "GET /api/v2/keys": "api",
}


def test_a_namespace_is_a_domain_and_so_is_a_noun_that_names_share() -> None:
    """Without a noun the verb is the domain; a declared one comes first; order says nothing."""
    catalog = Catalog.from_functions([{"name": name} for name in NAMES])
    turned = Catalog.from_functions([{"name": name} for name in reversed(NAMES)])
    declared = Catalog.from_functions([{"name": "github__star", "domain": "code"}])

    assert {tool.name: tool.domain for tool in catalog.tools.values()} == NAMES
    assert turned.digest == catalog.digest
    assert declared.tool("github__star").domain == "code"
