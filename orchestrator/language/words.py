"""Words: tokens, stop words, stems and the classes of verbs."""

import re
from functools import lru_cache
from itertools import chain
from typing import Final

from Stemmer import Stemmer

from orchestrator.language.intent import Action
from orchestrator.language.word_lists import WordLists

_WORDS: Final = WordLists("words")
_TOKEN = re.compile(
    rf"\b(?i:{'|'.join(_WORDS.words('hyphenated'))})[^\W_]*|[^\W_]+(?:['\u2019][^\W_]+)*"
)
# A hump ends before an upper case letter that follows a lower case one or a digit, or that starts
# the last word of a run of capitals (HTTPServer is HTTP, Server), and between letters and digits.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS_OR_DIGITS = re.compile(r"\d+|\D+")
_CLITIC = re.compile(r"['\u2019](?:s|re|ve|ll|d|m|t)$")
_WORDS_KEPT: Final = 1 << 16
"""Texts hold the same words again and again, as they are written."""

STOP_WORDS: Final = _WORDS.word_set("stop_words")
"""Words that say nothing of what is asked."""
QUESTION_WORDS: Final = _WORDS.word_set("question_words")
"""Words a question starts with."""

_VERB_LISTS: Final = WordLists("verbs")
_VERBS: Final = {
    verb: Action(action)
    for action, verbs in _VERB_LISTS.table("classes").items()
    for verb in verbs.split()
}
VERBS: Final = frozenset(_VERBS)
"""Verbs that the lexicon holds, in their base form."""
_PHRASAL: Final = {
    tuple(pair.split()): Action(action) for pair, action in _VERB_LISTS.table("phrasal").items()
}
_PARTICLES: Final = _VERB_LISTS.word_set("particles")
NOUN_LIKE_VERBS: Final = _VERB_LISTS.word_set("noun_like")
"""Verbs that are as often nouns or adjectives: what follows must tell."""
WARY_VERBS: Final = _VERB_LISTS.word_set("wary")
"""Verbs of reading that may as well change something."""
COMPUTING_VERBS: Final = _VERB_LISTS.word_set("computing")
"""Verbs that make one value of another, unless what they are done to is held somewhere."""
WEAK_VERBS: Final = _VERB_LISTS.word_set("weak")
"""Verbs that say that something is given, and not how it comes about."""

_ANY_CHANGE: Final = _VERB_LISTS.word_set("any_change")
_VAGUE: Final = _VERB_LISTS.word_set("vague")

_stemmer = Stemmer("english", 0)  # words are kept below, at a third of what its own keeping takes


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The Snowball (English) stem of one lower case word."""
    return str(_stemmer.stemWord(word))


_VERB_STEMS: Final = {stem(verb): action for verb, action in _VERBS.items()}


def lowered(text: str) -> str:
    """The text in lower case, every character at its place; those that would become two stay.

    Patterns that ignore case cost twice as much as plain ones on such a text.
    """
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def tokens(text: str) -> list[str]:
    """Lower case words of prose or of an identifier, in order.

    `flight_search_offers`, `searchFlightOffers` and `HTTPServer.get` come apart at their humps and
    separators; the clitic of `what's` is dropped, an e-mail is an email and a stand-up a standup.
    """
    return [*chain.from_iterable(map(_apart, _TOKEN.findall(text)))]


@lru_cache(maxsize=_WORDS_KEPT)
def _apart(word: str) -> tuple[str, ...]:
    """The words that one is, between separators."""
    bare = _CLITIC.sub("", word) if "-" not in word else word.replace("-", "").lower()
    if bare.islower() or not bare.isascii():
        return (bare.lower(),)
    return tuple(part.lower() for part in _HUMP.split(bare) if part)


@lru_cache(maxsize=1 << 12)
def name_words(name: str) -> tuple[str, ...]:
    """`departureDate2` and `departure-date-2` as (departure, date, 2); a sign alone as itself."""
    apart = (part for word in tokens(name) for part in _LETTERS_OR_DIGITS.findall(word))
    return tuple(apart) or (name.lower(),)


def content_stems(text: str) -> list[str]:
    """Stems of the words that say something, in order, repeats kept."""
    return [*chain.from_iterable(map(_telling, _TOKEN.findall(text)))]


@lru_cache(maxsize=_WORDS_KEPT)
def _telling(word: str) -> tuple[str, ...]:
    """The stems of the words that one is and that say something."""
    return tuple(stem(part) for part in _apart(word) if part not in STOP_WORDS)


@lru_cache(maxsize=1 << 12)
def name_stems(name: str) -> tuple[str, ...]:
    """The same of a name or a value: a request's come again in its clauses."""
    return tuple(content_stems(name))


def action_of(word: str, following: str = "") -> Action:
    """The class of a verb in its base form; UNKNOWN when the lexicon does not hold it.

    `following` is the next word: "look up" and "tell me" are other verbs than "look" and "tell".
    """
    return _PHRASAL.get((word, following)) or _VERBS.get(word, Action.UNKNOWN)


def particle_in(first: str, following: str, last: str) -> str:
    """What the first word of a clause makes a phrasal verb with: the next word, or the last one."""
    return last if last in _PARTICLES and (first, last) in _PHRASAL else following


def reverses(word: str) -> str:
    """The verb that a verb takes back: share of unshare; empty where there is none."""
    base = word.removeprefix("un")
    return base if base != word and word not in _VERBS and base in _VERBS else ""


def is_verb(word: str) -> bool:
    """Whether the lexicon holds the word as a verb, in its base form."""
    return word in VERBS


def is_any_change(verb: str) -> bool:
    """Return true if a verb says that something is changed, and not how: update, edit."""
    return verb in _ANY_CHANGE


def is_vague(verb: str) -> bool:
    """Return true if a verb says nothing of what happens to a thing: put, get."""
    return verb in _VAGUE


def action_of_stem(word_stem: str) -> Action:
    """The class of a verb known by its stem ("retriev"), as inflected words give it."""
    return _VERB_STEMS.get(word_stem, Action.UNKNOWN)


def verb_named(name: str, summary: str, *, but: str, method: str) -> tuple[str, Action]:
    """The verb that an operation is named by, and its class; UNKNOWN where no lexicon holds it.

    Args:
        name: of the operation; its first word that is a verb.
        summary: its first word decides where the name begins with no verb.
        but: words that are none of the name's, unless it has no others: its domain.
        method: of HTTP; a name that begins with it says it for the sake of form.
    """
    domain = set(content_stems(but))
    words = [word for word in tokens(name) if stem(word) not in domain] or tokens(name)
    first = next(iter(tokens(summary)), "")
    is_told = action_of_stem(stem(first)) is not Action.UNKNOWN
    if words[:1] == [method.lower()] and (len(words) > 1 or is_told):
        words = words[1:]
    if words and is_verb(words[0]):
        return words[0], action_of(words[0], next(iter(words[1:]), ""))
    if is_told:
        return first, action_of_stem(stem(first))
    for word in words[1:]:
        if is_verb(word) and (word not in NOUN_LIKE_VERBS or len(words) == 2):
            return word, action_of(word)
    return first, Action.UNKNOWN
