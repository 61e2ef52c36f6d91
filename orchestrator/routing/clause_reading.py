"""The router's view of a request: clauses with their verb and content words, and typed slots."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from orchestrator.language.goal_clauses import without_lead
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, Slot, SlotKind
from orchestrator.language.values import find_values, is_identifier
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    QUESTION_WORDS,
    STOP_WORDS,
    action_of,
    content_stems,
    is_verb,
    tokens,
)

_LISTS: Final = WordLists("words")
_DETERMINERS: Final = _LISTS.word_set("determiners")
_BEFORE_NOUNS: Final = _LISTS.word_set("before_nouns")
_ASKING: Final = QUESTION_WORDS | _LISTS.word_set("modals")
_OBJECT_ENDS: Final = _LISTS.word_set("after_objects")
_TELLING: Final = _LISTS.word_set("telling")
_TOLD_TO_DO: Final = _LISTS.word_set("told_to_do")
_PLACE_OPENERS: Final = _LISTS.word_set("place_openers")
_SENDING: Final = _LISTS.word_set("sending")
_LONGEST: Final = 200
# --- clauses --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClauseReading:
    """A parsed clause: `stems` of its content words, `objects` the nouns after its verb.

    `unwanted` are the stems that other clauses exclude, `reference` the words that refer to
    something earlier.
    """

    text: str
    stems: tuple[str, ...]
    verb: str = ""
    action: Action = Action.UNKNOWN
    objects: tuple[str, ...] = ()
    is_negated: bool = False
    unwanted: tuple[str, ...] = ()
    reference: str = ""

    @property
    def asks_side_effect(self) -> bool:
        """True if the clause orders something that leaves an effect at a provider."""
        return not self.is_negated and self.action in SIDE_EFFECT_ACTIONS

    @property
    def commands(self) -> bool:
        """True if the clause has a verb of command and is not a question."""
        return self.action is not Action.UNKNOWN and self.verb not in _ASKING


_NEGATED: Final = re.compile(
    r"\b(?:don['\u2019]?t|do\s+not|does\s+not|never|without|no\s+need\s+to|instead\s+of|rather\s+than"
    r"|avoid|(?<!\bam\s)(?<!\bare\s)(?<!\bis\s)(?<!\bwas\s)(?<!\bwere\s)not)\b(?!\s+(?:forget|mind)\b)",
    re.IGNORECASE,
)
_MATTER: Final = re.compile(
    r"\s(?:that|saying|not\s+to|whether|if)\s|:\s|\s(?:i|we|you|he|she|they|it|there)(?:['\u2019](?:m|re|s|ll|d|ve)\b"
    r"|\s+(?:am|is|are|was|were|will|have|has|had|can|cannot|would|should|must|need)\b)"
    r"|\s(?=\"[^\"]*\s[^\"]*\"|“[^”]*\s[^”]*”)",
    re.IGNORECASE,
)
"""The start of a message's text, which is no evidence for a tool: "that I am late"."""
_TO_DO: Final = re.compile(r"\sto\s+(?P<verb>[a-z]+)\b", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\S*[#@]\S*")


@lru_cache(maxsize=1 << 8)
def read_clause(clause: str) -> ClauseReading:
    """Return the router's reading of a clause."""
    verb, action = _verb(without_lead(clause))
    place = _place_of(verb, clause)
    start, end = place.span() if place else (len(clause) - len(without_lead(clause)),) * 2
    rest = clause[end:]
    found: list[str] = []
    for match in re.finditer(r"\S+", rest[:_LONGEST]):
        word = match.group().strip("\"'“”()")
        bare = word.rstrip(".,;:!?").lower()
        if bare in _OBJECT_ENDS or any(c.isdigit() for c in bare):
            break
        if bare and bare not in STOP_WORDS and any(c.isalpha() for c in bare):
            found.append(word.rstrip(".,;:!?"))
        if word != word.rstrip(".,;:!?") or len(found) == 6:
            break
    described = clause
    if action is Action.SEND:
        # Without the text of a message.
        implied = "send a message" if verb in _TELLING else ""
        described = f"{implied} {_ADDRESS.sub(' ', clause[: matter_start(clause, verb)])}"
    return ClauseReading(
        text=clause,
        stems=tuple(content_stems(described)),
        verb=verb,
        action=action,
        objects=tuple(found),
        is_negated=any(m.start() < max(1, start) for m in _NEGATED.finditer(clause)),
    )


def joined(clauses: Sequence[ClauseReading]) -> ClauseReading:
    """Return clauses merged into one: the words of all, with the first known verb.

    Raises:
        IndexError: there are no clauses.
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
        unwanted=main.unwanted,
    )


def matter_start(clause: str, verb: str) -> int:
    """Return where the text of a message begins after its verb; else the clause's length."""
    place = _place_of(verb, clause)
    after = place.end() if place else 0
    starts = [m.start() for m in (_MATTER.search(clause, after),) if m]
    if verb in _TOLD_TO_DO:
        starts += [m.start() for m in _TO_DO.finditer(clause, after) if m["verb"] not in STOP_WORDS]
    return min(starts, default=len(clause))


def _verb(bare: str) -> tuple[str, Action]:
    """Return the verb of a clause and its class: the first word, or the first certain verb."""
    words = [*tokens(bare[:_LONGEST]), ""]
    first = words[0] if words[0] not in STOP_WORDS else ""
    if (action := action_of(words[0], *words[1:2])) is not Action.UNKNOWN:
        return words[0], action
    if words[0] in _ASKING:
        return words[0], Action.READ
    for before, word, following in zip(words, words[1:], words[2:], strict=False):
        is_ordered = before == "to" or following in _DETERMINERS
        is_noun = (word in NOUN_LIKE_VERBS and not is_ordered) or before in _BEFORE_NOUNS
        if is_verb(word) and not is_noun:
            return word, action_of(word, following)
    return first, Action.UNKNOWN


def _place_of(word: str, text: str) -> re.Match[str] | None:
    """Find a word of `tokens` in the text, where an email may be spelt e-mail."""
    written = "e-?mail" if word == "email" else re.escape(word)
    return re.search(rf"\b{written}\b", text, re.IGNORECASE) if word else None


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


@lru_cache(maxsize=1 << 11)
def read_slots(text: str, *, now: datetime | None) -> tuple[Slot, ...]:
    """Return the values of a request as the router's slots.

    Args:
        text: the request.
        now: the day of "today"; None leaves relative days without a value.
    """
    slots = []
    for value in find_values(text, now=now or _SOME_DAY):
        if value.kind == "quoted" and is_identifier(str(value.value)):
            kind: SlotKind = "identifier"
        elif value.kind in _SLOTS:
            kind = _SLOTS[value.kind]
        else:
            # The word before a name says if it is an origin, a place, a person or a thing.
            begins = tokens(text[: value.start])
            addressed = value.hint == "to" and not _SENDING.isdisjoint(begins)
            kind = "place" if value.hint in _PLACE_OPENERS and not addressed else "name"
            kind = "origin" if value.hint == "from" else kind
        end = value.end
        if value.unit and (unit := re.match(rf"[\s-]*{re.escape(value.unit)}\b", text[end:], re.I)):
            end += unit.end()
        is_open = value.kind == "date" and now is None and not value.text[:4].isdigit()
        read = value.value
        if value.kind == "duration" and isinstance(read, dict):
            read = next(iter(read.values()))
        slots.append(
            Slot(
                kind=kind,
                value=None if is_open else read,
                text=text[value.start : end],
                position=value.start,
                hint=value.unit if kind == "quantity" and value.unit else value.hint,
                readings=value.readings,
            )
        )
    return tuple(slots)
