"""The one list whose things have the field that a question names: "who coaches karate"."""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.language.clauses import question_in
from orchestrator.language.intent import Slot
from orchestrator.language.synonyms import meanings_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import QUESTION_WORDS, STOP_WORDS, stem, tokens
from orchestrator.planning.rules.answers import is_listing
from orchestrator.planning.rules.parameters import Kind, Parameter, read_parameters
from orchestrator.planning.rules.tellers import NO_THING, TELLS, fields_of, without_values
from orchestrator.planning.rules.telling.inquiry import DULL, kind_asked

AUXILIARIES: Final = WordLists("telling").word_set("auxiliaries")
"""Words that a question begins with that is answered by yes or no."""
NUMBERS: Final = frozenset({Kind.COUNT, Kind.NIGHTS, Kind.OTHER})
"""Kinds of fields that may tell how many."""
_KINDS: Final[Mapping[str, frozenset[Kind]]] = {**TELLS, "count": NUMBERS}
_NAMES: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.OTHER})
"""Kinds of fields that may hold what somebody calls a thing by."""


def field_lister(catalog: Catalog, text: str, slots: Iterable[Slot]) -> Tool | None:
    """The only tool that lists things which have a field that a question asks for by its name.

    The field is of the kind that the question word asks for, and the list needs to be told nothing
    but what it is searched by: whatever else the question says, its things bear or do not.

    Args:
        catalog: whose tools are asked.
        text: of the question; None is found for what is no question.
        slots: the values in it, which name no field.
    """
    words = tokens(question_in(text))
    if not words or words[0] not in QUESTION_WORDS | AUXILIARIES:
        return None
    dull = STOP_WORDS | QUESTION_WORDS | DULL | NO_THING
    asked = {stem(word) for word in tokens(without_values(text, slots)) if word not in dull}
    kinds = _KINDS.get(kind_asked(text))
    if not asked:
        return None
    able = [tool for tool in catalog.tools.values() if needs_nothing(tool)]
    # "What does Bo owe" asks for what is due; a number may be of anything.
    is_exact = kinds is None or kinds is NUMBERS
    meant = set() if is_exact else {other for word in asked for other in meanings_of(word)}
    for stems in (asked, meant):
        found = [tool for tool in able if any(_is_asked(f, stems, kinds) for f in _listed(tool))]
        if found:
            return found[0] if len(found) == 1 else None
    return None


@read_once
def needs_nothing(tool: Tool) -> bool:
    """Whether a tool only reads and lists things that have names, whatever they are searched by."""
    inputs = read_parameters(tool.input_schema, tool.input_schema)
    return (
        not tool.is_side_effect
        and is_listing(tool)
        and all(one.kind is Kind.QUERY for one in inputs if one.required)
        and any(field.kind in _NAMES for field in fields_of(tool))
    )


def _listed(tool: Tool) -> Iterator[Parameter]:
    return (field for field in fields_of(tool) if field.kind is not Kind.IDENTIFIER)


def _is_asked(field: Parameter, asked: Set[str], kinds: Set[Kind] | None) -> bool:
    return (kinds is None or field.kind in kinds) and not asked.isdisjoint(map(stem, field.words))
