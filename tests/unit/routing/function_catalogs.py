"""Two catalogs of plain function tools, as proxies are given them: an assistant's and a farm's.

Written in the styles that are found side by side in practice: camelCase, snake_case, dotted names,
MCP servers with their prefixes and annotations, and functions with hardly a description.
"""

from collections.abc import Sequence
from typing import Any, Final

Function = dict[str, Any]


def function(name: str, description: str, inputs: str = "", **more: Any) -> Function:
    """An OpenAI-style function; `inputs` are names of texts, required unless they end in `?`."""
    names = inputs.split()
    schema = {
        "type": "object",
        "properties": {n.rstrip("?"): {"type": "string"} for n in names},
        "required": [n for n in names if not n.endswith("?")],
    }
    told = {"name": name, "description": description, "parameters": schema, **more}
    return {"type": "function", "function": told}


def mcp(name: str, description: str, inputs: str = "", **hints: bool) -> Function:
    """A tool as an MCP server lists it."""
    told = function(name, description, inputs)["function"]
    found = {"name": name, "description": description, "inputSchema": told["parameters"]}
    return {**found, "annotations": hints} if hints else found


ASSISTANT: Final[Sequence[Function]] = (
    function(
        "open_meteo_weather",
        "Get real weather forecast for a city.",
        "city",
        **{"x-orqen-examples": ["weather in London", "forecast for Sittingbourne Kent"]},
    ),
    function("air_quality_index", "Returns the current air quality for a location.", "location"),
    function("get_time_zone", "Look up the time zone of a city.", "city"),
    function("list_files", "List the files in a directory.", "path?"),
    function("read_file", "Read the contents of a file.", "path"),
    function("write_file", "Write text to a file, replacing what it held.", "path content"),
    function("delete_file", "Delete a file.", "path"),
    function("move_file", "Move or rename a file.", "source destination"),
    function("search_files", "Find files whose names match a pattern.", "pattern path?"),
    function("make_directory", "Create a directory.", "path"),
    function("run_shell_command", "Execute a command in a shell and return its output.", "command"),
    function("execute_python", "Run Python code in a sandbox.", "code"),
    function("send_email", "Send an email to one or more people.", "to subject body"),
    function("search_inbox", "Search the user's mailbox for messages.", "query"),
    function("read_email", "Read one email by its id.", "email_id"),
    function("reply_to_email", "Reply to an email.", "email_id body"),
    function("createCalendarEvent", "Put an event into the calendar.", "title start end"),
    function("listCalendarEvents", "Show the events between two dates.", "start end"),
    function("deleteCalendarEvent", "Remove an event from the calendar.", "event_id"),
    function("findFreeSlots", "Find times at which everybody is free.", "attendees day"),
    function("contacts.search", "Find a person in the address book.", "name"),
    function("contacts.add", "Add a person to the address book.", "name phone"),
    function("contacts.remove", "Remove a person from the address book.", "contact_id"),
    function("reminders.create", "Remind the user of something at a time.", "text at"),
    function("reminders.list", "List open reminders."),
    function("todo_add", "Adds an item to the to-do list.", "item"),
    function("todo_complete", "Marks an item of the to-do list as done.", "item"),
    mcp("mcp__slack__post_message", "Post a message to a channel.", "channel text"),
    mcp("mcp__slack__list_channels", "List the channels.", readOnlyHint=True),
    mcp("mcp__slack__get_thread", "Get the replies of a thread.", "channel ts", readOnlyHint=True),
    mcp("github__create_issue", "Open a new issue in a repository.", "repo title"),
    mcp("github__list_issues", "List the issues of a repository.", "repo", readOnlyHint=True),
    mcp("github__merge_pull_request", "Merge a pull request.", "repo number", destructiveHint=True),
    mcp("github__search_code", "Search source code.", "query", readOnlyHint=True),
    function("deploy_service", "Deploy a service to an environment.", "service environment"),
    function("restart_service", "Restart a running service.", "service"),
    function("service_status", "Get the health of a service.", "service"),
    function("trigger_pipeline", "Trigger a CI pipeline for a branch.", "branch"),
    function("query_database", "Run a read-only SQL query and return the rows.", "sql"),
    function("get_stock_price", "Get the latest price of a stock.", "ticker"),
    function("convert_currency", "Convert an amount between currencies.", "amount from to"),
    function("web_search", "Search the web.", "query"),
    function("fetch_url", "Fetch a web page as text.", "url"),
    function("translate_text", "Translate text into another language.", "text language"),
    function("summarize_text", "Summarise a long text.", "text"),
    function("calculator", "Evaluates an arithmetic expression.", "expression"),
    function("bookFlight", "Book a flight.", "flight_id passenger"),
    function("searchFlights", "Search flights between two airports.", "origin destination date"),
    function("transfer_money", "Send money to another account.", "iban amount"),
    function("account_balance", "Returns the balance of an account.", "account"),
    function("play_music", "Play a song or an artist.", "query"),
)
"""51 of everyday."""

FARM: Final[Sequence[Function]] = (
    mcp("irrigation_start", "Opens the valves of a field.", "field minutes"),
    mcp("call_vet", "Sends the vet a request to come.", "animal_id reason"),
    mcp("herd.sellAnimal", "Records that an animal was sold.", "animal_id buyer"),
)
"""Three of another trade."""
