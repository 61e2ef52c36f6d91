"""Phonetic match: which words of a catalog a typo, a homophone or a phonetic slip may mean."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import jellyfish
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from orchestrator.language.words import STOP_WORDS, stem

JARO_WINKLER_FLOOR: Final = 0.93
"""Similarity from which two words count as one mistyped."""
_SOUND_FLOOR: Final = 0.65
"""The same of two words that sound alike: `right` is `write`, `mad` is not `mute`."""
_SHORTEST: Final = 3
"""Letters; shorter words are like too many others."""
_MOST_ALTERNATIVES: Final = 3
_UNKNOWN: Final = 0.9
"""What an alternative to a word counts that nothing in the catalog says."""
_KNOWN: Final = 0.5
"""The same of a word that descriptions hold: it may well be meant as it stands."""


@dataclass(frozen=True)
class PhoneticMatch:
    """A word of a query with what it may mean, as stems."""

    text: str
    own: str
    alternatives: tuple[str, ...]
    """Stems of words of tool names and domains that look or sound like it, likeliest first."""
    is_known: bool
    """Whether the catalog holds the word itself."""

    @property
    def stems(self) -> tuple[str, ...]:
        """Those it certainly stands for: its own, or its alternatives when its own is unknown."""
        return (self.own,) if self.is_known else (self.own, *self.alternatives)

    def weights(self) -> Iterator[tuple[str, float]]:
        """Every stem, with what it counts in a ranking."""
        yield self.own, 1.0
        for alternative in self.alternatives:
            yield alternative, _KNOWN if self.is_known else _UNKNOWN


class PhoneticIndex:
    """Matches the words of queries with those of one catalog.

    A word is taken for another when they are alike by Jaro-Winkler, or sound alike by Metaphone.
    Words that stand in tool names or domains are taken as they are.
    """

    def __init__(self, names: Iterable[str], stems: Iterable[str]) -> None:
        """Learn the words.

        Args:
            names: the words of tool names and domains.
            stems: the stems of all that is said of the tools, descriptions included.
        """
        self._names = sorted({name for name in names if len(name) >= _SHORTEST})
        self._name_stems = frozenset(map(stem, self._names))
        self._stems = frozenset(stems) | self._name_stems
        self._by_sound: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            for sound in _sounds(name):
                self._by_sound[sound].append(name)

    def match(self, words: Iterable[str]) -> tuple[PhoneticMatch, ...]:
        """The words of a query that say something, each once, in order."""
        said = (word for word in self._joined(list(words)) if word not in STOP_WORDS)
        return tuple({match.own: match for match in map(self._match, said)}.values())

    def _match(self, word: str) -> PhoneticMatch:
        own = stem(word)
        is_named = own in self._name_stems
        alternatives = () if is_named else tuple(dict.fromkeys(map(stem, self._alike(word))))
        return PhoneticMatch(word, own, alternatives, is_known=own in self._stems)

    def _alike(self, word: str) -> list[str]:
        """Words of names that look or sound like it, most similar first."""
        if len(word) < _SHORTEST:
            return []
        alike = self._looks_like(word)
        for sound in _sounds(word):
            for name in self._by_sound.get(sound, ()):
                similarity = JaroWinkler.similarity(word, name)
                if similarity >= _SOUND_FLOOR:
                    alike[name] = similarity
        return sorted(alike, key=lambda name: (-alike[name], name))[:_MOST_ALTERNATIVES]

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
        """The words, with those put together that belong together: `fore cast`."""
        at = 0
        while at < len(words):
            pair = "".join(words[at : at + 2])
            if at + 1 < len(words) and self._is_split(words[at], words[at + 1], pair):
                yield pair
                at += 2
            else:
                yield words[at]
                at += 1

    def _is_split(self, left: str, right: str, pair: str) -> bool:
        apart = {stem(left), stem(right)} <= self._stems
        return not apart and (stem(pair) in self._name_stems or bool(self._looks_like(pair)))


def _sounds(word: str) -> set[str]:
    """Metaphone keys of the word and of its stem: `flites` sounds like `flight` by the latter."""
    return {jellyfish.metaphone(form) for form in (word, stem(word))} - {""}
