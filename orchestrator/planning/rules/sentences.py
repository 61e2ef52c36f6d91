"""Sentences that report what calls did, in plain English."""

import re
from typing import Final

from pydantic import JsonValue

from orchestrator.core.pii import PII_PREFIX
from orchestrator.language import lexicon
from orchestrator.language.inflection import participle
from orchestrator.language.words import tokens
from orchestrator.planning.rules.answers import DATE, TIME, flat_fields
from orchestrator.planning.rules.situation import FactSource

ARTICLES: Final = frozenset({"a", "an", "the", "one", "your", "selected", "chosen"})
_PREPOSITIONS: Final = frozenset(
    {"to", "for", "from", "in", "at", "with", "on", "of", "by", "back"}
)
_MAX_DETAILS: Final = 7


def done_phrase(summary: str, fallback: str) -> str:
    """What a tool does, as done: "Post a note to a board." is "Note posted to a board"."""
    words = re.findall(r"[\w'-]+", summary.split(".")[0])
    if len(words) < 2:
        return fallback
    cut = next((n for n, w in enumerate(words) if w.lower() in _PREPOSITIONS), len(words))
    thing = [w for w in words[1:cut] if w.lower() not in ARTICLES]
    phrase = " ".join([*thing, participle(words[0].lower()), *words[cut:]])
    return phrase[:1].upper() + phrase[1:]


def headline(source: FactSource) -> str:
    """What one call did: its title, unless that only says what the tool does, not that it did."""
    fact, summary = source.fact, source.tool.summary
    if fact.title and fact.title.rstrip(".") != summary.rstrip("."):
        return fact.title
    return done_phrase(summary, " ".join(tokens(fact.tool)).capitalize())


def summary_line(source: FactSource, *, most: int = _MAX_DETAILS) -> str:
    """What one call did, in one line without price or id: "Table reserved: Roma, Lisbon"."""
    return _titled(headline(source), details(source.fact.body, reference=False)[:most])


def report(source: FactSource) -> str:
    """What one call did, with its particulars: "Table reserved: Roma, Lisbon, 20:00"."""
    price = [str(source.price)] if source.price is not None else []
    return _titled(headline(source), [*details(source.fact.body), *price])


def details(body: JsonValue, *, reference: bool = True) -> list[str]:
    """The particulars of a thing that a reader wants: names, places, dates, counts, its id."""
    told: list[str] = []
    own_id = ""
    for name, value in flat_fields(body):
        words = tokens(name)
        if words[-1:] == ["id"]:
            own_id = own_id or f"reference {value}"
        elif not _is_bookkeeping(words) and (text := _detail(words, value)):
            told.append(text)
    return [*_most_telling(told), *([own_id] if own_id and reference else [])]


def _most_telling(told: list[str]) -> list[str]:
    """As many as are read, in their order; no day is left out for the sake of another word."""
    found = [*dict.fromkeys(told)]
    others = [text for text in found if not DATE.match(text)]
    room = max(0, _MAX_DETAILS - (len(found) - len(others)))
    kept = {*others[:room]}
    return [text for text in found if text in kept or DATE.match(text)][:_MAX_DETAILS]


def _titled(title: str, parts: list[str]) -> str:
    return f"{title}: {', '.join(parts)}" if parts else title


def _detail(words: list[str], value: JsonValue) -> str:
    if isinstance(value, str):
        plain = set(words) & {"name", "title", "city", "origin", "destination", "place"}
        if plain or DATE.match(value) or TIME.match(value):
            return value
        return "" if len(value) > 60 or value.startswith(("http", PII_PREFIX)) else value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{' '.join(words)} {value}"
    return ""


def _is_bookkeeping(words: list[str]) -> bool:
    return bool(set(words) & lexicon.BOOKKEEPING) or words == ["client", "reference"]
