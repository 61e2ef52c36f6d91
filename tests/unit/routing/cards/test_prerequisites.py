"""Which tools feed another."""

from collections.abc import Callable

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.routing.cards.capability_card import make_card
from orchestrator.routing.cards.prerequisites import MAX_PRODUCERS, Producers
from orchestrator.routing.clause_reading import read_slots

ID = {"type": "string"}


def producers(*tools: Tool) -> Producers:
    """An index over these tools."""
    return Producers([make_card(tool) for tool in tools])


def test_the_search_that_feeds_a_booking_comes_along(make_tool: Callable[..., Tool]) -> None:
    """An id that only an answer holds brings its producer, found inside arrays too."""
    found = {"offers": {"type": "array", "items": {"properties": {"offer_id": ID}}}}
    search = make_tool("shop_search", outputs=found)
    book = make_tool(
        "shop_book", inputs={"offer_id": ID}, required=("offer_id",), effect=Effect.OBLIGATION
    )

    assert producers(search, book).prerequisites(["shop_book"]) == ("shop_search",)
    assert producers(search, book).prerequisites(["shop_book", "shop_search"]) == ()


def test_what_is_at_hand_needs_nobody(make_tool: Callable[..., Tool]) -> None:
    """Known values and ids in the request are not fetched again."""
    search = make_tool("shop_search", outputs={"offer_id": ID})
    book = make_tool("shop_book", inputs={"offer_id": ID}, required=("offer_id",))
    index = producers(search, book)

    assert index.prerequisites(["shop_book"], known=("offer_id",)) == ()
    assert index.prerequisites(["shop_book"], slots=read_slots("offer OF-12", now=None)) == ()


def test_producers_of_producers_come_too(make_tool: Callable[..., Tool]) -> None:
    """Three steps back, no further, and circles end."""
    chain = [make_tool("step0", outputs={"a0_id": ID})]
    chain += [
        make_tool(
            f"step{i}",
            inputs={f"a{i - 1}_id": ID},
            required=(f"a{i - 1}_id",),
            outputs={f"a{i}_id": ID},
        )
        for i in range(1, 6)
    ]

    assert producers(*chain).prerequisites(["step5"]) == ("step4", "step3", "step2")


def test_reading_tools_of_the_same_document_are_preferred(
    make_tool: Callable[..., Tool],
) -> None:
    """A write that answers with the id, or a stranger, is the last resort; changes are none."""
    book = make_tool("shop_book", inputs={"offer_id": ID}, required=("offer_id",))
    own = make_tool("shop_find", outputs={"offer_id": ID})
    stranger = make_tool("a_find", outputs={"offer_id": ID}, document="other")
    change = make_tool("a_order", outputs={"offer_id": ID}, effect=Effect.OBLIGATION)

    assert producers(book, own, stranger, change).prerequisites(["shop_book"]) == ("shop_find",)
    assert producers(book, stranger, change).prerequisites(["shop_book"]) == ("a_find",)
    assert producers(book, change).prerequisites(["shop_book"]) == ()


def test_cities_and_dates_are_never_fetched(make_tool: Callable[..., Tool]) -> None:
    """What people say comes from people."""
    echo = make_tool("list_bookings", outputs={"city": ID, "date": ID})
    search = make_tool("search", inputs={"city": ID, "date": ID}, required=("city", "date"))

    assert producers(echo, search).prerequisites(["search"]) == ()


def test_undeclared_answers_are_guessed_from_names() -> None:
    """A function named for nothing but a search of the noun produces its id."""
    movie = {"type": "object", "properties": {"movie_id": ID}, "required": ["movie_id"]}
    catalog = Catalog.from_functions(
        [
            {"name": "search_movie", "parameters": None},
            {"name": "search_movie_reviews", "parameters": None},
            {"name": "delete_movie", "parameters": None},
            {"name": "get_movie_credits", "parameters": movie},
        ]
    )

    index = producers(*catalog.tools.values())

    assert index.prerequisites(["get_movie_credits"]) == ("search_movie",)


def test_there_are_at_most_so_many(make_tool: Callable[..., Tool]) -> None:
    """A tool that lacks everything does not bring the whole catalog."""
    names = [f"n{i}_id" for i in range(9)]
    greedy = make_tool("greedy", inputs=dict.fromkeys(names, ID), required=tuple(names))
    sources = [make_tool(f"find_{n}", outputs={n: ID}) for n in names]

    assert len(producers(greedy, *sources).prerequisites(["greedy"])) == MAX_PRODUCERS


def test_what_lists_the_things_tells_one_before_what_only_names_them(
    make_tool: Callable[..., Tool],
) -> None:
    """The list of machines, and not that of who has which, whatever the tools are called."""
    having = make_tool("getMachineReservations", outputs={"machine_id": ID})
    machines = make_tool("getMachines", outputs={"machine_id": ID})
    reserve = make_tool("reserve", inputs={"machine_id": ID}, required=("machine_id",))

    assert producers(having, machines, reserve).prerequisites(["reserve"]) == ("getMachines",)


def test_codes_that_are_listed_are_fed_unless_one_was_said(make_tool: Callable[..., Tool]) -> None:
    """A number that people know, where a tool of the same document tells of it."""
    bills = make_tool("list_bills", outputs={"bill_number": ID})
    pay = make_tool("pay", inputs={"bill_number": ID}, required=("bill_number",))
    index = producers(bills, pay)

    assert index.prerequisites(["pay"]) == ("list_bills",)
    assert index.prerequisites(["pay"], slots=read_slots("bill B-2201", now=None)) == ()


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
