"""Discovery's numbers: every score, threshold, weight and range of the two tiers, one by one."""

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from rapidfuzz.distance import JaroWinkler

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.routing.discovery import DiscoveryIndex, Match

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
