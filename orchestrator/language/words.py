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
# A part ends before an upper case letter that follows a lower case one or a digit, or that starts
# the last word of a run of capitals (HTTPServer is HTTP, Server), and between letters and digits.
# The s of a plural belongs to its capitals: getURLsFor is get, URLs, For.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
_SPELLED_PLURAL = re.compile(r"[b-df-hj-np-tv-xz]{2,}(?<!s)s")
"""Plurals of abbreviations without a vowel, which the stemmer leaves as they are: vpcs, vms."""
_LETTERS_OR_DIGITS = re.compile(r"\d+|\D+")
_CLITIC = re.compile(r"['\u2019](?:s|re|ve|ll|d|m|t)$")
_NAME: Final = 48
"""Maximum characters of a text that counts as a name, whose tokens are cached."""
_WORDS_KEPT: Final = 1 << 16
"""Size of the caches of words, as texts repeat the same words in the same spelling."""

STOP_WORDS: Final = _WORDS.word_set("stop_words")
"""Words without meaning for a request."""
QUESTION_WORDS: Final = _WORDS.word_set("question_words")
"""Words that start a question."""

_VERB_LISTS: Final = WordLists("verbs")
_VERBS: Final = {
    verb: Action(action)
    for action, verbs in _VERB_LISTS.table("classes").items()
    for verb in verbs.split()
}
_PHRASAL: Final = {
    tuple(pair.split()): Action(action) for pair, action in _VERB_LISTS.table("phrasal").items()
}
NOUN_LIKE_VERBS: Final = _VERB_LISTS.word_set("noun_like")
"""Verbs that are as often nouns or adjectives, so that the next word decides."""
WARY_VERBS: Final = _VERB_LISTS.word_set("wary")
"""Verbs of reading that may also change something."""
COMPUTING_VERBS: Final = _VERB_LISTS.word_set("computing")
"""Verbs that compute one value from another, unless their object is stored somewhere."""
WEAK_VERBS: Final = _VERB_LISTS.word_set("weak")
"""Verbs that say that something is given, but not how."""

_ANY_CHANGE: Final = _VERB_LISTS.word_set("any_change")

_stemmer = Stemmer("english", 0)  # words are cached below, in a third of the time of its own cache


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Return the Snowball (English) stem of one lower case word."""
    return str(_stemmer.stemWord(word[:-1] if _SPELLED_PLURAL.fullmatch(word) else word))


_VERB_STEMS: Final = {stem(verb): action for verb, action in _VERBS.items()}


def lowered(text: str) -> str:
    """Return the text in lower case with unchanged positions; characters that would expand stay.

    Patterns that ignore case cost twice as much as plain ones on such a text.
    """
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def tokens(text: str) -> list[str]:
    """Return lower case words of prose or of an identifier, in order.

    `flight_search_offers`, `searchFlightOffers` and `HTTPServer.get` are split at capitals and
    separators; the clitic of `what's` is dropped, an e-mail is an email and a stand-up a standup.
    """
    return [*(_read(text) if len(text) <= _NAME else _read.__wrapped__(text))]


@lru_cache(maxsize=_WORDS_KEPT)
def _read(text: str) -> tuple[str, ...]:
    return (*chain.from_iterable(map(_apart, _TOKEN.findall(text))),)


@lru_cache(maxsize=_WORDS_KEPT)
def _apart(word: str) -> tuple[str, ...]:
    bare = _CLITIC.sub("", word) if "-" not in word else word.replace("-", "").lower()
    if bare.islower() or not bare.isascii():
        return (bare.lower(),)
    return tuple(part.lower() for part in _HUMP.split(bare) if part)


@lru_cache(maxsize=1 << 12)
def name_words(name: str) -> tuple[str, ...]:
    """Return `departureDate2`, or `departure-date-2`, as (departure, date, 2); signs unchanged."""
    apart = (part for word in tokens(name) for part in _LETTERS_OR_DIGITS.findall(word))
    return tuple(apart) or (name.lower(),)


def content_stems(text: str) -> list[str]:
    """Return stems of the meaningful words, in order, with repeats."""
    return [*chain.from_iterable(map(_content_parts, _TOKEN.findall(text)))]


@lru_cache(maxsize=_WORDS_KEPT)
def _content_parts(word: str) -> tuple[str, ...]:
    return tuple(stem(part) for part in _apart(word) if part not in STOP_WORDS)


@lru_cache(maxsize=1 << 12)
def name_stems(name: str) -> tuple[str, ...]:
    """Return the same for a name or a value, cached: a request's recur in its clauses."""
    return tuple(content_stems(name))


def action_of(word: str, following: str = "") -> Action:
    """Return the class of a verb in its base form; UNKNOWN if the lexicon does not hold it.

    `following` is the next word: "look up" is another verb than "look".
    """
    return _PHRASAL.get((word, following)) or _VERBS.get(word, Action.UNKNOWN)


def is_verb(word: str) -> bool:
    """Return True if the lexicon holds the word as a verb, in its base form."""
    return word in _VERBS


def is_any_change(verb: str) -> bool:
    """Return True if a verb only says that something is changed, not how: update, edit."""
    return verb in _ANY_CHANGE


def action_of_stem(word_stem: str) -> Action:
    """Return the class of a verb by its stem ("retriev"), as inflected words yield it."""
    return _VERB_STEMS.get(word_stem, Action.UNKNOWN)


def verb_named(name: str, summary: str, *, but: str, method: str) -> tuple[str, Action]:
    """Return the verb in an operation's name, and its class; UNKNOWN if no lexicon holds it.

    Args:
        name: the operation's name; its first word that is a verb counts.
        summary: its first word decides if the name does not begin with a verb.
        but: words to ignore in the name, unless it has no others: its domain.
        method: the HTTP method; a name that begins with it does so for form's sake.
    """
    domain = set(content_stems(but))
    words = [word for word in tokens(name) if stem(word) not in domain] or tokens(name)
    first = next(iter(tokens(summary)), "")
    names_act = action_of_stem(stem(first)) is not Action.UNKNOWN
    if words[:1] == [method.lower()] and (len(words) > 1 or names_act):
        words = words[1:]
    if words and is_verb(words[0]):
        return words[0], action_of(words[0], next(iter(words[1:]), ""))
    if names_act:
        return first, action_of_stem(stem(first))
    for word in words[1:]:
        if is_verb(word) and (word not in NOUN_LIKE_VERBS or len(words) == 2):
            return word, action_of(word)
    return first, Action.UNKNOWN
