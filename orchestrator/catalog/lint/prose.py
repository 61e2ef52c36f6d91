"""Prose of a document: its subjects, its abbreviations, and words that only insiders understand."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from orchestrator.core import currencies
from orchestrator.core.record import JsonObject

_TEXTS = ("title", "summary", "description")
_SMALL = frozenset({"a", "an", "and", "by", "de", "for", "in", "of", "on", "or", "the", "to"})
"""Words without a letter in the abbreviation."""
_WORD = re.compile(r"[^\W\d_]+")
_NAMES = re.compile(r"\b[A-Z][a-z]\w*(?:[ \n/-]+(?:(?:of|and|for|in|on|the|to) )*[A-Z][a-z]\w*)+")
_IN_BRACKETS = re.compile(r"\(\W{0,2}([A-Z][A-Za-z]{1,6}?)s?\W{0,2}\)")
_BEFORE_WORDS = re.compile(r"\b([A-Z]{2,7})s?\W{0,3}[(\u2014:=-]")
_NEAR = 90
"""Characters around an abbreviation that are searched for its words."""
_LONGEST_ABBREVIATION = 7
_NOT_PROSE = re.compile(
    r"```.{0,2000}?```|``.{0,500}?``|`[^`\n]{0,200}`|<code>.{0,500}?</code>|<[^<>\n]{0,300}>"
    r"|\]\([^()\s]{0,300}\)|\{[^{}\n]{0,100}\}|\"[^\"\n]{0,200}\"|\b\w{1,20}://\S+"
    r"|\S{1,80}@\S{1,80}|\b\d[\d.,]{0,20}\s?[A-Za-z]+",
    re.DOTALL,
)
"""Code, tags, addresses, units and quotations, which are not prose. Each part is bounded: an
unterminated one would take quadratic time otherwise."""
_MOST_READ = 20_000
"""Characters that are examined; no card shows a longer text."""
_TOKEN = re.compile(r"(?<![\w./:@#$&=-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*(?![\w=]|[./:@]\w)")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ABBREVIATION = re.compile(r"([A-Z]{2,5})s?")
_CAMEL_CASE = re.compile(r"[a-z]{3,}[A-Z]+[a-z][A-Za-z0-9]*")
"""With fewer small letters, or before capitals alone, it is a brand."""
_PASCAL_CASE = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z]*")
_PACKAGE: Final = "wordllama"
"""Its vocabulary is read from a file; the package itself is never imported."""
_PIECES: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_BEGINS_A_WORD: Final = "\u2581"


class Prose:
    """The texts and names of a document, read when a rule first asks."""

    def __init__(self, root: JsonObject) -> None:
        """Take the document."""
        self._root = root

    @cached_property
    def subjects(self) -> frozenset[str]:
        """Words of its title and tags, which its readers know."""
        info, tags = self._root.get("info"), self._root.get("tags")
        listed = tags if isinstance(tags, list) else []
        stated = [tag.get("name") for tag in listed if isinstance(tag, dict)]
        stated.append(info.get("title") if isinstance(info, dict) else None)
        return frozenset(word for text in stated for word in _WORD.findall(str(text)))

    @cached_property
    def spelled_out(self) -> frozenset[str]:
        """Abbreviations, in capitals, that some text spells out."""
        return frozenset(found for text in self._read[0] for found in _abbreviations(text))

    @cached_property
    def fields(self) -> frozenset[str]:
        """Names that callers fill in and read: properties, parameters, and enumerated values."""
        return frozenset(self._read[1])

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of its schemas and operations, folded."""
        return frozenset(map(folded, self._read[2]))

    @cached_property
    def _read(self) -> tuple[set[str], set[str], set[str]]:
        """All texts, all fields, and the names of schemas and operations."""
        texts: set[str] = set()
        fields: set[str] = set()
        names: set[str] = set()
        waiting: list[object] = [self._root]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                texts.update(t for key in _TEXTS if isinstance(t := value.get(key), str))
                fields.update(_fields(value))
                names.update(_names(value))
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
        return texts, fields, names


def folded(name: str) -> str:
    """Return a name without case and punctuation: orderId, order_id and order-id are one."""
    return "".join(c for c in name.lower() if c.isalnum())


def _fields(value: dict[str, object]) -> Iterator[str]:
    properties, listed, name = value.get("properties"), value.get("enum"), value.get("name")
    yield from properties if isinstance(properties, dict) else ()
    yield from (v for v in listed if isinstance(v, str)) if isinstance(listed, list) else ()
    if isinstance(name, str) and "in" in value:
        yield name


def _names(value: dict[str, object]) -> Iterator[str]:
    schemas, operation_id = value.get("schemas"), value.get("operationId")
    yield from schemas if isinstance(schemas, dict) else ()
    if isinstance(operation_id, str):
        yield operation_id


def _abbreviations(text: str) -> Iterator[str]:
    """Yield the abbreviations that a text spells out."""
    for run in _NAMES.findall(text):
        initials = "".join(w[0] for w in _WORD.findall(run) if w.lower() not in _SMALL).upper()
        for begin in range(len(initials)):
            for end in range(begin + 2, min(begin + _LONGEST_ABBREVIATION, len(initials)) + 1):
                yield initials[begin:end]
    for found in _IN_BRACKETS.finditer(text):
        words = text[max(0, found.start() - _NEAR) : found.start()]
        if any(i.endswith(found[1].upper()) for i in _initials(words)):
            yield found[1].upper()
    for found in _BEFORE_WORDS.finditer(text):
        words = text[found.end() : found.end() + _NEAR]
        if any(i.startswith(found[1]) for i in _initials(words)):
            yield found[1]


def _initials(words: str) -> Iterator[str]:
    """Yield the initials with the small words, and without."""
    found = _WORD.findall(words)
    yield "".join(w[0] for w in found).upper()
    yield "".join(w[0] for w in found if w.lower() not in _SMALL).upper()


@dataclass(frozen=True)
class Jargon:
    """A word outside everyday language, and the reason."""

    word: str
    reason: str


def jargon_in(text: str, prose: Prose) -> Iterator[Jargon]:
    """Yield each such word of a text, once.

    Subjects of the document and fields that a caller fills in or reads are not jargon: a text about
    `offer_id` explains its use.
    """
    seen: set[str] = set()
    for word in _TOKEN.findall(_NOT_PROSE.sub(" ", text[:_MOST_READ])):
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
    # Two joined words are often a brand, three are an identifier.
    return len(_PARTS.findall(word)) > 2 or folded(word) in prose.names


def _is_obscure(short: str, prose: Prose) -> bool:
    if any(map(is_common, (short, short.lower()))) or currencies.exists(short):
        return False
    return short not in prose.subjects and short not in prose.spelled_out


def is_common(word: str) -> bool:
    """Return True if a word in this case is frequent enough to be one piece of the vocabulary."""
    return _BEGINS_A_WORD + word in _pieces()


@cache
def _pieces() -> frozenset[str]:
    """Return the 32,000 pieces of the vocabulary; empty when the package is incomplete."""
    spec = find_spec(_PACKAGE)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else None
    if folder is None or not (folder / _PIECES).is_file():
        return frozenset()
    return frozenset(json.loads((folder / _PIECES).read_text(encoding="utf-8"))["model"]["vocab"])
