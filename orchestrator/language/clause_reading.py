"""One clause, read: what it asks to be done, with which nouns, and whether it is forbidden."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from orchestrator.language.clauses import (
    MATTER,
    SUBJECT,
    begins_request,
    leaves_alone,
    without_lead,
)
from orchestrator.language.date_words import MONTH
from orchestrator.language.guests import guests_span
from orchestrator.language.inflection import participle, singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.numbers import NUMBER_WORDS
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    PERMITTING_VERBS,
    QUESTION_WORDS,
    STOP_WORDS,
    VERBS,
    action_of,
    action_of_stem,
    content_stems,
    is_verb,
    lowered,
    particle_in,
    reverses,
    stem,
    tokens,
)

_LISTS: Final = WordLists("clauses")
# "I am not flying any more" says how things are and forbids nothing; nor does "never mind".
_NEGATED: Final = re.compile(
    r"\b(?:don['\u2019]?t|do\s+not|does\s+not|never"
    r"|(?<!\bam\s)(?<!\bare\s)(?<!\bis\s)(?<!\bwas\s)(?<!\bwere\s)not(?:\s+yet)?"
    r"|without|no\s+need\s+to|instead\s+of|rather\s+than|avoid)\b"
    r"(?!\s+(?:let\s+\w+\s+)?(?:forget|mind|hesitate)\b)",
    re.IGNORECASE,
)
_STATED_WISH: Final = re.compile(
    r"(?:(?:i|we)(?:['\u2019](?:m|re|d))?|need|want|looking\s+for)\b", re.IGNORECASE
)
# "Any bills to pay?" pays none, but "any chance you could book it?" is an order.
_ANY: Final = re.compile(r"any(?:thing|one|body)?\s+(?!chance\b|way\b|possib)", re.IGNORECASE)
# To say something, in other words than those of a verb: "let Bob know", "drop me a line", "write
# in #team".
_SAYING: Final = re.compile(
    r"(?P<let>let\s+(?:\S+\s+){1,4}?know)\b"
    r"|(?P<write>write)\b(?=\s+(?:in|to|on)\s+(?:\S+\s+){1,4}?that\b|\s+(?:in|to|on)\s+[^\s:]*[#@])"
    r"|(?P<give>drop|give|shoot|throw|fire|leave|pop)\s+(?P<to>(?:\S+\s+){0,4}?)(?:off\s+)?an?\s+(?:\w+\s+)?"
    r"(?P<what>line|note|shout|heads[-\s]up|e-?mail|message|text|ping)\b",
    re.IGNORECASE,
)
_LISTING: Final = re.compile(
    r"(?:make|give|create|prepare|compile|draw\s+up|put\s+together|get|show|send)\s+(?:(?:me|us)\s+)?"
    r"an?\s+(?:\w+\s+)?list\s+of\s+(?=(?:all|my|our|the|every|each|what|which|whatever)\b)",
    re.IGNORECASE,
)
_ON_A_PRONOUN: Final = re.compile(r"\s*[a-z]+\s+(?:it|them|everything|nothing)\b", re.IGNORECASE)
_TO_ME: Final = re.compile(r"let\s+(?:me|us)\s+know\b", re.IGNORECASE)
_NOTES: Final = frozenset(_LISTS.lines("notes"))
# "Remind me to pay the bill", "ask Bob to book a room": what somebody is told to do is said.
_TO_DO: Final = re.compile(r"\sto\s+(?P<verb>[a-z]+)\b(?:\s+(?P<next>[a-z]+))?", re.IGNORECASE)
# Signs that what somebody has already is meant, and not what there is.
_OWN: Final = re.compile(
    r"\b(?:my|our|mine|ours|existing|upcoming|(?:have|had|did|do|am|are)\s+(?:i|we)"
    r"|(?:i|we)(?:['\u2019]ve|\s+(?:have|had|did|booked|made|reserved|rented|ordered|paid|filed)))\b"
)
_TOLD_TO_DO: Final = _LISTS.word_set("told_to_do")
_TOLD_OF: Final = _LISTS.word_set("told_of")
_TELLING: Final = _LISTS.word_set("telling")
_ASKS: Final = _LISTS.word_set("asking")
_ABOUT: Final = re.compile(
    r"(?<!morning)(?<!afternoon)(?<!evening)(?<!night)\s(?:of|about)\s"
    rf"(?!(?:the\s+|this\s+|next\s+)?(?:week|month|year|{MONTH})\b)",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"\s(?:what|when|where|how|why|who|which|whether|if)\b", re.IGNORECASE
)
_ASKED_LAST: Final = re.compile(rf"{_QUESTION.pattern}(?:\s\w+)?$", re.IGNORECASE)
_TOLD_THING: Final = re.compile(
    r"(?P<before>\S+)\s(?=(?:the|its|their|his|her|our|my|this|what|when|where|how|why|who|which)"
    r"\s+[\w'\u2019-]+)",
    re.IGNORECASE,
)
"""What is told as a thing, behind whom it is told to: "tell #team the price"."""
_ADDRESS: Final = re.compile(r"\S*[#@]\S*")
_TO_SAY: Final = re.compile(r"\sto\s+say\s", re.IGNORECASE)
_QUOTED_LAST: Final = re.compile(r"\s(?:\"[^\"]*\s[^\"]*\"|“[^”]*\s[^”]*”)[\s.!?]*$")
"""Several words between quotation marks, with nothing behind them."""
_NAMED_WITHIN: Final = 40
"""Characters in which who is told is named; later, "that" goes on about something else."""
_OBJECT_ENDS: Final = _LISTS.word_set("after_objects")
_ONESELF: Final = frozenset({"me", "us"})
_MAX_OBJECTS = 6
_CLAUSES_KEPT: Final = 64
"""Those of one request, each of which is read for several purposes."""
_DETERMINERS: Final = _LISTS.word_set("determiners")
_BEFORE_NOUNS: Final = _LISTS.word_set("before_nouns")
"""What a verb that commands never follows: "the Archive folder"."""
_TELLS_HOW: Final = re.compile(r"\w+(?:[^e]ed|ive|able|ible)")
PARTICIPLES: Final = frozenset(map(participle, VERBS)) - VERBS
"""Words made of verbs, which tell how a thing is."""
MODALS: Final = _LISTS.word_set("modals")
"""Words a question may start with that are verbs of their own: can, should."""
_ASKING: Final = QUESTION_WORDS | MODALS


@dataclass(frozen=True, slots=True)
class ClauseReading:
    """One clause, read: `stems` of its content words, `objects` the nouns after its verb.

    `unwanted` are the stems of what other clauses say is not to be done, `reference` the words that
    point at what came before, `likely` the domain of what is done next to what is asked for.
    `is_own` says that what somebody has already is meant: "my flights".
    """

    text: str
    stems: tuple[str, ...]
    verb: str = ""
    action: Action = Action.UNKNOWN
    objects: tuple[str, ...] = ()
    is_negated: bool = False
    unwanted: tuple[str, ...] = ()
    reference: str = ""
    likely: str = ""
    is_own: bool = False

    @property
    def asks_side_effect(self) -> bool:
        """Whether the clause orders something that leaves a trace at a provider."""
        return not self.is_negated and self.action in SIDE_EFFECT_ACTIONS


class CatalogVerbs(Mapping[str, Action]):
    """Verbs that a catalog's tools are named by, and the classes of those that no lexicon holds.

    Class UNKNOWN has what the tools do not tell either. It is hashable: what was read with it is
    kept.
    """

    def __init__(self, classes: Mapping[str, Action]) -> None:
        """Take the verbs in their base form, lower case, each with its class."""
        self._classes = dict(classes)
        self._hash = hash(frozenset(self._classes.items()))

    def __getitem__(self, verb: str) -> Action:
        return self._classes[verb]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogVerbs) and self._classes == other._classes

    def __hash__(self) -> int:
        return self._hash


NO_VERBS: Final = CatalogVerbs({})

_OWN_THING: Final = re.compile(r"\s*(?:my|our|your|his|her|their|its)\s", re.IGNORECASE)
_NAMES_A_THING: Final = re.compile(r"\s*(?:an?|the|my|our|your|his|her|their|its)\s", re.IGNORECASE)


def orders_by_first_word(text: str) -> bool:
    """Whether a text begins as an order does, whatever its verb is: "Sow a bed"."""
    return not _DETERMINERS.isdisjoint(tokens(text)[1:2])


def permits(text: str) -> bool:
    """Whether a text begins as what lets somebody else do something: "let Ana read the plan"."""
    first, whom = (*tokens(text[:60]), "", "")[:2]
    return first in PERMITTING_VERBS and whom not in _ONESELF


def tells_what_to_do(text: str, *, verbs: CatalogVerbs = NO_VERBS) -> bool:
    """Whether a part of a request has a verb of its own: "let Ana know", "keep it".

    One that has none goes on with the verb before it: "book a flight, and a hotel in Rome".
    """
    if begins_request(text, verbs=verbs, firm=True) or _ON_A_PRONOUN.match(text):
        return True
    reading = read_clause(text, verbs=verbs)
    if _NAMES_A_THING.match(text) and not is_verb(reading.verb):
        return False  # "my hotel reservation": the noun of a deed, and no deed
    return bool(reading.verb) and reading.action is not Action.UNKNOWN


@lru_cache(maxsize=_CLAUSES_KEPT)
def read_clause(clause: str, *, verbs: CatalogVerbs = NO_VERBS) -> ClauseReading:
    """Read one clause; `verbs` are further words that may command."""
    bare = without_lead(clause)
    verb, action, rest = _said_verb(bare) or _listing_verb(bare) or _verb(bare, verbs)
    place = _find(verb, clause) if verb else None
    before = clause[: place.start() if place else len(clause) - len(rest)]
    return ClauseReading(
        text=clause,
        stems=_stems(clause, verb, action, verbs),
        verb=verb,
        action=action,
        objects=_objects(rest),
        is_own=bool(_OWN.search(lowered(clause))),
        is_negated=any(m.start() < len(before) for m in _NEGATED.finditer(clause))
        or leaves_alone(bare, verbs=verbs),
    )


def joined(clauses: Sequence[ClauseReading]) -> ClauseReading:
    """Clauses as one text: the words of all, ordered by the first verb that is known.

    Raises:
        IndexError: there are none.
    """
    if len(clauses) == 1:
        return clauses[0]
    main = next((c for c in clauses if c.action is not Action.UNKNOWN), clauses[0])
    return ClauseReading(
        text=". ".join(c.text for c in clauses),
        stems=tuple(word for c in clauses for word in c.stems),
        verb=main.verb,
        action=main.action,
        objects=main.objects,
        is_own=any(c.is_own for c in clauses),
        unwanted=main.unwanted,
    )


def _stems(clause: str, verb: str, action: Action, verbs: CatalogVerbs) -> tuple[str, ...]:
    """Stems of the words that tell what is asked.

    To tell somebody something is to send a message, whatever it is and to whatever address, where
    no tool is named by that verb; to unshare something is about sharing.
    """
    if action is Action.CANCEL and verb not in verbs and (base := reverses(verb)):
        return (*content_stems(clause), stem(base))
    if action is not Action.SEND:
        guests = guests_span(clause)
        return tuple(content_stems(clause[: guests[0]] if guests else clause))
    said, start = _SAYING.search(clause), _saying_end(clause, verb)
    ends = (_matter_of(clause, start, verb), _told_thing(clause, start, verb))
    end = min(end for end in ends if end is not None)
    speaks = verb in _TELLING or (verb in _ASKS and end < len(clause))
    deed = ("send", "message") if speaks and verb not in verbs else (verb,)
    rest = clause[:end]
    if said is not None:
        rest = said["let"] or f"{said['to'] or ''} {clause[start:end]}"
    others = (one for one in content_stems(_ADDRESS.sub(" ", rest)) if one != stem(verb))
    return (*map(stem, deed), *others)


def matter_start(clause: str) -> int | None:
    """Where in a clause begins what somebody is to be told; None when nobody is told anything."""
    reading = read_clause(clause)
    if reading.action is not Action.SEND or reading.is_negated:
        return None
    matter = _matter_of(clause, _saying_end(clause, reading.verb), reading.verb)
    return matter if matter < len(clause) else None


def _matter_of(clause: str, start: int, by: str) -> int:
    """Where what is said begins, when its verb, `by`, ends at `start`; the clause's end if nowhere.

    After "to", what may be a noun is a verb only before a determiner: not "to book club". After
    what somebody is told to do it is one where no name or article follows: "remind me to stretch".
    """
    within = start + _NAMED_WITHIN
    # Whom it is said to stands before it, and is no part of it: "tell my team that I am late".
    found = (MATTER.search(clause, start, within), SUBJECT.search(clause, start + 1, within))
    ends = [matter.start() for matter in found if matter]
    if by in _TELLING:  # Who is told "when the meeting is" is told what that is, not those words.
        ends = [end for end in ends if _ASKED_LAST.search(clause[:end]) is None]
    if by in _ASKS and (question := _QUESTION.search(clause, start)) is not None:
        ends.append(question.start())
    for told in _TO_DO.finditer(clause, start):
        verb, following = told["verb"].lower(), (told["next"] or "").lower()
        if verb in NUMBER_WORDS:
            continue  # "at quarter to nine"
        sure = verb not in NOUN_LIKE_VERBS or following in _DETERMINERS
        is_told = by in _TOLD_TO_DO and told["verb"].islower() and verb not in STOP_WORDS
        if is_told or (told.start() < within and is_verb(verb) and sure):
            ends.append(told.start())
            break
    if (quoted := _QUOTED_LAST.search(clause, start)) is not None:
        ends.append(quoted.start())
    if by in _TOLD_OF and (about := _ABOUT.search(clause, start)) is not None:
        ends.append(about.start())
    begun = min(ends, default=len(clause))
    saying = _TO_SAY.match(clause, begun) or _TO_SAY.search(clause, start, begun)
    # "Write to Bo to say that it is off", but what Bo is told to say is said to Bo.
    return saying.end() - 1 if saying is not None and by not in _TOLD_TO_DO else begun


def tells_something(clause: str) -> bool:
    """Whether somebody is to be told something, in words that stand there or as a thing.

    What is sent to a channel is told there, whatever it is.
    """
    if matter_start(clause) is not None or told_thing_start(clause) is not None:
        return True
    reading = read_clause(clause)
    is_sent = reading.action is Action.SEND and not reading.is_negated
    return is_sent and any(word.startswith("#") for word in clause.split())


def says_whom_first(verb: str) -> bool:
    """Whether the object of a verb is who is told: "tell them", and not "send them"."""
    return verb in _TOLD_TO_DO | _TELLING


def told_thing_start(clause: str) -> int | None:
    """Where begins a thing that somebody is to be told and that is not said: "tell Ana the price".

    It is a noun phrase or a question that no preposition joins to whom it is told.
    """
    reading = read_clause(clause)
    if reading.action is not Action.SEND or reading.is_negated:
        return None
    return _told_thing(clause, _saying_end(clause, reading.verb), reading.verb)


def _told_thing(clause: str, start: int, by: str) -> int | None:
    if by not in _TELLING:
        return None
    known = clause[:start].lower().endswith("know")
    for told in _TOLD_THING.finditer(clause, start - len("know") if known else start):
        if told["before"].lower().rstrip(",") not in _OBJECT_ENDS - {"of"}:
            return told.end() - 1
    return None


def _saying_end(clause: str, verb: str) -> int:
    """Where the words end that say that somebody is told something."""
    said, place = _SAYING.search(clause), _find(verb, clause)
    return said.end() if said else place.end() if place else 0


def _said_verb(bare: str) -> tuple[str, Action, str] | None:
    """The verb of a saying, and the text after its first word."""
    said = _SAYING.match(bare)
    if said is None:
        return None
    if _TO_ME.match(bare):
        return "know", Action.READ, bare[said.end() :]
    what = (said["what"] or "").lower().replace("e-mail", "email")
    verb = "notify" if not what or what in _NOTES else what
    return verb, Action.SEND, bare[len(bare.split()[0]) :]


def _listing_verb(bare: str) -> tuple[str, Action, str] | None:
    """Of "make me a list of my bookings", which makes none, the verb and the text after it."""
    match = _LISTING.match(bare)
    return ("list", Action.READ, bare[match.end() :]) if match else None


def _verb(bare: str, verbs: CatalogVerbs) -> tuple[str, Action, str]:
    """The clause's verb, its class, and the text after it."""
    first, following = (*tokens(" ".join(bare.split(None, 2)[:2])), "", "")[:2]
    if not first:
        return "", Action.UNKNOWN, bare
    last = bare.rstrip()[-8:].rsplit(None, 1)[-1].rstrip(".,;!?").lower()
    action = action_of(first, particle_in(first, following, last))
    if reverses(first):
        return first, Action.CANCEL, _after(bare, first)
    if action is not Action.UNKNOWN or first in verbs:
        own = verbs.get(first, Action.UNKNOWN)
        return first, action if action is not Action.UNKNOWN else own, _after(bare, first)
    if permits(bare):
        inner = next((word for word in tokens(bare[:200])[2:] if is_verb(word)), first)
        return first, Action.UNKNOWN, _after(bare, inner)
    if _ANY.match(bare):
        return "", Action.SEARCH, bare
    if first in QUESTION_WORDS:
        return first, Action.READ, _after(bare, first)
    words = tokens(bare[:200])
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        commanded = i > 0 and (words[i - 1] == "to" or following in _DETERMINERS)
        is_named = i > 0 and (words[i - 1] in _BEFORE_NOUNS or _is_name(word, bare))
        # "The longest book by Frank Herbert" is one; "the flight, book it" is none.
        is_noun = word in NOUN_LIKE_VERBS or _is_of_a_thing(word, words[:i])
        if is_verb(word) and not is_named and (commanded or not is_noun):
            return word, action_of(word, following), _after(bare, word)
    if _STATED_WISH.match(bare):
        return "", Action.SEARCH, bare
    if first in MODALS:
        return first, Action.READ, _after(bare, first)
    if _OWN_THING.match(bare):
        return "", Action.SEARCH, bare  # "my hotel bookings" are there already
    if singular(first) != first and first not in STOP_WORDS:
        return "", Action.SEARCH, bare  # nor is "reminders for next week" a deed
    if not _DETERMINERS.isdisjoint(words[1:2]) and first not in STOP_WORDS:
        return first, Action.UNKNOWN, _after(bare, first)  # "recall the message" sends none
    for i, word in enumerate(words):
        if word in STOP_WORDS or _says_how(word, words[:i]) or (i and _is_name(word, bare)):
            continue
        if _is_of_a_thing(word, words[:i]) and words[i - 1] not in _BEFORE_NOUNS:
            continue
        if action_of_stem(stem(word)) is not Action.UNKNOWN:
            return word, action_of_stem(stem(word)), bare
    return (first if first not in STOP_WORDS else ""), Action.UNKNOWN, bare


def _is_of_a_thing(word: str, before: Sequence[str]) -> bool:
    """Whether a verb is a noun of a phrase that begins as things do: "the longest book"."""
    begins_so = bool(before) and before[0] in _BEFORE_NOUNS
    return is_verb(word) and begins_so and before[-1] != "please"


def _says_how(word: str, before: Sequence[str]) -> bool:
    """Whether a word made of a verb says how or what a thing is: "paid invoices", "expensive".

    What is to "be rented" is to be done.
    """
    if before[-1:] == ["be"]:
        return False
    is_plural_noun = singular(word) != word and singular(word) in NOUN_LIKE_VERBS
    return is_plural_noun or word in PARTICIPLES or _TELLS_HOW.fullmatch(word) is not None


def _is_name(word: str, text: str) -> bool:
    """Whether a word is written as a name is, where not all of the text is: "Park Lodge"."""
    place = _find(word, text)
    if place is None or text.istitle() or text.isupper():
        return False
    return place.group()[0].isupper()


def _after(text: str, word: str) -> str:
    match = _find(word, text)
    return text[match.end() :] if match else text


def _find(word: str, text: str) -> re.Match[str] | None:
    """Where a word of `tokens` stands in the text, which may write an email as an e-mail."""
    written = "e-?mail" if word == "email" else re.escape(word)
    return re.search(rf"\b{written}\b", text, re.IGNORECASE)


def _objects(rest: str) -> tuple[str, ...]:
    """The nouns right after the verb: up to the first preposition, number or punctuation mark."""
    found: list[str] = []
    for match in re.finditer(r"[^\s]+", rest[:200]):
        word = match.group().strip("\"'“”()")
        bare = word.rstrip(".,;:!?").lower()
        if bare in _OBJECT_ENDS or any(c.isdigit() for c in bare):
            break
        if bare and bare not in STOP_WORDS and any(c.isalpha() for c in bare):
            found.append(word.rstrip(".,;:!?"))
        if word != word.rstrip(".,;:!?") or len(found) == _MAX_OBJECTS:
            break
    return tuple(found)
