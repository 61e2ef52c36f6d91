"""Words of degree: by what "heavier" and "longest" put things in order, and what is compared."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem

_LISTS: Final = WordLists("telling")
_BASES: Final = _LISTS.table("degrees")


class Degree(NamedTuple):
    """One measure that a word may mean, and which end of it."""

    of: str
    """A dimension of CLDR's units, "money", "moment" or "size"."""
    sign: int
    """1: more of it is more."""

    @property
    def opposite(self) -> "Degree":
        """The other end: "less heavy"."""
        return Degree(self.of, -self.sign)


Degrees = tuple[Degree, ...]


def _read(line: str) -> Degrees:
    return tuple(Degree(word[1:], 1 if word[0] == "+" else -1) for word in line.split())


def _formed(ending: str) -> Iterator[tuple[str, Degrees]]:
    for base, line in _BASES.items():
        whole = base[:-1] + "i" if base.endswith("y") else base.removesuffix("e")
        for form in (whole + ending, base + base[-1] + ending):
            yield form, _read(line)


_COMPARATIVES: Final[Mapping[str, Degrees]] = dict(_formed("er"))
SUPERLATIVES: Final[Mapping[str, Degrees]] = dict(_formed("est"))
"""By what each orders things: "lightest"."""
MEASURING: Final[Mapping[str, Degrees]] = {
    stem(verb): _read(line) for verb, line in _LISTS.table("measuring").items()
}
"""By the stems of verbs: "costs the most"."""
DEGREE_WORDS: Final = frozenset({*_COMPARATIVES, *SUPERLATIVES, *_BASES} - {"long", "light", "new"})
"""Words that name no thing, but how it is; some of them may name one."""

_WORD: Final = rf"(?P<word>{'|'.join(_COMPARATIVES)}|(?:more|less)\s+(?:{'|'.join(_BASES)}))"
_VERBS: Final = "|".join(_LISTS.table("measuring"))
_ASKED: Final = (
    rf"(?:is|are|was|were|will)\s+(?P<one>.+?)\s+(?:be\s+)?{_WORD}\s+than\s+(?P<other>.+?)",
    rf"(?:does|do|did|will)\s+(?P<one>.+?)\s+(?P<verb>{_VERBS})\s+"
    rf"(?P<word>more|less|longer|shorter)\s+than\s+(?P<other>.+?)",
    rf"(?:is|are|was|were)\s+(?P<one>.+?)\s+or\s+(?P<other>.+?)\s+{_WORD}",
    rf"(?:which|what|who)\b.*?\b{_WORD}\s*[,:;-]?\s*(?P<one>.+?)\s+or\s+(?P<other>.+?)",
)
_PATTERNS: Final = tuple(re.compile(rf"\W*{one}\W*", re.IGNORECASE) for one in _ASKED)


class Comparison(NamedTuple):
    """Two things that a question compares."""

    one: str
    other: str
    word: str
    degrees: Degrees
    is_whether: bool
    """Whether it is asked of the first, "is A heavier than B"; else which of them it is."""


def comparison_in(text: str) -> Comparison | None:
    """What a question compares: "is the Otter heavier than the Heron"; None where it does not."""
    for pattern in _PATTERNS:
        if (found := pattern.fullmatch(text)) is not None:
            word = " ".join(found["word"].lower().split())
            verb = found.groupdict().get("verb")
            degrees = _meant(word, verb.lower() if verb else "")
            is_whether = re.search(r"\bthan\b", text, re.IGNORECASE) is not None
            return Comparison(found["one"], found["other"], word, degrees, is_whether)
    return None


def _meant(word: str, verb: str) -> Degrees:
    first, _, base = word.partition(" ")
    if verb:
        degrees = MEASURING[stem(verb)]
    else:
        degrees = _read(_BASES[base]) if base else _COMPARATIVES[word]
    is_less = first == "less" or (bool(verb) and first == "shorter")
    return tuple(one.opposite for one in degrees) if is_less else degrees


def degrees_in(text: str) -> Degrees:
    """By what a text puts things in order, where one word of it says so; mostly by nothing."""
    if (comparison := comparison_in(text)) is not None:
        return comparison.degrees
    said = re.findall(r"[a-z]+", text.lower())
    for word in said:
        if word in SUPERLATIVES:
            return SUPERLATIVES[word]
    return ()
