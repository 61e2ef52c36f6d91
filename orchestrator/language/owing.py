"""Who owes, or pays, whom in a question, by its words; and for whom an amount in a list is due."""

import re
from typing import Final, Literal

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens

Side = Literal["us", "them"]
"""Who has to pay: we, or whoever the amount stands with."""

_LISTS: Final = WordLists("money")
_OWING: Final = _LISTS.word_set("owing")
_PAYING: Final = _LISTS.word_set("paying")
_US: Final = _LISTS.word_set("us")
_TO_US: Final = _LISTS.word_set("to_us")
_BETWEEN: Final = _LISTS.word_set("between_subject_and_verb")
_ASKING_WHETHER: Final = _LISTS.word_set("asking_whether")
_PAID: Final = _LISTS.word_set("paid_by_us")
_PAYERS: Final = _LISTS.word_set("paying_us")
_MUST_PAY: Final = re.compile(r"\b(?:(?:have|has|had|need|needs)\s+to|must)\s+pay\b")


def who_owes(text: str) -> Side | None:
    """Who has to pay in a question: "us" of "what do we owe Acme"; None where it does not say.

    Of what is owed or paid to somebody by nobody ("is it paid") nothing is told.
    """
    words = tokens(_MUST_PAY.sub("owe", text.lower()))
    at = next((n for n, word in enumerate(words) if word in _OWING), None)
    if at is None:
        asks = bool(words) and words[0] in _ASKING_WHETHER
        found = (n for n, word in enumerate(words) if word in _PAYING) if asks else iter(())
        at = next(found, None)
    if at is None:
        return None
    before = [word for word in words[:at] if word not in _BETWEEN]
    if before and before[-1] in _US:
        return "us"
    is_them = words[at] in _PAYING or bool(_TO_US & {*words[at + 1 :]}) or bool(before)
    return "them" if is_them and "owed" not in words else None


def is_still_owed(text: str) -> bool:
    """Whether only what has not been paid is asked for: "how much does Bo owe us"."""
    return not _OWING.isdisjoint(tokens(_MUST_PAY.sub("owe", text.lower())))


def side_of(names: frozenset[str]) -> Side | None:
    """Who pays the amounts of a list whose fields have these words in their names.

    A supplier's are ours to pay, a customer's are theirs; None where neither or both are named.
    """
    ours, theirs = bool(names & _PAID), bool(names & _PAYERS)
    return None if ours is theirs else "us" if ours else "them"
