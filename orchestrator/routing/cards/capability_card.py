"""Capability cards: the router's view of a tool and the values that its required inputs need."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import JsonValue, TypeAdapter

from orchestrator.catalog.arguments import answers_file, file_inputs, is_file
from orchestrator.catalog.functions import DOCUMENT as FUNCTIONS
from orchestrator.catalog.functions import namespace_of
from orchestrator.catalog.tool import Effect, Tool, thing_with_id
from orchestrator.core.read_once import Recent
from orchestrator.json_schema.walker import COMPOSITIONS, alternatives_of, properties_of, walk
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, SlotKind
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import content_stems, name_stems, stem, tokens, verb_named

UNTYPED: Final = frozenset({"name", "quoted"})
"""Kinds of slots whose words may also name the requested thing."""

_LISTS: Final = WordLists("parameters")
_IDENTIFYING: Final = _LISTS.word_set("identifying")
_KINDS: Final = TypeAdapter(dict[str, tuple[SlotKind, ...]])
_KINDS_BY_WORD, _KINDS_BY_FORMAT = (
    _KINDS.validate_python({word: kinds.split() for word, kinds in _LISTS.table(key).items()})
    for key in ("kinds_by_word", "kinds_by_format")
)
_MAX_DEPTH: Final = 6
_ACTION_BY_EFFECT: Final = {Effect.OBLIGATION: Action.CREATE, Effect.WRITE: Action.EXECUTE}
_NESTING: Final = ("items", "properties", "$defs", *COMPOSITIONS)
# --- required inputs ------------------------------------------------------------------------


class Need(NamedTuple):
    """A required input that a request must fill, with the kinds of value that can fill it."""

    name: str
    kinds: tuple[SlotKind, ...]


@lru_cache(maxsize=1 << 16)
def identifies(name: str) -> bool:
    """Return True if an input of that name takes an id: offer_id, movieId, latitude."""
    words = tokens(name)
    return bool(words) and words[-1] in _IDENTIFYING


def noun_of(name: str) -> str:
    """Return the stem of the noun of an id: "movi" of movie_id, "" of a bare id."""
    words = tokens(name)[:-1]
    return stem(words[-1]) if words else ""


def slot_kinds(name: str, schema: Mapping[str, JsonValue]) -> tuple[SlotKind, ...]:
    """Return the kinds of value that can fill an input; empty when none is certain."""
    return _slot_kinds(name, str(schema.get("format", "")), str(schema.get("type", "")))


@lru_cache(maxsize=1 << 16)
def _slot_kinds(name: str, value_format: str, value_type: str) -> tuple[SlotKind, ...]:
    if identifies(name):
        return ("identifier",)
    if value_format in _KINDS_BY_FORMAT:
        return _KINDS_BY_FORMAT[value_format]
    for word in reversed(tokens(name)):
        if word in _KINDS_BY_WORD:
            return _KINDS_BY_WORD[word]
    return ("quantity", "amount") if value_type in ("integer", "number") else ()


def needs_of(
    required: Sequence[str], inputs: Mapping[str, Mapping[str, JsonValue]]
) -> tuple[Need, ...]:
    """Return the required inputs that a request must fill, in order.

    The planner itself fills inputs that have a default or listed values, and free text.
    """
    needs: list[Need] = []
    for name in required:
        schema = inputs.get(name, {})
        if "default" in schema or "const" in schema or "enum" in schema:
            continue
        kinds = slot_kinds(name, schema)
        is_structured = schema.get("type") in ("integer", "number", "object", "array")
        if kinds or is_structured or is_file(schema):
            needs.append(Need(name, kinds))
    return tuple(needs)


def unmet(
    needs: Iterable[Need], *, known: Collection[str] = (), kinds: Iterable[SlotKind] = ()
) -> tuple[str, ...]:
    """Return the names of the needs that known names and values of these kinds leave unfilled.

    A value fills one input of its kind; money fills an amount and its currency.
    """
    left = list(kinds)
    missing: list[str] = []
    for name, wanted in needs:
        if name in known:
            continue
        kind = next((kind for kind in wanted if kind in left), None)
        if kind is None:
            missing.append(name)
        elif kind != "amount":
            left.remove(kind)
    return tuple(missing)


def share_filled(
    needs: Sequence[Need], required: int, *, known: Collection[str], kinds: Iterable[SlotKind]
) -> float:
    """Return the share of required inputs that can be filled, 0 to 1; 1 without required ones.

    Args:
        needs: the inputs that a request must fill.
        required: the number of required inputs, including those that a planner fills.
        known: names of the values that are available.
        kinds: the kinds of the values in the request.
    """
    if not needs:
        return 1.0
    return 1.0 - len(unmet(needs, known=known, kinds=kinds)) / required


# --- cards ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CapabilityCard:
    """The router's view of a tool; all words are stems."""

    name: str
    domain: str
    document: str
    effect: Effect
    """The declared effect; an inferred one says too little about the tool's purpose."""
    is_change: bool
    """True if a call changes anything, judged by the tool's effect, declared or inferred, or its
    verb."""
    action: Action
    required: tuple[str, ...]
    needs: tuple[Need, ...]
    produces: frozenset[str]
    name_stems: tuple[str, ...]
    text_stems: tuple[str, ...]
    schema_stems: tuple[str, ...]
    own_stems: tuple[str, ...]
    """The name without namespace and domain, unless too little would remain."""
    tag_stems: tuple[str, ...]
    example_stems: tuple[tuple[str, ...], ...]
    verb: str
    is_probe: bool
    """True if the tool only checks an unclear call, by a reference that no person knows."""
    files: frozenset[str] = frozenset()
    """The required inputs that are files."""
    answers_file: bool = False
    is_deprecated: bool = False

    @property
    def is_mutation(self) -> bool:
        """True if the tool's verb orders a change, whatever its declared effect."""
        return self.action in SIDE_EFFECT_ACTIONS

    def is_named_by(self, stems: Collection[str]) -> bool:
        """Return True if the words of a request contain the whole name, except its domain."""
        return bool(self.own_stems) and all(word in stems for word in self.own_stems)


def make_card(tool: Tool, *, is_probe: bool = False) -> CapabilityCard:
    """Return the card of a tool; `make_cards` sets the flag, which depends on the other tools."""
    verb, action = _verb_and_action(tool)
    is_inferred = tool.document == FUNCTIONS and not tool.path
    hidden = {*tool.pii_fields, *tool.reference_inputs}
    required = tuple(name for name in _required(tool) if name not in hidden)
    inputs = tool.properties
    domain = name_stems(tool.domain)
    local = content_stems(namespace_of(tool.name)[1])
    own = tuple(word for word in local if word not in domain)
    texts: list[str] = []
    for name, schema in inputs.items():
        listed = schema.get("enum")
        values = (schema.get("description"), *(listed if isinstance(listed, list) else ()))
        texts += [name, *(value for value in values if isinstance(value, str))]
    ids = [id_of(word) for word in tokens(thing_with_id(tool))[-1:]]
    return CapabilityCard(
        name=tool.name,
        domain=tool.domain,
        document=tool.document,
        effect=Effect.READ if is_inferred else tool.effect,
        is_change=tool.is_side_effect or action in SIDE_EFFECT_ACTIONS,
        action=action,
        required=required,
        needs=needs_of(required, inputs),
        produces=frozenset(
            (*property_names(tool.output_schema), *_ids_of(tool.output_schema), *ids)
        ),
        name_stems=tuple(content_stems(tool.name)),
        text_stems=tuple(content_stems(f"{tool.summary} {tool.description}")),
        schema_stems=tuple(content_stems("\n".join(texts))),
        # With a word more than the verb, a name is distinct without its domain's.
        own_stems=own if len(own) >= 2 else tuple(dict.fromkeys((*domain, *local))),
        tag_stems=tuple(content_stems(" ".join((_said_domain(tool), *tool.intent_tags)))),
        example_stems=tuple(tuple(content_stems(example)) for example in tool.examples),
        verb=verb,
        is_probe=is_probe,
        files=frozenset(file_inputs(tool)) & {*required},
        answers_file=answers_file(tool),
        is_deprecated=tool.deprecated,
    )


def make_cards(
    tools: Sequence[Tool], make: Callable[..., CapabilityCard] = make_card
) -> tuple[CapabilityCard, ...]:
    """Return the cards of a catalog's tools, in their order."""
    probes = probes_of(tools)
    return tuple(make(tool, is_probe=tool.name in probes) for tool in tools)


class CardCache:
    """A thread-safe cache of cards for recent catalogs, keyed by tool digest."""

    def __init__(self, most_cards: int = 65_536) -> None:
        """Take the maximum number of cards."""
        self._cards: Recent[tuple[str, bool], CapabilityCard] = Recent(most_cards)

    def of(self, tools: Sequence[Tool]) -> tuple[CapabilityCard, ...]:
        """Return the cards of a catalog's tools, in their order; make those of unknown tools."""
        return make_cards(tools, self._card)

    def _card(self, tool: Tool, *, is_probe: bool) -> CapabilityCard:
        key = (tool_digest(tool), is_probe)
        return self._cards.get(key) or self._cards.put(key, make_card(tool, is_probe=is_probe))


def tool_digest(tool: Tool) -> str:
    """Return the hex SHA-256 of a tool's whole content."""
    return hashlib.sha256(json.dumps(tool.as_json()).encode()).hexdigest()


# --- facts about a tool among others --------------------------------------------------------


def probes_of(tools: Iterable[Tool]) -> frozenset[str]:
    """Return the names of tools that are useful only as the probe of other tools' compensation.

    A tool that takes other inputs too, and can be called without that reference, does not count.
    """
    by_name = {tool.name: tool for tool in tools}
    found = [t.compensation.probe for t in by_name.values() if t.compensation]
    referred: dict[str, set[str]] = defaultdict(set)
    for probe in filter(None, found):
        referred[probe.tool] |= {*probe.arguments}
    only: set[str] = set()
    for name, references in referred.items():
        tool = by_name.get(name)
        if tool is None or {*tool.properties} <= references or {*_required(tool)} & references:
            only.add(name)
    return frozenset(only)


# --- parts of a card ------------------------------------------------------------------------


def _said_domain(tool: Tool) -> str:
    """Return the domain, unless a plain function merely repeats it from its name."""
    said = {stem(FUNCTIONS), *content_stems(tool.name)}
    is_repeated = tool.document == FUNCTIONS and {*name_stems(tool.domain)} <= said
    return "" if is_repeated else tool.domain


def property_names(schema: JsonValue) -> Iterator[str]:
    """Yield the names of all properties of a JSON Schema, nested ones included."""
    for inner in walk(schema, _NESTING, most_levels=_MAX_DEPTH):
        yield from properties_of(inner)


def _ids_of(schema: JsonValue, thing: str = "", depth: int = 0) -> Iterator[str]:
    """Yield ids in an answer under the name of their thing: `books` of members with `id`."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    properties = properties_of(schema)
    if "id" in properties and thing:
        yield id_of(tokens(thing)[-1] if tokens(thing) else thing)
    for name, below in properties.items():
        yield from _ids_of(below, name, depth + 1)
    yield from _ids_of(schema.get("items"), thing, depth + 1)


def id_of(noun: str) -> str:
    """Return the name of a thing's id in `CapabilityCard.produces`, in one number and spelling."""
    return f"{stem(noun)}_id"


def _required(tool: Tool) -> tuple[str, ...]:
    """Return required inputs; of several alternatives ("an id or a reference"), the first.

    A cancel tool that requires nothing still needs an id.
    """
    names = [*tool.required_inputs, *next(iter(alternatives_of(tool.input_schema)), ())]
    if not names and tool.effect is Effect.CANCEL:
        names = [n for n in tool.properties if identifies(n) and n not in tool.reference_inputs][:1]
    return tuple(dict.fromkeys(names))


def _verb_and_action(tool: Tool) -> tuple[str, Action]:
    """Return the tool's verb, and the action class that agrees with the tool's effect."""
    purpose = tool.summary or tool.description
    verb, action = verb_named(tool.name, purpose, but=_said_domain(tool), method=tool.method)
    if tool.effect is Effect.CANCEL:
        return verb, Action.CANCEL
    # A POST that only reads may be a search; a function without a method is read-only.
    only_reads = tool.effect is Effect.READ and (tool.method == "GET" or tool.document == FUNCTIONS)
    if only_reads and (action in SIDE_EFFECT_ACTIONS or action is Action.UNKNOWN):
        return verb, Action.READ
    if action is Action.UNKNOWN and tool.document != FUNCTIONS:
        return verb, _ACTION_BY_EFFECT.get(tool.effect, action)
    return verb, action
