"""The language of a goal: stated only where it is surely not English."""

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
"""Words of its own from which the language of a text can be told."""
_HALF: Final = 0.5
"""Share of English words from which a text is English, whatever the others are."""
_BEGUN: Final = 0.3
"""The same of a text that begins with an English verb."""
_UNLIKELY: Final = 0.1
"""How likely English may be in a text that is in another language."""
_HARDLY: Final = 0.005
"""The same of a text of a word or two."""
_NAMED: Final = 0.3
"""How likely a language must be to be named."""
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
        from babel import Locale  # a fifth of a second, and mostly not needed

        return str(Locale("en").languages.get(self.language, self.language))


def foreign_in(text: str) -> Foreign | None:
    """Return the first sentence of a text that is surely not English; None when all may be.

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
    """The language of a sentence, "" for one that cannot be named; None where it may be English.

    Args:
        own: its words that are no values.
        whole: all of it.
    """
    words = _WORD.findall(own.lower())
    known = sum(word in _KNOWN or is_verb(word) for word in words)
    # "Order pizza margherita" begins as English does: more words must then say otherwise.
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
    """How likely a text is in each language, by its code."""
    return dict(_identifier().rank(text))


@cache
def _identifier() -> Any:
    """The library's model, which takes a third of a second to read: only doubtful texts need it."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(_LANGUAGES)
    return identifier
