"""Requests in other words than those of a verb: "I want my money back", "who can see the file"."""

import re
from typing import Final, NamedTuple

from orchestrator.language.intent import Action
from orchestrator.language.words import action_of, lowered, stem


class Idiom(NamedTuple):
    """A turn of phrase at `start` to `end`, and in plain words what it says.

    Either `verb`, which it orders, or `stems`, which tell what a question is about.
    """

    verb: str
    stems: tuple[str, ...]
    start: int
    end: int

    @property
    def action(self) -> Action:
        """What is ordered; UNKNOWN without a verb."""
        return action_of(self.verb)


class _Form(NamedTuple):
    """How an idiom looks; a text without any of the words `marks` has none."""

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    verb: str
    stems: tuple[str, ...]


def _form(marks: str, pattern: str, *, verb: str = "", words: str = "") -> _Form:
    return _Form(
        tuple(marks.split()),
        re.compile(pattern),
        verb,
        tuple(stem(word) for word in words.split()),
    )


_APOSTROPHE = "['\\u2019]?"
_NOT = rf"(?:(?:do|does|wo|ca)n{_APOSTROPHE}t|(?:do|does|will|can)\s*not)"
_ENDED = r"(?=.{0,80}\b(?:any\s*more|any\s+longer|after\s+all)\b)"
_SUM = r"(?:money|cash|payment|deposit|fee|fare|price|euros?|dollars?|pounds?|eur|usd|gbp)"
_WORN = "coat jacket umbrella raincoat sunscreen sunglasses scarf gloves sweater jumper boots hat"

_FORMS: Final = (
    _form(
        "longer more anymore all",
        rf"\b(?:i|we)\s+(?:\w+\s+)?(?:no\s+longer|{_NOT}{_ENDED})\s+"
        r"(?:(?:need|want|require)\b(?!\s+to\b)"
        r"|(?:(?:have|need|want)\s+to\s+)?(?:go|fly|stay|travel|attend|come|be(?=\s+reminded))\b)",
        verb="cancel",
    ),
    _form(
        "change changed",
        r"(?<!not\s)(?<!n['\u2019]t\s)\bchanged?\s+(?:my|our)\s+minds?\s+(?:about|on)\b",
        verb="cancel",
    ),
    _form(
        "back",
        rf"\b(?:want|need|get|give|have|claim|demand|like)\b[^.;!?]{{0,40}}?\b{_SUM}\s+back\b",
        verb="refund",
    ),
    _form("back", r"\b(?:pay|pays|paid)\s+(?:me|us|him|her|them)\s+back\b", words="reimburse"),
    _form(
        "posted updated informed whenever soon",
        r"\bkeep\s+(?:me|us)\s+(?:posted|updated|informed)\b"
        r"|\b(?:me|us)(?:\s+know)?\s+(?:whenever|as\s+soon\s+as)\b",
        words="subscribe alert",
    ),
    _form("forget", r"\bdon['\u2019]?t\s+let\s+(?:me|us)\s+forget\b", verb="remind"),
    _form(
        "who",
        r"\bwho(?:\s+else|\s+all)?\s+(?:can|could|may|is\s+able\s+to|is\s+allowed\s+to)"
        r"\s+(?:see|read|view|open|edit|change)\b",
        words="access share",
    ),
    _form(
        "anything something plans planned",
        r"\b(?:do|have)\s+(?:i|we)\s+(?:have\s+|got\s+)?(?:anything|something|any\s+plans|plans)\b"
        r"(?!\s+(?:to|about|from))"
        r"|\bwhat\s+(?:have|do)\s+(?:i|we)\s+(?:got|have)\s+planned\b",
        words="calendar event",
    ),
    _form(
        "meet talk",
        r"\bwhen\s+(?:can|could|should)\b[^.;!?]{0,40}\b(?:meet|talk)\b",
        words="free time",
    ),
    _form(
        "say said mention mentioned write written wrote",
        r"^\W*(?:what\s+(?:did|do|does|has|have|was|is)|did|has|have)\b[^.;!?]{0,60}"
        r"\b(?:say|said|mention(?:ed)?|write|written|wrote)\b",
        words="say",
    ),
    _form(
        "open close shut",
        r"\b(?:what\s+time|when|until\s+when|how\s+late)\s+(?:does|do|will|is|are)\b[^.;!?]{0,60}"
        r"\b(?:open|close|shut)\b",
        words="open hour",
    ),
    _form(
        _WORN,
        rf"\b(?:should|do|must|will)\s+(?:i|we)\b[^.;!?]{{0,20}}\b(?:take|bring|wear|pack|need|carry)\b"
        rf"[^.;!?]{{0,40}}\b(?:{_WORN.replace(' ', '|')})\b",
        words="weather forecast rain",
    ),
    _form(
        "am pm clock noon",
        r"\b(?:the|my|our)\s+(?:\d{1,2}(?::\d\d)?\s*(?:[ap]m|o['\u2019]?clock)|noon)\b"
        r"(?=\s+with\b|\s*(?:[.,;!?]|$))",
        words="meeting event",
    ),
)


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
