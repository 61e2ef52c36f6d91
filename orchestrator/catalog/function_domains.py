"""Domains of plain functions, which say none: their namespaces, and the nouns they share."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from orchestrator.catalog.function_effects import namespace_of
from orchestrator.language.inflection import singular
from orchestrator.language.words import NOUN_LIKE_VERBS, STOP_WORDS, is_verb, name_words, tokens

_TEXTS_KEPT: Final = 1 << 12
"""The functions of a request come again with the next one."""


def domains_by_name(functions: Mapping[str, str], *, otherwise: str) -> dict[str, str]:
    """The domain of each function, whatever their order.

    That is its namespace ("github" of github__create_issue), or else the noun of its name that most
    names have: "file" of read_file, where there is a delete_file too. Of nouns as frequent, the one
    that most descriptions have, then the one that stands first.

    Args:
        functions: names and descriptions.
        otherwise: the domain of a name that has no word.
    """
    spaces = {name: namespace_of(name) for name in functions}
    found = {name: space.lower() for name, (space, _) in spaces.items() if space}
    nouns = {name: _nouns(local) for name, (space, local) in spaces.items() if not space}
    uses = Counter(noun for own in nouns.values() for noun in own)
    told = Counter(
        word for description in functions.values() for word in _said(description) if word in uses
    )
    for name, own in nouns.items():
        found[name] = max(own, key=lambda noun: (uses[noun], told[noun]), default=otherwise)
    return found


@lru_cache(maxsize=_TEXTS_KEPT)
def _said(description: str) -> frozenset[str]:
    return frozenset(map(singular, tokens(description)))


def _nouns(name: str) -> Sequence[str]:
    """The nouns of a name, in one number, in order and once each; its verb where it has none."""
    words = [word for word in name_words(name) if word.isalpha()]
    rest = words[1:] if words and is_verb(words[0]) else words
    told = [word for word in rest if not is_verb(word) or word in NOUN_LIKE_VERBS]
    told = [word for word in told if word not in STOP_WORDS] or words[-1:]
    return list(dict.fromkeys(map(singular, told)))
