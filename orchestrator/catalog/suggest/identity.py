"""Where the answer to a call holds the id of what was made."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from orchestrator.catalog.suggest.path_shape import PathShape
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer, resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.inflection import singular
from orchestrator.language.words import name_words

_IDS: Final = frozenset({"id", "uuid", "guid", "uid"})
_SCALARS: Final = frozenset({"string", "integer"})


class Fit(IntEnum):
    """How plainly a property holds what a path's parameter asks for."""

    NONE = 0
    ONLY_ID = 1
    """It is the id of what it stands in, whatever that is."""
    OF_THING = 2
    """Of `/orders/{order_id}` the `id`, of `/orders/{id}` the `order_id`."""
    SAME_NAME = 3


@dataclass(frozen=True)
class FoundId:
    """A property that holds an id."""

    path: tuple[str, ...]
    fit: Fit

    @property
    def expression(self) -> str:
        """As a runtime expression over the answer."""
        return f"$response.body#{format_pointer(self.path)}"


def holds(parameter: str, name: str, item: PathShape) -> Fit:
    """How plainly a property holds what the last parameter of a path asks for.

    Of `/orders/{order}` the answer's `id` is the order; of `/orders/{id}` its `customer_id` is not
    the id.
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
    """The one property of an answer that holds what a parameter asks for; None where none does.

    It stands at the top, or in the one object that the answer wraps around what was made. In a list
    it is that of one of many.
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
    # What is wrapped may be the thing around ours: of `/triggers/{id}/services` the trigger.
    around = _words(names[0])
    is_other = item.words.intersection(around) and not {*item.thing}.intersection(around)
    return None if is_other else FoundId((names[0], *inside[names[0]].path), best)


def _best(parameter: str, item: PathShape, properties: Mapping[str, JsonObject]) -> FoundId | None:
    """The property of an object that fits best; None where several do, and where none does."""
    fits = {n: holds(parameter, n, item) for n, s in properties.items() if _is_scalar(s)}
    best = max(fits.values(), default=Fit.NONE)
    found = [name for name, fit in fits.items() if fit is best]
    return FoundId((found[0],), best) if best and len(found) == 1 else None


def opened_properties(schema: JsonObject, root: JsonObject) -> dict[str, JsonObject]:
    """The properties of an object schema, each with what it refers to.

    Of alternatives those that each of them has: whichever is answered, they are there.
    """
    whole = resolve(schema, root)
    found = {name: resolve(inner, root) for name, inner in properties_of(whole).items()}
    for branches in (whole.get("oneOf"), whole.get("anyOf")):
        if isinstance(branches, list) and branches:
            each = [opened_properties(b, root) for b in branches if isinstance(b, dict)]
            found |= {n: s for n, s in each[0].items() if all(n in other for other in each)}
    return found


def _is_scalar(schema: JsonObject) -> bool:
    """Whether a value can be an id; yes where nothing is said."""
    kinds = schema.get("type")
    told = {kinds} if isinstance(kinds, str) else {*kinds} if isinstance(kinds, list) else set()
    return not told or bool(told & _SCALARS)


def at_path(schema: JsonObject | None, path: tuple[str, ...]) -> bool:
    """Whether an answer of the schema has a property there."""
    return _object_at(schema, path[:-1]).keys() >= {path[-1]}


def share_shape(one: JsonObject | None, other: JsonObject | None, place: tuple[str, ...]) -> bool:
    """Whether both answers hold a thing of one kind at a place: most properties are the same."""
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
