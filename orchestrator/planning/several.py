"""Several of a kind in one clause: one request for each, unless its tool takes them all at once."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import ClauseReading, matter_start, read_clause
from orchestrator.language.coordination import Coordination, coordinated, further_of, said_of_one
from orchestrator.language.degrees import comparison_in
from orchestrator.language.ellipsis import of_one
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, Slot
from orchestrator.language.negation import exclusions
from orchestrator.language.quantifiers import bare_plural, is_one_of, vague_number
from orchestrator.language.slots import read_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, name_words, tokens
from orchestrator.planning.models import Doubt
from orchestrator.planning.order_deeds import writes
from orchestrator.planning.rules.answers import answer_fields
from orchestrator.planning.rules.parameters import CLOCKS, DAYS, tool_parameters

_BOTH: Final = re.compile(
    r"\bboth\b(?:\s+(?:of\s+)?(?:the|my|our|those|these)\b)?"
    r"(?:\s+(?:[a-z]+\s+){0,2}?(?P<thing>[a-z]+s)\b|(?=\s*(?:$|[.,;!])|\s+(?:of|in|at|on|for|from|to|with)\b))"
)
_ON_WHAT_IS: Final = frozenset({Action.CANCEL, Action.UPDATE, Action.PAY})
"""What is done to things that there are."""
_NTH: Final = "first|second|third|fourth|last"
_BY_PLACE: Final = re.compile(
    rf"\bthe\s+(?P<one>{_NTH})\b[^,;]*(?:,|;|\s+and)\s+(?P<other>[A-Z]\w*\s+(?:[a-z]+\s+){{0,2}}?"
    rf"the\s+(?P<nth>{_NTH})\b)"
)
"""Two of several, each for a person of its own."""
_ADVICE: Final = re.compile(
    r"\s*(?:so\s+|and\s+|but\s+)?(?:should|shall|must|ought)(?:n['\u2019]t)?\s+(?:i|we)\b",
    re.IGNORECASE,
)
_PERMISSION: Final = re.compile(
    r"\s*(?:so\s+|and\s+|but\s+)?(?:can|could|may|might)(?:n['\u2019]t)?\s+(?:i|we)\b",
    re.IGNORECASE,
)
_HOW: Final = WordLists("clauses").word_set("after_objects") - {"for", "of", "the", "my"}
"""Between a verb and a number, they say how, where or with what it is done: "in two parts"."""
_LISTED: Final = {
    "date": lexicon.DATE,
    "time": lexicon.TIME,
    "place": lexicon.PLACE,
    "origin": lexicon.ORIGIN,
}
"""The words of a list that takes values of a kind; a list of texts takes whom or what is named."""


@dataclass(frozen=True)
class Several:
    """The requests that one clause makes, and what may be meant otherwise."""

    requests: tuple[str, ...]
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class Counted:
    """How many of what is counted."""

    number: int
    thing: str
    """The noun, as written, lower case."""
    is_definite: bool = False
    """Whether there are to be no more and no fewer: "the three drafts", "both bookings"."""


def requests_in(text: str, tool: Tool, catalog: Catalog) -> Several:
    """The requests that a clause makes of a tool: one for each of what it joins.

    A call that takes a list of such things is made once. Of two moments that may be the ends of one
    stretch of time, which a tool takes as such, a person is asked; so of a number that is neither
    one for each of what is joined nor theirs.
    """
    found, vague, clause = coordinated(text), "", read_clause(text)
    if found is not None and found.is_choice and tool.is_side_effect:
        return Several((text,))
    if tool.is_side_effect and (doubt := _doubt_of_asking(clause, tool)) is not None:
        return Several(found.clauses if found else (text,), (doubt,))
    if tool.is_side_effect and tool.effect is not Effect.CANCEL:
        vague = vague_number(clause)
    if vague:
        why = f"how many is not said; {tool.name} would be called once for what is told apart"
        doubt = Doubt(kind="not_understood", about=vague, why=why)
        return Several(found.clauses if found else (text,), (doubt,))
    if found is not None and tool.is_side_effect and (apart := said_of_one(text)):
        why = f"it is said of one of several; {tool.name} would be called alike for each of them"
        return Several(found.clauses, (Doubt(kind="not_understood", about=apart, why=why),))
    if found is None and tool.is_side_effect and (unjoined := _others_addressed(clause, tool)):
        why = f"it may be for each of several; {tool.name} would be called once"
        return Several((text,), (Doubt(kind="not_understood", about=unjoined, why=why),))
    if found is None and tool.is_side_effect and (other := _another_place(clause)):
        why = f"it may be for another one as well; {tool.name} would be called for the first named"
        return Several((text,), (Doubt(kind="not_understood", about=other, why=why),))
    if found is None and tool.is_side_effect and (further := further_of(text)):
        why = f"it may be one more; {tool.name} would be called once"
        return Several((text,), (Doubt(kind="not_understood", about=further, why=why),))
    # Two that are compared are told apart in one answer, where that holds both.
    is_compared = comparison_in(text) is not None and not tool.required_inputs
    if found is None or takes_all(tool, found) or is_compared:
        return Several((text,))
    if found.is_stretch and any(map(_takes_stretch, (tool, *_feeding(tool, catalog)))):
        why = (
            f"two moments may be the ends of one stretch of time or two separate ones; "
            f"{tool.name} would be called once, from the first to the second"
        )
        return Several((text,), (Doubt(kind="not_understood", about=text, why=why),))
    return _numbered(clause, found)


def _another_place(clause: ClauseReading) -> str:
    """What is of a second one, by its place: "Ana on the first and Ben on the second flight"."""
    found = _BY_PLACE.search(clause.text[: matter_start(clause.text)])
    return found["other"] if found and found["one"].lower() != found["nth"].lower() else ""


def _others_addressed(clause: ClauseReading, tool: Tool) -> str:
    """The address behind the first to which something is done in words of its own; else empty."""
    told = matter_start(clause.text) if writes(tool) else None
    slots = read_slots(clause.text[:told], now=None)
    denied = [(one.start, one.end) for one in exclusions(clause.text)]
    addressed = (slot for slot in slots if slot.kind == "email")
    others = [s.text for s in addressed if not any(a <= s.position < b for a, b in denied)][1:]
    takes_list = any(_items(schema, tool) for schema in tool.properties.values())
    return "" if takes_list or not others else others[0]


def _doubt_of_asking(clause: ClauseReading, tool: Tool) -> Doubt | None:
    """The doubt whether something is to be done at all: "should I pay it?", "can you pay bills?".

    "Can I book a table?" is a polite order; "can I cancel it?" asks what would follow.
    """
    if clause.action in _ON_WHAT_IS and (noun := bare_plural(clause)):
        why = f"it says neither which nor how many; {tool.name} would be called for all there are"
        return Doubt(kind="not_understood", about=f"{clause.verb} {noun}", why=why)
    asks = _ADVICE.match(clause.text) or (
        clause.action in _ON_WHAT_IS and _PERMISSION.match(clause.text)
    )
    if not asks:
        return None
    why = f"it may only ask whether that should or could be done; {tool.name} would be called"
    return Doubt(kind="not_understood", about=clause.text, why=why)


def _numbered(clause: ClauseReading, found: Coordination) -> Several:
    """The requests, each for one where the clause counts as many as it joins."""
    number, joined = counted(clause), len(found.clauses)
    if number is None or number.number < 2 or found.is_ellipsis:
        return Several(found.clauses)
    if number.number == joined:
        return Several(tuple(of_one(one) for one in found.clauses))
    why = f"{number.number} may be the number of all or of each; as many would be made for each"
    return Several(found.clauses, (Doubt(kind="not_understood", about=clause.text, why=why),))


def takes_all(tool: Tool, found: Coordination) -> bool:
    """Whether one call can name all that a clause joins: the tool takes a list of such."""
    lists = {
        name: items for name, schema in tool.properties.items() if (items := _items(schema, tool))
    }
    if any(items.get("type") == "object" or "properties" in items for items in lists.values()):
        return True
    texts = {
        n for n, items in lists.items() if items.get("type") == "string" and "enum" not in items
    }
    return any(_is_list_of(kind, texts) for kind in found.kinds)


def _is_list_of(kind: str, lists: Iterable[str]) -> bool:
    if kind in _LISTED:
        words = _LISTED[kind]
        return any(
            words & {w for word in name_words(n) for w in (word, word.removesuffix("s"))}
            for n in lists
        )
    return kind in ("name", "email", "identifier", "quoted") and any(True for _ in lists)


def _items(schema: JsonObject, tool: Tool) -> JsonObject | None:
    items = resolve(schema, tool.input_schema).get("items")
    return resolve(items, tool.input_schema) if isinstance(items, dict) else None


def _feeding(tool: Tool, catalog: Catalog) -> Iterator[Tool]:
    """The tools of its domain that look up what a tool takes: of a stay, the free rooms."""
    keys = {name for p in tool_parameters(tool) if p.is_produced for name in p.names}
    for other in catalog.tools.values():
        looks = other.domain == tool.domain and not other.is_side_effect
        if looks and keys & answer_fields(other):
            yield other


def _takes_stretch(tool: Tool) -> bool:
    """Whether a tool is told when something ends, beside when it begins."""
    moments = [p for p in tool_parameters(tool) if p.kind in DAYS | CLOCKS]
    return any(p.side == "end" for p in moments) and len(moments) > 1


def counted(clause: ClauseReading) -> Counted | None:
    """What the verb of a clause acts on, when it is counted: "the two cheapest flights"."""
    if not clause.verb or is_one_of(clause):
        return None
    slots = [s for s in read_slots(clause.text, now=None) if _counts_object(s, clause)]
    for slot in slots[:1]:
        thing = thing_counted(clause.text, slot.position)
        if thing and isinstance(slot.value, int) and slot.value > 1:
            return Counted(slot.value, thing, is_definite=_is_definite(slot, clause))
    both = _BOTH.search(clause.text)
    return Counted(2, both["thing"] or "", is_definite=True) if both else None


def thing_counted(text: str, position: int) -> str:
    """The noun that a number counts, lower case: "lessons" of "two piano lessons"; else empty."""
    words = [w for w in tokens(text[position:])[1:5] if w not in STOP_WORDS]
    return next((w for w in words if singular(w) != w), "")


def _counts_object(slot: Slot, clause: ClauseReading) -> bool:
    """Whether a number counts what the verb acts on: nothing stands between the two."""
    between = _between(slot, clause)
    return (
        slot.kind == "quantity"
        and bool(slot.hint)
        and between is not None
        and all(word in STOP_WORDS and word not in _HOW for word in between)
    )


def _is_definite(slot: Slot, clause: ClauseReading) -> bool:
    """Whether the things are known to be as many: "the three drafts", "my two bookings"."""
    before = _between(slot, clause) or []
    after = tokens(clause.text[slot.position :])[1:3]
    return bool(lexicon.DEFINITE & {*before}) or after[:1] == ["of"]


def _between(slot: Slot, clause: ClauseReading) -> list[str] | None:
    """The words from the verb to a value; None where the value stands before it."""
    before = clause.text[: slot.position]
    for who in read_slots(before, now=None):
        if who.kind in ("name", "email"):  # "send Ana two messages"
            before = before.replace(who.text, " ")
    words = tokens(before)
    if clause.verb not in words:
        return None
    return words[len(words) - words[::-1].index(clause.verb) :]
