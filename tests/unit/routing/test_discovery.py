"""Discovery: the two tiers, their scores and ranges, and words with slips."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from rapidfuzz.distance import JaroWinkler

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import EmbedderUnavailable
from orchestrator.core.wall import Wall
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.routing.discovery import FALLBACK_RANGE, DiscoveryIndex, Match, PhoneticIndex
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


SPECS: Final = Path(__file__).parents[3] / "specs"


def _index(*tools: tuple[str, str, str]) -> DiscoveryIndex:
    """An index of tools given as name, domain and description."""
    return DiscoveryIndex(
        Catalog.from_functions(
            {"name": name, "domain": domain, "description": description}
            for name, domain, description in tools
        )
    )


def _only(index: DiscoveryIndex, query: str, name: str) -> Match:
    return next(match for match in index.search(query, limit=100) if match.name == name)


def test_keyword_overlap_scores_by_its_share_from_86_to_96_hundredths() -> None:
    """All words in another order reach the top; one of two words lies in the middle."""
    index = _index(("send_mail", "", ""))

    assert index.search("mail send")[0].score == pytest.approx(0.96)
    # The word in another form counts 0.9, of two words in the name.
    assert index.search("mailed")[0].score == pytest.approx(0.86 + 0.1 * 0.9 / 2)


def test_a_domain_match_scores_80_to_85_hundredths() -> None:
    """With nothing else said, and with words of the name next to it."""
    index = _index(("list_urgent_forecast_alerts", "weather", ""))

    assert _index(("forecast", "weather", "")).search("weather")[0].score == pytest.approx(0.80)
    assert index.search("weather forecast")[0].score == pytest.approx(0.80 + 0.05 / 2)


def test_the_rules_follow_each_other_in_order() -> None:
    """Exact, substring, overlap, domain: each below the one before."""
    index = _index(
        ("mail", "mail", ""),
        ("mail_all", "post", ""),
        ("box", "mail", ""),
    )

    assert [(m.name, m.score) for m in index.search("mail", limit=9)] == [
        ("mail", 1.0),
        ("mail_all", 0.97),
        ("box", pytest.approx(0.80)),
    ]


def test_bm25_is_asked_only_when_the_first_tier_finds_nothing() -> None:
    """A description that says all of the query adds nothing beside a direct match."""
    index = _index(("send_mail", "", ""), ("other", "", "Send mail, send mail, send mail."))

    assert [m.name for m in index.search("send mail", limit=9)] == ["send_mail"]
    assert [m.tier for m in index.search("urgent thing mail", limit=9)] == ["bm25", "bm25"]


@pytest.mark.parametrize(
    "query",
    [
        "somewhere to sleep near the airport for two adults",
        "how much did the last invoice come to",
        "put a document where my colleagues can read it",
        "cancel what I reserved for Friday evening",
    ],
)
def test_the_second_tier_is_bm25_with_both_boosts_scaled(query: str, shipped: Catalog) -> None:
    """Okapi BM25 plus Jaro-Winkler plus the domain, each with its weight.

    BM25 has k1 1.5 and b 0.75 over name, description and parameter names, its best as 1;
    Jaro-Winkler counts 0.35, the domain 0.1, and the sum is scaled to [0.05, 0.79].
    """
    index = DiscoveryIndex(shipped)
    tools = list(shipped.tools.values())
    words = [word for word in tokens(query) if content_stems(word)]
    texts = [" ".join((t.name, t.summary, t.description, *t.properties)) for t in tools]
    okapi = BM25Okapi([content_stems(text) for text in texts], k1=1.5, b=0.75)
    weights: dict[str, float] = {}
    for word in index._phonetic.match(words):
        for term, weight in word.weights():
            weights[term] = max(weight, weights.get(term, 0.0))
    relevance = sum(w * okapi.get_scores([term]) for term, w in weights.items())
    best = max(relevance)

    found = index.search(query, limit=len(tools))
    assert found
    assert {m.tier for m in found} == {"bm25"}
    for match in found:
        at = next(n for n, t in enumerate(tools) if t.name == match.name)
        named = tokens(match.name)
        likeness = [max(JaroWinkler.similarity(w, n) for n in named) for w in words]
        in_domain = bool({stem(d) for d in tokens(tools[at].domain)} & set(weights))
        fused = max(0.0, relevance[at]) / best
        fused += 0.35 * sum(likeness) / len(likeness) + 0.1 * in_domain
        assert match.score == pytest.approx(0.05 + 0.74 * fused / 1.45)


def test_jaro_winkler_boosts_by_35_hundredths() -> None:
    """Of two tools with the same words beside their names, the name tells."""
    index = _index(
        ("coats", "", "boats berth here"),
        ("zzz", "", "boats berth here"),
        ("qqq", "", "nothing"),
        ("www", "", "at all"),
        ("vvv", "", "of that"),
    )

    gap = _only(index, "boats", "coats").score - _only(index, "boats", "zzz").score
    assert gap == pytest.approx(0.74 * 0.35 * JaroWinkler.similarity("boats", "coats") / 1.45)


def test_the_domain_boosts_by_a_tenth() -> None:
    """Of two tools that differ in their domain alone, by 0.1 before scaling."""
    index = _index(
        ("aaa", "boats", "berth for the night"),
        ("bbb", "cars", "berth for the night"),
        ("ccc", "", "nothing"),
        ("ddd", "", "at all"),
        ("eee", "", "else"),
    )
    query = "boats night"

    gap = _only(index, query, "aaa").score - _only(index, query, "bbb").score
    assert gap == pytest.approx(0.74 * 0.1 / 1.45)


def test_ties_go_to_the_closer_name_from_a_likeness_of_93_hundredths() -> None:
    """Of equal scores, the name that is like the query comes first, against the alphabet."""
    close, far = "zbook_table", "abooks_tables_far"
    index = _index((far, "", ""), (close, "", ""))
    query = "book_table"

    assert JaroWinkler.similarity(query, close) >= 0.93 > JaroWinkler.similarity(query, far)
    assert next((m.name, m.score) for m in index.search(query)) == (close, 0.97)


def test_below_93_hundredths_ties_go_by_name() -> None:
    """A likeness under the threshold is none."""
    nearer, alphabet_first = "zz_mail_b", "aa_mail_bbbbbbbb"
    index = _index((nearer, "", ""), (alphabet_first, "", ""))

    likeness = [JaroWinkler.similarity("mail", name) for name in (nearer, alphabet_first)]
    assert likeness[1] < likeness[0] < 0.93
    assert [m.name for m in index.search("mail")] == [alphabet_first, nearer]


_SHIPPED: Final = Catalog.load(SPECS)
_INDEX: Final = DiscoveryIndex(_SHIPPED)
_WORDS: Final = sorted(
    {
        word
        for tool in _SHIPPED.tools.values()
        for word in tokens(f"{tool.name} {tool.domain} {tool.description}")
    }
)


@given(st.lists(st.one_of(st.sampled_from(_WORDS), st.text(max_size=8)), max_size=6))
def test_every_score_lies_in_the_range_of_its_tier(words: list[str]) -> None:
    """1, 0.97, [0.80, 0.96] in the first tier and [0.05, 0.79] in the second, never both."""
    found = _INDEX.search(" ".join(words), limit=100)

    assert len({match.tier for match in found}) <= 1
    for match in found:
        if match.tier == "bm25":
            assert 0.05 <= match.score <= 0.79
        else:
            assert match.score in (1.0, 0.97) or 0.80 <= match.score <= 0.96 + 1e-12


SLIPS: Final = (
    ("send a massage to the team", "message_send"),
    ("sent a messige to the teem", "message_send"),
    ("send an emial", "message_send_email"),
    ("list massage chanels", "message_find_channels"),
    ("book a flite", "flight_book_offer"),
    ("serch flites to Lisbon", "flight_search_offers"),
    ("chek flite status", "flight_get_status"),
    ("phlight fair rules", "flight_get_fare_rules"),
    ("cansel my hotell booking", "hotel_cancel_booking"),
    ("hotell rume serch", "hotel_search_rooms"),
    ("booc a hotle room", "hotel_book_room"),
    ("wether forcast", "weather_get_forecast"),
    ("fore cast for tomorrow", "weather_get_forecast"),
    ("list whether alurts", "weather_list_alerts"),
    ("cancle the restarant rezervation", "dining_cancel_reservation"),
    ("rezerve a tabel", "dining_reserve_table"),
    ("order a meel", "dining_order_meal"),
    ("rent a kar", "car_book_offer"),
    ("kar rentle offers", "car_search_offers"),
    ("creat a calender evnet", "calendar_create_event"),
    ("creat a remynder", "calendar_create_reminder"),
    ("free slotts in my calandar", "calendar_find_free_slots"),
    ("delete the fial", "file_delete_file"),
    ("shair a file with Bob", "file_share_file"),
    ("upload a fyle", "file_upload_file"),
    ("moov the file", "file_move_file"),
    ("file an expens rapport", "expense_file_report"),
    ("expence polisy", "expense_check_policy"),
    ("refund the pament", "payment_refund_payment"),
    ("pay the invoyce", "payment_pay_invoice"),
)
FIRST: Final = 26
"""Of the 30; see docs/routing.md."""


@pytest.fixture(scope="module")
def shipped_index(shipped: Catalog) -> DiscoveryIndex:
    """The example documents."""
    return DiscoveryIndex(shipped)


@pytest.fixture
def phonetic() -> PhoneticIndex:
    """Words of names, and the stems of a description."""
    return PhoneticIndex(
        ["flight", "message", "forecast", "write", "mute", "mail"], ["whether", "meal"]
    )


def test_queries_with_slips_find_their_tool(shipped_index: DiscoveryIndex) -> None:
    """All among the three that discovery returns by default, and most of them first."""
    found = {query: [m.name for m in shipped_index.search(query)] for query, _ in SLIPS}

    assert [query for query, name in SLIPS if name not in found[query]] == []
    assert len([query for query, name in SLIPS if found[query][0] == name]) >= FIRST
    assert shipped_index.search(SLIPS[0][0])[0].tier == "deterministic"


@pytest.mark.parametrize(
    ("word", "meant"), [("flihgt", "flight"), ("flites", "flight"), ("massage", "messag")]
)
def test_an_unknown_word_stands_for_those_it_is_like(
    phonetic: PhoneticIndex, word: str, meant: str
) -> None:
    """By its letters or by its sound, in any form."""
    (match,) = phonetic.match([word])

    assert not match.is_known
    assert meant in match.stems


def test_a_known_word_stands_for_itself_and_hints_at_others(phonetic: PhoneticIndex) -> None:
    """A word of a description counts half for what it sounds like; one of a name for nothing."""
    meal, mail = phonetic.match(["meal", "mail"])

    assert meal.stems == ("meal",)
    assert dict(meal.weights()) == {"meal": 1.0, "mail": 0.5}
    assert mail.alternatives == ()


@pytest.mark.parametrize("word", ["mad", "fl", "zebra"])
def test_unlike_words_are_left_alone(phonetic: PhoneticIndex, word: str) -> None:
    """Sound alone decides nothing: `mad` and `mute` have one Metaphone key."""
    assert phonetic.match([word])[0].alternatives == ()


def test_a_word_written_as_two_is_put_together(phonetic: PhoneticIndex) -> None:
    """`fore cast` is `forecast`, as long as the parts are not words of the catalog."""
    assert [word.text for word in phonetic.match(["fore", "cast"])] == ["forecast"]
    assert [word.text for word in phonetic.match(["write", "mail"])] == ["write", "mail"]
    assert [word.text for word in phonetic.match(["the", "mail", "mails", "of"])] == ["mails"]
