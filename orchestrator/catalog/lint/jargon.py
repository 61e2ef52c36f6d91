"""Words of a text that only those who wrote a document, or a program for it, understand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.catalog.lint.common_words import is_common
from orchestrator.catalog.lint.prose import Prose, folded
from orchestrator.core import currencies

_NOT_PROSE = re.compile(
    r"```.{0,2000}?```|``.{0,500}?``|`[^`\n]{0,200}`|<code>.{0,500}?</code>|<[^<>\n]{0,300}>"
    r"|\]\([^()\s]{0,300}\)|\{[^{}\n]{0,100}\}|\"[^\"\n]{0,200}\"|\b\w{1,20}://\S+"
    r"|\S{1,80}@\S{1,80}|\b\d[\d.,]{0,20}\s?[A-Za-z]+",
    re.DOTALL,
)
"""Code, tags, addresses, units, and what is quoted: a text that shows a name does not speak it.

Each of it is bounded: what begins often and never ends would take the square of its length.
"""
_LONGEST = 20_000
"""Characters: who reads a text on a card has put it down by then."""
_TOKEN = re.compile(r"(?<![\w./:@#$&=-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*(?![\w=]|[./:@]\w)")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ABBREVIATION = re.compile(r"([A-Z]{2,5})s?")
_CAMEL_CASE = re.compile(r"[a-z]{3,}[A-Z]+[a-z][A-Za-z0-9]*")
"""Of fewer small letters before the first capital brands are made, or before capitals alone."""
_PASCAL_CASE = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z]*")


@dataclass(frozen=True)
class Jargon:
    """A word, and why it is none of everyday language."""

    word: str
    reason: str


def jargon_in(text: str, prose: Prose) -> Iterator[Jargon]:
    """Each such word of a text, once.

    None is what the document is about, nor a field that a caller fills in or reads: a text that
    tells of `offer_id` tells what to do with it.
    """
    seen: set[str] = set()
    for word in _TOKEN.findall(_NOT_PROSE.sub(" ", text[:_LONGEST])):
        if word not in seen and not is_common(word) and word not in prose.subjects:
            seen.add(word)
            if word in prose.fields:
                continue
            if _is_name(word, prose):
                yield Jargon(word, "which is a name that programs use")
            elif (short := _ABBREVIATION.fullmatch(word)) and _is_obscure(short[1], prose):
                yield Jargon(short[1], "which the document nowhere spells out")


def _is_name(word: str, prose: Prose) -> bool:
    if "_" in word or _CAMEL_CASE.fullmatch(word):
        return True
    if not _PASCAL_CASE.fullmatch(word):
        return False
    # Two words in one are often a brand, three are a name that somebody made for a program.
    return len(_PARTS.findall(word)) > 2 or folded(word) in prose.names


def _is_obscure(short: str, prose: Prose) -> bool:
    if any(map(is_common, (short, short.lower()))) or currencies.exists(short):
        return False
    return short not in prose.subjects and short not in prose.spelled_out
