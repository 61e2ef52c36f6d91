"""Discovery: tools found by a few words, exact matches first and BM25 where there are none."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rank_bm25 import BM25Okapi
from rapidfuzz.distance import JaroWinkler

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.routing.words import STOP_WORDS, content_stems, stem, tokens

EXACT = 1.0
SUBSTRING = 0.97
OVERLAP_RANGE = (0.86, 0.96)
DOMAIN_RANGE = (0.80, 0.85)
JARO_WINKLER_FLOOR = 0.93
"""Similarity from which two words count as one misheard or mistyped."""
K1 = 1.5
B = 0.75
JARO_WINKLER_BOOST = 0.35
DOMAIN_BOOST = 0.1
FALLBACK_RANGE = (0.05, 0.79)
"""Below the deterministic tier's floor, so that scores of both tiers can be compared."""

_SEPARATORS = re.compile(r"[\W_]+")
_SHORTEST_SUBSTRING = 3
_INFLECTED = 0.9
"""What a word counts that is in the name in another form: `book` for `booking`, or misspelt."""


@dataclass(frozen=True)
class Match:
    """A tool that was found; `score` is in [0.05, 1]."""

    name: str
    score: float
    tier: Literal["deterministic", "bm25"]


@dataclass(frozen=True)
class _Query:
    joined: str
    words: tuple[str, ...]
    stems: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "_Query":
        words = [word for word in tokens(text) if word not in STOP_WORDS]
        return cls(_joined(text), tuple(dict.fromkeys(words)), frozenset(map(stem, words)))


@dataclass(frozen=True)
class _Entry:
    """What the index knows of one tool."""

    name: str
    joined: str
    words: tuple[str, ...]
    stems: frozenset[str]
    domain_stems: frozenset[str]

    @classmethod
    def of(cls, tool: Tool) -> "_Entry":
        return cls(
            name=tool.name,
            joined=_joined(tool.name),
            words=tuple(tokens(tool.name)),
            stems=frozenset(map(stem, tokens(tool.name))),
            domain_stems=frozenset(map(stem, tokens(tool.domain))),
        )


class DiscoveryIndex:
    """Searches the tools of one catalog.

    ```python
    DiscoveryIndex(catalog).search("send message")  # [Match("message_send", 0.96, ...), ...]
    ```
    """

    def __init__(self, catalog: Catalog) -> None:
        """Index every tool of the catalog, core ones included."""
        tools = list(catalog.tools.values())
        self._entries = [_Entry.of(tool) for tool in tools]
        documents = [_document(tool) for tool in tools]
        self._documents = [frozenset(document) for document in documents]
        # rank_bm25 divides by the number of words, so a catalog without any has no ranking.
        self._bm25 = BM25Okapi(documents, k1=K1, b=B) if any(documents) else None

    def search(self, query: str, limit: int = 3) -> list[Match]:
        """The tools that fit, best first; at most `limit`, none when nothing fits.

        Ties go to the name that is closest to the query by Jaro-Winkler, then by name.
        """
        wanted = _Query.of(query)
        matches = self._deterministic(wanted) or self._ranked(wanted)
        closeness = {e.name: _close_enough(wanted.joined, e.joined) for e in self._entries}
        matches.sort(key=lambda match: (-match.score, -closeness[match.name], match.name))
        return matches[: max(0, limit)]

    def _deterministic(self, query: _Query) -> list[Match]:
        scored = ((entry, _deterministic_score(query, entry)) for entry in self._entries)
        return [Match(e.name, score, "deterministic") for e, score in scored if score is not None]

    def _ranked(self, query: _Query) -> list[Match]:
        """BM25 over name, description and parameter names, with the two boosts."""
        if not query.words:
            return []
        relevance = self._relevance(query)
        matches: list[Match] = []
        for entry, document, bm25 in zip(self._entries, self._documents, relevance, strict=True):
            likeness = _likeness(query.words, entry.words)
            in_domain = not entry.domain_stems.isdisjoint(query.stems)
            if in_domain or likeness >= JARO_WINKLER_FLOOR or query.stems & document:
                boosted = bm25 + JARO_WINKLER_BOOST * likeness + DOMAIN_BOOST * in_domain
                matches.append(Match(entry.name, _normalized(boosted), "bm25"))
        return matches

    def _relevance(self, query: _Query) -> list[float]:
        """BM25 of every tool, the best of them as 1."""
        if self._bm25 is None:
            return [0.0] * len(self._entries)
        scores = [max(0.0, float(s)) for s in self._bm25.get_scores(sorted(query.stems))]
        best = max(scores)
        return [score / best for score in scores] if best > 0 else scores


def _deterministic_score(query: _Query, entry: _Entry) -> float | None:
    """The score of the first tier's rules, the strictest that holds; None when none does."""
    if query.joined and query.joined == entry.joined:
        return EXACT
    if _is_substring(query.joined, entry.joined):
        return SUBSTRING
    if not query.words:
        return None
    overlap = _overlap(query, entry)
    if overlap is not None:
        return _within(OVERLAP_RANGE, overlap)
    share = _domain_share(query, entry)
    return _within(DOMAIN_RANGE, share) if share is not None else None


def _is_substring(query: str, name: str) -> bool:
    shorter, longer = sorted((query, name), key=len)
    return len(shorter) >= _SHORTEST_SUBSTRING and shorter in longer


def _overlap(query: _Query, entry: _Entry) -> float | None:
    """The share of words in common, when one side holds all words of the other.

    A single common word is no match ("book a table" shares one with every tool that books): the
    descriptions know better, so the second tier is asked.
    """
    common = [word for word in query.words if _has_word(word, entry)]
    named = len(set(entry.words))
    if not common or (len(common) < len(query.words) and len(common) < max(2, named)):
        return None
    alike = sum(1.0 if word in entry.words else _INFLECTED for word in common)
    return alike / (len(query.words) + named - min(len(common), named))


def _domain_share(query: _Query, entry: _Entry) -> float | None:
    """The share of the query that names the domain, when the tool's name holds all the rest."""
    in_domain = [word for word in query.words if stem(word) in entry.domain_stems]
    rest = [word for word in query.words if stem(word) not in entry.domain_stems]
    if not in_domain or not all(_has_word(word, entry) for word in rest):
        return None
    return 1 - len(in_domain) / (len(in_domain) + len(rest)) if rest else 0.0


def _has_word(word: str, entry: _Entry) -> bool:
    return stem(word) in entry.stems or _likeness((word,), entry.words) >= JARO_WINKLER_FLOOR


def _likeness(words: Sequence[str], among: Sequence[str]) -> float:
    """How like the words are to their closest counterparts, on average; in [0, 1]."""
    if not words or not among:
        return 0.0
    best = [max(JaroWinkler.similarity(word, other) for other in among) for word in words]
    return sum(best) / len(best)


def _close_enough(query: str, name: str) -> float:
    return float(JaroWinkler.similarity(query, name, score_cutoff=JARO_WINKLER_FLOOR))


def _within(bounds: tuple[float, float], share: float) -> float:
    low, high = bounds
    return low + (high - low) * min(1.0, max(0.0, share))


def _normalized(boosted: float) -> float:
    return _within(FALLBACK_RANGE, boosted / (1 + JARO_WINKLER_BOOST + DOMAIN_BOOST))


def _joined(text: str) -> str:
    return _SEPARATORS.sub("_", " ".join(tokens(text))).strip("_")


def _document(tool: Tool) -> list[str]:
    return content_stems(" ".join(_texts(tool)))


def _texts(tool: Tool) -> Iterable[str]:
    return (tool.name, tool.summary, tool.description, *tool.properties)
