"""Removals: operations that cancel the result of another, found by paths and by links."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.suggest.survey import PathShape, Surveyed
from orchestrator.catalog.tool import InputBinding
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.words import action_of, action_of_stem, name_words, stem

_BY_WORD = frozenset({"POST", "PUT", "PATCH"})
_CHANGES = frozenset({"PUT", "PATCH"})
_NAMED_BY = (2, 3)
"""Numbers of parameters that may name one resource together."""
_LIKE_A_CANCEL = frozenset({"refund", "archive"})
"""Verbs that may stand for a cancel: a refund, an archived resource."""
_PLACES: Final = frozenset({"path", "query", "header", "cookie"})


@dataclass(frozen=True)
class Removal:
    """An operation on one resource that may cancel its creation."""

    by: Surveyed
    item: PathShape
    """Path of the resource: `/orders/{order_id}` for `/orders/{order_id}/cancel`."""
    is_plain: bool
    """True for a DELETE, or a verb that means only that: cancel, void, revoke."""
    own: InputBinding | None = None
    """The input that names the resource; None where only sent values identify it."""
    constant: tuple[str, str] | None = None
    """An input and its value for a cancelled resource: `state`, `cancelled`."""


@dataclass(frozen=True)
class Cancellable:
    """An operation that creates resources, and all that may cancel them."""

    maker: Surveyed
    removals: tuple[Removal, ...]
    is_same_path: bool
    """True if the resource is below the path that creates it: `/orders` and
    `/orders/{order_id}`."""


def matches(listed: Iterable[Surveyed]) -> Iterator[Cancellable]:
    """Yield each POST to a collection with its removals, in the order of the document.

    A PUT without a body that joins two resources counts as well, if a DELETE separates them.
    """
    known = [one for one in listed if one.tool is not None]
    removals: dict[tuple[str, ...], list[Removal]] = defaultdict(list)
    for one in known:
        if (removal := _removal(one)) is not None:
            removals[removal.item.segments].append(removal)
    makers = [one for one in known if one.method == "POST" and not one.shape.ends_in_parameter]
    at = {maker.shape.segments for maker in makers}
    for maker in makers:
        same = removals.get((*maker.shape.segments, "{}"), [])
        found = same or _by_several(maker, removals) or _elsewhere(maker, removals, at)
        if found:
            yield Cancellable(maker, tuple(found), is_same_path=bool(same))
    for one in known:
        if one.method == "PUT" and one.shape.ends_in_parameter and len(one.shape.parameters) > 1:
            parting = [r for r in removals.get(one.shape.segments, []) if r.by.method == "DELETE"]
            if parting and not any(b.location == "body" for b in _bindings(one)):
                yield Cancellable(one, tuple(parting), is_same_path=True)


def _removal(one: Surveyed) -> Removal | None:
    if one.method == "DELETE":
        return _of_item(one, one.shape, True) if one.shape.ends_in_parameter else _by_body(one)
    if one.shape.ends_in_parameter:
        return _by_state(one) if one.method in _CHANGES else None
    words, item = name_words(one.shape.last), one.shape.parent
    if one.method not in _BY_WORD or len(words) != 1:
        return None
    # A path may have the verb as a noun: `/payments/{id}/cancels`.
    action = singular(words[0])
    is_cancel = Action.CANCEL in (action_of(words[0]), action_of(action))
    if not item.ends_in_parameter:
        return _of_named(one, item) if is_cancel else None
    return _of_item(one, item, is_cancel) if is_cancel or action in _LIKE_A_CANCEL else None


def _of_item(
    one: Surveyed, item: PathShape, is_plain: bool, constant: tuple[str, str] | None = None
) -> Removal:
    """Return the removal of the resource that the last parameter of the path names."""
    named = (b for b in _bindings(one) if (b.location, b.field) == ("path", item.parameters[-1]))
    return Removal(one, item, is_plain, next(named, None), constant)


def _of_named(one: Surveyed, collection: PathShape) -> Removal | None:
    """Return the removal of a resource named by an input: `pickup_number` of `/pickups/cancel`."""
    named = _naming(one, collection)
    if named is None:
        return None
    return Removal(one, _item_of(collection, named.field), True, named)


def _naming(one: Surveyed, collection: PathShape) -> InputBinding | None:
    """Return the one input of a body that names members of a collection: `id`, `order_ids`."""
    asked = ((b, {*map(singular, name_words(b.field))}) for b in _bindings(one) if b.required)
    named = [
        b for b, w in asked if b.location == "body" and (w == {"id"} or w & {*collection.thing})
    ]
    return named[0] if len(named) == 1 else None


def _by_body(one: Surveyed) -> Removal | None:
    """Return a DELETE of a collection whose body says which members are meant."""
    stated = [b for b in _bindings(one) if b.location == "body" and b.required]
    named = _naming(one, one.shape)
    return (
        Removal(one, _item_of(one.shape, named.field if named else ""), False, named)
        if stated
        else None
    )


def _by_state(one: Surveyed) -> Removal | None:
    """Return a change with an input that has one value for a cancelled resource."""
    stated = {b.name for b in _bindings(one) if b.location == "body"}
    inputs = one.tool.properties if one.tool is not None else {}
    found = cancelled_states({name: part for name, part in inputs.items() if name in stated})
    return _of_item(one, one.shape, False, found[0]) if len(found) == 1 else None


def cancelled_states(properties: Mapping[str, JsonObject]) -> list[tuple[str, str]]:
    """Return the properties that have one value for a cancelled resource, each with that value."""
    found: list[tuple[str, str]] = []
    for name, schema in properties.items():
        values = schema.get("enum")
        listed = values if isinstance(values, list) else []
        said = [v for v in listed if isinstance(v, str) and _is_cancelled(v)]
        found += [(name, said[0])] if len(said) == 1 else []
    return found


def _is_cancelled(state: str) -> bool:
    """Return True for the past of a cancel: `cancelled`, `VOIDED`."""
    return action_of_stem(stem(state.lower())) is Action.CANCEL


def _item_of(collection: PathShape, parameter: str) -> PathShape:
    return PathShape((*collection.segments, "{}"), (*collection.parameters, parameter))


def _bindings(one: Surveyed) -> tuple[InputBinding, ...]:
    return one.tool.bindings if one.tool is not None else ()


def _by_several(
    maker: Surveyed, removals: Mapping[tuple[str, ...], list[Removal]]
) -> list[Removal]:
    """Return the removals of a resource that several parameters name: `/records/{name}/{type}`."""
    named = ((*maker.shape.segments, *("{}",) * count) for count in _NAMED_BY)
    return next((removals[item] for item in named if item in removals), [])


def _elsewhere(
    maker: Surveyed,
    removals: Mapping[tuple[str, ...], list[Removal]],
    makers: set[tuple[str, ...]],
) -> list[Removal]:
    """Return the removals of such a resource at the top: `/tasks/{id}` for `/lists/{id}/tasks`.

    Only where nothing else creates resources there.
    """
    ends = [
        segments
        for segments in removals
        if segments[:-1] not in makers
        and segments.count("{}") == 1
        and segments[-2:-1] == (maker.shape.last,)
        and segments != (*maker.shape.segments, "{}")
    ]
    return removals[ends[0]] if len(ends) == 1 else []


@dataclass(frozen=True)
class CancelLink:
    """A link from the answer of a call to the operation that cancels it."""

    maker: Surveyed
    cancel: Surveyed
    args: JsonObject


def cancel_links(listed: Sequence[Surveyed]) -> Iterator[CancelLink]:
    """Yield links of POSTs to a DELETE or a cancel that fill all that it requires."""
    known = {one.operation.operation_id: one for one in listed if one.tool is not None}
    for maker in listed:
        if maker.method != "POST" or maker.tool is None:
            continue
        try:
            for link in _links(maker):
                named = link.at("operationId")
                cancel = known.get(named.text()) if named is not None else None
                args = _args(link, cancel) if cancel is not None else None
                if cancel is not None and args is not None and _cancels(cancel):
                    yield CancelLink(maker, cancel, args)
        except DocumentInvalid:
            # A malformed link is ignored; the linter reports it.
            continue


def _links(maker: Surveyed) -> Iterator[DocumentNode]:
    for status, response in maker.operation.node.items("responses"):
        if status.startswith("2"):
            yield from (link for _, link in response.items("links"))


def _cancels(cancel: Surveyed) -> bool:
    return cancel.method == "DELETE" or cancel.verb[1] is Action.CANCEL


def _args(link: DocumentNode, cancel: Surveyed) -> JsonObject | None:
    """Return the link's parameters by the cancel's inputs, or None if they do not fill it."""
    assert cancel.tool is not None
    given = {name: place.value for name, place in link.items("parameters")}
    args: JsonObject = {}
    for binding in cancel.tool.bindings:
        value = _given(given, binding.location, binding.field)
        if value is not None:
            try:
                parse_filling(value)
            except ValueError:
                return None
            args[binding.name] = value
        elif binding.required:
            return None
    return args or None


def _given(given: Mapping[str, object], location: str, field: str) -> str | None:
    """Return a link's parameter; its name may have a location: `path.id`."""
    names = (f"{location}.{field}", field) if location in _PLACES else ()
    return next((v for n in names if isinstance(v := given.get(n), str)), None)
