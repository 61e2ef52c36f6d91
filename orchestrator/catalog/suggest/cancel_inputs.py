"""The inputs of a cancel, filled from the call that made the thing, and from its answer."""

from typing import NamedTuple

from orchestrator.catalog.compensation_contract import is_own_reference
from orchestrator.catalog.suggest.identity import Fit, FoundId, find_id, holds
from orchestrator.catalog.suggest.path_shape import PathShape
from orchestrator.catalog.suggest.takes_back import Removal
from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer


class Filled(NamedTuple):
    """The args of a cancel, by input name."""

    args: JsonObject
    found: FoundId | None
    """Where the id of what was made stands in the answer; None where it is read elsewhere."""
    assumed: tuple[str, ...] = ()
    """Inputs that are filled with what was sent under the same name, which may mean another."""


class Lacking(NamedTuple):
    """An input of the cancel that nothing fills."""

    name: str
    why: str


def fill(maker: Tool, made_at: PathShape, cancel: Tool, removal: Removal) -> Filled | Lacking:
    """Fill what a cancel requires, and the caller's own reference where it takes one.

    Args:
        maker: what makes the thing.
        made_at: its path.
        cancel: what takes it back.
        removal: how it does.
    """
    args: JsonObject = {}
    found: FoundId | None = None
    assumed: list[str] = []
    item = removal.item
    for binding in cancel.bindings:
        if removal.constant is not None and binding.name == removal.constant[0]:
            value: str | None = removal.constant[1]
        elif binding == removal.own and item.segments != made_at.segments:
            found, value = _id(maker, binding.field, item)
            if value is not None and _is_list(cancel.properties.get(binding.name, {})):
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
            return Lacking(binding.name, _why(maker, binding.name))
    return Filled(args, found, tuple(assumed))


def _is_list(schema: JsonObject) -> bool:
    """Whether an input takes several of what it names."""
    return schema.get("type") == "array"


def _id(maker: Tool, own: str, item: PathShape) -> tuple[FoundId | None, str | None]:
    """The id of the thing: as the answer names it, else as it was sent, else as what fits.

    Where several parameters name it together, what the caller chose comes first: it is known even
    when the answer is lost.
    """
    found = find_id(own, item, maker.output_schema)
    sent = _sent_id(maker, own, item)
    if sent is not None and item.parent.ends_in_parameter:
        return None, sent
    if found is not None and (found.fit is Fit.SAME_NAME or sent is None):
        return found, found.expression
    return None, sent


def _sent_id(maker: Tool, own: str, item: PathShape) -> str | None:
    """The id where the caller chooses it, by the very name that the path has for it."""
    names = [
        b.field
        for b in maker.bindings
        if b.location == "body" and b.required and holds(own, b.field, item) is Fit.SAME_NAME
    ]
    return f"$request.body#{format_pointer((names[0],))}" if len(names) == 1 else None


def _sent(maker: Tool, made_at: PathShape, binding: InputBinding, item: PathShape) -> str | None:
    """What the maker was sent for an input of the cancel; None where that is not told."""
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
    """One of several parameters that name a thing together, as the answer has it by that name."""
    if binding.location != "path" or binding.field not in item.parameters[:-1]:
        return None
    found = find_id(binding.field, item, maker.output_schema)
    return found.expression if found is not None and found.fit is Fit.SAME_NAME else None


def _sent_alike(maker: Tool, binding: InputBinding) -> str | None:
    """What its body asks for, and the maker requires under one name: an account, a depot."""
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
    """The parameter at the same place of both paths; else the one input of that name."""
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
