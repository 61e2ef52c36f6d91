"""Find the object that an answer is about, by the reference, key or id that it repeats."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.catalog.call_templates import expressions_of, input_read, is_blank
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.compensation_contract import is_own_reference
from orchestrator.catalog.expressions import Expression, parse_filling
from orchestrator.catalog.tool import Effect, InputBinding, Tool
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject, same_id

DEEPEST = 6
"""The number of levels of an answer in which its subject is searched."""


@dataclass(frozen=True)
class Shown:
    """An object of an answer that is about the obligation, and the path to it."""

    path: tuple[str, ...]
    value: JsonValue


def given_back(catalog: Catalog, tool: Tool) -> dict[str, str]:
    """Return the inputs that an answer of the tool repeats to identify its subject.

    For a call this is the caller's own reference; for a cancel, the inputs that identify the
    obligation. If the contract reads the answer under that name, the value is the provider's own.

    Returns:
        From the name of the property, which equals that of the field in the request, to the input.
    """
    if tool.effect is Effect.CANCEL:
        forward = catalog.tools.get(tool.cancel_for or "")
        if forward is None or forward.compensation is None:
            return {}
        written = forward.compensation.cancel.arguments
        return {
            binding.field: binding.name
            for binding in tool.bindings
            if _names_one(written.get(binding.name, ""), forward) and _is_of_same(tool, binding)
        }
    templates = tool.compensation.templates if tool.compensation is not None else ()
    read = [expression for template in templates for expression in expressions_of(template)]
    inputs = {one.path[-1]: input_read(one, tool) for one in read if one.message == "request"}
    providers = {one.path[-1] for one in read if one.message == "response" and one.path}
    return {
        field: name
        for field, name in inputs.items()
        if name is not None and field not in providers and _is_own(name, tool)
    }


def _is_own(name: str, tool: Tool) -> bool:
    return name in tool.reference_inputs or is_own_reference(name)


def _names_one(written: JsonValue, forward: Tool) -> bool:
    """Return True if an input contains only an id of the provider or this project's reference."""
    read: tuple[Expression, ...] = parse_filling(written).expressions
    if len(read) != 1:
        return False
    own = input_read(read[0], forward)
    return read[0].message == "response" or (own is not None and _is_own(own, forward))


def _is_of_same(cancel: Tool, binding: InputBinding) -> bool:
    """Return True if the name means the same in the answer and in the request.

    `/charges/{id}/refund` answers with the `id` of a refund: a name of one word is ambiguous if the
    path continues after it.
    """
    field = binding.field
    if not field or binding.location in ("header", "cookie"):
        return False
    spaced = "".join(f" {c}" if c.isupper() else c for c in field)
    is_phrase = len(spaced.replace("_", " ").replace("-", " ").split()) > 1
    is_last = cancel.path.rstrip("/").endswith(f"{{{field}}}")
    return binding.location != "path" or is_last or is_phrase


def names_another(given: Mapping[str, str], arguments: JsonObject, body: JsonValue) -> str | None:
    """Return the name by which an answer is about something else than was sent, or None."""
    sent = {name: arguments.get(wanted) for name, wanted in given.items()}
    comparable = {name: value for name, value in sent.items() if can_be_compared(value)}
    return named_in(body, comparable, in_lists=isinstance(body, list))[1]


def can_be_compared(value: JsonValue) -> bool:
    """Return True for one id or reference; False for the handle of a personal value."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return is_plain and not is_blank(str(value)) and not is_handle(value)


def named_in(
    body: JsonValue, own: Mapping[str, JsonValue], *, in_lists: bool = True
) -> tuple[list[Shown], str | None]:
    """Return the parts of an answer that contain these names, or a name with another value."""
    other: str | None = None
    level = [Shown((), body)]
    for _ in range(DEEPEST):
        inner: list[Shown] = []
        ours: list[Shown] = []
        for shown in level:
            held = shown.value if isinstance(shown.value, dict) else {}
            named = [n for n in own if can_be_compared(held.get(n))]
            if any(same_id(held[n], own[n]) for n in named):
                ours.append(shown)
            # Objects inside another's object belong to that other.
            other = other or next(iter(named), None)
            if not named and (in_lists or isinstance(shown.value, dict)):
                value = shown.value
                parts = [*enumerate(value)] if isinstance(value, list) else [*held.items()]
                inner += [Shown((*shown.path, str(name)), part) for name, part in parts]
        if ours:
            return ours, None
        level = inner
    return [], other
