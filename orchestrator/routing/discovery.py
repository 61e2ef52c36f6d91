"""Discovery: tools found by a few words, exact matches first; else by descriptions and vectors."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.wall import Wall, admitted
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.routing.indexes.bm25 import SparseBm25
from orchestrator.routing.indexes.terms import Floats, TermIndex
from orchestrator.routing.phonetic import JARO_WINKLER_FLOOR, PhoneticIndex, PhoneticMatch
from orchestrator.routing.scoring.embedding import CardSimilarity, closeness

EXACT: Final = 1.0
SUBSTRING: Final = 0.97
OVERLAP_RANGE: Final = (0.86, 0.96)
DOMAIN_RANGE: Final = (0.80, 0.85)
K1: Final = 1.5
B: Final = 0.75
JARO_WINKLER_BOOST: Final = 0.35
DOMAIN_BOOST: Final = 0.1
VECTOR_BOOST: Final = 1.5
"""Of the nearest tool by vectors, where there are any; 0 for one in the middle of the catalog."""
FALLBACK_RANGE: Final = (0.05, 0.79)
"""Below the deterministic tier's floor, so that scores of both tiers can be compared."""

_SEPARATORS = re.compile(r"[\W_]+")
_SHORTEST_SUBSTRING = 3
_INFLECTED = 0.9
"""What a word counts that is in the name in another form: `book` for `booking`, or a slip."""
_OUTLIER = 3.0
"""Deviations above the catalog's middle from which nearness alone is a match: embedders differ in
how near they see what has nothing in common, so the other tools are the measure."""
_EQUAL = 1e-6
_NORMAL = 1.4826
"""What makes the median of absolute deviations a standard deviation, were they normal."""
_KEPT_INDEXES = 8

Tier = Literal["deterministic", "bm25"]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Match:
    """A tool that was found; `score` is in [0.05, 1]."""

    name: str
    score: float
    tier: Tier


class DiscoveryIndex:
    """Searches the tools of one catalog.

    ```python
    DiscoveryIndex(catalog).search("send message")  # [Match("message_send", 0.96, ...), ...]
    ```
    """

    def __init__(self, catalog: Catalog) -> None:
        """Index every tool of the catalog, core ones included."""
        tools = list(catalog.tools.values())
        self._names = [tool.name for tool in tools]
        self._domains = [tool.domain for tool in tools]
        self._joined = [_joined(tool.name) for tool in tools]
        named = [tuple(dict.fromkeys(tokens(tool.name))) for tool in tools]
        domains = [tokens(tool.domain) for tool in tools]
        documents = [_document(tool) for tool in tools]
        self._size = len(tools)
        self._named = np.array([len(words) for words in named], dtype=np.int64)
        self._name_words = _postings(named)
        self._name_stems = _postings(map(stem, words) for words in named)
        self._domain_stems = _postings(map(stem, words) for words in domains)
        self._likeness = _Likeness(named)
        self._bm25 = SparseBm25(documents, k1=K1, b=B)
        self._phonetic = PhoneticIndex(
            (word for words in (*named, *domains) for word in words), self._bm25.index.terms
        )

    def search(
        self,
        query: str,
        limit: int = 3,
        walls: Sequence[Wall] = (),
        similarity: CardSimilarity | None = None,
    ) -> list[Match]:
        """The tools that fit, best first; at most `limit`, none when nothing fits.

        Ties go to the name that is closest to the query by Jaro-Winkler, then by name. A tool
        outside one of the walls is not there, however well it fits. Where names say nothing,
        `similarity`, an embedder's view of the same catalog, is asked beside the descriptions.
        """
        joined, words = _joined(query), self._phonetic.match(tokens(query))
        inside = self._inside(walls)
        scores = np.where(inside, self._deterministic(joined, words), 0.0)
        if scores.any():
            return self._best(joined, scores, "deterministic", limit)
        ranked = self._ranked(words, _nearness(similarity, query))
        return self._best(joined, np.where(inside, ranked, 0.0), "bm25", limit)

    def _inside(self, walls: Sequence[Wall]) -> _Flags:
        named = zip(self._names, self._domains, strict=True)
        return np.array([admitted(walls, name, domain) for name, domain in named], dtype=bool)

    def _best(self, query: str, scores: Floats, tier: Tier, limit: int) -> list[Match]:
        """The highest scores above 0, with ties at the end of the list resolved."""
        found = np.flatnonzero(scores)
        if len(found) > limit > 0:
            worst = np.partition(scores[found], -limit)[-limit]
            found = found[scores[found] >= worst]
        matches = [Match(self._names[at], float(scores[at]), tier) for at in found]
        # How like the name the whole query is; 0 below the floor, for that is no likeness.
        like = partial(JaroWinkler.similarity, query, score_cutoff=JARO_WINKLER_FLOOR)
        closeness = {self._names[at]: like(self._joined[at]) for at in found}
        matches.sort(key=lambda match: (-match.score, -closeness[match.name], match.name))
        return matches[: max(0, limit)]

    def _deterministic(self, query: str, words: Sequence[PhoneticMatch]) -> Floats:
        """The score of the first tier's rules, the strictest that holds; 0 where none does."""
        scores = self._by_words(words) if words else np.zeros(self._size)
        for at, joined in enumerate(self._joined):
            if query and query == joined:
                scores[at] = EXACT
            elif _is_substring(query, joined):
                scores[at] = SUBSTRING
        return scores

    def _by_words(self, words: Sequence[PhoneticMatch]) -> Floats:
        """The keyword overlap, and below it the domain match."""
        held = np.array([_holding(self._name_stems, word.stems) for word in words])
        said = np.array([_holding(self._name_words, (word.text,)) for word in words])
        of_domain = np.array([_holding(self._domain_stems, word.stems) for word in words])
        by_domain = _domain_share(held, of_domain)
        scores = np.where(by_domain >= 0, _within(DOMAIN_RANGE, by_domain), 0.0)
        overlap = _overlap(held, said, self._named)
        return np.where(overlap >= 0, _within(OVERLAP_RANGE, overlap), scores)

    def _ranked(self, words: Sequence[PhoneticMatch], near: tuple[Floats, _Flags] | None) -> Floats:
        """BM25 over name, description and parameters, its best as 1, boosted; 0 for no match.

        What is near by meaning is boosted too, and matches without a word in common.
        """
        if not words or not self._size:
            return np.zeros(self._size)
        weights: dict[str, float] = {}
        for word in words:
            for term, weight in word.weights():
                weights[term] = max(weight, weights.get(term, 0.0))
        likeness = self._likeness.of([word.text for word in words])
        in_domain = _holding(self._domain_stems, weights)
        shares = _holding(self._bm25.densities, weights)
        relevance = np.maximum(self._bm25.index.sums(weights), 0.0)
        relevance /= float(relevance.max()) or 1.0
        boosted = relevance + JARO_WINKLER_BOOST * likeness + DOMAIN_BOOST * in_domain
        best = 1 + JARO_WINKLER_BOOST + DOMAIN_BOOST
        matched = in_domain | shares | (likeness >= JARO_WINKLER_FLOOR)
        if near is not None:
            closest, stands_out = near
            boosted, best = boosted + VECTOR_BOOST * closest, best + VECTOR_BOOST
            matched = matched | stands_out
        return np.where(matched, _within(FALLBACK_RANGE, boosted / best), 0.0)


class DiscoveryIndexes:
    """The indexes of the catalogs that were last searched, by digest."""

    def __init__(self, most: int = _KEPT_INDEXES) -> None:
        """Keep at most so many."""
        self._most = most
        self._kept: OrderedDict[str, DiscoveryIndex] = OrderedDict()

    def of(self, catalog: Catalog) -> DiscoveryIndex:
        """The index of the catalog; built once for each digest."""
        index = self._kept.get(catalog.digest) or DiscoveryIndex(catalog)
        self._kept[catalog.digest] = index
        self._kept.move_to_end(catalog.digest)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return index


class _Likeness:
    """Jaro-Winkler between the words of a query and those of all names, each pair of words once."""

    def __init__(self, names: Sequence[Sequence[str]]) -> None:
        # A name without words gets the empty word, which is like no other: no span is empty.
        padded = [words or ("",) for words in names]
        self._words = sorted({word for words in padded for word in words})
        number = {word: at for at, word in enumerate(self._words)}
        self._flat = np.array([number[w] for words in padded for w in words], dtype=np.int32)
        lengths = [len(words) for words in padded]
        self._starts = np.cumsum([0, *lengths[:-1]]) if lengths else np.zeros(0, dtype=np.intp)

    def of(self, words: Sequence[str]) -> Floats:
        """How like the words are to their closest in each name, on average; in [0, 1]."""
        similar = process.cdist(words, self._words, scorer=JaroWinkler.similarity, dtype=np.float64)
        closest: Floats = np.maximum.reduceat(similar[:, self._flat], self._starts, axis=1)
        mean: Floats = closest.mean(axis=0)
        return mean


def _nearness(similarity: CardSimilarity | None, query: str) -> tuple[Floats, _Flags] | None:
    """How near each tool is by meaning, 1 for the nearest, and which stand out by that alone.

    None where vectors do not say.
    """
    if similarity is None or not query.strip():
        return None
    try:
        cosines = similarity.of([query])[0]
    except Exception:  # an embedder that fails takes nothing away from the words
        return None
    above = cosines - np.median(cosines)
    deviation = _NORMAL * float(np.median(np.abs(above)))
    return np.maximum(closeness(cosines), 0.0), above > max(_OUTLIER * deviation, _EQUAL)


def _postings(documents: Iterable[Iterable[str]]) -> TermIndex:
    """For each term, the tools that hold it."""
    return TermIndex.of([dict.fromkeys(document, 1.0) for document in documents])


def _holding(postings: TermIndex, terms: Iterable[str]) -> _Flags:
    """Which of the tools hold one of the terms; shape (n_tools,)."""
    return postings.sums(dict.fromkeys(terms, 1.0)) > 0


def _overlap(held: _Flags, said: _Flags, named: NDArray[np.int64]) -> Floats:
    """The share of words in common, when one side holds all words of the other; else -1.

    A single common word is no match ("book a table" shares one with every tool that books): the
    descriptions know better, so the second tier is asked.
    """
    wanted, common = len(held), held.sum(axis=0)
    alike = np.where(said, 1.0, _INFLECTED * held).sum(axis=0)
    is_match = (common > 0) & ((common == wanted) | (common >= np.maximum(2, named)))
    share = alike / np.maximum(1, wanted + named - np.minimum(common, named))
    return np.where(is_match, share, -1.0)


def _domain_share(held: _Flags, of_domain: _Flags) -> Floats:
    """The share of the query beside the domain, when the tool's name holds it all; else -1."""
    is_match = of_domain.any(axis=0) & (held | of_domain).all(axis=0)
    return np.where(is_match, 1 - of_domain.mean(axis=0), -1.0)


def _is_substring(query: str, name: str) -> bool:
    shorter, longer = (query, name) if len(query) <= len(name) else (name, query)
    return len(shorter) >= _SHORTEST_SUBSTRING and shorter in longer


def _within(bounds: tuple[float, float], share: Floats) -> Floats:
    low, high = bounds
    scaled: Floats = low + (high - low) * np.clip(share, 0.0, 1.0)
    return scaled


def _joined(text: str) -> str:
    return _SEPARATORS.sub("_", " ".join(tokens(text))).strip("_")


def _document(tool: Tool) -> list[str]:
    return content_stems(" ".join((tool.name, tool.summary, tool.description, *tool.properties)))
