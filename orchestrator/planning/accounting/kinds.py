"""Of which kinds of things an order may be: "everything I booked for Oslo", "my booking"."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.language.clause_reading import ClauseReading, read_clause
from orchestrator.language.intent import Action
from orchestrator.language.quantifiers import all_of, plural_nouns
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.models import Doubt
from orchestrator.planning.named_documents import documents_named, tools_meant
from orchestrator.planning.order_deeds import can_serve, is_same_deed
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.planning.tools_alike import others_alike

_LISTS = WordLists("quantifiers")
_ANYTHING = _LISTS.word_set("anything")
_NO_KIND = frozenset(map(stem, _ANYTHING | _LISTS.word_set("all")))
_WHAT_WAS_DONE: Final = re.compile(
    r"\b(?:what(?:ever)?|everything|all)\s+(?:that\s+)?(?:you|we|i)(?:['\u2019]ve|\s+have)?\s+"
    r"(?:just\s+|last\s+)*(?:did|done|made|changed)\b",
    re.IGNORECASE,
)
_VALUES: Final = frozenset({"verb", "name", "place", "date", "time"})
_MOST = 5


def doubt_about_kinds(
    clause: ClauseReading, said: Sequence[Said], targets: Sequence[Tool], catalog: Catalog
) -> Doubt | None:
    """The doubt about an order that does not say of what kind of thing it is; None where it does.

    Of one thing the tools have to call it as it was said; of all there are, by whatever word.

    Args:
        clause: that orders.
        said: what it says.
        targets: the tools that would serve it.
        catalog: the mission's.
    """
    kinds = [*_kinds(clause, said, targets, catalog)]
    others = [tool for tool in kinds if tool.domain not in {t.domain for t in targets}]
    if not others or not targets:
        return None
    named = ", ".join(map(_told_apart(kinds), kinds[:_MOST]))
    why = f"it does not say of what, and may be of {named}; only {targets[0].title!r} would be done"
    return Doubt(kind="not_understood", about=_about(clause, said), why=why)


def doubt_about_nothing_ordered(
    clause: ClauseReading, said: Sequence[Said], able: Sequence[Tool]
) -> Doubt | None:
    """The doubt about an order that says what to do and not to what, nor by any value: "Book it".

    What was done before ("undo what you did") no mission knows of another one.

    Args:
        clause: that orders, with nothing done or looked for before it that it could go on about.
        said: what it says.
        able: the tools that would serve it.
    """
    domains = [*dict.fromkeys(tool.domain for tool in able)]
    # "Cancel Rome" says of what by a value, and not what.
    alone = _VALUES if clause.action is Action.CANCEL else frozenset({"verb"})
    if any(one.kind not in alone for one in said):
        return None
    if len(domains) < 2 and not _WHAT_WAS_DONE.search(clause.text):
        return None
    why = f"it does not say what, and may be of {', '.join(domains[:_MOST])}"
    return Doubt(kind="not_understood", about=clause.text, why=why)


def doubt_about_provider(
    clause: ClauseReading, goal: str, targets: Sequence[Tool], catalog: Catalog
) -> Doubt | None:
    """The doubt about an order that another provider's tool would serve as well, and none is named.

    Args:
        clause: that orders.
        goal: in which it stands, and which may name a provider once for all of it.
        targets: the tools that would serve it.
        catalog: the mission's.
    """
    tools = catalog.tools.values()
    if documents_named(clause.text, tools):
        return None
    elsewhere = {one.document for one in documents_named(goal, tools)}
    for tool in targets:
        others = others_alike(tool, clause.text, catalog)
        if others and elsewhere != {tool.document}:
            documents = [*dict.fromkeys(one.document for one in (tool, *others))]
            why = f"it does not say where, and may be of {', '.join(documents[:_MOST])}"
            why = f"{why}; it would be done at {tool.document}"
            return Doubt(kind="not_understood", about=clause.text, why=why)
    return None


def _told_apart(kinds: Sequence[Tool]) -> Callable[[Tool], str]:
    """What to call the domains of tools: with their document where two differ by no more."""
    called = [tool.domain.casefold() for tool in kinds]
    clash = {name for name in called if called.count(name) > 1}
    return lambda t: f"{t.domain} of {t.document}" if t.domain.casefold() in clash else t.domain


def _kinds(
    clause: ClauseReading, said: Sequence[Said], targets: Sequence[Tool], catalog: Catalog
) -> Iterator[Tool]:
    """One tool of each domain that does what is ordered to things called so."""
    is_told_apart = any(one.kind == "identifier" for one in said)
    if is_told_apart or not any(map(needs_the_very_one, targets)):
        return
    wanted = {s for one in said if one.kind in ("thing", "quality") for s in one.stems} - _NO_KIND
    able = [tool for tool in tools_meant(clause.text, catalog) if _does(tool, clause)]
    is_of_any = not _ANYTHING.isdisjoint(tokens(clause.text))
    is_of_all = is_of_any or all_of(clause) or bool(plural_nouns(clause))
    if is_of_any:  # "everything for the trip": what it is for is no kind of thing
        wanted = {word for word in wanted if any(_deals_in(tool, word) for tool in able)}
    elif not wanted:
        return
    is_called_so = not is_of_any and any({*content_stems(t.domain)} == wanted for t in targets)
    domains: set[str] = set()
    for tool in able:
        deals = all(_deals_in(tool, word, literally=not is_of_all) for word in wanted)
        if is_called_so and not _is_kind_of(tool, wanted):
            continue
        if deals and tool.domain not in domains:
            domains.add(tool.domain)
            yield tool


def _does(tool: Tool, clause: ClauseReading) -> bool:
    is_so = clause.action is Action.CANCEL or is_same_deed(tool, clause)
    return needs_the_very_one(tool) and can_serve(tool, clause) and is_so


def _deals_in(tool: Tool, word: str, *, literally: bool = False) -> bool:
    """Whether a tool calls what it deals in by a word, or by what stands for it."""
    own = {*content_stems(f"{tool.name} {tool.domain} {tool.summary}")}
    return not own.isdisjoint((word, *(() if literally else synonyms_of(word))))


def _is_kind_of(tool: Tool, wanted: Collection[str]) -> bool:
    """Whether what a tool deals in is one of those, and does not only have to do with them.

    A hotel booking is a booking; a group membership is no group, nor is a story on a task a task.
    """
    called = content_stems(tool.domain)[-1:]
    dealt_in = content_stems(" ".join(read_clause(tool.summary).objects))[-1:]
    return not dealt_in or not {*called, *dealt_in}.isdisjoint(wanted)


def _about(clause: ClauseReading, said: Sequence[Said]) -> str:
    """What is of no kind, as it was said."""
    counts = [one.text for one in said if one.kind == "count" and one.value == one.text]
    things = [one.text for one in said if one.kind == "thing"]
    return next((f"{a} {b}" for a in counts for b in things), "") or next(
        iter([*things, *counts]), clause.text
    )
