"""Requests in other words than those of a verb: "I want my money back", "who can see the file"."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import lowered, stem


class Idiom(NamedTuple):
    """A turn of phrase at `start` to `end`, and in plain words what it says.

    Either `verb`, which it orders, or `stems`, which tell what a question is about.
    """

    verb: str
    stems: tuple[str, ...]
    start: int
    end: int


class _Form(NamedTuple):
    """How an idiom looks; a text without any of the words `marks` has none."""

    marks: list[str]
    pattern: re.Pattern[str]
    verb: str
    stems: tuple[str, ...]


def _forms() -> Iterator[_Form]:
    lists = WordLists("idioms")
    for entry in lists.records("idioms"):
        marks = entry["marks"].split()
        pattern = entry["pattern"].replace("{marks}", "|".join(marks))
        for name, fragment in lists.table("fragments").items():
            pattern = pattern.replace(f"{{{name}}}", fragment)
        stems = tuple(stem(word) for word in entry.get("tells", "").split())
        yield _Form(marks, re.compile(pattern, re.VERBOSE), entry.get("orders", ""), stems)


_FORMS: Final = tuple(_forms())
_FORMS_OF: Final = {
    mark: tuple(i for i, form in enumerate(_FORMS) if mark in form.marks)
    for mark in {mark for form in _FORMS for mark in form.marks}
}
_WORD: Final = re.compile(r"[a-z]+")


def idioms_in(text: str) -> tuple[Idiom, ...]:
    """The idioms of a clause, each kind once."""
    lower = lowered(text)
    marks = _FORMS_OF.keys() & _WORD.findall(lower)
    forms = [_FORMS[i] for i in sorted({i for mark in marks for i in _FORMS_OF[mark]})]
    found = ((form, form.pattern.search(lower)) for form in forms)
    return tuple(Idiom(f.verb, f.stems, *match.span()) for f, match in found if match)
