"""Discovery: finds tools by a few words, first by their names, then by descriptions and vectors.

Words are compared with the catalog's by spelling (Jaro-Winkler) and by sound (Metaphone), so that
typos and errors of speech recognition still find the tool.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

import jellyfish
import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.wall import Wall, admitted
from orchestrator.language.words import STOP_WORDS, content_stems, stem, tokens
from orchestrator.routing.scoring.embedding import CardSimilarity, closeness
from orchestrator.routing.sparse_index import K1, B, Floats

EXACT: Final = 1.0
SUBSTRING: Final = 0.97
OVERLAP_RANGE: Final = (0.86, 0.96)
DOMAIN_RANGE: Final = (0.80, 0.85)
JARO_WINKLER_FLOOR: Final = 0.93
"""Similarity from which two words count as the same word, misspelt."""
JARO_WINKLER_BOOST: Final = 0.35
DOMAIN_BOOST: Final = 0.1
VECTOR_BOOST: Final = 1.5
"""Boost of the nearest tool by vectors; 0 for a tool in the middle of the catalog."""
FALLBACK_RANGE: Final = (0.05, 0.79)
"""Below the deterministic tier's floor, so that scores of both tiers are comparable."""

_SEPARATORS = re.compile(r"[\W_]+")
_INFLECTED = 0.9
"""Weight of a word that the name has in another form: `book` for `booking`, or a misspelling."""
_SHORTEST: Final = 3
"""Minimum length in letters; shorter words resemble too many others."""
_MOST_ALTERNATIVES: Final = 3
_UNKNOWN: Final = 0.9
"""Weight of an alternative to a word that is nowhere in the catalog."""
_KNOWN: Final = 0.5
"""Weight of an alternative to a word in some description, which may be meant literally."""

Tier = Literal["deterministic", "bm25"]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Match:
    """A tool that a search found; `score` is in [0.05, 1]."""

    name: str
    score: float
    tier: Tier


class _Entry(NamedTuple):
    """A tool in the form that the first tier searches."""

    name: str
    domain: str
    joined: str
    words: tuple[str, ...]
    stems: frozenset[str]
    domain_stems: frozenset[str]


class DiscoveryIndex:
    """Searches the tools of one catalog.

    ```python
    DiscoveryIndex(catalog).search("send message")  # [Match("message_send", 0.96, ...), ...]
    ```
    """

    def __init__(self, catalog: Catalog) -> None:
        """Index every tool of the catalog, core ones included."""
        tools = list(catalog.tools.values())
        self._entries: list[_Entry] = []
        for tool in tools:
            words = tuple(dict.fromkeys(tokens(tool.name)))
            domain_stems = frozenset(map(stem, tokens(tool.domain)))
            stems = frozenset(map(stem, words))
            entry = _Entry(tool.name, tool.domain, _joined(tool.name), words, stems, domain_stems)
            self._entries.append(entry)
        documents = [
            content_stems(" ".join((tool.name, tool.summary, tool.description, *tool.properties)))
            for tool in tools
        ]
        self._terms = [frozenset(document) for document in documents]
        self._bm25 = BM25Okapi(documents, k1=K1, b=B) if any(documents) else None
        # A name without words gets the empty word, which resembles no other, so that no span is
        # empty.
        padded = [entry.words or ("",) for entry in self._entries]
        self._name_words = sorted({word for words in padded for word in words})
        number = {word: at for at, word in enumerate(self._name_words)}
        self._flat = np.array([number[w] for words in padded for w in words], dtype=np.int32)
        self._starts = np.cumsum([0, *map(len, padded)])[:-1]
        domain_words = (word for tool in tools for word in tokens(tool.domain))
        self._phonetic = PhoneticIndex(
            (*self._name_words, *domain_words), (word for terms in self._terms for word in terms)
        )

    def search(
        self,
        query: str,
        limit: int = 3,
        walls: Sequence[Wall] = (),
        similarity: CardSimilarity | None = None,
    ) -> list[Match]:
        """Return at most `limit` tools that fit, best first; none if nothing fits.

        Ties go to the name that is closest to the query by Jaro-Winkler, then by name. A tool
        outside one of the walls is never returned. If no name matches, `similarity`, an embedder's
        view of the same catalog, counts in addition to the descriptions.
        """
        joined, words = _joined(query), self._phonetic.match(tokens(query))
        inside = np.array([admitted(walls, e.name, e.domain) for e in self._entries], dtype=bool)
        rows = np.flatnonzero(inside)
        scores = np.zeros(len(self._entries))
        scores[rows] = [_name_score(self._entries[row], joined, words) for row in rows.tolist()]
        if scores.any():
            return self._best(joined, scores, "deterministic", limit)
        cosines: Floats | None = None
        if similarity is not None and query.strip():
            with suppress(Exception):  # if an embedder fails, the words decide
                cosines = similarity.of([query])[0]
        ranked = self._ranked(words, cosines)
        return self._best(joined, np.where(inside, ranked, 0.0), "bm25", limit)

    def _best(self, query: str, scores: Floats, tier: Tier, limit: int) -> list[Match]:
        """Return the highest scores above 0, resolving ties at the end of the list."""
        found = np.flatnonzero(scores)
        if len(found) > limit > 0:
            worst = np.partition(scores[found], -limit)[-limit]
            found = found[scores[found] >= worst]
        like = partial(JaroWinkler.similarity, query, score_cutoff=JARO_WINKLER_FLOOR)
        order = sorted(
            found.tolist(),
            key=lambda at: (-scores[at], -like(self._entries[at].joined), self._entries[at].name),
        )
        return [
            Match(self._entries[at].name, float(scores[at]), tier) for at in order[: max(0, limit)]
        ]

    def _ranked(self, words: Sequence["PhoneticMatch"], cosines: Floats | None) -> Floats:
        """Return BM25 scores relative to the best, boosted and scaled; 0 for no match.

        Boosts are for similar names, the domain, and similarity of meaning. A tool whose meaning is
        similar enough matches without a common word.
        """
        if not words or not self._entries:
            return np.zeros(len(self._entries))
        weights: dict[str, float] = {}
        for word in words:
            for term, weight in word.weights():
                weights[term] = max(weight, weights.get(term, 0.0))
        # The mean Jaro-Winkler similarity of the words to their closest in each name.
        texts = [word.text for word in words]
        similar = process.cdist(
            texts, self._name_words, scorer=JaroWinkler.similarity, dtype=np.float64
        )
        likeness = np.maximum.reduceat(similar[:, self._flat], self._starts, axis=1).mean(axis=0)
        total = np.zeros(len(self._entries))
        if self._bm25 is not None:
            for term, weight in weights.items():
                if term in self._bm25.idf:
                    total += weight * self._bm25.get_scores([term])
        relevance = np.maximum(total, 0.0)
        relevance /= float(relevance.max()) or 1.0
        in_domain = np.array([not e.domain_stems.isdisjoint(weights) for e in self._entries])
        shares = np.array([not terms.isdisjoint(weights) for terms in self._terms])
        boosted = relevance + JARO_WINKLER_BOOST * likeness + DOMAIN_BOOST * in_domain
        best = 1 + JARO_WINKLER_BOOST + DOMAIN_BOOST
        matched = in_domain | shares | (likeness >= JARO_WINKLER_FLOOR)
        if cosines is not None:
            boosted = boosted + VECTOR_BOOST * np.maximum(closeness(cosines), 0.0)
            best += VECTOR_BOOST
            # Embedders differ in the similarity that they give to unrelated texts. A tool stands
            # out by three standard deviations (of a normal distribution, by the median absolute
            # deviation) from the catalog's median.
            above = cosines - np.median(cosines)
            deviation = 1.4826 * float(np.median(np.abs(above)))
            matched = matched | (above > max(3.0 * deviation, 1e-6))
        low, high = FALLBACK_RANGE
        scaled = low + (high - low) * np.clip(boosted / best, 0.0, 1.0)
        return np.where(matched, scaled, 0.0)


@dataclass(frozen=True)
class PhoneticMatch:
    """A word of a query and its possible meanings, as stems."""

    text: str
    own: str
    alternatives: tuple[str, ...]
    """Stems of similar words, by look or sound, in tool names and domains, likeliest first."""
    is_known: bool
    """True if the catalog has the word itself."""

    @property
    def stems(self) -> tuple[str, ...]:
        """The word's own stem, followed by the alternatives if the word is unknown."""
        return (self.own,) if self.is_known else (self.own, *self.alternatives)

    def weights(self) -> Iterator[tuple[str, float]]:
        """Yield every stem with its weight in a ranking."""
        yield self.own, 1.0
        for alternative in self.alternatives:
            yield alternative, _KNOWN if self.is_known else _UNKNOWN


class PhoneticIndex:
    """Matches the words of queries with those of one catalog, by spelling and by sound.

    Words of tool names and domains are used unstemmed.
    """

    def __init__(self, names: Iterable[str], stems: Iterable[str]) -> None:
        """Index the words of tool names and domains, and the stems of all descriptions."""
        self._names = sorted({name for name in names if len(name) >= _SHORTEST})
        self._name_stems = frozenset(map(stem, self._names))
        self._stems = frozenset(stems) | self._name_stems
        self._by_sound: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            for sound in _sounds(name):
                self._by_sound[sound].append(name)

    def match(self, words: Iterable[str]) -> tuple[PhoneticMatch, ...]:
        """Return the content words of a query, each once, in order."""
        said = (word for word in self._joined(list(words)) if word not in STOP_WORDS)
        return tuple({match.own: match for match in map(self._match, said)}.values())

    def _match(self, word: str) -> PhoneticMatch:
        own = stem(word)
        alike: dict[str, float] = {}
        if own not in self._name_stems and len(word) >= _SHORTEST:
            # Words of names with a similar look or sound, most similar first.
            alike = self._looks_like(word)
            for name in (name for sound in _sounds(word) for name in self._by_sound.get(sound, ())):
                # Below this, two words that sound alike are still different ones.
                similarity = JaroWinkler.similarity(word, name)
                if similarity >= 0.65:
                    alike[name] = similarity
        best = sorted(alike, key=lambda name: (-alike[name], name))[:_MOST_ALTERNATIVES]
        alternatives = tuple(dict.fromkeys(map(stem, best)))
        return PhoneticMatch(word, own, alternatives, is_known=own in self._stems)

    def _looks_like(self, word: str) -> dict[str, float]:
        found = process.extract(
            word,
            self._names,
            scorer=JaroWinkler.similarity,
            score_cutoff=JARO_WINKLER_FLOOR,
            limit=_MOST_ALTERNATIVES,
        )
        return {name: similarity for name, similarity, _ in found}

    def _joined(self, words: list[str]) -> Iterator[str]:
        """Yield the words, joining pairs that form one word of a name: `fore cast`."""
        at = 0
        while at < len(words):
            left, pair = words[at], "".join(words[at : at + 2])
            is_apart = {*map(stem, words[at : at + 2])} <= self._stems
            is_one = at + 1 < len(words) and not is_apart
            if is_one and (stem(pair) in self._name_stems or self._looks_like(pair)):
                yield pair
                at += 2
            else:
                yield left
                at += 1


def _sounds(word: str) -> set[str]:
    """Return Metaphone keys of the word and its stem: `flites` sounds like `flight` by stem."""
    return {jellyfish.metaphone(form) for form in (word, stem(word))} - {""}


def _name_score(entry: _Entry, query: str, words: Sequence[PhoneticMatch]) -> float:
    if query and query == entry.joined:
        return EXACT
    shorter, longer = sorted((query, entry.joined), key=len)
    if len(shorter) >= 3 and shorter in longer:
        return SUBSTRING
    held = [word for word in words if not entry.stems.isdisjoint(word.stems)]
    of_domain = [word for word in words if not entry.domain_stems.isdisjoint(word.stems)]
    if not held and not of_domain:
        return 0.0
    wanted, named, common = len(words), len(entry.words), len(held)
    # A single common word is no match ("book a table" shares one with every tool that books). The
    # descriptions discriminate better, so the second tier decides.
    if common and (common == wanted or common >= max(2, named)):
        alike = sum(1.0 if word.text in entry.words else _INFLECTED for word in held)
        (low, high), share = OVERLAP_RANGE, alike / max(1, wanted + named - min(common, named))
    elif of_domain and all(word in held or word in of_domain for word in words):
        (low, high), share = DOMAIN_RANGE, 1 - len(of_domain) / wanted
    else:
        return 0.0
    return low + (high - low) * min(max(share, 0.0), 1.0)


def _joined(text: str) -> str:
    return _SEPARATORS.sub("_", " ".join(tokens(text))).strip("_")
