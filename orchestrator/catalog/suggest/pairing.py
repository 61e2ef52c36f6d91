"""Rollback pairs with their probes: sure ones, and likely ones with their doubts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.catalog.compensation_contract import GONE_WHEN, is_own_reference
from orchestrator.catalog.suggest.cancel_inputs import (
    LOCATION,
    Filled,
    Fit,
    Unfilled,
    at_path,
    fill,
    find_id,
    opened_properties,
    share_shape,
)
from orchestrator.catalog.suggest.removals import (
    Cancellable,
    Removal,
    cancel_links,
    cancelled_states,
    matches,
)
from orchestrator.catalog.suggest.survey import Surveyed
from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer, resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.intent import Action
from orchestrator.language.words import (
    WARY_VERBS,
    action_of,
    action_of_stem,
    is_any_change,
    is_verb,
    stem,
    tokens,
)

_MAKES_NOTHING = (Action.READ, Action.SEARCH, Action.UPDATE, Action.CANCEL)
_DOES_MORE = (Action.EXECUTE, Action.PAY, Action.SEND)
_EITHER = frozenset({"or", "and"})
_REACHED = frozenset({"to", "recipient", "recipients", "cc", "bcc"})
"""Inputs for people whom a call reaches, which no cancel reverses."""
_TIMES = frozenset({"date", "date-time", "time"})


@dataclass(frozen=True)
class Pair:
    """A tool that creates a resource and its cancel tool, with the cancel's inputs filled."""

    maker: Surveyed
    cancel: Surveyed
    args: JsonObject
    doubts: tuple[str, ...] = ()
    """Reasons why it is only likely; empty for a sure pair."""
    notes: tuple[str, ...] = ()
    """Questions on a sure pair."""


def find_pairs(listed: Sequence[Surveyed]) -> Iterator[Pair]:
    """Yield every sure or likely pair; a cancel belongs to one maker."""
    reads: dict[tuple[str, ...], Surveyed] = {}
    for one in listed:
        if one.method == "GET" and one.tool is not None:
            reads.setdefault(one.shape.segments, one)
    linked = {link.maker.name: link for link in cancel_links(listed)}
    taken = {link.cancel.name: maker for maker, link in linked.items()}
    yield from (Pair(link.maker, link.cancel, link.args) for link in linked.values())
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
    """Return the pair of a match; None where its maker creates no resource."""
    if _makes_nothing(match.maker):
        return None
    plain = [removal for removal in match.removals if removal.is_plain]
    removal = (plain or [*match.removals])[0]
    assert match.maker.tool is not None and removal.by.tool is not None
    made_at = match.maker.shape
    located = match.maker.is_located and removal.item.parent.segments == made_at.segments
    filled = fill(match.maker.tool, made_at, removal.by.tool, removal, located=located)
    doubts = [*_doubts_of_words(match.maker, removal)]
    if not removal.is_plain:
        doubts.append(f"{removal.by.name} may stand for a cancel, or may not")
    if len(plain) > 1:
        others = " and ".join(other.by.name for other in plain[1:])
        doubts.append(f"{others} may be meant as well: which of them takes it back?")
    if isinstance(filled, Unfilled):
        doubts.append(f"{filled.why}, which {removal.by.name} is told by")
        return Pair(match.maker, removal.by, {}, tuple(doubts))
    if match.maker.method == "PUT":
        doubts.append("what was there before the call would be removed, too")
    doubts += [f"is {n} the same for both?" for n in filled.assumed]
    doubts += _doubts_of_answer(match, removal, filled, reads.get(removal.item.segments))
    notes = tuple(_notes(match.maker, filled, removal))
    return Pair(match.maker, removal.by, filled.args, tuple(doubts), notes)


def _makes_nothing(maker: Surveyed) -> bool:
    """Return True if its verb reads, changes or removes; "open a ticket" creates one."""
    verb, action = maker.verb
    is_plain = verb not in WARY_VERBS and verb != maker.method.lower()
    return is_plain and action in _MAKES_NOTHING


def _doubts_of_words(maker: Surveyed, removal: Removal) -> Iterator[str]:
    for verb, action in dict.fromkeys((maker.verb, _first_verb(maker))):
        if action in _DOES_MORE and verb != maker.method.lower():
            yield f"what {maker.name} does may outlast what is removed: {verb}"
    inputs = maker.tool.properties if maker.tool else {}
    # "From" one day "to" another reaches nobody.
    reached = [
        name
        for name, schema in inputs.items()
        if name.lower() in _REACHED and schema.get("format") not in _TIMES
    ]
    if reached:
        yield f"{maker.name} reaches somebody ({reached[0]}), which no removal takes back"
    if _may_update(maker):
        yield f"{maker.name} may change what is there already, which a removal would not bring back"
    verb, kind = removal.by.verb
    if removal.by.method == "DELETE" and kind not in (Action.CANCEL, Action.UNKNOWN):
        yield f"{removal.by.name} may do something else than remove it: {verb}"


def _first_verb(maker: Surveyed) -> tuple[str, Action]:
    """Return the first verb of its summary: "Send a message"."""
    first = (
        next(iter(tokens(maker.tool.summary or maker.tool.description)), "") if maker.tool else ""
    )
    return first, action_of_stem(stem(first))


def _may_update(maker: Surveyed) -> bool:
    """Return True if its words join creating and changing: "Create or update a label"."""
    tool = maker.tool
    words = tokens(f"{maker.name}. {tool.summary}. {tool.description[:200]}") if tool else []
    return (
        any(
            before in _EITHER and (is_any_change(word) or action_of(word) is Action.UPDATE)
            for before, word in pairwise(words)
            if is_verb(word)
        )
        or "upsert" in words
    )


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
        same = at_path(read.tool.output_schema, found.path)
        if not (same and share_shape(tool.output_schema, read.tool.output_schema, found.path)):
            yield (
                f"{found.expression} may name something else: {read.name} answers in another form"
            )
    elif not match.is_same_path or found.fit < _plain_enough(match.maker):
        yield f"{found.expression} may name something else: nothing reads {removal.by.name}'s thing"


def _plain_enough(maker: Surveyed) -> Fit:
    """Return the least fit of an id that no read confirms; 201 states a creation."""
    return Fit.OF_THING if "201" in maker.statuses else Fit.SAME_NAME


def _notes(maker: Surveyed, filled: Filled, removal: Removal) -> Iterator[str]:
    if "202" in maker.statuses:
        yield "it may be answered 202, accepted: does the answer name a thing that is there?"
    if "202" in removal.by.statuses:
        yield (
            f"{removal.by.name} may be answered 202, accepted; if that is done, add to it "
            "x-orchet-success-when: $statusCode == 202"
        )
    sent = maker.tool.input_schema if maker.tool is not None else None
    if filled.found is not None and find_id(removal.item.parameters[-1], removal.item, sent):
        yield "the id is sent as well: a thing that was there before would be removed, too"


def find_probe(pair: Pair, listed: Sequence[Surveyed]) -> JsonObject | None:
    """Return the one read that takes the caller's own reference, as a probe declaration.

    It is about the thing that was made, takes a reference that the maker is sent under the same
    name, requires nothing that was not sent, and returns the reference in its answer.
    """
    assert pair.maker.tool is not None
    about = [one for one in listed if _is_about(one, pair.maker)]
    found = [p for one in about if (p := _as_probe(one, pair.maker.tool)) is not None]
    return found[0] if len(found) == 1 else None


def _is_about(one: Surveyed, maker: Surveyed) -> bool:
    """Return True if the path of a read has the thing that another makes."""
    return not one.shape.words.isdisjoint(maker.shape.thing)


def _as_probe(one: Surveyed, maker: Tool) -> JsonObject | None:
    tool = one.tool
    if one.method != "GET" or tool is None:
        return None
    sent = {b.field: b for b in maker.bindings}
    args = {b.name: _read(sent[b.field]) for b in _wanted(tool) if b.field in sent}
    references = [b.field for b in _wanted(tool) if b.field in sent and is_own_reference(b.field)]
    if not references or any(name not in args for name in tool.required_inputs):
        return None
    listing = _listing(tool, references[0])
    if listing is None:
        return None
    return {"operationId": one.name, "args": {**args}, **_gone_when(tool, listing)}


def _gone_when(tool: Tool, listing: tuple[str, ...]) -> JsonObject:
    """Return conditions for a cancelled resource: its state, or its absence from a list.

    A resource with such a state is still found after the cancel.
    """
    holder = (*listing, "0") if listing else ()
    states = cancelled_states(_shown(tool, listing))
    if len(states) == 1:
        ((name, state),) = states
        return {GONE_WHEN: f'$response.body#{format_pointer((*holder, name))} == "{state}"'}
    return {GONE_WHEN: f"!$response.body#{format_pointer(holder)}"} if listing else {}


def _shown(tool: Tool, listing: tuple[str, ...]) -> Mapping[str, JsonObject]:
    """Return the properties of the resource that the read returns or lists."""
    schema = tool.output_schema or {}
    top = opened_properties(schema, schema)
    if not listing:
        return top
    element = top[listing[0]].get("items")
    held = properties_of(resolve(element, schema)) if isinstance(element, dict) else {}
    return {name: resolve(part, schema) for name, part in held.items()}


def _wanted(tool: Tool) -> Iterator[InputBinding]:
    for binding in tool.bindings:
        if binding.required or is_own_reference(binding.field):
            yield binding


def _read(sent: InputBinding) -> str:
    if sent.location == "body":
        return f"$request.body#{format_pointer((sent.field,))}"
    return f"$request.{sent.location}.{sent.field}"


def _listing(tool: Tool, reference: str) -> tuple[str, ...] | None:
    """Return the path of the list whose elements have the reference; () for the answer itself.

    None where nothing has it, and where the answer is a list: a condition reads below it.
    """
    schema = tool.output_schema
    if schema is None:
        return None
    top = opened_properties(schema, schema)
    if reference in top:
        return ()
    for name, inner in top.items():
        element = inner.get("items")
        if isinstance(element, dict) and reference in properties_of(resolve(element, schema)):
            return (name,)
    return None
