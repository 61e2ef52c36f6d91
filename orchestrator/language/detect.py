"""Detects the language of a goal, and reports one only if the goal is surely not English."""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from orchestrator.language import lexicon
from orchestrator.language.values import find_values
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_SENTENCE: Final = re.compile(r"(?<=[^\s.])[.!?;]\s+|\n+")
_LATIN: Final = re.compile(r"[a-z]", re.IGNORECASE)
_KNOWN: Final = STOP_WORDS | lexicon.CHEAPEST | lexicon.NEWEST | lexicon.BEST_RATED | lexicon.DATE
_ENOUGH: Final = 3
"""Number of words from which the language of a text is detected."""
_HALF: Final = 0.5
"""Share of English words from which a text is English, whatever the other words are."""
_BEGUN: Final = 0.3
"""The same share for a text that begins with an English verb."""
_UNLIKELY: Final = 0.1
"""Highest probability of English for a text in another language."""
_HARDLY: Final = 0.005
"""The same probability for a text of one or two words."""
_NAMED: Final = 0.3
"""Minimum probability for a language to be named."""
_LANGUAGES: Final = tuple(WordLists("languages").words("told_apart"))
_SOME_DAY: Final = datetime(2000, 1, 3)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A sentence of a text that is not English; `language` is "" where none is likely."""

    text: str
    language: str

    @property
    def name(self) -> str:
        """The language in words: "German"."""
        if not self.language:
            return "a language that is not English"
        from babel import Locale  # loading takes 0.2 s and is rarely needed

        return str(Locale("en").languages.get(self.language, self.language))


def foreign_in(text: str) -> Foreign | None:
    """Return the first sentence of a text that is surely not English; None if there is none.

    Names, quoted words and other values may be in any language.
    """
    own = text
    for value in find_values(text, now=_SOME_DAY):
        if value.kind != "number":
            own = f"{own[: value.start]}{' ' * len(value.text)}{own[value.end :]}"
    start = 0
    for end in [*(match.end() for match in _SENTENCE.finditer(text)), len(text)]:
        if (language := _foreign(own[start:end], text[start:end])) is not None:
            return Foreign(text[start:end].strip(), language)
        start = end
    return None


def _foreign(own: str, whole: str) -> str | None:
    """Return the language of a sentence, "" if it is unclear; None if it may be English.

    Args:
        own: the words of the sentence without its values.
        whole: the whole sentence.
    """
    words = _WORD.findall(own.lower())
    known = sum(word in _KNOWN or is_verb(word) for word in words)
    # "Order pizza margherita" begins like English, so more words are needed to decide otherwise.
    share = _BEGUN if words and is_verb(words[0]) else _HALF
    if not words or known >= share * len(words):
        return None
    is_latin = _LATIN.search(own) is not None
    unlikely = _HARDLY if len(words) < _ENOUGH else _UNLIKELY
    if is_latin and _chances(" ".join(words))["en"] > unlikely:
        return None
    chances = _chances(whole)
    likely = max(chances, key=lambda code: chances[code])
    return likely if likely != "en" and chances[likely] >= _NAMED else ""


def _chances(text: str) -> dict[str, float]:
    return dict(_identifier().rank(text))


@cache
def _identifier() -> Any:
    """Return the library's model, loaded in a third of a second, for doubtful texts only."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_LANGUAGES)
    return identifier
