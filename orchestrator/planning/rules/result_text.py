"""The answer text of a leg: a sentence with the tool's noun and the result count, and a table."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.prices import plain_answer
from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import PII_PREFIX
from orchestrator.language import lexicon
from orchestrator.language.inflection import participle, plural, singular
from orchestrator.language.words import STOP_WORDS, is_verb, tokens
from orchestrator.planning.models import MOST_COLUMNS, MOST_ROWS, AnswerTable
from orchestrator.planning.rules.items import ASIDE, Item, flat_fields, is_listing

_NAMES: Final = frozenset(["name", "title", "subject", "number", "label", "summary", "headline"])
_ASIDE: Final = ASIDE | {"meta"}
_NAMELESS: Final = "one without a name"
_LONGEST_CELL: Final = 80
_MOST_DETAILS: Final = 7


def _first_words(tool: Tool) -> list[str]:
    """Return the words of a summary up to its first punctuation mark."""
    return re.findall(r"[\w'-]+", re.split(r"[.,;:(]", tool.summary, maxsplit=1)[0])


def noun_of(tool: Tool) -> str:
    """Return the subject of a tool's answer, in the words of its summary: "invoices"."""
    words = _first_words(tool)
    found: list[str] = []
    for word in words[1:]:
        if word.lower() in STOP_WORDS:
            if found and found != ["list"]:
                break
            found = []
            continue
        found.append(word.lower())
    return " ".join(found[-3:]) or " ".join(tokens(tool.name)[1:]) or tool.name


def done_phrase(tool: Tool) -> str:
    """Return a tool's action as completed: "Post a note." becomes "Note posted"."""
    words = _first_words(tool)
    if len(words) < 2:
        return " ".join(tokens(tool.name)).capitalize()
    preposition = {"to", "for", "from", "in", "at", "with", "on", "of", "by", "back"}
    cut = next((n for n, w in enumerate(words) if w.lower() in preposition), len(words))
    articles = {"a", "an", "the", "one", "your", "selected", "chosen"}
    thing = [word for word in words[1:cut] if word.lower() not in articles]
    said = words[0].lower()
    verb = next((v for v in (said, said[:-1], said[:-2]) if is_verb(v)), said)
    phrase = " ".join([*thing, participle(verb), *words[cut:]])
    return _capital(phrase)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def read_result(
    tool: Tool, items: Sequence[Item], body: JsonValue, unused: str
) -> tuple[str, AnswerTable | None]:
    """Return the sentence and the table that answer a read with the intended items.

    `unused` is the sentence about the parts of the request that were not applied; else ''.
    """
    if is_listing(tool) or len(items) > 1:
        noun = noun_of(tool)
        count = len(items)
        named = singular(noun) if count == 1 else noun if noun.endswith("s") else plural(noun)
        first = f"{count} {named}" if count else f"No {named}"
        sentence = f"{first} found." if not items else f"{first}: {_brief(items)}."
        return f"{sentence}{unused}", table_of(items)
    found = details(plain_answer(tool, body))
    title = _capital(noun_of(tool))
    text = f"{title}: {', '.join(found)}." if found else f"{title}: an answer without details."
    return f"{text}{unused}", None


def done_result(tool: Tool, bodies: Sequence[JsonValue], prices: Sequence[str]) -> str:
    """Return the sentence that reports the completed consequences."""
    phrase = done_phrase(tool)
    parts = [
        ", ".join([*_done(tool, body), *([price] if price else [])])
        for body, price in zip(bodies, prices, strict=True)
    ]
    if len(parts) == 1:
        return f"{phrase}: {parts[0]}." if parts[0] else f"{phrase}."
    return f"{phrase}, {len(parts)} times: {'; '.join(filter(None, parts))}."


def _done(tool: Tool, body: JsonValue) -> list[str]:
    """Return the details of an answer, with amounts in units of their currency, as on the card."""
    return details(plain_answer(tool, body))[:_MOST_DETAILS]


def _brief(items: Sequence[Item]) -> str:
    names = [", ".join(cell for _, cell in _cells(item)[:3]) for item in items[:3]]
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    return f"{'; '.join(name or _NAMELESS for name in names)}{more}"


def label(item: Item) -> str:
    """Return an item's label for people: its name, then day, time and price."""
    cells = [cell for name, cell in _cells(item) if name != "price" and tokens(name)[-1:] != ["id"]]
    price = [str(item.price)] if item.price is not None else []
    return ", ".join([*dict.fromkeys([*cells[:4], *price])]) or _NAMELESS


def table_of(items: Sequence[Item]) -> AnswerTable | None:
    """Return the fields that identify, time and price items, one row each; None without items."""
    if not items:
        return None
    rows = [dict(_cells(item)) for item in items[:MOST_ROWS]]
    names = dict.fromkeys(name for row in rows for name in row)
    best = sorted(names, key=_rank)[:MOST_COLUMNS]
    columns = [name for name in names if name in best]
    if not columns:
        return None
    return AnswerTable(
        columns=tuple(" ".join(tokens(name)) for name in columns),
        rows=tuple(tuple(row.get(name, "") for name in columns) for row in rows),
        more=max(0, len(items) - len(rows)),
    )


def _cells(item: Item) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    own = {name: value for name, value in item.own_fields.items() if name not in _ASIDE}
    for name, value in flat_fields(own):
        if (text := _cell(name, value)) and name not in dict(found):
            found.append((name, text))
    if item.price is not None:
        priced = {n for n, v in found if lexicon.MONEY & set(tokens(n))}
        found = [pair for pair in found if pair[0] not in priced] + [("price", str(item.price))]
    found.sort(key=lambda pair: _rank(pair[0]))
    return found


_RANKS: Final = (
    (_NAMES | lexicon.TEXT, 0),
    (lexicon.BOOKKEEPING - {"status", "at"}, 7),
    (lexicon.DATE | lexicon.TIME | lexicon.START | lexicon.END, 1),
    (lexicon.PLACE, 2),
    (lexicon.MONEY, 3),
    (frozenset({"status", "state", "kind", "type"}), 4),
    (lexicon.IDENTIFIER, 6),
)


def _rank(name: str) -> int:
    words = set(tokens(name))
    return next((rank for named, rank in _RANKS if words & named), 5)


def _cell(name: str, value: JsonValue) -> str:
    words = tokens(name)
    if value is None or isinstance(value, bool) or not words or "url" in words:
        return ""
    if isinstance(value, dict):
        amount, currency = value.get("amount"), str(value.get("currency") or "")
        states_unit = isinstance(amount, str) and currency in amount
        text = str(amount) if states_unit else f"{amount} {currency}".strip()
        return text if amount is not None else ""
    text = str(value)
    return "" if text.startswith(("http", PII_PREFIX)) else text[:_LONGEST_CELL]


def details(body: JsonValue) -> list[str]:
    """Return an item's details for a reader: names, places, days, counts, its id."""
    found: list[str] = []
    own_id = ""
    shown = {k: v for k, v in body.items() if k not in _ASIDE} if isinstance(body, dict) else body
    for name, value in flat_fields(shown):
        words = tokens(name)
        text = _cell(name, value)
        if not text or words == ["client", "reference"]:
            continue
        if words[-1:] == ["id"]:
            own_id = own_id or f"reference {text}"
        elif isinstance(value, int | float):
            found.append(f"{' '.join(words)} {text}")
        elif (
            (len(text) <= 60 and not (set(words) & lexicon.BOOKKEEPING))
            or words[-1:] == ["status"]
            or "text" in words
        ):
            found.append(text)
    return [*dict.fromkeys(found)][:_MOST_DETAILS] + ([own_id] if own_id else [])


def not_applied(parts: Iterable[str]) -> str:
    """Return the sentence that names the unapplied parts of a request; '' without any."""
    named = ", ".join(repr(part) for part in dict.fromkeys(parts))
    return f" Not applied: {named}." if named else ""
