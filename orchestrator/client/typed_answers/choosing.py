"""Which choice a text means: by value, label, number, ordinal, beginning or near spelling."""

import re
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue
from rapidfuzz import fuzz

from orchestrator.client.typed_answers.not_read import Unread
from orchestrator.language.word_lists import WordLists
from orchestrator.messages.question_field import FieldChoice

_LISTS: Final = WordLists("asked")
_ORDINALS: Final = {word: int(place) for word, place in _LISTS.table("ordinals").items()}
_LAST: Final = _LISTS.word_set("last")
_FILLERS: Final = _LISTS.word_set("fillers")
_NTH: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DIGITS: Final = re.compile(r"\d")
_YES: Final = _LISTS.word_set("yes")
_NO: Final = _LISTS.word_set("no")
_GOING_ON: Final = frozenset(_LISTS.lines("going_on"))
_STOPPING: Final = frozenset(_LISTS.lines("stopping"))
_MOST_TOLD: Final = 100
"""Characters of choices that are repeated where an answer is none of them."""
_NEAR: Final = 80.0
"""How alike, of 100, a text must be to a label to be taken for a slip of it."""
_CLEARLY: Final = 15.0
"""How much less alike every other label must be."""
_SLIP: Final = 70.0
"""How alike a text of one's own must be to an option to be held for a slip of it, and refused."""


def chosen(
    text: str, choices: Sequence[FieldChoice], *, is_open: bool = False
) -> FieldChoice | None:
    """The choice that a text means.

    Where other texts are taken, too (`is_open`), only what says a choice plainly is one, and None
    stands for a text of its own: no slip of a word becomes a decision.

    Raises:
        Unread: it means none of them, or several.
    """
    said = _plain(text)
    exact = [c for c in choices if said in (_plain(str(c.value)), _plain(c.label))]
    if exact:
        return exact[0]
    for meant in (_by_place(said, choices), _by_yes_or_no(said, choices)):
        if meant is not None:
            return meant
    begun = [c for c in choices if said and _plain(c.label).startswith(said)]
    if is_open:
        _refuse_slip(text, begun, choices)
        return None
    begun = begun or [c for c in choices if len(said) > 2 and _holds(c.label, said)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise Unread(f"{text!r} may be {_among(begun, choices)}", *(c.label for c in begun))
    return _near(text, choices)


def _holds(label: str, said: str) -> bool:
    """Whether a label holds these words as they are: "INV-7, Acme, 12 EUR" holds "acme"."""
    return re.search(rf"(?<!\w){re.escape(said)}(?!\w)", _plain(label)) is not None


def _by_place(said: str, choices: Sequence[FieldChoice]) -> FieldChoice | None:
    """By "2", "the second one", "the last"; numbers that are values themselves are no places."""
    words = [word for word in said.split() if word not in _FILLERS]
    if len(words) != 1:
        return None
    (word,) = words
    if word in _LAST:
        return choices[-1]
    nth = _NTH.fullmatch(word)
    place = _ORDINALS.get(word) or (int(nth[1]) if nth else 0)
    named = [c for c in choices if _plain(c.label) == word]
    if named and "one" not in said.split():
        return named[0]
    if not place and word.isdigit() and not any(_is_number(c.value) for c in choices):
        place = int(word)
    return choices[place - 1] if 0 < place <= len(choices) else None


def _by_yes_or_no(said: str, choices: Sequence[FieldChoice]) -> FieldChoice | None:
    words = [word for word in re.findall(r"[\w']+", said) if word not in _FILLERS]
    for meaning, options in ((_YES, _GOING_ON), (_NO, _STOPPING)):
        if words and all(word in meaning for word in words):
            return next((c for c in choices if _plain(str(c.value)) in options), None)
    return None


def _refuse_slip(text: str, begun: Sequence[FieldChoice], choices: Sequence[FieldChoice]) -> None:
    """Refuse a text that is rather an option with a slip in it than words of one's own.

    Raises:
        Unread: it is; or it is no more than a yes or a no, and neither is offered.
    """
    said = _plain(text)
    near = [c for c in choices if fuzz.ratio(said, _plain(c.label)) >= _SLIP]
    if said in _YES | _NO or begun or near:
        meant = f"; is {(begun or near)[0].label!r} meant?" if begun or near else ""
        raise Unread(f"{text!r} is none of {_listed(choices)}{meant}")


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and value.isdigit())


def _near(text: str, choices: Sequence[FieldChoice]) -> FieldChoice:
    """The one that a slip of the fingers away was meant; another number is no slip."""
    said = _plain(text)
    alike = sorted(
        (
            (max(_alike(said, _plain(c.label)), _alike(said, _plain(str(c.value)))), n)
            for n, c in enumerate(choices)
        ),
        reverse=True,
    )
    best, place = alike[0]
    next_best = alike[1][0] if len(alike) > 1 else 0.0
    if len(said) > 2 and best >= _NEAR and best - next_best >= _CLEARLY:
        return choices[place]
    raise Unread(f"{text!r} is none of {_listed(choices)}")


def _alike(one: str, other: str) -> float:
    return fuzz.ratio(one, other) if _DIGITS.findall(one) == _DIGITS.findall(other) else 0.0


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\s_-]+", " ", text.casefold()).strip(" .!,'\"").split())


def _listed(choices: Sequence[FieldChoice]) -> str:
    """The choices in words; long ones were read where they are listed, with their numbers."""
    told = ", ".join(choice.label for choice in choices)
    return told if len(told) <= _MOST_TOLD else f"the {len(choices)} that are listed"


def _among(some: Sequence[FieldChoice], choices: Sequence[FieldChoice]) -> str:
    """Some of the choices in words, or by their numbers."""
    told = ", ".join(choice.label for choice in some)
    numbers = ", ".join(str(n) for n, choice in enumerate(choices, start=1) if choice in some)
    return told if len(told) <= _MOST_TOLD else f"any of {numbers}"
