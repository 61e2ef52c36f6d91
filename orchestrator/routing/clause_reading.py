"""The router's view of a request: clauses with their verb and content words, and typed slots."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from orchestrator.language.goal_clauses import without_lead
from orchestrator.language.inflection import participle, singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, Slot, SlotKind
from orchestrator.language.values import Value, find_values, is_identifier
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    QUESTION_WORDS,
    STOP_WORDS,
    VERBS,
    action_of,
    action_of_stem,
    content_stems,
    is_verb,
    particle_in,
    reverses,
    stem,
    tokens,
)

_LISTS: Final = WordLists("words")
_DETERMINERS: Final = _LISTS.word_set("determiners")
_BEFORE_NOUNS: Final = _LISTS.word_set("before_nouns")
_MODALS: Final = _LISTS.word_set("modals")
_OBJECT_ENDS: Final = _LISTS.word_set("after_objects")
_TELLING: Final = _LISTS.word_set("telling")
_TOLD_TO_DO: Final = _LISTS.word_set("told_to_do")
_PLACE_OPENERS: Final = _LISTS.word_set("place_openers")
_SENDING: Final = _LISTS.word_set("sending")
_PARTICIPLES: Final = frozenset(map(participle, VERBS)) - VERBS
_KEPT: Final = 1 << 11
_READ: Final = 1 << 8
_MOST_OBJECTS: Final = 6


# --- clauses --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClauseReading:
    """One clause: `stems` of its content words, `objects` the nouns after its verb.

    `unwanted` are the stems of what other clauses forbid, `reference` the words that point at what
    came before, `likely` the domain of what is done next to what is asked for. `is_own` says that
    what somebody has already is meant: "my flights".
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
        """Return true if the clause orders something that leaves a trace at a provider."""
        return not self.is_negated and self.action in SIDE_EFFECT_ACTIONS

    @property
    def commands(self) -> bool:
        """Return true if the clause has a verb that orders, and is no question."""
        return self.action is not Action.UNKNOWN and self.verb not in QUESTION_WORDS


class CatalogVerbs(Mapping[str, Action]):
    """Verbs that a catalog's tools are named by, with the classes of those that no lexicon holds.

    It is hashable: what was read with it is kept.
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

_NEGATED: Final = re.compile(
    r"\b(?:don['\u2019]?t|do\s+not|does\s+not|never|without|no\s+need\s+to|instead\s+of|rather\s+than"
    r"|avoid|(?<!\bam\s)(?<!\bare\s)(?<!\bis\s)(?<!\bwas\s)(?<!\bwere\s)not)\b(?!\s+(?:forget|mind)\b)",
    re.IGNORECASE,
)
_OWN: Final = re.compile(
    r"\b(?:my|our|mine|ours|existing|upcoming|(?:have|had|did|do|am|are)\s+(?:i|we)"
    r"|(?:i|we)(?:['\u2019]ve|\s+(?:have|had|did|booked|made|reserved|rented|ordered|paid|filed)))\b",
    re.IGNORECASE,
)
_WISHED: Final = re.compile(
    r"(?:(?:i|we)(?:['\u2019](?:m|re|d))?|need|want|looking\s+for|any(?:thing|one|body)?"
    r"|my|our|your|his|her|their|its)\s",
    re.IGNORECASE,
)
_LET_KNOW: Final = re.compile(r"let\s+(?:\S+\s+){1,4}?know\b", re.IGNORECASE)
_MATTER: Final = re.compile(
    r"\s(?:that|saying|not\s+to|whether|if)\s|:\s|\s(?:i|we|you|he|she|they|it|there)(?:['\u2019](?:m|re|s|ll|d|ve)\b"
    r"|\s+(?:am|is|are|was|were|will|have|has|had|can|cannot|would|should|must|need)\b)"
    r"|\s(?=\"[^\"]*\s[^\"]*\"|“[^”]*\s[^”]*”)",
    re.IGNORECASE,
)
"""What is said is anything at all, and no sign of a tool: "that I am late"."""
_TO_DO: Final = re.compile(r"\sto\s+(?P<verb>[a-z]+)\b", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\S*[#@]\S*")
_TELLS_HOW: Final = re.compile(r"\w+(?:[^e]ed|ive|able|ible)")


@lru_cache(maxsize=_READ)
def read_clause(clause: str, *, verbs: CatalogVerbs = NO_VERBS) -> ClauseReading:
    """Return a clause as the router reads it; `verbs` are further words that may command."""
    bare = without_lead(clause)
    verb, action, rest = _verb(bare, verbs)
    before = clause[: _start_of(verb, clause, len(clause) - len(rest))]
    return ClauseReading(
        text=clause,
        stems=_stems(clause, verb, action, verbs),
        verb=verb,
        action=action,
        objects=_objects(rest),
        is_own=_OWN.search(clause) is not None,
        is_negated=any(m.start() < max(1, len(before)) for m in _NEGATED.finditer(clause)),
    )


def joined(clauses: Sequence[ClauseReading]) -> ClauseReading:
    """Return clauses as one text: the words of all, ordered by the first verb that is known.

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


def orders_by_first_word(text: str) -> bool:
    """Return true if a text begins as an order does, whatever its verb is: "Sow a bed"."""
    return not _DETERMINERS.isdisjoint(tokens(text)[1:2])


def _stems(clause: str, verb: str, action: Action, verbs: CatalogVerbs) -> tuple[str, ...]:
    """Stems of the words that tell what is asked; what somebody is told is no sign of a tool."""
    if action is Action.CANCEL and verb not in verbs and (base := reverses(verb)):
        return (*content_stems(clause), stem(base))
    if action is not Action.SEND:
        return tuple(content_stems(clause))
    speaks = (verb in _TELLING or verb == "know") and verb not in verbs
    rest = clause[: matter_start(clause, verb)]
    others = (one for one in content_stems(_ADDRESS.sub(" ", rest)) if one != stem(verb))
    return (*map(stem, ("send", "message") if speaks else (verb,)), *others)


def matter_start(clause: str, verb: str) -> int:
    """Return where begins what somebody is told by a verb; the clause's end if nowhere."""
    start = _start_of(verb, clause, 0) + len(verb)
    starts = [m.start() for m in (_MATTER.search(clause, start),) if m]
    if verb in _TOLD_TO_DO:
        starts += [m.start() for m in _TO_DO.finditer(clause, start) if m["verb"] not in STOP_WORDS]
    return min(starts, default=len(clause))


def _verb(bare: str, verbs: CatalogVerbs) -> tuple[str, Action, str]:
    """The clause's verb, its class, and the text after it."""
    first, following = (*tokens(" ".join(bare.split(None, 2)[:2])), "", "")[:2]
    if not first:
        return "", Action.UNKNOWN, bare
    if said := _LET_KNOW.match(bare):
        is_own = following in ("me", "us")
        return "know", Action.READ if is_own else Action.SEND, bare[said.end() :]
    last = bare.rstrip()[-8:].rsplit(None, 1)[-1].rstrip(".,;!?").lower()
    action = action_of(first, particle_in(first, following, last))
    if reverses(first):
        return first, Action.CANCEL, _after(bare, first)
    if action is not Action.UNKNOWN or first in verbs:
        own = verbs.get(first, Action.UNKNOWN)
        return first, action if action is not Action.UNKNOWN else own, _after(bare, first)
    if first in QUESTION_WORDS:
        return first, Action.READ, _after(bare, first)
    return _later_verb(bare, first)


def _later_verb(bare: str, first: str) -> tuple[str, Action, str]:
    """The verb of a clause that does not begin with one."""
    words = tokens(bare[:200])
    for i, word in enumerate(words[1:], start=1):
        following = words[i + 1] if i + 1 < len(words) else ""
        commanded = words[i - 1] == "to" or following in _DETERMINERS
        is_noun = word in NOUN_LIKE_VERBS or words[0] in _BEFORE_NOUNS
        is_named = words[i - 1] in _BEFORE_NOUNS or _is_name(word, bare)
        if is_verb(word) and not is_named and (commanded or not is_noun):
            return word, action_of(word, following), _after(bare, word)
    if first in _MODALS:
        return first, Action.READ, _after(bare, first)
    if _WISHED.match(bare) or (singular(first) != first and first not in STOP_WORDS):
        return "", Action.SEARCH, bare  # "my hotel bookings", "reminders for next week"
    if not _DETERMINERS.isdisjoint(words[1:2]) and first not in STOP_WORDS:
        return first, Action.UNKNOWN, _after(bare, first)  # "recall the message" sends none
    for i, word in enumerate(words):
        if word in STOP_WORDS or _says_how(word, words[:i]) or (i and _is_name(word, bare)):
            continue
        action = action_of_stem(stem(word))
        if action is not Action.UNKNOWN and not (is_verb(word) and words[0] in _BEFORE_NOUNS):
            return word, action, bare
    return (first if first not in STOP_WORDS else ""), Action.UNKNOWN, bare


def _says_how(word: str, before: Sequence[str]) -> bool:
    """True if a word made of a verb says how a thing is: "paid invoices"; not "to be rented"."""
    if before[-1:] == ["be"]:
        return False
    is_plural_noun = singular(word) != word and singular(word) in NOUN_LIKE_VERBS
    return is_plural_noun or word in _PARTICIPLES or _TELLS_HOW.fullmatch(word) is not None


def _is_name(word: str, text: str) -> bool:
    """True if a word is written as a name is, where not all of the text is: "Park Lodge"."""
    place = _find(word, text)
    return (
        place is not None and place.group()[0].isupper() and not (text.istitle() or text.isupper())
    )


def _find(word: str, text: str) -> re.Match[str] | None:
    """Where a word of `tokens` stands in the text, which may write an email as an e-mail."""
    written = "e-?mail" if word == "email" else re.escape(word)
    return re.search(rf"\b{written}\b", text, re.IGNORECASE)


def _start_of(word: str, text: str, otherwise: int) -> int:
    match = _find(word, text) if word else None
    return match.start() if match else otherwise


def _after(text: str, word: str) -> str:
    match = _find(word, text)
    return text[match.end() :] if match else text


def _objects(rest: str) -> tuple[str, ...]:
    """The nouns right after the verb: up to the first preposition, number or punctuation mark."""
    found: list[str] = []
    for match in re.finditer(r"\S+", rest[:200]):
        word = match.group().strip("\"'“”()")
        bare = word.rstrip(".,;:!?").lower()
        if bare in _OBJECT_ENDS or any(c.isdigit() for c in bare):
            break
        if bare and bare not in STOP_WORDS and any(c.isalpha() for c in bare):
            found.append(word.rstrip(".,;:!?"))
        if word != word.rstrip(".,;:!?") or len(found) == _MOST_OBJECTS:
            break
    return tuple(found)


# --- slots ----------------------------------------------------------------------------------

_SLOTS: Final[Mapping[str, SlotKind]] = {
    "date": "date",
    "time": "time",
    "duration": "quantity",
    "amount": "amount",
    "number": "quantity",
    "id": "identifier",
    "url": "identifier",
    "email": "email",
    "quoted": "quoted",
}
_SOME_DAY: Final = datetime(2000, 1, 3)


def find_slots(text: str, *, now: datetime | None) -> tuple[Slot, ...]:
    """Return the values of a request that are known, by position; see `read_slots`."""
    return tuple(slot for slot in read_slots(text, now=now) if slot.value is not None)


@lru_cache(maxsize=_KEPT)
def read_slots(text: str, *, now: datetime | None) -> tuple[Slot, ...]:
    """Return the values of a request as the router's slots.

    Args:
        text: the request.
        now: what "tomorrow" is relative to; None leaves the value of days open, not their places.
    """
    values = find_values(text, now=now or _SOME_DAY)
    return tuple(_slot(value, text, is_dated=now is not None) for value in values)


def _slot(value: Value, text: str, *, is_dated: bool) -> Slot:
    kind = _SLOTS.get(value.kind) or _kind_of_name(value, text)
    if value.kind == "quoted" and is_identifier(str(value.value)):
        kind = "identifier"
    end = value.end
    if value.unit and (unit := re.match(rf"[\s-]*{re.escape(value.unit)}\b", text[end:], re.I)):
        end += unit.end()
    is_open = value.kind == "date" and not is_dated and not value.text[:4].isdigit()
    read = value.value
    if value.kind == "duration" and isinstance(read, dict):
        read = next(iter(read.values()))
    return Slot(
        kind=kind,
        value=None if is_open else read,
        text=text[value.start : end],
        position=value.start,
        hint=value.unit if kind == "quantity" and value.unit else value.hint,
        readings=value.readings,
    )


def _kind_of_name(value: Value, text: str) -> SlotKind:
    """What a name is, by the word before it: where from, where to, or a person or thing."""
    if value.hint == "from":
        return "origin"
    begins = tokens(text[: value.start])
    addressed = value.hint == "to" and not _SENDING.isdisjoint(begins)
    return "place" if value.hint in _PLACE_OPENERS and not addressed else "name"
