"""Amounts of money in a text: "EUR 25", "$1.5k", "1200 Swedish kronor", "fifty euros"."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Final, NamedTuple

from babel import Locale
from babel.numbers import get_currency_name

from orchestrator.core import currencies
from orchestrator.language.numbers import NUMBER_WORDS, find_spoken_numbers
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import lowered

_LISTS: Final = WordLists("slots")
_SIGNS: Final = _LISTS.table("currency_signs")
_NOUNS: Final = _LISTS.table("currency_words")
_KNOWN: Final = frozenset({*_SIGNS.values(), *_NOUNS.values()})
_NUM: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_NUMBER_WORD: Final = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_SIGNED: Final = re.compile(
    rf"(?P<sign>[€$£¥₹])\s?(?P<a>{_NUM})(?P<ka>\s?[kK]\b)?(?:\s?(?P<code>[A-Z]{{3}})\b)?"
    rf"|(?<![\w.,-])(?P<b>{_NUM})(?P<kb>[kK])?\s?(?P<behind>[€$£¥₹])"
    rf"|\b(?P<before>[A-Z]{{3}})\s?(?P<c>{_NUM})(?P<kc>[kK]\b)?(?![\w-])"
)
_COUNTED: Final = re.compile(
    rf"(?<![\w.,-])(?P<n>{_NUM}|\b(?i:{_NUMBER_WORD})\b)(?P<k>[kK])?\s*(?=[^\W\d_])"
)
_SPACE: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,3}")


class MoneyPhrase(NamedTuple):
    """An amount, and where it stands."""

    start: int
    end: int
    amount: float
    currency: str


def find_money(text: str) -> Iterator[MoneyPhrase]:
    """The amounts of a text; what is written in one way may be found in another as well."""
    for match in _SIGNED.finditer(text):
        if currency := _signed_currency(match):
            number = float(Decimal((match["a"] or match["b"] or match["c"]).replace(",", "")))
            thousands = match["ka"] or match["kb"] or match["kc"]
            yield MoneyPhrase(*match.span(), number * 1000 if thousands else number, currency)
    for start, end, spoken in find_spoken_numbers(lowered(text)):
        after = _SPACE.match(text, end)
        if named := currency_at(text, after.end() if after else end):
            yield MoneyPhrase(start, named[1], spoken, named[0])
    for match in _COUNTED.finditer(text):
        if named := currency_at(text, match.end()):
            word = match["n"].lower()
            number = NUMBER_WORDS[word] if word in NUMBER_WORDS else float(word.replace(",", ""))
            amount = number * 1000 if match["k"] else number
            yield MoneyPhrase(match.start(), named[1], amount, named[0])


def currency_at(text: str, at: int) -> tuple[str, int] | None:
    """The currency whose name or code stands at a place of a text, and where that ends.

    A noun alone is one where it says whose it is ("yen"): "kroner" are of several countries.
    """
    found = _NAME.match(text, at)
    name = found.group() if found else ""
    while name:
        low = name.lower()
        code = _NOUNS.get(low) or (_names().get(low) if " " in name else _typed_code(name))
        if code:
            return code, at + len(name)
        name = re.sub(r"[ -]?[^ -]+$", "", name)
    return None


def warm_up() -> None:
    """Load the names, so that no request pays for it."""
    _names()


def _signed_currency(match: re.Match[str]) -> str | None:
    code = match["code"] or match["before"]
    sign = match["sign"] or match["behind"]
    return (_code(code) if code else None) or (_SIGNS[sign] if sign else None)


def _typed_code(word: str) -> str | None:
    """A code behind a number, also in small letters where it is that of a sign or a noun: "5 eur".

    Other codes are words in small letters: "2 cup", "3 all", "4 top".
    """
    return _code(word.upper() if word.upper() in _KNOWN else word)


def _code(word: str) -> str | None:
    return word if word.isupper() and currencies.exists(word) else None


@cache
def _names() -> dict[str, str]:
    """The English names of those in which things are paid, of one and of several."""
    english = Locale("en")
    return {
        get_currency_name(code, count=count, locale=english).lower(): code
        for code in currencies.EXPONENTS
        for count in (1, 2)
    }
