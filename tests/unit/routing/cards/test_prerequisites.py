"""Which tools feed another."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.prerequisites import MAX_PRODUCERS, Producers
from orchestrator.routing.clause_reading import read_slots

ID = {"type": "string"}
Make = Callable[..., Tool]


def producers(*tools: Tool) -> Producers:
    """An index over these tools."""
    return Producers([make_card(tool) for tool in tools])


def gives(make_tool: Make, name: str, *outputs: str, **more: Any) -> Tool:
    return make_tool(name, outputs=dict.fromkeys(outputs, ID), **more)


def takes(make_tool: Make, name: str, *inputs: str, **more: Any) -> Tool:
    return make_tool(name, inputs=dict.fromkeys(inputs, ID), required=inputs, **more)


def test_the_search_that_feeds_a_booking_comes_along(make_tool: Make) -> None:
    """Found inside arrays too; known values and ids in the request are not fetched again."""
    found = {"offers": {"type": "array", "items": {"properties": {"offer_id": ID}}}}
    search = make_tool("shop_search", outputs=found)
    index = producers(search, takes(make_tool, "shop_book", "offer_id", effect=Effect.OBLIGATION))

    assert index.prerequisites(["shop_book"]) == ("shop_search",)
    assert index.prerequisites(["shop_book", "shop_search"]) == ()
    assert index.prerequisites(["shop_book"], known=("offer_id",)) == ()
    assert index.prerequisites(["shop_book"], slots=read_slots("offer OF-12", now=None)) == ()


def test_producers_of_producers_come_too(make_tool: Make) -> None:
    """Three steps back, no further, and circles end."""
    chain = [gives(make_tool, "step0", "a0_id")]
    for i in range(1, 6):
        outputs = {f"a{i}_id": ID}
        chain.append(takes(make_tool, f"step{i}", f"a{i - 1}_id", outputs=outputs))

    assert producers(*chain).prerequisites(["step5"]) == ("step4", "step3", "step2")


def test_reading_tools_of_the_same_document_are_preferred(make_tool: Make) -> None:
    """A write that answers with the id, or a stranger, is the last resort; changes are none."""
    book = takes(make_tool, "shop_book", "offer_id")
    own = gives(make_tool, "shop_find", "offer_id")
    stranger = gives(make_tool, "a_find", "offer_id", document="other")
    change = gives(make_tool, "a_order", "offer_id", effect=Effect.OBLIGATION)

    assert producers(book, own, stranger, change).prerequisites(["shop_book"]) == ("shop_find",)
    assert producers(book, stranger, change).prerequisites(["shop_book"]) == ("a_find",)
    assert producers(book, change).prerequisites(["shop_book"]) == ()


def test_cities_and_dates_are_never_fetched(make_tool: Make) -> None:
    """What people say comes from people; a code does, unless a tool tells of it."""
    echo = gives(make_tool, "list_bookings", "city", "date")
    search = takes(make_tool, "search", "city", "date")
    pay = takes(make_tool, "pay", "bill_number")
    bills = producers(gives(make_tool, "list_bills", "bill_number"), pay)

    assert producers(echo, search).prerequisites(["search"]) == ()
    assert bills.prerequisites(["pay"]) == ("list_bills",)
    assert bills.prerequisites(["pay"], slots=read_slots("bill B-2201", now=None)) == ()


def test_undeclared_answers_are_guessed_from_names() -> None:
    """A function named for nothing but a search of the noun produces its id."""
    plain = [{"name": n} for n in ("search_movie", "search_movie_reviews", "delete_movie")]
    credit = {"name": "get_movie_credits", "parameters": _taking("movie_id")}
    index = producers(*Catalog.from_functions([*plain, credit]).tools.values())

    assert index.prerequisites(["get_movie_credits"]) == ("search_movie",)


def test_there_are_at_most_so_many(make_tool: Make) -> None:
    """A tool that lacks everything does not bring the whole catalog."""
    names = [f"n{i}_id" for i in range(9)]
    sources = [gives(make_tool, f"find_{n}", n) for n in names]
    index = producers(takes(make_tool, "greedy", *names), *sources)

    assert len(index.prerequisites(["greedy"])) == MAX_PRODUCERS


def test_what_lists_the_things_tells_one_before_what_only_names_them(make_tool: Make) -> None:
    """The list of machines, and not that of who has which, whatever the tools are called."""
    having = gives(make_tool, "getMachineReservations", "machine_id")
    machines = gives(make_tool, "getMachines", "machine_id")
    index = producers(having, machines, takes(make_tool, "reserve", "machine_id"))

    assert index.prerequisites(["reserve"]) == ("getMachines",)


@pytest.mark.parametrize(
    ("taker", "finder", "others"),
    [
        (("share_file", "file_id"), ("drive_search_files", "Search."), ["mail_search"]),
        (("close", "ticketId"), ("desk_search", "Search tickets."), ["search_pages", "get_user"]),
        (("gmail_reply", "thread_id"), ("gmail_search", "Search the mailbox."), ["web_search"]),
    ],
)
def test_a_plain_function_that_takes_an_id_brings_its_finder(
    taker: tuple[str, str], finder: tuple[str, str], others: list[str]
) -> None:
    """By the noun in the finder's name or description, or the family of their names."""
    functions: list[dict[str, object]] = [
        {"name": name, "description": text, "parameters": _taking(*inputs)}
        for name, text, inputs in [
            (taker[0], "Does it.", (taker[1],)),
            (*finder, ("query",)),
            *((other, "Does something else.", ("query",)) for other in others),
        ]
    ]
    index = producers(*Catalog.from_functions(functions).tools.values())

    assert index.prerequisites([taker[0]]) == (finder[0],)


def test_the_likeliest_search_comes_along_if_no_words_say_what_finds_an_id() -> None:
    """By its score for the request; without one, nothing is guessed."""
    functions = [
        {"name": "reply_to_email", "parameters": _taking("email_id")},
        {"name": "search_inbox", "parameters": _taking("query")},
        {"name": "web_search", "parameters": _taking("query")},
    ]
    index = producers(*Catalog.from_functions(functions).tools.values())
    scores = {"search_inbox": 2.0, "web_search": 1.0}

    assert index.prerequisites(["reply_to_email"], scores=scores) == ("search_inbox",)
    assert index.prerequisites(["reply_to_email"]) == ()


def _taking(*names: str) -> dict[str, object]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": [*names]}
