"""Capability cards: what the router knows of a tool, prepared for scoring."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.file_inputs import answers_file, file_inputs
from orchestrator.catalog.functions import DOCUMENT as FUNCTIONS
from orchestrator.catalog.functions import namespace_of
from orchestrator.catalog.tool import Effect, Tool, thing_with_id
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import COMPOSITIONS, alternatives_of, properties_of, walk
from orchestrator.language.identifiers import marks_of
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action, SlotKind
from orchestrator.language.values import is_identifier
from orchestrator.language.words import content_stems, name_stems, stem, tokens, verb_named
from orchestrator.routing.cards.input_needs import Need, identifies, needs_of, slot_kinds
from orchestrator.routing.clause_reading import orders_by_first_word

_MAX_DEPTH = 6
_FEWEST_OWN = 2
"""So many words of a name, its domain's left out, tell it from others: not the verb alone."""
_DONE_BY: Final = {Effect.OBLIGATION: Action.CREATE, Effect.WRITE: Action.EXECUTE}
"""The class of a deed that is known by what its tool declares alone."""
_FUNCTIONS_STEM: Final = stem(FUNCTIONS)
_NESTING: Final = ("items", "properties", "$defs", *COMPOSITIONS)


@dataclass(frozen=True, slots=True)
class CapabilityCard:
    """A tool as the router sees it; all words are stems."""

    name: str
    domain: str
    document: str
    effect: Effect
    """What its contract declares; an effect that was inferred says too little of what it is for."""

    is_change: bool
    """Whether a call changes anything, by the tool's effect, inferred or not, or by its verb."""

    action: Action
    required: tuple[str, ...]
    needs: tuple[Need, ...]
    takes: frozenset[SlotKind]
    produces: frozenset[str]
    name_stems: tuple[str, ...]
    text_stems: tuple[str, ...]
    schema_stems: tuple[str, ...]
    own_stems: tuple[str, ...]
    """Of the name, without those of namespace and domain, unless too little would be left."""

    tag_stems: tuple[str, ...]
    example_stems: tuple[tuple[str, ...], ...]
    id_marks: tuple[str, ...]
    """Of the ids that its schema gives as examples; see `orchestrator.language.identifiers`."""

    verb: str
    is_probe: bool
    """Whether it only looks up what an unclear call did, by a reference that no person knows."""

    shows_own: bool
    """Whether it shows what was booked before, where another tool finds what can be booked."""

    commanded: str = ""
    """The first word of its summary, where that is written as an order: "Subscribe a member"."""

    files: frozenset[str] = frozenset()
    """The required inputs that are files."""

    answers_file: bool = False

    is_deprecated: bool = False

    @property
    def is_mutation(self) -> bool:
        """Whether the tool's verb orders a change, whatever its effect was declared as."""
        return self.action in SIDE_EFFECT_ACTIONS

    def is_named_by(self, stems: Collection[str]) -> bool:
        """Whether the words of a request say the whole name; its domain may go without saying."""
        return bool(self.own_stems) and all(word in stems for word in self.own_stems)


def make_card(tool: Tool, *, is_probe: bool = False, shows_own: bool = False) -> CapabilityCard:
    """The card of a tool; the rest is what `probes_of` and `own_views_of` say of it."""
    verb, action = verb_and_action(tool)
    is_inferred = tool.document == FUNCTIONS and not tool.path
    hidden = {*tool.pii_fields, *tool.reference_inputs}
    required = tuple(name for name in _required(tool) if name not in hidden)
    inputs = tool.properties
    return CapabilityCard(
        name=tool.name,
        domain=tool.domain,
        document=tool.document,
        effect=Effect.READ if is_inferred else tool.effect,
        is_change=tool.is_side_effect or action in SIDE_EFFECT_ACTIONS,
        action=action,
        required=required,
        needs=needs_of(required, inputs),
        takes=frozenset(k for n, schema in inputs.items() for k in slot_kinds(n, schema)),
        produces=frozenset((*property_names(tool.output_schema), *_own_ids(tool))),
        name_stems=tuple(content_stems(tool.name)),
        text_stems=tuple(content_stems(f"{tool.summary} {tool.description}")),
        schema_stems=tuple(content_stems("\n".join(_schema_texts(inputs)))),
        own_stems=_own_stems(tool),
        tag_stems=tuple(content_stems(" ".join((_said_domain(tool), *tool.intent_tags)))),
        example_stems=tuple(tuple(content_stems(example)) for example in tool.examples),
        id_marks=marks_of(_example_ids(inputs, required)),
        verb=verb,
        is_probe=is_probe,
        shows_own=shows_own,
        commanded=tokens(tool.summary)[0] if orders_by_first_word(tool.summary) else "",
        files=frozenset(file_inputs(tool)) & {*required},
        answers_file=answers_file(tool),
        is_deprecated=tool.deprecated,
    )


def make_cards(
    tools: Sequence[Tool], make: Callable[..., CapabilityCard] = make_card
) -> tuple[CapabilityCard, ...]:
    """The cards of a catalog's tools, in their order; `make` takes what `make_card` does."""
    probes, own = probes_of(tools), own_views_of(tools)
    return tuple(make(t, is_probe=t.name in probes, shows_own=t.name in own) for t in tools)


def probes_of(tools: Iterable[Tool]) -> frozenset[str]:
    """The names of tools that are only good as the probe of others' compensation.

    What can be called without that reference, and takes something else too, a person may want.
    """
    by_name = {tool.name: tool for tool in tools}
    found = [t.compensation.probe for t in by_name.values() if t.compensation]
    referred: dict[str, set[str]] = defaultdict(set)
    for probe in filter(None, found):
        referred[probe.tool] |= {*probe.arguments}
    return frozenset(n for n, args in referred.items() if _only_refers(by_name.get(n), args))


def _only_refers(tool: Tool | None, references: Collection[str]) -> bool:
    """Whether nothing can be asked of a tool but by these references."""
    return (
        tool is None
        or {*tool.properties} <= {*references}
        or bool({*_required(tool)} & {*references})
    )


def own_views_of(tools: Iterable[Tool]) -> frozenset[str]:
    """The names of tools that show what was booked, of domains with a tool that finds what can be.

    One answers with the ids that a booking makes, the other with those that it takes.
    """
    own: set[str] = set()
    domains: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        domains[tool.domain].append(tool)
    for some in domains.values():
        bookings = [tool for tool in some if tool.effect is Effect.OBLIGATION]
        takes = {name for tool in bookings for name in _ids(tool.required_inputs)}
        makes = {n for tool in bookings for n in _ids(property_names(tool.output_schema))} - takes
        looks = [tool for tool in some if tool.effect is Effect.READ]
        answers = {t.name: _ids(property_names(t.output_schema)) for t in looks}
        if any(ids & takes and not ids & makes for ids in answers.values()):
            single = {t.name for t in looks if _ids(t.required_inputs) - makes}
            own |= {name for name, ids in answers.items() if ids & makes} - single
    return frozenset(own)


def _own_stems(tool: Tool) -> tuple[str, ...]:
    domain = name_stems(tool.domain)
    local = content_stems(namespace_of(tool.name)[1])
    own = tuple(word for word in local if word not in domain)
    return own if len(own) >= _FEWEST_OWN else tuple(dict.fromkeys((*domain, *local)))


def _said_domain(tool: Tool) -> str:
    """The domain, where it says more than that a plain function has it in its name."""
    if tool.document == FUNCTIONS:
        found = name_stems(tool.domain)
        return "" if {*found} <= {_FUNCTIONS_STEM, *content_stems(tool.name)} else tool.domain
    return tool.domain


def _ids(names: Iterable[str]) -> set[str]:
    return {name for name in names if identifies(name)}


def property_names(schema: JsonValue) -> Iterator[str]:
    """Names of the properties of a JSON Schema, those in nested objects and arrays included."""
    for inner in walk(schema, _NESTING, most_levels=_MAX_DEPTH):
        yield from properties_of(inner)


def id_of(noun: str) -> str:
    """What the id of a thing is called in `CapabilityCard.produces`, in one number and form."""
    return f"{stem(noun)}_id"


def _own_ids(tool: Tool) -> Iterator[str]:
    yield from _ids_of(tool.output_schema)
    yield from (id_of(word) for word in tokens(thing_with_id(tool))[-1:])


def _ids_of(schema: JsonValue, thing: str = "", depth: int = 0) -> Iterator[str]:
    """Ids that an answer has under the name of their thing: `books` whose members have an `id`."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    properties = properties_of(schema)
    if "id" in properties and thing:
        yield id_of(tokens(thing)[-1] if tokens(thing) else thing)
    for name, below in properties.items():
        yield from _ids_of(below, name, depth + 1)
    yield from _ids_of(schema.get("items"), thing, depth + 1)


def _required(tool: Tool) -> tuple[str, ...]:
    """Required inputs; of several alternatives ("an id or a reference"), the first.

    A cancel that requires nothing is told by an id all the same.
    """
    names = [*tool.required_inputs, *next(iter(alternatives_of(tool.input_schema)), ())]
    if not names and tool.effect is Effect.CANCEL:
        names = [n for n in tool.properties if identifies(n) and n not in tool.reference_inputs][:1]
    return tuple(dict.fromkeys(names))


def _example_ids(inputs: Mapping[str, JsonObject], names: Iterable[str]) -> Iterator[str]:
    """The ids that a tool's schema gives as examples of these inputs."""
    for name in names:
        schema = inputs.get(name, {})
        several = schema.get("examples")
        examples = several if isinstance(several, list) else [schema.get("example")]
        yield from (value for value in examples if isinstance(value, str) and is_identifier(value))


def _schema_texts(inputs: Mapping[str, JsonObject]) -> Iterator[str]:
    for name, schema in inputs.items():
        yield name
        description = schema.get("description")
        if isinstance(description, str):
            yield description
        values = schema.get("enum")
        if isinstance(values, list):
            yield from (value for value in values if isinstance(value, str))


@read_once
def verb_and_action(tool: Tool) -> tuple[str, Action]:
    """The tool's verb, and the class of it that agrees with the tool's effect."""
    told = tool.summary or tool.description
    verb, action = verb_named(tool.name, told, but=_said_domain(tool), method=tool.method)
    if tool.effect is Effect.CANCEL:
        return verb, Action.CANCEL
    # What a document reads by a POST may be a search; a function without a method only reads.
    is_told = tool.method == "GET" or tool.document == FUNCTIONS
    reads = is_told and tool.effect is Effect.READ
    if reads and (action in SIDE_EFFECT_ACTIONS or action is Action.UNKNOWN):
        return verb, Action.READ
    if action is Action.UNKNOWN and tool.document != FUNCTIONS and _is_ordered(tool, verb, told):
        return verb, _DONE_BY.get(tool.effect, action)
    return verb, action


def _is_ordered(tool: Tool, verb: str, told: str) -> bool:
    """Whether a word that no lexicon holds is plainly what the tool does: "Sow a bed", `sowBeds`.

    What a path is named by as well may be a thing.
    """
    words = tokens(tool.name)
    is_named = words[:1] == [verb] and len(words) > 1 and stem(verb) not in name_stems(tool.path)
    return tokens(told)[:1] == [verb] and (is_named or orders_by_first_word(told))
