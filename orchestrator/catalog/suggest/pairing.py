"""Rollback pairs with their probes: inputs of a cancel, sure pairs, and likely ones with doubts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from orchestrator.catalog.call_templates import is_version
from orchestrator.catalog.compensation_contract import (
    GONE_WHEN,
    is_lost_with_its_answer,
    is_own_reference,
)
from orchestrator.catalog.suggest.survey import (
    Cancellable,
    PathShape,
    Removal,
    Surveyed,
    cancel_links,
    cancelled_states,
    matches,
)
from orchestrator.catalog.tool import Compensation, InputBinding, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer, resolve
from orchestrator.json_schema.walker import properties_of, types_of
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.words import (
    WARY_VERBS,
    action_of,
    action_of_stem,
    is_any_change,
    is_verb,
    name_words,
    stem,
    tokens,
)

_IDS: Final = frozenset({"id", "uuid", "guid", "uid"})
LOCATION: Final = "$response.header.Location"
_SCALARS: Final = frozenset({"string", "integer"})


class MatchStrength(IntEnum):
    """Certainty that a property has the value of a path's parameter."""

    NONE = 0
    ONLY_ID = 1
    """The id of its object, of any kind."""
    OF_THING = 2
    """The `id` for `/orders/{order_id}`, the `order_id` for `/orders/{id}`."""
    SAME_NAME = 3


@dataclass(frozen=True)
class FoundId:
    """A property that contains an id."""

    path: tuple[str, ...]
    strength: MatchStrength

    @property
    def expression(self) -> str:
        """The runtime expression that reads the property from the answer."""
        return f"$response.body#{format_pointer(self.path)}"


def holds(parameter: str, name: str, item: PathShape) -> MatchStrength:
    """Return how certainly a property has the value of a path's last parameter.

    For `/orders/{order}` the answer's `id` is the order; for `/orders/{id}` its `customer_id` is
    not the id.
    """
    asked, held = _words(parameter), _words(name)
    if asked == held:
        return MatchStrength.OF_THING if asked == ("id",) else MatchStrength.SAME_NAME
    if held == ("id",) and item.thing[-len(asked) :] == asked:
        return MatchStrength.OF_THING
    if asked[-len(held) :] == held:
        if item.words & {*asked[: -len(held)]}:
            return MatchStrength.OF_THING
        return MatchStrength.ONLY_ID if held == ("id",) else MatchStrength.NONE
    if held[-len(asked) :] == asked and not {*held[: -len(asked)]}.isdisjoint(item.thing):
        return MatchStrength.OF_THING
    return MatchStrength.NONE


def _words(name: str) -> tuple[str, ...]:
    return tuple("id" if word in _IDS else singular(word) for word in name_words(name))


def find_id(parameter: str, item: PathShape, schema: JsonObject | None) -> FoundId | None:
    """Return the one property of an answer that has the parameter's value, or None.

    The property is at the top, or in the one object that the answer wraps around the resource. An
    id inside a list belongs to one of many.
    """
    if schema is None:
        return None
    top = opened_properties(schema, schema)
    if (found := _best(parameter, item, top)) is not None:
        return found
    wrapped = {name: opened_properties(inner, schema) for name, inner in top.items()}
    inside = {n: f for n, below in wrapped.items() if (f := _best(parameter, item, below))}
    best = max((found.strength for found in inside.values()), default=MatchStrength.NONE)
    names = [name for name, found in inside.items() if found.strength is best]
    if len(names) != 1:
        return None
    # The wrapped object may be the parent: for `/triggers/{id}/services` the trigger.
    around = _words(names[0])
    is_other = item.words.intersection(around) and not {*item.thing}.intersection(around)
    return None if is_other else FoundId((names[0], *inside[names[0]].path), best)


def _best(parameter: str, item: PathShape, properties: Mapping[str, JsonObject]) -> FoundId | None:
    strengths = {n: holds(parameter, n, item) for n, s in properties.items() if _is_scalar(s)}
    best = max(strengths.values(), default=MatchStrength.NONE)
    found = [name for name, strength in strengths.items() if strength is best]
    return FoundId((found[0],), best) if best and len(found) == 1 else None


def opened_properties(schema: JsonObject, root: JsonObject) -> dict[str, JsonObject]:
    """Return the properties of an object schema, with their references resolved.

    For alternatives, these are the properties that all of them have.
    """
    whole = resolve(schema, root)
    found = {name: resolve(inner, root) for name, inner in properties_of(whole).items()}
    for branches in (whole.get("oneOf"), whole.get("anyOf")):
        if isinstance(branches, list) and branches:
            each = [opened_properties(b, root) for b in branches if isinstance(b, dict)]
            found |= {n: s for n, s in each[0].items() if all(n in other for other in each)}
    return found


def _is_scalar(schema: JsonObject) -> bool:
    kinds = types_of(schema)  # a value of undeclared type can be an id
    return not kinds or bool(kinds & _SCALARS)


def _object_at(schema: JsonObject | None, path: tuple[str, ...]) -> dict[str, JsonObject]:
    if schema is None:
        return {}
    properties = opened_properties(schema, schema)
    for step in path:
        properties = opened_properties(properties.get(step, {}), schema)
    return properties


class Filled(NamedTuple):
    """The arguments of a cancel, by input name."""

    args: JsonObject
    found: FoundId | None
    """Place of the id in the answer; None if the id is read from another place."""
    assumed: tuple[str, ...] = ()
    """Inputs filled with a sent value of the same name, which may mean something else."""


def fill(
    maker: Tool,
    made_at: PathShape,
    cancel: Tool,
    removal: Removal,
    *,
    located: bool = False,
    version: str | None = None,
) -> Filled | str:
    """Fill the inputs that a cancel requires, and the caller's own reference if it takes one.

    If nothing fills a required input, the reason is returned.

    Args:
        maker: creates the resource.
        made_at: its path.
        cancel: cancels the resource.
        removal: how the cancel names the resource.
        located: the answer declares an address in its Location header; without a body, that of the
            resource.
        version: reads the version of the resource from the answer, for an `If-Match`.
    """
    args: JsonObject = {}
    found: FoundId | None = None
    assumed: list[str] = []
    item = removal.item
    for binding in cancel.bindings:
        if removal.constant is not None and binding.name == removal.constant[0]:
            value: str | None = removal.constant[1]
        elif binding == removal.own and item.segments != made_at.segments:
            asked = cancel.properties.get(binding.name, {})
            # By name in the answer, else as sent, else the best match. If several parameters name
            # it together, the caller's choice comes first: it is known even if the answer is lost.
            own = binding.field
            found = find_id(own, item, maker.output_schema)
            names = [
                b.field
                for b in maker.bindings
                if b.location == "body"
                and b.required
                and holds(own, b.field, item) is MatchStrength.SAME_NAME
            ]
            sent = _in_body(names[0]) if len(names) == 1 else None
            is_best = found is not None and found.strength is MatchStrength.SAME_NAME
            if sent is not None and (item.parent.ends_in_parameter or not is_best):
                found = None
            value = found.expression if found is not None else sent
            if (alike := _described_alike(maker, binding.field, item, asked)) is not None:
                found, value = alike, alike.expression
            if value is None and located and maker.output_schema is None:
                value = LOCATION if binding.location == "path" else None
            takes_several = asked.get("type") == "array"
            if value is not None and takes_several:
                args[binding.name] = [value]
                continue
        elif binding.location == "header" and is_version(binding.field):
            value = version
        else:
            value = _sent(maker, made_at, binding, item)
        if value is None and binding.required and binding.field and binding.location == "body":
            # A required value that both have under one name: an account, a depot.
            same = [b for b in maker.bindings if b.field == binding.field and b.required]
            if len(same) == 1 and same[0].location in ("body", "path"):
                is_body, of_path = same[0].location == "body", f"$request.path.{binding.field}"
                assumed.append(binding.name)
                value = _in_body(binding.field) if is_body else of_path
        if value is not None:
            args[binding.name] = value
        elif binding.required:
            if maker.output_schema is None:
                return f"{maker.name} declares no answer that could hold {binding.name}"
            return f"nothing that {maker.name} sends or gets is surely {binding.name}"
    return Filled(args, found, tuple(assumed))


def _described_alike(maker: Tool, own: str, item: PathShape, asked: JsonObject) -> FoundId | None:
    """Return the one id of the answer with the input's description; words outweigh names."""
    schema = maker.output_schema or {}
    top = opened_properties(schema, schema)
    inner = {name: opened_properties(held, schema) for name, held in top.items()}
    places: dict[tuple[str, ...], JsonObject] = {(name,): held for name, held in top.items()}
    places |= {(name, n): held for name, below in inner.items() for n, held in below.items()}
    found = [
        FoundId(path, strength)
        for path, held in places.items()
        if _description(held) == _description(asked) != ""
        and (strength := holds(own, path[-1], item))
        and _is_scalar(held)
    ]
    return found[0] if len(found) == 1 else None


def _description(schema: JsonObject) -> str:
    return " ".join(str(schema.get("description", "")).split()).rstrip(".").casefold()


def _in_body(name: str) -> str:
    return f"$request.body#{format_pointer((name,))}"


def _sent(maker: Tool, made_at: PathShape, binding: InputBinding, item: PathShape) -> str | None:
    """Return the expression of a sent value for an input of the cancel, or None.

    One of several path parameters may have its namesake in the answer.
    """
    field, location = binding.field, binding.location
    if location == "path":
        at = item.parameters.index(field) if field in item.parameters else -1
        shared = item.segments[: len(made_at.segments)] == made_at.segments
        if shared and 0 <= at < len(made_at.parameters):
            return f"$request.path.{made_at.parameters[at]}"
        for other in maker.bindings:
            if other.field == field and holds(field, field, item) is MatchStrength.SAME_NAME:
                if other.location == "body" and other.required:
                    return _in_body(field)
                if other.location == "path":
                    return f"$request.path.{field}"
        is_one = field in item.parameters[:-1]
        found = find_id(field, item, maker.output_schema) if is_one else None
        is_same = found is not None and found.strength is MatchStrength.SAME_NAME
        return found.expression if found is not None and is_same else None
    is_sent = any((b.location, b.field) == (location, field) for b in maker.bindings)
    if location == "body":
        is_own = is_sent and field and is_own_reference(field)
        return _in_body(field) if is_own else None
    needed = binding.required or is_own_reference(field)
    return f"$request.{location}.{field}" if is_sent and needed and location != "cookie" else None


_MAKES_NOTHING = (Action.READ, Action.SEARCH, Action.UPDATE, Action.CANCEL)
_DOES_MORE = (Action.EXECUTE, Action.PAY, Action.SEND)
_EITHER = frozenset({"or", "and"})
_REACHED = frozenset({"to", "recipient", "recipients", "cc", "bcc"})
"""Inputs for people who receive the effect, which no cancel reverses."""
_TIMES = frozenset({"date", "date-time", "time"})


@dataclass(frozen=True)
class Pair:
    """A tool that creates a resource and its cancel tool, with the cancel's inputs filled."""

    maker: Surveyed
    cancel: Surveyed
    args: JsonObject
    doubts: tuple[str, ...] = ()
    """Reasons why the pair is only likely; empty for a sure pair."""
    notes: tuple[str, ...] = ()
    probe: JsonObject | None = None
    """Declaration of a read that finds the resource by the caller's own reference."""

    @property
    def is_blind(self) -> bool:
        """True if nothing can cancel the call after its answer is lost."""
        maker, cancel = self.maker.tool, self.cancel.tool
        assert maker is not None and cancel is not None
        call = Compensation(cancel=ToolCallTemplate(tool=cancel.name, arguments=self.args))
        return self.probe is None and is_lost_with_its_answer(maker, call, cancel)


def find_pairs(listed: Sequence[Surveyed]) -> Iterator[Pair]:
    """Yield every sure or likely pair; a cancel belongs to one maker."""
    reads: dict[tuple[str, ...], Surveyed] = {}
    for one in listed:
        if one.method == "GET" and one.tool is not None:
            reads.setdefault(one.shape.segments, one)
    linked = {link[0].name: Pair(*link) for link in cancel_links(listed)}
    taken = {pair.cancel.name: maker for maker, pair in linked.items()}
    yield from linked.values()
    for match in matches(listed):
        pair = _pair(match, reads) if match.maker.name not in linked else None
        if pair is None:
            continue
        other = taken.setdefault(pair.cancel.name, pair.maker.name)
        if other != pair.maker.name:
            doubt = f"{pair.cancel.name} is the cancel of {other}, and of one tool only"
            pair = Pair(pair.maker, pair.cancel, pair.args, (*pair.doubts, doubt))
        yield pair


def _pair(match: Cancellable, reads: Mapping[tuple[str, ...], Surveyed]) -> Pair | None:
    """Return the pair of a match; None if its maker creates no resource."""
    verb, action = match.maker.verb
    is_plain = verb not in WARY_VERBS and verb != match.maker.method.lower()
    if is_plain and action in _MAKES_NOTHING:  # "open a ticket" creates one
        return None
    plain = [removal for removal in match.removals if removal.is_plain]
    removal = (plain or [*match.removals])[0]
    assert match.maker.tool is not None and removal.by.tool is not None
    made_at = match.maker.made_at
    located = match.maker.is_located and removal.item.parent.segments == made_at.segments
    filled = fill(
        match.maker.tool,
        made_at,
        removal.by.tool,
        removal,
        located=located,
        version=match.maker.version,
    )
    doubts = [*_doubts_of_words(match.maker, removal)]
    if not removal.is_plain:
        doubts.append(f"{removal.by.name} may stand for a cancel, or may not")
    if len(plain) > 1:
        others = " and ".join(other.by.name for other in plain[1:])
        doubts.append(f"{others} may be meant as well: which of them cancels it?")
    if isinstance(filled, str):
        doubts.append(f"{filled}, which {removal.by.name} goes by")
        return Pair(match.maker, removal.by, {}, tuple(doubts))
    if match.maker.method == "PUT":
        doubts.append("what was there before the call would be removed, too")
    doubts += [f"is {n} the same for both?" for n in filled.assumed]
    doubts += _doubts_of_answer(match, removal, filled, reads.get(removal.item.segments))
    notes: list[str] = []
    if "202" in match.maker.statuses:
        notes.append(
            "it may be answered 202, accepted: does the answer name a thing that is there?"
        )
    if "202" in removal.by.statuses:
        notes.append(
            f"{removal.by.name} may be answered 202, accepted; if that is done, add to it "
            "x-orchet-success-when: $statusCode == 202"
        )
    sent, own = match.maker.tool.input_schema, removal.item.parameters[-1]
    if filled.found is not None and find_id(own, removal.item, sent):
        notes.append("the id is sent as well: a thing that was there before would be removed, too")
    return Pair(match.maker, removal.by, filled.args, tuple(doubts), tuple(notes))


def _doubts_of_words(maker: Surveyed, removal: Removal) -> Iterator[str]:
    assert maker.tool is not None
    name, tool = maker.name, maker.tool
    first = next(iter(tokens(tool.summary or tool.description)), "")  # "Send a message"
    for verb, action in dict.fromkeys((maker.verb, (first, action_of_stem(stem(first))))):
        if action in _DOES_MORE and verb != maker.method.lower():
            yield f"what {name} does may outlast what is removed: {verb}"
    # "From" one day "to" another means no recipient.
    reached = [
        field
        for field, schema in tool.properties.items()
        if field.lower() in _REACHED and schema.get("format") not in _TIMES
    ]
    if reached:
        yield f"{name} reaches somebody ({reached[0]}), which no removal reverses"
    # The words may join creating and changing: "Create or update a label".
    words = tokens(f"{name}. {tool.summary}. {tool.description[:200]}")
    joined = [word for before, word in pairwise(words) if before in _EITHER and is_verb(word)]
    updates = any(is_any_change(word) or action_of(word) is Action.UPDATE for word in joined)
    if updates or "upsert" in words:
        yield f"{name} may change what is there already, which a removal would not bring back"
    verb, kind = removal.by.verb
    if removal.by.method == "DELETE" and kind not in (Action.CANCEL, Action.UNKNOWN):
        yield f"{removal.by.name} may do something else than remove it: {verb}"


def _doubts_of_answer(
    match: Cancellable, removal: Removal, filled: Filled, read: Surveyed | None
) -> Iterator[str]:
    """Yield reasons why the answer may not name the removed resource."""
    tool, found = match.maker.tool, filled.found
    if tool is None:
        return
    if found is None:
        if match.is_same_path or LOCATION in filled.args.values():
            return
        yield (
            f"{removal.by.name} goes by what {match.maker.name} was sent alone: a thing that was "
            "there before would be removed, too"
        )
        return
    if read is not None and read.tool is not None:
        holder, name = found.path[:-1], found.path[-1]
        ours = _object_at(tool.output_schema, holder).keys()
        theirs = _object_at(read.tool.output_schema, holder).keys()
        # Both answers have the same resource if most of their properties agree.
        fewer = min(len(ours), len(theirs))
        if name not in theirs or not fewer or 2 * len(ours & theirs) <= fewer:
            yield (
                f"{found.expression} may name something else: {read.name} answers in another form"
            )
        return
    # 201 states a creation.
    needed = MatchStrength.OF_THING if "201" in match.maker.statuses else MatchStrength.SAME_NAME
    if not match.is_same_path or found.strength < needed:
        yield f"{found.expression} may name something else: nothing reads {removal.by.name}'s thing"


def find_probe(pair: Pair, listed: Sequence[Surveyed]) -> JsonObject | None:
    """Return the one read that takes the caller's own reference, as a probe declaration.

    The read is about the created thing, takes a reference that the maker is sent under the same
    name, requires nothing that was not sent, and returns the reference in its answer.
    """
    assert pair.maker.tool is not None
    sent = {b.field: b for b in pair.maker.tool.bindings}
    found: list[JsonObject] = []
    for one in listed:
        tool = one.tool
        if tool is None or one.method != "GET" or tool.output_schema is None:
            continue
        if one.shape.words.isdisjoint(pair.maker.made_at.thing):
            continue
        args: JsonObject = {}
        references: list[str] = []
        for b in tool.bindings:
            is_own = is_own_reference(b.field)
            if b.field in sent and (b.required or is_own):
                location = sent[b.field].location
                of_path = f"$request.{location}.{b.field}"
                args[b.name] = _in_body(b.field) if location == "body" else of_path
                references += [b.field] if is_own else []
        if not references or any(name not in args for name in tool.required_inputs):
            continue
        # The answer, or the elements of a list in it, have the reference. An answer that is a list
        # itself has none: a condition reads below it.
        schema = tool.output_schema
        shown = opened_properties(schema, schema)
        holder: tuple[str, ...] = ()
        for name, inner in shown.items() if references[0] not in shown else ():
            element = inner.get("items")
            held = properties_of(resolve(element, schema)) if isinstance(element, dict) else {}
            if references[0] in held:
                shown = {n: resolve(part, schema) for n, part in held.items()}
                holder = (name, "0")
                break
        if references[0] not in shown:
            continue
        probe: JsonObject = {"operationId": one.name, "args": args}
        # A resource with the state of a cancelled one is still found after the cancel; others are
        # absent from the list.
        states = cancelled_states(shown)
        if len(states) == 1:
            place = format_pointer((*holder, states[0][0]))
            probe[GONE_WHEN] = f'$response.body#{place} == "{states[0][1]}"'
        elif holder:
            probe[GONE_WHEN] = f"!$response.body#{format_pointer(holder)}"
        found.append(probe)
    return found[0] if len(found) == 1 else None
