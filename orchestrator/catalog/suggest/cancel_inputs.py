"""Inputs of a cancel, filled from the forward call and from the id in its answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from orchestrator.catalog.compensation_contract import is_own_reference
from orchestrator.catalog.suggest.removals import Removal
from orchestrator.catalog.suggest.survey import PathShape
from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer, resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.inflection import singular
from orchestrator.language.words import name_words

_IDS: Final = frozenset({"id", "uuid", "guid", "uid"})
LOCATION: Final = "$response.header.Location"
_SCALARS: Final = frozenset({"string", "integer"})


class Fit(IntEnum):
    """How plainly a property holds the value of a path's parameter."""

    NONE = 0
    ONLY_ID = 1
    """The id of its object, of any kind."""
    OF_THING = 2
    """The `id` for `/orders/{order_id}`, the `order_id` for `/orders/{id}`."""
    SAME_NAME = 3


@dataclass(frozen=True)
class FoundId:
    """A property that holds an id."""

    path: tuple[str, ...]
    fit: Fit

    @property
    def expression(self) -> str:
        """The runtime expression that reads it from the answer."""
        return f"$response.body#{format_pointer(self.path)}"


def holds(parameter: str, name: str, item: PathShape) -> Fit:
    """Return how plainly a property holds the value of a path's last parameter.

    For `/orders/{order}` the answer's `id` is the order; for `/orders/{id}` its `customer_id` is
    not the id.
    """
    asked, held = _words(parameter), _words(name)
    if asked == held:
        return Fit.SAME_NAME if len(asked) > 1 or asked != ("id",) else Fit.OF_THING
    if held == ("id",) and item.thing[-len(asked) :] == asked:
        return Fit.OF_THING
    if asked[-len(held) :] == held:
        if item.words & {*asked[: -len(held)]}:
            return Fit.OF_THING
        return Fit.ONLY_ID if held == ("id",) else Fit.NONE
    if held[-len(asked) :] == asked and not {*held[: -len(asked)]}.isdisjoint(item.thing):
        return Fit.OF_THING
    return Fit.NONE


def _words(name: str) -> tuple[str, ...]:
    return tuple("id" if word in _IDS else singular(word) for word in name_words(name))


def find_id(parameter: str, item: PathShape, schema: JsonObject | None) -> FoundId | None:
    """Return the one property of an answer that holds the parameter's value, or None.

    It stands at the top, or in the one object that the answer wraps around the resource. An id
    inside a list belongs to one of many.
    """
    if schema is None:
        return None
    top = opened_properties(schema, schema)
    if (found := _best(parameter, item, top)) is not None:
        return found
    wrapped = {name: opened_properties(inner, schema) for name, inner in top.items()}
    inside = {n: f for n, below in wrapped.items() if (f := _best(parameter, item, below))}
    best = max((found.fit for found in inside.values()), default=Fit.NONE)
    names = [name for name, found in inside.items() if found.fit is best]
    if len(names) != 1:
        return None
    # The wrapped object may be the parent: for `/triggers/{id}/services` the trigger.
    around = _words(names[0])
    is_other = item.words.intersection(around) and not {*item.thing}.intersection(around)
    return None if is_other else FoundId((names[0], *inside[names[0]].path), best)


def _best(parameter: str, item: PathShape, properties: Mapping[str, JsonObject]) -> FoundId | None:
    """Return the property of an object that fits best; None where several or none do."""
    fits = {n: holds(parameter, n, item) for n, s in properties.items() if _is_scalar(s)}
    best = max(fits.values(), default=Fit.NONE)
    found = [name for name, fit in fits.items() if fit is best]
    return FoundId((found[0],), best) if best and len(found) == 1 else None


def opened_properties(schema: JsonObject, root: JsonObject) -> dict[str, JsonObject]:
    """Return the properties of an object schema, with their references resolved.

    Of alternatives it returns the properties that all of them have.
    """
    whole = resolve(schema, root)
    found = {name: resolve(inner, root) for name, inner in properties_of(whole).items()}
    for branches in (whole.get("oneOf"), whole.get("anyOf")):
        if isinstance(branches, list) and branches:
            each = [opened_properties(b, root) for b in branches if isinstance(b, dict)]
            found |= {n: s for n, s in each[0].items() if all(n in other for other in each)}
    return found


def _is_scalar(schema: JsonObject) -> bool:
    """Return True if a value can be an id, also where the type is undeclared."""
    kinds = schema.get("type")
    stated = {kinds} if isinstance(kinds, str) else {*kinds} if isinstance(kinds, list) else set()
    return not stated or bool(stated & _SCALARS)


def at_path(schema: JsonObject | None, path: tuple[str, ...]) -> bool:
    """Return True if an answer of the schema has a property there."""
    return _object_at(schema, path[:-1]).keys() >= {path[-1]}


def share_shape(one: JsonObject | None, other: JsonObject | None, place: tuple[str, ...]) -> bool:
    """Return True if most properties at a place agree, so both answers hold the same resource."""
    ours, theirs = (_object_at(schema, place[:-1]).keys() for schema in (one, other))
    fewer = min(len(ours), len(theirs))
    return fewer > 0 and 2 * len(ours & theirs) > fewer


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
    """Place of the id in the answer; None where it is read elsewhere."""
    assumed: tuple[str, ...] = ()
    """Inputs filled with a sent value of the same name, which may mean something else."""


class Unfilled(NamedTuple):
    """An input of the cancel that nothing fills."""

    name: str
    why: str


def fill(
    maker: Tool, made_at: PathShape, cancel: Tool, removal: Removal, *, located: bool = False
) -> Filled | Unfilled:
    """Fill the inputs that a cancel requires, and the caller's own reference where it takes one.

    Args:
        maker: creates the resource.
        made_at: its path.
        cancel: cancels the resource.
        removal: how the cancel names the resource.
        located: the answer declares an address in its Location header; without a body, that of
            the resource.
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
            found, value = _id(maker, binding.field, item)
            if (alike := _described_alike(maker, binding.field, item, asked)) is not None:
                found, value = alike, alike.expression
            if value is None and located and maker.output_schema is None:
                value = LOCATION if binding.location == "path" else None
            takes_several = asked.get("type") == "array"
            if value is not None and takes_several:
                args[binding.name] = [value]
                continue
        else:
            value = _sent(maker, made_at, binding, item) or _answered(maker, binding, item)
        if value is None and (same := _sent_alike(maker, binding)) is not None:
            assumed.append(binding.name)
            value = same
        if value is not None:
            args[binding.name] = value
        elif binding.required:
            return Unfilled(binding.name, _why(maker, binding.name))
    return Filled(args, found, tuple(assumed))


def _id(maker: Tool, own: str, item: PathShape) -> tuple[FoundId | None, str | None]:
    """Return the id of the resource: by name in the answer, else as sent, else the best fit.

    Where several parameters name it together, the caller's choice comes first: it is known even
    when the answer is lost.
    """
    found = find_id(own, item, maker.output_schema)
    sent = _sent_id(maker, own, item)
    if sent is not None and item.parent.ends_in_parameter:
        return None, sent
    if found is not None and (found.fit is Fit.SAME_NAME or sent is None):
        return found, found.expression
    return None, sent


def _described_alike(maker: Tool, own: str, item: PathShape, asked: JsonObject) -> FoundId | None:
    """Return the one id of the answer that is described as the input is; words outweigh names."""
    schema = maker.output_schema or {}
    top = opened_properties(schema, schema)
    inner = {name: opened_properties(held, schema) for name, held in top.items()}
    places: dict[tuple[str, ...], JsonObject] = {(name,): held for name, held in top.items()}
    places |= {(name, n): held for name, below in inner.items() for n, held in below.items()}
    found = [
        FoundId(path, fit)
        for path, held in places.items()
        if _description(held) == _description(asked) != ""
        and (fit := holds(own, path[-1], item))
        and _is_scalar(held)
    ]
    return found[0] if len(found) == 1 else None


def _description(schema: JsonObject) -> str:
    return " ".join(str(schema.get("description", "")).split()).rstrip(".").casefold()


def _sent_id(maker: Tool, own: str, item: PathShape) -> str | None:
    """Return the id that the caller chooses under the name that the path has for it."""
    names = [
        b.field
        for b in maker.bindings
        if b.location == "body" and b.required and holds(own, b.field, item) is Fit.SAME_NAME
    ]
    return f"$request.body#{format_pointer((names[0],))}" if len(names) == 1 else None


def _sent(maker: Tool, made_at: PathShape, binding: InputBinding, item: PathShape) -> str | None:
    """Return the expression of a sent value for an input of the cancel, or None."""
    if binding.location == "path":
        return _from_path(maker, made_at, binding, item)
    if binding.location == "body":
        same = [b for b in maker.bindings if b.location == "body" and b.field == binding.field]
        is_own = binding.field and is_own_reference(binding.field)
        return f"$request.body#{format_pointer((same[0].field,))}" if same and is_own else None
    same = [b for b in maker.bindings if (b.location, b.field) == (binding.location, binding.field)]
    needed = binding.required or is_own_reference(binding.field)
    if same and needed and binding.location != "cookie":
        return f"$request.{binding.location}.{binding.field}"
    return None


def _answered(maker: Tool, binding: InputBinding, item: PathShape) -> str | None:
    """Return the value of one of several parameters, as the answer has it by that name."""
    if binding.location != "path" or binding.field not in item.parameters[:-1]:
        return None
    found = find_id(binding.field, item, maker.output_schema)
    return found.expression if found is not None and found.fit is Fit.SAME_NAME else None


def _sent_alike(maker: Tool, binding: InputBinding) -> str | None:
    """Return a required value that both bodies have under one name: an account, a depot."""
    if not (binding.required and binding.field and binding.location == "body"):
        return None
    same = [b for b in maker.bindings if b.field == binding.field and b.required]
    if len(same) != 1 or same[0].location not in ("body", "path"):
        return None
    is_body = same[0].location == "body"
    pointer = format_pointer((binding.field,))
    return f"$request.body#{pointer}" if is_body else f"$request.path.{binding.field}"


def _from_path(
    maker: Tool, made_at: PathShape, binding: InputBinding, item: PathShape
) -> str | None:
    """Return the parameter at the same position of both paths, else the input of that name."""
    at = item.parameters.index(binding.field) if binding.field in item.parameters else -1
    shared = item.segments[: len(made_at.segments)] == made_at.segments
    if shared and 0 <= at < len(made_at.parameters):
        return f"$request.path.{made_at.parameters[at]}"
    for other in maker.bindings:
        if (
            other.field == binding.field
            and holds(binding.field, other.field, item) is Fit.SAME_NAME
        ):
            if other.location == "body" and other.required:
                return f"$request.body#{format_pointer((other.field,))}"
            if other.location == "path":
                return f"$request.path.{other.field}"
    return None


def _why(maker: Tool, name: str) -> str:
    if maker.output_schema is None:
        return f"{maker.name} declares no answer that could hold {name}"
    return f"nothing that {maker.name} sends or gets is surely {name}"
