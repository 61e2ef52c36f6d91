"""Discovery: the two tiers, their scores and their order."""

from collections.abc import Sequence

import pytest

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.core.wall import Wall
from orchestrator.routing.discovery import FALLBACK_RANGE, DiscoveryIndex
from orchestrator.routing.sparse_index import Floats

TOOLS = [
    ("messages_send", "messages", "Send a text to a person.", ["recipient", "text"]),
    ("messages_open_chat", "messages", "Open the chat with a person.", ["recipient"]),
    ("calendar_create_event", "calendar", "Put an appointment in the diary.", ["title", "date"]),
    ("calendar_delete_event", "calendar", "Remove an appointment.", ["event_id"]),
    ("notes_edit", "notes", "Change the words of a note.", ["note_id"]),
    ("system_search_files", "system", "Find documents on this machine.", ["pattern"]),
    ("dining_reserve_table", "dining", "Book a table at a restaurant.", ["party_size"]),
    ("flights_book_offer", "flights", "Buy a seat on a plane.", ["offer_id"]),
]


@pytest.fixture(scope="module")
def index() -> DiscoveryIndex:
    """Eight tools of seven domains."""
    return DiscoveryIndex(
        Catalog.from_functions(
            {
                **{"name": name, "domain": domain, "description": description},
                "parameters": {"type": "object", "properties": {p: {} for p in parameters}},
            }
            for name, domain, description, parameters in TOOLS
        )
    )


@pytest.mark.parametrize("query", ["notes_edit", "Notes Edit", "notes.edit", "notesEdit"])
def test_an_exact_name_scores_one(index: DiscoveryIndex, query: str) -> None:
    """However the words of the name are joined."""
    (match,) = index.search(query)

    assert (match.name, match.score, match.tier) == ("notes_edit", 1.0, "deterministic")


@pytest.mark.parametrize("query", ["open_chat", "search files", "please call messages_open_chat"])
def test_a_substring_scores_just_below(index: DiscoveryIndex, query: str) -> None:
    """Of the name in the query as well as of the query in the name."""
    assert index.search(query)[0].score == 0.97


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("send a message", "messages_send"),
        ("delete calendar event", "calendar_delete_event"),
        ("create an event", "calendar_create_event"),
        ("please edit notes for me", "notes_edit"),
    ],
)
def test_words_in_common_match_in_any_order_and_form(
    index: DiscoveryIndex, query: str, name: str
) -> None:
    """Keyword overlap ranks below a substring and above the second tier."""
    match = index.search(query)[0]

    assert (match.name, match.tier) == (name, "deterministic")
    assert FALLBACK_RANGE[1] < match.score < 0.97


def test_without_a_direct_match_bm25_reads_descriptions_and_parameters(
    index: DiscoveryIndex,
) -> None:
    """One word that many names share decides nothing: the description knows better."""
    by_description = index.search("get me an appointment with the dentist")
    by_parameter = index.search("how large is our party size")

    assert {m.name for m in by_description[:2]} == {
        "calendar_create_event",
        "calendar_delete_event",
    }
    assert by_parameter[0].name == "dining_reserve_table"
    assert {m.tier for m in [*by_description, *by_parameter]} == {"bm25"}


@pytest.mark.parametrize("query", ["", "   ", "the of and", "xyzzy", "?!"])
def test_what_names_nothing_finds_nothing(index: DiscoveryIndex, query: str) -> None:
    """Stop words and unknown words are no query; an empty catalog has no answer."""
    assert index.search(query) == DiscoveryIndex(Catalog.from_functions([])).search(query) == []


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_at_most_the_limit_is_returned(index: DiscoveryIndex, limit: int, found: int) -> None:
    """Best first; a query that is a part of the names of a domain finds all of them."""
    assert len(index.search("calendar", limit=limit)) == found


def test_order_does_not_depend_on_the_order_of_tools() -> None:
    """Ties go to the closer name, then by name."""
    functions = [{"name": name} for name in ("send_mail", "send_mails", "resend_mail")]
    one = DiscoveryIndex(Catalog.from_functions(functions)).search("send mai")
    two = DiscoveryIndex(Catalog.from_functions(functions[::-1])).search("send mai")

    assert one == two
    assert [m.name for m in one] == ["send_mail", "send_mails", "resend_mail"]


@pytest.mark.parametrize(
    ("query", "domain"),
    [
        ("dinner for two", "dining"),
        ("umbrella needed tomorrow", "weather"),
        ("plane to Rome", "flights"),
    ],
)
def test_where_names_say_nothing_vectors_are_asked(
    shipped: Catalog, query: str, domain: str
) -> None:
    """The built-in embedder's; the words alone find something else, or nothing."""
    near = similarity_in_process()(shipped)
    index = DiscoveryIndex(shipped)
    found = [shipped.tool(m.name).domain for m in index.search(query, similarity=near)]
    assert found[0] == domain
    assert [shipped.tool(m.name).domain for m in index.search(query)][:1] != [domain]


def test_vectors_find_nothing_where_no_tool_stands_out(shipped: Catalog) -> None:
    """Some tool is always the nearest."""
    near = similarity_in_process()(shipped)
    for query in ("asdf", "xyzzy plugh", "translate this to Finnish", "!!!", ""):
        assert not DiscoveryIndex(shipped).search(query, similarity=near)


def test_an_embedder_that_fails_leaves_the_words(shipped: Catalog) -> None:
    """As where a name says it all; a tool outside the wall is not there, however near it is."""

    class Broken:
        def of(self, texts: Sequence[str]) -> Floats:
            raise EmbedderUnavailable("gone")

    index = DiscoveryIndex(shipped)
    for query in ("a table for four tonight", "send message"):
        assert index.search(query, similarity=Broken()) == index.search(query)
    wall = Wall(agent="a", domains=("flights",))
    near = similarity_in_process()(shipped)
    found = index.search("dinner for two", walls=(wall,), similarity=near)
    assert {shipped.tool(match.name).domain for match in found} <= {"flights"}
