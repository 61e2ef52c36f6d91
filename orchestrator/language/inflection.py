"""Inflects English words approximately, for names and reports: plurals, participles."""

from typing import Final

from orchestrator.language.word_lists import WordLists

_PARTICIPLES: Final = WordLists("participles").table("participles")
_CONSONANTS: Final = frozenset("bcdfghjklmnpqrstvz")


def singular(word: str) -> str:
    """Return the approximate singular of an English plural, to name one element of a list."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def plural(word: str) -> str:
    """Return the plural of an English noun."""
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def participle(verb: str) -> str:
    """Return the past participle of an English verb: by rule, or by list if irregular."""
    if verb in _PARTICIPLES:
        return _PARTICIPLES[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and len(verb) > 2 and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    short = len(verb) == 3 or (len(verb) == 4 and verb[0] not in "aeiou" and verb[1] not in "aeiou")
    if short and verb[-1] in _CONSONANTS and verb[-2] in "aeiou":
        return f"{verb}{verb[-1]}ed"
    return f"{verb}ed"
