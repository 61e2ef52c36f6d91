"""What takes up a thing that is said: the words of tools, their inputs, a call's values, items."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, content_stems, stem
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.models import MentionKind
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.tool_words import schema_words, vocabulary

_FREE: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.QUERY})
"""Kinds of inputs that take words as they are."""
_TAKEN: Final[Mapping[MentionKind, frozenset[Kind]]] = {
    "date": frozenset({Kind.DATE, Kind.DATETIME}),
    "time": frozenset({Kind.TIME, Kind.DATETIME}),
    "duration": frozenset({Kind.NIGHTS, Kind.DATE, Kind.DATETIME}),
    "place": frozenset({Kind.PLACE}),
    "amount": frozenset({Kind.MONEY, Kind.AMOUNT}),
    "count": frozenset({Kind.COUNT, Kind.NIGHTS}),
    "identifier": frozenset({Kind.IDENTIFIER}),
    "addressee": frozenset({Kind.EMAIL}),
}
_TOLD_BY_WORDS: Final = frozenset({"verb", "thing", "quality", "name", "count"})
_LEADING_TO_PLACES: Final = frozenset({"from", "to", "into", "at", "in"})
_FOR_WHOM: Final = WordLists("matching").word_set("on_behalf")
_NAMING: Final = frozenset({"name", "place", "identifier"})
"""Kinds of what is introduced by the noun of its input: "in building North"."""


@dataclass(frozen=True)
class Grounds:
    """What there is to take a thing up.

    `words` are stems by what speaks of them ("the words of car_book_offer"), `inputs` those that a
    value may be given to, `held` values by where they stand ("destination of flight_search_offers",
    "title of what was found").
    """

    words: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[tuple[str, Parameter], ...] = ()
    held: tuple[tuple[str, JsonValue], ...] = ()

    def __or__(self, other: "Grounds") -> "Grounds":
        """Both; what the first says of a word stands."""
        words = {**other.words, **self.words}
        return Grounds(words, (*self.inputs, *other.inputs), (*self.held, *other.held))


def of_tools(tools: Iterable[Tool], given: JsonObject | None = None) -> Grounds:
    """What tools say of themselves, and what can be given to them: before anything is called.

    `given` are values by the names of inputs, as they came with the goal: those of the tools count.
    """
    held: list[tuple[str, JsonValue]] = []
    words: dict[str, str] = {}
    inputs: list[tuple[str, Parameter]] = []
    for tool in tools:
        words = {**dict.fromkeys(_words_of(tool), f"the words of {tool.name}"), **words}
        own_inputs = (p for p in tool_parameters(tool) if p.name not in tool.pii_fields)
        inputs += [(f"{p.name} of {tool.name}", p) for p in _flat(own_inputs)]
        own_values = {n: value for n, value in (given or {}).items() if n in tool.properties}
        held += _leaves(own_values, f"{{}} of {tool.name}")
    return Grounds(words, tuple(inputs), tuple(held))


def of_call(tool: Tool, arguments: JsonObject, items: Iterable[JsonObject] = ()) -> Grounds:
    """What a call is about to say, what its tool says of itself, and what was found for it."""
    words = of_tools([tool]).words
    given = tuple(_leaves(arguments, f"{{}} of {tool.name}"))
    found = tuple(leaf for item in items for leaf in _leaves(item, "{} of what was found"))
    return Grounds(words, (), (*given, *found))


def explained(said: Said, grounds: Grounds) -> str:
    """What takes up a thing that is said, as a person reads it; empty: nothing does.

    A value that a call or an item holds; else an input that takes such a value; else, for what is
    no value, words in which a tool speaks of all of it.
    """
    return (
        held_by(said, grounds)
        or next((where for where, p in grounds.inputs if takes(said, p)), "")
        or spoken_of(said, grounds)
    )


def spoken_of(said: Said, grounds: Grounds) -> str:
    """What speaks of all the words of a thing that is told by words; empty: nothing does."""
    if not said.stems or said.kind not in _TOLD_BY_WORDS:
        return ""
    found = [_known(word, grounds.words) for word in said.stems]
    return found[0] if all(found) else ""


def held_by(said: Said, grounds: Grounds) -> str:
    """Where a value of a call or of an item stands that is what was said; empty: nowhere."""
    return next((where for where, value in grounds.held if holds(said, value)), "")


def unexplained(said: Said, grounds: Grounds) -> tuple[str, ...]:
    """The stems of a thing that nothing speaks of and no value has."""
    texts = {s for _, value in grounds.held if isinstance(value, str) for s in content_stems(value)}
    return tuple(
        word for word in said.stems if word not in texts and not _known(word, grounds.words)
    )


def holds(said: Said, value: JsonValue) -> bool:
    """Whether a value of a call or of an item is the thing that was said, or names it."""
    if isinstance(said.value, dict):
        return isinstance(value, int | float | str) and str(value) == str(said.value.get("amount"))
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return said.value == value
    if not isinstance(value, str):
        return False
    if said.kind in ("date", "time"):
        return str(said.value) in value
    if said.kind == "count":
        return str(said.value) == value
    own = set(content_stems(value))
    return bool(said.stems) and own.issuperset(said.stems)


def takes(said: Said, parameter: Parameter) -> bool:
    """Whether an input takes a value of the sort that was said."""
    if parameter.kind is Kind.CHOICE:
        return any(holds(said, option) for option in parameter.options)
    if said.is_text:
        return parameter.kind in _FREE
    is_named = said.hint not in STOP_WORDS and stem(said.hint) in map(stem, parameter.words)
    if said.kind in _NAMING and is_named:
        return True
    if said.kind in ("name", "place") and said.hint in _FOR_WHOM and parameter.is_persons_name:
        return True
    if said.kind == "identifier" and parameter.kind is Kind.PLACE:
        return said.hint in _LEADING_TO_PLACES
    if said.kind == "identifier" and parameter.is_code(said.value):
        return True
    if said.kind in ("name", "addressee") and parameter.kind is Kind.QUERY:
        return True
    if said.kind == "name" and parameter.kind in _FREE:
        return parameter.required
    return parameter.kind in _TAKEN.get(said.kind, frozenset())


def _known(word: str, words: Mapping[str, str]) -> str:
    """What speaks of a stem, or of a word that may stand for it."""
    return next((words[s] for s in (word, *synonyms_of(word)) if s in words), "")


def _flat(parameters: Iterable[Parameter]) -> Iterator[Parameter]:
    """Inputs, and what stands for one inside: the elements of lists, the fields of objects."""
    for parameter in parameters:
        yield parameter
        element = parameter.element
        if element is not None:
            yield from (element, *element.fields)
        elif parameter.kind is Kind.OBJECT:
            yield from _flat(parameter.fields)


@read_once
def _words_of(tool: Tool) -> tuple[str, ...]:
    """Stems of the words in which a tool speaks of itself, its schemas included, and of whose."""
    whose = content_stems(tool.document)
    return tuple(dict.fromkeys((*vocabulary(tool), *schema_words(tool), *whose)))


def _leaves(value: JsonValue, where: str, name: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Each single value, by the name of the input or field that it stands in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, where, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, where, name)
    elif value is not None:
        yield where.format(name), value
