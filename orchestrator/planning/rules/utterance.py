"""An utterance: one clause of the goal, the values in it and what its verb acts on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.changes_said import ChangeSaid
from orchestrator.language.clause_reading import ClauseReading, matter_start, read_clause
from orchestrator.language.clauses import split_clauses, without_lead
from orchestrator.language.coordination import goal_without
from orchestrator.language.intent import Slot, SlotKind
from orchestrator.language.negation import exclusions, without_exclusions
from orchestrator.language.said import is_within
from orchestrator.language.slots import read_slots
from orchestrator.language.times import hourless
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, tokens
from orchestrator.planning.rules.untold import settled

MEASURES: Final = frozenset({"date", "time", "origin", "place", "amount", "quantity", "email"})
"""Kinds of slots that say when, where, how many or for whom, and never what the thing is called."""

_ANYBODY: Final = WordLists("accounting").word_set("anybody")
WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # noqa: RUF001


@dataclass(frozen=True)
class Utterance:
    """One clause of the goal, with the values found in it."""

    text: str
    slots: tuple[Slot, ...]
    now: datetime
    unread: tuple[Slot, ...] = ()
    """Values that its words do not tell: "at 8", "the day before" of nobody knows what."""
    becomes: ChangeSaid | None = None
    """What a field of the thing is to hold: it says nothing of which thing that is, and is no part
    of the text.
    """

    def of(self, *kinds: SlotKind) -> list[Slot]:
        """Slots of these kinds, in the text's order."""
        return [slot for slot in self.slots if slot.kind in kinds]

    @cached_property
    def wanted(self) -> str:
        """The text with blanks in the place of what it rules out, and of hours.

        "At 14:00 at the latest" prefers no latest one.
        """
        text = without_exclusions(self.text)
        for slot in self.of("time"):
            end = slot.position + len(slot.text)
            text = f"{text[: slot.position]}{' ' * len(slot.text)}{text[end:]}"
        return text

    @property
    def words(self) -> frozenset[str]:
        """Every word, lower case, but those of what is ruled out."""
        return frozenset(tokens(self.wanted))

    @cached_property
    def reading(self) -> ClauseReading:
        """What the clause asks for."""
        return read_clause(self.text)

    @property
    def without_values(self) -> str:
        """The text, its slots left out."""
        text = self.text
        for slot in reversed(self.slots):
            text = f"{text[: slot.position]} {text[slot.position + len(slot.text) :]}"
        return text

    @cached_property
    def direct_object(self) -> tuple[str, ...]:
        """The words after the verb, up to the first preposition or value."""
        values = {
            word
            for slot in (*self.slots, *self.unread)
            if slot.kind in MEASURES
            for word in slot.text.split()
            if not self._is_of_the_thing(word, slot)
        }
        kept: list[str] = []
        ordered = self.text[: matter_start(self.text)]
        led = tokens(without_lead(ordered))
        if led[1:2] in (["it"], ["them"]) or read_clause(ordered).verb in led[1:]:
            return ()  # "Book it if ...", "Table for two, book it" have no noun behind the verb
        words = WORD.findall(without_lead(ordered))[1:]
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word == "of" and kept and kept[-1][:1].isupper() and following[:1].isupper():
                kept.append(word)  # "Kind of Blue"
            elif word.lower() in lexicon.CONNECTING or word in values:
                if kept:
                    break
            elif word.lower() not in STOP_WORDS | _ANYBODY:
                kept.append(word)
        return tuple(kept)

    def _is_of_the_thing(self, word: str, slot: Slot) -> bool:
        """Whether a word beside a number is no measure: "two sales reports", not "two packs of"."""
        after = self.text[slot.position + len(slot.text) :].split(None, 1)[:1]
        return slot.kind == "quantity" and word.lower() == slot.hint and after != ["of"]


def read_utterance(
    text: str,
    *,
    now: datetime,
    before: str = "",
    given: JsonObject | None = None,
    becomes: ChangeSaid | None = None,
) -> Utterance:
    """Read one clause.

    Args:
        text: the clause.
        now: the requester's time.
        before: what the goal says before it, to which "the day after" may refer.
        given: the values given by the user, also of what the words do not tell.
        becomes: what a field is to hold, as the clause says, where a tool takes it.
    """
    if becomes is not None:
        text = f"{text[: becomes.start].rstrip()}{text[becomes.end :]}"
    ruled_out = [(one.start, one.end) for one in exclusions(text)]
    slots = (
        slot
        for slot in read_slots(text, now=now, before=before)
        if not is_within(slot.position, slot.position + len(slot.text), ruled_out)
    )
    told, unread = settled((*slots, *_without_an_hour(text)), given or {})
    return Utterance(text=text, slots=tuple(told), now=now, unread=tuple(unread), becomes=becomes)


def _without_an_hour(text: str) -> Iterator[Slot]:
    """When in the day what is ordered is to be, where nothing tells the hour: "the evening before".

    No provider's default is meant by it.
    """
    at = hourless(text) if read_clause(text).asks_side_effect else None
    if at is not None:
        yield Slot(kind="time", value=None, text=text[slice(*at)], position=at[0])


def read_others(leg_goal: str, mission_goal: str, *, now: datetime) -> tuple[Utterance, ...]:
    """The other clauses of the mission's goal: those before, the nearest first, then the rest.

    What the leg's goal is one of several of is none of them: what is said of another is not meant.
    """
    earlier, later = goal_without(mission_goal, leg_goal)
    before, after = split_clauses(earlier), split_clauses(later)
    near = before if earlier == mission_goal else reversed(before)
    return tuple(read_utterance(c, now=now) for c in (*near, *after) if tokens(c))
