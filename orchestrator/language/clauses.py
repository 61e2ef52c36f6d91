"""The single requests in a goal: where one ends and the next begins."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from orchestrator.language.date_words import MONTH
from orchestrator.language.guests import adds_guests
from orchestrator.language.intent import Action
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import NOUN_LIKE_VERBS, STOP_WORDS, action_of, is_verb

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|(?<![^\s(])'[^']{1,200}'(?![^\s.,;:!?)])|`[^`]*`")
_QUOTES: Final = frozenset("\"“'`")
_BETWEEN = re.compile(r"\bbetween\b[^.;!?]*?\band\b", re.IGNORECASE)
_NUMBERED_DAY: Final = re.compile(rf"\b\d{{1,2}}\.\s+(?:{MONTH})\b", re.IGNORECASE)
"""A dot that ends no sentence: "12. December"."""

_TITLE: Final = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St)\.\s+(?=[A-Z])")
"""Nor does one in the title of a name: "Dr. Haas"."""

_BOUNDARY: Final = re.compile(
    r"(?P<strong>[.!?]+[\"”')]*\s+|;\s*|\n+\s*)(?:(?:and|then|also)\s+)*"
    r"|(?P<weak>,\s*(?:and\s+|but\s+|plus\s+|as\s+well\s+as\s+)?"
    r"(?:(?:then|also|afterwards|finally|just)\s+)?"
    r"|\s+(?:and\s+|but\s+|then\s+|plus\s+|as\s+well\s+as\s+|&\s+)"
    r"(?:(?:then|also|afterwards|finally|just)\s+)?)",
    re.IGNORECASE,
)

_GOES_ON: Final = re.compile(r"\b(?:then|afterwards|finally|just)\b", re.IGNORECASE)
"""What stands between two requests, and not between two things."""

# Words before the verb that carry no meaning of their own; what follows is a request.
_ORDINALS = (
    r"first|second|third|fourth|fifth|firstly|secondly|thirdly|lastly|finally|next|then|last"
)
_LEAD: Final = re.compile(
    rf"""(?:(?:(?:{_ORDINALS}|afterwards|after\s+that|also|now|so|ok|okay|hey|hi|hello|and|but|just
        |please|kindly|additionally|furthermore|moreover|in\s+addition|besides|once\s+done
        |if\s+possible|meanwhile|only)\b|[,:\-"“])[\s,]*)+""",
    re.IGNORECASE | re.VERBOSE,
)
_POLITE: Final = re.compile(
    r"""(?:(?:can|could|would|will)\s+you(?:\s+(?:please|kindly|also|help\s+me(?:\s+to)?
                |be\s+so\s+(?:kind|good)\s+as\s+to|be\s+(?:kind|good)\s+enough\s+to))*
        |(?:i|we)(?:['\u2019]d|\s+would)(?:\s+(?:really|truly|only))*\s+be
            \s+(?:(?:so|very|most|ever|really|truly)\s+)*(?:grateful|glad|happy|obliged|delighted)
            \s+if\s+you\s+(?:could|would|can)(?:\s+(?:please|kindly|also))*
        |(?:can|could|may|might)\s+i\s+(?:ask|trouble)\s+you\s+to
        |(?:i|we)(?:\s+(?:also|really|just|then))*\s+(?:want|need|wish|have|would\s+like|would\s+love)
            (?:\s+you)?\s+to
        |(?:i|we)['\u2019]d(?:\s+(?:also|really|just|then))*\s+(?:like|love)(?:\s+you)?\s+to
        |help\s+me(?:\s+to)?|let['\u2019]?s|let\s+us|(?:don['\u2019]?t|do\s+not|never)(?:\s+\w+){0,2}?
        |be\s+sure\s+to|make\s+sure\s+to|remember\s+to|go\s+ahead\s+and)\b[\s,]*(?:please\s+)?""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKING: Final = re.compile(
    r"""(?:what|when|where|who|which|why|how)\b(?:['\u2019]s|\s+(?:is|are|was|were|will|do|does|did|can
        |could|should|would|much|many|long|far|about|time|kind|type|\w+\s+(?:is|are|does|do|can)))\b
        |(?:is|are|was|were|does|did|do|can|could|should|will)\s+(?:there|it|i|we|you|my|the|this)\b
        |(?:i|we)(?:['\u2019]d|\s+would)?(?:\s+also)?\s+(?:want|need|like|wonder|am\s+\w+ing)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_QUESTION: Final = re.compile(r"\s*(?:what|when|where|who|which|why|how)\b", re.IGNORECASE)
"""After one question another word that asks begins the next: "... and who wrote to me?"."""
_FORBIDDING: Final = re.compile(r"(?:without|instead\s+of|rather\s+than)\s+\w+ing\b", re.I)
_LEAVING_ALONE: Final = re.compile(
    r"(?P<verb>keep|leave)\s+(?:"
    r"(?:(?:the|my|our|his|her|their|that|this|those|these|all|any)\s+\w|everything\b)"
    r"(?!.*\b(?:at|to|by|under|below|within|until|for)\b)[^,;:\d]*$"
    r"|(?!(?:it|that|this|them)\b)[^,;.:!?]{1,60}?\s(?:alone|untouched|unchanged|as\s+(?:it\s+|they\s+)?(?:is|are))[\s.!]*$)",
    re.IGNORECASE,
)
_BE: Final = (
    r"(?:am|are|is|was|were|will|have|has|had|can|cannot|would|should|must|need"
    r"|(?:ai|are|is|was|were|wo|have|has|had|ca|could|would|should|must|need|do|does|did)n['\u2019]t)\b"
)
THAT: Final = (
    r"that(?!\s+(?:same\s+)?(?:day|morning|afternoon|evening|night)\b(?!\s+"
    rf"{_BE}))"
)
"""What begins what is said, as a pattern; not of "that morning", which is a day."""
MATTER: Final = re.compile(
    rf"\s(?:{THAT}|saying)\s|:\s|\s(?:not\s+to|never\s+to|do\s+not|don['\u2019]?t)\s"
    r"|\s(?:i|we|you|he|she|they|it|there)"
    rf"(?:['\u2019](?:m|re|s|ll|d|ve)\b|\s+{_BE})"
    r"|\s(?:im|ive|youre|theyre|thats|its(?=\s+(?:done|gone|off|on|over|ready|not|all|a|the|in|at|\w+ed|\w+ing)\b))\s",
    re.IGNORECASE,
)
"""What is said is anything at all, and no sign of a tool: "that I am late", "saying hello"; and
"its done", as it is typed in haste."""
SUBJECT: Final = re.compile(
    r"\s(?:the|my|our|his|her|their|this)\s+"
    r"(?:(?!(?:that|saying|i|we|you|he|she|they|it|the|my|our|his|her|their)\b)[\w'\u2019-]+\s+)"
    rf"{{1,3}}?{_BE}",
    re.IGNORECASE,
)
"""The same, behind whom it is said to: "tell Bo the room is free"."""
_TOLD: Final = re.compile(r"\s(?:that|saying)\s+|:\s+", re.IGNORECASE)
_DEPENDENT: Final = re.compile(
    rf"(?:{'|'.join(WordLists('clauses').words('dependent'))})\s[^,;:.!?]*", re.IGNORECASE
)
"""What is half a sentence: "when Ana writes"; what follows a comma is the other half."""
# "I can't come, don't wait for me": what goes on without a conjunction is still said.
_ALSO_SAID: Final = re.compile(r"(?:please\s+)?(?:don['\u2019]?t|do\s+not|never)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_TERM = re.compile(r"\w+")
_ARTICLE = re.compile(r"\s+(?:a|an|the|my|our|me|all)\b")
# "and paint my house": what is done to something of one's own is done, even by an unknown verb.
_POSSESSIVE = re.compile(r"\s+(?:my|our)\s+\w")
_PARTICIPLE: Final = re.compile(r"[a-z]*[aeiouy][a-z]*ing")
_TO_IT: Final = re.compile(
    r"\s+(?:(?:on|upon|with|about|to|after|for|up)\s+)?(?:it|them)\b", re.IGNORECASE
)
"""The same of what was spoken of before: "and act on it"."""
_FOLLOWS_A_VERB: Final = re.compile(
    r"""\s+(?:(?:a|an|the|my|our|your|his|her|its|their|this|that|these|those|some|any|all|every|each
        |me|us|him|them|it|everyone|everybody|someone|both|to|for|on|in|at|with|about|up|what|how
        |when|where|who|which|whether|if|from|one|two|three|\d)\b|[A-Z"“'#@$€£\d])""",
    re.VERBOSE,
)


def split_clauses(text: str, *, verbs: Collection[str] = ()) -> tuple[str, ...]:
    """The single requests in a goal, in order, as they are written there.

    Args:
        text: the goal; quoted parts and "between X and Y" are never cut.
        verbs: further words, lower case, that begin an imperative (first words of tool summaries).

    Returns:
        At least one clause unless the text is blank: a text is cut only where a new imperative or
        question begins, so "returning 2026-12-06" stays with the flight it belongs to.
    """
    return tuple(text[start:end] for start, end in clause_spans(text, verbs=verbs))


def clause_spans(text: str, *, verbs: Collection[str] = ()) -> tuple[tuple[int, int], ...]:
    """Where each clause of `split_clauses` starts and ends in the text."""
    starts, ends = [0], []
    asked = _begins_request(text, verbs, firm=True)
    for match in _open_boundaries(text):
        strong = match["strong"] is not None
        if match.group().strip() == "," and _goes_on_saying(text, starts[-1], match):
            continue
        if (
            match["weak"]
            and "," in match["weak"]
            and _is_half_said(text[starts[-1] : match.start()])
        ):
            continue
        if adds_guests(text, match.end()):
            continue
        rest = text[match.end() :]
        goes_on_asking = _QUESTION.match(rest) and _QUESTION.match(text, starts[-1])
        if not goes_on_asking and not _begins_request(
            rest, verbs, firm=strong or _GOES_ON.search(match.group()) is not None
        ):
            continue
        was_asked = asked or (strong and "?" in match["strong"])  # "is Rex in? Cancel it"
        if was_asked and _has_object(text[starts[-1] : match.start()]):
            ends.append(match.start())
            starts.append(match.end())
        asked = True
    ends.append(len(text))
    spans = (_trimmed(text, start, end) for start, end in zip(starts, ends, strict=True))
    return tuple((start, end) for start, end in spans if start < end)


def joints(text: str) -> tuple[tuple[int, int], ...]:
    """Where a text might be cut: each conjunction, comma and end of a sentence, start and end.

    None lies in what is quoted, in "between X and Y", or at the text's edge.
    """
    return tuple(
        match.span()
        for match in _open_boundaries(text)
        if 0 < match.start() < match.end() < len(text)
    )


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Where the text quotes something."""
    return [m.span() for m in _QUOTED.finditer(text)] if _QUOTES & {*text} else []


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where each sentence starts, and where it ends before the stop that closes it."""
    starts, ends = [0], []
    for match in _open_boundaries(text):
        if match["strong"] is not None:
            ends.append(match.start())
            starts.append(match.start() + len(match["strong"]))
    return tuple((s, e) for s, e in zip(starts, [*ends, len(text)], strict=True) if s < e)


def begins_request(rest: str, *, verbs: Collection[str] = (), firm: bool = False) -> bool:
    """Whether a text begins with an imperative or a question; `verbs` as in `split_clauses`.

    `firm`: what may be a noun is taken for a verb.
    """
    return _begins_request(rest, verbs, firm=firm)


def leaves_alone(text: str, *, verbs: Collection[str] = ()) -> bool:
    """Whether a text says that a thing is to stay as it is: "keep my flight", "leave it alone".

    Not where a tool's verb, of those in `verbs`, is meant.
    """
    match = _LEAVING_ALONE.match(text)
    return match is not None and match["verb"].lower() not in verbs


_LEADS_IN: Final = re.compile(
    rf"(?:{'|'.join(WordLists('clauses').lines('leading_questions'))})\s+"
    r"(?=(?:who|whose|which|what|when|where|how\s+(?:much|many|long|far|often))\b)",
    re.IGNORECASE,
)


def without_lead(clause: str) -> str:
    """The clause from its verb on: without "please", "then", "could you", "I want to"."""
    rest = clause.lstrip()
    while True:
        match = _LEAD.match(rest) or _POLITE.match(rest)
        if match is None or match.end() == len(rest) or match.end() == 0:
            return rest
        rest = rest[match.end() :].lstrip()


def question_in(clause: str) -> str:
    """A clause from its question word on, where only what leads it in stands before that.

    "Find out who has the Teal" is "who has the Teal"; others are as they are.
    """
    rest = without_lead(clause)
    match = _LEADS_IN.match(rest)
    return rest[match.end() :] if match is not None else clause


def _open_boundaries(text: str) -> Iterator[re.Match[str]]:
    """The boundaries that no quotation and no "between X and Y" covers."""
    covered = quoted_spans(text)
    if "between" in text.lower():
        covered += [m.span() for m in _BETWEEN.finditer(text)]
    covered += [m.span() for m in _NUMBERED_DAY.finditer(text)]
    covered += [m.span() for m in _TITLE.finditer(text)]
    for match in _BOUNDARY.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in covered):
            yield match


def _begins_request(rest: str, verbs: Collection[str], *, firm: bool) -> bool:
    """Whether an imperative or a question begins here.

    Args:
        rest: the text from the boundary on.
        verbs: further verbs.
        firm: the boundary leaves no doubt that a sentence starts: here, what may be a noun is a
            verb, and what no lexicon holds is one before an article.
    """
    rest = rest.lstrip()
    led = rest[_lead_length(rest) :]
    if _ASKING.match(led) or _POLITE.match(led) or _FORBIDDING.match(led):
        return True
    if leaves_alone(led, verbs=verbs):
        return True
    word = _WORD.match(led)
    if word is None:
        return False
    verb = word.group().lower()
    if verb in verbs or is_verb(verb):
        sure = firm or led != rest or verb not in NOUN_LIKE_VERBS
        return sure or bool(_FOLLOWS_A_VERB.match(led, word.end()))
    if verb in STOP_WORDS or not word.group().islower():
        return firm and verb not in STOP_WORDS and bool(_ARTICLE.match(led, word.end()))
    if _PARTICIPLE.fullmatch(verb):
        return False  # ", bringing it back on Friday" says how, and orders nothing of its own
    done_to = (_ARTICLE if firm else _POSSESSIVE, _TO_IT)
    return any(pattern.match(led, word.end()) for pattern in done_to)


def _goes_on_saying(text: str, start: int, comma: re.Match[str]) -> bool:
    """Whether what follows a comma forbids, and what is before it is what somebody is told."""
    told = without_lead(text[start : comma.start()])
    return _tells(told) and bool(_ALSO_SAID.match(text, comma.end()) and MATTER.search(told))


def dependent_end(said: str) -> int:
    """Where the first half of a sentence ends that begins as one: "when Ana writes, cancel it"."""
    half = _DEPENDENT.match(said)
    return half.end() if half else 0


def opens_what_is_told(piece: str) -> bool:
    """Whether with the end of a piece begins what somebody is told: "tell Bo that"."""
    opener = _TOLD.search(f"{piece} ")
    return _tells(piece) and opener is not None and opener.end() > len(piece)


def _is_half_said(piece: str) -> bool:
    """Whether what somebody is told is only half a sentence yet: "tell Bo that when Ana writes"."""
    opener = _TOLD.search(piece)
    return (
        _tells(piece)
        and opener is not None
        and dependent_end(piece[opener.end() :]) == len(piece) - opener.end()
    )


def _tells(piece: str) -> bool:
    word = _WORD.match(without_lead(piece))
    return word is not None and action_of(word.group().lower()) is Action.SEND


def _has_object(piece: str) -> bool:
    """Whether the piece has more than its verb: "find" of "find and book a flight" has not."""
    led = piece.lstrip()
    return len(_TERM.findall(without_lead(led[_lead_length(led) :]))) > 1


def _lead_length(text: str) -> int:
    match = _LEAD.match(text)
    return match.end() if match else 0


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip(" \t\n,;"))
    return start, start + len(text[start:end].rstrip(" \t\n,;."))
