"""Words as the router sees them: tokens, stop words, stems and the classes of verbs."""

import re
from functools import lru_cache
from typing import Final

from Stemmer import Stemmer

from orchestrator.language.intent import Action

_TOKEN = re.compile(r"[eE]-(?=[mM]ail)[^\W_]+|[^\W_]+(?:['\u2019][^\W_]+)*")
# A hump ends before an upper case letter that follows a lower case one or a digit, or that starts
# the last word of a run of capitals (HTTPServer is HTTP, Server), and between letters and digits.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLITIC = re.compile(r"['\u2019](?:s|re|ve|ll|d|m|t)$")

_STOP_WORDS = """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can cannot could did do does doing don down during each either else etc
    ever every few for from further get give gives giving got had has have having he hello her
    here hers hey hi him his how i if in into is it its itself just kindly let like me mine more
    most must my myself need needs needed needing no nor not now of off on once one only or other
    our ours out over own please same shall she should so some such than thank thanks that the
    their theirs them then there these they this those through to too under until up upon us use
    used using very via want wants wanted was we well were what when where which while who whom
    whose why will with within without would yes yet you your yours able help helps could know
    tell assist im ive id youre dont lets provide provides provided providing looking interested
    wondering regarding
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Words that say nothing of what is asked."""

_VERB_CLASSES: Final[dict[Action, str]] = {
    Action.READ: """
        access analyse analyze answer assess calculate check classify compare compute convert
        count describe detect determine display download estimate evaluate examine explain extract
        fetch forecast gather get identify inspect know learn measure monitor obtain open predict
        print provide read recommend retrieve return see solve suggest summarise summarize track
        translate understand validate verify view watch
    """,
    Action.SEARCH: """
        browse discover enumerate explore filter find hunt list locate look lookup match query scan
        search seek show
    """,
    Action.CREATE: """
        add apply arrange assign book build buy compose create design develop draft enrol enroll
        establish file generate grab hire insert install issue launch lodge log make order
        organise organize place plan prepare produce publish purchase put raise record register
        rent report request reserve save schedule setup start store submit subscribe upload write
    """,
    Action.CANCEL: """
        abort annul bin cancel clear delete destroy discard ditch drop erase remove rescind retract
        revoke scrap scratch stop trash terminate unblock undo unfollow uninstall unregister
        unsubscribe void withdraw
    """,
    Action.SEND: """
        alert announce ask broadcast call contact dm email forward inform invite mail message
        notify nudge ping post remind reply respond send share tell text warn
    """,
    Action.PAY: """
        bill charge deposit donate invoice pay refund reimburse remit settle tip transfer wire
    """,
    Action.UPDATE: """
        activate adjust alter amend approve archive change complete configure copy correct
        deactivate decrease disable downgrade edit enable extend fix increase merge modify move
        postpone rearrange reject rename replace reschedule reset restore revise set shift shorten
        sort switch sync synchronize turn update upgrade
    """,
}

_VERBS: Final = {verb: action for action, verbs in _VERB_CLASSES.items() for verb in verbs.split()}

_PHRASAL: Final[dict[tuple[str, str], Action]] = {
    ("look", "up"): Action.SEARCH,
    ("look", "for"): Action.SEARCH,
    ("set", "up"): Action.CREATE,
    ("sign", "up"): Action.CREATE,
    ("call", "off"): Action.CANCEL,
    ("take", "back"): Action.CANCEL,
    ("let", "know"): Action.SEND,
    ("get", "rid"): Action.CANCEL,
    ("tell", "me"): Action.READ,
    ("show", "me"): Action.SEARCH,
    ("send", "me"): Action.READ,
    ("ask", "for"): Action.CREATE,
    ("push", "back"): Action.UPDATE,
    ("put", "off"): Action.UPDATE,
    ("sign", "in"): Action.CREATE,
    ("log", "in"): Action.CREATE,
    ("throw", "away"): Action.CANCEL,
    ("throw", "out"): Action.CANCEL,
}
_PARTICLES: Final = frozenset({"off", "back", "away", "out"})
"""Those that may stand after the thing too: "call the meeting off"."""

_QUESTION_WORDS = (
    "what when where who whom whose which why how is are am was were does did do has have"
)
QUESTION_WORDS: Final = frozenset(_QUESTION_WORDS.split())
"""Words a question starts with."""

SIDE_EFFECT_ACTIONS: Final = frozenset(
    {Action.CREATE, Action.CANCEL, Action.SEND, Action.PAY, Action.UPDATE}
)
"""Actions that leave something behind at a provider."""

_NOUN_LIKE_VERBS = """
    access alert answer apply assign bill bin book call change charge check contact copy count
    deposit design display draft drop estimate extract file filter fix forecast hire hunt
    increase decrease inform invite invoice issue launch list log look mail make match measure
    merge message monitor move order plan post print query read record refund remind rent reply
    report request reset return reserve save scan scratch search set share show sort start stop
    store switch text tip track transfer turn update upgrade view void watch wire place put
    email open complete clear see shift
"""
NOUN_LIKE_VERBS: Final = frozenset(_NOUN_LIKE_VERBS.split())
"""Verbs that are as often nouns or adjectives: what follows must tell."""

_stemmer = Stemmer("english")


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The Snowball (English) stem of one lower case word."""
    return str(_stemmer.stemWord(word))


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
    separators; the clitic of `what's` is dropped, and an e-mail is an email.
    """
    words: list[str] = []
    for word in _TOKEN.findall(text):
        # Most words, and the humps of the rest take time to find.
        if word.isalnum() and (word.islower() or word.isdigit()):
            words.append(word)
            continue
        if word.isalpha() and (word.istitle() or word.isupper()):
            words.append(word.lower())
            continue
        bare = _CLITIC.sub("", word) if word[1:2] != "-" else word.replace("-", "").lower()
        if bare.islower() or not bare.isascii():
            words.append(bare.lower())
        else:
            words.extend(part.lower() for part in _HUMP.split(bare) if part)
    return words


def content_stems(text: str) -> list[str]:
    """Stems of the words that say something, in order, repeats kept."""
    return [stem(word) for word in tokens(text) if word not in STOP_WORDS]


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
    """The verb that a verb undoes: share of unshare; empty where there is none."""
    base = word.removeprefix("un")
    return base if base != word and word not in _VERBS and base in _VERBS else ""


def is_verb(word: str) -> bool:
    """Whether the lexicon holds the word as a verb, in its base form."""
    return word in _VERBS


def action_of_stem(word_stem: str) -> Action:
    """The class of a verb known by its stem ("retriev"), as inflected words give it."""
    return _VERB_STEMS.get(word_stem, Action.UNKNOWN)


_VERB_STEMS: Final = {stem(verb): action for verb, action in _VERBS.items()}
